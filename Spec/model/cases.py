"""Cases for implementations, as JSON: what the model says of one item, one pair of states, one anchor.

`./run cases FILE` writes FILE from fixed seeds and from all scenarios: the same bytes each time.
`Tests/VaultFmtTests/Causality/cases.json` is such a file, and the Swift functions are run through it.

A DOT is the text "REVISION.ID". Ids are numbered from 1 in each case, in the order of the ids that they stand for.
A HELD is {field: [dots, ascending]}; fields are key, place, secret, sealed (a sealed attribute) and label (a plain one),
and a field without dots is left out. A place is the text "GROUP ACCESSIBILITY DEVICE", with "-" for no device.

    ITEM       {"siblings": {DOT of the change: {"main": {field: DOT or null}, "earlier": HELD}}, "open": HELD}
    VALUES     {field: {DOT: text}}: of every dot in the case
    VECTOR     {"rows": {id: revision}, "floor": revision}
    HANDOVER   {"from": KEY, "to": KEY, "vector": VECTOR}; a KEY is the dot of the rotation that made it, "0.0" the first

    views      item, values, forgotten (HELD), limit; then shown {field: DOT or null}, marks (HELD), kept (HELD: what a change
               keeps, equal values under each of their dots), earlier (HELD: what is listed)               M-9 to M-15
    merges     ours, theirs: {vector, split: [ids], item: ITEM or null}; result: ITEM or null                M-19, M-20
    changes    item, values, forgotten, limit; dot, write {field: text}, settle [fields], absent [fields], forget HELD;
               result: ITEM, newlyForgotten: HELD                                                             M-3 to M-7
    takings    ours: ITEM or null, theirs: ITEM, values, forgotten, limit, known [DOTs of theirs], dots [DOTs to use, in order];
               result: ITEM or null (nothing is taken), newValues: VALUES                                   M-27 to M-29
    known      branch: KEY, line [KEYs of the branch, oldest first], ours, theirs: [HANDOVERs]; dot, known: bool      M-28
    names      items {id: {key, group}}; plain [ids that have their key plain]                                     M-17
    slots      ours, theirs: {vector, slots: {DOT: {dot, full, grants: {group: DOT}}}, groups: {group: [[slot, DOT]]}};
               result: {slots, groups: {group: "ours", "theirs", "both" or "new"}}                           M-22 to M-24
    verdicts   anchor {key, vector}, state {key, vector, handOvers}; verdict                                  M-34, M-35
    dropped    dropped [[id, low, high]], state {vector, handOvers}; found [ids], then: what is remembered after the user took it
"""

import json
import random

import machine
import merging
import state as model
from machine import Anchor, Machine, verdict
from merging import known, merge_item
from scenarios import ALL
from simulate import Run
from state import FIELDS, Item, Sibling, View

MOST = {"views": 220, "merges": 260, "changes": 260, "takings": 90, "known": 60, "names": 40, "slots": 90, "verdicts": 120,
        "dropped": 40}


class Ids:
    """Numbers for the ids of one case, in their order."""

    def __init__(self, ids):
        self.numbers = {r: n for n, r in enumerate(sorted(set(ids) - {0}), 1)} | {0: 0}

    def dot(self, d):
        return f"{d[0]}.{self.numbers[d[1]]}"

    def held(self, pairs):
        return {f: [self.dot(d) for d in sorted(d for g, d in pairs if g == f)] for f in FIELDS if any(g == f for g, _ in pairs)}

    def item(self, item):
        if item is None:
            return None
        siblings = {self.dot(d): {"main": self.shown(s.main), "earlier": self.held(s.earlier)} for d, s in sorted(item.siblings.items())}
        return {"siblings": siblings, "open": self.held(item.open)}

    def shown(self, main):
        return {f: self.dot(main[f]) if main[f] else None for f in FIELDS}

    def values(self, values, pairs):
        out = {}
        for f, d in sorted(pairs):
            out.setdefault(f, {})[self.dot(d)] = text(f, values[f, d])
        return out

    def vector(self, vv, floor):
        return {"rows": {str(self.numbers[r]): n for r, n in sorted(vv.items()) if r in self.numbers}, "floor": floor}

    def hand_overs(self, hand_overs):
        each = [{"from": self.dot(h.frm), "to": self.dot(h.to), "vector": self.vector(dict(h.vv), h.floor)}
                for h in sorted(hand_overs, key=lambda h: h.name())]
        return each


