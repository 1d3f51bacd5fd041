"""Opens a vault, and walks all that it holds. Every byte is checked before it is believed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .codec import Refused, require, u32
from .crypto import NONCE, Keys, associated, hashed, is_same, unseal
from .dots import Vector, VectorFrame, read_rows, vector_of, with_own
from .factors import Factors, Policy
from .frames import KEYRING, PAGE, PAST, RECORD, VECTOR, Place, Reference
from .header import Header
from .items import FORGOTTEN, IN_RECORD, Attribute, Entry, Forgotten, Recorded, item_key
from .keyring import HandOver, Keyring
from .objects import AttributeRecord, ItemRecord, Page, State, check_recorded
from .past import GONE, SECRET_KIND, Past, PastValue
from .slots import OwnerPart, Slot, decode_grants, keys_of, open_slot
from .state import File, find_state

# Why something cannot be read that is no failure.
WITHHELD = ("no-key", "device-bound")


@dataclass
class Value:
    """A shown or an earlier value: its secret and attributes, or why they cannot be read."""

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
class Kept:
    """A value in a past: its bytes, or why they cannot be read. Of a secret, the attributes of its time are in `whole`."""

    value: PastValue
    content: bytes | None = None
    reason: str = ""
    whole: Value | None = None

    @property
    def reasons(self) -> Iterator[str]:
        if self.whole is not None:
            yield from self.whole.reasons
        elif self.reason:
            yield self.reason


@dataclass
class Item:
    key: bytes
    entry: Entry
    live: Value
    past: Past | None = None
    kept: list[Kept] = field(default_factory=list)
    # Why the past cannot be read.
    past_reason: str = ""

    @property
    def item_key(self) -> bytes:
        return item_key(self.key, self.entry.id)[0]

    @property
    def is_plain(self) -> bool:
        return item_key(self.key, self.entry.id)[1]


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
        self.keyring.check_against({slot.id: slot.kind for slot in header.slots}, self.commit.bounds)

    # Slots, for owners

    def owner_part(self, slot: Slot) -> OwnerPart:
        return slot.open_owner_part(self.keys)

    def grants(self, slot: Slot, part: OwnerPart) -> dict[int, bytes]:
        """What a scoped slot grants, whether its factors are known or not (R-3.15)."""
        granted = decode_grants(slot.open_payload(self.header.vault, part.wrapping_key))[2]
        require(granted.keys() == self.keyring.slots[slot.id].grants.keys(), "a slot has other groups than the keyring says (R-3.15)")
        return granted

    # Frames

    def frame(self, reference: Reference, tag: bytes) -> bytes:
        """The second half of R-2.3: `check` was called on the reference."""
        frame = self.data[reference.offset : reference.end]
        require(is_same(hashed(frame), reference.hash), f"the hash of what is at {reference.offset}", "authentication-failed")
        require(frame[:8] == tag + u32(reference.length), f"no {tag.decode()} of that length at {reference.offset} (R-2.3)")
        self.reached[reference.offset] = reference.length
        return frame

    # What the state has seen

    def open_vector(self, reference: Reference, before: int) -> bytes:
        reference.check(VECTOR, self.header.body, before)
        return self.keys.unseal_at("vector", reference.offset, self.frame(reference, VECTOR))

    @cached_property
    def vector_frame(self) -> tuple[Vector, VectorFrame]:
        """The rows of the frame that the commit refers to, and how it has them."""
        rows, frame = read_rows(self.commit.vector, self.commit.offset, self.commit.floor, self.open_vector)
        return vector_of(rows, self.commit.floor), frame

    @cached_property
    def vector(self) -> Vector:
        """The state's, with R-5.33 to R-5.35, and R-6.7 of the keyring."""
        vector = with_own(self.vector_frame[0], self.commit.own, self.commit.clock)
        for each in self.keyring.dots:
            vector.dot(each)
        return vector

    def hand_over_rows(self, over: HandOver) -> list[tuple[int, int]]:
        """As they are encoded."""
        return read_rows(over.vector, self.commit.keyring.offset, over.floor, self.open_vector)[0]

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

    def walk(self) -> Iterator[Item | Forgotten]:
        """Everything that the tree holds, with secrets, in the order of keys."""
        items = pasts = 0
        plain: dict[bytes, bytes] = {}
        there, gone, forgotten = set[tuple[int, bytes, object]](), set[tuple[int, bytes, object]](), set[tuple[int, bytes, object]]()
        is_whole = self.keys.is_owner
        for key, value, page in self.entries():
            if key[0] == FORGOTTEN:
                listed = Forgotten.decode(key, value, self.commit.bounds)
                listed.check(self.vector)
                forgotten.add((listed.kind, listed.name, listed.dot))
                yield listed
                continue
            entry = self.entry(key, value)
            whole, is_plain = item_key(key, entry.id)
            require(is_plain or plain.get(whole, entry.id) < entry.id, "a key that no item has plain before this one (R-6.15)")
            if is_plain:
                plain[whole] = entry.id
            items, pasts = items + 1, pasts + (entry.past is not None)
            item = self.item(key, entry, page)
            there |= self.names(item)
            gone |= {(*each.field, self.vector.dot(each.dot)) for each in (item.past.values if item.past else []) if each.flags & GONE}
            is_whole = is_whole and item.past_reason == ""
            yield item
        counts = self.commit.items, self.commit.forgotten, self.commit.pasts
        require((items, len(forgotten), pasts) == counts, "the commit states other numbers (R-5.25)")
        require(not is_whole or (gone <= forgotten and not there & forgotten), "a value that was forgotten, or was not (R-6.19)")

    def names(self, item: Item) -> set[tuple[int, bytes, object]]:
        """Of the values whose bytes an item still has."""
        entry, values = item.entry, item.past.values if item.past else []
        found = {(1, each.name, self.vector.dot(entry.dot_of(number))) for number, each in enumerate(entry.attributes, 3)}
        if entry.has_secret:
            found.add((0, b"", self.vector.dot(entry.dot_of(2))))
        return found | {(*each.field, self.vector.dot(each.dot)) for each in values if not each.flags & GONE}

    # Items

    def entry(self, key: bytes, value: bytes) -> Entry:
        entry = Entry.decode(key, value, self.keyring, self.commit.bounds)
        for each in (entry.dot, *(dot for dot, _ in entry.further)):
            self.vector.dot(each)
        return entry

    def item(self, key: bytes, entry: Entry, page: int) -> Item:
        """`page` is the offset before which its records and its past have to end."""
        item = Item(key, entry, self.value(entry.id, entry.place, entry.attributes, page, entry.has_secret))
        if entry.past is not None:
            try:
                item.past = self.past(entry, page)
                assert entry.past is not None
                item.kept = [self.kept(entry.id, each, entry.past.offset) for each in item.past.values]
            except Refused as refused:
                item.past, item.past_reason = None, refused.verdict
        return item

    def past(self, entry: Entry, page: int) -> Past:
        if not self.keys.is_owner:
            raise Refused("no-key", "what an item keeps besides what it shows is the owners' (R-6.13)")
        reference = entry.past
        assert reference is not None
        reference.check(PAST, self.header.body, page)
        past = Past.decode(self.keys.unseal_at("past", reference.offset, self.frame(reference, PAST)))
        past.check(entry, self.keyring, self.commit.bounds)
        for each in past.dots:
            self.vector.dot(each)
        return past

    def kept(self, item: bytes, value: PastValue, before: int) -> Kept:
        """A value of a past, with R-5.30."""
        kept = Kept(value)
        if value.place is None:
            kept.content = value.where.encode() if value.where else value.value if value.has_content else None
            return kept
        if value.field[0] == SECRET_KIND:
            kept.whole = self.value(item, value.place, value.attributes, before, is_part=True)
            kept.content, kept.reason = kept.whole.record.secret if kept.whole.record else None, kept.whole.reason
            return kept
        try:
            kept.content = self.attribute_content(item, value.field[1], value.attribute, value.place, before)
        except Refused as refused:
            kept.reason = refused.verdict
        return kept

    def attribute_content(self, item: bytes, name: bytes, flags: int, place: Place, before: int) -> bytes:
        if not flags & IN_RECORD:
            found = self.large(item, Attribute(name, flags, None, place), before)
            if isinstance(found, str):
                raise Refused(found, "an attribute's record")
            return found
        record = self.item_record(item, place, before)
        require(record.attributes.get(name, (0, b""))[0] == flags, "a record without the attribute that it is for (R-5.30)")
        return record.attributes[name][1]

    def value(
        self, item: bytes, place: Place, attributes: tuple[Attribute, ...], before: int, has_secret: bool = True, is_part: bool = False
    ) -> Value:
        """`is_part` is for a secret of a past: its record can hold further attributes (R-5.30)."""
        value = Value(place, attributes)
        try:
            # Only what an item shows can lack a record; a past's reference to none is malformed.
            if place.record.is_absent and not is_part:
                value.record = ItemRecord(b"", b"", {})
            else:
                value.record = self.item_record(item, place, before)
                may_have_more = is_part or self.keyring.compartments[place.compartment].is_bound
                require(has_secret or may_have_more or value.record.secret == b"", "the secret of an item that has none (R-6.17)")
                check_recorded(attributes, value.record.attributes, may_have_more)
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
