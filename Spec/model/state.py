"""What a state of a vault is, and what its items show: rules.md, parts A and B.

A dot is (revision, replica id). A state never changes once it is made. `truth` and `absorbed` are the events that a
state truly contains; they are for the oracle, and no rule reads them.
"""

FIELDS = ("key", "place", "secret", "sealed", "label")  # `sealed` and `label` stand for attributes: they can be absent
PROTECTED = ("secret", "sealed")
NO_DEVICE = None
MOST_EQUAL = 8  # dots under which equal earlier values of one field are kept

ALL_RULES = {
    "exact_own_revision": "an id is continued only on a state that has exactly its last own revision",
    "ids_end_with_the_run": "an id is not continued after a reboot or where the memory was put elsewhere",
    "memory_first": "an id's last revision is durable in the memory before the change that uses it is written",
    "own_log": "a machine knows all revisions that it made under its ids, and names others as a clone's",
    "clock_past_state": "a revision is greater than every revision in the state",
    "changes_survive_removal": "a removal takes only what it has seen",
    "open_by_sight": "a value stays open unless the other side has seen it and does not hold it open",
    "open_first": "an open value is shown rather than one that was overwritten or removed",
    "absence_counts": "an attribute that nobody holds open is shown only if every sibling has it",
    "place_with_secret": "the place is that of a sibling that holds the secret shown",
    "sealed_with_place": "a sealed attribute is shown only from a sibling of the place shown",
    "device_takes_whole": "an item bound to a device takes its protected values from one sibling",
    "overwritten_kept": "a protected value that a sibling holds, and that is neither shown nor open, is an earlier value",
    "losers_kept": "what loses in settling becomes an earlier value",
    "only_changes_trim": "compaction and merging keep earlier values beyond the limit; a change drops them",
    "forgotten_set": "forgotten values are listed in the vault",
    "forgets_equal": "forgetting a value forgets every dot of the item with equal bytes",
    "removal_of_slots_wins": "a change of a slot does not renew its presence",
    "grants_one_by_one": "each grant has a dot of its own",
    "fresh_group_keys": "a merge of two different keys of a group makes a third",
    "old_keys_values_only": "a branch under old keys comes in as open and earlier values, and its vector is not joined",
    "branch_handed_over": "taking a branch in adds a hand-over from its key for its vector",
    "hand_over_has_vector": "what a branch has of its own is told by the hand-over's vector, not by revisions alone",
    "dropped_remembered": "a machine remembers what its user dropped",
    "least_id_has_key": "of items with one key the one of the least id has it plain",
}
RULES = dict.fromkeys(ALL_RULES, True)


class Sibling:
    """The item as one change left it. `main`: field -> dot, or None if absent. `earlier`: {(field, dot)}."""

    __slots__ = ("main", "earlier")

    def __init__(self, main, earlier=frozenset()):
        self.main, self.earlier = main, earlier


class Item:
    """siblings: dot of the change -> Sibling. open: {(field, dot)}, values that nobody who saw them has replaced."""

    __slots__ = ("siblings", "open")

    def __init__(self, siblings, open):
        self.siblings, self.open = siblings, open

    def holds(self):
        """Every (field, dot) that the item keeps a value of."""
        all_of = set(self.open)
        for s in self.siblings.values():
            all_of.update((f, d) for f, d in s.main.items() if d)
            all_of |= s.earlier
        return all_of


class Slot:
    """Presence by `made`; what it says by `dot`, the greatest later one; grants: {(group, dot)}."""

    __slots__ = ("made", "dot", "grants", "full")

    def __init__(self, made, dot, full, grants=frozenset()):
        self.made, self.dot, self.full, self.grants = made, dot, full, grants

    def groups(self):
        return {g for g, _ in self.grants}


class HandOver:
    """The key `frm` signed: the state with the vector `vv`, and the next key `to`."""

    __slots__ = ("frm", "to", "vv", "floor")

    def __init__(self, frm, to, vv, floor):
        self.frm, self.to, self.vv, self.floor = frm, to, tuple(sorted(vv.items())), floor

    def name(self):
        return self.frm, self.to, self.vv, self.floor

    def __eq__(self, other):
        return self.name() == other.name()

    def __hash__(self):
        return hash(self.name())

    def covers(self, dot):
        return dot[0] <= self.floor or dict(self.vv).get(dot[1], 0) >= dot[0]


