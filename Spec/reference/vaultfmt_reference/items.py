"""Item keys, attributes, item entries and tombstones: section 6."""

from dataclasses import dataclass
from typing import Self

from .codec import (
    Cursor, Limit, ascending, at_most, counted, number_of, require, short, text, u8, u64, varint, zigzag,
)
from .frames import Place, Reference
from .keyring import Keyring

# Section 6.1

TOMBSTONE = 0x7E
CLASSES: dict[int, tuple[str, ...]] = {
    1: ("text", "text"),
    2: ("text", "text", "n32", "text", "text", "text", "text"),
    3: ("n32", "bytes", "bytes"),
    4: ("n32", "n32", "bytes", "bytes", "n32", "n32"),
    5: ("n32", "bytes", "bytes"),
}
RESERVED_CLASSES = range(6, 64)

Field = bytes | int


@dataclass(frozen=True)
class ItemKey:
    """An item key, taken apart. The fields are those before the group."""

    number: int
    fields: tuple[Field, ...]
    group: bytes = b""
    sync: bool = False

    def encode(self) -> bytes:
        out = u8(self.number)
        for field in (*self.fields, self.group):
            out += field.to_bytes(4, "big") if isinstance(field, int) else field.replace(b"\0", b"\0\xff") + b"\0\0"
        return out + u8(self.sync)

    @classmethod
    def decode(cls, key: bytes) -> Self:
        """R-6.1, R-6.2."""
        require(Limit.KEY_LEAST <= len(key) <= Limit.KEY, "an item key's length (R-6.1)")
        cursor = Cursor(key)
        number = cursor.number(1)
        require(number in CLASSES or number in RESERVED_CLASSES, "an entry of another kind (R-5.10)")
        fields: list[Field] = []
        if number in CLASSES:
            fields = [decode_field(cursor, kind) for kind in (*CLASSES[number], "text")]
        else:
            while cursor.rest > 1:
                fields.append(decode_field(cursor, "text"))
            require(1 <= len(fields) <= Limit.FIELDS, "the number of fields (section 6.1)")
        sync = cursor.number(1)
        require(sync <= 1, "an item key's sync is neither 0 nor 1")
        cursor.finish()
        group = fields[-1]
        assert isinstance(group, bytes)
        return cls(number, tuple(fields[:-1]), group, sync == 1)


def decode_field(cursor: Cursor, kind: str) -> Field:
    if kind == "n32":
        return int.from_bytes(cursor.take(4), "big")
    out = bytearray()
    while True:
        byte = cursor.number(1)
        if byte == 0:
            escape = cursor.number(1)
            if escape == 0:
                break
            require(escape == 0xFF, "a zero in a field is not escaped (R-6.1)")
        out.append(byte)
    at_most(len(out), Limit.FIELD, "a field of an item key")
    return text(bytes(out)) if kind == "text" else bytes(out)


# Section 6.2

SEALED, CONCEALED, BINARY = 0x01, 0x02, 0x04
MEANING = SEALED | CONCEALED | BINARY
IN_RECORD, OWN_RECORD = 0x10, 0x20


def place_of(flags: int, length: int) -> int:
    """Where a value has to be (R-6.3): 0 for the page."""
    if length > Limit.ATTRIBUTE_IN_RECORD:
        return OWN_RECORD
    return IN_RECORD if flags & SEALED or length > Limit.ATTRIBUTE_IN_PAGE else 0


def check_flags(flags: int) -> int:
    places = flags & (IN_RECORD | OWN_RECORD)
    require(flags & ~(MEANING | IN_RECORD | OWN_RECORD) == 0, "an attribute has a reserved flag (R-1.2)")
    require(places != IN_RECORD | OWN_RECORD, "an attribute is in two places (section 6.2)")
    return flags


@dataclass(frozen=True)
class Attribute:
    """As a page or versions frame has it: `value` if it is there, `place` if it has a record of its own, neither if it
    is in the item's record."""

    name: bytes
    flags: int
    value: bytes | None = None
    place: Place | None = None

    def encode(self) -> bytes:
        out = u8(self.flags) + short(self.name)
        if self.place is not None:
            return out + self.place.record.narrow() + self.place.tail()
        return out if self.value is None else out + counted(self.value)

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        flags = check_flags(cursor.number(1))
        name = attribute_name(cursor)
        if flags & OWN_RECORD:
            return cls(name, flags, None, Place.decode_tail(cursor, Reference.from_narrow(cursor)))
        if flags & IN_RECORD:
            return cls(name, flags)
        value = cursor.counted(Limit.ATTRIBUTE_IN_PAGE, "an attribute's value in a page")
        require(not flags & SEALED, "a sealed attribute is in a page (R-6.3)")
        return cls(name, flags, value)


