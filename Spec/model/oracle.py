"""The truth about a state, from the events that it contains, and the properties that must hold: README.md names them."""

from state import MOST_EQUAL, PROTECTED


class Broken(Exception):
    def __init__(self, name, what=""):
        super().__init__(f"{name}: {what}")
        self.name, self.what = name, what


def check(st):
    """Everything that can be said of one state."""
    w = st.world
    w.count("states checked")
    events = st.truth
    check_vector(st)
    contents = st.contents()
    for what, present in (("several siblings", any(len(x.siblings) > 1 for x in st.items.values())),
                          ("marks", any(st.view(i).marks for i in st.items)),
                          ("earlier values", any(st.view(i).earlier for i in st.items)),
                          ("an item without a secret", any(not st.view(i).shown["secret"] for i in st.items)),
                          ("two items of one name", any(twin for _, twin in st.names().values()))):
        if present:
            w.count("states with " + what)
    known = w.contents.setdefault(st.truth, contents)
    if known != contents:
        raise Broken("one result", f"equal changes, other contents\n  {known}\n  {contents}")
    by_item = {}
    for e in events:
        for i in e.touched.keys() | e.removed:
            by_item.setdefault(i, []).append(e)
    forgotten = {x for e in events for x in e.forgot}
    limits = [10] + [e.limit for e in events if e.limit is not None]
    for i in st.items.keys() - by_item.keys():
        raise Broken("items", f"{i} from nowhere")
    for i, of_item in by_item.items():
        check_item(st, i, of_item, forgotten, min(limits))
    check_slots(st, events)
    last = max((e for e in events if e.limit is not None), key=lambda e: e.dot, default=None)
    if st.limit[1] != (last.limit if last else 10):
        raise Broken("settings", st.limit)
    shown = [(key, twin) for key, twin in st.names().values()]
    plain = {}
    for i, (key, twin) in st.names().items():
        if twin is None:
            plain[key] = i
    if len(set(shown)) != len(shown) or any(twin is not None and plain[key] > twin for key, twin in shown):
        raise Broken("names", shown)


def check_vector(st):
    for e in st.truth:
        if not st.seen(e.dot):
            raise Broken("vector", f"{e.kind} {e.dot} is in the state: {st.vv} {st.floor}")
    for e in st.world.events if st.world.one_past else ():
        if e not in st.truth and e.key in st.line and e.dot[0] > st.floor and e.key >= last_restart(st) and \
                st.seen(e.dot):
            raise Broken("vector", f"{e.kind} {e.dot} is not in the state: {st.vv} {st.floor}")


def last_restart(st):
    return st.key if st.floor else (0, 0)


def follows(later, e):
    return e in later.past


