"""What a writer writes: the revisions of a commit, an item as its user sees it, and records that are not in the file yet."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .codec import NO_DEVICE, is_step, require, u32
from .crypto import NONCE, associated, hashed, seal
from .frames import Place, Reference
from .holding import Held, sync_key
from .items import ItemKey, place_of
from .output import Output
from .past import ATTRIBUTE_KIND, KEY_FIELD, PLACE_FIELD, SECRET_FIELD, Field, Where
from .ring import Random, Ring

Attributes = dict[bytes, tuple[int, bytes]]
Now = Callable[[], int]


class Revisions:
    """R-1.8: those of one commit, each the one before plus 1. `random` draws bytes."""

    def __init__(self, clock: int, now: Now, random: Random) -> None:
        self.clock, self.now, self.random = clock, now, random
        self.is_new = True

    def next(self) -> int:
        if self.is_new:
            self.clock = max(self.now() << 16, self.clock + 1) + int.from_bytes(self.random(2), "little") % 32_768
            self.is_new = False
        else:
            self.clock += 1
        require(self.clock < 1 << 63, "the clock is at its end (R-1.8)", "limit")
        return self.clock

    def of_record(self) -> int:
        return self.next()


class Unchanged(Revisions):
    """Of a commit that makes no change: its records have the clock (section 6.3)."""

    def next(self) -> int:
        raise AssertionError("a commit that makes no change has no dots (R-1.9)")

    def of_record(self) -> int:
        return self.clock


@dataclass(frozen=True)
class Content:
    """What an item is, as its user sees it. Flags are those with a meaning (01, 02, 04)."""

    key: bytes
    # None for an item without one.
    secret: bytes | None = b""
    attributes: Attributes = field(default_factory=dict)
    accessibility: int = 1
    device: bytes = NO_DEVICE

    @property
    def writes(self) -> dict[Field, Held]:
        """Each field, with the place of an attribute's value (R-6.3)."""
        group = ItemKey.decode(self.key).group
        where = Where(group, self.accessibility, self.device)
        fields = {KEY_FIELD: Held(value=sync_key(self.key)), PLACE_FIELD: Held(where=where)}
        if self.secret is not None:
            fields[SECRET_FIELD] = Held(value=self.secret, is_bound=where.is_bound)
        for name, (flags, value) in self.attributes.items():
            place = place_of(flags, len(value))
            fields[ATTRIBUTE_KIND, name] = Held(flags | place, value, is_bound=where.is_bound and place != 0)
        return fields


class Shelf:
    """Records that were sealed and are not in the file yet, by hash; a place's offset is 0 until then."""

    def __init__(self, ring: Ring, revisions: Revisions) -> None:
        self.ring, self.revisions, self.frames = ring, revisions, dict[bytes, bytes]()

    def seal(self, item: bytes, body: bytes, compartment: int) -> Place:
        assert is_step(len(body))
        place = Place(Reference(0, len(body) + 80), self.revisions.of_record(), compartment)
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
