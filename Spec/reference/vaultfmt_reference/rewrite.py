"""Makes new files: fresh vaults, and the replacements of section 7.4."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from .codec import Extension, Limit
from .commits import core_of, frames_of, written
from .contents import SlotState, forgotten_of
from .crypto import NONCE, Keys
from .dots import SPLIT, VectorFrame
from .drafts import Content, Now, Shelf
from .frames import KEYRING, RECORD, VECTOR, Place, Reference
from .header import Header, encode_header
from .keyring import OWNERS, HandOver, Keyring
from .objects import Page, State
from .output import Output, needs_signature
from .reader import Reader
from .replicas import Memory
from .restart import dots_of, restarted
from .ring import Random, Ring
from .sealing import Move, Sealing
from .slots import EPOCH, FULL, SCOPED, NewSlot, OwnerPart, Slot, regrant, reseal_owner_part
from .tree import Changes, changed, write
from .vectors import append_vector, vector_frames
from .writer import Transaction

HandedOver = tuple[HandOver, list[tuple[int, int]]]


class Rewriting:
    """A file in which everything is written again: records, pasts, pages, vectors and keyring, and one commit."""

    def __init__(self, transaction: Transaction, ring: Ring, move: Move, hand_overs: list[HandedOver]) -> None:
        self.transaction, self.ring, self.move, self.hand_overs = transaction, ring, move, hand_overs

    def file(self, raw_header: bytes, before: State = (0, bytes(32)), least: int = 0) -> bytes:
        transaction, contents = self.transaction, self.transaction.contents
        if transaction.own:
            contents.vector.rows.setdefault(transaction.own, 0)
        output, shelf = Output(raw_header + raw_header, self.ring.keys, self.ring.random), Shelf(self.ring, transaction.revisions)
        header = Header.decode(raw_header + raw_header + bytes(Limit.AFTER_HEADER))
        sealing = Sealing(self.ring, shelf, contents.vector, self.move, contents.limit)
        drafts = {
            number: sealing.draft(item, contents.gone(item), number in transaction.binds)
            for number, item in sorted(contents.items.items())
        }  # fmt: skip
        transaction.finish()
        where, keys = shelf.append(output, is_sorted=True), contents.page_keys()
        entries = {number: (keys[number], written(draft.placed(where), output).entry) for number, draft in drafts.items()}
        values: Changes = {key: entry.encode() for key, entry in entries.values()}
        values |= {forgotten_of(each).key: b"" for each in contents.forgotten}
        root = changed(None, values, load_nothing)
        live: dict[int, int] = {}
        if root is not None:
            at = len(output.data)
            write(root, output.append_page)
            live[at] = len(output.data) - at
        overs = self.handed_over(output)
        wanted = transaction.keyring(self.ring, overs)
        keyring = output.append_sealed("keyring", KEYRING, wanted.encode())
        vector = append_vector(output, contents.vector, transaction.own)
        for _, entry in entries.values():
            live |= frames_of(entry, output)
        live |= vector_frames(output, vector, wanted)
        core = core_of(contents, entries, root, live, (keyring, vector), header, transaction.own)
        core = replace(core, generation=max(before[0], least) + 1, before=before[0], chain_before=before[1])
        return output.commit(core, needs_signature(header), is_synced=True)

    def handed_over(self, output: Output) -> list[HandOver]:
        """With their vectors in this file."""
        found = []
        for over, rows in self.hand_overs:
            reference = output.append_sealed("vector", VECTOR, VectorFrame(None, [], rows).encode())
            found.append(replace(over, vector=reference))
        return found


def load_nothing(_reference: Reference, _level: int) -> Page:
    raise AssertionError("every page of a new file is at hand")


# Fresh vaults


@dataclass
class NewVault:
    """A scoped slot's groups are given by name, next to it; None for a full slot."""

    slots: list[tuple[NewSlot, list[bytes] | None]]
    items: list[Content] = field(default_factory=list)
    groups: list[bytes] = field(default_factory=list)
    # Secrets by id.
    devices: dict[bytes, bytes] = field(default_factory=dict)
    limit: int = 0
    header_extensions: list[Extension] = field(default_factory=list)
    keyring_extensions: list[Extension] = field(default_factory=list)


