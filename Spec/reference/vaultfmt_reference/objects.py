"""The bodies of keyrings, pages, item entries, records, histories and commits: sections 5 and 6."""

from dataclasses import dataclass
from os.path import commonprefix
from typing import Self

from .codec import (
    STEP, Attributes, Cursor, Extension, Limit, ascending, at_most, check_attributes, check_extensions, check_key, counted,
    decode_attributes, encode_attributes, pad_record, pad_step, require, str8, text, u8, u32, u64, varint, zigzag,
)
from .crypto import derive, hashed


# By type: the least and the greatest length, and what it is a multiple of (section 8).
LENGTHS = {
    b"vREC": (Limit.RECORD_LEAST, Limit.RECORD, 1),
    b"vPAG": (STEP, Limit.PAGE, STEP),
    b"vKEY": (STEP, Limit.KEYRING, STEP),
    b"vHIS": (STEP, Limit.HISTORY, STEP),
}


@dataclass(frozen=True)
class Reference:
    """Where a frame is, how long, and its hash."""

    offset: int = 0
    length: int = 0
    hash: bytes = bytes(32)

    @property
    def end(self) -> int:
        return self.offset + self.length

    @property
    def is_absent(self) -> bool:
        return self == Reference()

    def check(self, tag: bytes, after: int, before: int) -> None:
        """R-2.2 and R-2.3: before it is read, between the end of the header and what names it."""
        least, greatest, step = LENGTHS[tag]
        at_most(self.length, greatest, f"the length of a {tag.decode()}")
        require(self.length >= least and self.length % step == 0, f"the length of a {tag.decode()}")
        require(after <= self.offset and self.end <= before, f"a {tag.decode()} is not before what names it")


# Section 5.3


@dataclass(frozen=True)
class Group:
    number: int
    name: bytes
    wrapped: bytes = b""

    def data(self, vault: bytes) -> bytes:
        return str8("vaultfmt-1 group") + vault + u32(self.number) + self.name


@dataclass(frozen=True)
class Compartment:
    number: int
    group: int
    accessibility: int
    device: bytes = bytes(16)
    wrapped: bytes = b""

    @property
    def is_bound(self) -> bool:
        return any(self.device)

    @property
    def clear(self) -> bytes:
        return u32(self.number) + u32(self.group) + u8(self.accessibility) + self.device

    def data(self, label: str, vault: bytes) -> bytes:
        return str8("vaultfmt-1 " + label) + vault + self.clear


@dataclass(frozen=True)
class Keyring:
    next_compartment: int
    next_group: int
    devices: list[bytes]
    groups: dict[int, Group]
    compartments: dict[int, Compartment]
    extensions: list[Extension]

    def encode(self) -> bytes:
        groups = [u32(group.number) + counted(group.name) + group.wrapped for group in self.groups.values()]
        compartments = [each.clear + each.wrapped for each in self.compartments.values()]
        out = u32(self.next_compartment) + u32(self.next_group)
        for pieces in (self.devices, groups, compartments, [extension.encode() for extension in self.extensions]):
            out += varint(len(pieces)) + b"".join(pieces)
        return out.ljust(pad_step(len(out)), b"\0")

    @classmethod
    def decode(cls, body: bytes) -> Self:
        cursor = Cursor(body)
        next_compartment, next_group = cursor.number(4), cursor.number(4)
        devices = [cursor.take(16) for _ in cursor.count(Limit.DEVICES, "the number of devices")]
        groups = []
        for _ in cursor.count(Limit.GROUPS, "the number of groups"):
            number, name = cursor.number(4), text(cursor.counted(Limit.FIELD, "a group's name"))
            groups.append(Group(number, name, cursor.take(72)))
        compartments = []
        for _ in cursor.count(Limit.COMPARTMENTS, "the number of compartments"):
            number, group, accessibility, device = cursor.number(4), cursor.number(4), cursor.number(1), cursor.take(16)
            compartments.append(Compartment(number, group, accessibility, device, cursor.take(112 if any(device) else 72)))
        extensions = [Extension.decode(cursor) for _ in cursor.count(Limit.EXTENSIONS, "the number of extensions")]
        cursor.padding(pad_step(cursor.position))
        keyring = cls(
            next_compartment,
            next_group,
            devices,
            {group.number: group for group in groups},
            {each.number: each for each in compartments},
            extensions,
        )
        ascending((group.number for group in groups), "groups")
        ascending((each.number for each in compartments), "compartments")
        keyring.check()
        return keyring

    def check(self) -> None:
        """R-5.8."""
        require(all(0 < number < self.next_group for number in self.groups) and self.next_group > 0, "a group's number")
        require(len({group.name for group in self.groups.values()}) == len(self.groups), "two groups have one name")
        require(len(set(self.devices)) == len(self.devices) and bytes(16) not in self.devices, "a device stands twice, or is zero")
        require(all(0 < number < self.next_compartment for number in self.compartments), "a compartment's number")
        require(self.next_compartment > 0, "the next compartment's number")
        for each in self.compartments.values():
            require(each.group in self.groups and 1 <= each.accessibility <= 7, "a compartment's group or accessibility")
            require(each.is_bound == (each.accessibility >= 4), "a compartment's device")
        kinds = {(each.group, each.accessibility, each.device) for each in self.compartments.values()}
        require(len(kinds) == len(self.compartments), "two compartments are for the same")
        check_extensions(self.extensions)


