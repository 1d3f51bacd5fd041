"""What a whole state holds, as merging sees it: items, slots, settings, and what was forgotten, by dots."""

from dataclasses import dataclass, field, replace

from .dots import Dot, Vector
from .holding import ItemState, Named, decode_item
from .items import Entry, Forgotten, item_key, page_key
from .past import ATTRIBUTE_KIND, SECRET_FIELD, SECRET_KIND
from .reader import Reader
from .views import Viewing, whole_key_of


@dataclass(frozen=True)
class SlotState:
    """Of a slot: the change that made it, the last one of its name or factors, and its grants by the names of groups."""

    made: Dot
    changed: Dot
    grants: dict[bytes, Dot] = field(default_factory=dict)


@dataclass
class Contents:
    vector: Vector
    items: dict[bytes, ItemState]
    forgotten: set[Named]
    slots: dict[bytes, SlotState]
    limit: int
    limit_dot: Dot
    key_dot: Dot
    # By item id, the state of an item whose entry says so already, and the entry.
    written: dict[bytes, tuple[ItemState, Entry]] = field(default_factory=dict)
    # What each item is called, as far as it was asked for.
    keys: dict[bytes, tuple[int, ItemState | None, bytes]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, reader: Reader) -> "Contents":
        """Of an owner. `Refused` where anything but a record cannot be read."""
        vector, keyring = reader.vector, reader.keyring
        slots = {}
        for each in keyring.slots.values():
            grants = {keyring.groups[number].name: vector.dot(dot) for number, dot in each.grants.items()}
            slots[each.id] = SlotState(vector.dot(each.made), vector.dot(each.changed), grants)
        made = cls(
            vector.copy(), {}, set(), slots, keyring.limit, vector.dot(keyring.limit_dot), vector.dot(keyring.key_dot)
        )  # fmt: skip
        for key, value, page in reader.entries():
            made.add(reader, key, value, page)
        return made

    def add(self, reader: Reader, key: bytes, value: bytes, page: int) -> None:
        if is_forgotten(key):
            self.forgotten.add(named_of(Forgotten.decode(key, value, reader.commit.bounds)))
            return
        entry = reader.entry(key, value)
        past = reader.past(entry, page) if entry.past else None
        item = decode_item(key, entry, past, reader.keyring, reader.vector, reader)
        self.items[entry.id] = item
        self.written[entry.id] = item, entry

    def copy(self) -> "Contents":
        return replace(
            self, vector=self.vector.copy(), items=dict(self.items), forgotten=set(self.forgotten), slots=dict(self.slots),
            keys=dict(self.keys),
        )  # fmt: skip

    # Looking up

    def gone(self, item: ItemState) -> frozenset[Named]:
        return frozenset(item.names & self.forgotten) if self.forgotten else frozenset()

    def item_keys(self) -> dict[bytes, bytes]:
        """The item key that each item shows, by id."""
        return {number: self.item_key(item) for number, item in self.items.items()}

    def item_key(self, item: ItemState) -> bytes:
        """Each is made out once for as long as the item is the same, and nothing more is forgotten."""
        count, known, key = self.keys.get(item.id, (0, None, b""))
        if known is not item or count != len(self.forgotten):
            key = whole_key_of(Viewing(item, self.gone(item)))
            self.keys[item.id] = len(self.forgotten), item, key
        return key

    def page_keys(self) -> dict[bytes, bytes]:
        """Of several items with one key, the one with the least id has it plain."""
        plain: dict[bytes, bytes] = {}
        keys = self.item_keys()
        for number in sorted(keys):
            plain.setdefault(keys[number], number)
        return {number: page_key(key, b"" if plain[key] == number else number) for number, key in keys.items()}

    def find(self, key: bytes) -> bytes | None:
        """The id of an item, by its page key."""
        return next((number for number, each in self.page_keys().items() if each == key), None)

    def plain_keys(self) -> list[bytes]:
        return sorted(each for number, each in self.page_keys().items() if item_key(each, number)[1])


def is_forgotten(key: bytes) -> bool:
    return key[:1] == b"\x7e"


def named_of(each: Forgotten) -> Named:
    return (SECRET_FIELD if each.kind == SECRET_KIND else (ATTRIBUTE_KIND, each.name)), each.dot


def forgotten_of(named: Named) -> Forgotten:
    (kind, name), dot = named
    return Forgotten(kind, name, dot)

