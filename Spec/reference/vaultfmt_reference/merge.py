"""Merges two files of one vault: section 8. The rules for items are in merging.py."""

from dataclasses import dataclass, field, replace

from .codec import NO_DEVICE, Limit, require
from .crypto import is_same
from .drafts import Content, Draft, Now
from .frames import RECORD, Place
from .items import Attribute, Tombstone
from .keyring import Keyring
from .merging import NEW, Merged, Outcome, conflict_key, has_same_values, merge_items, plain
from .objects import Ancestor, Version
from .reader import Reader
from .rewrite import Change, Merge, past, rewrite
from .ring import Random
from .sides import Held, HeldItem, Side, base_of, states
from .slots import FULL, SCOPED, OwnerPart, Slot
from .writer import Transaction

SlotChoice = tuple[Slot, OwnerPart | None, list[bytes]]


@dataclass
class Result:
    """The file that takes the place of ours: ours itself where there is nothing to do."""

    data: bytes
    # "same", "ours" (theirs is an ancestor), "theirs" (ours is one), "equal" or "merged".
    what: str
    # Ids of items that only a horizon removed, and of slots that were not taken.
    named: list[bytes] = field(default_factory=list)


def merge(ours: Reader, theirs: Reader, random: Random, now: Now, device: bytes = NO_DEVICE, takes_slots: bool = False) -> Result:
    """Both were opened by an owner. Neither file is changed."""
    require(ours.keys.is_owner and theirs.keys.is_owner, "a scoped slot cannot merge", "not-an-owner")
    require(ours.header.vault == theirs.header.vault, "another vault", "other-vault")
    if theirs.state == ours.state:
        return Result(ours.data, "same")
    if theirs.state in states(ours):
        return Result(ours.data, "ours")
    if ours.state in states(theirs):
        return Result(theirs.data, "theirs")
    # what went on under a key that the other side has rotated away is not merged unasked.
    require(ours.keys.public == theirs.keys.public, "a branch under another owners' key (R-8.1)", "foreign")
    return Merging(ours, theirs, random, now, device, takes_slots).result()


def adopt(ours: Reader, theirs: Reader, random: Random, now: Now, device: bytes = NO_DEVICE) -> Result:
    """What R-8.1 leaves of a branch that went on under a rotated key, for a user who asks for it: earlier values.

    They get new revisions, as an import's do: a revision that a stranger chose could put ours at the end of its clock.
    """
    require(ours.header.vault == theirs.header.vault, "another vault", "other-vault")
    # Both can have rotated: the user chooses the side whose keys hold.
    branches = {theirs.keys.public, *(over.public for over in theirs.keyring.hand_overs)}
    is_rotated = any(over.public in branches for over in ours.keyring.hand_overs) and ours.keys.public not in branches
    require(is_rotated and theirs.keys.is_owner, "no hand-over leads from their key to ours (R-8.1)", "foreign")
    transaction, named = Transaction(ours, random, now, device), list[bytes]()
    mine, other = Side.of(ours), Side.of(theirs)
    base = base_of(ours, theirs)
    for item, held in sorted(other.items.items()):
        known = base.find(item)
        there = mine.items.get(item)
        seen = [*(there.values.values() if there else ()), *(known.values.values() if known else ())]
        new = [each for _, each in sorted(held.values.items()) if not any(has_same_values(each, one) for one in seen)]
        if new and not add_earlier(transaction, held, there, [each for each in new if each.content]):
            named.append(item)
    named += sorted((mine.items.keys() & other.tombstones.keys()) - other.items.keys())
    return Result(transaction.commit() if transaction.changes else ours.data, "adopted", named)


