"""Item keys, attributes, item entries and forgotten values: section 6."""

from dataclasses import dataclass, replace
from typing import Self

from .codec import Cursor, Limit, ascending, at_most, bitmap, counted, number_of, require, short, text, time_of, u8, varint, zigzag
from .dots import Bounds, Dot, Stored, Vector
from .frames import Place, Reference
from .keyring import Keyring

# Section 6.1

FORGOTTEN = 0x7E
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


# Of an item whose key another one has plain, in the last byte of the key: its id follows.
TWIN = 2
ID = 16


def page_key(key: bytes, twin: bytes = b"") -> bytes:
    """The key of an item's entry: its item key, or that of the item of this id whose key another one has plain."""
    return key[:-1] + u8(key[-1] | TWIN) + twin if twin else key


def item_key(key: bytes, item: bytes) -> tuple[bytes, bool]:
    """The item key of an entry, and whether the item has it plain (R-6.15)."""
    is_twin = len(key) > ID and key[-ID:] == item and key[-ID - 1] in (TWIN, TWIN | 1)
    return (key[: -ID - 1] + u8(key[-ID - 1] & 1), False) if is_twin else (key, True)


# Which of the text and bytes fields shows that another item has the key; of the reserved classes the first.
SUFFIXED = {1: 1, 2: 4, 3: 2, 4: 3, 5: 2}


def listed_key(key: bytes, item: bytes, is_plain: bool) -> ItemKey:
    """As a program lists it: the suffix is never stored."""
    decoded = ItemKey.decode(key)
    if is_plain:
        return decoded
    fields, at = list(decoded.fields), SUFFIXED.get(decoded.number, 0)
    suffix = b" (conflict " + item[:4].hex().encode() + b")"
    if at >= len(fields):  # Of the reserved classes, one whose only field is the group.
        return decoded
    value = fields[at]
    assert isinstance(value, bytes)
    fields[at] = value + suffix
    return replace(decoded, fields=tuple(fields))


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
    """As a page or past has it: `value` if it is there, `place` if it has a record of its own, neither if it
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

KEY, PLACE, SECRET, FIRST_ATTRIBUTE = 0, 1, 2, 3
HAS_DOTS, TO_SETTLE, HAS_PAST, NO_SECRET = 1, 2, 4, 8


@dataclass(frozen=True)
class Entry:
    """An item in a leaf. Its fields are numbered: key, place, secret, then the attributes."""

    place: Place
    id: bytes
    dot: Stored
    created: int
    modified: int
    attributes: tuple[Attribute, ...]
    to_settle: bool = False
    has_secret: bool = True
    past: Reference | None = None
    # Dots that the entry's dot does not stand for, each with its fields.
    further: tuple[tuple[Stored, tuple[int, ...]], ...] = ()

    def encode(self) -> bytes:
        flags = (self.further != ()) * HAS_DOTS | self.to_settle * TO_SETTLE | (self.past is not None) * HAS_PAST
        flags |= (not self.has_secret) * NO_SECRET
        out = self.place.record.narrow() + self.id + self.dot.encode() + self.place.tail()
        out += zigzag(self.created - self.least.time) + zigzag(self.modified - self.dot.time) + u8(flags)
        out += self.past.narrow() if self.past else b""
        return out + encode_attributes(self.attributes) + self.encode_dots()

    def encode_dots(self) -> bytes:
        out = u8(len(self.further)) if self.further else b""
        for dot, fields in self.further:
            out += varint(self.dot.revision - dot.revision) + varint(dot.position) + bitmap(fields, self.field_count)
        return out

    @classmethod
    def decode(cls, key: bytes, value: bytes, keyring: Keyring, bounds: Bounds) -> Self:
        """With the checks of an entry that take no vector (R-6.1, R-6.3, R-6.4, R-6.6, R-6.8, R-6.15 to R-6.18)."""
        cursor = Cursor(value)
        record, item = Reference.from_narrow(cursor), cursor.take(16)
        group = ItemKey.decode(item_key(key, item)[0]).group
        dot, place = Stored.decode(cursor), decode_place(cursor, record)
        created, modified, flags = cursor.zigzag(), cursor.zigzag(), cursor.number(1)
        require(flags <= 15, "an item's reserved flags (R-1.2)")
        past = Reference.from_narrow(cursor) if flags & HAS_PAST else None
        attributes = decode_attributes(cursor)
        further: tuple[tuple[Stored, tuple[int, ...]], ...] = ()
        if flags & HAS_DOTS:
            further = decode_dots(cursor, dot, FIRST_ATTRIBUTE + len(attributes))
        cursor.finish()
        to_settle, has_secret = flags & TO_SETTLE != 0, flags & NO_SECRET == 0
        entry = cls(place, item, dot, 0, modified, attributes, to_settle, has_secret, past, further)
        entry = replace(entry, created=time_of(created + entry.least.time), modified=time_of(modified + dot.time))
        entry.check(group, keyring, bounds)
        return entry

    def check(self, group: bytes, keyring: Keyring, bounds: Bounds) -> None:
        require(not self.to_settle or self.past is not None, "something to settle, and no past (R-6.17)")
        bounds.check([self.dot, *(dot for dot, _ in self.further)])
        is_without = not any(SECRET in fields for _, fields in self.further)
        require(self.has_secret or is_without, "the dot of a secret that the item does not have (R-6.16)")
        is_needed = self.has_secret or any(each.flags & IN_RECORD for each in self.attributes)
        require(self.has_record == is_needed, "an item without the record that it needs, or with one that it does not (R-6.17)")
        for each in self.places:
            require(each.revision <= bounds.clock, "a revision from the future (R-6.8)")
        for each in (self.place, *self.places):
            require(keyring.group_name(each.compartment) == group, "a compartment of another group, or none (R-6.6)")

    @property
    def has_record(self) -> bool:
        return not self.place.record.is_absent

    @property
    def places(self) -> list[Place]:
        """Its record, and those of its large attributes."""
        return [self.place] * self.has_record + [each.place for each in self.attributes if each.place]

    @property
    def field_count(self) -> int:
        return FIRST_ATTRIBUTE + len(self.attributes)

    @property
    def least(self) -> Stored:
        """The least dot in this entry."""
        return min([self.dot, *(dot for dot, _ in self.further)])

    def dot_of(self, number: int) -> Stored:
        """Of a field's value."""
        return next((dot for dot, fields in self.further if number in fields), self.dot)


