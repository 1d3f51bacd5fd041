"""Random sequences: longer, more machines, clocks that are wrong, one device with two copies of the vault."""

import random

from explore import count, new_name
from merging import Refused, merge
from properties import Broken, check_pair, check_state, check_triple
from vault import add, compact, delete, first_state, remove_slot, rotate, write

KINDS = ("key", "attr", "secret", "delete", "add", "slot", "rotate", "compact", "merge")


class Run:
    """One sequence. Every state is checked; all ends with merging until all machines are equal."""

    def __init__(self, seed, rules, kinds=KINDS):
        self.r, self.seed, self.kinds = random.Random(seed), seed, kinds
        self.machines = self.r.randint(2, 6)
        self.rules = rules._replace(versions_kept=self.r.choice((0, 1, 3, 10)))
        self.settled = self.rules._replace(agreed_slot="agreed")
        # The device of each machine; sometimes two copies lie on one device. Clocks: right, back, ahead, stopped.
        self.devices = [self.r.randrange(self.machines) if self.r.random() < 0.2 else d for d in range(self.machines)]
        self.skew = [self.r.choice((0, 0, 0, -50, 50, 10_000, None)) for _ in range(self.machines)]
        self.memo, self.path = {}, []
        self.unique = 0

    def keep(self, s, *parents):
        known = self.memo.get(s.chain)
        if known is None:
            check_state(s, self.rules, parents)
            self.memo[s.chain] = known = s
        return known

    def merged(self, a, b, d, settle=False):
        at = (a.chain, b.chain, d, settle)
        if at not in self.memo:
            try:
                self.memo[at] = self.keep(merge(a, b, d, self.settled if settle else self.rules), a, b)
            except Refused:
                self.memo[at] = None
        return self.memo[at]

    def operate(self, s, machine, kind, now):
        d, rules, r = self.devices[machine], self.rules, self.r
        ids = [i.id for i in s.contents.items]
        self.unique += 1
        if kind == "add":
            return add(s, d, ("y", machine, self.unique), r.choice((new_name(s), "k1", "k2")), rules, now)
        if kind == "slot":
            return remove_slot(s, d, r.choice(("slot0", "slot1")))
        if kind == "rotate":
            return rotate(s, d, rules) if r.random() < 0.2 else None
        if kind == "compact":
            return compact(s, d, rules)
        if not ids:
            return None
        id = r.choice(ids)
        if kind == "delete":
            return delete(s, d, id, rules, now)
        value = f"{kind}{self.unique}"  # never twice: the properties tell values apart by it
        return write(s, d, id, kind, value, rules, now)

    def run(self):
        states = [self.keep(first_state())] * self.machines
        try:
            for time in range(1, self.r.randint(5, 40)):
                i = self.r.randrange(self.machines)
                kind = self.r.choice(self.kinds + ("merge",))
                now = 0 if self.skew[i] is None else max(0, 10 * time + self.skew[i])
                if kind == "merge":
                    j = self.r.randrange(self.machines)
                    after = self.merged(states[i], states[j], i)
                    kind = f"merge {j}"
                else:
                    after = self.operate(states[i], i, kind, now)
                if after is not None:
                    states[i] = self.keep(after)
                    self.path.append((i, kind))
            for i in range(self.machines - 1):
                check_pair(states[i], states[i + 1], self.merged, self.rules)
            if self.machines > 2:
                check_triple(states, self.merged, self.rules)
        except Broken as broken:
            broken.path = self.path
            raise
        return states


def simulate(first, sequences, rules, kinds=KINDS, report=print, keep_going=False):
    found = {}
    named = accepted = 0
    for seed in range(first, first + sequences):
        run = Run(seed, rules, kinds)
        try:
            states = run.run()
            named += any(s.truth.named for s in states)
            accepted += any(s.truth.accepted for s in states)
        except Broken as broken:
            if not keep_going:
                report(f"seed {seed}")
                raise
            known = found.setdefault(broken.name, [])
            known.append((len(broken.path), seed))
    for name, seeds in sorted(found.items()):
        report(f"BROKEN: {name}: {len(seeds)} sequences, the shortest with {min(seeds)[0]} steps: seed {min(seeds)[1]}")
    report(f"{sequences} sequences, {len(found)} properties broken; "
           f"{named} with a deletion by horizon, {accepted} with a branch under old keys accepted")
    return len(found)
