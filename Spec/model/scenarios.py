"""The failures that trials of the earlier rules found, by their numbers there, and cases that chance seldom makes."""

import itertools
import random

import state
from machine import Anchor, Machine, Refused, World, verdict
from merging import merge
from oracle import Broken, check
from state import State, readable

ADMIN, CI = ("admin", 1, None), ("ci", 1, None)
ALL = {}


def scenario(number, text):
    def keep(f):
        ALL[number] = (text, f)
        return f
    return keep


class Play:
    """Machines a, b, c … with copies of one vault of one item."""

    def __init__(self, machines=2, **values):
        self.r = random.Random(7)
        self.world, self.now = World(), 100
        first = Machine(self.world, self.r, State(self.world), 0)
        self.all = [first]
        self.slot = self.do(first, "add_slot")
        self.item = self.do(first, "add", {"key": "name", "place": ADMIN, "secret": "old", **values})
        for n in range(1, machines):
            self.join(n)

    def join(self, n=None):
        m = Machine(self.world, self.r, self.all[0].files[0], len(self.all))
        self.all.append(m)
        return m

    def do(self, m, what, *args, k=0, **more):
        self.now += 10
        result = getattr(m, what)(k, self.now, *args, **more)
        check(m.files[k])
        return result

    def change(self, m, k=0, **writes):
        return self.do(m, "change", self.item, writes, k=k)

    def merge(self, m, o, k=0, g=0, accept=True):
        self.now += 10
        m.merge_in(k, self.now, o.files[g], accept)
        check(m.files[k])
        return m.files[k]

    def rounds(self, *machines, times=2):
        for _ in range(times):
            for m, o in itertools.permutations(machines, 2):
                self.merge(m, o)
        equal(*(m.files[0].contents() for m in machines))

    def shown(self, m, f="secret", i=None, k=0):
        st, i = m.files[k], i or self.item
        return st.value(i, f, st.view(i).shown[f]) if i in st.items else None

    def marks(self, m, i=None):
        st, i = m.files[0], i or self.item
        return {(f, st.value(i, f, d)) for f, d in st.view(i).marks}

    def earlier(self, m, i=None):
        st, i = m.files[0], i or self.item
        return {(f, st.value(i, f, d)) for f, d in st.view(i).earlier}


def equal(first, *others):
    for other in others:
        if other != first:
            raise Broken("scenario", f"{other} instead of {first}")


def true(what, text="false"):
    if not what:
        raise Broken("scenario", text)


@scenario("G1", "a removal takes no secret that it has not seen")
def g1():
    p = Play(3)
    a, b, c = p.all
    p.change(b, secret="NEW")
    p.change(a, label="x")
    p.do(a, "remove", p.item)
    p.merge(b, a)
    a.compact(0)
    p.merge(a, b)
    p.merge(b, a)
    p.rounds(a, b, c)
    equal("NEW", p.shown(a), p.shown(b), p.shown(c))


@scenario("G2", "an item that the other side never saw stays, whatever was compacted, and however late")
def g2():
    p = Play()
    a, b = p.all
    new = p.do(a, "add", dict(key="new", place=ADMIN, secret="PRECIOUS"))
    p.do(b, "remove", p.item)
    p.merge(a, b)
    a.compact(0)
    p.now += 10**9
    b.compact(0)
    p.do(b, "add", dict(key="x", place=ADMIN, secret="x"))
    p.do(a, "add", dict(key="y", place=ADMIN, secret="y"))
    p.rounds(b, a)
    equal("PRECIOUS", p.shown(a, i=new), p.shown(b, i=new))
    true(p.item not in a.files[0].items, "the removed item is back")


@scenario("G4", "a slot keeps its identity across factors; removal wins; what was added stays")
def g4():
    p = Play()
    a, b = p.all
    s = p.do(a, "add_slot")
    p.do(b, "add", dict(key="x", place=ADMIN, secret="x"))
    p.merge(a, b)
    p.rounds(b, a)
    true(s in a.files[0].slots and s in b.files[0].slots, "the new slot is lost")
    p.do(a, "change_slot", s)
    p.do(b, "remove_slot", s)
    p.rounds(a, b)
    true(s not in a.files[0].slots and s not in b.files[0].slots, "the removed slot is back")