def add_earlier(transaction: Transaction, held: HeldItem, there: HeldItem | None, new: list[Held]) -> bool:
    """To our item, or to one with an empty secret. False if it has to be named: no key is free, or no value can be read."""
    key = there.key if there else plain(held.key, held.id)
    if there is None and transaction.draft(key) is not None:
        free = conflict_key(key, held.id)
        if free is None or transaction.draft(free) is not None:
            return False
        key = free
    draft = transaction.draft(key) if there else None
    if not new or (there is not None and draft is None):
        return False
    if draft is None:
        empty = Content(key, b"", {}, 1)
        place, attributes = transaction.shelf.seal_content(held.id, empty)
        draft = Draft(key, held.id, 0, 0, place, attributes, held.created, held.modified)
        if held.id in transaction.tombstones:
            transaction.changes[transaction.tombstones[held.id].key] = None
    for each in new[-(Limit.VERSIONS - len(draft.versions)) :]:
        assert each.content is not None
        place, attributes = transaction.shelf.seal_content(held.id, each.content)
        revision, position = transaction.revisions.next(), transaction.ring.position(transaction.device)
        version = Version(revision, position, each.replaced or each.modified, each.modified, place, attributes)
        draft.versions = [*draft.versions, version]
    draft = replace(draft, versions=transaction.withdrawn(draft, draft.versions), written=None)
    draft.revision, draft.device = transaction.revisions.next(), transaction.ring.position(transaction.device)
    transaction.changes[key] = draft
    return True


