"""A machine: its files, its clock, what it remembers, and every change that its user can make. rules.md, parts D and E."""

from merging import grants_of, keep_group_keys, leads, merge, take_in, winner
from state import FIELDS, PROTECTED, RULES, HandOver, Item, Sibling, Slot, newest


class World:
    """What one sequence has: values by (item, field, dot), the events, and what the oracle compares with."""

    def __init__(self):
        self.values, self.events, self.held = {}, [], {}
        self.allowed = {}  # (item, field, dot) -> places under which a writer has put the value
        self.together = set()  # (item, secret's dot, sealed attribute's dot) that a holder of the device sealed as one
        self.contents, self.unique = {}, 0
        self.one_past = True  # whether all events are of one past, and not of several possible ones
        self.counts = {}

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1


class Event:
    """One change, for the oracle. `past`: what its writer had."""

    __slots__ = ("dot", "kind", "item", "past", "touched", "removed", "opened", "kept", "over", "settled",
                 "forgot", "key", "group", "limit", "first")

    def __init__(self, kind, item=None):
        self.kind, self.item = kind, item
        self.touched, self.removed = {}, set()  # item -> dot of the sibling that the change made; items removed
        self.opened, self.kept = set(), set()  # {(item, field, dot)}: values that it made
        self.over, self.settled, self.forgot = set(), set(), set()  # {(item, field)}; {(item, field, dot)}, twice
        self.group = self.limit = None


class Anchor:
    """What a machine remembers of a place: the owners' key, the vector, and what its user has dropped."""

    def __init__(self, st):
        self.dropped = []  # (id, revision up to which it is in what the user took, revision that was remembered)
        self.gone = frozenset()  # for the oracle
        self.take(st)

    def drops(self, st):
        """What a state has of what the user dropped."""
        return [r for r, low, _ in self.dropped if last(st, r) > low] if RULES["dropped_remembered"] else []

    def undrop(self, st):
        self.dropped = [(r, max(low, last(st, r)), high) for r, low, high in self.dropped if last(st, r) < high]
        self.gone -= st.truth | st.absorbed

    def take(self, st):
        self.key, self.vv, self.floor, self.truth = st.key, st.vv, st.floor, st.truth


def last(st, r):
    """The last revision of an id that a state has, under its own key or one that handed over to it."""
    return max([st.vv.get(r, 0)] + [dict(h.vv).get(r, 0) for h in st.handovers])


def handed_over(st, key, vv):
    """Whether hand-overs from a key, that lead to the state's, cover every row of a vector: each row by any of them."""
    from_key = [h for h in st.handovers if h.frm == key and leads(st, h.to)]
    return bool(from_key) and all(any(h.covers((n, r)) for h in from_key) for r, n in vv.items())


def verdict(anchor, st):
    if anchor.key != st.key:
        if not leads(st, anchor.key):
            return "foreign"
        return "descends" if handed_over(st, anchor.key, anchor.vv) else "forked"
    a = all(n <= st.floor or st.vv.get(r, 0) >= n for r, n in anchor.vv.items())
    b = all(n <= anchor.floor or anchor.vv.get(r, 0) >= n for r, n in st.vv.items())
    return "same" if a and b else "descends" if a else "older" if b else "forked"


class Refused(Exception):
    pass


