"""Section 8, Merging: one short function for each rule. `rules` chooses between a rule and its first draft."""

from vault import FIELDS, NOBODY, Contents, Item, Rules, State, fold


class Refused(Exception):
    """A merge that needs a decision of its user; both inputs stay as they are."""


class Base:
    """The common ancestor of the greatest generation, and its items, if its commit is in either file."""

    def __init__(self, a, b, rules):
        ours, theirs = a.ancestors() | {a.chain: (a.generation, a.clock)}, b.ancestors() | {b.chain: 0}
        common = {chain: ours[chain] for chain in ours.keys() & theirs.keys()}
        chain = min(common, key=lambda c: (-common[c][0], c), default=None)
        clocks = [clock for c, (_, clock) in common.items() if rules.greatest_clock or c == chain]
        self.rules = rules
        self.clock = max(clocks, default=0)
        held = next((s for side in (a, b) for s in side.past + (side,) if s.chain == chain), None)
        self.contents = held and held.contents
        # No common ancestor is beside it: two merges in opposite directions leave two that do not know each other.
        self.decides = held is not None and (common.keys() <= {chain} | held.ancestors().keys() or not rules.only_base)

    def find(self, id):
        return self.contents and plain(self.contents.find(id), self.rules)

    def of(self, x, y):
        """The base of an item on both sides: where no tree has it, the newest value that both hold, live or earlier."""
        known = self.find(x.id)
        if known:
            return known.value()
        mine, other = x.values(), y.values()
        return max((mine[stamp] for stamp in mine.keys() & other.keys() if mine[stamp] == other[stamp]), default=None,
                   key=lambda value: value.stamp)


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
    known = Base(a, b, rules)
    stamp = Stamps(a, b, dev, rules)
    items, tombs, named = merge_items(a.contents, b.contents, known, stamp, rules)
    slots, removed = merge_slots(a.contents, b.contents, known, rules)
    if rules.suffix_is_no_change and rules.suffixes_stay:
        items = keep_suffixes(items, a.contents, b.contents)
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
    """R-8.7: "stays", "deleted", or "named": deleted without the base's item to say that nobody changed it."""
    tomb = next((t for t in absent_on.tombs if t[0] == item.id), None)
    was = known.find(item.id)
    if was and item.value() == was.value():
        return "deleted"
    if known.decides or item.stamp[0] > known.clock:
        return "stays"
    below = item.stamp[0] < absent_on.horizon and (rules.horizon_next_to_tombstone or not tomb)
    if not (below or tomb and item.stamp <= tomb[2]):
        return "stays"
    return "deleted" if tomb and not rules.tombstone_names else "named"


def merge_item(x, y, known, stamp, rules):
    """R-8.5"""
    low, high = sorted((x, y), key=Item.rank)
    was = known.of(x, y)
    if low.value() == high.value() or was and low.value() == was:
        merged = high
    elif was and high.value() == was and low.stamp == high.stamp:
        merged = low
    else:
        merged = field_by_field(low, high, was, stamp, rules)
        if low.secret != high.secret and (rules.smaller_is_kept or low.secret != merged.secret):
            return unite_versions(x, y, merged, {low.value()}, rules)
    return unite_versions(x, y, merged, set(), rules)


def field_by_field(low, high, was, stamp, rules):
    values, lost = {}, set()
    for f in FIELDS:
        mine, theirs, old = getattr(low, f), getattr(high, f), was and getattr(was, f)
        if rules.named_beats_base and is_named(low, high, f):
            old, (loser, values[f]) = None, sorted((mine, theirs), key=repr)
        else:
            values[f], loser = (mine, theirs) if was and theirs == old else (theirs, mine)
        if (not was or loser != old) and (rules.every_loser_kept or f != "secret"):
            lost.add((f, loser))
    # What one side settled, which the base had, stays settled.
    either = low.conflicts ^ high.conflicts
    conflicts = low.conflicts & high.conflicts | either - (was.conflicts if was else frozenset()) | lost
    conflicts -= {(f, values[f]) for f in FIELDS}
    return high._replace(conflicts=conflicts, stamp=stamp.of(low.stamp, high.stamp), **values)


def is_named(x, y, f):
    """Both have one revision, and one names the other's value: a merge chose, and nobody has settled it since."""
    mine, theirs = getattr(x, f), getattr(y, f)
    return x.stamp == y.stamp and mine != theirs and ((f, mine) in y.conflicts or (f, theirs) in x.conflicts)


def unite_versions(x, y, merged, given_up, rules):
    """R-8.6: the item with the versions of both; of two with one revision, the secret that gives way is named."""
    united, lost = {}, set()
    for version in sorted(x.versions | y.versions | given_up, key=repr):
        kept = united.setdefault(version.stamp, version)
        if rules.same_stamp_named and version.secret != kept.secret:
            lost.add(("secret", version.secret))
    united.pop(merged.stamp, None)
    kept = sorted(united.values(), key=lambda version: version.stamp)
    versions = frozenset(kept[-rules.versions_kept:] if rules.versions_kept else ())
    return merged._replace(versions=versions, conflicts=merged.conflicts | lost - {("secret", merged.secret)})


def keep_suffixes(items, a, b):
    """R-8.8: a suffix that both sides have stays, unless one side has the plain key and nothing of the merge has it."""
    stored = {i.key for side in (a, b) for i in side.items}
    waiting, kept = {}, []
    for item in sorted(items, key=lambda i: i.id):
        left, right = a.find(item.id), b.find(item.id)
        if left and right and left.key == right.key and left.plain_key() == item.key != left.key:
            waiting.setdefault(item.key, []).append(item.id)
            item = item._replace(key=left.key)
        kept.append(item)
    claimed = {item.key for item in kept}
    freed = {ids[0] for key, ids in waiting.items() if key in stored and key not in claimed}
    return [item._replace(key=item.plain_key()) if item.id in freed else item for item in kept]


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
        if known.contents is None or slot in known.contents.slots:
            removed |= {slot}
    slots = (a.slots | b.slots) - removed
    return last_slot(slots, rules), removed


def under_old_keys(on, other, rules):
    """R-8.1: what the other side wrote under keys that were rotated away comes in as earlier values only."""
    known = Base(on, other, rules)
    stamp = Stamps(on, other, NOBODY, rules)
    c = on.contents
    items, named = {i.id: plain(i, rules) for i in c.items}, set()
    tombs = {t[0]: t for t in c.tombs}
    for theirs in other.contents.items:
        theirs = plain(theirs, rules)
        ours, was = items.get(theirs.id), known.find(theirs.id)
        if ours and (was and theirs.value() == was.value() or theirs.value() in ours.versions):
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
        given_up = set() if theirs.secret == ours.secret else {theirs.value()}
        items[theirs.id] = unite_versions(ours, theirs, ours, given_up, rules)
    removed = c.removed | other.contents.removed
    slots = c.slots - removed
    slots = last_slot(slots, rules)
    merged = c._replace(items=unite_keys(items.values(), rules), tombs=tuple(sorted(tombs.values())),
                        slots=slots, removed=removed)
    return merged, frozenset(named)
