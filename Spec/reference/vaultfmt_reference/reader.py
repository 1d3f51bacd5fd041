"""Opens a vault, and walks all that it holds. Every byte is checked before it is believed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .codec import NO_DEVICE, Refused, require, u32
from .crypto import NONCE, Keys, associated, hashed, is_same, unseal
from .factors import Factors, Policy
from .frames import HISTORY, KEYRING, PAGE, RECORD, VERSIONS, Place, Reference
from .header import Header
from .items import IN_RECORD, TOMBSTONE, Attribute, Entry, Recorded, Tombstone
from .keyring import Keyring
from .objects import AttributeRecord, History, ItemRecord, Page, State, Version, check_recorded, decode_versions
from .slots import OwnerPart, Slot, decode_grants, keys_of, open_slot
from .state import File, find_state

# Why something cannot be read that is no failure.
WITHHELD = ("no-key", "device-bound")


@dataclass
class Value:
    """A live or earlier value: its secret and attributes, or why they cannot be read."""

    place: Place
    attributes: tuple[Attribute, ...]
    # The item key in the record, the secret, and the values in the record; `reason` if they cannot be read.
    record: ItemRecord | None = None
    reason: str = ""
    # The values of large attributes, or why they cannot be read.
    large: dict[bytes, bytes | str] = field(default_factory=dict)

    def value(self, attribute: Attribute) -> bytes | str:
        """Of an attribute: its value, or why it cannot be read."""
        if attribute.value is not None:
            return attribute.value
        if attribute.place is not None:
            return self.large[attribute.name]
        return self.reason if self.record is None else self.record.attributes[attribute.name][1]

    @property
    def reasons(self) -> Iterator[str]:
        """In the order of the dump."""
        yield from (value for each in self.attributes if isinstance(value := self.value(each), str))
        if self.reason:
            yield self.reason


@dataclass
class Item:
    key: bytes
    entry: Entry
    live: Value
    versions: list[tuple[Version, Value]]
    # Why the earlier values cannot be listed.
    versions_reason: str = ""


class Reader(File):
    """A vault that was opened (section 7.1). `Refused` says why it was not."""

    slot: Slot

    def __init__(
        self,
        data: bytes,
        factors: Factors | None = None,
        devices: Mapping[bytes, bytes] | None = None,
        policy: Policy | None = None,
        owner: bytes | None = None,
        vault_key: bytes = b"",
    ) -> None:
        """`devices` are secrets by id. `vault_key` opens without a slot, for a writer that has it."""
        header = Header.decode(data)
        if factors is not None:
            self.slot, payload = open_slot(header.vault, header.slots, factors, policy or Policy())
            keys = keys_of(self.slot, header.vault, header.epoch, payload)
        else:
            keys = Keys.owners(header.vault, header.epoch, vault_key)
        super().__init__(data, header, keys)
        self.devices = dict(devices or {})
        # The frames that were read, by offset.
        self.reached: dict[int, int] = {}
        header.check_mac(keys.index)
        require(owner in (None, keys.public), "another owners' public key than the caller's (section 7.2)", "foreign")
        found = find_state(self)
        self.opened, self.commit, self.tail = found.opened, found.commit, found.tail
        self.state: State = found.opened.state
        body = keys.unseal_at("keyring", self.commit.keyring.offset, self.frame(self.commit.keyring, KEYRING))
        self.keyring = Keyring.decode(body)
        self.keyring.check_against({slot.id for slot in header.slots}, self.commit.clock)

    # Slots, for owners

    def owner_part(self, slot: Slot) -> OwnerPart:
        part = slot.open_owner_part(self.keys)
        require(part.revision <= self.commit.clock, "a slot's revision is from the future (R-6.8)")
        return part

    def grants(self, slot: Slot, part: OwnerPart) -> dict[int, bytes]:
        """What a scoped slot grants, whether its factors are known or not."""
        return decode_grants(slot.open_payload(self.header.vault, part.wrapping_key))[2]

    # Frames

    def frame(self, reference: Reference, tag: bytes) -> bytes:
        """The second half of R-2.3: `check` was called on the reference."""
        frame = self.data[reference.offset : reference.end]
        require(is_same(hashed(frame), reference.hash), f"the hash of what is at {reference.offset}", "authentication-failed")
        require(frame[:8] == tag + u32(reference.length), f"no {tag.decode()} of that length at {reference.offset} (R-2.3)")
        self.reached[reference.offset] = reference.length
        return frame

    def history(self) -> History | None:
        """With R-5.16."""
        commit, history = self.commit, None
        if not commit.history.is_absent:
            history = History.decode(self.keys.unseal_at("history", commit.history.offset, self.frame(commit.history, HISTORY)))
            require(all(each[0] < commit.generation for each in history.ancestors), "an ancestor's generation (R-5.16)")
        if commit.start == self.header.body and commit.generation > 1:
            is_named = history is not None and (commit.before, commit.chain_before) in history.states
            require(is_named, "the history does not contain the predecessor (R-5.16)")
        return history

    # The tree

    def page(self, reference: Reference, level: int) -> Page:
        return Page.decode(self.keys.unseal_at("page", reference.offset, self.frame(reference, PAGE)), level)

    def entries(self) -> Iterator[tuple[bytes, bytes, int]]:
        """Each key with its value and the offset of its page, in order."""
        if not self.commit.root.is_absent:
            yield from self.subtree(self.commit.root, self.commit.level, b"", None)

    def subtree(self, reference: Reference, level: int, low: bytes, high: bytes | None) -> Iterator[tuple[bytes, bytes, int]]:
        page = self.page(reference, level)
        is_within = all(low <= key and (high is None or key < high) for key in page.keys)
        require(is_within, "a key outside of what the separators above allow (R-5.8)")
        if level == 0:
            yield from ((key, value, reference.offset) for key, value in zip(page.keys, page.values, strict=True))
            return
        for child, first, last in zip(page.children, [low, *page.keys], [*page.keys, high], strict=True):
            child.check(PAGE, self.header.body, reference.offset)
            yield from self.subtree(child, level - 1, first, last)

    def walk(self) -> Iterator[Item | Tombstone]:
        """Everything that the tree holds, with secrets, in the order of keys."""
        items = tombstones = earlier = 0
        ids: tuple[set[bytes], set[bytes]] = set(), set()
        for key, value, page in self.entries():
            if key[0] == TOMBSTONE:
                tombstones += 1
                tombstone = Tombstone.decode(key, value, self.keyring, self.commit.clock)
                ids[1].add(tombstone.item)
                yield tombstone
                continue
            entry = Entry.decode(key, value, self.keyring, self.commit.clock)
            items, earlier = items + 1, earlier + entry.earlier
            ids[0].add(entry.id)
            yield self.item(key, entry, page)
        require(not ids[0] & ids[1], "an id is both an item's and a tombstone's (R-6.14)")
        counts = self.commit.items, self.commit.tombstones, self.commit.earlier
        require((items, tombstones, earlier) == counts, "the commit states other numbers (R-5.25)")

    # Items

    def item(self, key: bytes, entry: Entry, page: int) -> Item:
        """`page` is the offset before which its records and versions have to end."""
        item = Item(key, entry, self.value(entry.id, entry.place, entry.attributes, page, key), [])
        if entry.versions is not None:
            try:
                item.versions = [
                    (version, self.value(entry.id, version.place, version.attributes, entry.versions.offset))
                    for version in self.versions(entry, page)
                ]
            except Refused as refused:
                item.versions_reason = refused.verdict
        return item

    def versions(self, entry: Entry, page: int) -> list[Version]:
        if not self.keys.is_owner:
            raise Refused("no-key", "earlier values are the owners' (R-6.13)")
        return self.open_versions(entry, page)

    def open_versions(self, entry: Entry, page: int) -> list[Version]:
        reference = entry.versions
        assert reference is not None
        reference.check(VERSIONS, self.header.body, page)
        body = self.keys.unseal_at("versions", reference.offset, self.frame(reference, VERSIONS))
        item, versions = decode_versions(body, self.keyring, self.commit.clock)
        require((item, len(versions)) == (entry.id, entry.earlier), "versions of another item, or another number of them (R-5.13)")
        shared = [each.place for each in entry.attributes if each.place]
        for version in versions:
            is_before = version.revision < entry.revision or (version.revision == entry.revision and version.device != entry.device)
            require(is_before, "a version is as new as its item (R-5.13)")
            own, *large = version.places
            for place in (own, *(each for each in large if each not in shared)):
                is_for_owners = self.keyring.is_for_owners(place.compartment)
                require(is_for_owners, "a version in a compartment that is not the owners' (R-6.6)")
        return versions

    def value(self, item: bytes, place: Place, attributes: tuple[Attribute, ...], before: int, key: bytes | None = None) -> Value:
        """`key` is what a live item's record has to hold (R-5.3)."""
        value = Value(place, attributes)
        try:
            value.record = self.item_record(item, place, before)
            require(key in (None, value.record.key), "a record of another item (R-5.3)")
            check_recorded(attributes, value.record.attributes)
        except Refused as refused:
            value.record, value.reason = None, refused.verdict
        for each in attributes:
            if each.place is not None:
                value.large[each.name] = self.large(item, each, before)
        return value

    def large(self, item: bytes, attribute: Attribute, before: int) -> bytes | str:
        assert attribute.place is not None
        try:
            record = AttributeRecord.decode(self.record_body(item, attribute.place, before))
            require((record.name, record.flags) == (attribute.name, attribute.flags), "an attribute's record of another (R-6.5)")
        except Refused as refused:
            return refused.verdict
        return record.value

    def item_record(self, item: bytes, place: Place, before: int) -> ItemRecord:
        return ItemRecord.decode(self.record_body(item, place, before))

    def record_body(self, item: bytes, place: Place, before: int) -> bytes:
        place.record.check(RECORD, self.header.body, before)
        frame = self.frame(place.record, RECORD)
        key = self.keyring.compartment_key(self.keys, place.compartment, self.devices)
        return open_record(self.keys.vault, key, item, place, frame)


def open_record(vault: bytes, key: bytes, item: bytes, place: Place, frame: bytes) -> bytes:
    bound = associated("record", vault, place.identity(item), frame)
    return unseal(key, frame[8 : 8 + NONCE], bound, frame[64:], f"the record at {place.record.offset}")


def recorded(attributes: tuple[Attribute, ...], value: Value) -> Recorded:
    """The attributes that are in the record."""
    assert value.record is not None
    return {each.name: value.record.attributes[each.name] for each in attributes if each.flags & IN_RECORD}


def device_of(keyring: Keyring, position: int) -> bytes:
    return keyring.devices[position - 1] if position else NO_DEVICE