@scenario("G5", "removed stays removed, and no false marks, after 1,500 changes on each side and compactions")
def g5():
    p = Play(3)
    a, b, c = p.all
    p.change(a, secret="S2")
    c.files[0] = a.files[0]
    other = p.do(b, "add", dict(key="o", place=ADMIN, secret="o"))
    p.merge(c, b)
    equal(set(), p.marks(c))
    for n in range(1500):
        for m in (a, b):
            st = m.files[0]
            i = p.item if m is a else other
            m.change(0, p.now + n, i, {"label": str(n)})
        p.world.contents.clear()
    for m in p.all:
        m.compact(0)
    p.merge(c, a)
    equal(set(), p.marks(c))
    p.do(a, "remove", p.item)
    p.merge(a, c)
    p.rounds(a, b, c)
    true(p.item not in a.files[0].items, "the removed item is back")


@scenario("G6", "forgotten stays forgotten")
def g6():
    p = Play(secret="LEAKED")
    a, b = p.all
    p.change(a, secret="two")
    p.merge(b, a)
    v = a.files[0].view(p.item).earlier
    p.do(a, "change", p.item, forget=v)
    p.change(b, secret="three")
    p.rounds(a, b)
    true(("secret", "LEAKED") not in p.earlier(a) | p.earlier(b), "the forgotten value is back")
    equal("three", p.shown(a))
    equal({("secret", "two")}, p.earlier(a))


@scenario("G6 equal", "a value that was restored, and replaced again, is forgotten under both dots")
def g6_equal():
    p = Play()
    a, b = p.all
    p.change(a, secret="two")
    p.change(a, secret="old")  # restored
    p.change(a, secret="three")
    p.do(a, "change", p.item, forget={x for x in a.files[0].view(p.item).earlier if p.world.values[p.item, *x] == "old"})
    equal({("secret", "two")}, p.earlier(a))
    p.rounds(a, b)
    equal({("secret", "two")}, p.earlier(b))


@scenario("equal 8", "a value that was current ten times is kept under its newest 8 dots, listed once, and forgotten under all")
def equal_8():
    p = Play()
    a, b = p.all
    for _ in range(10):
        p.change(a, secret="two")
        p.change(a, secret="old")
    p.merge(b, a)
    p.change(a, secret="three")
    kept = [x for x in a.files[0].view(p.item).kept if p.world.values[p.item, *x] == "old"]
    equal((8, {("secret", "old"), ("secret", "two")}), (len(kept), p.earlier(a)))
    p.do(a, "change", p.item, forget={max(kept)})
    p.rounds(a, b)
    equal({("secret", "two")}, p.earlier(b))


@scenario("split id", "nothing is inferred for a split id, whichever side knows of it")
def split_id():
    p = Play()
    a, b = p.all
    p.change(a, secret="A")
    p.merge(b, a)
    known = b.files[0].copy()
    known.split = frozenset(d[1] for d in known.items[p.item].siblings)
    p.do(a, "remove", p.item)
    for x, y in ((a.files[0], known), (known, a.files[0])):
        true(p.item in merge(x, y).items, "the row of a split id was believed")


@scenario("G7", "equal contents under two vectors: both machines go on")
def g7():
    p = Play()
    a, b = p.all
    p.do(a, "remove", p.item)
    p.change(b, secret="y")
    p.do(b, "remove", p.item)
    equal("forked", verdict(a.anchors[0], b.files[0]))
    before = Anchor(a.files[0]), Anchor(b.files[0])
    p.rounds(a, b)
    for x in before:
        equal("descends", verdict(x, a.files[0]))
    equal("same", verdict(a.anchors[0], b.files[0]))


@scenario("G8", "another passphrase for a slot that both had is followed without a question; the later one holds")
def g8():
    p = Play()
    a, b = p.all
    p.do(a, "change_slot", p.slot)
    p.change(b, secret="x")
    p.rounds(a, b)
    equal({p.slot}, set(b.files[0].slots))
    p.do(a, "change_slot", p.slot)
    p.do(b, "change_slot", p.slot)
    later = b.files[0].slots[p.slot].dot
    p.rounds(a, b)
    equal(later, a.files[0].slots[p.slot].dot, b.files[0].slots[p.slot].dot)