def check_item(st, i, events, forgotten, limit):
    siblings = {e.touched[i]: e for e in events if i in e.touched
                and not any(follows(x, e) for x in events)}
    present = st.items.get(i)
    if bool(siblings) != (present is not None):
        raise Broken("removed stays, changed stays", f"{i} present {present is not None}, truly {bool(siblings)}")
    if present is None:
        return
    if siblings.keys() != present.siblings.keys():
        raise Broken("siblings", f"{i}: {present.siblings.keys()} truly {siblings.keys()}")
    truly_open = {(f, d) for e in events for j, f, d in e.opened if j == i and not any(
        follows(x, e) and (i in x.removed or (i, f) in x.over or (i, f, d) in x.settled) for x in events)}
    if truly_open != present.open:
        raise Broken("open", f"{i}: {sorted(present.open)} truly {sorted(truly_open)}")
    v = st.view(i)
    shown = {f: st.value(i, f, d) for f, d in v.shown.items()}
    marks = {(f, st.value(i, f, d)) for f, d in v.marks}
    earlier = {(f, st.value(i, f, d)) for f, d in v.earlier}
    reachable = set(shown.items()) | marks | earlier
    if marks & set(shown.items()):
        raise Broken("marks", f"{i}: equal to what is shown")
    if shown["key"] is None or shown["place"] is None:
        raise Broken("shown", f"{i}: {shown}")
    for f, d in truly_open:
        if (f, st.value(i, f, d)) not in reachable:
            raise Broken("nothing is lost", f"{i}: {f} {d} is open, and neither shown nor a mark")
    overwritten = {(f, d) for e in events for j, f, d in e.opened if j == i and any(
        follows(x, e) and ((i, f) in x.over or (i, f, d) in x.settled) for x in events)}
    for f, d in v.marks & overwritten:
        raise Broken("marks", f"{i}: {f} {d} is marked, and somebody who saw it replaced it")
    held = {(f, s.main[f]) for s in present.siblings.values() for f in ("key", "secret")}
    for f, d in set(v.shown.items()) & overwritten:  # a removal took what replaced it, or nothing else can be shown
        if any(g == f and (i, g, e) not in forgotten for g, e in held & truly_open):
            raise Broken("overwritten stays so", f"{i}: {f} {d}")
    gone = {x for x in forgotten if x[0] == i}
    for f, d in {(f, d) for f, d in v.shown.items() if d} | v.marks | v.earlier:
        if (i, f, d) in gone:
            raise Broken("forgotten stays so", f"{i}: {f} {d}")
    gone_values = {(f, st.world.values[j, f, d]) for j, f, d in gone}
    written = {}
    for e in events:
        for j, f, d in e.opened | e.kept:
            if j == i:
                written.setdefault((f, st.world.values[j, f, d]), []).append((d, e))
    for n in gone_values & earlier:
        forgets = [x for x in events if any(y[0] == i and (y[1], st.world.values[y]) == n for y in x.forgot)]
        # A dot that was removed, or trimmed, before the value was forgotten was not the forgetter's to forget.
        its = written.get(n, ())
        if len({d for d, _ in its}) > MOST_EQUAL:
            continue  # some were dropped before: they can be in other copies
        if all((i, n[0], d) in gone or any(follows(x, e) and not any(follows(r, e) and r in x.past for r in events
                                                                     if i in r.removed) for x in forgets) for d, e in its):
            raise Broken("forgotten stays so", f"{i}: {n} under another dot")
    removals = [x for x in events if i in x.removed]
    for n, all_of in written.items():
        if n[0] not in PROTECTED or n in reachable:
            continue
        for d, e in all_of:
            if (i, n[0], d) in gone or any(follows(r, e) for r in removals):
                continue
            if len({e for e, _ in all_of if e > d}) >= MOST_EQUAL:
                continue  # kept under newer dots, and forgotten under those
            newer = {m for m, others in written.items() if m[0] == n[0] and m != n and max(others, key=lambda o: o[0])[0] > d}
            if len(newer) < limit:
                raise Broken("nothing is lost", f"{i}: {n} is not reachable: {v.shown} {v.marks} {v.earlier}")
    for f in PROTECTED:  # readers
        d = v.shown[f]
        if d and shown["place"] not in st.world.allowed.get((i, f, d), ()):
            raise Broken("readers", f"{i}: {f} {d} under {shown['place']}, set under {st.world.allowed.get((i, f, d))}")
    if shown["place"][2] is not None and v.shown["secret"] and v.shown["sealed"] and \
            (i, v.shown["secret"], v.shown["sealed"]) not in st.world.together:
        raise Broken("devices", f"{i}: {v.shown} were never in one record")


def check_slots(st, events):
    made = {e.item: e for e in events if e.kind == "slot add"}
    for c, e in made.items():
        gone = any(x.kind == "slot remove" and x.item == c for x in events)
        if gone == (c in st.slots):
            raise Broken("slots", f"{c} removed {gone}, present {c in st.slots}")
        if gone:
            continue
        grants = [x for x in events if x.item == c and x.kind == "grant"]
        takes = [x for x in events if x.item == c and x.kind == "revoke"]
        truly = {g for g in made[c].group or () if not any(x.group == g for x in takes)}
        for x in grants:
            if not any(y.group == x.group and follows(y, x) for y in takes):
                truly.add(x.group)
        if truly != st.slots[c].groups():
            raise Broken("grants", f"{c}: {st.slots[c].groups()} truly {truly}")
        changes = [x.dot for x in events if x.item == c and x.kind == "slot change"]
        if st.slots[c].dot != max(changes + [c]):
            raise Broken("slots", f"{c} says what {st.slots[c].dot} says")
    for g, name in st.groups.items():
        granted = {c for c, s in st.slots.items() if g in s.groups()}
        held = st.world.held.get((g, st.key, name), set())
        if held - granted:
            raise Broken("revoked stays so", f"the key of {g} is held by {held - granted}")


def true_verdict(truth, st):
    a, b = truth <= st.truth | st.absorbed, st.truth <= truth
    return "same" if a and b else "descends" if a else "older" if b else "forked"
