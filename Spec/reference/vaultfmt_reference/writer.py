"""Writes a fresh vault in the compact form: header, records, pages, keyring, a history if asked for, and one commit."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from os.path import commonprefix
from typing import TypeVar

from .codec import ALIGNMENT, MAGIC, VERSION, Attributes, Extension, Limit, check_key, is_in_record, str8, u8, u16, u32
from .crypto import NONCE, Factors, Keys, Stretching, derive, hashed, object_data, seal
from .header import FULL, SCOPED, Slot, encode_grants, encode_owner_part, header_macs
from .objects import (
    Commit, Compartment, Entry, Group, History, Keyring, Page, Reference, Tombstone, chained, commit_mac, encode_record,
)

T = TypeVar("T")
Random = Callable[[int], bytes]


@dataclass
class NewItem:
    key: bytes
    secret: bytes
    attributes: Attributes = field(default_factory=dict)
    accessibility: int = 1
    device: bytes = bytes(16)
    id: bytes = b""
    revision: int = 1
    record_revision: int = 1
    # The position in the list of devices; 0 for none.
    made_by: int = 0
    created: int = 0
    modified: int = 0


@dataclass
class NewSlot:
    factors: Factors
    stretching: Stretching = field(default_factory=Stretching)
    name: bytes = b""
    # The names of the groups that a scoped slot grants; None for a full one.
    grants: list[bytes] | None = None


@dataclass
class NewVault:
    slots: list[NewSlot]
    items: list[NewItem] = field(default_factory=list)
    tombstones: list[Tombstone] = field(default_factory=list)
    groups: list[bytes] = field(default_factory=list)
    devices: list[bytes] = field(default_factory=list)
    # By id; every device that a compartment is for.
    device_secrets: dict[bytes, bytes] = field(default_factory=dict)
    header_extensions: list[Extension] = field(default_factory=list)
    keyring_extensions: list[Extension] = field(default_factory=list)
    clock: int = 1
    history: History | None = None
    # The chain value of the generation before the history's first.
    chain_before: bytes = bytes(32)


def write(new: NewVault, random: Random) -> bytes:
    return Writer(new, random).file()


class Writer:
    def __init__(self, new: NewVault, random: Random) -> None:
        # whatever the caller passes here has to be the system's source, but in tests.
        self.new, self.random = new, random
        self.epoch = random(32)
        self.keys = Keys(random(16), self.epoch, random(32))
        self.make_keyring()

    def wrap(self, key: bytes, bound: bytes, plain: bytes) -> bytes:
        nonce = self.random(NONCE)
        return nonce + seal(key, nonce, bound, plain)

    # Section 5.3

    def make_keyring(self) -> None:
        vault = self.keys.vault
        names = sorted({*self.new.groups, *(check_key(item.key) for item in self.new.items)})
        self.group_keys = {name: self.random(32) for name in names}
        self.groups: dict[bytes, Group] = {}
        for number, name in enumerate(names, 1):
            group = Group(number, name)
            self.groups[name] = replace(group, wrapped=self.wrap(self.keys.keyring, group.data(vault), self.group_keys[name]))
        self.compartments: dict[tuple[bytes, int, bytes], tuple[Compartment, bytes]] = {}
        for item in self.new.items:
            name = check_key(item.key)
            kind = (name, item.accessibility, item.device)
            if kind not in self.compartments:
                bare = Compartment(len(self.compartments) + 1, self.groups[name].number, item.accessibility, item.device)
                key = self.random(32)
                self.compartments[kind] = (replace(bare, wrapped=self.wrap_compartment(bare, key, self.group_keys[name])), key)

    def wrap_compartment(self, compartment: Compartment, key: bytes, group_key: bytes) -> bytes:
        vault = self.keys.vault
        if compartment.is_bound:
            device_key = derive(self.new.device_secrets[compartment.device], "vaultfmt-1 device", vault)
            key = self.wrap(device_key, compartment.data("device compartment", vault), key)
        return self.wrap(group_key, compartment.data("compartment", vault), key)

    def keyring(self) -> Keyring:
        compartments = {each.number: each for each, _ in self.compartments.values()}
        groups = {group.number: group for group in self.groups.values()}
        next_numbers = len(compartments) + 1, len(groups) + 1
        return Keyring(*next_numbers, self.new.devices, groups, compartments, self.new.keyring_extensions)

    # Section 3

    def header(self) -> bytes:
        slots = b"".join(self.slot(each).encode() for each in self.new.slots)
        content = slots + b"".join(each.encode() for each in self.new.header_extensions)
        length = -(-(68 + len(content) + 64) // 4096) * 4096
        counts = u8(len(self.new.slots)) + u8(len(self.new.header_extensions)) + u16(0)
        covered = MAGIC + u16(VERSION) + u16(0) + u32(length) + self.keys.vault + self.epoch + counts + content
        covered = covered.ljust(length - 64, b"\0")
        return covered + header_macs(self.keys, covered)

    def slot(self, new: NewSlot) -> Slot:
        kind, vault = FULL if new.grants is None else SCOPED, self.keys.vault
        stretching = replace(new.stretching, salt=self.random(16)) if new.factors.kinds & 5 else Stretching()
        slot = Slot(self.random(16), kind, new.factors.kinds, stretching)
        key = new.factors.slot_key(vault, slot.parameters, stretching)
        slot = replace(slot, commitment=derive(key, "vaultfmt-1 slot commitment"))
        wrapping_key = derive(key, "vaultfmt-1 slot wrap")
        payload = self.keys.vault_key
        if new.grants is not None:
            grants = {self.groups[name].number: self.group_keys[name] for name in new.grants}
            payload = encode_grants(self.keys.index, self.keys.reader, grants)
        sealed = self.wrap(wrapping_key, str8("vaultfmt-1 slot") + vault + slot.clear, payload)
        owner = encode_owner_part(new.name, bytes(32) if kind == FULL else wrapping_key)
        owner = self.wrap(self.keys.slot_owner, str8("vaultfmt-1 slot owner") + vault + slot.clear, owner)
        slot = replace(slot, nonce=sealed[:NONCE], payload=sealed[NONCE:])
        return replace(slot, owner_nonce=owner[:NONCE], owner_part=owner[NONCE:])

    # Sections 5.1 and 5.2

    def append(self, frame: bytes) -> Reference:
        reference = Reference(len(self.out), len(frame), hashed(frame))
        self.out += frame
        self.hashes += reference.hash
        self.appended += len(frame)
        return reference

    def append_at(self, kind: str, tag: bytes, body: bytes) -> Reference:
        return self.append(self.keys.seal_at(kind, tag, len(self.out), self.random(NONCE), body))

    def records(self) -> dict[bytes, bytes]:
        """Writes them in the order of their ids (R-7.15); gives the leaf entries."""
        entries = {}
        for item in self.new.items:
            item.id = item.id or self.random(16)
        for item in sorted(self.new.items, key=lambda item: item.id):
            compartment, key = self.compartments[check_key(item.key), item.accessibility, item.device]
            small = {name: value for name, value in item.attributes.items() if not is_in_record(name, value)}
            entry = Entry(
                Reference(), item.id, item.revision, item.made_by, item.record_revision, compartment.number, item.created,
                item.modified, len(item.attributes) - len(small), small,
            )  # fmt: skip
            body = encode_record(item.key, item.secret, item.attributes)
            head, nonce = b"vREC" + u32(len(body) + 76), self.random(NONCE)
            bound = object_data("record", self.keys.vault, entry.identity, head)
            frame = head + nonce + self.keys.locator(nonce, entry.locator) + seal(key, nonce, bound, body)
            entries[item.key] = replace(entry, record=self.append(frame)).encode()
        return entries

    def tree(self, entries: dict[bytes, bytes]) -> tuple[Reference, int]:
        """Writes it from the leaves up; gives the root and its level."""
        groups = runs(sorted(entries.items()), leaf, least=1)
        firsts = [b"", *(separator(left[-1][0], right[0][0]) for left, right in pairwise(groups))]
        pages, level = [leaf(group) for group in groups], 0
        while len(pages) > 0:
            nodes = [(first, self.append_at("page", b"vPAG", page.encode())) for first, page in zip(firsts, pages, strict=True)]
            if len(nodes) == 1:
                return nodes[0][1], level
            level += 1
            spans = runs(nodes, partial(inner, level), least=4)
            firsts, pages = [span[0][0] for span in spans], [inner(level, span) for span in spans]
        return Reference(), 0

    # Section 5.5

    def file(self) -> bytes:
        self.out, self.hashes, self.appended = bytearray(self.header()), b"", 0
        start, header_hash = len(self.out), hashed(bytes(self.out))
        entries = self.records() | dict(tombstone.encode() for tombstone in self.new.tombstones)
        root, level = self.tree(entries)
        keyring = self.append_at("keyring", b"vKEY", self.keyring().encode())
        history, generation, chain = self.past()
        self.out += bytes(-len(self.out) % ALIGNMENT)
        offset = len(self.out)
        live = start + self.appended + Limit.COMMIT
        commit = Commit(
            generation, offset, start, 0, self.new.clock, int(offset - start > Limit.SMALL_COMMIT), root, level, keyring, history,
            header_hash, chain, hashed(str8("vaultfmt-1 digest") + self.hashes), len(self.new.items), len(self.new.tombstones), live,
        )  # fmt: skip
        sealed = self.keys.seal_at("commit", b"vCMT", offset, self.random(NONCE), commit.encode(), extra=64)
        reader = commit_mac(self.keys.reader, "reader", self.keys.vault, sealed)
        return bytes(self.out) + sealed + reader + commit_mac(self.keys.owner, "owner", self.keys.vault, sealed)

    def past(self) -> tuple[Reference, int, bytes]:
        """The history, the generation that follows it, and the chain value of the one before that."""
        history, chain = self.new.history, self.new.chain_before
        if history is None:
            return Reference(), 1, bytes(32)
        for generation, link in enumerate(history.links, history.first):
            chain = chained(self.keys.vault, generation, chain, link)
        return self.append_at("history", b"vHIS", history.encode()), history.first + len(history.links), chain


# Section 5.2: pages of about 2 KiB.


def leaf(entries: list[tuple[bytes, bytes]]) -> Page:
    return Page(0, [key for key, _ in entries], [value for _, value in entries], [])


def inner(level: int, nodes: list[tuple[bytes, Reference]]) -> Page:
    """Of children, each with the separator before it; the first one's is its parent's business."""
    return Page(level, [separator for separator, _ in nodes[1:]], [], [child for _, child in nodes])


def runs(entries: list[T], page: Callable[[list[T]], Page], least: int) -> list[list[T]]:
    out: list[list[T]] = []
    for entry in entries:
        if not out or (len(out[-1]) >= least and len(page([*out[-1], entry]).encode()) + 48 > Limit.PAGE_GOAL):
            out.append([])
        out[-1].append(entry)
    return out


def separator(before: bytes, after: bytes) -> bytes:
    """The shortest that is greater than the one, and not greater than the other."""
    return after[: len(commonprefix([before, after])) + 1]