def create(new: NewVault, random: Random, now: Now, memory: Memory | None = None, transaction: Transaction | None = None) -> bytes:
    """`transaction` is one that has dots of its own."""
    epoch = random(32)
    keys = Keys.owners(random(16), epoch, random(32))
    making = transaction or Transaction.fresh_one(random, now, memory)
    ring = Ring(Keyring(extensions=new.keyring_extensions), keys, random, new.devices)
    contents, dot = making.contents, making.dot()
    contents.limit, contents.limit_dot, contents.key_dot = new.limit, dot, dot
    for name in new.groups:
        ring.group(name)
    slots = [new_slot(making, ring, slot, names) for slot, names in new.slots]
    for content in new.items:
        making.put(content)
    raw = encode_header(keys.vault, epoch, slots, new.header_extensions, keys.index)
    return Rewriting(making, ring, nothing_moves, []).file(raw)


def new_slot(transaction: Transaction, ring: Ring, new: NewSlot, names: Iterable[bytes] | None) -> Slot:
    """Sealed, and in the contents."""
    grants = None if names is None else [ring.group(name) for name in names]
    slot = replace(new, grants=grants).seal(ring.keys, {number: ring.group_key(number) for number in grants or []}, ring.random)
    dot = transaction.dot()
    dots = {name: transaction.dot() for name in sorted(names or [])}
    transaction.contents.slots[slot.id] = SlotState(dot, dot, dots)
    return slot


def nothing_moves(_shelf: Shelf, _item: bytes, _source: Any, _place: Place) -> Place:
    raise AssertionError("a new vault has no records of another file")


# Replacements


@dataclass
class Change:
    """What a replacement changes. Groups are numbers of the old file."""

    # Make the vault key anew, with these slots; nothing else of the old header stays.
    rotation: list[tuple[NewSlot, list[bytes] | None]] | None = None
    restart: bool = False
    # Groups that get new numbers and keys; with them comes a new epoch.
    regroup: set[int] = field(default_factory=set)
    remove: set[bytes] = field(default_factory=set)
    add: list[tuple[NewSlot, list[bytes]]] = field(default_factory=list)
    # A merge: whether there is a new epoch anyhow, the header's slots of the result, the hand-overs of both, and a generation to
    # go on from.
    new_epoch: bool = False
    slots: list[Slot] | None = None
    hand_overs: list[HandedOver] | None = None
    least: int = 0


def compact(transaction: Transaction) -> bytes:
    return Replacement(transaction, Change()).file()


def grant(transaction: Transaction, slot: bytes, groups: Iterable[bytes]) -> bytes:
    """What a scoped slot grants from now on, by the names of groups (R-3.27)."""
    contents, keyring = transaction.contents, transaction.ring.keyring
    state = contents.slots[slot]
    named = [name for name in groups if keyring.group_named(name)]
    # Also a revocation has a dot.
    dots = {name: transaction.dot() for name in sorted({*named} ^ {*state.grants})}
    grants = {name: state.grants.get(name) or dots[name] for name in named}
    contents.slots[slot] = replace(state, grants=grants)
    return Replacement(transaction, Change(regroup=numbers_of(keyring, dots))).file()


def numbers_of(keyring: Keyring, names: Iterable[bytes]) -> set[int]:
    return {group.number for name in names if (group := keyring.group_named(name))}


def add_scoped(transaction: Transaction, new: NewSlot, groups: Iterable[bytes]) -> bytes:
    keyring = transaction.ring.keyring
    named = [name for name in groups if keyring.group_named(name)]
    return Replacement(transaction, Change(regroup=numbers_of(keyring, named), add=[(new, named)])).file()


def remove_slot(transaction: Transaction, slot: bytes) -> bytes:
    """Of a known full slot, only the header changes; of any other, R-3.27."""
    reader, contents = transaction.reader, transaction.contents
    found = next(each for each in reader.header.slots if each.id == slot)
    if found.kind == FULL:
        return rekey(transaction, [each for each in reader.header.slots if each.id != slot])
    keyring = transaction.ring.keyring
    lost = numbers_of(keyring, contents.slots[slot].grants) if found.kind == SCOPED else set(keyring.groups)
    transaction.dot()
    return Replacement(transaction, Change(regroup=lost, remove={slot})).file()


def rotate(transaction: Transaction, slots: list[tuple[NewSlot, list[bytes] | None]], restart: bool = False) -> bytes:
    """R-7.17, R-7.25. Slots that stay are made anew under the ids that they have; the others are removed."""
    return Replacement(transaction, Change(slots, restart, regroup=set(transaction.ring.keyring.groups))).file()


def add_slot(transaction: Transaction, new: NewSlot) -> bytes:
    """A full one."""
    slot = new_slot(transaction, transaction.ring, new, None)
    return rekey(transaction, [*transaction.reader.header.slots, slot])


