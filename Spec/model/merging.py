"""Section 8, Merging: one short function for each rule. `rules` chooses between a rule and its first draft."""

from vault import FIELDS, NOBODY, Contents, Item, Rules, State, fold, repr_stamp


class Refused(Exception):
    """A merge that needs a decision of its user; both inputs stay as they are."""


class Bases:
    """What both sides have in common: the base in each file, and the clock of the newest common ancestor."""

    def __init__(self, a, b, rules):
        self.known = [s.contents for s in bases(a, b, rules)]
        common = a.ancestors().keys() & b.ancestors().keys()
        self.clock = max((a.ancestors()[c][1] for c in common), default=0)

    def items(self, id):
        return [i for i in (c.find(id) for c in self.known) if i]


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
        if ours.chain > theirs.chain:
            return ours
        return commit(theirs, ours, dev, (theirs.contents, frozenset()), rules)
    return commit(ours, theirs, dev, merge_contents(ours, theirs, dev, rules), rules)


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
    contents = Contents(unite_keys(items, stamp, rules), tombs, slots, removed, a.contents.keys,
                        max(a.contents.horizon, b.contents.horizon))
    return contents, named


class Stamps:
    """R-8.5: the revision of what a merge changes: the same on every machine, and in every order of merging."""

    def __init__(self, a, b, dev, rules):
        self.fresh = None if rules.same_revision else (max(a.clock, b.clock) + 1, dev)

    def after(self, *stamps):
        return self.fresh or (max(stamps)[0] + 1, NOBODY)


# Items


def merge_items(a, b, known, stamp, rules):
    items, tombs, named = [], {}, set()
    for side in (a, b):
        for tomb in side.tombs:
            tombs[tomb[0]] = max(tomb, tombs.get(tomb[0], tomb))
    for id in sorted({i.id for i in a.items + b.items}):
        x, y = a.find(id), b.find(id)
        if x and y:
            items.append(merge_item(x, y, known, stamp, rules))
            continue
        present, absent_on = (x, b) if x else (y, a)
        fate = one_side_only(present, absent_on, known, rules)
        if fate == "stays":
            items.append(present)
        else:
            tombs.setdefault(id, (id, stamp.after(present.stamp), present.stamp))
            if fate == "named":
                named.add(id)
    live = {i.id for i in items}
    return items, tuple(sorted(t for t in tombs.values() if t[0] not in live)), frozenset(named)


def one_side_only(item, absent_on, known, rules):
    """R-8.7: "stays", "deleted", or "named": deleted on the word of a horizon."""
    tomb = next((t for t in absent_on.tombs if t[0] == item.id), None)
    was = known.items(item.id)
    below = item.stamp[0] < absent_on.horizon
    if not rules.clock_of_ancestors:
        if tomb or was:
            changed = not any(same(item, w) for w in was) if was else item.stamp[0] > tomb[1][0]
            return "stays" if changed else "deleted"
        return "named" if below else "stays"
    old = item.stamp[0] <= known.clock
    if tomb is None and not was:
        return "named" if below and old else "stays"
    if any(same(item, w) for w in was):
        return "deleted"
    if tomb and rules.tombstone_names_revision and tomb[2] == item.stamp:
        return "deleted"
    if not was and old:
        return "named"
    return "stays"


def same(x, y):
    return x.stamp == y.stamp and x.face() == y.face()


def merge_item(x, y, known, stamp, rules):
    """R-8.5"""
    was = known.items(x.id)
    if x.face() == y.face() or (x.stamp == y.stamp and not rules.value_counts_for_equal):
        merged = max(x, y, key=Item.rank)
    elif unchanged(x, was, y) and not unchanged(y, was, x):
        merged = y
    elif unchanged(y, was, x) and not unchanged(x, was, y):
        merged = x
    else:
        merged = field_by_field(x, y, was, stamp, rules)
    return merged._replace(versions=unite_versions(x, y, merged, rules))


def unchanged(x, was, other):
    """x is what a base holds, or what the other side replaced: the other side has seen it."""
    return any(same(x, w) for w in was) or (x.stamp, x.secret) in other.versions and x.stamp < other.stamp and \
        (x.key, x.attr) == (other.key, other.attr)


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
    return merged._replace(stamp=stamp.after(x.stamp, y.stamp))


def unite_versions(x, y, merged, rules):
    """R-8.6"""
    united = x.versions | y.versions
    if not rules.every_loser_kept:
        united |= {(i.stamp, i.secret) for i in (x, y) if i.secret != merged.secret}
    united = {v for v in united if v[1] != merged.secret}
    return frozenset(sorted(united, key=repr_stamp)[-rules.versions_kept:] if rules.versions_kept else ())


def unite_keys(items, stamp, rules):
    """R-8.8: of two items with one key the one with the smaller id keeps it."""
    taken, result = set(), []
    in_order = sorted(items, key=lambda i: i.id) if rules.smaller_id_keeps_key else \
        sorted(items, key=Item.rank, reverse=True)
    for item in in_order:
        if item.key in taken:
            item = item._replace(key=(item.key, "conflict", item.id), stamp=stamp.after(item.stamp),
                                 conflicts=item.conflicts | {("key", item.key)})
        taken.add(item.key)
        result.append(item)
    return tuple(sorted(result, key=lambda i: i.id))


# Slots and keys


def merge_slots(a, b, known, rules):
    """R-8.9"""
    removed = a.removed | b.removed
    for slot in a.slots ^ b.slots:
        if any(slot in c.slots for c in known.known) or not known.known:
            removed |= {slot}
    slots = (a.slots | b.slots) - removed
    if not slots and rules.last_slot_stays:
        raise Refused("slots")
    return slots, removed


def under_old_keys(on, other, rules):
    """R-8.1: what the other side wrote under keys that were rotated away comes in as earlier values only."""
    known = Bases(on, other, rules)
    stamp = Stamps(on, other, NOBODY, rules)
    c = on.contents
    items, named = {i.id: i for i in c.items}, set()
    tombs = {t[0]: t for t in c.tombs}
    for theirs in other.contents.items:
        ours, was = items.get(theirs.id), known.items(theirs.id)
        if any(same(theirs, w) for w in was) or ours and unchanged(theirs, was, ours):
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
            ours = ours._replace(conflicts=conflicts, stamp=stamp.after(ours.stamp, theirs.stamp))
        items[theirs.id] = ours._replace(versions=unite_versions(ours, theirs, ours, rules))
    removed = c.removed | other.contents.removed
    slots = c.slots - removed
    if not slots and rules.last_slot_stays:
        raise Refused("slots")
    merged = c._replace(items=tuple(items[i] for i in sorted(items)), tombs=tuple(sorted(tombs.values())),
                        slots=slots, removed=removed)
    return merged, frozenset(named)
