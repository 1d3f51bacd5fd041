"""All sequences of operations and merges on three machines, up to a depth."""

import time

from merging import Refused, merge
from properties import Broken, check_pair, check_state, check_triple
from vault import add, compact, delete, first_state, in_one_commit, remove_slot, rotate, write

X = ("x",)


def count(s, d, field):
    """How often this machine has written the field: names values so that they do not depend on the order of others."""
    return sum(w[1] == field and w[3] == d for w in s.truth.writes)


def new_name(s):
    """Machines choose equal names: so they add different items under one key."""
    return next(f"k{n}" for n in range(1, 99) if all(w[1:3] != ("key", f"k{n}") for w in s.truth.writes))


def op_key(s, d, r):
    return s.contents.find(X) and write(s, d, X, "key", f"r{count(s, d, 'key')}/{d}", r)


def op_attr(s, d, r):
    return s.contents.find(X) and write(s, d, X, "attr", f"a{count(s, d, 'attr')}/{d}", r)


def op_secret(s, d, r):
    return s.contents.find(X) and write(s, d, X, "secret", f"s{count(s, d, 'secret')}/{d}", r)


def op_add(s, d, r):
    n = sum(w[0][:2] == ("y", d) for w in s.truth.writes)
    return add(s, d, ("y", d, n), new_name(s), r)


OPERATIONS = {
    "key": op_key,
    "attr": op_attr,
    "secret": op_secret,
    "delete": lambda s, d, r: delete(s, d, X, r),
    "add": op_add,
    "slot": lambda s, d, r: remove_slot(s, d, "slot0" if d == 1 else "slot1"),
    "rotate": lambda s, d, r: rotate(s, d, r),
    "compact": lambda s, d, r: compact(s, d, r),
}


class Explorer:
    def __init__(self, rules, operations=tuple(OPERATIONS), machines=3):
        self.rules, self.operations, self.machines = rules, operations, machines
        self.settled = rules._replace(agreed_slot="agreed")
        self.states = {}  # chain value -> state: each is kept once
        self.done, self.joined, self.pairs = {}, {}, set()
        self.named = 0

    def keep(self, s):
        known = self.states.get(s.chain)
        if known is None:
            check_state(s, self.rules)
            self.states[s.chain] = known = s
            self.named += bool(s.truth.named)
        return known

    def operate(self, s, d, name, alone):
        at = (s.chain, d, name, alone)
        if at not in self.done:
            after = OPERATIONS[name](s, d, self.rules)
            if after and alone and name != "rotate":
                after = in_one_commit(s, after, d)
            self.done[at] = after and self.keep(after)
        return self.done[at]

    def merged(self, a, b, d, settle=False):
        at = (a.chain, b.chain, d, settle)
        if at not in self.joined:
            try:
                self.joined[at] = self.keep(merge(a, b, d, self.settled if settle else self.rules))
            except Refused:
                self.joined[at] = None
        return self.joined[at]

    def check(self, triple):
        for i, j in ((0, 1), (1, 2), (0, 2)):
            a, b = triple[i], triple[j]
            if a is not b and (a.chain, b.chain) not in self.pairs:
                self.pairs.add((a.chain, b.chain))
                check_pair(a, b, self.merged, self.rules)
        check_triple(triple, self.merged, self.rules)

    def successors(self, triple):
        for i in range(self.machines):
            alone = not any(t.contains(triple[i]) for j, t in enumerate(triple) if j != i)
            for name in self.operations:
                after = self.operate(triple[i], i, name, alone)
                if after is not None:
                    yield (i, name), after
            for j in range(self.machines):
                if triple[i] is not triple[j]:
                    after = self.merged(triple[i], triple[j], i)
                    if after is not None and after is not triple[i]:
                        yield (i, f"merge {j}"), after

    def run(self, depth, report=print):
        """Breadth first, so that a counterexample is one of the shortest."""
        start = time.monotonic()
        first = self.keep(first_state())
        layer = {(first,) * self.machines: ()}
        seen = set()
        total = 0
        for level in range(depth + 1):
            following = {}
            for triple, path in layer.items():
                try:
                    self.check(triple)
                    total += 1
                    if total % 20_000 == 0:
                        report(f"  {total} constellations, {len(self.states)} states, {time.monotonic() - start:.0f} s", flush=True)
                    if level < depth:
                        for step, after in self.successors(triple):
                            new = triple[:step[0]] + (after,) + triple[step[0] + 1:]
                            if new not in layer and new not in following and hash_of(new) not in seen:
                                following[new] = path + (step,)
                except Broken as broken:
                    broken.path = path
                    raise
            seen.update(hash_of(t) for t in layer)
            took = time.monotonic() - start
            report(f"depth {level}: {len(layer)} new, {total} in all; {len(self.states)} states of a vault, "
                   f"{len(self.joined)} merges, {self.named} with a deletion by horizon; {took:.0f} s", flush=True)
            layer = following
        return total


def hash_of(triple):
    return hash(tuple(s.chain for s in triple))
