"""The groups, compartments and slots of two files that are merged: R-8.17 to R-8.20."""

from dataclasses import dataclass, replace

from .codec import require
from .contents import Contents
from .crypto import is_same
from .keyring import OWNERS, Keyring
from .merging import grants_of
from .reader import Reader
from .ring import Ring
from .slots import FULL, SCOPED, Slot


@dataclass
class United:
    """Our ring, with what only theirs has."""

    # Groups that need new keys.
    fresh: set[int]
    # Of the header.
    slots: list[Slot]
    has_new_epoch: bool


def unite(ours: Reader, theirs: Reader, left: Contents, right: Contents, result: Contents, ring: Ring) -> United:
    check_numbers(ours, theirs)
    fresh = united_groups(ours, theirs, left, right, result, ring)
    slots = united_slots(ours, theirs, left, right, result)
    before = {slot.id: slot.kind for each in (ours, theirs) for slot in each.header.slots}
    if any(before[slot] not in (FULL, SCOPED) for slot in before.keys() - {slot.id for slot in slots}):
        fresh = set(ring.keyring.groups)
    return United(fresh, slots, fresh != set() or ours.header.epoch != theirs.header.epoch)


def check_numbers(ours: Reader, theirs: Reader) -> None:
    """R-8.19. A device's inner layer is compared as it is, where it cannot be opened."""
    left, right = ours.keyring, theirs.keyring
    for number in left.groups.keys() & right.groups.keys():
        is_one = left.groups[number].name == right.groups[number].name
        is_one = is_one and is_same(left.group_key(ours.keys, number), right.group_key(theirs.keys, number))
        require(is_one, f"group {number} has two keys (R-8.19)")
    for number in left.compartments.keys() & right.compartments.keys():
        mine, other = left.compartments[number], right.compartments[number]
        is_one = (mine.accessibility, mine.device) == (other.accessibility, other.device)
        is_one = is_one and is_same(left.outer(ours.keys, number), right.outer(theirs.keys, number))
        require(is_one, f"compartment {number} has two keys (R-8.19)")


def united_groups(ours: Reader, theirs: Reader, left: Contents, right: Contents, result: Contents, ring: Ring) -> set[int]:
    """Puts groups and compartments into our ring, as the table of R-8.17 says; returns the groups that need new keys."""
    fresh, sides = set[int](), ((ours, left), (theirs, right))
    wrapped = ring.keyring
    ring.keyring = replace(wrapped, groups={}, compartments={})
    # By the number of a group on one of the sides: the one that it has in the result, and whether its compartments go on.
    moved = {OWNERS: (OWNERS, True)}
    for name in sorted({each.name for reader, _ in sides for each in reader.keyring.groups.values()}):
        wanted = grants_of(result.slots, name)
        there = [(group.number, reader) for reader, _ in sides if (group := reader.keyring.group_named(name))]
        goes_on = {id(reader): grants_of(side.slots, name) == wanted for reader, side in sides}
        going_on = [(number, reader) for number, reader in there if goes_on[id(reader)]]
        number, reader = min(going_on or there, key=lambda each: each[0])
        if number in wrapped.groups:
            ring.keyring.groups[number] = wrapped.groups[number]
        else:
            ring.add_group(name, reader.keyring.group_key(reader.keys, number), number)
        moved |= {each: (number, (each, side) in going_on or not going_on) for each, side in there}
        if not going_on:
            fresh.add(number)
    for reader, _ in sides:
        unite_compartments(reader, ring, moved, wrapped if reader is ours else replace(wrapped, compartments={}))
    return fresh


def unite_compartments(reader: Reader, ring: Ring, moved: dict[int, tuple[int, bool]], wrapped: Keyring) -> None:
    """Those of another device stay in any case (R-3.27)."""
    for number, each in sorted(reader.keyring.compartments.items()):
        group, goes_on = moved[each.group]
        if number in ring.keyring.compartments or not (goes_on or not ring.can_open_device(each)):
            continue
        if number in wrapped.compartments and group == each.group:
            ring.keyring.compartments[number] = each
        else:
            ring.wrap_again(replace(each, group=group), reader.keyring.outer(reader.keys, number))


def united_slots(ours: Reader, theirs: Reader, left: Contents, right: Contents, result: Contents) -> list[Slot]:
    """In the order of our header; what is in a slot is the side's that changed it last."""
    mine, other = ({slot.id: slot for slot in each.header.slots} for each in (ours, theirs))
    slots = []
    for number in [*mine, *(each for each in other if each not in mine)]:
        if number not in result.slots:
            continue
        is_ours = number in left.slots and left.slots[number].changed == result.slots[number].changed
        slots.append(mine[number] if is_ours else other[number])
    return slots


def has_full_slot(slots: list[Slot]) -> bool:
    return any(slot.kind == FULL and slot.is_known for slot in slots)

