"""Makes new files: fresh vaults, and the replacements of section 7.4."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .anchors import commits
from .codec import NO_DEVICE, Extension, Limit, require
from .crypto import NONCE, Keys
from .drafts import Content, Draft, Now, Revisions, Shelf
from .frames import HISTORY, KEYRING, RECORD, VERSIONS, Place, Reference
from .header import Header, encode_header
from .items import Tombstone
from .keyring import OWNERS, HandOver, Keyring
from .objects import Ancestor, History, Page, State, encode_versions
from .output import Output, needs_signature
from .reader import Reader
from .ring import Random, Ring
from .slots import EPOCH, FULL, SCOPED, NewSlot, OwnerPart, Slot, regrant, reseal_owner_part
from .tree import Changes, changed, write
from .writer import Transaction, core_of, folded

TOMBSTONE_DAYS = 180


class Rewriting:
    """A file in which everything is written again: records, versions, pages, keyring and history, and one commit."""

    def __init__(self, keys: Keys, ring: Ring, revisions: Revisions, random: Random, device: bytes = NO_DEVICE) -> None:
        self.keys, self.ring, self.revisions, self.random, self.device = keys, ring, revisions, random, device
        self.shelf = Shelf(ring, revisions)
        self.contents: dict[bytes, Draft | Tombstone] = {}

    def slot(self, new: NewSlot) -> Slot:
        grants = {number: self.ring.group_key(number) for number in new.grants or []}
        return new.seal(self.keys, grants, self.revisions.next(), self.device, self.random)

    def file(
        self, raw_header: bytes, before: State = (0, bytes(32)), history: History | None = None, least: int = 0, horizon: int = 0
    ) -> bytes:
        output = Output(raw_header + raw_header, self.keys, self.random)
        header = Header.decode(raw_header + raw_header + bytes(Limit.AFTER_HEADER))
        where = self.shelf.append(output, is_sorted=True)
        drafts = [each for each in self.contents.values() if isinstance(each, Draft)]
        for draft in sorted(drafts, key=lambda draft: draft.id):
            draft.placed(where)
            if draft.versions:
                draft.written = output.append_sealed("versions", VERSIONS, encode_versions(draft.id, draft.versions))
        values: Changes = {
            key: each.entry().encode() if isinstance(each, Draft) else each.encode() for key, each in self.contents.items()
        }
        root = changed(None, values, load_nothing)
        if root is not None:
            write(root, output.append_page)
        keyring = output.append_sealed("keyring", KEYRING, self.ring.keyring.encode())
        named = output.append_sealed("history", HISTORY, history.encode()) if history else Reference()
        core = core_of(self.contents, (root, load_nothing), keyring, named, header)
        generation = max(before[0], least) + 1
        core = replace(
            core, generation=generation, before=before[0], chain_before=before[1], clock=max(1, self.revisions.clock), horizon=horizon
        )
        return output.commit(core, needs_signature(header), is_synced=True)


def load_nothing(_reference: Reference, _level: int) -> Page:
    raise AssertionError("every page of a new file is at hand")


# Fresh vaults


@dataclass
class NewVault:
    """A scoped slot's groups are given by name, next to it; None for a full slot."""

    slots: list[tuple[NewSlot, list[bytes] | None]]
    items: list[Content] = field(default_factory=list)
    groups: list[bytes] = field(default_factory=list)
    # Secrets by id, and which of them makes the vault.
    devices: dict[bytes, bytes] = field(default_factory=dict)
    device: bytes = NO_DEVICE
    keep: int = 0
    header_extensions: list[Extension] = field(default_factory=list)
    keyring_extensions: list[Extension] = field(default_factory=list)


def create(new: NewVault, random: Random, now: Now) -> bytes:
    epoch = random(32)
    keys = Keys.owners(random(16), epoch, random(32))
    ring = Ring(Keyring(keep=new.keep, extensions=new.keyring_extensions), keys, random, new.devices)
    making = Rewriting(keys, ring, Revisions(0, now), random, new.device)
    for name in new.groups:
        ring.group(name)
    for content in new.items:
        item = random(16)
        place, attributes = making.shelf.seal_content(item, content)
        revision = making.revisions.next()
        making.contents[content.key] = Draft(content.key, item, revision, ring.position(new.device), place, attributes, now(), now())
    slots = [
        making.slot(replace(slot, grants=None if names is None else [ring.group(name) for name in names])) for slot, names in new.slots
    ]
    return making.file(encode_header(keys.vault, epoch, slots, new.header_extensions, keys.index))


