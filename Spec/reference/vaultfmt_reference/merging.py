"""Which items and values a merge keeps: R-8.5 to R-8.8. Nothing here writes."""

from dataclasses import dataclass, field, replace
from . import conflict
from .codec import Limit, require
from .conflict import Lost, Stamp
from .drafts import Attributes, Content
from .items import ItemKey
from .sides import Base, Held, HeldItem, Side

# A field's flags and bytes; None where an item does not have it.
Chosen = tuple[int, bytes] | None
# Of a removal: its (revision, device), and those that the item had.
Dead = tuple[Stamp, Stamp]
# A removal that the merge makes itself.
NEW: Stamp = (0, b"")


@dataclass
class Merged:
    """An item of the result. `like` is the side's item whose records are used again where they fit."""

    id: bytes
    # None for an item of another device: its records are taken as they are.
    content: Content | None
    stamp: Stamp
    like: HeldItem
    created: int
    modified: int
    versions: dict[Stamp, Held] = field(default_factory=dict)
    # Sealed values of versions that gave way to others of one revision and device.
    lost: set[Lost] = field(default_factory=set)

    @property
    def key(self) -> bytes:
        return self.content.key if self.content else self.like.key


@dataclass
class Outcome:
    items: dict[bytes, Merged] = field(default_factory=dict)
    tombstones: dict[bytes, Dead] = field(default_factory=dict)
    # Removed by a horizon only.
    named: list[bytes] = field(default_factory=list)


def merge_items(ours: Side, theirs: Side, base: Base, keep: int) -> Outcome:
    out = Outcome(tombstones=united_tombstones(ours, theirs))
    for item in sorted(ours.items.keys() | theirs.items.keys()):
        left, right = ours.items.get(item), theirs.items.get(item)
        known = base.find(item)
        if left and right:
            out.items[item] = merge_item(left, right, known or common(left, right))
            continue
        held, absent = (left, theirs) if left else (right, ours)
        assert held is not None
        is_confirmed = known is not None and is_unchanged(held, known)
        if not is_confirmed and not is_removed_unconfirmed(held, absent, base):
            out.items[item] = whole(held)
        elif not is_confirmed or item not in out.tombstones:
            out.named.append(item)
    for item in out.items:
        out.tombstones.pop(item, None)
    settle_keys(out, ours, theirs)
    for each in out.items.values():
        stamps = sorted(each.versions)
        for stamp in stamps[: len(stamps) - keep] if keep < len(stamps) else ():
            del each.versions[stamp]
    return out


def united_tombstones(ours: Side, theirs: Side) -> dict[bytes, Dead]:
    """Each pair (revision, device) is the greater of both (R-8.7)."""
    out = dict(ours.tombstones)
    for item, (removal, last) in theirs.tombstones.items():
        there = out.get(item, (removal, last))
        out[item] = max(removal, there[0]), max(last, there[1])
    return out


def is_removed_unconfirmed(held: HeldItem, absent: Side, base: Base) -> bool:
    """R-8.7, of an item that one side lacks, and that is not in the base as it is."""
    if base.decides or held.stamp[0] > base.greatest_clock:
        return False
    tombstone = absent.tombstones.get(held.id)
    return held.stamp[0] < absent.reader.commit.horizon or (tombstone is not None and held.stamp <= tombstone[1])


def common(left: HeldItem, right: HeldItem) -> Held | None:
    """The newest value that both hold, if the base's items are not known."""
    mine, other = left.values, right.values
    shared = [stamp for stamp in mine.keys() & other.keys() if is_unchanged(mine[stamp], other[stamp])]
    return mine[max(shared)] if shared else None


def is_unchanged(held: Held, base: Held) -> bool:
    """One revision can have two values, so they count as well, where they can be read."""
    mine, other = held.content, base.content
    if held.stamp != base.stamp or mine is None or other is None:
        return held.stamp == base.stamp
    has_place = isinstance(held, HeldItem) and isinstance(base, HeldItem)
    return has_same_values(held, base) and (not has_place or (mine.accessibility, mine.device) == (other.accessibility, other.device))


def has_same_values(held: Held, other: Held) -> bool:
    """Where both can be read; accessibility aside, which a version does not have."""
    mine, its = held.content, other.content
    if mine is None or its is None:
        return held.stamp == other.stamp
    return (plain(mine.key, held.id), mine.secret, mine.attributes) == (plain(its.key, held.id), its.secret, its.attributes)


