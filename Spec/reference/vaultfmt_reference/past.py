"""What an item keeps besides what it shows: section 5.3."""

from dataclasses import dataclass
from typing import NamedTuple, Self

from .codec import NO_DEVICE, Cursor, Limit, ascending, bitmap, counted, require, short, text, time_of, u8, varint, zigzag
from .dots import Bounds, Stored
from .frames import Place, Reference
from .items import (
    FIRST_ATTRIBUTE,
    IN_RECORD,
    KEY,
    OWN_RECORD,
    PLACE,
    SEALED,
    SECRET,
    Attribute,
    Entry,
    ItemKey,
    attribute_name,
    check_flags,
    decode_attributes,
    encode_attributes,
)
from .keyring import THIS_DEVICE, Keyring

# A field: its kind, and the name of an attribute.
SECRET_KIND, ATTRIBUTE_KIND, KEY_KIND, PLACE_KIND = 0, 1, 2, 3
Field = tuple[int, bytes]
SECRET_FIELD, KEY_FIELD, PLACE_FIELD = (SECRET_KIND, b""), (KEY_KIND, b""), (PLACE_KIND, b"")

OPEN, EARLIER, SHOWN, GONE = 1, 2, 4, 8


class Where(NamedTuple):
    """The place of an item, as one value: who can read it."""

    group: bytes
    accessibility: int
    device: bytes = NO_DEVICE

    @property
    def is_bound(self) -> bool:
        return self.device != NO_DEVICE

    def encode(self) -> bytes:
        return counted(self.group) + u8(self.accessibility) + self.device

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        where = cls(text(cursor.counted(Limit.FIELD, "a group's name")), cursor.number(1), cursor.take(16))
        require(1 <= where.accessibility <= 7, "a place's accessibility (R-5.30)")
        require(where.is_bound == (where.accessibility >= THIS_DEVICE), "a place's device (R-5.30)")
        return where


@dataclass(frozen=True)
class PastValue:
    """One value of one field. Which of the last five it has follows from its kind, its flags, and those of the attribute."""

    field: Field
    dot: Stored
    flags: int
    # Of an attribute (section 6.2).
    attribute: int = 0
    replaced: int = 0
    place: Place | None = None
    # That a secret had.
    attributes: tuple[Attribute, ...] = ()
    # Of an attribute in the frame, or a key.
    value: bytes = b""
    where: Where | None = None

    @property
    def order(self) -> tuple[int, bytes, Stored]:
        return *self.field, self.dot

    @property
    def is_protected(self) -> bool:
        return self.field[0] == SECRET_KIND or (self.field[0] == ATTRIBUTE_KIND and self.attribute & SEALED != 0)

    @property
    def has_content(self) -> bool:
        return not self.flags & (SHOWN | GONE)

    @property
    def places(self) -> list[Place]:
        return [each for each in (self.place, *(one.place for one in self.attributes)) if each is not None]

    def encode(self, index: int) -> bytes:
        kind, name = self.field
        out = varint(index) + u8(kind) + u8(self.flags)
        if kind == ATTRIBUTE_KIND:
            out += u8(self.attribute) + short(name)
        if not self.has_content:
            return out
        out += zigzag(self.replaced)
        if self.place is not None:
            out += self.place.record.narrow() + self.place.tail()
            return out + (encode_attributes(self.attributes) if kind == SECRET_KIND else b"")
        return out + (self.where.encode() if self.where else counted(self.value))

    @classmethod
    def decode(cls, cursor: Cursor, dots: list[Stored], used: set[int]) -> Self:
        """R-5.28, R-5.30."""
        index, kind, flags = at_index(cursor, dots, used), cursor.number(1), cursor.number(1)
        require(kind <= PLACE_KIND, "a value of an unknown kind")
        require(flags <= 15 and flags & (EARLIER | SHOWN | GONE) in (0, EARLIER, SHOWN, GONE), "a value's flags (R-5.28)")
        attribute, name = 0, b""
        if kind == ATTRIBUTE_KIND:
            attribute, name = check_flags(cursor.number(1)), attribute_name(cursor)
            require(not attribute & SEALED or attribute & (IN_RECORD | OWN_RECORD) != 0, "a sealed attribute without a record (R-6.3)")
        value = cls((kind, name), dots[index], flags, attribute)
        require(value.is_protected or not flags & (EARLIER | GONE), "a plain value that is earlier, or forgotten (R-5.28)")
        return value.decode_content(cursor) if value.has_content else value

    def decode_content(self, cursor: Cursor) -> Self:
        made, kind = {**self.__dict__, "replaced": time_of(cursor.zigzag())}, self.field[0]
        require(made["replaced"] == 0 or not self.flags & OPEN, "an open value that was replaced (R-5.28)")
        if kind == SECRET_KIND:
            made["place"] = Place.decode_tail(cursor, Reference.from_narrow(cursor))
            made["attributes"] = decode_attributes(cursor)
            require(not any(each.flags & SEALED for each in made["attributes"]), "a sealed attribute next to a secret")
        elif kind == ATTRIBUTE_KIND and self.attribute & (IN_RECORD | OWN_RECORD):
            made["place"] = Place.decode_tail(cursor, Reference.from_narrow(cursor))
        elif kind == ATTRIBUTE_KIND:
            made["value"] = cursor.counted(Limit.ATTRIBUTE_IN_PAGE, "an attribute's value in a past")
        elif kind == KEY_KIND:
            made["value"] = cursor.counted(Limit.KEY, "an item key")
            require(ItemKey.decode(made["value"]).group == b"", "a key with a group (R-5.30)")
        else:
            made["where"] = Where.decode(cursor)
        return type(self)(**made)


