"""Every sequence of operations and merges on three machines, up to a depth. Clocks stand still, so revisions collide."""

import itertools
import time

from machine import Anchor, Machine, Refused, World, verdict
from merging import merge
from oracle import Broken, check, true_verdict
from simulate import check_pair
from state import State

FAR = ("h", 1, None)


class Explorer(Machine):
    """A machine of the exploration: its id is its name, and a dot also says in which of the possible pasts it is."""

    def choose_id(self, st):
        return self.name + 1

    def next_revision(self, st, r, now):
        return st.greatest() + 1

    def dot(self, revision, r):
        return revision, r, len(self.world.events)


def the(st):
    """The item that operations change: the first one."""
    return min(st.items) if st.items else None


def earlier(st):
    return sorted(st.view(the(st)).earlier) if st.items else []


def change(f, value=None):
    def op(m, st):
        if not st.items or f != "label" and f != "key" and not m.can_open(st, the(st)):
            return False
        w = value(m) if callable(value) else value
        if f in ("key", "place") and st.value(the(st), f, st.view(the(st)).shown[f]) == w:
            return False
        m.change(0, 0, the(st), {f: w or f"{f}{len(m.world.events)}"})
    return op


def settle(other):
    def op(m, st):
        v = st.items and st.view(the(st))
        if not v or not v.marks or not m.can_open(st, the(st)):
            return False
        fields = {f for f, _ in v.marks}
        if not other and all(v.shown[f] for f in fields):
            return m.change(0, 0, the(st), settle=fields, kind="settle") and None
        writes = {f: st.value(the(st), f, max(d for g, d in v.marks if g == f)) for f in fields
                  if other or not v.shown[f]}
        m.change(0, 0, the(st), writes, settle=fields - writes.keys(), kind="settle")
    return op


def remove(m, st):
    if not st.items:
        return False
    m.remove(0, 0, the(st))


def add(m, st):
    if len(st.items) > 1:
        return False
    m.add(0, 0, dict(key="k", place=("g", 1, None), secret=f"a{len(m.world.events)}"))


def forget(m, st):
    if not earlier(st):
        return False
    m.change(0, 0, the(st), forget=earlier(st))


def restore(m, st):
    if not earlier(st) or not m.can_open(st, the(st)):
        return False
    f, d = earlier(st)[-1]
    m.change(0, 0, the(st), {f: st.value(the(st), f, d)}, kind="restore")


def absent(m, st):
    if not st.items or not st.view(the(st)).shown["sealed"]:
        return False
    m.change(0, 0, the(st), absent=["sealed"])


def scoped(st):
    return next((c for c in sorted(st.slots) if not st.slots[c].full), None)


def slot_remove(m, st):
    c = scoped(st) or (max(st.slots) if len(st.slots) > 1 else None)
    if c is None:
        return False
    m.remove_slot(0, 0, c)


def grant(take):
    def op(m, st):
        c = scoped(st)
        if c is None or ("h" in st.slots[c].groups()) != take:
            return False
        m.grant(0, 0, c, "h", take)
    return op


def rotate(m, st):
    if len(st.line) > 2:
        return False
    m.rotate(0, 0, restart=m.name == 1)


OPERATIONS = {
    "secret": change("secret"), "sealed": change("sealed"), "label": change("label"), "key": change("key", "k2"),
    "place": change("place", FAR), "bind": change("place", lambda m: ("g", 5, m.device)), "absent": absent,
    "remove": remove, "add": add, "stay": settle(False), "other": settle(True), "forget": forget, "restore": restore,
    "limit": lambda m, st: False if not st.limit[1] else m.set_limit(0, 0, 0), "slot remove": slot_remove,
    "slot change": lambda m, st: m.change_slot(0, 0, min(st.slots)), "grant": grant(False), "revoke": grant(True),
    "rotate": rotate,
}
MOST = tuple(o for o in OPERATIONS if o != "rotate")  # a branch under old keys is a change of its own: explored apart