def rank(held: HeldItem) -> tuple[Stamp, bytes]:
    """The greater (revision, device) wins; of equal ones, the one whose record's body is greater."""
    return held.stamp, held.content.record if held.content else b""


def whole(held: HeldItem) -> Merged:
    content = replace(held.content, key=plain(held.key, held.id)) if held.content else None
    return Merged(held.id, content, held.stamp, held, held.created, held.modified, dict(held.versions))


# One item on both sides


def merge_item(left: HeldItem, right: HeldItem, base: Held | None) -> Merged:
    winner, loser = (left, right) if rank(left) >= rank(right) else (right, left)
    if is_unchanged(loser, winner) or (base is not None and is_unchanged(loser, base)):
        merged = whole(winner)
    elif base is not None and is_unchanged(winner, base) and loser.stamp == winner.stamp:
        merged = whole(loser)
    else:
        merged = by_field(winner, loser, base)
    merged.created = min(left.created, right.created)
    unite_versions(merged, left, right)
    return merged


@dataclass
class Choice:
    """Chooses between the values of two items, field by field."""

    winner: HeldItem
    loser: HeldItem
    # Without a base every field that differs counts as changed on both.
    has_base: bool
    named: set[Lost]
    lost: set[Lost] = field(default_factory=set)

    def of(self, kind: int, mine: Chosen, other: Chosen, old: Chosen, name: bytes = b"") -> Chosen:
        if mine == other:
            return mine
        if self.winner.stamp == self.loser.stamp and (self.names(kind, name, mine) or self.names(kind, name, other)):
            # A merge chose between them, and nobody has settled it since: the greater holds, whatever the base.
            mine, other = sorted((mine, other), key=lambda each: (each is not None, each and each[::-1]), reverse=True)
        elif self.has_base and old in (mine, other):
            return other if mine == old else mine
        if other is not None:
            self.lost |= self.names(kind, name, other) or {Lost(self.loser.stamp, kind, other[1], name, other[0])}
        return mine

    def always(self, kind: int, mine: bytes, other: bytes, old: bytes | None, name: bytes = b"") -> bytes:
        """A field that every item has."""
        chosen = self.of(kind, (0, mine), (0, other), None if old is None else (0, old), name)
        assert chosen is not None
        return chosen[1]

    def names(self, kind: int, name: bytes, value: Chosen) -> set[Lost]:
        """The entries of both items' `conflict` that name a value."""
        return {each for each in self.named if value is not None and each.what == (kind, name, *value)}


def by_field(winner: HeldItem, loser: HeldItem, base: Held | None) -> Merged:
    merged = whole(winner)
    if winner.content is None or loser.content is None:
        # Another device's: nothing of it can be sealed again here, so that its record becomes a version as it is.
        lose(merged, winner, loser)
        return merged
    first, second = (replace(each.content, key=plain(each.key, each.id)) for each in (winner, loser) if each.content)
    there = base.content if base else None
    choice = Choice(winner, loser, there is not None, conflicts_of(first) | conflicts_of(second))
    secret = choice.always(conflict.SECRET, first.secret, second.secret, there.secret if there else None)
    key = chosen_key(choice, first, second, there)
    # A version does not say what the accessibility was: then both changed it.
    old = conflict.accessibility(there.accessibility, there.device) if there and isinstance(base, HeldItem) else None
    mine, other = (conflict.accessibility(each.accessibility, each.device) for each in (first, second))
    kept = choice.always(conflict.ACCESSIBILITY, mine, other, old)
    attributes = {}
    for name in sorted((first.attributes.keys() | second.attributes.keys()) - {conflict.NAME}):
        was = there.attributes.get(name) if there else None
        chosen = choice.of(conflict.ATTRIBUTE, first.attributes.get(name), second.attributes.get(name), was, name)
        if chosen is not None:
            attributes[name] = chosen
    # Also if its secret holds: the merged item has the winner's revision, under which another machine can have another value.
    if loser.stamp != winner.stamp and sealed_values(first) != sealed_values(second):
        lose(merged, winner, loser)
    settled = united(conflicts_of(first), conflicts_of(second), conflicts_of(there) if there else set()) | choice.lost
    content = Content(key, secret, attributes, kept[0], kept[1:])
    live = {each.what for each in fields_of(content, winner.stamp)}
    settled = {each for each in settled if each.what not in live}
    if settled:
        attributes[conflict.NAME] = conflict.FLAGS, conflict.encode(settled)
    merged.content, merged.modified = content, max(winner.modified, loser.modified)
    return merged