@scenario("G9", "a copy that fell behind by 3,589 commits of 16 machines comes back")
def g9():
    p = Play(17)
    late, others = p.all[0], p.all[1:]
    p.change(late, label="mine")
    for n in range(3589):
        m = others[n % 16]
        m.change(0, p.now + n, p.item, {"secret": str(n)})
        if n % 5 == 0:
            m.merge_in(0, p.now + n, others[(n * 7 + 3) % 16].files[0])
        p.world.contents.clear()
    p.now += 4000
    for m in others[1:]:
        others[0].merge_in(0, p.now, m.files[0])
    p.merge(late, others[0])
    p.merge(others[0], late)
    equal("same", verdict(late.anchors[0], others[0].files[0]))
    equal("mine", p.shown(others[0], "label"))
    true(len(late.files[0].vv) <= 18, "the vector has a row for each machine")


@scenario("G10", "a program killed between its memory and its commit, or after it, goes on and loses nothing")
def g10():
    p = Play()
    a, b = p.all
    p.change(a, secret="one")
    before = a.files[0]
    p.change(a, label="two")  # the power goes; somebody has copied the file
    copied = a.files[0]
    a.files[0] = before
    if not state.RULES["memory_first"]:
        a.ids = {r: [before.vv.get(r, 0), run] for r, (_, run) in a.ids.items()}
    p.change(a, sealed="three")
    b.files[0] = copied
    p.rounds(b, a)
    equal(("one", "two", "three"), tuple(p.shown(a, f) for f in ("secret", "label", "sealed")))


@scenario("G11", "one clock ahead: the loser is a mark, and after settling an earlier value")
def g11():
    p = Play()
    a, b = p.all
    a.skew = 10**6
    p.change(a, secret="future")
    a.skew = 0
    p.merge(b, a)
    p.change(a, secret="older")
    p.change(b, secret="newer")
    p.rounds(a, b)
    live, lost = p.shown(a), {"older", "newer"} - {p.shown(a)}
    equal({("secret", s) for s in lost}, p.marks(a))
    p.do(b, "change", p.item, settle=["secret"])
    p.rounds(a, b)
    equal(set(), p.marks(a))
    equal(live, p.shown(a))
    true({("secret", s) for s in lost} <= p.earlier(a), "the loser is nowhere")


@scenario("G12", "24 orders of merging one settling, one removal, and two changes end alike, marks included")
def g12():
    results = set()
    for order in itertools.permutations(range(4)):
        p = Play(4)
        a, b, c, d = p.all
        p.change(a, secret="A")
        p.change(b, secret="B")
        p.merge(b, a)
        p.do(b, "change", p.item, settle=["secret"])
        p.change(c, secret="C")
        p.do(d, "remove", p.item)
        s = p.all[order[0]].files[0]
        for n in order[1:]:
            s = merge(s, p.all[n].files[0])
        check(s)
        v = s.view(p.item)
        results.add(str((s.value(p.item, "secret", v.shown["secret"]),
                         sorted((f, s.value(p.item, f, x)) for f, x in v.marks),
                         sorted((f, s.value(p.item, f, x)) for f, x in v.earlier))))
    equal(1, len(results))


@scenario("G15", "two copies on one machine: each place has its anchor, and its own id where they parted")
def g15():
    p = Play(1)
    a = p.all[0]
    p.change(a, secret="one")
    a.files.append(a.files[0])  # git worktree, or cp
    a.anchors.append(Anchor(a.files[0]))
    p.change(a, k=0, secret="left")
    p.change(a, k=1, label="right")
    for k in (0, 1):
        equal("same", verdict(a.anchors[k], a.files[k]))
    equal(2, len(a.files[1].vv.keys() | a.files[0].vv.keys()))
    p.change(a, k=0, sealed="more")
    p.change(a, k=1, key="other")
    equal(2, len(a.files[1].vv.keys() | a.files[0].vv.keys()))
    p.now += 10
    a.merge_in(0, p.now, a.files[1])
    check(a.files[0])
    equal(("left", "right", "more", "other"), tuple(p.shown(a, f) for f in ("secret", "label", "sealed", "key")))
    equal("forked", verdict(a.anchors[0], a.files[1]).replace("older", "forked"))