class Merging:
    def __init__(self, ours: Reader, theirs: Reader, random: Random, now: Now, device: bytes, takes_slots: bool) -> None:
        self.ours, self.theirs, self.takes_slots = ours, theirs, takes_slots
        self.random, self.now, self.device = random, now, device
        self.sides = Side.of(ours), Side.of(theirs)
        self.base = base_of(ours, theirs)
        self.transaction = Transaction(ours, random, now, device)
        self.transaction.revisions.clock = max(ours.commit.clock, theirs.commit.clock)
        # Where ours has its records, by hash, so that none is copied that is there.
        self.there = {
            place.record.hash: place
            for item in self.sides[0].items.values()
            for held in (item, *item.versions.values())
            for place in (held.place, *(each.place for each in held.attributes if each.place))
        }
        self.named: list[bytes] = []

    def result(self) -> Result:
        if contents(self.sides[0]) == contents(self.sides[1]):
            if self.ours.state > self.theirs.state:
                return Result(self.ours.data, "equal")
            # an empty commit after the other's state.
            after = Transaction(self.theirs, self.random, self.now, self.device)
            least = self.ours.commit.generation
            history = past(self.ours)
            after.horizon = max(after.horizon, self.ours.commit.horizon)
            data = after.commit(since(self.ours, self.theirs), history.floor, least, self.ours.commit.clock)
            return Result(data, "equal")
        self.transaction.ring.keyring = self.united_keyring()
        slots = self.slots()
        keep = self.transaction.ring.keyring.keep
        outcome = merge_items(*self.sides, self.base, keep)
        self.named += outcome.named
        self.apply(outcome)
        return Result(self.written(slots), "merged", self.named)

    def written(self, slots: list[SlotChoice]) -> bytes:
        ours, theirs, transaction = self.ours, self.theirs, self.transaction
        horizon = max(ours.commit.horizon, theirs.commit.horizon)
        new, floor = since(theirs, ours), past(theirs).floor
        groups = transaction.ring.keyring.groups
        is_regrouped = self.needs_new_groups()
        if is_regrouped or [slot.raw for slot, _, _ in slots] != [slot.raw for slot in ours.header.slots]:
            plan = Merge(transaction, new, floor, theirs.commit.generation, horizon, slots)
            change = Change(regroup=set(groups) if is_regrouped else set(), merge=plan)
            return rewrite(ours, change, self.random, self.now, self.device)
        transaction.horizon = horizon
        return transaction.commit(new, floor, theirs.commit.generation, theirs.commit.clock)

    # The keyring

    def united_keyring(self) -> Keyring:
        ours, theirs = self.ours.keyring, self.theirs.keyring
        keys = self.ours.keys
        for number in ours.groups.keys() & theirs.groups.keys():
            is_one = ours.groups[number].name == theirs.groups[number].name
            is_one = is_one and is_same(ours.group_key(keys, number), theirs.group_key(self.theirs.keys, number))
            require(is_one, f"group {number} has two keys (R-8.10)", "structure-invalid")
        for number in ours.compartments.keys() & theirs.compartments.keys():
            self.check_compartment(number)
        removed = dict(ours.removed)
        for slot, revision in theirs.removed.items():
            removed[slot] = max(revision, removed.get(slot, 0))
        removed = dict(sorted(sorted(removed.items(), key=lambda each: each[1])[-Limit.REMOVED_SLOTS :]))
        setting = max(ours, theirs, key=lambda each: (each.keep_revision, each.keep_device, each.keep))
        overs = sorted({*ours.hand_overs, *theirs.hand_overs}, key=lambda each: each.generation)[-Limit.HAND_OVERS :]
        devices = [*ours.devices, *(each for each in theirs.devices if each not in ours.devices)][: Limit.DEVICES]
        return replace(
            setting,
            devices=devices,
            groups=theirs.groups | ours.groups,
            compartments=theirs.compartments | ours.compartments,
            removed=removed,
            hand_overs=overs,
            extensions=ours.extensions,
        )

    def check_compartment(self, number: int) -> None:
        """Its keys can only be compared where they can be opened; a device's inner layer is compared as it is."""
        ours, theirs = self.ours.keyring, self.theirs.keyring
        left, right = ours.compartments[number], theirs.compartments[number]
        is_one = (left.accessibility, left.device) == (right.accessibility, right.device)
        is_one = is_one and is_same(ours.outer(self.ours.keys, number), theirs.outer(self.theirs.keys, number))
        require(is_one, f"compartment {number} has two keys (R-8.10)", "structure-invalid")

    def needs_new_groups(self) -> bool:
        """Whether the merge is also an operation of R-3.27."""
        ours, theirs = self.ours.header, self.theirs.header
        names = {group.name: number for number, group in self.ours.keyring.groups.items()}
        are_two = any(names.get(group.name, number) != number for number, group in self.theirs.keyring.groups.items())
        scoped = ({slot.raw for slot in each.slots if not (slot.kind == 1 and slot.is_known)} for each in (ours, theirs))
        return ours.epoch != theirs.epoch or next(scoped) != next(scoped) or are_two

    # Slots

    def slots(self) -> list[SlotChoice]:
        left, right = ({slot.id: slot for slot in each.header.slots} for each in (self.ours, self.theirs))
        keyring = self.transaction.ring.keyring
        base_clock = self.base.clock
        out: list[SlotChoice] = []
        for slot in [*left, *(each for each in right if each not in left)]:
            if slot in keyring.removed:
                continue
            if slot in left and slot in right:
                out.append(self.both(left[slot], right[slot], base_clock))
            elif slot in left:
                out.append((left[slot], *self.part(self.ours, left[slot])))
            else:
                part, names = self.part(self.theirs, right[slot])
                if self.takes_slots and part.revision > base_clock:
                    out.append((right[slot], part, names))
                else:
                    keyring.removed[slot] = self.transaction.revisions.next()
                    self.named.append(slot)
        opened = {self.ours.slot.id, self.theirs.slot.id}
        require(any(slot.kind == FULL and slot.is_known for slot, _, _ in out), "no full slot would be left (R-8.9)", "last-slot")
        require(any(slot.id in opened for slot, _, _ in out), "no slot would be left that the factors at hand open (R-8.9)", "no-slot-opens")
        return out

    def part(self, reader: Reader, slot: Slot) -> tuple[OwnerPart, list[bytes]]:
        part = reader.owner_part(slot)
        if slot.kind != SCOPED:
            return part, []
        return part, [reader.keyring.groups[number].name for number in reader.grants(slot, part) if number in reader.keyring.groups]

    def both(self, ours: Slot, theirs: Slot, base_clock: int) -> SlotChoice:
        (mine, names), (other, named) = self.part(self.ours, ours), self.part(self.theirs, theirs)
        is_ours = (mine.revision, mine.device) >= (other.revision, other.device)
        winner, part = (ours, mine) if is_ours else (theirs, other)
        if mine.revision > base_clock and other.revision > base_clock and mine.revision != other.revision:
            return winner, part, [name for name in names if name in named]
        return winner, part, names if is_ours else named

    # Items

    def apply(self, outcome: Outcome) -> None:
        transaction, ours = self.transaction, self.sides[0]
        live = {each.key for each in outcome.items.values()}
        for held in ours.items.values():
            merged = outcome.items.get(held.id)
            if (merged is None or merged.key != held.key) and held.key not in live:
                transaction.changes[held.key] = None
        for item in ours.tombstones.keys() - outcome.tombstones.keys():
            transaction.changes[b"\x7e" + item] = None
        for item, (stamp, last) in outcome.tombstones.items():
            revision, device = stamp if stamp != NEW else (transaction.revisions.next(), self.device)
            position = transaction.ring.position
            tombstone = Tombstone(item, revision, position(device), last[0], position(last[1]))
            if transaction.tombstones.get(item) != tombstone:
                transaction.changes[tombstone.key] = tombstone
        for merged in sorted(outcome.items.values(), key=lambda each: each.id):
            if not self.is_ours(merged):
                transaction.changes[merged.key] = self.draft(merged, merged.key)

    def is_ours(self, merged: Merged) -> bool:
        """Whether ours has it already, with these versions."""
        held = self.sides[0].items.get(merged.id)
        if held is None or (merged.stamp, merged.key) != (held.stamp, held.key) or merged.versions != held.versions:
            return False
        return merged.content == held.content if merged.content else merged.like is held

    def draft(self, merged: Merged, key: bytes) -> Draft:
        transaction = self.transaction
        like = self.brought(merged.like)
        draft = Draft(key, merged.id, 0, 0, *like, merged.created, merged.modified)
        if merged.content is not None and merged.content != merged.like.content:
            before = merged.like.content
            draft.place, draft.attributes = transaction.shelf.seal_content(merged.id, merged.content, draft, before)
        versions = [self.version(merged, held) for _, held in sorted(merged.versions.items())]
        draft.versions = transaction.withdrawn(draft, sorted(versions, key=lambda each: (each.revision, each.device)))
        draft.revision, draft.device = merged.stamp[0], transaction.ring.position(merged.stamp[1])
        return draft

    def version(self, merged: Merged, held: Held) -> Version:
        if held.id == merged.id or held.content is None:
            place, attributes = self.brought(held)
        else:
            # Another item's, which lost its key: its records are bound to its id.
            place, attributes = self.transaction.shelf.seal_content(merged.id, held.content)
        position = self.transaction.ring.position(held.stamp[1])
        return Version(held.stamp[0], position, held.replaced or merged.modified, held.modified, place, attributes)

    def brought(self, held: Held) -> tuple[Place, tuple[Attribute, ...]]:
        """Its records, copied to ours if they are not there."""

        def copied(place: Place) -> Place:
            if held.side.reader is self.ours:
                return place
            if place.record.hash in self.there:
                return self.there[place.record.hash]
            reader = held.side.reader
            place.record.check(RECORD, reader.header.body, len(reader.data))
            return self.transaction.shelf.copy(place, reader.frame(place.record, RECORD))

        return copied(held.place), tuple(replace(each, place=copied(each.place)) if each.place else each for each in held.attributes)


def since(of: Reader, known: Reader) -> list[Ancestor]:
    """A branch's states that the other has not, oldest first: what a merge adds to the history (R-5.17)."""
    there = states(known)
    return [each for each in past(of).ancestors if each[:2] not in there]


def contents(side: Side) -> object:
    """What R-8.4 compares: everything but revisions and devices."""
    reader = side.reader
    items = {
        item: (held.key, held.content, [each.content for _, each in sorted(held.versions.items())])
        for item, held in side.items.items()
        if held.content is not None
    }
    closed = {
        item: [each.place.revision for each in (held, *held.versions.values())]
        for item, held in side.items.items()
        if held.content is None
    }
    slots = {slot.id: slot_contents(reader, slot) for slot in reader.header.slots}
    return items, closed, side.tombstones.keys(), slots, reader.keyring.removed.keys(), reader.keyring.keep


def slot_contents(reader: Reader, slot: Slot) -> object:
    """Without revisions, and without what is sealed anew with an epoch."""
    part = reader.owner_part(slot)
    numbers = reader.grants(slot, part) if slot.kind == SCOPED else {}
    names = {reader.keyring.groups[number].name for number in numbers if number in reader.keyring.groups}
    return slot.bound, part.name, part.data, names


