"""The header and its slots: section 3."""

from dataclasses import dataclass
from typing import Self

from .codec import (
    MAGIC, VERSION, Cursor, Extension, Limit, Refused, ascending, at_most, check_extensions, require, text, u8, u16, u32,
)
from .crypto import Keys, Stretching, derive

FULL, SCOPED = 1, 2


@dataclass(frozen=True)
class Slot:
    id: bytes
    kind: int
    factors: int
    stretching: Stretching
    commitment: bytes = bytes(32)
    nonce: bytes = b""
    payload: bytes = b""
    owner_nonce: bytes = b""
    owner_part: bytes = b""

    @property
    def parameters(self) -> bytes:
        """Bytes 2 to 48."""
        kdf = self.stretching
        return self.id + u8(self.kind) + u8(self.factors) + u32(kdf.memory) + u32(kdf.passes) + u32(kdf.lanes) + kdf.salt

    @property
    def clear(self) -> bytes:
        """Bytes 2 to 80."""
        return self.parameters + self.commitment

    def encode(self) -> bytes:
        rest = self.nonce + u32(len(self.payload)) + self.payload + self.owner_nonce + self.owner_part
        return u16(2 + len(self.clear) + len(rest)) + self.clear + rest

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        length = cursor.number(2)
        require(length >= 2, "a slot's length")
        own = Cursor(cursor.take(length - 2))
        slot_id, kind, factors = own.take(16), own.number(1), own.number(1)
        stretching = Stretching(own.number(4), own.number(4), own.number(4), own.take(16))
        slot = cls(slot_id, kind, factors, stretching, own.take(32), own.take(24), own.take(own.number(4)), own.take(24), own.take(112))
        own.finish()
        slot.check()
        return slot

    def check(self) -> None:
        require(self.kind in (FULL, SCOPED), "a slot's kind")
        require(self.factors in (1, 2, 3, 4, 5, 8), "a slot's factors (R-3.4)")
        sizes = (48,) if self.kind == FULL else (272, 528, 784, 1040, 1296)
        require(len(self.payload) in sizes, "the length of a slot's payload")
        kdf = self.stretching
        if self.factors in (2, 8):
            require(kdf == Stretching(), "a KDF cost or a salt where nothing is stretched (R-3.4)")
        else:
            require(0 < kdf.lanes < 1 << 24 and kdf.passes > 0 and kdf.memory >= 8 * kdf.lanes, "a slot's KDF cost (R-3.4)")


@dataclass(frozen=True)
class Header:
    vault: bytes
    epoch: bytes
    slots: list[Slot]
    extensions: list[Extension]
    raw: bytes

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Of a file that starts with it; every check that needs no key (R-3.1, R-3.2)."""
        require(len(data) >= 16 and data[:8] == MAGIC, "not a vault", "not-a-vault")
        require(int.from_bytes(data[8:10], "little") == VERSION, "another version", "unsupported-version")
        try:
            header = cls.decode_rest(data)
        except Refused as refused:
            raise Refused("header-invalid", str(refused)) from None
        check_extensions(header.extensions)
        return header

    @classmethod
    def decode_rest(cls, data: bytes) -> Self:
        head = Cursor(data[10:16])
        head.reserved(2)
        length = head.number(4)
        require(length % 4096 == 0 and 0 < length <= min(Limit.HEADER, len(data)), "the header's length (R-2.2)")
        cursor = Cursor(data[16 : length - 64])
        vault, epoch, slots, extensions = cursor.take(16), cursor.take(32), cursor.number(1), cursor.number(1)
        cursor.reserved(2)
        require(1 <= slots <= Limit.SLOTS and extensions <= Limit.EXTENSIONS, "the number of slots or extensions")
        header = cls(
            vault,
            epoch,
            [Slot.decode(cursor) for _ in range(slots)],
            [Extension.decode(cursor) for _ in range(extensions)],
            data[:length],
        )
        require(len({slot.id for slot in header.slots}) == slots, "two slots have one id (R-3.5)")
        ascending((extension.name for extension in header.extensions), "extensions")
        cursor.reserved(len(cursor.data) - cursor.position)
        return header


def header_macs(keys: Keys, covered: bytes) -> bytes:
    """Both; of who is no owner, the first only (R-3.3)."""
    macs = derive(keys.reader, "vaultfmt-1 header reader", covered)
    return macs + derive(keys.owner, "vaultfmt-1 header owner", covered) if keys.is_owner else macs


def encode_grants(index: bytes, reader: bytes, grants: dict[int, bytes]) -> bytes:
    """A scoped slot's payload, before it is sealed."""
    out = index + reader + u8(len(grants)) + b"".join(u32(number) + grants[number] for number in sorted(grants))
    return out + bytes(-len(out) % 256)


def decode_grants(payload: bytes) -> dict[int, bytes]:
    """The group keys of a scoped slot's payload: they follow its index key and reader key, of 32 bytes each."""
    cursor = Cursor(payload)
    cursor.take(64)
    grants = dict[int, bytes]()
    for _ in range(at_most(cursor.number(1), Limit.GRANTS, "the groups granted to a slot")):
        number = cursor.number(4)
        require(number > max(grants, default=0), "a slot's groups are out of order")
        grants[number] = cursor.take(32)
    cursor.padding(cursor.position + -cursor.position % 256)
    return grants


def encode_owner_part(name: bytes, wrapping_key: bytes) -> bytes:
    return u8(len(name)) + name.ljust(63, b"\0") + wrapping_key


def decode_owner_part(kind: int, plain: bytes) -> tuple[bytes, bytes]:
    """The slot's name, and for a scoped one its wrapping key."""
    cursor = Cursor(plain)
    name = text(cursor.take(at_most(cursor.number(1), Limit.SLOT_NAME, "a slot's name")))
    cursor.reserved(64 - cursor.position)
    if kind == FULL:
        cursor.reserved(32)
    return name, plain[64:]
