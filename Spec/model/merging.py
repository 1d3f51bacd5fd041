"""Section 8, Merging: one short function for each rule. `rules` chooses between a rule and its first draft."""

from vault import FIELDS, NOBODY, Contents, Item, Rules, State, fold, repr_stamp


class Refused(Exception):
    """A merge that needs a decision of its user; both inputs stay as they are."""


class Bases:
    """What both sides have in common: the base in each file, and the clock of the newest common ancestor."""

    def __init__(self, a, b, rules):
        held = bases(a, b, rules)
        self.rules = rules
        self.known = [s.contents for s in held]
        self.files = [[s] + list(reversed(s.past)) for s in held]
        common = a.ancestors().keys() & b.ancestors().keys()
        self.clock = max((a.ancestors()[c][1] for c in common), default=0)
        covered = {s.chain for s in held}.union(*(s.ancestors().keys() for s in held))
        self.complete = common <= covered  # no common ancestor tells more than the bases

    def items(self, id):
        """The item in each base; where it was absent then, in the newest state before that in the same file."""
        found = []
        for file in self.files:
            found += [plain(i, self.rules) for i in (s.contents.find(id) for s in file) if i][:1]
        return found


def bases(a, b, rules):
    """The newest commit of each file that is also a state of the other side. One state twice counts once."""
    found = []
    if not rules.base_in_each_file:
        for s, t in zip(a.past + (a,), b.past + (b,)):
            if s.chain == t.chain:
                found = [s]
        return found
    for x, y in ((a, b), (b, a)):
        for s in reversed(x.past + (x,)):
            if y.contains(s):
                if s not in found:
                    found.append(s)
                break
    return found


def merge(ours, theirs, dev, rules=Rules(), accept_old_keys=True):
    """The state of our machine after it merged theirs."""
    if ours.contains(theirs):
        return ours
    if theirs.contains(ours):
        return theirs
    on, other = whose_keys_hold(ours, theirs)
    if on.contents.keys != other.contents.keys:
        if not accept_old_keys:
            raise Refused("keys")
        return commit(on, other, dev, under_old_keys(on, other, rules), rules)
    if ours.contents == theirs.contents:
        if head_order(ours, rules) > head_order(theirs, rules):
            return ours
        return commit(theirs, ours, dev, (theirs.contents, frozenset()), rules)
    return commit(ours, theirs, dev, merge_contents(ours, theirs, dev, rules), rules)


def head_order(s, rules):
    """R-8.4: of two heads with equal contents the greater stays; a commit after it is greater than both."""
    return (s.generation, s.chain) if rules.generation_orders_heads else s.chain


def whose_keys_hold(a, b):
    """R-8.1: the side that rotated; of two that did, the one that both users chose (here: more rotations, then ids)."""
    p, q = a.contents.keys, b.contents.keys
    return (a, b) if (len(p), p) >= (len(q), q) else (b, a)


def commit(on, other, dev, merged, rules):
    """R-8.3: the greater generation plus 1, and a history that gains the other side's states."""
    contents, named = merged
    clock = max([on.clock, other.clock] + [i.stamp[0] for i in contents.items] + [t[1][0] for t in contents.tombs])
    mine = on.ancestors()
    theirs = sorted({(g, c, k) for c, (g, k) in other.ancestors().items() if c not in mine and c != on.chain})
    theirs.append((other.generation, other.chain, other.clock))
    added, floor = fold(theirs, rules.least_merged, max(on.floor, other.floor))
    truth = unite_truth(on, other, named)
    handovers = on.handovers
    return State(dev, on, max(on.generation, other.generation) + 1, clock, contents, on.past + (on,),
                 on.history + added, floor, handovers, truth)


def unite_truth(on, other, named):
    """For the properties only."""
    t, u = on.truth, other.truth
    old = on.contents.keys != other.contents.keys
    deleted = u.deleted - t.writes if old else u.deleted  # a removal under old keys is named, and not carried out
    return t._replace(
        states=t.states | u.states, writes=t.writes | u.writes, overwritten=t.overwritten | u.overwritten,
        deleted=t.deleted | deleted, revoked=t.revoked | u.revoked, named=t.named | u.named | named,
        accepted=t.accepted or u.accepted or old)


