"""Random sequences: 2 to 6 machines, copies on one machine, restored files and machines, clones, wrong clocks."""

import collections
import itertools
import random
import time

from machine import Anchor, Machine, Refused, World, verdict
from merging import merge
from oracle import Broken, check, true_verdict
from state import RULES, State

KINDS = ["add"] * 2 + ["secret"] * 5 + ["label"] * 3 + ["sealed"] * 3 + ["key"] * 2 + ["place"] * 4 + ["remove"] * 2 + \
    ["settle"] * 5 + ["forget"] * 3 + ["restore"] * 2 + ["absent", "both", "slot add", "slot change", "slot remove",
                                                         "grant", "grant", "revoke", "limit", "compact"]
GROUPS = "gh"


class Run:
    """One sequence. Every state is checked; at its end all merges in several orders end alike."""

    def __init__(self, seed, steps=None, live=False, policy="run"):
        self.seed, self.live = seed, live
        self.r = r = random.Random(seed)
        self.world = World()
        self.rotations = r.random() < 0.15
        self.limits = r.random() < 0.3
        self.steps = steps or r.randint(6, 40)
        self.kinds = KINDS
        if r.random() < 0.6:  # few kinds, so that they meet
            self.kinds = [k for k in r.sample(sorted(set(KINDS)), r.randint(3, 6)) for _ in range(2)] + \
                ["secret", "settle", "settle"]
        self.now, self.log = 10, []
        root = State(self.world)
        first = Machine(self.world, r, root, 0)
        first.add_slot(0, self.now)
        self.machines = [first]
        self.random_change(first, 0, "add")
        if r.random() < 0.5:
            first.add_slot(0, self.now, full=False, groups=["g"])
        for n in range(1, r.randint(2, 6)):
            self.machines.append(Machine(self.world, r, first.files[0], n, r.choice((0, 0, -5, 9, 1000)),
                                         r.random() > 0.2))
        self.backups = []

    # Changes

    def random_place(self, m):
        x = self.r.random()
        if x < 0.15:
            return self.r.choice(GROUPS), 5, m.device
        return self.r.choice(GROUPS), self.r.choice((1, 1, 3)), None

    def unique(self, kind):
        self.world.unique += 1
        return f"{kind}{self.world.unique}"

    def random_change(self, m, k, kind):
        r, st, now = self.r, m.files[k], self.now
        i = r.choice(sorted(st.items)) if st.items else None
        marked = sorted(j for j in st.items if st.view(j).marks)
        if marked and (kind == "settle" or r.random() < 0.3):
            i = r.choice(marked)
        if kind == "settle" and not marked:
            kind = r.choice(("secret", "place", "label"))
        if kind == "add" or i is None and kind not in ("slot add", "slot change", "slot remove", "grant", "revoke",
                                                       "limit", "rotate", "compact"):
            if len(st.items) > 1:
                return
            values = dict(key=r.choice("kl"), place=self.random_place(m), secret=self.unique("s"))
            if r.random() < 0.5:
                values["sealed"] = self.unique("o")
            if r.random() < 0.5:
                values["label"] = self.unique("l")
            m.add(k, now, values)
        elif kind in ("secret", "sealed", "place", "both", "restore", "absent", "settle") and not m.can_open(st, i):
            return
        elif kind in ("secret", "label", "sealed"):
            # Now and then two machines set the same value.
            value = f"{kind[0]}same" if r.random() < 0.1 else self.unique(kind[0])
            m.change(k, now, i, {kind: value})
        elif kind == "key":
            m.change(k, now, i, {kind: r.choice("klmn")})
        elif kind == "place":
            m.change(k, now, i, {kind: self.random_place(m)})
        elif kind == "both":
            m.change(k, now, i, dict(secret=self.unique("s"), label=self.unique("l")))
        elif kind == "remove":
            m.remove(k, now, i)
        elif kind == "absent":
            f = r.choice(("sealed", "label"))
            if st.view(i).shown[f]:
                m.change(k, now, i, absent=[f])
        elif kind == "settle":
            fields = sorted({f for f, _ in st.view(i).marks})
            if fields:
                self.settle(m, k, i, fields)
        elif kind in ("forget", "restore"):
            earlier = sorted(st.view(i).earlier)
            if earlier and kind == "forget":
                m.change(k, now, i, forget=earlier if r.random() < 0.5 else [r.choice(earlier)])
            elif earlier:
                f, d = r.choice(earlier)
                m.change(k, now, i, {f: st.value(i, f, d)}, kind="restore")
        elif kind == "limit":
            if self.limits:
                m.set_limit(k, now, r.choice((0, 1, 2, 10)))
        elif kind == "compact":
            m.compact(k)
        elif kind == "slot add":
            if len(st.slots) < 4:
                m.add_slot(k, now, *((True, ()) if r.random() < 0.5 else (False, (r.choice(GROUPS),))))
        elif kind == "slot change":
            m.change_slot(k, now, r.choice(sorted(st.slots)))
        elif kind == "slot remove":
            full = [c for c, s in st.slots.items() if s.full]
            c = r.choice(sorted(st.slots))
            if full != [c]:
                m.remove_slot(k, now, c)
        elif kind in ("grant", "revoke"):
            scoped = [c for c in sorted(st.slots) if not st.slots[c].full]
            if scoped:
                c, g = r.choice(scoped), r.choice(GROUPS)
                if (g in st.slots[c].groups()) == (kind == "revoke"):
                    m.grant(k, now, c, g, take=kind == "revoke")
        elif kind == "rotate":
            m.rotate(k, now, restart=r.random() < 0.5)

    def settle(self, m, k, i, fields):
        """For each field what is shown stays, or a mark takes its place (and is written under a new dot)."""
        st, v, writes, stay = m.files[k], m.files[k].view(i), {}, []
        for f in self.r.sample(fields, self.r.randint(1, len(fields))):
            other = self.r.choice(sorted(d for g, d in v.marks if g == f))
            if v.shown[f] is None or self.r.random() < 0.5:
                writes[f] = st.value(i, f, other)
            else:
                stay.append(f)
        if "place" in writes and writes["place"][2] not in (None, m.device):
            return
        m.change(k, self.now, i, writes, settle=stay, kind="settle")

    # Steps

    def step(self):
        r, x = self.r, self.r.random()
        m = r.choice(self.machines)
        k = r.randrange(len(m.files))
        self.now += r.choice((0, 1, 3))
        if x < 0.50:
            kind = "rotate" if self.rotations and r.random() < 0.08 else r.choice(self.kinds)
            self.log.append((m.name, k, kind))
            self.random_change(m, k, kind)
        elif x < 0.80:
            o = r.choice(self.machines)
            g = r.randrange(len(o.files))
            self.log.append((m.name, k, "merge", o.name, g))
            self.meet(m, k, o.files[g])
        elif x < 0.86:  # a branch, a worktree, cp
            if len(m.files) < 3:
                self.log.append((m.name, k, "copy"))
                m.files.append(m.files[k])
                m.anchors.append(Anchor(m.files[k]))
        elif x < 0.90:
            self.backups.append((m, m.files[k], {i: list(v) for i, v in m.ids.items()},
                                 {i: set(v) for i, v in m.log.items()}))
        elif x < 0.93 and self.backups:  # a file comes back, the memory stays: older, or a fork; the user takes it
            st = r.choice(self.backups)[1]
            self.log.append((m.name, k, "restore file"))
            self.find(m, k, st)
        elif x < 0.95 and self.backups:  # the whole machine comes back: its memory too, but not its boot
            o, st, ids, log = r.choice(self.backups)
            self.log.append((o.name, 0, "restore machine"))
            o.files, o.ids, o.log = [st], {i: list(v) for i, v in ids.items()}, {i: set(v) for i, v in log.items()}
            o.anchors = [Anchor(st)]
            o.run = r.getrandbits(32) if not self.live else o.run
        elif x < 0.97 and len(self.machines) < 7:
            self.log.append((m.name, k, "clone"))
            c = Machine(self.world, r, m.files[k], len(self.machines), m.skew, m.remembers)
            c.device, c.ids, c.log = m.device, {i: list(v) for i, v in m.ids.items()}, \
                {i: set(v) for i, v in m.log.items()}
            if self.live:
                c.run = m.run
            self.machines.append(c)
        elif x < 0.98:  # a power cut takes the last change, after somebody copied it; what memory says is durable
            before, ids = m.files[k], {i: list(v) for i, v in m.ids.items()}
            self.log.append((m.name, k, "power cut"))
            truth = dict(m.anchors[k].__dict__)
            self.random_change(m, k, "label")
            if r.random() < 0.5:
                self.backups.append((m, m.files[k], {i: list(v) for i, v in m.ids.items()},
                                     {i: set(v) for i, v in m.log.items()}))
            m.files[k] = before
            m.anchors[k].__dict__.update(truth)
            if not RULES["memory_first"]:
                m.ids = ids
        else:
            o = r.choice(self.machines)
            self.log.append((m.name, k, "put in place"))
            self.find(m, k, r.choice(o.files))
        check(m.files[k] if k < len(m.files) else m.files[0])

    def find(self, m, k, st):
        """A machine opens a file that is not the one it left."""
        says, back = m.judge(k, st)
        a = m.anchors[k]
        truly = true_verdict(a.truth, st)
        self.compare(says, truly, a, st)
        m.check_ids(st)
        self.world.count("verdict " + says)
        if back and self.r.random() < 0.5:
            return
        if says in ("same", "descends") and not back:
            m.files[k] = st
            a.take(st)
        else:
            m.accept(k, st)

    def compare(self, says, truly, a, st):
        good = ("same", "descends")
        if a.key == st.key and says != truly or (says in good) != (truly in good):
            raise Broken("verdict", f"{says}, truly {truly}")

    def meet(self, m, k, theirs):
        ours = m.files[k]
        if ours.key == theirs.key:
            check_pair(ours, theirs)
        elif self.r.random() < 0.3:
            return  # nobody says yes to a branch under other keys
        a = m.anchors[k]
        _, back = m.judge(k, theirs)
        if ours.key == theirs.key and bool(back) != bool((theirs.truth | theirs.absorbed) & a.gone):
            raise Broken("dropped stays so", f"{back}")
        before = a.truth
        try:
            result = m.merge_in(k, self.now, theirs, accept=not back or self.r.random() < 0.5)
        except Refused:
            return
        self.world.count("merge")
        if ours.key == theirs.key and not before <= result.truth | result.absorbed:
            raise Broken("locked out")
        if ours.key != theirs.key:
            self.check_taken(m, k, ours, theirs, result)

    def check_taken(self, m, k, ours, theirs, result):
        """What a branch under old keys had is all reachable, and changed nothing that was shown."""
        stay, branch = (ours, theirs) if result.key == ours.key else (theirs, ours)
        for i in stay.items:
            if i not in result.items or stay.view(i).shown != result.view(i).shown:
                raise Broken("old keys", f"{i}: {stay.view(i).shown} became {result.view(i).shown}")
        for old in (branch,):
            a = Anchor(old)
            if verdict(a, result) not in ("descends", "same"):
                raise Broken("locked out", "whoever has the branch cannot go on")
        from merging import known
        for i in branch.items:
            t = branch.view(i)
            if i not in result.items:
                if not all(known(result, branch, d) for d in branch.items[i].siblings):
                    raise Broken("nothing is lost", f"{i} of a branch under old keys")
                continue
            v = result.view(i)
            reachable = {(f, result.value(i, f, d)) for f, d in v.marks | v.earlier | set(v.shown.items())}
            live = t.marks | set(t.shown.items())
            for e in branch.truth - stay.truth - stay.absorbed:
                for j, f, d in e.opened:
                    if j == i and (f, d) in live and (i, f, d) not in result.forgotten and \
                            (f, branch.value(i, f, d)) not in reachable:
                        raise Broken("nothing is lost", f"{i} {f} {d} of a branch under old keys")

    def end(self):
        """All orders end alike, and every machine that remembers goes on from there."""
        files = [(m, k) for m in self.machines for k in range(len(m.files))]
        states = [m.files[k] for m, k in files]
        keys = {s.key for s in states}
        if len(keys) == 1:
            for _ in range(3):
                a, b, c = (self.r.choice(states) for _ in range(3))
                results = {merge(merge(p, q), s).contents() for p, q, s in itertools.permutations((a, b, c))}
                if len(results) != 1:
                    raise Broken("one result", "three states")
                check(merge(merge(a, b), c))
            ends = set()
            for _ in range(3):
                self.r.shuffle(states)
                s = states[0]
                for t in states[1:]:
                    s = merge(s, t)
                check(s)
                ends.add(s.contents())
            if len(ends) != 1:
                raise Broken("one result", "all states")
        else:
            m = self.machines[0]
            for o, k in files[1:]:
                m.merge_in(0, self.now, o.files[k])
                check(m.files[0])
            s = m.files[0]
        for m, k in files:
            a = m.anchors[k]
            says, truly = verdict(a, s), true_verdict(a.truth, s)
            self.compare(says, truly, a, s)
            if truly not in ("same", "descends"):
                self.world.count("remembers changes that no file has any more")
        self.world.count("ends under several keys" if len(keys) > 1 else "ends")

    def run(self):
        for _ in range(self.steps):
            self.step()
        self.end()
        return self.world


