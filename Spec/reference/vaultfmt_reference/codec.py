"""Numbers, text, padding and extensions (sections 1, 3.3 and 5.1), and the limits of section 11."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

MAGIC = b"\x89VAULT\r\n"
VERSION = 1
# Pages, pasts, keyrings and vectors are a multiple of the first; a commit begins at a multiple of the second.
STEP, SECTOR = 256, 512
GREATEST = (1 << 63) - 1
NO_DEVICE = bytes(16)


class Limit:
    """Section 11: the greatest values, and those of the least that are not 0 or 1."""

    HEADER, HEADER_STEP, AFTER_HEADER = 1 << 20, 4096, 1024
    SLOTS, SLOT_LEAST, SLOT, SLOT_NAME, GRANTS = 64, 272, 65_536, 63, 32
    PARAMETERS, OWNER_PART_LEAST, OWNER_PART = 17_408, 168, 17_408
    PROVIDER_NAME, PROVIDER_DATA, CANDIDATES = 64, 16_384, 16
    PASSPHRASE, KEY_FILE = 65_536, 64 << 20
    EXTENSIONS, EXTENSION_NAME, EXTENSION_VALUE = 16, 64, 4096
    RECORD_LEAST, RECORD, SECRET = 208, 20 << 20, 16 << 20
    ATTRIBUTES, ATTRIBUTE, ATTRIBUTE_IN_PAGE, ATTRIBUTE_IN_RECORD = 64, 16 << 20, 256, 4096
    KEY_LEAST, KEY, PAGE_KEY, FIELD, FIELDS = 4, 8176, 8192, 4096, 16
    PAGE, PAGE_GOAL, ENTRIES, LEVEL = 65_536, 2048, 4096, 15
    FIELD_DOTS = 67
    PAST, PAST_VALUES, SIBLINGS, PAST_DOTS, EARLIER, EQUAL = 2 << 20, 4096, 256, 4352, 50, 8
    KEYRING, GROUPS, COMPARTMENTS, HAND_OVERS = 4 << 20, 1024, 8192, 16
    VECTOR, ROWS, OWN_ROWS = 4 << 20, 262_000, 64
    COMMIT, SMALL_COMMIT, TRANSACTION = 512, 32_768, 268_435_456
    RESERVE, HEADS = 262_144, 63
    TIME = 1 << 61


class Refused(Exception):
    """The file is not what the specification says; the verdict is one of Spec/vectors/README.md."""

    def __init__(self, verdict: str, why: str) -> None:
        super().__init__(why)
        self.verdict = verdict


def require(condition: bool, why: str, verdict: str = "structure-invalid") -> None:
    if not condition:
        raise Refused(verdict, why)


def at_most(value: int, greatest: int, what: str) -> int:
    """Checked before anything is allocated or read (R-2.2, R-11.1)."""
    require(value <= greatest, f"{what}: {value} is more than {greatest} (R-11.1)")
    return value


def number_of(value: int, what: str) -> int:
    """A generation, a revision, a clock, or the number of a group or compartment: 1 to 2^63 - 1."""
    require(1 <= value <= GREATEST, f"{what} is {value}, not from 1 to 2^63 - 1 (R-11.1)")
    return value


def time_of(value: int) -> int:
    require(-Limit.TIME <= value < Limit.TIME, "a time is out of range (R-11.1)")
    return value


# Section 1


def str8(text: str) -> bytes:
    return bytes([len(text)]) + text.encode("ascii")


def u8(value: int) -> bytes:
    return value.to_bytes(1, "little")


def u16(value: int) -> bytes:
    return value.to_bytes(2, "little")


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def u64(value: int) -> bytes:
    return value.to_bytes(8, "little")


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else ~(value << 1))


def bitmap(chosen: Iterable[int], count: int) -> bytes:
    return sum(1 << number for number in chosen).to_bytes(-(-count // 8), "little")


def counted(data: bytes) -> bytes:
    return varint(len(data)) + data


def short(data: bytes) -> bytes:
    """A name of at most 255 bytes, after its length."""
    return u8(len(data)) + data


def rounded_up(length: int, unit: int) -> int:
    return -(-length // unit) * unit


class Cursor:
    """Reads forward through bytes, and never past their end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    @property
    def rest(self) -> int:
        return len(self.data) - self.position

    def take(self, count: int) -> bytes:
        require(count <= self.rest, "something reaches past its end (R-2.2)")
        self.position += count
        return self.data[self.position - count : self.position]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def varint(self) -> int:
        value = 0
        for index in range(9):
            byte = self.number(1)
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                require(byte > 0 or index == 0, "a varint is longer than necessary (R-1.1)")
                return value
        raise Refused("structure-invalid", "a varint has more than 9 bytes (R-1.1)")

    def zigzag(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def counted(self, greatest: int, what: str) -> bytes:
        return self.take(at_most(self.varint(), greatest, what))

    def short(self, greatest: int, what: str) -> bytes:
        return self.take(at_most(self.number(1), greatest, what))

    def count(self, greatest: int, what: str) -> range:
        return range(at_most(self.varint(), greatest, what))

    def time_after(self, milliseconds: int) -> int:
        """A time, given as its difference to another (R-6.18)."""
        return time_of(self.zigzag() + milliseconds)

    def bitmap(self, count: int) -> list[int]:
        """Which of so many things (section 1)."""
        bits = int.from_bytes(self.take(-(-count // 8)), "little")
        require(bits >> count == 0, "a reserved bit of a bitmap (R-1.2)")
        return [number for number in range(count) if bits >> number & 1]

    def reserved(self, count: int) -> None:
        require(not any(self.take(count)), "padding or a reserved byte is not zero (R-1.2)")

    def padding(self, whole: int) -> None:
        """Zeros up to the whole length, which is the one that the content requires."""
        require(len(self.data) == whole, "padded to another length than the content requires (R-1.3, R-5.11)")
        self.reserved(whole - self.position)

    def finish(self) -> None:
        require(self.rest == 0, "bytes are left over (R-1.3)")


def text(data: bytes) -> bytes:
    """The bytes, which must be UTF-8 (R-1.4)."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("structure-invalid", "text is not UTF-8 (R-1.4)") from None
    return data


def ascending(items: Iterable[Any], what: str) -> None:
    """Strictly, so that nothing appears twice."""
    last = None
    for item in items:
        require(last is None or item > last, f"{what} are out of order, or one appears twice")
        last = item


# Padding: sections 5.1 and 2


def pad_record(length: int) -> int:
    """The least step that holds so many bytes (section 5.1)."""
    for step in (128, 256, 512, 1024):
        if length <= step:
            return step
    exponent = length.bit_length() - 1
    return rounded_up(length, 1 << exponent - exponent.bit_length())


def is_step(length: int) -> bool:
    return length > 0 and pad_record(length) == length


def pad_step(length: int) -> int:
    """The body of a page, past, keyring or vector: the frame is 48 bytes longer, and a multiple of 256 (R-5.11)."""
    return rounded_up(length + 48, STEP) - 48


def padded(body: bytes) -> bytes:
    return body.ljust(pad_step(len(body)), b"\0")


# Section 3.3


@dataclass(frozen=True)
class Extension:
    name: bytes
    value: bytes
    is_critical: bool = False
    is_read_only: bool = False

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        flags = cursor.number(1)
        require(flags <= 3, "an extension has a reserved flag (R-1.2)")
        name = visible(cursor.short(Limit.EXTENSION_NAME, "an extension's name"), "an extension's name")
        value = cursor.take(at_most(cursor.number(2), Limit.EXTENSION_VALUE, "an extension's value"))
        return cls(name, value, flags & 1 != 0, flags & 2 != 0)

    def encode(self) -> bytes:
        return u8(self.is_critical | self.is_read_only << 1) + short(self.name) + u16(len(self.value)) + self.value


def visible(name: bytes, what: str) -> bytes:
    require(name != b"" and all(33 <= byte <= 126 for byte in name), f"{what} is empty, or not of ASCII 33 to 126")
    return name


def refuse_critical(extensions: list[Extension]) -> None:
    """Format 1 defines no extension, so that every critical one is unknown (R-3.23)."""
    for each in extensions:
        require(not each.is_critical, f"critical extension {each.name.decode()} (R-3.23)", "unsupported-critical")


def refuse_read_only(extensions: list[Extension]) -> None:
    """For writers (R-3.24)."""
    for each in extensions:
        require(not each.is_read_only, f"read-only extension {each.name.decode()} (R-3.24)", "read-only-extension")
