"""The header, and its copy: section 3."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from .codec import (
    MAGIC,
    VERSION,
    Cursor,
    Extension,
    Limit,
    Refused,
    ascending,
    refuse_critical,
    require,
    rounded_up,
    str8,
    u8,
    u16,
    u32,
)
from .crypto import derive, hashed, is_same
from .slots import Slot, check_costs

FIXED, ENDING = 68, 64


@dataclass(frozen=True)
class Header:
    vault: bytes
    epoch: bytes
    slots: list[Slot]
    extensions: list[Extension]
    raw: bytes

    @property
    def length(self) -> int:
        return len(self.raw)

    @property
    def body(self) -> int:
        """Where the first object is: behind the copy (section 2)."""
        return 2 * len(self.raw)

    @property
    def hash(self) -> bytes:
        """The header hash, which a commit states too."""
        return self.raw[-ENDING:-32]

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Of a file that starts with it; every check that needs no key, in the order of R-3.1 and R-3.2."""
        require(len(data) >= 16 and data[:8] == MAGIC, "not a vault (R-3.1)", "not-a-vault")
        require(int.from_bytes(data[8:10], "little") == VERSION, "another version (R-3.1)", "unsupported-version")
        try:
            header = cls.decode_rest(data)
        except Refused as refused:
            raise Refused("header-invalid", str(refused)) from None
        refuse_critical(header.extensions)
        return header

    @classmethod
    def decode_rest(cls, data: bytes) -> Self:
        length = header_length(data)
        require(len(data) >= 2 * length + Limit.AFTER_HEADER, "the file is shorter than its header says (R-3.2)")
        raw = data[:length]
        require(is_same(header_hash(raw[:-ENDING]), raw[-ENDING:-32]), "the header's hash (R-3.2)")
        cursor = Cursor(raw[10:-ENDING])
        cursor.reserved(2)
        cursor.take(4)
        vault, epoch, slots, extensions = cursor.take(16), cursor.take(32), cursor.number(1), cursor.number(1)
        cursor.reserved(2)
        require(1 <= slots <= Limit.SLOTS and extensions <= Limit.EXTENSIONS, "the number of slots or extensions (R-11.1)")
        header = cls(
            vault,
            epoch,
            [Slot.decode(cursor) for _ in range(slots)],
            [Extension.decode(cursor) for _ in range(extensions)],
            raw,
        )
        require(len({slot.id for slot in header.slots}) == slots, "two slots have one id (R-3.8)")
        ascending((extension.name for extension in header.extensions), "extensions (R-3.22)")
        cursor.reserved(cursor.rest)
        return header

    def check_mac(self, index_key: bytes) -> None:
        """R-3.3."""
        expected = header_mac(index_key, self.raw[-ENDING:-32])
        require(is_same(expected, self.raw[-32:]), "the header's MAC (R-3.3)", "authentication-failed")


def header_length(data: bytes) -> int:
    length = int.from_bytes(data[12:16], "little")
    require(length % Limit.HEADER_STEP == 0 and 0 < length <= Limit.HEADER, "the header's length (R-3.2)")
    return length


def header_hash(covered: bytes) -> bytes:
    return hashed(str8("vaultfmt-1 header") + covered)


def header_mac(index_key: bytes, of_hash: bytes) -> bytes:
    return derive(index_key, "header", of_hash)


def encode_header(
    vault: bytes,
    epoch: bytes,
    slots: list[Slot],
    extensions: list[Extension],
    index_key: bytes,
    least: int = Limit.HEADER_STEP,
    before: Sequence[Slot] = (),
) -> bytes:
    """Of the least length that holds it, or a greater one. `before` are the slots that it replaces."""
    check_costs(slots, before)
    content = b"".join(slot.raw for slot in slots) + b"".join(each.encode() for each in extensions)
    length = max(least, rounded_up(FIXED + len(content) + ENDING, Limit.HEADER_STEP))
    require(length <= Limit.HEADER and 1 <= len(slots) <= Limit.SLOTS, "a header beyond its limits (R-11.2)", "limit")
    counts = u8(len(slots)) + u8(len(extensions)) + bytes(2)
    covered = MAGIC + u16(VERSION) + bytes(2) + u32(length) + vault + epoch + counts + content
    return signed_header(covered.ljust(length - ENDING, b"\0"), index_key)


def signed_header(covered: bytes, index_key: bytes) -> bytes:
    """With its hash and MAC."""
    of_hash = header_hash(covered)
    return covered + of_hash + header_mac(index_key, of_hash)


# For salvage


def headers(data: bytes) -> Iterator[Header]:
    """The header and its copy, as far as they can be read; no reader that opens a vault calls this."""
    places = range(Limit.HEADER_STEP, Limit.HEADER + 1, Limit.HEADER_STEP)
    for start in (0, *(at for at in places if data[at : at + 8] == MAGIC)):
        try:
            header = Header.decode(data[start:].ljust(len(data), b"\0"))
        except Refused:
            continue
        if start in (0, header.length):
            yield header