@scenario("N1a", "a secret set in one group, the item moved to another: the secret is not read there")
def n1a():
    p = Play()
    a, b = p.all
    slot = p.do(a, "add_slot", full=False, groups=["ci"])
    p.merge(b, a)
    p.change(a, place=CI)
    p.change(b, secret="for admins")
    p.rounds(a, b)
    true(("secret", "for admins") not in readable(a.files[0], slot), "widened")
    equal("for admins", p.shown(a))
    equal({("place", CI)}, p.marks(a))
    p.do(a, "change", p.item, {"place": CI}, kind="settle")  # an owner decides that the build may read it
    p.rounds(a, b)
    equal((CI, "for admins", set()), (p.shown(b, "place"), p.shown(b), p.marks(b)))


@scenario("N1b", "whoever is granted a group later reads neither what lost, nor what was replaced")
def n1b():
    p = Play()
    a, b = p.all
    p.change(a, secret="A", place=CI)
    p.merge(b, a)
    p.change(a, secret="B")
    p.change(b, secret="C")
    p.rounds(a, b)
    slot = p.do(a, "add_slot", full=False, groups=["ci"])
    equal({("secret", "C")}, {x for x in readable(a.files[0], slot) if x[0] == "secret"})
    equal({("secret", "B")}, p.marks(a))


@scenario("N1c", "a sealed attribute set in one group is not read in another")
def n1c():
    p = Play(sealed="o")
    a, b = p.all
    p.change(a, place=CI, secret="S")
    p.change(b, sealed="for admins")
    p.rounds(a, b)
    equal((CI, "S", "o"), tuple(p.shown(a, f) for f in ("place", "secret", "sealed")))
    equal({("sealed", "for admins")}, p.marks(a))


@scenario("N8", "earlier values, their plain attributes included, are the owners'")
def n8():
    p = Play(label="plain")
    a, b = p.all
    slot = p.do(a, "add_slot", full=False, groups=["admin"])
    p.change(a, secret="two")
    true(("secret", "old") not in readable(a.files[0], slot), "read by a scoped holder")
    true(("secret", "old") in readable(a.files[0], p.slot), "not read by an owner")


@scenario("N14", "what a user dropped does not come back without a question")
def n14():
    p = Play()
    a, b = p.all
    before = a.files[0]
    p.change(a, secret="bad")
    fork = State.copy(a.files[0])
    a.accept(0, before)
    p.change(a, secret="good")
    b.files[0] = fork
    p.change(b, label="more")
    try:
        p.merge(a, b, accept=False)
        raise Broken("scenario", "the fork that was dropped came back")
    except Refused:
        pass
    equal("good", p.shown(a))
    p.merge(a, b)  # the user says yes
    equal({("secret", "bad")}, p.marks(a))


@scenario("N15", "a move to another group is a move: one item, nothing to settle")
def n15():
    p = Play()
    a, b = p.all
    p.change(a, place=CI)
    p.change(b, label="x")
    p.rounds(a, b)
    equal((CI, "x", set(), 1), (p.shown(a, "place"), p.shown(a, "label"), p.marks(a), len(a.files[0].items)))


@scenario("twins", "two items of one name: both are there, the least id has it plain, and removing one frees it")
def twins():
    p = Play(1)
    p.do(p.all[0], "remove", p.item)
    p.join()
    a, b = p.all
    x = p.do(a, "add", dict(key="k", place=ADMIN, secret="a"))
    y = p.do(b, "add", dict(key="k", place=ADMIN, secret="b"))
    p.rounds(a, b)
    least, other = sorted((x, y))
    equal({least: None, other: other}, {i: twin for i, (_, twin) in a.files[0].names().items()})
    p.do(b, "remove", least)
    p.rounds(a, b)
    equal({other: None}, {i: twin for i, (_, twin) in a.files[0].names().items()})
    p.change(a, key="k2") if other == p.item else p.do(a, "change", other, {"key": "k2"})
    p.rounds(a, b)


