"""Merging: makes no dot and needs no base. rules.md, part C; branches under old keys: part F."""

from state import RULES, HandOver, Item, Sibling, Slot, State


def join(a, b):
    vv = dict(a)
    for r, n in b.items():
        if vv.get(r, 0) < n:
            vv[r] = n
    return vv


def merge(x, y):
    """Two states under one key. The result is the same whichever is ours."""
    assert x.key == y.key
    items = {}
    for i in x.items.keys() | y.items.keys():
        a, b = x.items.get(i), y.items.get(i)
        if a is b:
            items[i] = a
            continue
        joined = merge_item(a, b, x, y)
        if joined:
            items[i] = joined
    forgotten = x.forgotten | y.forgotten if RULES["forgotten_set"] else frozenset()
    slots = merge_slots(x, y)
    st = State(x.world, vv=join(x.vv, y.vv), floor=x.floor, items=items, slots=slots,
               groups=merge_groups(x, y, slots), limit=max(x.limit, y.limit), forgotten=forgotten, key=x.key, line=x.line,
               handovers=x.handovers | y.handovers, split=x.split | y.split,
               truth=x.truth | y.truth, absorbed=x.absorbed | y.absorbed)
    keep_group_keys(st)
    return st


def stays(dot, there, other, split):
    """The one comparison that everything rests on: here has it; it stays if there has it, or has not seen it. Of a split
    id nothing is inferred, whichever side knows that it is split."""
    return there or not other.seen(dot) or dot[1] in split


def merge_item(a, b, x, y):
    siblings, open_values, split = {}, set(), x.split | y.split
    for me, other, there in ((a, b, y), (b, a, x)):
        if me is None:
            continue
        for dot, s in me.siblings.items():
            in_other = other is not None and dot in other.siblings
            if stays(dot, in_other, there, split) if RULES["changes_survive_removal"] else in_other or other and \
                    not there.seen(dot):
                siblings[dot] = s
        for f, d in me.open:
            in_other = other is not None and (f, d) in other.open
            if not RULES["open_by_sight"] or stays(d, in_other, there, split):
                open_values.add((f, d))
    if not siblings:
        return None
    if not RULES["open_by_sight"]:  # before: whatever a sibling holds and is not shown
        open_values |= {(f, d) for s in siblings.values() for f, d in s.main.items() if d}
    return Item(siblings, frozenset(open_values))


def merge_slots(x, y):
    slots = {}
    for c in x.slots.keys() | y.slots.keys():
        a, b = x.slots.get(c), y.slots.get(c)
        if not (a and b):
            one, there = (a, y) if a else (b, x)
            presence = c if RULES["removal_of_slots_wins"] else max(one.dot, c)
            if not there.seen(presence):
                slots[c] = one
            continue
        greater = max(a, b, key=lambda s: s.dot)
        grants = greater.grants
        if RULES["grants_one_by_one"]:
            grants = frozenset(g for me, other, there in ((a, b, y), (b, a, x)) for g in me.grants
                               if g in other.grants or not there.seen(g[1]))
        slots[c] = Slot(c, greater.dot, greater.full, grants)
    return slots


def grants_of(slots, g):
    return frozenset((c, dot) for c, s in slots.items() for group, dot in s.grants if group == g)


def merge_groups(x, y, slots):
    """A group's key is named by the grants that it was made for. A side's key goes on if the group has that side's
    grants in the result; otherwise the writer of the merge makes a new one. (The same name on both sides can be two
    keys, if two machines made the same merge: either goes on.)"""
    groups = {}
    for g in x.groups.keys() | y.groups.keys():
        if RULES["fresh_group_keys"]:
            groups[g] = grants_of(slots, g)
        else:
            groups[g] = max((s.groups[g] for s in (x, y) if g in s.groups),
                            key=lambda key: (max((d for _, d in key), default=(0, 0)), sorted(key)))
    return groups