# Section 5.2


def common(keys: list[bytes]) -> bytes:
    """The longest prefix of all of them (R-5.4); it is enough to compare the first in order with the last."""
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
            children = [varint(child.offset) + varint(child.length) + child.hash for child in self.children]
            out += children[0] + b"".join(rest + child for rest, child in zip(rests, children[1:], strict=True))
        return out.ljust(pad_step(len(out)), b"\0")

    @classmethod
    def decode(cls, body: bytes, level: int) -> Self:
        cursor = Cursor(body)
        require(cursor.number(1) == level, "a page's level (R-5.5)")
        count = cursor.count(Limit.ENTRIES, "a page's entries")
        require(level > 0 or len(count) > 0, "a leaf without entries")
        prefix = cursor.counted(Limit.KEY, "a page's prefix")
        keys, values, children = [], [], []
        if level > 0:
            children.append(Reference(cursor.varint(), cursor.varint(), cursor.take(32)))
        for _ in count:
            keys.append(prefix + cursor.counted(Limit.KEY - len(prefix), "a key"))
            if level > 0:
                children.append(Reference(cursor.varint(), cursor.varint(), cursor.take(32)))
            else:
                values.append(cursor.counted(Limit.PAGE, "a value"))
        cursor.padding(pad_step(cursor.position))
        ascending(keys, "a page's keys")
        require(prefix == common(keys), "a page's prefix (R-5.4)")
        return cls(level, keys, values, children)


# Sections 6.3 and 6.4


@dataclass(frozen=True)
class Entry:
    """An item in a leaf."""

    record: Reference
    id: bytes
    revision: int
    device: int
    record_revision: int
    compartment: int
    created: int
    modified: int
    large: int
    attributes: Attributes

    @property
    def identity(self) -> bytes:
        """What the record is bound to (section 4)."""
        return self.id + u32(self.compartment) + u64(self.record_revision)

    @property
    def locator(self) -> bytes:
        return self.id + u64(self.record_revision) + u32(self.compartment)

    def encode(self) -> bytes:
        out = varint(self.record.offset) + varint(self.record.length) + self.record.hash
        out += self.id + u64(self.revision) + varint(self.device) + u64(self.record_revision) + varint(self.compartment)
        out += zigzag(self.created) + zigzag(self.modified) + varint(self.large)
        return out + encode_attributes(self.attributes, in_record=False)

    @classmethod
    def decode(cls, key: bytes, value: bytes, keyring: Keyring) -> Self:
        name = check_key(key)
        cursor = Cursor(value)
        record = Reference(cursor.varint(), cursor.varint(), cursor.take(32))
        item, revision, device, record_revision = cursor.take(16), cursor.number(8), cursor.varint(), cursor.number(8)
        compartment, created, modified, large = cursor.varint(), cursor.zigzag(), cursor.zigzag(), cursor.varint()
        attributes = decode_attributes(cursor, in_record=False)
        cursor.finish()
        check_attributes(len(attributes) + large, attributes)
        require(device <= len(keyring.devices), "an item's device is not in the list")
        require(compartment in keyring.compartments, "an item's compartment does not exist (R-6.4)")
        group = keyring.groups[keyring.compartments[compartment].group]
        require(group.name == name, "an item's compartment is another group's (R-6.4)")
        return cls(record, item, revision, device, record_revision, compartment, created, modified, large, attributes)


@dataclass(frozen=True)
class Tombstone:
    item: bytes
    revision: int
    device: int

    def encode(self) -> tuple[bytes, bytes]:
        return b"\x7e" + self.item, u64(self.revision) + varint(self.device)

    @classmethod
    def decode(cls, key: bytes, value: bytes, keyring: Keyring) -> Self:
        require(len(key) == 17, "a tombstone's key")
        cursor = Cursor(value)
        revision, device = cursor.number(8), cursor.varint()
        cursor.finish()
        require(device <= len(keyring.devices), "a tombstone's device is not in the list")
        return cls(key[1:], revision, device)


# Section 5.1


def encode_record(key: bytes, secret: bytes, attributes: Attributes) -> bytes:
    out = counted(key) + counted(secret) + encode_attributes(attributes, in_record=True)
    return out.ljust(pad_record(len(out)), b"\0")