def text(field, value):
    return f"{value[0]} {value[1]} {'-' if value[2] is None else value[2]}" if field == "place" else str(value)


def dots_of(*items):
    for item in items:
        if item is not None:
            yield from item.siblings
            yield from (d for _, d in item.holds())


class Cases:
    """Collects what happens while the model runs. `seen` keeps equal cases out."""

    def __init__(self):
        self.found = {kind: [] for kind in MOST}
        self.seen = set()
        self.name, self.quota = "", dict(MOST)

    def keep(self, kind, case):
        said = json.dumps(case, sort_keys=True)
        if said not in self.seen and len(self.found[kind]) < self.quota[kind]:
            self.seen.add(said)
            self.found[kind].append({"name": self.name} | case)

    def wants(self, kind):
        return len(self.found[kind]) < self.quota[kind]

    # Kinds

    def view(self, st, i):
        item, v = st.items[i], st.view(i)
        gone = {(f, d) for j, f, d in st.forgotten if j == i}
        if not self.wants("views") or (len(item.siblings) == 1 and not item.siblings[max(item.siblings)].earlier and not v.marks):
            return
        ids = Ids(d[1] for d in (*dots_of(item), *(d for _, d in gone)))
        values = {(f, d): st.value(i, f, d) for f, d in item.holds()}
        self.keep("views", dict(item=ids.item(item), values=ids.values(values, values), forgotten=ids.held(gone), limit=st.limit[1],
                                shown=ids.shown(v.shown), marks=ids.held(v.marks), kept=ids.held(v.kept), earlier=ids.held(v.earlier)))

    def merged(self, x, y, a, b, split=frozenset()):
        if not self.wants("merges") or a is b or (a and b and a.siblings.keys() == b.siblings.keys() and a.open == b.open):
            return
        ids = Ids(d[1] for d in dots_of(a, b))
        sides = []
        for st, item in ((x, a), (y, b)):
            sides.append(dict(vector=ids.vector(st.vv, st.floor), split=sorted(ids.numbers[r] for r in st.split if r in ids.numbers),
                              item=ids.item(item)))
        self.keep("merges", dict(ours=sides[0], theirs=sides[1], result=ids.item(merge_item(a, b, x, y))))

    def changed(self, before, after, i, dot, given):
        if not self.wants("changes"):
            return
        item, result = before.items[i], after.items[i]
        gone = {(f, d) for j, f, d in before.forgotten if j == i}
        new = {(f, d) for j, f, d in after.forgotten - before.forgotten if j == i}
        ids = Ids(d[1] for d in (*dots_of(item, result), *(d for _, d in gone | new)))
        values = {(f, d): before.value(i, f, d) for f, d in item.holds()}
        writes = {f: text(f, value) for f, value in (given.get("writes") or {}).items()}
        self.keep("changes", dict(
            item=ids.item(item), values=ids.values(values, values), forgotten=ids.held(gone), limit=before.limit[1], dot=ids.dot(dot),
            write=writes, settle=sorted(given.get("settle", ())), absent=sorted(given.get("absent", ())),
            forget=ids.held(set(given.get("forget", ()))), result=ids.item(result), newlyForgotten=ids.held(new)))

    def taken(self, ours, theirs, draft, touched, made):
        for i in sorted(theirs.items):
            a, b = ours.items.get(i), theirs.items[i]
            gone = {(f, d) for j, f, d in ours.forgotten if j == i}
            result = draft.items[i] if i in touched else None
            ids = Ids(d[1] for d in (*dots_of(a, b, result), *(d for _, d in gone)))
            values = {(f, d): st.value(i, f, d) for st, item in ((ours, a), (theirs, b)) if item for f, d in item.holds()}
            new = {(f, d): draft.value(i, f, d) for f, d in result.holds() if (f, d) not in values} if result else {}
            theirs_known = sorted({d for d in dots_of(b) if known(ours, theirs, d)})
            used = [d for d in made if result and (d == touched[i] or any(d == e for _, e in new))]
            self.keep("takings", dict(
                ours=ids.item(a), theirs=ids.item(b), values=ids.values(values, values), forgotten=ids.held(gone), limit=ours.limit[1],
                known=[ids.dot(d) for d in theirs_known], dots=[ids.dot(d) for d in used], result=ids.item(result),
                newValues=ids.values(new, new)))
            self.known(ours, theirs, sorted(set(dots_of(b))))

    def known(self, ours, theirs, dots):
        rows = [r for h in ours.handovers | theirs.handovers for r, _ in h.vv]
        ids = Ids([*rows, *(d[1] for d in dots), *(k[1] for h in ours.handovers | theirs.handovers for k in (h.frm, h.to)),
                   *(k[1] for k in theirs.line)])
        for d in dots:
            self.keep("known", dict(branch=ids.dot(theirs.key), line=[ids.dot(k) for k in theirs.line], ours=ids.hand_overs(ours.handovers),
                                    theirs=ids.hand_overs(theirs.handovers), dot=ids.dot(d), known=known(ours, theirs, d)))

    def named(self, st):
        names = st.names()
        if not any(twin for _, twin in names.values()):
            return
        ids = {i: f"{n}" for n, i in enumerate(sorted(st.items), 1)}
        items = {ids[i]: dict(key=st.full_key(i)[0], group=st.full_key(i)[1]) for i in sorted(st.items)}
        self.keep("names", dict(items=items, plain=[ids[i] for i in sorted(st.items) if names[i][1] is None]))

    def slotted(self, x, y):
        if x.slots == y.slots or not self.wants("slots"):
            return
        every = [d for st in (x, y) for c, s in st.slots.items() for d in (c, s.dot, *(d for _, d in s.grants))]
        every += [d for st in (x, y) for key in st.groups.values() for pair in key for d in pair]
        ids = Ids(d[1] for d in every)

        def slots(of):
            return {ids.dot(c): dict(dot=ids.dot(s.dot), full=s.full, grants={g: ids.dot(d) for g, d in sorted(s.grants)})
                    for c, s in sorted(of.items())}

        sides = [dict(vector=ids.vector(st.vv, st.floor), slots=slots(st.slots),
                      groups={g: [[ids.dot(c), ids.dot(d)] for c, d in sorted(key)] for g, key in sorted(st.groups.items())}) for st in (x, y)]
        result = merging.merge_slots(x, y)
        groups = {}
        for g, key in sorted(merging.merge_groups(x, y, result).items()):
            here = x.groups.get(g) == key, y.groups.get(g) == key
            groups[g] = {(True, True): "both", (True, False): "ours", (False, True): "theirs", (False, False): "new"}[here]
        self.keep("slots", dict(ours=sides[0], theirs=sides[1], result=dict(slots=slots(result), groups=groups)))

    def judged(self, anchor, st):
        rows = [*anchor.vv, *st.vv, *(r for h in st.handovers for r, _ in h.vv)]
        ids = Ids([*rows, anchor.key[1], st.key[1], *(k[1] for h in st.handovers for k in (h.frm, h.to))])
        self.keep("verdicts", dict(
            anchor=dict(key=ids.dot(anchor.key), vector=ids.vector(anchor.vv, anchor.floor)),
            state=dict(key=ids.dot(st.key), vector=ids.vector(st.vv, st.floor), handOvers=ids.hand_overs(st.handovers)),
            verdict=verdict(anchor, st)))
        if anchor.dropped:
            ids = Ids([*rows, *(r for r, _, _ in anchor.dropped)])
            ids.numbers |= {k[1]: ids.numbers.get(k[1], 0) for h in st.handovers for k in (h.frm, h.to)}
            after = [(r, max(low, machine.last(st, r)), high) for r, low, high in anchor.dropped if machine.last(st, r) < high]
            number = lambda row: [ids.numbers[row[0]], row[1], row[2]]  # noqa: E731
            self.keep("dropped", dict(
                dropped=[number(row) for row in anchor.dropped],
                state=dict(vector=ids.vector(st.vv, st.floor), handOvers=[each["vector"] for each in ids.hand_overs(st.handovers)]),
                found=sorted({ids.numbers[r] for r in anchor.drops(st)}), then=[number(row) for row in after]))