# The past of a file that is replaced


def past(reader: Reader) -> History:
    """All ancestors of the state that follows, in the order in which they became ancestors (R-5.17)."""
    walked = list(commits(reader))
    require(walked[-1].start == reader.header.body, "what is before a commit cannot be read", "authentication-failed")
    known: dict[Ancestor, None] = {}
    floor, last = 1, Reference()
    clock = 0
    for opened in reversed(walked):
        commit, is_first = opened.commit, opened is walked[-1]
        if not is_first:
            known.setdefault((*opened.before, clock))
        clock = commit.clock
        if not commit.history.is_absent and commit.history != last:
            last = commit.history
            history = History.decode(reader.keys.unseal_at("history", last.offset, reader.frame(last, HISTORY)))
            floor = max(floor, history.floor)
            came = len(history.ancestors) if is_first else history.newest
            for ancestor in history.ancestors[len(history.ancestors) - came :]:
                known.setdefault(ancestor)
    return folded(floor, list(known), [(*reader.state, reader.commit.clock)])


# Replacements that keep the contents


@dataclass
class Change:
    """What a replacement changes. Groups are numbers of the old file."""

    # Make the vault key anew, with these slots; nothing else of the old header stays.
    rotation: list[tuple[NewSlot, list[bytes] | None]] | None = None
    # Groups that get new numbers and keys; with them comes a new epoch.
    regroup: set[int] = field(default_factory=set)
    # What scoped slots grant from now on, by slot id; the others keep what they have.
    grants: dict[bytes, list[int]] = field(default_factory=dict)
    remove: set[bytes] = field(default_factory=set)
    add: list[NewSlot] = field(default_factory=list)
    # A merge: what it made of the contents, and the other branch.
    merge: "Merge | None" = None


@dataclass
class Merge:
    """A merge that changes the header (section 8)."""

    transaction: Transaction
    # The other branch's states since the base, its floor, its generation and its horizon.
    states: list[Ancestor]
    floor: int
    generation: int
    horizon: int
    # The slots that remain, scoped ones with the names of the groups that they grant.
    slots: list[tuple[Slot, OwnerPart | None, list[bytes]]]


def compact(reader: Reader, random: Random, now: Now, device: bytes = NO_DEVICE) -> bytes:
    return rewrite(reader, Change(), random, now, device)


def grant(reader: Reader, slot: bytes, groups: Iterable[bytes], random: Random, now: Now, device: bytes = NO_DEVICE) -> bytes:
    """What a scoped slot grants from now on, by the names of groups (R-3.27)."""
    found = next(each for each in reader.header.slots if each.id == slot)
    had = set(reader.grants(found, reader.owner_part(found)))
    named = (reader.keyring.group_named(name) for name in groups)
    wanted = {group.number for group in named if group}
    return rewrite(reader, Change(regroup=had ^ wanted, grants={slot: sorted(wanted)}), random, now, device)


def add_scoped(reader: Reader, new: NewSlot, groups: Iterable[bytes], random: Random, now: Now, device: bytes = NO_DEVICE) -> bytes:
    named = (reader.keyring.group_named(name) for name in groups)
    numbers = sorted(group.number for group in named if group)
    return rewrite(reader, Change(regroup=set(numbers), add=[replace(new, grants=numbers)]), random, now, device)


def remove_slot(reader: Reader, slot: bytes, random: Random, now: Now, device: bytes = NO_DEVICE) -> bytes:
    """Of a known full slot, only the header changes; of any other, R-3.27."""
    found = next(each for each in reader.header.slots if each.id == slot)
    if found.kind == FULL:
        return rekey(reader, [each for each in reader.header.slots if each.id != slot], random, now, device)
    lost = set(reader.grants(found, reader.owner_part(found))) if found.kind == SCOPED else set(reader.keyring.groups)
    return rewrite(reader, Change(regroup=lost, remove={slot}), random, now, device)