class Explore:
    def __init__(self, operations):
        self.operations = operations or MOST
        self.world = World()
        self.world.one_past = False
        first = make(self.world, State(self.world), 0)
        first.add_slot(0, 0)
        first.add_slot(0, 0, full=False, groups=["g"])
        first.add(0, 0, dict(key="k", place=("g", 1, None), secret="s", sealed="o", label="l"))
        self.first = first.files[0]
        self.states, self.done, self.merged, self.pairs, self.triples = {}, {}, {}, set(), set()
        self.keep(self.first)

    def keep(self, st):
        known = self.states.get((st.truth, st.absorbed))
        if known is None:
            check(st)
            self.states[st.truth, st.absorbed] = known = st
        elif known.contents() != st.contents() or known.vv != st.vv:
            raise Broken("one result", f"{known.contents()}\n  {st.contents()}")
        return known

    def operate(self, st, d, name):
        at = id(st), d, name
        if at not in self.done:
            m = make(self.world, st, d)
            self.done[at] = None if OPERATIONS[name](m, st) is False else self.keep(m.files[0])
        return self.done[at]

    def joined(self, a, b):
        at = id(a), id(b)
        if at not in self.merged:
            self.merged[at] = self.keep(merge(a, b))
        return self.merged[at]

    def merge(self, a, b, d):
        """What machine d makes of its state a and another's state b."""
        if a.key == b.key and any(s.full for s in self.joined(a, b).slots.values()):
            return self.joined(a, b)
        at = id(a), id(b), d
        if at not in self.merged:
            m = make(self.world, a, d)
            m.merge_in(0, 0, b)
            self.merged[at] = self.keep(m.files[0])
        return self.merged[at]

    def check(self, triple):
        for a, b in itertools.combinations(triple, 2):
            at = id(a), id(b)
            if a is b or at in self.pairs:
                continue
            self.pairs.add(at)
            self.pairs.add((id(b), id(a)))
            if a.key == b.key:
                check_pair(a, b)
            for x, y in ((a, b), (b, a)):
                says, truly = verdict(Anchor(x), y), true_verdict(x.truth, y)
                if a.key == b.key and says != truly or (says in GOOD) != (truly in GOOD):
                    raise Broken("verdict", f"{says}, truly {truly}")
        at = frozenset(map(id, triple))
        if len(at) == 3 and at not in self.triples:
            self.triples.add(at)
            if len({s.key for s in triple}) == 1:
                ends = {id(self.joined(self.joined(a, b), c)) for a, b, c in itertools.permutations(triple)}
                if len(ends) != 1:
                    raise Broken("one result", "three states")

    def run(self, depth, report=print):
        """Breadth first, so that a counterexample is one of the shortest."""
        started = time.monotonic()
        start = (self.first,) * 3
        layer, seen, total = {start: ()}, {tuple(map(id, start))}, 0
        for level in range(depth + 1):
            following = {}
            for triple, path in layer.items():
                try:
                    self.check(triple)
                    total += 1
                    if total % 50_000 == 0:
                        report(f"  {total:,} constellations, {len(self.states):,} states, "
                               f"{time.monotonic() - started:.0f} s", flush=True)
                    for d in range(3) if level < depth else ():
                        for name in self.operations:
                            self.follow(triple, path, d, name, self.operate(triple[d], d, name), following, seen)
                        for j in range(3):
                            if triple[j] is not triple[d]:
                                self.follow(triple, path, d, f"merge {j}", self.merge(triple[d], triple[j], d),
                                            following, seen)
                except (Broken, Refused) as broken:
                    report(f"BROKEN: {broken}")
                    for d, name in path:
                        report(f"  machine {d}: {name}")
                    return 1
            report(f"depth {level}: {len(layer):,} new, {total:,} in all; {len(self.states):,} states of a vault, "
                   f"{len(self.merged):,} merges, {len(self.triples):,} triples in six orders; "
                   f"{time.monotonic() - started:.0f} s, {time.process_time():.0f} s of processor", flush=True)
            layer = following
        return 0

    def follow(self, triple, path, d, name, after, following, seen):
        if after is None or after is triple[d]:
            return
        new = triple[:d] + (after,) + triple[d + 1:]
        key = tuple(map(id, new))
        if key not in seen:
            seen.add(key)
            following[new] = path + ((d, name),)


GOOD = ("same", "descends")


class NoRandom:
    @staticmethod
    def getrandbits(_):
        return 1


def make(world, st, d):
    return Explorer(world, NoRandom, st, d)


def explore(depth, operations):
    for name in operations:
        if name not in OPERATIONS:
            raise SystemExit(f"no operation '{name}'; there are: {', '.join(OPERATIONS)}")
    return Explore(operations).run(depth)