def merge_contents(a, b, dev, rules):
    known = Bases(a, b, rules)
    stamp = Stamps(a, b, dev, rules)
    items, tombs, named = merge_items(a.contents, b.contents, known, stamp, rules)
    slots, removed = merge_slots(a.contents, b.contents, known, rules)
    contents = Contents(unite_keys(items, rules), tombs, slots, removed, a.contents.keys,
                        max(a.contents.horizon, b.contents.horizon))
    return contents, named


class Stamps:
    """R-8.5: the revision of what a merge changes: the same on every machine, and in every order of merging."""

    def __init__(self, a, b, dev, rules):
        self.fresh = None if rules.same_revision else (max(a.clock, b.clock) + 1, dev)

    def of(self, *stamps):
        return self.fresh or max(stamps)


# Items


def merge_items(a, b, known, stamp, rules):
    items, tombs, named = [], {}, set()
    for side in (a, b):
        for tomb in side.tombs:
            other = tombs.get(tomb[0], tomb)  # of two removals the greater revision, and the greater that was removed
            tombs[tomb[0]] = (tomb[0], max(tomb[1], other[1]), max(tomb[2], other[2]))
    for id in sorted({i.id for i in a.items + b.items}):
        x, y = plain(a.find(id), rules), plain(b.find(id), rules)
        if x and y:
            items.append(merge_item(x, y, known, stamp, rules))
            continue
        present, absent_on = (x, b) if x else (y, a)
        fate = one_side_only(present, absent_on, known, rules)
        if fate == "stays":
            items.append(present)
        else:
            tombs.setdefault(id, (id, present.stamp, present.stamp))
            if fate == "named":
                named.add(id)
    live = {i.id for i in items}
    return items, tuple(sorted(t for t in tombs.values() if t[0] not in live)), frozenset(named)


def plain(item, rules):
    """R-8.8: the suffix that a merge gave is taken off first, and given again where it is still needed."""
    return item and item._replace(key=item.plain_key()) if rules.suffix_is_no_change else item


def one_side_only(item, absent_on, known, rules):
    """R-8.7: "stays", "deleted", or "named": deleted on the word of a horizon."""
    tomb = next((t for t in absent_on.tombs if t[0] == item.id), None)
    was = known.items(item.id)
    below = item.stamp[0] < absent_on.horizon
    if not rules.clock_of_ancestors:
        if tomb or was:
            changed = not unchanged(item, was, rules) if was else item.stamp[0] > tomb[1][0]
            return "stays" if changed else "deleted"
        return "named" if below else "stays"
    old = item.stamp[0] <= known.clock
    if not (tomb or was or below and old):
        return "stays"
    if was and unchanged(item, was, rules):
        return "deleted"
    if known.complete or not old:
        return "stays"
    newer = tomb and rules.tombstone_names_revision and item.stamp > tomb[2] and not below
    return "stays" if newer else "named"


def unchanged(x, was, rules):
    """The revision of x, and every value of it, is in a base: the other side has seen them all."""
    values = {f: {getattr(w, f) for w in was} for f in FIELDS}
    settled = {c for w in was for c in w.conflicts} | {(f, v) for f in FIELDS for v in values[f]}
    seen = all(getattr(x, f) in values[f] for f in FIELDS) and x.conflicts <= settled
    return seen and (any(x.stamp == w.stamp for w in was) or not rules.revision_counts_too)


def replaced(x, other):
    """The other side has x's revision among its earlier values, its key and attribute, and its conflicts."""
    seen = (x.stamp, x.secret) in other.versions and x.stamp < other.stamp
    return seen and (x.key, x.attr) == (other.key, other.attr) and x.conflicts <= other.conflicts


def merge_item(x, y, known, stamp, rules):
    """R-8.5"""
    was = known.items(x.id)
    if x.face() == y.face() or (x.stamp == y.stamp and not rules.value_counts_for_equal):
        merged = max(x, y, key=Item.rank)
    elif was and unchanged(x, was, rules) and not unchanged(y, was, rules) or replaced(x, y):
        merged = y
    elif was and unchanged(y, was, rules) and not unchanged(x, was, rules) or replaced(y, x):
        merged = x
    else:
        merged = field_by_field(x, y, was, stamp, rules)
    return merged._replace(versions=unite_versions(x, y, merged, rules))