def rotate(
    reader: Reader, slots: list[tuple[NewSlot, list[bytes] | None]], random: Random, now: Now, device: bytes = NO_DEVICE
) -> bytes:
    """R-7.17. Slots that stay are made anew under the ids that they have; the others are removed."""
    return rewrite(reader, Change(rotation=slots, regroup=set(reader.keyring.groups)), random, now, device)


def rekey(
    reader: Reader, slots: list[Slot], random: Random, now: Now, device: bytes = NO_DEVICE, renamed: dict[bytes, bytes] | None = None
) -> bytes:
    """Other slots or names, the keys unchanged: the body is copied, and a commit appended that belongs to the new header."""
    transaction = Transaction(reader, random, now, device)
    ring, revisions = transaction.ring, transaction.revisions
    for each in reader.header.slots:
        if each.id not in {slot.id for slot in slots}:
            ring.keyring.removed[each.id] = revisions.next()
    for index, each in enumerate(slots):
        if each.id in (renamed or {}):
            part = replace(reader.owner_part(each), name=(renamed or {})[each.id], revision=revisions.next(), device=device)
            slots[index] = reseal_owner_part(reader.keys, each, part, random(NONCE))
    header = reader.header
    raw = encode_header(header.vault, header.epoch, slots, header.extensions, reader.keys.index, header.length)
    if len(raw) != header.length:
        return rewrite(reader, Change(), random, now, device, slots)
    # The commit is made on a copy that has the new header already.
    copied = object.__new__(Reader)
    copied.__dict__ = reader.__dict__ | {"header": replace(header, slots=slots, raw=raw), "data": raw + raw + reader.data[header.body :]}
    transaction.reader = copied
    return transaction.commit(is_synced=True)


def rewrite(
    reader: Reader, change: Change, random: Random, now: Now, device: bytes = NO_DEVICE, slots: list[Slot] | None = None
) -> bytes:
    return Replacement(reader, change, random, now, device).file(slots)


