"""Encodings: sections 1, 3.2, 6.1 and 6.2, padding, and the limits of section 8."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

MAGIC = b"\x89VAULT\r\n"
VERSION = 1
# Every page, keyring and history is a multiple of it; a commit stands at a multiple of the other.
STEP, ALIGNMENT = 256, 64


class Limit:
    """Section 8: the greatest values, and those of the least that are not 0 or 1."""

    HEADER = 65_536
    SLOTS, SLOT_NAME, GRANTS = 16, 63, 32
    PASSPHRASE, KEY_FILE = 65_536, 64 << 20
    EXTENSIONS, EXTENSION_NAME, EXTENSION_VALUE = 16, 64, 4096
    RECORD_LEAST, RECORD, SECRET = 204, 20 << 20, 16 << 20
    ATTRIBUTES, ATTRIBUTE_BYTES, SMALL_ATTRIBUTE = 64, 1 << 20, 256
    KEY_LEAST, KEY, FIELD = 8, 8192, 4096
    PAGE, PAGE_GOAL, ENTRIES, LEVEL = 65_536, 2048, 4096, 15
    KEYRING, DEVICES, GROUPS, COMPARTMENTS = 4 << 20, 1024, 1024, 8192
    HISTORY, LINKS = 4096, 126
    COMMIT, SMALL_COMMIT, GENERATION = 448, 32_768, (1 << 63) - 1
    RESERVE = 262_144


class Refused(Exception):
    """The file is not what the specification says; the verdict is one of Spec/vectors/README.md."""

    def __init__(self, verdict: str, why: str) -> None:
        super().__init__(why)
        self.verdict = verdict


def require(condition: bool, why: str, verdict: str = "structure-invalid") -> None:
    if not condition:
        raise Refused(verdict, why)


def at_most(value: int, greatest: int, what: str) -> int:
    """Section 8: asked before anything is allocated or read (R-2.2)."""
    require(value <= greatest, f"{what}: {value} is more than {greatest}", "limit-exceeded")
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


def counted(data: bytes) -> bytes:
    return varint(len(data)) + data


class Cursor:
    """Reads forward through bytes, and never past their end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def take(self, count: int) -> bytes:
        require(count <= len(self.data) - self.position, "something reaches past its end (R-2.2)")
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
                require(byte > 0 or index == 0, "a varint is longer than it needs to be (R-1.1)")
                return value
        raise Refused("structure-invalid", "a varint has more than 9 bytes (R-1.1)")

    def zigzag(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def counted(self, greatest: int, what: str) -> bytes:
        return self.take(at_most(self.varint(), greatest, what))

    def count(self, greatest: int, what: str) -> range:
        return range(at_most(self.varint(), greatest, what))

    def reserved(self, count: int) -> None:
        require(not any(self.take(count)), "padding or a reserved byte is not zero (R-1.2)")

    def padding(self, whole: int) -> None:
        """Zeros up to the whole length, which is the one that the content asks for, and nothing after it."""
        require(len(self.data) == whole, "padded to another length than its content asks for (R-1.3, R-5.1)")
        self.reserved(whole - self.position)

    def finish(self) -> None:
        require(self.position == len(self.data), "bytes are left over (R-1.3)")


def text(data: bytes) -> bytes:
    """The bytes, which have to be text (R-1.4)."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("structure-invalid", "text is not UTF-8 (R-1.4)") from None
    return data


def ascending(items: Iterable[bytes | int], what: str) -> None:
    """Strictly: nothing stands twice."""
    last: bytes | int | None = None
    for item in items:
        require(last is None or item > last, f"{what} are out of order, or one stands twice")  # type: ignore[operator]
        last = item


def pad_record(length: int) -> int:
    """Section 5.1."""
    for step in (128, 256, 512, 1024):
        if length <= step:
            return step
    exponent = length.bit_length() - 1
    unit = 1 << exponent - exponent.bit_length()
    return -(-length // unit) * unit


def pad_step(length: int) -> int:
    """The body of a page, keyring or history: the frame is 48 bytes longer, and a multiple of 256."""
    return -(-(length + 48) // STEP) * STEP - 48


# Section 3.2


@dataclass(frozen=True)
class Extension:
    name: bytes
    value: bytes
    is_critical: bool = False

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        flags = cursor.number(1)
        require(flags <= 1, "an extension has a reserved flag (R-1.2)")
        name = cursor.take(at_most(cursor.number(1), Limit.EXTENSION_NAME, "an extension's name"))
        require(name != b"" and all(33 <= byte <= 126 for byte in name), "an extension's name")
        return cls(name, cursor.take(at_most(cursor.number(2), Limit.EXTENSION_VALUE, "an extension's value")), flags == 1)

    def encode(self) -> bytes:
        return u8(self.is_critical) + u8(len(self.name)) + self.name + u16(len(self.value)) + self.value


def check_extensions(extensions: list[Extension]) -> None:
    ascending((extension.name for extension in extensions), "extensions")
    for extension in extensions:
        # Format 1 knows none.
        require(not extension.is_critical, f"critical extension {extension.name.decode()} (R-3.10)", "unsupported-critical")


# Section 6.1

CLASSES: dict[int, tuple[str, ...]] = {
    1: ("text", "text"),
    2: ("text", "text", "n32", "text", "text", "text", "text"),
    3: ("n32", "bytes", "bytes"),
    4: ("n32", "n32", "bytes", "bytes", "n32", "n32"),
    5: ("n32", "bytes", "bytes"),
}


def encode_key(number: int, fields: list[bytes | int], group: bytes, sync: bool) -> bytes:
    out = u8(number)
    for field in [*fields, group]:
        out += field.to_bytes(4, "big") if isinstance(field, int) else field.replace(b"\0", b"\0\xff") + b"\0\0"
    return out + u8(sync)


def check_key(key: bytes) -> bytes:
    """Refuses an item key that does not decode exactly (R-6.1); gives the name of its access group."""
    require(len(key) >= Limit.KEY_LEAST, "an item key is too short")
    at_most(len(key), Limit.KEY, "an item key")
    cursor = Cursor(key)
    number = cursor.number(1)
    require(number in CLASSES, "an entry of an unknown kind (R-5.13)")
    field = b""
    for kind in (*CLASSES[number], "text"):
        field = cursor.take(4) if kind == "n32" else unescape(cursor)
        if kind == "text":
            text(field)
    require(cursor.number(1) <= 1, "an item key's sync is neither 0 nor 1")
    cursor.finish()
    return field


def unescape(cursor: Cursor) -> bytes:
    out = bytearray()
    while True:
        byte = cursor.number(1)
        if byte == 0:
            escape = cursor.number(1)
            if escape == 0:
                at_most(len(out), Limit.FIELD, "a field of an item key")
                return bytes(out)
            require(escape == 0xFF, "a zero in a field is not escaped")
        out.append(byte)


# Section 6.2

Attributes = dict[bytes, bytes]


def is_in_record(name: bytes, value: bytes) -> bool:
    return len(value) > Limit.SMALL_ATTRIBUTE or name.startswith(b"sealed:")


def encode_attributes(attributes: Attributes, in_record: bool) -> bytes:
    chosen = sorted(item for item in attributes.items() if is_in_record(*item) == in_record)
    return varint(len(chosen)) + b"".join(u8(len(name)) + name + counted(value) for name, value in chosen)


def decode_attributes(cursor: Cursor, in_record: bool) -> Attributes:
    pairs = []
    for _ in cursor.count(Limit.ATTRIBUTES, "an item's attributes"):
        name = text(cursor.take(cursor.number(1)))
        require(name != b"", "an attribute without a name")
        pairs.append((name, cursor.counted(Limit.ATTRIBUTE_BYTES, "an attribute's value")))
    ascending((name for name, _ in pairs), "attributes")
    for name, value in pairs:
        require(is_in_record(name, value) == in_record, "an attribute stands in the wrong place (R-6.2)")
    return dict(pairs)


def check_attributes(count: int, attributes: Attributes) -> None:
    """What an item may have, in page and record together."""
    at_most(count, Limit.ATTRIBUTES, "an item's attributes")
    at_most(sum(map(len, attributes.values())), Limit.ATTRIBUTE_BYTES, "an item's attribute values")
