"""The bodies of records, pages and commits: section 5."""

from dataclasses import dataclass
from os.path import commonprefix
from typing import Self

from .codec import (
    SECTOR,
    Cursor,
    Limit,
    ascending,
    at_most,
    counted,
    is_step,
    number_of,
    pad_record,
    pad_step,
    padded,
    require,
    short,
    str8,
    u8,
    u32,
    u64,
    varint,
)
from .crypto import hashed
from .dots import Bounds, Dot
from .frames import KEYRING, PAGE, VECTOR, Reference
from .items import (
    FORGOTTEN,
    IN_RECORD,
    MEANING,
    OWN_RECORD,
    Attribute,
    ItemKey,
    Recorded,
    attribute_name,
    check_flags,
    decode_recorded,
    encode_recorded,
)

# Section 5.1

ITEM, ATTRIBUTE = 0, 1


@dataclass(frozen=True)
class ItemRecord:
    """Form 0."""

    key: bytes
    secret: bytes
    attributes: Recorded

    def encode(self, step: int = 0) -> bytes:
        out = u8(ITEM) + counted(self.key) + counted(self.secret) + encode_recorded(self.attributes)
        return out.ljust(step or pad_record(len(out)), b"\0")

    @classmethod
    def decode(cls, body: bytes) -> Self:
        cursor, key = record_start(body, ITEM)
        record = cls(key, cursor.counted(Limit.SECRET, "a secret"), decode_recorded(cursor))
        cursor.reserved(cursor.rest)
        return record


@dataclass(frozen=True)
class AttributeRecord:
    """Form 1. Flags as in the page."""

    key: bytes
    flags: int
    name: bytes
    value: bytes

    def encode(self, step: int = 0) -> bytes:
        out = u8(ATTRIBUTE) + counted(self.key) + u8(self.flags) + short(self.name) + counted(self.value)
        return out.ljust(step or pad_record(len(out)), b"\0")

    @classmethod
    def decode(cls, body: bytes) -> Self:
        cursor, key = record_start(body, ATTRIBUTE)
        flags, name = check_flags(cursor.number(1)), attribute_name(cursor)
        record = cls(key, flags, name, cursor.counted(Limit.ATTRIBUTE, "an attribute's value"))
        require(flags & ~MEANING == OWN_RECORD, "an attribute's record has other flags (R-6.5)")
        require(len(record.value) > Limit.ATTRIBUTE_IN_RECORD, "a record for an attribute that needs none (R-6.3)")
        cursor.reserved(cursor.rest)
        return record


def record_start(body: bytes, form: int) -> tuple[Cursor, bytes]:
    """What all forms share. Zeros fill the rest, up to any step (R-5.1)."""
    require(is_step(len(body)), "a record's length is not a step (R-5.1)")
    cursor = Cursor(body)
    found = cursor.number(1)
    require(found in (ITEM, ATTRIBUTE), f"a record of the unknown form {found} (R-5.4)", "unsupported-form")
    require(found == form, f"a record of form {found} where {form} belongs (R-5.4)")
    key = cursor.counted(Limit.KEY, "an item key")
    ItemKey.decode(key)
    return cursor, key


def check_recorded(attributes: tuple[Attribute, ...], recorded: Recorded, may_have_more: bool = False) -> None:
    """R-6.5. A record of a device can have more than the entry lists: what was forgotten where nobody could open it."""
    expected = {each.name: each.flags for each in attributes if each.flags & IN_RECORD}
    found = {name: flags for name, (flags, _) in recorded.items() if name in expected or not may_have_more}
    require(found == expected, "a record has other attributes (R-6.5)")


# Section 5.2


def common(keys: list[bytes]) -> bytes:
    """The longest prefix of all of them (R-5.6)."""
    return commonprefix([min(keys), max(keys)]) or b"" if keys else b""


@dataclass(frozen=True)
class Page:
    """Of a leaf, a value for each key; of an inner page, a child before each separator and one after the last."""

    level: int
    keys: list[bytes]
    values: list[bytes]
    children: list[Reference]

    def encode(self) -> bytes:
        prefix = common(self.keys)
        out = u8(self.level) + varint(len(self.keys)) + counted(prefix)
        rests = [counted(key[len(prefix) :]) for key in self.keys]
        if self.level == 0:
            out += b"".join(rest + counted(value) for rest, value in zip(rests, self.values, strict=True))
        else:
            children = [child.narrow() for child in self.children]
            out += children[0] + b"".join(rest + child for rest, child in zip(rests, children[1:], strict=True))
        return padded(out)

    @classmethod
    def decode(cls, body: bytes, level: int) -> Self:
        cursor = Cursor(body)
        require(cursor.number(1) == level, "a page's level (R-5.7)")
        count = cursor.count(Limit.ENTRIES, "a page's entries")
        require(level > 0 or len(count) > 0, "a leaf without entries (R-11.1)")
        prefix = cursor.counted(Limit.PAGE_KEY, "a page's prefix")
        keys, values, children = [], [], []
        if level > 0:
            children.append(Reference.from_narrow(cursor))
        for _ in count:
            keys.append(prefix + cursor.counted(Limit.PAGE_KEY - len(prefix), "a key"))
            if level > 0:
                children.append(Reference.from_narrow(cursor))
            else:
                values.append(cursor.counted(Limit.PAGE, "a value"))
        cursor.padding(pad_step(cursor.position))
        ascending(keys, "a page's keys (R-5.5)")
        require(prefix == common(keys), "a page's prefix (R-5.6)")
        for key in keys if level == 0 else []:
            require(key != b"" and (1 <= key[0] <= 63 or key[0] == FORGOTTEN), "an entry of another kind (R-5.10)")
        return cls(level, keys, values, children)


