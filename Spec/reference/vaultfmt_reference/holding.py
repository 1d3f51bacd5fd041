"""An item as merging sees it: siblings, open values, and what each value is (section 6.4). No file has to be at hand."""

from dataclasses import dataclass, field, replace
from typing import Any

from .dots import Dot, Vector
from .frames import Place
from .items import FIRST_ATTRIBUTE, IN_RECORD, KEY, OWN_RECORD, PLACE, SEALED, SECRET, Attribute, Entry, ItemKey, item_key
from .keyring import Keyring
from .past import (
    ATTRIBUTE_KIND,
    EARLIER,
    GONE,
    KEY_FIELD,
    OPEN,
    PLACE_FIELD,
    SECRET_FIELD,
    SECRET_KIND,
    SHOWN,
    Field,
    Past,
    PastValue,
    Where,
)

# A value is named by its field and its dot.
Named = tuple[Field, Dot]


@dataclass(frozen=True)
class Held:
    """A value that an item has. Either its bytes are at hand, or `place` says where `source` has them."""

    # Of an attribute, with its place (section 6.2).
    flags: int = 0
    value: bytes | None = None
    where: Where | None = None
    place: Place | None = None
    # The reader of the file that has the records.
    source: Any = field(default=None, compare=False, repr=False)
    # Plain ones, that a secret had, by name.
    attributes: "tuple[tuple[bytes, Held], ...]" = ()
    replaced: int = 0
    # Whether its record is under a compartment with a device: then nobody compares it.
    is_bound: bool = False
    # Bytes are not kept of a value that was forgotten.
    is_gone: bool = False

    def is_protected(self, field: Field) -> bool:
        return field[0] == SECRET_KIND or (field[0] == ATTRIBUTE_KIND and self.flags & SEALED != 0)

    @property
    def is_recorded(self) -> bool:
        """Of an attribute: whether it is in a record."""
        return self.flags & (SEALED | IN_RECORD | OWN_RECORD) != 0


@dataclass(frozen=True)
class WholeRecord:
    """A record that an entry refers to, and everything that is in it."""

    source: Any
    place: Place
    content: frozenset[Named]


@dataclass(frozen=True)
class Sibling:
    """The item as one change left it."""

    fields: dict[Field, Dot]
    earlier: frozenset[Named] = frozenset()
    created: int = 0
    modified: int = 0

    @property
    def named(self) -> list[Named]:
        return list(self.fields.items())


@dataclass(frozen=True)
class ItemState:
    id: bytes
    siblings: dict[Dot, Sibling]
    open: frozenset[Named]
    values: dict[Named, Held]
    # The records that entries of it refer to, each with all that is in it.
    records: tuple["WholeRecord", ...] = field(default=(), compare=False)

    @property
    def created(self) -> int:
        return min(each.created for each in self.siblings.values())

    @property
    def modified(self) -> int:
        return max(each.modified for each in self.siblings.values())

    def where(self, sibling: Sibling) -> Where:
        found = self.values[PLACE_FIELD, sibling.fields[PLACE_FIELD]].where
        assert found is not None
        return found

    @property
    def names(self) -> set[Named]:
        """Of all values that the item has."""
        held = {named for each in self.siblings.values() for named in (*each.named, *each.earlier)}
        return held | self.open

    def pruned(self) -> "ItemState":
        """Without contents that nothing has any more."""
        return replace(self, values={named: self.values[named] for named in self.names})


def sync_key(key: bytes) -> bytes:
    """The field *key*: all of an item key but its group."""
    return replace(ItemKey.decode(key), group=b"").encode()


def whole_key(key: bytes, group: bytes) -> bytes:
    return replace(ItemKey.decode(key), group=group).encode()


# From what is stored


def shown_values(key: bytes, entry: Entry, keyring: Keyring, vector: Vector, source: object) -> dict[Named, Held]:
    """Of each field that the entry has."""
    compartment = keyring.compartments[entry.place.compartment]
    named = item_key(key, entry.id)[0]
    where = Where(keyring.groups[compartment.group].name, compartment.accessibility, compartment.device)
    is_bound = compartment.is_bound
    found: dict[Named, Held] = {
        (KEY_FIELD, vector.dot(entry.dot_of(KEY))): Held(value=sync_key(named)),
        (PLACE_FIELD, vector.dot(entry.dot_of(PLACE))): Held(where=where),
    }
    if entry.has_secret:
        secret = Held(place=entry.place, source=source, is_bound=is_bound)
        found[SECRET_FIELD, vector.dot(entry.dot_of(SECRET))] = secret
    for number, each in enumerate(entry.attributes, FIRST_ATTRIBUTE):
        there = each.place or (entry.place if each.flags & IN_RECORD else None)
        held = Held(each.flags, each.value, None, there, source, is_bound=is_bound and there is not None)
        found[(ATTRIBUTE_KIND, each.name), vector.dot(entry.dot_of(number))] = held
    return found


def past_value(value: PastValue, keyring: Keyring, source: object) -> Held:
    if value.flags & GONE:
        return Held(value.attribute, is_gone=True)
    there = value.place
    bound = there is not None and keyring.compartments[there.compartment].is_bound
    content = value.value if there is None and value.where is None else None
    attributes = tuple((each.name, attribute_held(each, there, keyring, source)) for each in value.attributes)
    return Held(value.attribute, content, value.where, there, source, attributes, replaced=value.replaced, is_bound=bound)


def attribute_held(each: Attribute, there: Place | None, keyring: Keyring, source: object) -> Held:
    """Of those that a secret had."""
    place = each.place or (there if each.flags & IN_RECORD else None)
    bound = place is not None and keyring.compartments[place.compartment].is_bound
    return Held(each.flags, each.value, None, place, source, is_bound=bound)


def decode_item(
    key: bytes, entry: Entry, past: Past | None, keyring: Keyring, vector: Vector, source: object = None
) -> ItemState:
    """An item from its entry and its past."""
    values = shown_values(key, entry, keyring, vector, source)
    shown, dot, records = frozenset(values), vector.dot(entry.dot), tuple[WholeRecord, ...]()
    for place in entry.places:
        content = frozenset(named for named, each in values.items() if each.place == place)
        records += (WholeRecord(source, place, content),)
    if past is None or not past.siblings:
        kept = {(each.field, vector.dot(each.dot)): each for each in past.values} if past else {}
        values |= {named: past_value(each, keyring, source) for named, each in kept.items()}
        earlier = frozenset(named for named, each in kept.items() if each.flags & EARLIER)
        opened = shown | {named for named, each in kept.items() if each.flags & OPEN}
        sibling = Sibling(dict(shown), earlier, entry.created, entry.modified)
        return ItemState(entry.id, {dot: sibling}, opened, values, records)
    names = [(each.field, vector.dot(each.dot)) for each in past.values]
    for named, each in zip(names, past.values, strict=True):
        if not each.flags & SHOWN:
            values[named] = past_value(each, keyring, source)
    siblings = {
        vector.dot(each.dot): Sibling(
            dict(names[number] for number in each.fields), frozenset(names[number] for number in each.earlier), each.created,
            each.modified,
        )  # fmt: skip
        for each in past.siblings
    }
    opened = frozenset(named for named, each in zip(names, past.values, strict=True) if each.flags & OPEN)
    return ItemState(entry.id, siblings, opened, values, records)