class Machine:
    def __init__(self, world, random, st, name=0, skew=0, remembers=True, policy="run"):
        self.world, self.random, self.name, self.skew, self.remembers = world, random, name, skew, remembers
        self.policy = policy
        self.device = name
        self.spread = 0  # how much a revision is moved at random, so that two clones make no equal ones
        self.run = random.getrandbits(32)  # the boot, and where the memory is kept
        self.ids = {}  # id -> [last own revision, the run that made it]
        self.log = {}  # id -> every revision made under it
        self.files = [st]
        self.anchors = [Anchor(st)]
        self.cloned = set()  # ids that this machine found to be a clone's too

    # What a change is named

    def new_id(self):
        self.world.count("ids")
        return self.random.getrandbits(62) + 1

    def dot(self, revision, r):
        return revision, r

    def choose_id(self, st):
        if self.remembers:
            for r, (last, run) in self.ids.items():
                if RULES["ids_end_with_the_run"] and run != self.run or r in self.cloned:
                    continue
                if st.vv.get(r, 0) == last if RULES["exact_own_revision"] else r in st.vv:
                    return r
        return self.new_id()

    def next_revision(self, st, r, now):
        least = [1 + self.ids[r][0]] if self.remembers and r in self.ids else []
        if RULES["clock_past_state"]:
            least.append(1 + st.greatest())
            least += [1 + last for last, _ in self.ids.values()] if self.remembers else []
        return max([now + self.skew, 1] + least) + (self.random.randrange(self.spread) if self.spread else 0)

    def check_ids(self, st):
        """Names the ids under which somebody else writes: a row of ours with a revision that we never made."""
        found = {r for r in self.ids if RULES["own_log"] and st.vv.get(r, 0) > 0 and st.vv[r] not in self.log[r]}
        self.cloned |= found
        return found

    # Changing

    def write(self, k, now, event, edit, remember=True):
        """edit(draft, dot, new_dot) changes a copy of the state. Returns the new state, which is in the file."""
        st, world = self.files[k], self.world
        r = self.choose_id(st)
        first = self.next_revision(st, r, now)
        dots = [self.dot(first, r)]

        def new_dot():
            dots.append(self.dot(dots[-1][0] + 1, r))
            return dots[-1]

        draft = st.copy()
        event.key = st.key
        edit(draft, dots[0], new_dot)
        draft.vv[r] = dots[-1][0]
        event.first = first
        event.dot, event.past = dots[-1], st.truth
        world.events.append(event)
        draft.truth |= {event}
        keep_group_keys(draft)
        if self.remembers and remember:
            self.ids[r] = [dots[-1][0], self.run]
            self.log.setdefault(r, set()).update(d[0] for d in dots)
        self.files[k] = draft
        self.anchors[k].take(draft)
        world.count(event.kind)
        return draft

    def change(self, k, now, i, writes=None, settle=(), forget=(), absent=(), kind=None):
        """Changes fields, settles fields as they are shown, forgets earlier values, drops attributes: one change."""
        st, world = self.files[k], self.world
        writes = dict(writes or {})
        event = Event(kind or next(iter(writes), "settle" if settle else "forget" if forget else "absent"), i)

        def edit(draft, dot, new_dot):
            v, item = st.view(i), st.items[i]
            for f in settle:  # what is shown without being open gets a dot of its own
                if v.shown[f] and (f, v.shown[f]) not in item.open:
                    writes.setdefault(f, st.value(i, f, v.shown[f]))
            main = dict(v.shown)
            for f, value in writes.items():
                main[f] = dot
                world.values[i, f, dot] = value
            for f in absent:
                main[f] = None
            done = set(writes) | set(settle) | set(absent)
            open_values = {(f, d) for f, d in item.open if f not in done or f in settle and d == main[f]}
            open_values |= {(f, dot) for f in writes}
            pool = set(v.kept) if RULES["only_changes_trim"] else {x for s in item.siblings.values() for x in s.earlier}
            pool |= {(f, v.shown[f]) for f in PROTECTED if v.shown[f]}
            if RULES["losers_kept"]:
                pool |= {(f, d) for f, d in item.open if f in PROTECTED}
            gone = set(forget)
            if RULES["forgets_equal"]:
                gone |= {(f, d) for f, d in item.holds() if (f, st.value(i, f, d)) in
                         {(g, st.value(i, g, e)) for g, e in forget}}
                gone -= open_values | set(main.items())
            pool = {x for x in pool - gone - open_values - set(main.items()) if (i, *x) not in st.forgotten}
            earlier = newest(pool, st.limit[1], lambda f, d: st.value(i, f, d))
            draft.items[i] = Item({dot: Sibling(main, earlier)}, frozenset(open_values))
            if RULES["forgotten_set"]:
                draft.forgotten = draft.forgotten | {(i, *x) for x in gone}
            event.touched[i] = dot
            event.opened = {(i, f, dot) for f in writes}
            event.over = {(i, f) for f in set(writes) | set(absent)}
            event.settled = {(i, f, d) for f, d in item.open if f in settle and d != main[f]}
            event.forgot = {(i, *x) for x in gone}
            self.sealed(i, main, set(writes))

        return self.write(k, now, event, edit)

    def sealed(self, i, main, written):
        """For the oracle: where a writer has put which value, and which values are in one record."""
        place = self.world.values[i, "place", main["place"]]
        for f in PROTECTED:
            if main[f] and (f in written or "place" in written):
                self.world.allowed.setdefault((i, f, main[f]), set()).add(place)
        if place[2] is None or place[2] == self.device:
            self.world.together.add((i, main["secret"], main["sealed"]))

    def can_open(self, st, i):
        """Whether this machine opens the item's record, which a change of a protected value or of the place needs."""
        place = st.value(i, "place", st.view(i).shown["place"])
        return place[2] is None or place[2] == self.device

    def add(self, k, now, values):
        event = Event("add")

        def edit(draft, dot, new_dot):
            event.item = i = dot
            for f, value in values.items():
                self.world.values[i, f, dot] = value
            main = {f: dot if f in values else None for f in FIELDS}
            draft.items[i] = Item({dot: Sibling(main)}, frozenset((f, dot) for f in values))
            event.touched[i] = dot
            event.opened = {(i, f, dot) for f in values}
            self.sealed(i, main, set(values))

        self.write(k, now, event, edit)
        return event.item

    def remove(self, k, now, i):
        event = Event("remove", i)
        event.removed.add(i)
        self.write(k, now, event, lambda draft, dot, new_dot: draft.items.pop(i))

    def set_limit(self, k, now, limit):
        event = Event("limit")
        event.limit = limit

        def edit(draft, dot, new_dot):
            draft.limit = (dot, limit)

        self.write(k, now, event, edit)

    def add_slot(self, k, now, full=True, groups=()):
        event = Event("slot add")
        event.group = tuple(groups)

        def edit(draft, dot, new_dot):
            event.item = dot
            draft.slots[dot] = Slot(dot, dot, full, frozenset((g, dot) for g in groups))
            self.new_keys(draft, groups)

        self.write(k, now, event, edit)
        return event.item

    def change_slot(self, k, now, c):
        """Other factors or another name."""
        def edit(draft, dot, new_dot):
            s = draft.slots[c]
            draft.slots[c] = Slot(c, dot, s.full, s.grants)
        self.write(k, now, Event("slot change", c), edit)

    def remove_slot(self, k, now, c):
        def edit(draft, dot, new_dot):
            self.new_keys(draft, draft.slots.pop(c).groups())
        self.write(k, now, Event("slot remove", c), edit)

    def grant(self, k, now, c, group, take=False):
        event = Event("revoke" if take else "grant", c)
        event.group = group

        def edit(draft, dot, new_dot):
            s = draft.slots[c]
            grants = frozenset(g for g in s.grants if g[0] != group) | (frozenset() if take else {(group, dot)})
            draft.slots[c] = Slot(c, s.dot if RULES["grants_one_by_one"] else dot, s.full, grants)
            self.new_keys(draft, [group])

        self.write(k, now, event, edit)

    def new_keys(self, draft, groups):
        for g in groups:
            draft.groups[g] = grants_of(draft.slots, g)

    def rotate(self, k, now, restart=False):
        """A new vault key and new keys of all groups; the old key hands over. With `restart` the vector begins again:
        its rows go, and every revision up to the rotation's is seen by definition."""
        def edit(draft, dot, new_dot):
            old = self.files[k]
            draft.handovers = draft.handovers | {HandOver(old.key, dot, old.vv, old.floor)}
            draft.key, draft.line = dot, draft.line + (dot,)
            if restart:
                draft.vv, draft.floor = {}, dot[0] - 1
        self.write(k, now, Event("rotate"), edit)

    def compact(self, k):
        """Changes no contents, and makes no dot."""
        st = self.files[k]
        if RULES["only_changes_trim"]:
            return
        new = st.copy()
        for i, item in st.items.items():
            kept = st.view(i).kept
            new.items[i] = Item({d: Sibling(s.main, s.earlier & kept) for d, s in item.siblings.items()}, item.open)
        self.files[k] = new

    # Meeting other copies

    def judge(self, k, st):
        """The verdict on a state that is found at a place, and what is named besides."""
        a = self.anchors[k]
        return verdict(a, st), a.drops(st)

    def accept(self, k, st):
        """The user takes a state that is older or forked: what is dropped with it is remembered."""
        a = self.anchors[k]
        a.undrop(st)
        if a.key == st.key:
            a.dropped += [(r, st.vv.get(r, 0), n) for r, n in a.vv.items() if n > max(st.floor, st.vv.get(r, 0))]
            a.gone |= a.truth - st.truth
        self.files[k] = st
        a.take(st)

    def merge_in(self, k, now, theirs, accept=True):
        """What `merge` does: takes theirs if it descends, keeps ours if it is older, merges otherwise."""
        ours = self.files[k]
        a = self.anchors[k]
        says, back = self.judge(k, theirs)
        if back:
            if not accept:
                raise Refused("dropped")
            a.undrop(theirs)
        self.check_ids(theirs)
        if ours.key == theirs.key:
            self.files[k] = result = merge(ours, theirs)
        else:
            stay, branch = winner(ours, theirs)
            if not RULES["old_keys_values_only"]:
                result = branch.copy()
                result.key, result.line, result.floor = stay.key, stay.line, stay.floor
                self.files[k] = result = merge(stay, result)
                a.take(result)
                return result
            self.files[k] = result = stay
            if not handed_over(stay, branch.key, branch.vv):
                if not accept:
                    raise Refused("old keys")
                event = Event("take in")

                def edit(draft, dot, new_dot):
                    event.touched, event.opened, event.kept = take_in(stay, branch, draft, new_dot)
                    draft.absorbed |= branch.truth | branch.absorbed
                    for i, at in event.touched.items():
                        main = draft.items[i].siblings[at].main
                        self.world.together.add((i, main["secret"], main["sealed"]))

                result = self.write(k, now, event, edit)
        if not any(s.full for s in result.slots.values()):
            self.add_slot(k, now)  # both sides removed the other's: the user who merges adds the factor at hand
        a.take(self.files[k])
        return self.files[k]