def check_pair(a, b):
    p, q = merge(a, b), merge(b, a)
    if p.contents() != q.contents() or p.vv != q.vv:
        raise Broken("commutative")
    for again in (merge(p, a), merge(b, p), merge(p, p)):
        if again.contents() != p.contents() or again.vv != p.vv:
            raise Broken("merging again changes nothing")
    truly = true_verdict(a.truth, b)
    says = verdict(Anchor(a), b)
    if says != truly:
        raise Broken("verdict", f"{says}, truly {truly}")
    if truly == "descends" and p.contents() != b.contents():
        raise Broken("fast-forward")


def simulate(first, sequences, report=print, keep_going=False, live=False, steps=None):
    started, found, totals = time.monotonic(), {}, collections.Counter()
    for seed in range(first, first + sequences):
        run = Run(seed, live=live, steps=steps)
        try:
            run.run()
        except Broken as broken:
            known = found.setdefault(broken.name, [])
            known.append((len(run.log), seed))
            if keep_going:
                report(f"  seed {seed}: {str(broken)[:300]}", flush=True)
            if not keep_going:
                report(f"seed {seed}: BROKEN: {broken}")
                for line in run.log:
                    report(f"  {line}")
        totals.update(run.world.counts)
        done = seed - first + 1
        if done % 2000 == 0:
            report(f"  {done} sequences, {time.monotonic() - started:.0f} s, "
                   f"{sum(map(len, found.values()))} broken", flush=True)
        if found and not keep_going:
            break
    for what, n in sorted(totals.items()):
        report(f"{n:10,} {what}")
    for name, seeds in sorted(found.items()):
        report(f"BROKEN: {name}: {len(seeds)} sequences, the shortest: seed {min(seeds)[1]}")
    report(f"{seed - first + 1:,} sequences from seed {first}, {sum(map(len, found.values()))} broken, "
           f"{time.monotonic() - started:.0f} s", flush=True)
    return found