def decode_place(cursor: Cursor, record: Reference) -> Place:
    """The record's revision is 0 where there is no record."""
    place = Place(record, cursor.number(8), cursor.number(8))
    if record.is_absent:
        require(place.revision == 0, "a record revision without a record")
        return place
    number_of(place.revision, "a record revision")
    return place


def decode_dots(cursor: Cursor, dot: Stored, count: int) -> tuple[tuple[Stored, tuple[int, ...]], ...]:
    """R-6.16."""
    number = at_most(cursor.number(1), Limit.FIELD_DOTS, "the further dots of an item")
    require(number > 0, "field dots that are none (R-6.16)")
    further, taken, order = [], set[int](), []
    for _ in range(number):
        difference, position, fields = cursor.varint(), cursor.varint(), cursor.bitmap(count)
        require(difference < dot.revision, "a field's dot is out of range (R-6.16)")
        require((difference, position) != (0, dot.position), "a further dot that is the entry's (R-6.16)")
        require(fields != [] and not taken & set(fields), "a dot without a field, or a field with two (R-6.16)")
        taken |= set(fields)
        order.append((difference, position))
        further.append((Stored(dot.revision - difference, position), tuple(fields)))
    ascending(order, "an item's field dots (R-6.16)")
    return tuple(further)


# Section 6.5


@dataclass(frozen=True)
class Forgotten:
    """A value that was forgotten: of a secret (kind 0) or of the attribute of that name (kind 1)."""

    kind: int
    name: bytes
    dot: Dot

    @property
    def key(self) -> bytes:
        revision, replica = (number.to_bytes(8, "big") for number in self.dot)
        return u8(FORGOTTEN) + revision + replica + u8(self.kind) + self.name

    @classmethod
    def decode(cls, key: bytes, value: bytes, bounds: Bounds) -> Self:
        """R-6.14."""
        cursor = Cursor(key[1:])
        dot = Dot(number_of(int.from_bytes(cursor.take(8), "big"), "a revision"), int.from_bytes(cursor.take(8), "big"))
        kind, name = cursor.number(1), text(cursor.take(cursor.rest))
        require(value == b"" and kind <= 1 and (kind == 1) == (name != b"") and len(name) <= 255, "a forgotten value's form (R-6.14)")
        require(dot.revision <= bounds.clock, "a revision from the future (R-6.8)")
        require((dot.replica == 0) == (dot.revision <= bounds.floor), "a forgotten value's replica id (R-6.14)")
        return cls(kind, name, dot)

    def check(self, vector: Vector) -> None:
        require(vector.has_seen(self.dot), "a dot that the state has not seen (R-6.7)")