def sealed_values(content: Content) -> tuple[bytes, Attributes]:
    return content.secret, {name: each for name, each in content.sealed.items() if name != conflict.NAME}


def chosen_key(choice: Choice, first: Content, second: Content, there: Content | None) -> bytes:
    mine, other = ItemKey.decode(first.key), ItemKey.decode(second.key)
    was = ItemKey.decode(plain(there.key, choice.loser.id)) if there else None
    if len({(each.number, len(each.fields)) for each in (mine, other, was) if each}) > 1:
        # Fields of different classes do not compare: the key is one field.
        return choice.always(conflict.KEY_FIELD, first.key, second.key, there.key if there else None, b"key")
    fields, changed = conflict.key_fields(mine), conflict.key_fields(other)
    old = conflict.key_fields(was) if was else {}
    chosen = {
        name: choice.always(conflict.KEY_FIELD, value, changed[name], old.get(name), name)
        for name, value in fields.items()
    }
    return conflict.from_fields(mine.number, chosen, mine).encode()


def lose(merged: Merged, winner: HeldItem, loser: HeldItem) -> None:
    """The loser's value becomes a version."""
    held = Held(loser.id, loser.stamp, loser.modified, loser.place, loser.attributes, loser.content, loser.side, winner.modified)
    add_version(merged, held)


def everything(held: Held) -> set[Lost]:
    """All fields of an item that gives its place up."""
    content = held.content
    return fields_of(content, held.stamp) | conflicts_of(content) if content else set()


def fields_of(content: Content, stamp: Stamp) -> set[Lost]:
    """Each field's value, as an entry of `conflict`."""
    fields = conflict.key_fields(ItemKey.decode(content.key))
    attributes = {name: held for name, held in content.attributes.items() if name != conflict.NAME}
    return {
        Lost(stamp, conflict.SECRET, content.secret),
        Lost(stamp, conflict.ACCESSIBILITY, conflict.accessibility(content.accessibility, content.device)),
        *(Lost(stamp, conflict.KEY_FIELD, value, name) for name, value in fields.items()),
        *(Lost(stamp, conflict.ATTRIBUTE, value, name, flags) for name, (flags, value) in attributes.items()),
    }


# Conflicts


def conflicts_of(content: Content) -> set[Lost]:
    found = content.attributes.get(conflict.NAME)
    return conflict.decode(found[1]) if found else set()


def united(mine: set[Lost], other: set[Lost], base: set[Lost]) -> set[Lost]:
    """What one side settled, which the base had, stays settled."""
    return (mine & other) | ((mine ^ other) - base)


# Versions


def unite_versions(merged: Merged, left: HeldItem, right: HeldItem) -> None:
    for each in (left, right):
        for held in each.versions.values():
            add_version(merged, held)
    merged.versions.pop(merged.stamp, None)
    if merged.lost and merged.content is not None:
        live = {each.what for each in fields_of(merged.content, merged.stamp)}
        every = conflicts_of(merged.content) | {each for each in merged.lost if each.what not in live}
        if every:
            named = {conflict.NAME: (conflict.FLAGS, conflict.encode(every))}
            merged.content = replace(merged.content, attributes=merged.content.attributes | named)


def add_version(merged: Merged, held: Held) -> None:
    """Two machines without names can give one revision to two values: the sealed ones of both are kept."""
    there = merged.versions.get(held.stamp)
    kept = held if there is None else min(there, held, key=preference)
    merged.versions[held.stamp] = kept
    other = there if kept is held else held
    if other is None or other.content is None or kept.content is None:
        return
    if other.content.secret != kept.content.secret:
        merged.lost.add(Lost(held.stamp, conflict.SECRET, other.content.secret))
    for name, (flags, value) in other.content.sealed.items():
        if name != conflict.NAME and kept.content.attributes.get(name) != (flags, value):
            merged.lost.add(Lost(held.stamp, conflict.ATTRIBUTE, value, name, flags))