def keep_group_keys(st):
    """Who gets a group's key: the slots that are granted it now. The oracle compares with who ever got it."""
    for slot, s in st.slots.items():
        for g in s.groups():
            st.world.held.setdefault((g, st.key, st.groups.get(g)), set()).add(slot)


# ---- Keys that were rotated away ---------------------------------------------------------------------------------


def leads(st, key):
    """Whether hand-overs lead from a key to the state's, whatever their vectors."""
    seen, todo = set(), {key}
    while todo:
        seen |= todo
        todo = {h.to for h in st.handovers if h.frm in todo} - seen
    return st.key in seen


def winner(x, y):
    """Which of two states under different keys goes on: the one that the other's key leads to; otherwise the one of
    the greater rotation. So all users choose the same."""
    a, b = leads(x, y.key), leads(y, x.key)
    if a != b:
        return (x, y) if a else (y, x)
    return (x, y) if x.key > y.key else (y, x)


def known(ours, theirs, dot):
    """Whether a branch's dot came under our key, or with a branch that was taken in. Nothing is said of a split id."""
    if dot[1] in ours.split | theirs.split:
        return False
    if not RULES["hand_over_has_vector"]:
        return dot[0] <= max([h.floor for h in ours.handovers] + [n for h in ours.handovers for _, n in h.vv] + [0])
    if any(h.frm == theirs.key and h.covers(dot) for h in ours.handovers):
        return True
    # The other side has rotated too: what it had before that is told by its own hand-overs, and by ours from that key.
    return any(mine.frm == h.frm and h.covers(dot) and mine.covers(dot)
               for h in theirs.handovers for mine in ours.handovers if h.to in theirs.line)


def take_in(ours, theirs, draft, new_dot):
    """Values of a branch under a key that ours has rotated away: each under a new dot, open or earlier, never shown.

    Changes `draft`, a copy of ours. `new_dot` makes the dots of this change. Returns {item: its new sibling's dot} and
    the {(item, field, dot)} that it adds as open, and as earlier values.
    """
    values, touched, opened, kept = {}, {}, set(), set()
    for i in sorted(theirs.items):
        t, item = theirs.view(i), theirs.items[i]
        new = i not in ours.items
        if new and all(known(ours, theirs, dot) for dot in item.siblings):
            continue  # removed here by somebody who had seen it
        live = {(f, d) for f, d in t.shown.items() if d} | t.marks
        wanted = {(f, d) for f, d in live | t.earlier if (i, f, d) not in ours.forgotten
                  and (new or not known(ours, theirs, d))}
        if not wanted and not new:
            continue
        made = {}
        for f, d in sorted(wanted, key=lambda pair: (pair[1], pair[0])):
            made[f, d] = new_dot()
            values[i, f, made[f, d]] = theirs.value(i, f, d)
        if new:
            at = new_dot()
            main = dict(key=at, place=at, secret=None, sealed=None, label=None)
            values[i, "key", at], values[i, "place", at] = (theirs.value(i, f, t.shown[f]) for f in ("key", "place"))
            earlier, open_values = frozenset(), frozenset({("key", at), ("place", at)})
        else:
            v, at = ours.view(i), new_dot()
            main, open_values = dict(v.shown), ours.items[i].open
            earlier = v.kept
        draft.world.values.update(values)
        touched[i] = at
        opened |= {(i, f, made[f, d]) for f, d in wanted & live} | {(i, f, at) for f in ("key", "place") if new}
        kept |= {(i, f, made[f, d]) for f, d in wanted - live}
        open_values = open_values | {(f, made[f, d]) for f, d in wanted & live}
        earlier = earlier | {(f, made[f, d]) for f, d in wanted - live}
        draft.items[i] = Item({at: Sibling(main, earlier)}, open_values)
    if RULES["branch_handed_over"]:
        draft.handovers = draft.handovers | {HandOver(theirs.key, ours.key, theirs.vv, theirs.floor)}
    draft.handovers |= theirs.handovers
    return touched, opened, kept