@scenario("renames", "two items renamed to one name on two machines")
def renames():
    p = Play(1)
    other = p.do(p.all[0], "add", dict(key="second", place=ADMIN, secret="2"))
    p.join()
    a, b = p.all
    p.change(a, key="same")
    p.do(b, "change", other, {"key": "same"})
    p.rounds(a, b)
    equal(2, len(a.files[0].items))
    equal(1, sum(twin is None for _, twin in a.files[0].names().values()))


@scenario("open first", "what was overwritten is not shown rather than a value that nobody has replaced")
def open_first():
    p = Play(4)
    a, b, c, d = p.all
    p.change(b, secret="small")
    b_small = b.files[0]
    p.now += 100
    p.change(a, secret="x")
    p.merge(c, a)
    p.change(c, label="kept for this")
    p.change(a, secret="y")
    p.do(a, "remove", p.item)
    s = merge(merge(a.files[0], c.files[0]), b_small)
    check(s)
    equal("small", s.value(p.item, "secret", s.view(p.item).shown["secret"]))
    true(("secret", "x") in {(f, s.value(p.item, f, e)) for f, e in s.view(p.item).earlier}, "x is lost")


@scenario("absence", "an attribute that one side dropped does not return with the other side's change")
def absence():
    p = Play(label="gone", sealed="gone")
    a, b = p.all
    p.do(a, "change", p.item, absent=["label", "sealed"])
    p.change(b, secret="x")
    p.rounds(a, b)
    equal((None, None, "x"), tuple(p.shown(a, f) for f in ("label", "sealed", "secret")))
    true(("sealed", "gone") in p.earlier(a), "a protected value is lost")


@scenario("device", "an item of another device: no machine must combine two of its records")
def device():
    p = Play(3, place=("admin", 5, 0), sealed="o")
    a, b, c = p.all
    b.device = 0  # the same device: a second copy
    p.change(a, secret="A")
    p.change(b, sealed="B")
    p.merge(c, a)
    p.merge(c, b)
    equal(("A", "o", {("sealed", "B")}), (p.shown(c), p.shown(c, "sealed"), p.marks(c)))
    p.change(c, label="from another device")
    equal(("A", "o", {("sealed", "B")}), (p.shown(c), p.shown(c, "sealed"), p.marks(c)))


@scenario("limit", "the limit lowered, compacted on one copy, raised: both copies agree")
def limit():
    p = Play()
    a, b = p.all
    for n in range(5):
        p.change(a, secret=str(n))
    p.do(a, "set_limit", 1)
    p.merge(b, a)
    a.compact(0)
    p.do(b, "set_limit", 10)
    equal(b.files[0].contents(), merge(a.files[0], b.files[0]).contents(), merge(b.files[0], a.files[0]).contents())


@scenario("limit 0", "no earlier values: a label changed elsewhere keeps the item, its secret included")
def limit_0():
    p = Play()
    a, b = p.all
    p.do(a, "set_limit", 0)
    p.merge(b, a)
    p.change(a, secret="x")
    p.do(a, "remove", p.item)
    p.change(b, label="y")
    p.rounds(a, b)
    equal(("old", "y"), (p.shown(a), p.shown(a, "label")))


@scenario("revoked", "a grant here and a revocation there: the revoked slot does not read what comes after")
def revoked():
    p = Play()
    a, b = p.all
    s = p.do(a, "add_slot", full=False, groups=["admin", "ci"])
    t = p.do(a, "add_slot", full=False, groups=["ci"])
    p.merge(b, a)
    p.do(a, "grant", s, "admin", take=True)
    p.do(b, "grant", t, "admin")
    p.rounds(a, b)
    equal(({"ci"}, {"ci", "admin"}), (a.files[0].slots[s].groups(), a.files[0].slots[t].groups()))


@scenario("last slot", "each side removed the other's slot: the user who merges adds one, and the vault opens")
def last_slot():
    p = Play(1)
    t = p.do(p.all[0], "add_slot")
    p.join()
    a, b = p.all
    p.do(a, "remove_slot", p.slot)
    p.do(b, "remove_slot", t)
    p.rounds(a, b)
    true(a.files[0].slots and p.slot not in a.files[0].slots and t not in a.files[0].slots, "wrong slots")