def rename_slot(transaction: Transaction, slot: bytes, name: bytes) -> bytes:
    reader, slots = transaction.reader, list(transaction.reader.header.slots)
    for index, each in enumerate(slots):
        if each.id == slot:
            slots[index] = reseal_owner_part(reader.keys, each, replace(reader.owner_part(each), name=name), transaction.random(NONCE))
            touched(transaction, slot)
    return rekey(transaction, slots)


def change_slot(transaction: Transaction, slot: bytes, new: NewSlot) -> bytes:
    """Other factors under the same id; a scoped slot keeps its grants."""
    reader, slots = transaction.reader, list(transaction.reader.header.slots)
    index = next(at for at, each in enumerate(slots) if each.id == slot)
    held = reader.grants(slots[index], reader.owner_part(slots[index])) if slots[index].kind == SCOPED else None
    slots[index] = replace(new, id=slot, grants=None if held is None else list(held)).seal(reader.keys, held or {}, transaction.random)
    touched(transaction, slot)
    return rekey(transaction, slots)


def touched(transaction: Transaction, slot: bytes) -> None:
    state = transaction.contents.slots[slot]
    transaction.contents.slots[slot] = replace(state, changed=transaction.dot())


def rekey(transaction: Transaction, slots: list[Slot]) -> bytes:
    """Other slots or names, the keys unchanged: the body is copied, and a commit appended that belongs to the new header."""
    reader, contents = transaction.reader, transaction.contents
    for gone in contents.slots.keys() - {each.id for each in slots}:
        del contents.slots[gone]
        transaction.dot()
    for each in slots:
        if each.id not in contents.slots:
            dot = transaction.dot()
            contents.slots[each.id] = SlotState(dot, dot)
    header = reader.header
    raw = encode_header(header.vault, header.epoch, slots, header.extensions, reader.keys.index, header.length, header.slots)
    if len(raw) != header.length:
        return Replacement(transaction, Change(slots=slots)).file()
    transaction.reader = with_header(reader, slots, raw)
    return transaction.commit(is_synced=True)


def with_header(reader: Reader, slots: list[Slot], raw: bytes) -> Reader:
    """The commit is made on a copy that has the new header already."""
    copied = object.__new__(Reader)
    header = replace(reader.header, slots=slots, raw=raw)
    copied.__dict__ = reader.__dict__ | {"header": header, "data": raw + raw + reader.data[reader.header.body :]}
    return copied


def hand_overs_of(reader: Reader) -> list[HandedOver]:
    return [(over, reader.hand_over_rows(over)) for over in reader.keyring.hand_overs]


def clock_of(over: HandedOver) -> int:
    return max([over[0].floor, *(revision & ~SPLIT for _, revision in over[1])])


def newest_hand_overs(overs: list[HandedOver]) -> list[HandedOver]:
    """Those with the greatest clocks; of equal clocks, those that are later in the list (section 5.4)."""
    each: dict[bytes, HandedOver] = {}
    for over, rows in overs:
        each.setdefault(over.order, (over, rows))
    kept = sorted(each, key=lambda order: (clock_of(each[order]), order))[-Limit.HAND_OVERS :]
    return [each[order] for order in sorted(kept)]


