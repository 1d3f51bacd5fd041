"""What one side of a merge holds: section 8."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .anchors import Ancestry, commits
from .codec import Refused
from .conflict import Stamp
from .drafts import Content
from .frames import KEYRING, Place
from .items import MEANING, Attribute, Entry, Tombstone
from .keyring import Keyring
from .objects import State, Version
from .reader import Item, Reader, Value
from .rewrite import past


@dataclass
class Held:
    """A live or earlier value of an item, as one side has it."""

    id: bytes
    stamp: Stamp
    modified: int
    place: Place
    attributes: tuple[Attribute, ...]
    # None if it belongs to a device whose secret is not at hand.
    content: Content | None
    side: "Side"
    # Of an earlier value, when it ceased to be current.
    replaced: int = 0


@dataclass
class HeldItem(Held):
    key: bytes = b""
    created: int = 0
    versions: dict[Stamp, Held] = field(default_factory=dict)

    @property
    def values(self) -> dict[Stamp, Held]:
        return self.versions | {self.stamp: self}


@dataclass
class Side:
    reader: Reader
    items: dict[bytes, HeldItem] = field(default_factory=dict)
    tombstones: dict[bytes, tuple[Stamp, Stamp]] = field(default_factory=dict)

    def stamp(self, revision: int, position: int) -> Stamp:
        return revision, self.reader.keyring.device_id(position)

    @classmethod
    def of(cls, reader: Reader) -> "Side":
        side = cls(reader)
        for each in reader.walk():
            if isinstance(each, Tombstone):
                side.tombstones[each.item] = side.stamp(each.revision, each.device), side.stamp(each.last, each.last_device)
            else:
                side.items[each.entry.id] = side.item(each)
        return side

    def item(self, each: Item) -> HeldItem:
        if each.versions_reason:
            raise Refused(each.versions_reason, "earlier values that cannot be read")
        entry: Entry = each.entry
        content = self.content(each.live)
        item = HeldItem(
            entry.id, self.stamp(entry.revision, entry.device), entry.modified, entry.place, entry.attributes, content, self,
            key=each.key, created=entry.created,
        )  # fmt: skip
        for version, value in each.versions:
            held = self.version(entry.id, version, value)
            item.versions[held.stamp] = held
        return item

    def version(self, item: bytes, version: Version, value: Value) -> Held:
        stamp = self.stamp(version.revision, version.device)
        return Held(
            item, stamp, version.modified, version.place, version.attributes, self.content(value), self, version.replaced
        )

    def content(self, value: Value) -> Content | None:
        """None for what belongs to another device; `Refused` for what is damaged, since a merge loses nothing."""
        for reason in value.reasons:
            if reason != "device-bound":
                raise Refused(reason, "a value that cannot be read")
            return None
        assert value.record is not None
        compartment = self.reader.keyring.compartments[value.place.compartment]
        attributes = {each.name: (each.flags & MEANING, bytes_of(value, each)) for each in value.attributes}
        return Content(value.record.key, value.record.secret, attributes, compartment.accessibility, compartment.device)


def bytes_of(value: Value, attribute: Attribute) -> bytes:
    found = value.value(attribute)
    assert isinstance(found, bytes)
    return found


def states(reader: Reader) -> set[State]:
    """The state and its ancestors."""
    ancestry = Ancestry.of(reader)
    return {reader.state, *ancestry.in_file, *ancestry.in_history}


@dataclass
class Base:
    """The common ancestor of the greatest generation."""

    clock: int = 0
    # The greatest of all common ancestors.
    greatest_clock: int = 0
    # Its items, if its tree can be read in either file.
    side: Side | None = None
    # Whether every other common ancestor is one of its own: then nothing that both sides know is missing in its items.
    decides: bool = False

    def find(self, item: bytes) -> HeldItem | None:
        return self.side.items.get(item) if self.side else None


def base_of(ours: Reader, theirs: Reader) -> Base:
    shared = states(ours) & states(theirs)
    if not shared:
        return Base()
    state = min(shared, key=lambda each: (-each[0], each[1]))
    known = {(generation, chain): clock for each in (ours, theirs) for generation, chain, clock in past(each).ancestors}
    base = Base(known[state], max(known[each] for each in shared))
    for reader in (ours, theirs):
        try:
            for earlier in at(reader, state):
                base.side, base.decides = Side.of(earlier), shared <= states(earlier)
                return base
        except Refused:
            continue
    return base


def at(reader: Reader, state: State) -> Iterator[Reader]:
    """The file as it was in one of its states, if that is in the file and its keyring can be read."""
    for opened in commits(reader):
        if opened.state == state:
            earlier = object.__new__(Reader)
            earlier.__dict__ = reader.__dict__ | {"opened": opened, "commit": opened.commit, "state": state, "reached": {}}
            reference = earlier.commit.keyring
            body = reader.keys.unseal_at("keyring", reference.offset, reader.frame(reference, KEYRING))
            earlier.keyring = Keyring.decode(body)
            yield earlier