State = tuple[int, bytes]  # A generation and its chain value.

# Section 5.6


@dataclass(frozen=True)
class Commit:
    """The core."""

    generation: int
    before: int
    chain_before: bytes
    offset: int
    start: int
    clock: int
    floor: int
    flags: int
    root: Reference
    level: int
    keyring: Reference
    vector: Reference
    header_hash: bytes
    digest: bytes
    items: int
    forgotten: int
    pasts: int
    live: int
    # Of its writer; zero in a commit that makes no change.
    own_id: int = 0
    own_revision: int = 0

    @property
    def end(self) -> int:
        return self.offset + Limit.COMMIT

    @property
    def own(self) -> Dot | None:
        return Dot(self.own_revision, self.own_id) if self.own_id else None

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.clock, self.floor)

    @property
    def is_synced(self) -> bool:
        """Whether what it appended was synced before it was written."""
        return self.flags == 1

    def encode(self) -> bytes:
        out = u64(self.generation) + u64(self.before) + self.chain_before + u64(self.offset) + u64(self.start)
        out += u64(self.clock) + u64(self.floor) + u32(self.flags) + bytes(4)
        out += self.root.wide(self.level) + self.keyring.wide() + self.vector.wide() + self.header_hash + self.digest
        out += u64(self.items) + u64(self.forgotten) + u64(self.pasts) + u64(self.live)
        return out + u64(self.own_id) + u64(self.own_revision) + bytes(24)

    @classmethod
    def decode(cls, core: bytes) -> Self:
        cursor = Cursor(core)
        generation, before, chain_before = cursor.number(8), cursor.number(8), cursor.take(32)
        offset, start, clock, floor = (cursor.number(8) for _ in range(4))
        flags = cursor.number(4)
        cursor.reserved(4)
        root, level = decode_wide(cursor, has_level=True)
        keyring, vector = decode_wide(cursor)[0], decode_wide(cursor)[0]
        header_hash, digest = cursor.take(32), cursor.take(32)
        items, forgotten, pasts, live, own_id, own_revision = (cursor.number(8) for _ in range(6))
        cursor.reserved(24)
        cursor.finish()
        return cls(
            generation, before, chain_before, offset, start, clock, floor, flags, root, level, keyring, vector, header_hash,
            digest, items, forgotten, pasts, live, own_id, own_revision,
        )  # fmt: skip

    def check(self, offset: int, body: int) -> None:
        """R-5.21 to R-5.23, and the rest of the table. `body` is where the first object is."""
        require(self.flags <= 1, "a reserved flag (R-1.2)")
        number_of(self.generation, "a generation (R-5.21)")
        require(self.before < self.generation, "the predecessor's generation (R-5.21)")
        is_first = self.generation == 1
        require(is_first == (self.before == 0), "a predecessor of generation 1, or none of a later one (R-5.21)")
        require(not is_first or not any(self.chain_before), "the chain value before generation 1 (section 5.6)")
        number_of(self.clock, "a clock")
        require(self.floor <= self.clock, "the floor is beyond the clock (R-5.38)")
        require(self.own_revision == (self.clock if self.own_id else 0), "a commit's own revision (R-5.38)")
        require(self.offset == offset, "a commit's own offset (R-5.22)")
        require(self.start % SECTOR == 0 and body <= self.start <= offset, "a commit's start (R-5.22)")
        require(not is_first or self.start == body, "generation 1 is not the first in the file (R-5.21)")
        require(self.is_synced or offset - self.start <= Limit.SMALL_COMMIT, "a large commit that was not synced (R-5.23)")
        counts = self.items, self.forgotten, self.pasts, self.live
        require(max(counts) <= self.end and self.pasts <= self.items, "a commit's counts (R-5.22)")
        at_most(self.level, Limit.LEVEL, "the height of the tree")
        if not (self.root.is_absent and self.level == 0):
            self.root.check(PAGE, body, offset)
        self.keyring.check(KEYRING, body, offset)
        self.vector.check(VECTOR, body, offset)

    def follows(self, before: State) -> bool:
        return (self.before, self.chain_before) == before


def decode_wide(cursor: Cursor, has_level: bool = False) -> tuple[Reference, int]:
    offset, length, level = cursor.number(8), cursor.number(4), cursor.number(1) if has_level else 0
    cursor.reserved(3 if has_level else 4)
    return Reference(offset, length, cursor.take(32)), level


def chain_value(vault: bytes, core: bytes) -> bytes:
    return hashed(str8("vaultfmt-1 chain") + vault + core)


def signed_by_commit(chain: bytes) -> bytes:
    return str8("vaultfmt-1 commit") + chain


def digest_of(hashes: list[bytes]) -> bytes:
    return hashed(str8("vaultfmt-1 digest") + b"".join(hashes))
