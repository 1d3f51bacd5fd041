"""The `conflict` attribute: what a merge left to settle (section 8)."""

from dataclasses import dataclass
from typing import Self

from .codec import Cursor, ascending, require, short, u8, u32
from .items import BINARY, SEALED, ItemKey

NAME, FLAGS = b"conflict", SEALED | BINARY
SECRET, ATTRIBUTE, KEY_FIELD, ACCESSIBILITY = 0, 1, 2, 3
Stamp = tuple[int, bytes]  # A revision, and the id of the device that made it.

FIELDS: dict[int, tuple[bytes, ...]] = {
    1: (b"service", b"account"),
    2: (b"server", b"protocol", b"port", b"path", b"account", b"security domain", b"authentication type"),
    3: (b"type", b"issuer", b"serial number"),
    4: (b"key class", b"key type", b"application label", b"application tag", b"size in bits", b"effective size"),
    5: (b"type", b"issuer", b"serial number"),
}


@dataclass(frozen=True)
class Lost:
    """A value that lost, with the revision and device of the item that had it."""

    stamp: Stamp
    kind: int
    value: bytes
    name: bytes = b""
    flags: int = 0

    @property
    def what(self) -> tuple[int, bytes, int, bytes]:
        """The value, whoever had it."""
        return self.kind, self.name, self.flags, self.value

    def encode(self) -> bytes:
        revision, device = self.stamp
        out = revision.to_bytes(8, "big") + device + u8(self.kind) + u8(self.flags) + short(self.name)
        return out + u32(len(self.value)) + self.value

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        stamp = int.from_bytes(cursor.take(8), "big"), cursor.take(16)
        kind, flags = cursor.number(1), cursor.number(1)
        require(kind <= ACCESSIBILITY, "a conflict of an unknown kind")
        name = cursor.take(cursor.number(1))
        return cls(stamp, kind, cursor.take(cursor.number(4)), name, flags)


def encode(lost: set[Lost]) -> bytes:
    return b"".join(sorted(each.encode() for each in lost))


def decode(value: bytes) -> set[Lost]:
    cursor, found = Cursor(value), []
    while cursor.rest:
        found.append(Lost.decode(cursor))
    ascending((each.encode() for each in found), "conflicts")
    return set(found)


def accessibility(number: int, device: bytes) -> bytes:
    return u8(number) + device


def field_names(number: int, count: int) -> tuple[bytes, ...]:
    """Of a key's fields before the group; those of the reserved classes are counted from 1."""
    return FIELDS.get(number) or tuple(b"%d" % (index + 1) for index in range(count))


def key_fields(key: ItemKey) -> dict[bytes, bytes]:
    """Each with the bytes that a conflict holds of it."""
    values = [field.to_bytes(4, "big") if isinstance(field, int) else field for field in key.fields]
    named = dict(zip(field_names(key.number, len(values)), values, strict=True))
    return named | {b"group": key.group, b"sync": u8(key.sync)}


def from_fields(number: int, fields: dict[bytes, bytes], like: ItemKey) -> ItemKey:
    names = field_names(number, len(like.fields))
    values = tuple(
        int.from_bytes(fields[name], "big") if isinstance(old, int) else fields[name]
        for name, old in zip(names, like.fields, strict=True)
    )
    return ItemKey(number, values, fields[b"group"], fields[b"sync"] == b"\x01")
