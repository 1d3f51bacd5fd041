"""What a writer makes of an item: its records, sealed and not yet in the file, and its entry."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

from .codec import NO_DEVICE, is_step, require, u32
from .crypto import NONCE, associated, hashed, seal
from .frames import Place, Reference
from .items import IN_RECORD, OWN_RECORD, SEALED, Attribute, Entry, ItemKey, place_of
from .objects import AttributeRecord, ItemRecord, Version
from .output import Output
from .ring import Ring

Attributes = dict[bytes, tuple[int, bytes]]
Now = Callable[[], int]


class Revisions:
    """R-1.8."""

    def __init__(self, clock: int, now: Now) -> None:
        self.clock, self.now = clock, now

    def next(self) -> int:
        self.clock = max(self.now() << 16, self.clock + 1)
        require(self.clock < 1 << 63, "the clock is at its end (R-1.8)", "limit")
        return self.clock


@dataclass(frozen=True)
class Content:
    """What an item is, as its user sees it. Flags are those with a meaning (01, 02, 04)."""

    key: bytes
    secret: bytes = b""
    attributes: Attributes = field(default_factory=dict)
    accessibility: int = 1
    device: bytes = NO_DEVICE

    @property
    def sealed(self) -> Attributes:
        return {name: (flags, value) for name, (flags, value) in self.attributes.items() if flags & SEALED}

    @property
    def recorded(self) -> Attributes:
        """Those in the item's record."""
        placed = {name: (flags, place_of(flags, len(value)), value) for name, (flags, value) in self.attributes.items()}
        return {name: (flags | place, value) for name, (flags, place, value) in placed.items() if place == IN_RECORD}

    @property
    def record(self) -> bytes:
        return ItemRecord(self.key, self.secret, self.recorded).encode()


@dataclass
class Draft:
    """An item's entry, while it is being made."""

    key: bytes
    id: bytes
    revision: int
    device: int
    place: Place
    attributes: tuple[Attribute, ...]
    created: int
    modified: int
    versions: list[Version] = field(default_factory=list)
    # Where the versions are written, if they did not change.
    written: Reference | None = None

    @classmethod
    def of(cls, key: bytes, entry: Entry, versions: list[Version]) -> Self:
        return cls(
            key, entry.id, entry.revision, entry.device, entry.place, entry.attributes, entry.created, entry.modified, versions,
            entry.versions,
        )  # fmt: skip

    @property
    def places(self) -> list[Place]:
        live = [self.place, *(each.place for each in self.attributes if each.place)]
        return live + [place for version in self.versions for place in version.places]

    def placed(self, where: Callable[[Place], Place]) -> None:
        """With all references to records replaced."""

        def moved(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
            return tuple(replace(each, place=where(each.place)) if each.place else each for each in attributes)

        self.place, self.attributes = where(self.place), moved(self.attributes)
        self.versions = [replace(each, place=where(each.place), attributes=moved(each.attributes)) for each in self.versions]

    def entry(self) -> Entry:
        return Entry(
            self.place, self.id, self.revision, self.device, self.created, self.modified, self.attributes, len(self.versions),
            self.written if self.versions else None,
        )  # fmt: skip


class Shelf:
    """Records that were sealed and are not in the file yet, by hash; a place's offset is 0 until then."""

    def __init__(self, ring: Ring, revisions: Revisions) -> None:
        self.ring, self.revisions, self.frames = ring, revisions, dict[bytes, bytes]()

    def seal(self, item: bytes, body: bytes, compartment: int) -> Place:
        assert is_step(len(body))
        place = Place(Reference(0, len(body) + 80), self.revisions.next(), compartment)
        nonce, vault = self.ring.random(NONCE), self.ring.keys.vault
        head = b"vREC" + u32(place.record.length)
        sealed = seal(self.ring.key(compartment), nonce, associated("record", vault, place.identity(item), head), body)
        return self.copy(place, head + nonce + self.ring.keys.locator(nonce, place.identity(item)) + sealed)

    def copy(self, place: Place, frame: bytes) -> Place:
        """A record that was sealed before."""
        self.frames[hashed(frame)] = frame
        return replace(place, record=Reference(0, len(frame), hashed(frame)))

    def append(self, output: Output, is_sorted: bool = False) -> Callable[[Place], Place]:
        """Writes them, by nonce if the file is compacted (R-7.16); then tells where each place is."""
        frames = sorted(self.frames.items(), key=lambda each: each[1][8:32]) if is_sorted else self.frames.items()
        written = {of_hash: output.append(frame) for of_hash, frame in frames}
        return lambda place: replace(place, record=written.get(place.record.hash, place.record))

    def seal_content(
        self, item: bytes, content: Content, old: Draft | None = None, before: Content | None = None
    ) -> tuple[Place, tuple[Attribute, ...]]:
        """The content's record and attributes. What `old` has of them already is kept."""
        group = self.ring.group(ItemKey.decode(content.key).group)
        compartment = self.ring.compartment(group, content.accessibility, content.device)
        kept = {each.name: each for each in old.attributes if each.place} if old else {}
        place = old.place if old and before and before.record == content.record and self.fits(old.place, compartment) else None
        attributes = []
        for name, (flags, value) in sorted(content.attributes.items()):
            where = place_of(flags, len(value))
            each = Attribute(name, flags | where, value if where == 0 else None)
            if where == OWN_RECORD:
                is_kept = before is not None and name in kept and before.attributes[name] == (flags, value)
                there = kept[name].place if is_kept else None
                if there is None or not self.fits(there, compartment):
                    body = AttributeRecord(content.key, each.flags, name, value).encode()
                    there = self.seal(item, body, compartment)
                each = replace(each, place=there)
            attributes.append(each)
        return place or self.seal(item, content.record, compartment), tuple(attributes)

    def fits(self, place: Place, compartment: int) -> bool:
        """Whether a record may stay where it is: its compartment is for the same."""
        here, there = (self.ring.keyring.compartments[each] for each in (place.compartment, compartment))
        return (here.group, here.accessibility, here.device) == (there.group, there.accessibility, there.device)