def watch(cases):
    """Machines that tell `cases` what they do. Returns what undoes it."""
    whole = Machine.change, machine.merge, machine.take_in

    def change(self, k, now, i, writes=None, settle=(), forget=(), absent=(), kind=None):
        before, given = self.files[k], dict(writes=dict(writes or {}), settle=settle, forget=forget, absent=absent)
        after = whole[0](self, k, now, i, writes, settle, forget, absent, kind)
        cases.changed(before, after, i, max(after.items[i].siblings), given)
        cases.view(after, i)
        return after

    def merge(x, y):
        result = whole[1](x, y)
        for i in sorted(x.items.keys() | y.items.keys()):
            cases.merged(x, y, x.items.get(i), y.items.get(i))
        for i in sorted(result.items):
            cases.view(result, i)
        cases.slotted(x, y)
        cases.named(result)
        cases.judged(Anchor(x), y)
        return result

    def take_in(ours, theirs, draft, new_dot):
        made = []

        def counted():
            made.append(new_dot())
            return made[-1]

        result = whole[2](ours, theirs, draft, counted)
        cases.taken(ours, theirs, draft, result[0], made)
        return result

    class Told(Run):
        def find(self, m, k, st):
            cases.judged(m.anchors[k], st)
            super().find(m, k, st)

        def meet(self, m, k, theirs):
            cases.judged(m.anchors[k], theirs)
            super().meet(m, k, theirs)

    Machine.change, machine.merge, machine.take_in = change, merge, take_in

    def undo():
        Machine.change, machine.merge, machine.take_in = whole

    return Told, undo


