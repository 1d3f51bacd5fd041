"""What a merge of two states under one key holds: section 8.1. Pure: no file, and no dot is made."""

from collections.abc import Callable
from dataclasses import replace

from .codec import require, varint
from .contents import Contents, SlotState
from .dots import Dot, Vector
from .holding import Held, ItemState, Named, Sibling

# Whether what one side has under a dot stays although the other lacks it: the other is given.
Stays = Callable[[Dot, Vector], bool]


def joined(ours: Vector, theirs: Vector) -> Vector:
    """Our positions first, then those of ids that only theirs has."""
    rows = dict(ours.rows)
    for replica, revision in theirs.rows.items():
        rows[replica] = max(revision, rows.get(replica, 0))
    return Vector(rows, ours.floor, ours.split | theirs.split)


def staying(ours: Vector, theirs: Vector) -> Stays:
    split = ours.split | theirs.split

    def stays(dot: Dot, other: Vector) -> bool:
        """Of a split id nothing is concluded from a row (R-8.14)."""
        return not other.has_seen(dot) or dot.replica in split

    return stays


def merged(ours: Contents, theirs: Contents) -> Contents:
    """R-8.13."""
    are_one = ours.vector.floor == theirs.vector.floor and ours.key_dot == theirs.key_dot
    require(are_one, "two states under one key that restarted apart (R-8.19)")
    stays = staying(ours.vector, theirs.vector)
    items = {}
    for number in ours.items.keys() | theirs.items.keys():
        left, right = ours.items.get(number), theirs.items.get(number)
        item = merged_item(left, right, ours.vector, theirs.vector, stays)
        if item is not None:
            items[number] = item
    setting = max(ours, theirs, key=lambda each: each.limit_dot)
    return Contents(
        joined(ours.vector, theirs.vector), items, ours.forgotten | theirs.forgotten, merged_slots(ours, theirs, stays), setting.limit,
        setting.limit_dot, ours.key_dot, ours.written,
    )  # fmt: skip


def merged_item(left: ItemState | None, right: ItemState | None, ours: Vector, theirs: Vector, stays: Stays) -> ItemState | None:
    """Siblings and open values, each by its own dot. An item that is the same on both sides is ours."""
    siblings: dict[Dot, Sibling] = {}
    opened: set[Named] = set()
    for mine, other, vector in ((left, right, theirs), (right, left, ours)):
        if mine is None:
            continue
        for dot, each in mine.siblings.items():
            if other is not None and dot in other.siblings:
                siblings[dot] = one_sibling(each, other.siblings[dot])
            elif stays(dot, vector):
                siblings[dot] = each
        for named in mine.open:
            if (other is not None and named in other.open) or stays(named[1], vector):
                opened.add(named)
    if not siblings:
        return None
    sides = [each for each in (left, right) if each is not None]
    records = tuple(record for each in sides for record in each.records)
    item = ItemState(sides[0].id, siblings, frozenset(opened), {}, records)
    item = replace(item, values={named: one_value(named, left, right) for named in item.names})
    return left if left is not None and is_same(item, left) else item


def one_sibling(left: Sibling, right: Sibling) -> Sibling:
    """Siblings are never altered, but a copy can lack an earlier value that is forgotten."""
    return replace(left, earlier=left.earlier & right.earlier)


def one_value(named: Named, left: ItemState | None, right: ItemState | None) -> Held:
    """R-8.15: of two copies of a value."""
    copies = [each.values[named] for each in (left, right) if each is not None and named in each.values]
    return max(copies, key=preference)


def preference(held: Held) -> tuple[bool, int, bytes, bool]:
    """One that has bytes; then what was recorded when it was replaced. Which record has it is no content: an open one is better."""
    listed = b"".join(bytes([len(name)]) + name + bytes([each.flags]) + encoded(each) for name, each in held.attributes)
    return not held.is_gone, held.replaced, varint(len(held.attributes)) + listed, not held.is_bound


def encoded(held: Held) -> bytes:
    """Of an attribute that a secret had; references are left out."""
    return b"" if held.value is None or held.is_recorded else varint(len(held.value)) + held.value


def is_same(item: ItemState, other: ItemState) -> bool:
    """Whether nothing changed for a side: then its entry and its past stay as they are."""
    if item.siblings.keys() != other.siblings.keys() or item.open != other.open or item.names != other.names:
        return False
    return all(preference(held)[:3] == preference(other.values[named])[:3] for named, held in item.values.items()) and all(
        each.earlier == other.siblings[dot].earlier for dot, each in item.siblings.items()
    )


# Slots: by the dot of the making, of the contents, and of each grant


def merged_slots(ours: Contents, theirs: Contents, stays: Stays) -> dict[bytes, SlotState]:
    slots = {}
    for number in ours.slots.keys() | theirs.slots.keys():
        left, right = ours.slots.get(number), theirs.slots.get(number)
        if left is None or right is None:
            one, other = (left, theirs.vector) if left is not None else (right, ours.vector)
            assert one is not None
            if stays(one.made, other):
                slots[number] = one
            continue
        grants: dict[bytes, Dot] = {}
        for mine, there, vector in ((left, right, theirs.vector), (right, left, ours.vector)):
            for name, dot in mine.grants.items():
                if there.grants.get(name) == dot or stays(dot, vector):
                    grants[name] = max(dot, grants.get(name, dot))
        slots[number] = SlotState(left.made, max(left.changed, right.changed), grants)
    return slots


def grants_of(slots: dict[bytes, SlotState], name: bytes) -> frozenset[tuple[bytes, Dot]]:
    """Of a group: the slots that are granted it, with the dots of the grants."""
    return frozenset((number, each.grants[name]) for number, each in slots.items() if name in each.grants)