@scenario("branch under old keys", "its values come in to be settled, nothing shown changes, its machine goes on")
def branch():
    p = Play(3)
    a, b, c = p.all
    p.change(b, secret="unseen", label="l")  # before the rotation, and unknown to it
    new = p.do(b, "add", dict(key="new", place=ADMIN, secret="n"))
    p.do(b, "remove", new)
    new = p.do(b, "add", dict(key="new2", place=ADMIN, secret="n2"))
    p.change(a, secret="later than b's")
    p.do(a, "rotate", restart=True)
    p.change(a, secret="A")
    equal("forked", verdict(b.anchors[0], a.files[0]))
    p.merge(a, b)
    equal("A", p.shown(a))
    true({("secret", "unseen"), ("label", "l")} <= p.marks(a), "not all came in")
    equal((None, {("secret", "n2")}), (p.shown(a, i=new), p.marks(a, new)))
    equal("descends", verdict(b.anchors[0], a.files[0]))
    p.merge(b, a)
    equal(a.files[0].contents(), b.files[0].contents())
    equal("descends", verdict(c.anchors[0], a.files[0]))  # it had nothing of its own
    before = a.files[0].contents()
    c.files[0] = c.files[0]
    p.merge(a, c)
    equal(before, a.files[0].contents())


@scenario("two rotations", "both rotated: everybody goes on under the later one, and nothing is lost")
def two_rotations():
    p = Play(3)
    a, b, c = p.all
    p.do(a, "rotate")
    p.change(a, secret="A")
    p.do(b, "rotate")
    p.change(b, label="B")
    ends = []
    for x, y in ((a, b), (b, a)):
        keep = x.files[0]
        s = p.merge(x, y)
        ends.append(s.key)
        x.files[0] = keep if x is a else s
    equal(*ends)
    p.merge(a, b)
    p.rounds(a, b, c)
    equal("B", p.shown(a, "label"))
    true(("secret", "A") in p.marks(a), "lost")


@scenario("leaked old key", "whoever has an old key writes what he likes: nothing that is shown changes")
def leaked():
    p = Play(3)
    a, b, thief = p.all
    p.do(a, "rotate")
    p.change(a, secret="A")
    thief.skew = 10**8
    p.change(thief, secret="mine", place=CI)
    p.merge(a, thief)
    equal(("A", ADMIN), (p.shown(a), p.shown(a, "place")))


@scenario("restored machine", "the machine is put back from a backup, memory included: after a reboot it draws new ids")
def restored():
    p = Play(2)
    a, b = p.all
    p.change(a, secret="one")
    st, ids, log = a.files[0], {r: list(v) for r, v in a.ids.items()}, {r: set(v) for r, v in a.log.items()}
    p.change(a, secret="two", label="l")
    p.merge(b, a)
    a.files, a.ids, a.log, a.anchors, a.run = [st], ids, log, [Anchor(st)], 99
    p.change(a, sealed="three")
    p.now += 10
    p.rounds(b, a)
    equal(("two", "l", "three"), tuple(p.shown(a, f) for f in ("secret", "label", "sealed")))


@scenario("clone", "a running machine is cloned: one of the two finds its own id with a revision it never made")
def clone():
    p = Play(1)
    a = p.all[0]
    b = p.join()
    b.ids, b.log, b.run = {r: list(v) for r, v in a.ids.items()}, {r: set(v) for r, v in a.log.items()}, a.run
    p.change(a, secret="A")
    b.change(0, p.now + 10, p.item, {"label": "B"})
    true(b.check_ids(a.files[0]) or a.check_ids(b.files[0]), "nobody noticed")


def scenarios(report=print):
    failed = 0
    for number, (text, f) in ALL.items():
        try:
            f()
            report(f"ok      {number}: {text}")
        except Broken as broken:
            failed += 1
            report(f"BROKEN  {number}: {text}\n        {broken}")
    report(f"{len(ALL)} scenarios, {failed} broken")
    return 1 if failed else 0