def attribute_name(cursor: Cursor) -> bytes:
    name = text(cursor.take(cursor.number(1)))
    require(name != b"", "an attribute without a name")
    return name


def encode_attributes(attributes: tuple[Attribute, ...]) -> bytes:
    return varint(len(attributes)) + b"".join(each.encode() for each in attributes)


def decode_attributes(cursor: Cursor) -> tuple[Attribute, ...]:
    attributes = tuple(Attribute.decode(cursor) for _ in cursor.count(Limit.ATTRIBUTES, "an item's attributes"))
    ascending((each.name for each in attributes), "attributes (R-6.4)")
    return attributes


# The flags and values of those in an item's record, by name.
Recorded = dict[bytes, tuple[int, bytes]]


def encode_recorded(attributes: Recorded) -> bytes:
    each = (u8(flags) + short(name) + counted(value) for name, (flags, value) in sorted(attributes.items()))
    return varint(len(attributes)) + b"".join(each)


def decode_recorded(cursor: Cursor) -> Recorded:
    found = []
    for _ in cursor.count(Limit.ATTRIBUTES, "the attributes in a record"):
        flags, name = check_flags(cursor.number(1)), attribute_name(cursor)
        value = cursor.counted(Limit.ATTRIBUTE_IN_RECORD, "an attribute's value in an item's record")
        require(flags & ~MEANING == IN_RECORD == place_of(flags, len(value)), "an attribute is in the wrong place (R-6.3)")
        found.append((name, (flags, value)))
    ascending((name for name, _ in found), "attributes (R-6.4)")
    return dict(found)


# Section 6.3


@dataclass(frozen=True)
class Entry:
    """An item in a leaf."""

    place: Place
    id: bytes
    revision: int
    device: int
    created: int
    modified: int
    attributes: tuple[Attribute, ...]
    earlier: int = 0
    versions: Reference | None = None

    def encode(self) -> bytes:
        out = self.place.record.narrow() + self.id + u64(self.revision) + varint(self.device) + self.place.tail()
        out += zigzag(self.created) + zigzag(self.modified) + u8(self.earlier)
        out += self.versions.narrow() if self.versions else b""
        return out + encode_attributes(self.attributes)

    @classmethod
    def decode(cls, key: bytes, value: bytes, keyring: Keyring, clock: int) -> Self:
        """With the checks of an entry (R-6.1, R-6.3, R-6.4, R-6.6 to R-6.8)."""
        group = ItemKey.decode(key).group
        cursor = Cursor(value)
        record, item = Reference.from_narrow(cursor), cursor.take(16)
        revision, device = number_of(cursor.number(8), "a revision"), cursor.varint()
        place = Place.decode_tail(cursor, record)
        created, modified, earlier = cursor.zigzag(), cursor.zigzag(), cursor.number(1)
        at_most(earlier, Limit.VERSIONS, "an item's earlier values")
        versions = Reference.from_narrow(cursor) if earlier else None
        entry = cls(place, item, revision, device, created, modified, decode_attributes(cursor), earlier, versions)
        cursor.finish()
        require(max(revision, *(each.revision for each in entry.places)) <= clock, "a revision from the future (R-6.8)")
        require(device <= len(keyring.devices), "an item's device is not in the list (R-6.7)")
        for each in entry.places:
            require(keyring.group_name(each.compartment) == group, "a compartment of another group, or none (R-6.6)")
        return entry

    @property
    def places(self) -> list[Place]:
        """Its record, and those of its large attributes."""
        return [self.place, *(each.place for each in self.attributes if each.place)]


# Section 6.5


@dataclass(frozen=True)
class Tombstone:
    item: bytes
    # Of the removal.
    revision: int
    device: int
    # That the item had.
    last: int
    last_device: int = 0

    @property
    def key(self) -> bytes:
        return u8(TOMBSTONE) + self.item

    def encode(self) -> bytes:
        return u64(self.revision) + varint(self.device) + u64(self.last) + varint(self.last_device)

    @classmethod
    def decode(cls, key: bytes, value: bytes, keyring: Keyring, clock: int) -> Self:
        """R-6.14."""
        require(len(key) == 17, "a tombstone's key (R-6.14)")
        cursor = Cursor(value)
        revision, device = number_of(cursor.number(8), "a revision"), cursor.varint()
        last, last_device = number_of(cursor.number(8), "a revision"), cursor.varint()
        cursor.finish()
        require(last < revision <= clock, "a tombstone's revisions (R-6.8, R-6.14)")
        require(max(device, last_device) <= len(keyring.devices), "a tombstone's device is not in the list (R-6.7)")
        return cls(key[1:], revision, device, last, last_device)