class State:
    __slots__ = ("vv", "floor", "items", "slots", "groups", "limit", "forgotten", "key", "line", "handovers",
                 "split", "world", "truth", "absorbed", "_views", "_contents")

    def __init__(self, world, **given):
        self.world = world
        self.vv, self.floor = {}, 0
        self.items, self.slots, self.groups = {}, {}, {}
        self.limit = ((0, 0), 10)
        self.forgotten, self.handovers, self.split = frozenset(), frozenset(), frozenset()
        self.key, self.line = (0, 0), ((0, 0),)
        self.truth = self.absorbed = frozenset()
        for name, value in given.items():
            setattr(self, name, value)
        self._views, self._contents = {}, None

    def copy(self):
        return State(self.world, vv=dict(self.vv), floor=self.floor, items=dict(self.items), slots=dict(self.slots),
                     groups=dict(self.groups), limit=self.limit, forgotten=self.forgotten, key=self.key, line=self.line,
                     handovers=self.handovers, split=self.split, truth=self.truth, absorbed=self.absorbed)

    def seen(self, dot):
        return dot[0] <= self.floor or self.vv.get(dot[1], 0) >= dot[0]

    def value(self, i, field, dot):
        return self.world.values[i, field, dot] if dot else None

    def greatest(self):
        return max(max(self.vv.values(), default=0), self.floor)

    def view(self, i):
        v = self._views.get(i)
        if v is None:
            v = self._views[i] = View(self, i)
        return v

    def contents(self):
        """Everything a person can see, marks included: equal for equal sets of changes, whatever the order."""
        if self._contents is None:
            names = self.names()
            items = tuple(sorted((i, names[i], tuple(v.shown[f] or () for f in FIELDS), tuple(sorted(v.marks)),
                                  tuple(sorted(v.earlier))) for i, v in ((i, self.view(i)) for i in self.items)))
            slots = tuple(sorted((c, s.dot, tuple(sorted(s.grants))) for c, s in self.slots.items()))
            groups = tuple(sorted((g, tuple(sorted(k))) for g, k in self.groups.items()))
            self._contents = (items, slots, groups, self.limit, tuple(sorted(self.forgotten)), self.key)
        return self._contents

    def names(self):
        """Item -> (key, None), or (key, item id) where another item has the key: computed, never stored as a change."""
        holder = {}
        least = RULES["least_id_has_key"]
        for i in sorted(self.items) if least else self.items:
            holder.setdefault(self.full_key(i), i)
        return {i: (self.full_key(i), None if holder[self.full_key(i)] == i else i) for i in self.items}

    def full_key(self, i):
        """The name and the group: an item of another group is not a twin."""
        v = self.view(i)
        return str(self.value(i, "key", v.shown["key"])), str(self.value(i, "place", v.shown["place"])[0])


class View:
    """What an item shows: a function of its siblings, its open values, what is forgotten, and the limit. No vector is
    consulted, so no order of merges matters (rules.md, part B)."""

    __slots__ = ("shown", "marks", "earlier", "kept")

    def __init__(self, st, i):
        item, gone = st.items[i], st.forgotten
        value = lambda f, d: st.value(i, f, d)  # noqa: E731
        siblings = list(item.siblings.values())

        def best(f, dots):
            held = [d for d in dots if (f, d) in item.open] if RULES["open_first"] else []
            return max(held or dots, default=None)

        shown = {}
        dots = [s.main["secret"] for s in siblings if s.main["secret"] and (i, "secret", s.main["secret"]) not in gone]
        shown["secret"] = secret = best("secret", dots)
        holders = [s for s in siblings if s.main["secret"] == secret] if RULES["place_with_secret"] else siblings
        shown["place"] = best("place", [s.main["place"] for s in holders or siblings])
        shown["key"] = best("key", [s.main["key"] for s in siblings])
        place = value("place", shown["place"])
        around = siblings
        if RULES["sealed_with_place"]:
            around = [s for s in siblings if value("place", s.main["place"]) == place]
        if place[2] is not NO_DEVICE and RULES["device_takes_whole"]:
            around = [max(((d, s) for d, s in item.siblings.items() if s in (holders or siblings) and
                           s.main["place"] == shown["place"]), key=lambda pair: pair[0])[1]]
        for f, among in (("sealed", around), ("label", siblings)):
            dots = [s.main[f] for s in among if s.main[f] and (i, f, s.main[f]) not in gone]
            if among is around and place[2] is not NO_DEVICE and RULES["device_takes_whole"]:
                shown[f] = dots[0] if dots else None
                continue
            held = [d for d in dots if (f, d) in item.open]
            whole = all(s.main[f] for s in siblings) if RULES["absence_counts"] else True
            shown[f] = max(held) if held and RULES["open_first"] else max(dots, default=None) if whole or held else None
        self.shown = shown
        now = {f: value(f, d) for f, d in shown.items()}
        self.marks = frozenset((f, d) for f, d in item.open if d != shown[f] and (i, f, d) not in gone
                               and (shown[f] is None or value(f, d) != now[f]))
        kept = set()
        for s in siblings:
            kept |= s.earlier
            if RULES["overwritten_kept"]:
                kept.update((f, s.main[f]) for f in PROTECTED if s.main[f])
        kept = {(f, d) for f, d in kept if d != shown[f] and (f, d) not in item.open and (i, f, d) not in gone}
        self.kept = newest(kept, st.limit[1], value)
        names = {(f, value(f, d)) for f, d in self.marks} | set(now.items())
        # Of equal values the newest counts; a value that is shown, or open, is not listed again.
        best_of = {}
        for f, d in self.kept:
            n = f, value(f, d)
            if n not in names and best_of.get(n, (0, 0)) < d:
                best_of[n] = d
        self.earlier = frozenset((f, d) for (f, _), d in best_of.items())


def newest(kept, limit, value):
    """The dots of the newest `limit` different values of each field: of each value, the newest MOST_EQUAL."""
    result = set()
    for f in PROTECTED:
        top = {}
        for _, d in (x for x in kept if x[0] == f):
            n = value(f, d)
            top[n] = max(top.get(n, (0, 0)), d)
        good = set(sorted(top, key=top.get)[-limit:]) if limit else ()
        for n in good:
            equal = sorted(x for x in kept if x[0] == f and value(*x) == n)
            result |= set(equal[-MOST_EQUAL:])
    return frozenset(result)


def readable(st, slot):
    """What the holder of a slot reads: an owner everything, others names, plain attributes, and what is shown in
    their groups. Marks and earlier values are the owners', attributes included."""
    values = set()
    for i in st.items:
        v = st.view(i)
        place = st.value(i, "place", v.shown["place"])
        open_to = FIELDS if st.slots[slot].full or place[0] in st.slots[slot].groups() else ("key", "place", "label")
        values |= {(f, st.value(i, f, v.shown[f])) for f in open_to if v.shown[f]}
        if st.slots[slot].full:
            values |= {(f, st.value(i, f, d)) for f, d in v.marks | v.earlier}
    return values