def split_cases(cases, count=20):
    """What `simulate` has no clones for: one of the two sides knows that an id is split."""
    r, found = random.Random(3), list(cases.found["merges"])
    cases.quota["merges"] += count
    for case in found:
        ours, theirs = (parsed(case[side]) for side in ("ours", "theirs"))
        ids = sorted({d[1] for d in dots_of(ours.items.get(0), theirs.items.get(0))})
        r.choice((ours, theirs)).split = frozenset([r.choice(ids)])
        ours_item, theirs_item = ours.items.get(0), theirs.items.get(0)
        plain = case["result"]
        ids_of = Ids(d[1] for d in dots_of(ours_item, theirs_item))
        if ids_of.item(merge_item(ours_item, theirs_item, ours, theirs)) != plain:
            cases.name = f"split: {case['name']}"
            cases.merged(ours, theirs, ours_item, theirs_item)


def parsed(side):
    """A state with the item of a case."""
    st = model.State(None)
    st.vv = {int(r): n for r, n in side["vector"]["rows"].items()}
    st.floor, st.split = side["vector"]["floor"], frozenset(side["split"])
    if side["item"] is not None:
        st.items[0] = parsed_item(side["item"])
    return st


def parsed_item(item):
    pairs = lambda held: frozenset((f, parsed_dot(d)) for f, dots in held.items() for d in dots)  # noqa: E731
    siblings = {parsed_dot(d): Sibling({f: parsed_dot(e) if e else None for f, e in s["main"].items()}, pairs(s["earlier"]))
                for d, s in item["siblings"].items()}
    return Item(siblings, pairs(item["open"]))


def parsed_dot(said):
    revision, _, r = said.partition(".")
    return int(revision), int(r)


def collect():
    cases = Cases()
    told, undo = watch(cases)
    try:
        for number, (_, f) in ALL.items():
            if number not in ("G5", "G9"):  # long ones
                cases.name = f"scenario {number}"
                # A few of each scenario, so that none crowds out the others.
                cases.quota = {kind: len(found) + 6 for kind, found in cases.found.items()}
                f()
        seed = 0
        while any(len(cases.found[kind]) < most for kind, most in MOST.items()) and seed < 3000:
            seed += 1
            cases.name = f"seed {seed}"
            cases.quota = {kind: min(most, len(cases.found[kind]) + max(2, most // 40)) for kind, most in MOST.items()}
            told(seed).run()
    finally:
        undo()
    split_cases(cases)
    return cases.found


def cases(path):
    found = collect()
    lines = []
    for kind, each in found.items():
        body = ",\n".join(json.dumps(case, separators=(",", ":")) for case in each)
        lines.append(f'"{kind}": [\n{body}\n]')
    with open(path, "w", encoding="ascii") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
    print(*(f"{len(each)} {kind}" for kind, each in found.items()), sep="\n")
    return 0


__all__ = ["View", "cases", "collect"]
