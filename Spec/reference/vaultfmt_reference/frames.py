"""References, and the lengths of frames: sections 2 and 5."""

from dataclasses import dataclass
from typing import Self

from .codec import STEP, Cursor, Limit, at_most, number_of, require, u32, u64, varint

RECORD, PAGE, PAST, KEYRING, VECTOR, COMMIT, CHUNK = b"vREC", b"vPAG", b"vPST", b"vKEY", b"vVEC", b"vCMT", b"vCHK"

# By type: the least and the greatest length, and what it is a multiple of (section 11).
LENGTHS = {
    RECORD: (Limit.RECORD_LEAST, Limit.RECORD, 1),
    CHUNK: (Limit.RECORD_LEAST, Limit.RECORD, 1),
    PAGE: (STEP, Limit.PAGE, STEP),
    PAST: (STEP, Limit.PAST, STEP),
    KEYRING: (STEP, Limit.KEYRING, STEP),
    VECTOR: (STEP, Limit.VECTOR, STEP),
}
KINDS = {PAGE: "page", PAST: "past", KEYRING: "keyring", VECTOR: "vector", COMMIT: "commit"}


@dataclass(frozen=True)
class Reference:
    """Where a frame is, how long, and the hash of all its bytes."""

    offset: int = 0
    length: int = 0
    hash: bytes = bytes(32)

    @property
    def end(self) -> int:
        return self.offset + self.length

    @property
    def is_absent(self) -> bool:
        return self == Reference()

    def check(self, tag: bytes, after: int, before: int) -> Self:
        """The first half of R-2.3: before anything is read, between the header's copy and what refers to it."""
        least, greatest, step = LENGTHS[tag]
        at_most(self.length, greatest, f"the length of a {tag.decode()}")
        require(self.length >= least and self.length % step == 0, f"the length of a {tag.decode()} (R-2.2)")
        require(after <= self.offset and self.end <= before, f"a {tag.decode()} is not before what refers to it (R-2.3)")
        return self

    def wide(self, level: int = 0) -> bytes:
        return u64(self.offset) + u32(self.length) + u32(level) + self.hash

    def narrow(self) -> bytes:
        return varint(self.offset) + varint(self.length) + self.hash

    @classmethod
    def from_narrow(cls, cursor: Cursor) -> Self:
        return cls(cursor.varint(), cursor.varint(), cursor.take(32))


@dataclass(frozen=True)
class Place:
    """A record, with what it is bound to but the item's id."""

    record: Reference
    revision: int
    compartment: int

    def identity(self, item: bytes) -> bytes:
        """Also a locator, before it is masked (sections 4 and 5.1)."""
        return item + u64(self.compartment) + u64(self.revision)

    def tail(self) -> bytes:
        return u64(self.revision) + u64(self.compartment)

    @classmethod
    def decode_tail(cls, cursor: Cursor, record: Reference) -> Self:
        return cls(record, number_of(cursor.number(8), "a record revision"), cursor.number(8))