class Replacement:
    """One pass over a vault that writes all of it again."""

    def __init__(self, transaction: Transaction, change: Change) -> None:
        self.transaction, self.reader, self.change = transaction, transaction.reader, change
        self.old = transaction.ring
        header, keys, random = self.reader.header, self.reader.keys, transaction.random
        self.has_new_epoch = change.rotation is not None or change.new_epoch or bool(change.regroup or change.remove)
        if self.has_new_epoch and any(slot.kind & EPOCH and slot.kind != SCOPED for slot in self.slots_before):
            # Such slots go with the old epoch, and could hold the keys of all groups.
            self.change = replace(change, regroup=set(self.old.keyring.groups))
        self.epoch = random(32) if self.has_new_epoch else header.epoch
        if self.has_new_epoch:
            keys = Keys.owners(header.vault, self.epoch, random(32) if change.rotation is not None else keys.vault_key)
        self.ring = Ring(self.old.keyring, keys, random, self.old.secrets)
        self.groups: dict[int, int] = {}
        self.renumber()

    @property
    def slots_before(self) -> list[Slot]:
        return self.reader.header.slots if self.change.slots is None else self.change.slots

    # Groups and compartments

    def renumber(self) -> None:
        """New numbers and keys for the groups that ask for them; compartments of devices are wrapped again."""
        old, ring = self.old.keyring, self.ring
        is_rotated = self.change.rotation is not None
        ring.keyring = replace(ring.keyring, groups={}, compartments={})
        for number, group in sorted(old.groups.items()):
            if number in self.change.regroup:
                self.groups[number] = ring.add_group(group.name, number=self.unused())
            else:
                self.groups[number] = ring.add_group(group.name, old.group_key(self.reader.keys, number), number)
        self.groups[OWNERS] = OWNERS
        for number, each in sorted(old.compartments.items()):
            is_kept = each.group not in self.change.regroup and not (is_rotated and each.group == OWNERS)
            if is_kept or not ring.can_open_device(each):
                moved = replace(each, group=self.groups[each.group])
                ring.wrap_again(moved, old.outer(self.reader.keys, number))

    def unused(self) -> int:
        """Not a number of the old file either (R-3.26)."""
        old = self.old.keyring
        while (number := self.ring.number()) in old.groups or number in old.compartments:
            pass
        return number

    def compartment(self, source: Any, number: int) -> int:
        """Where a record of an old compartment goes."""
        if number in self.ring.keyring.compartments:
            return number
        each = source.keyring.compartments[number]
        group = OWNERS if each.group == OWNERS else self.ring.group(source.keyring.groups[each.group].name)
        return self.ring.compartment(group, each.accessibility, each.device)

    # Records

    def move(self, shelf: Shelf, item: bytes, source: Any, place: Place) -> Place:
        """Copied unchanged but for the locator, or resealed under a new record revision."""
        target = self.compartment(source, place.compartment)
        if target != place.compartment:
            return shelf.seal(item, source.record_body(item, place, source.commit.offset), target)
        place.record.check(RECORD, source.header.body, source.commit.offset)
        frame: bytes = source.frame(place.record, RECORD)
        return shelf.copy(place, frame[:32] + self.ring.keys.locator(frame[8:32], place.identity(item)) + frame[64:])

    # Slots

    def slots(self) -> list[Slot]:
        contents = self.transaction.contents
        kept: list[Slot] = []
        if self.change.rotation is None:
            kept = [slot for each in self.slots_before if (slot := self.kept(each)) is not None]
        anew = {slot.id for slot, _ in self.change.rotation or []}
        for gone in sorted(contents.slots.keys() - {each.id for each in kept} - anew):
            del contents.slots[gone]
            self.transaction.dot()
        made = [self.rebuilt(slot, names) for slot, names in self.change.rotation or []]
        return kept + made + [new_slot(self.transaction, self.ring, slot, names) for slot, names in self.change.add]

    def rebuilt(self, new: NewSlot, names: list[bytes] | None) -> Slot:
        """By a rotation: one that was there keeps its id and its dots, but for what is granted or taken."""
        before = self.transaction.contents.slots.get(new.id)
        slot = new_slot(self.transaction, self.ring, new, names)
        if before is not None:
            made = self.transaction.contents.slots[slot.id]
            grants = {name: before.grants.get(name, dot) for name, dot in made.grants.items()}
            self.transaction.contents.slots[slot.id] = SlotState(before.made, made.changed, grants)
        return slot

    def kept(self, slot: Slot) -> Slot | None:
        """R-3.15, R-3.16."""
        if slot.id in self.change.remove or (self.has_new_epoch and slot.kind & EPOCH and slot.kind != SCOPED):
            return None
        if not self.has_new_epoch or slot.kind != SCOPED:
            return slot
        names = self.transaction.contents.slots[slot.id].grants
        numbers = [self.ring.group(name) for name in names]
        granted = {number: self.ring.group_key(number) for number in numbers}
        return regrant(self.ring.keys, slot, self.owner_part(slot), granted, self.transaction.random)

    def owner_part(self, slot: Slot) -> OwnerPart:
        return slot.open_owner_part(self.reader.keys)

    def file(self) -> bytes:
        reader, transaction, change = self.reader, self.transaction, self.change
        overs = hand_overs_of(reader) if change.hand_overs is None else change.hand_overs
        if change.rotation is not None:
            if change.restart:
                # Room for dots that become distinct without their ids.
                transaction.fresh.clock += len(dots_of(transaction.contents))
            dot = transaction.dot()
            rows = transaction.base.vector.encoded_rows()
            over = HandOver.make(reader.keys, rows, transaction.base.vector.floor, Reference(), self.ring.keys.public)
            overs = newest_hand_overs([*overs, (over, rows)])
            transaction.contents.key_dot = dot
        made = self.slots()
        if change.restart:
            transaction.contents = restarted(transaction.contents, transaction.own, transaction.contents.key_dot.revision - 1)
        header = reader.header
        raw = encode_header(header.vault, self.epoch, made, header.extensions, self.ring.keys.index, before=header.slots)
        return Rewriting(transaction, self.ring, self.move, overs).file(raw, reader.state, change.least)