def decode_record(body: bytes, key: bytes, entry: Entry) -> tuple[bytes, Attributes]:
    """The secret, and all attributes of the item."""
    cursor = Cursor(body)
    require(cursor.counted(Limit.KEY, "an item key") == key, "a record of another item (R-5.3)")
    secret = cursor.counted(Limit.SECRET, "a secret")
    attributes = decode_attributes(cursor, in_record=True)
    cursor.padding(pad_record(cursor.position))
    require(len(attributes) == entry.large, "a record has another number of attributes (R-6.6)")
    require(not attributes.keys() & entry.attributes.keys(), "an attribute stands twice (R-6.2)")
    both = entry.attributes | attributes
    check_attributes(len(both), both)
    return secret, both


# Section 5.4


@dataclass(frozen=True)
class History:
    first: int
    links: list[bytes]

    def encode(self) -> bytes:
        out = u64(self.first) + u32(len(self.links)) + b"".join(self.links)
        return out.ljust(pad_step(len(out)), b"\0")

    @classmethod
    def decode(cls, body: bytes) -> Self:
        cursor = Cursor(body)
        first = cursor.number(8)
        count = at_most(cursor.number(4), Limit.LINKS, "a history's links")
        require(first > 0 and count > 0, "a history's generations")
        history = cls(first, [cursor.take(32) for _ in range(count)])
        cursor.padding(pad_step(cursor.position))
        return history


# Section 5.5


@dataclass(frozen=True)
class Commit:
    generation: int
    offset: int
    start: int
    previous: int
    clock: int
    flags: int
    root: Reference
    level: int
    keyring: Reference
    history: Reference
    header_hash: bytes
    chain_before: bytes
    digest: bytes
    items: int
    tombstones: int
    live: int

    @property
    def end(self) -> int:
        return self.offset + Limit.COMMIT

    def encode(self) -> bytes:
        out = b"".join(map(u64, (self.generation, self.offset, self.start, self.previous, self.clock)))
        out += u32(self.flags) + bytes(4)
        for reference, level in ((self.root, self.level), (self.keyring, 0), (self.history, 0)):
            out += u64(reference.offset) + u32(reference.length) + u32(level) + reference.hash
        out += self.header_hash + self.chain_before + self.digest
        return out + u64(self.items) + u64(self.tombstones) + u64(self.live) + bytes(24)

    @classmethod
    def decode(cls, body: bytes, offset: int, header_length: int) -> Self:
        cursor = Cursor(body)
        generation, own, start, previous, clock = (cursor.number(8) for _ in range(5))
        flags = cursor.number(4)
        cursor.reserved(4)
        root_at, root_length, level = cursor.number(8), cursor.number(4), cursor.number(1)
        cursor.reserved(3)
        root = Reference(root_at, root_length, cursor.take(32))
        others = []
        for _ in range(2):
            at, length = cursor.number(8), cursor.number(4)
            cursor.reserved(4)
            others.append(Reference(at, length, cursor.take(32)))
        hashes = [cursor.take(32) for _ in range(3)]
        counts = [cursor.number(8) for _ in range(3)]
        cursor.reserved(24)
        cursor.finish()
        keyring, history = others
        header, chain, digest = hashes
        commit = cls(
            generation, own, start, previous, clock, flags, root, level, keyring, history, header, chain, digest, *counts,
        )  # fmt: skip
        commit.check(offset, header_length)
        return commit

    def check(self, offset: int, header_length: int) -> None:
        """R-5.10 and R-5.12."""
        require(self.flags <= 1, "a reserved flag (R-1.2)")
        require(self.generation > 0, "generation 0")
        at_most(self.generation, Limit.GENERATION, "a generation")
        require(self.offset == offset, "a commit's own offset")
        require(self.start == (self.previous + Limit.COMMIT if self.previous else header_length), "a commit's start")
        require(self.start <= offset and (self.previous == 0 or self.previous >= header_length), "a commit's start")
        require(self.flags == 1 or offset - self.start <= Limit.SMALL_COMMIT + 64, "a large commit that was not synced (R-5.12)")
        require(self.generation > 1 or (self.previous == 0 and not any(self.chain_before)), "a generation before the first")
        require(max(self.items, self.tombstones, self.live) <= self.end, "a commit's counts")
        at_most(self.level, Limit.LEVEL, "the height of the tree")
        if not self.root.is_absent or self.level:
            self.root.check(b"vPAG", header_length, offset)
        self.keyring.check(b"vKEY", header_length, offset)
        if not self.history.is_absent:
            self.history.check(b"vHIS", header_length, offset)

    def follows(self, before: "Commit", chain: bytes) -> bool:
        return before.generation + 1 == self.generation and chain == self.chain_before and before.end == self.start


def commit_mac(key: bytes, which: str, vault: bytes, sealed: bytes) -> bytes:
    return derive(key, f"vaultfmt-1 commit {which}", vault + sealed)


# Section 7.2


def link(body: bytes) -> bytes:
    return hashed(str8("vaultfmt-1 link") + body)


def chained(vault: bytes, generation: int, before: bytes, of_link: bytes) -> bytes:
    return hashed(str8("vaultfmt-1 chain") + vault + u64(generation) + before + of_link)