class Replacement:
    """One pass over a vault that writes all of it again."""

    def __init__(self, reader: Reader, change: Change, random: Random, now: Now, device: bytes) -> None:
        self.reader, self.change, self.now, self.random = reader, change, now, random
        self.old = change.merge.transaction if change.merge else Transaction(reader, random, now, device)
        self.keyring = self.old.ring.keyring
        header, keys = reader.header, reader.keys
        self.has_new_epoch = change.rotation is not None or bool(change.regroup or change.remove)
        if self.has_new_epoch and any(slot.kind & EPOCH and slot.kind != SCOPED for slot in header.slots):
            # Such slots go with the old epoch, and could hold the keys of all groups.
            self.change = replace(change, regroup=set(self.keyring.groups))
        self.epoch = random(32) if self.has_new_epoch else header.epoch
        if self.has_new_epoch:
            keys = Keys.owners(header.vault, self.epoch, random(32) if change.rotation is not None else keys.vault_key)
        ring = Ring(self.keyring, keys, random, reader.devices)
        self.making = Rewriting(keys, ring, self.old.revisions, random, device)
        self.groups: dict[int, int] = {}
        self.renumber()

    # Groups and compartments

    def renumber(self) -> None:
        """New numbers and keys for the groups that ask for them; compartments of devices are wrapped again."""
        old, ring = self.keyring, self.making.ring
        is_rotated = self.change.rotation is not None
        ring.keyring = replace(ring.keyring, groups={}, compartments={})
        for number, group in sorted(old.groups.items()):
            if number in self.change.regroup:
                # A merge can have two groups of one name here.
                there = ring.keyring.group_named(group.name)
                self.groups[number] = there.number if there else ring.add_group(group.name, number=self.unused())
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
        old = self.keyring
        while (number := self.making.ring.number()) in old.groups or number in old.compartments:
            pass
        return number

    def compartment(self, number: int) -> int:
        """Where a record of an old compartment goes."""
        kept, each = self.making.ring.keyring.compartments, self.keyring.compartments[number]
        return number if number in kept else self.making.ring.compartment(self.groups[each.group], each.accessibility, each.device)

    # Records

    def move(self, item: bytes, place: Place) -> Place:
        """Copied unchanged but for the locator, or resealed under a new record revision."""
        reader, shelf = self.reader, self.making.shelf
        target = self.compartment(place.compartment)
        if target != place.compartment:
            return shelf.seal(item, self.old.body(item, place), target)
        frame = self.old.shelf.frames.get(place.record.hash)
        if frame is None:
            place.record.check(RECORD, reader.header.body, reader.commit.offset)
            frame = reader.frame(place.record, RECORD)
        locator = self.making.keys.locator(frame[8:32], place.identity(item))
        return shelf.copy(place, frame[:32] + locator + frame[64:])

    def move_all(self) -> None:
        moved: dict[Place, Place] = {}
        self.horizon = max(self.reader.commit.horizon, self.change.merge.horizon if self.change.merge else 0)
        for key, each in self.old.everything().items():
            if isinstance(each, Tombstone):
                if (each.revision >> 16) + TOMBSTONE_DAYS * 86_400_000 < self.now():
                    self.horizon = max(self.horizon, each.revision + 1)
                else:
                    self.making.contents[key] = each
                continue
            keep = self.keyring.keep
            draft = replace(each, versions=each.versions[-keep:] if keep else [], written=None)
            for place in draft.places:
                if place not in moved:
                    moved[place] = self.move(draft.id, place)
            draft.placed(moved.__getitem__)
            self.making.contents[key] = draft

    # Slots

    def slots(self) -> list[Slot]:
        if self.change.merge is not None:
            return [slot for each in self.change.merge.slots if (slot := self.merged(*each)) is not None]
        kept: list[Slot] = []
        if self.change.rotation is None:
            kept = [slot for each in self.reader.header.slots if (slot := self.kept(each)) is not None]
        anew = {slot.id for slot, _ in self.change.rotation or []}
        removed = {each.id for each in self.reader.header.slots} - {each.id for each in kept} - anew
        for gone in sorted(removed):
            self.making.ring.keyring.removed[gone] = self.making.revisions.next()
        ring = self.making.ring
        rotation = [
            replace(slot, grants=None if names is None else [ring.group(name) for name in names])
            for slot, names in self.change.rotation or []
        ]
        added = [replace(slot, grants=[self.groups[number] for number in slot.grants or []]) for slot in self.change.add]
        return kept + [self.making.slot(each) for each in rotation + added]

    def kept(self, slot: Slot) -> Slot | None:
        """R-3.15, R-3.16."""
        if slot.id in self.change.remove or (self.has_new_epoch and slot.kind & EPOCH and slot.kind != SCOPED):
            return None
        if not self.has_new_epoch or slot.kind != SCOPED:
            return slot
        part = self.reader.owner_part(slot)
        old = self.reader.grants(slot, part)
        if slot.id in self.change.grants:
            part = replace(part, revision=self.making.revisions.next(), device=self.making.device)
        numbers = self.change.grants.get(slot.id, [each for each in old if each in self.groups])
        granted = {self.groups[number]: self.making.ring.group_key(self.groups[number]) for number in numbers}
        return regrant(self.making.keys, slot, part, granted, self.random)

    def merged(self, slot: Slot, part: OwnerPart | None, names: list[bytes]) -> Slot | None:
        if not self.has_new_epoch or slot.kind != SCOPED or part is None:
            if not (self.has_new_epoch and slot.kind & EPOCH):
                return slot
            self.making.ring.keyring.removed[slot.id] = self.making.revisions.next()
            return None
        groups = [group for name in names if (group := self.making.ring.keyring.group_named(name))]
        granted = {group.number: self.making.ring.group_key(group.number) for group in groups}
        return regrant(self.making.keys, slot, part, granted, self.random)

    def file(self, slots: list[Slot] | None = None) -> bytes:
        self.move_all()
        reader, making = self.reader, self.making
        made = self.slots() if slots is None else slots
        if self.change.rotation is not None:
            over = HandOver.make(reader.keys, *reader.state, making.keys.public)
            overs = [*self.keyring.hand_overs, over][-Limit.HAND_OVERS :]
            making.ring.keyring = replace(making.ring.keyring, hand_overs=overs)
        header = reader.header
        raw = encode_header(header.vault, self.epoch, made, header.extensions, making.keys.index)
        history, merge = past(reader), self.change.merge
        if merge is not None:
            history = folded(max(history.floor, merge.floor), history.ancestors, merge.states)
        return making.file(raw, reader.state, history, merge.generation if merge else 0, self.horizon)