def preference(held: Held) -> tuple[bool, bool, int, bytes]:
    """Of two copies of one version, the one that is kept: under group 0, without a device, with the smaller record revision."""
    compartment = held.side.reader.keyring.compartments[held.place.compartment]
    return compartment.group != 0, compartment.is_bound, held.place.revision, held.place.record.hash


# Two items with one key


def settle_keys(out: Outcome, ours: Side, theirs: Side) -> None:
    """The smaller id keeps the key; but an item of another device, which cannot be renamed here, keeps it before any other."""
    keep_additions(out, ours, theirs)
    claimed = {each.key for each in out.items.values()}
    taken: dict[bytes, Merged] = {}
    for each in sorted(out.items.values(), key=lambda each: (each.content is not None, each.id)):
        if each.key not in taken:
            taken[each.key] = each
            continue
        # Neither of two such items can give way.
        require(each.content is not None, "two items of other devices with one key", "device-bound")
        other = conflict_key(each.key, each.id)
        if other is not None and other not in claimed and other not in taken:
            give_key(each, other)
            taken[other] = each
            continue
        give_up(out, each, taken[each.key])


def keep_additions(out: Outcome, ours: Side, theirs: Side) -> None:
    """An item whose key is the same on both sides keeps an earlier merge's addition, as long as nothing sets the key without it free."""
    stored = {each.key for side in (ours, theirs) for each in side.items.values()}
    waiting: dict[bytes, list[Merged]] = {}
    for item, each in sorted(out.items.items()):
        left, right = ours.items.get(item), theirs.items.get(item)
        is_same = left and right and left.key == right.key and left.key != each.key == plain(left.key, item)
        if left and is_same and each.content is not None:
            waiting.setdefault(each.key, []).append(each)
            give_key(each, left.key)
    claimed = {each.key for each in out.items.values()}
    for key, others in waiting.items():
        if key in stored and key not in claimed:
            give_key(others[0], key)


def give_key(each: Merged, key: bytes) -> None:
    assert each.content is not None
    each.content = replace(each.content, key=key)


def give_up(out: Outcome, each: Merged, first: Merged) -> None:
    """Its value becomes a version of the first item, its values are kept in the first's `conflict`, its id gets a tombstone."""
    del out.items[each.id]
    out.tombstones[each.id] = (NEW, each.stamp)
    require(first.content is not None, "a value that would have to join an item of another device", "device-bound")
    assert each.content is not None and first.content is not None
    gone = replace_content(each)
    first.versions |= {stamp: held for stamp, held in (*each.versions.items(), (each.stamp, gone)) if stamp < first.stamp}
    every = conflicts_of(first.content) | everything(gone)
    attributes = first.content.attributes | {conflict.NAME: (conflict.FLAGS, conflict.encode(every))}
    first.content = replace(first.content, attributes=attributes)


def replace_content(each: Merged) -> Held:
    like = each.like
    return Held(each.id, each.stamp, each.modified, like.place, like.attributes, each.content, like.side, each.modified)


POSITIONS = {1: 1, 2: 4, 3: 2, 5: 2, 4: 3}


def suffix(item: bytes) -> bytes:
    return b" (conflict " + item[:4].hex().encode() + b")"


def plain(key: bytes, item: bytes) -> bytes:
    """Without the addition that an earlier merge made."""
    decoded = ItemKey.decode(key)
    fields, position = list(decoded.fields), POSITIONS.get(decoded.number, 0)
    value = fields[position] if position < len(fields) else b""
    if not isinstance(value, bytes) or not value.endswith(suffix(item)):
        return key
    fields[position] = value.removesuffix(suffix(item))
    return replace(decoded, fields=tuple(fields)).encode()


def conflict_key(key: bytes, item: bytes) -> bytes | None:
    """The other's key, if one of its fields can take the addition."""
    decoded = ItemKey.decode(key)
    fields, position = list(decoded.fields), POSITIONS.get(decoded.number, 0)
    if position >= len(fields):
        return None
    value = fields[position]
    assert isinstance(value, bytes)
    is_text = decoded.number not in (3, 4, 5)
    while True:
        fields[position] = value + suffix(item)
        encoded = replace(decoded, fields=tuple(fields)).encode()
        if len(value + suffix(item)) <= Limit.FIELD and len(encoded) <= Limit.KEY:
            return encoded
        if not value:
            return None
        value = value.decode()[:-1].encode() if is_text else value[:-1]