@dataclass(frozen=True)
class PastSibling:
    """`fields` and `earlier` are indices of values."""

    dot: Stored
    created: int
    modified: int
    fields: tuple[int, ...]
    earlier: tuple[int, ...]

    def encode(self, index: int, count: int) -> bytes:
        out = varint(index) + zigzag(self.created - self.dot.time) + zigzag(self.modified - self.dot.time)
        return out + bitmap(self.fields, count) + bitmap(self.earlier, count)

    @classmethod
    def decode(cls, cursor: Cursor, dots: list[Stored], used: set[int], values: list[PastValue]) -> Self:
        dot = dots[at_index(cursor, dots, used)]
        times = cursor.time_after(dot.time), cursor.time_after(dot.time)
        sibling = cls(dot, *times, tuple(cursor.bitmap(len(values))), tuple(cursor.bitmap(len(values))))
        fields = [values[number].field for number in sibling.fields]
        require(len(set(fields)) == len(fields), "a sibling with two values of one field (R-5.29)")
        require(KEY_FIELD in fields and PLACE_FIELD in fields, "a sibling without key or place (R-5.29)")
        earlier = [values[number] for number in sibling.earlier]
        are_good = all(each.is_protected and not each.flags & GONE for each in earlier)
        require(are_good and not set(sibling.fields) & set(sibling.earlier), "a sibling's earlier values (R-5.29)")
        return sibling


def at_index(cursor: Cursor, dots: list[Stored], used: set[int]) -> int:
    index = cursor.varint()
    require(index < len(dots), "a dot that is not in the list (R-5.27)")
    used.add(index)
    return index