def field_by_field(x, y, was, stamp, rules):
    low, high = sorted((x, y), key=Item.rank)
    values, lost = {}, set()
    for f in FIELDS:
        mine, theirs = getattr(low, f), getattr(high, f)
        if mine == theirs or was and all(getattr(w, f) == mine for w in was):
            values[f] = theirs
        elif was and all(getattr(w, f) == theirs for w in was):
            values[f] = mine
        else:
            values[f] = theirs
            if rules.every_loser_kept or was and f != "secret" or rules.fields_without_base and f != "secret":
                lost.add((f, mine))
    settled = {c for w in was for c in w.conflicts if not (c in x.conflicts and c in y.conflicts)}
    conflicts = frozenset((x.conflicts | y.conflicts) - settled | lost)
    conflicts -= {(f, values[f]) for f in FIELDS}
    merged = high._replace(conflicts=conflicts, **values)
    for side in (high, low):
        if merged.face() == side.face():
            return merged._replace(stamp=side.stamp)
    return merged._replace(stamp=stamp.of(x.stamp, y.stamp))


def unite_versions(x, y, merged, rules):
    """R-8.6"""
    united = x.versions | y.versions
    if not rules.every_loser_kept:
        united |= {(i.stamp, i.secret) for i in (x, y) if i.secret != merged.secret}
    united = {v for v in united if v[1] != merged.secret}
    return frozenset(sorted(united, key=repr_stamp)[-rules.versions_kept:] if rules.versions_kept else ())


def unite_keys(items, rules):
    """R-8.8: of two items with one key the one with the smaller id keeps it."""
    taken, result = set(), []
    in_order = sorted(items, key=lambda i: i.id) if rules.smaller_id_keeps_key else \
        sorted(items, key=Item.rank, reverse=True)
    for item in in_order:
        if item.key in taken:
            item = item._replace(key=(item.key, "conflict", item.id))
        taken.add(item.key)
        result.append(item)
    return tuple(sorted(result, key=lambda i: i.id))


# Slots and keys


def last_slot(slots, rules):
    """R-8.9: a merge that would leave no slot is refused, until its users agree on a new one."""
    if slots or not rules.last_slot_stays:
        return slots
    if not rules.agreed_slot:
        raise Refused("slots")
    return frozenset((rules.agreed_slot,))


def merge_slots(a, b, known, rules):
    """R-8.9"""
    removed = a.removed | b.removed
    for slot in a.slots ^ b.slots:
        if any(slot in c.slots for c in known.known) or not known.known:
            removed |= {slot}
    slots = (a.slots | b.slots) - removed
    return last_slot(slots, rules), removed


def under_old_keys(on, other, rules):
    """R-8.1: what the other side wrote under keys that were rotated away comes in as earlier values only."""
    known = Bases(on, other, rules)
    stamp = Stamps(on, other, NOBODY, rules)
    c = on.contents
    items, named = {i.id: plain(i, rules) for i in c.items}, set()
    tombs = {t[0]: t for t in c.tombs}
    for theirs in other.contents.items:
        theirs = plain(theirs, rules)
        ours, was = items.get(theirs.id), known.items(theirs.id)
        if ours and (was and unchanged(theirs, was, rules) or replaced(theirs, ours)):
            continue
        if ours is None:
            fate = one_side_only(theirs, c, known, rules)
            if fate == "named":
                named.add(theirs.id)
            if fate != "stays" or not rules.old_keys_new_items:
                continue
            ours = Item(theirs.id, ("old keys", theirs.id), None, None, theirs.stamp)
            tombs.pop(theirs.id, None)
        lost = {(f, getattr(theirs, f)) for f in FIELDS if getattr(theirs, f) != getattr(ours, f)}
        conflicts = ours.conflicts | lost | {x for x in theirs.conflicts if x[1] != getattr(ours, x[0])}
        if conflicts != ours.conflicts:
            ours = ours._replace(conflicts=conflicts, stamp=stamp.of(ours.stamp, theirs.stamp))
        items[theirs.id] = ours._replace(versions=unite_versions(ours, theirs, ours, rules))
    removed = c.removed | other.contents.removed
    slots = c.slots - removed
    slots = last_slot(slots, rules)
    merged = c._replace(items=unite_keys(items.values(), rules), tombs=tuple(sorted(tombs.values())),
                        slots=slots, removed=removed)
    return merged, frozenset(named)