@dataclass(frozen=True)
class Past:
    item: bytes
    values: list[PastValue]
    siblings: list[PastSibling]

    @property
    def places(self) -> list[Place]:
        return [place for value in self.values for place in value.places]

    @property
    def dots(self) -> list[Stored]:
        return sorted({each.dot for each in self.values} | {each.dot for each in self.siblings})

    def encode(self) -> bytes:
        dots = self.dots
        out = self.item + varint(len(dots)) + b"".join(each.encode() for each in dots) + varint(len(self.values))
        out += b"".join(each.encode(dots.index(each.dot)) for each in self.values) + varint(len(self.siblings))
        out += b"".join(each.encode(dots.index(each.dot), len(self.values)) for each in self.siblings)
        return out

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """With what the frame alone shows of R-5.27 to R-5.30."""
        cursor, used = Cursor(body), set[int]()
        item = cursor.take(16)
        dots = [Stored.decode(cursor) for _ in cursor.count(Limit.PAST_DOTS, "the dots of a past")]
        ascending(dots, "the dots of a past (R-5.27)")
        values = [PastValue.decode(cursor, dots, used) for _ in cursor.count(Limit.PAST_VALUES, "the values of a past")]
        ascending((each.order for each in values), "the values of a past (R-5.27)")
        siblings = [PastSibling.decode(cursor, dots, used, values) for _ in cursor.count(Limit.SIBLINGS, "the siblings of an item")]
        ascending((each.dot for each in siblings), "siblings (R-5.27)")
        pad = -(cursor.position + 48) % 256
        require(cursor.rest == pad, "padded to another length than the content requires (R-5.11)")
        cursor.reserved(pad)
        require(len(used) == len(dots), "a dot that nothing has (R-5.27)")
        require(values != [], "a past without values")
        past = cls(item, values, siblings)
        past.check_flags()
        return past

    def check_flags(self) -> None:
        if not self.siblings:
            are_kept = all(each.flags & (OPEN | EARLIER) and not each.flags & SHOWN for each in self.values)
            require(are_kept, "a value that is neither open nor earlier (R-5.28)")
            return
        require(not any(each.flags & EARLIER for each in self.values), "an earlier value of no sibling (R-5.29)")
        held = {number for each in self.siblings for number in (*each.fields, *each.earlier)}
        are_held = all(each.flags & OPEN or number in held for number, each in enumerate(self.values))
        require(are_held, "a value that nobody has (R-5.29)")

    def check(self, entry: Entry, keyring: Keyring, bounds: Bounds) -> None:
        """What takes the entry to check: R-5.26, R-5.28, R-5.29, R-6.6, R-6.8."""
        require(self.item == entry.id, "the past of another item (R-5.26)")
        bounds.check(self.dots)
        fields = entry_fields(entry)
        shown = {(each.field, each.dot, each.attribute) for each in self.values if each.flags & SHOWN}
        if self.siblings:
            require(shown == fields, "the values that the entry has are others (R-5.29)")
            require(entry.dot == self.siblings[-1].dot, "the entry's dot (R-5.29)")
            times = min(each.created for each in self.siblings), max(each.modified for each in self.siblings)
            require(times == (entry.created, entry.modified), "the entry's times (R-5.29)")
            require(not self.is_simple(shown), "siblings that need not be listed (R-5.29)")
        names = {(field, dot) for field, dot, _ in fields}
        are_others = not any((each.field, each.dot) in names for each in self.values if not each.flags & SHOWN)
        require(are_others, "a value that the entry has (R-5.28)")
        self.check_records(entry, keyring, bounds)

    def is_simple(self, shown: set[tuple[Field, Stored, int]]) -> bool:
        """Whether there is one sibling, and all that it has is shown and open."""
        first = [self.values[number] for number in self.siblings[0].fields]
        return len(self.siblings) == 1 and len(first) == len(shown) and all(each.flags == SHOWN | OPEN for each in first)

    def check_records(self, entry: Entry, keyring: Keyring, bounds: Bounds) -> None:
        shared = [each.place for each in entry.attributes if each.place]
        for value in self.values:
            for place in value.places:
                require(place.revision <= bounds.clock, "a revision from the future (R-6.8)")
                is_own = place == value.place and not value.attribute & OWN_RECORD
                is_good = keyring.is_for_owners(place.compartment) or (not is_own and place in shared)
                require(is_good, "a past has a record in a compartment that is not the owners' (R-6.6)")


def entry_fields(entry: Entry) -> set[tuple[Field, Stored, int]]:
    """Of each field that an entry has, its dot, and an attribute's flags."""
    fields = [(KEY_FIELD, entry.dot_of(KEY), 0), (PLACE_FIELD, entry.dot_of(PLACE), 0)]
    if entry.has_secret:
        fields.append((SECRET_FIELD, entry.dot_of(SECRET), 0))
    for number, each in enumerate(entry.attributes, FIRST_ATTRIBUTE):
        fields.append(((ATTRIBUTE_KIND, each.name), entry.dot_of(number), each.flags))
    return set(fields)


