"""Values that calls accept and return, and calls that do not need a vault."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import os
import stat
from collections.abc import Iterator
from typing import Any

from ._library import Arguments, check, ffi, lib, path_bytes, to_text
from .external import KeyProvider, provider_structure

BytesLike = bytes | bytearray | memoryview
# A key file's contents, or its path.
KeyFile = BytesLike | str | os.PathLike[str]

_LONGEST_KEY_FILE = 64 << 20


class Accessibility(enum.IntEnum):
    """When a secret can be read: determines which keys a locked vault keeps, and whether the device that wrote it is needed."""

    WHEN_UNLOCKED = 1
    AFTER_FIRST_UNLOCK = 2
    ALWAYS = 3
    WHEN_PASSCODE_SET_THIS_DEVICE_ONLY = 4
    WHEN_UNLOCKED_THIS_DEVICE_ONLY = 5
    AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY = 6
    ALWAYS_THIS_DEVICE_ONLY = 7


class Verdict(enum.IntEnum):
    """How a state compares with a remembered one."""

    SAME = 0
    DESCENDS = 1
    OLDER = 2
    FORKED = 3
    FOREIGN = 4


class Tail(enum.IntEnum):
    """What follows the newest commit.

    The next writer truncates a torn tail and sets an incomplete generation aside; it refuses a damaged tail until
    `Vault.repair` is called.
    """

    CLEAN = 0
    WRITE_IN_PROGRESS = 1
    TORN = 2
    INCOMPLETE = 3
    DAMAGED = 4


class AttributeFlags(enum.IntFlag):
    """The kind of an attribute's value: as secret as the item's secret; shown only on request; not text.
    """

    SEALED = 1
    CONCEALED = 2
    BINARY = 4


@dataclasses.dataclass(frozen=True)
class Factors:
    """The factors that open a slot: a passphrase (text, or UTF-8), a key file (its contents, or its path), or both; a
    provider's key, alone or with a passphrase; or a 32-byte raw key alone.
    """

    passphrase: str | BytesLike | None = dataclasses.field(default=None, repr=False)
    key_file: KeyFile | None = dataclasses.field(default=None, repr=False)
    raw_key: BytesLike | None = dataclasses.field(default=None, repr=False)
    external: KeyProvider | None = None

    def structure(self, arguments: Arguments) -> Any:
        """`vaultfmt_factors *`."""
        structure = arguments.structure("vaultfmt_factors")
        self.fill(structure, arguments)
        return structure

    def fill(self, structure: Any, arguments: Arguments) -> None:
        structure.struct_size = ffi.sizeof("vaultfmt_factors")
        arguments.bytes(self.passphrase, structure.passphrase)
        with _key_file(self.key_file) as contents:
            arguments.bytes(contents, structure.key_file)
        arguments.bytes(self.raw_key, structure.raw_key)
        if self.external is not None:
            structure.external = provider_structure(self.external, arguments)


@contextlib.contextmanager
def _key_file(given: KeyFile | None) -> Iterator[BytesLike | None]:
    """Yields a key file's contents; data read from its path is overwritten afterwards."""
    if not isinstance(given, (str, os.PathLike)):
        yield given
        return
    with open(given, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        longest = status.st_size if stat.S_ISREG(status.st_mode) else _LONGEST_KEY_FILE
        # One extra byte: the library refuses a file that is too long, and a file that grew is not truncated.
        contents = bytearray(min(longest, _LONGEST_KEY_FILE) + 1)
        size = 0
        try:
            while count := file.readinto(memoryview(contents)[size:]):
                size += count
            yield memoryview(contents)[:size]
        finally:
            contents[:] = bytes(len(contents))


@dataclasses.dataclass(frozen=True)
class KDFCost:
    """The cost of deriving a key from a passphrase with Argon2id; the default is 256 MiB, 3 passes, 1 lane."""

    memory_kib: int = 256 << 10
    passes: int = 3
    lanes: int = 1
    allow_weak: bool = False


@dataclasses.dataclass(frozen=True)
class Limits:
    """The most that key derivation may cost when opening a file; if it is exceeded, raises `KDFLimit` before any work."""

    memory_kib: int = 2 << 20
    passes: int = 16
    lanes: int = 16
    work: int = 16 << 20


@dataclasses.dataclass(frozen=True)
class Slot:
    """A slot. Name and groups are None unless the vault was opened as an owner; groups is also None for a slot that is not
    scoped. The revision is None in an inspection.

    `kind` is its number in the file. A slot is not known if it has a kind, or requires factors, that this version does
    not know: it is kept unchanged and never tried. The id never changes while the slot exists.
    """

    id: str
    kind: int
    is_known: bool
    is_full: bool
    opened_this: bool
    is_weak: bool
    takes_passphrase: bool
    takes_key_file: bool
    takes_raw_key: bool
    takes_external_key: bool
    provider: str | None
    cost: KDFCost | None
    name: str | None
    groups: tuple[str, ...] | None
    revision: int | None


def slot(structure: Any) -> Slot:
    """Returns a copy of `vaultfmt_slot`."""
    cost = None
    if structure.kdf_memory:
        cost = KDFCost(structure.kdf_memory, structure.kdf_passes, structure.kdf_lanes, bool(structure.is_weak))
    groups = None
    if structure.groups != ffi.NULL:
        groups = tuple(to_text(structure.groups[index]) for index in range(structure.group_count))
    return Slot(
        id=bytes(structure.id).hex(),
        kind=structure.kind,
        is_known=bool(structure.is_known),
        is_full=bool(structure.is_full),
        opened_this=bool(structure.opened_this),
        is_weak=bool(structure.is_weak),
        takes_passphrase=bool(structure.factors & 1),
        takes_key_file=bool(structure.factors & 6),
        takes_raw_key=bool(structure.factors & 8),
        takes_external_key=bool(structure.factors & 16),
        provider=None if structure.provider.data == ffi.NULL else to_text(structure.provider),
        cost=cost,
        name=None if structure.name.data == ffi.NULL else to_text(structure.name),
        groups=groups,
        revision=structure.revision or None,
    )


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Statistics of a vault. `items_with_past` have earlier values, or values that a merge has left to settle; `replicas` are
    the replica ids under which the vault was changed, None if their list is damaged.
    """

    items: int
    items_with_past: int
    forgotten_values: int
    file_bytes: int
    live_bytes: int
    dead_bytes: int
    tree_height: int
    is_memory_locked: bool
    kept_versions: int
    replicas: int | None


@dataclasses.dataclass(frozen=True)
class Report:
    """The results of verification: `problems` are texts and offsets, of which at most 1000 are listed."""

    is_sound: bool
    items: int
    objects: int
    unopened: int
    problem_count: int
    items_with_past: int
    forgotten_values: int
    problems: tuple[tuple[str, int | None], ...]


@dataclasses.dataclass(frozen=True)
class Inspection:
    """What a file reveals without a key; none of it is authenticated. `objects` are counts and bytes by type."""

    format_version: int
    vault_id: str
    header_bytes: int
    file_bytes: int
    tail: Tail
    tail_bytes: int
    slots: tuple[Slot, ...]
    objects: dict[str, tuple[int, int]]


def inspect(path: str | bytes | os.PathLike[str]) -> Inspection:
    """Reads what a file reveals without a key."""
    out = ffi.new("const vaultfmt_inspection **")
    check(lib.vaultfmt_inspect(path_bytes(path), out))
    found = out[0]
    try:
        return Inspection(
            format_version=found.format_version,
            vault_id=bytes(found.vault_id).hex(),
            header_bytes=found.header_bytes,
            file_bytes=found.file_bytes,
            tail=Tail(found.tail),
            tail_bytes=found.tail_size,
            slots=tuple(slot(found.slots[index]) for index in range(found.slot_count)),
            objects={
                to_text(found.objects[index].type): (found.objects[index].count, found.objects[index].bytes)
                for index in range(found.object_type_count)
            },
        )
    finally:
        lib.vaultfmt_inspection_free(found)


def generate_key_file() -> bytes:
    """Generates the contents of a new key file."""
    return _generated(lib.vaultfmt_key_file_generate, 89)


def generate_device() -> bytes:
    """Generates a new device for device-only items: its id and secret, 48 bytes."""
    return _generated(lib.vaultfmt_device_generate, 48)


def _generated(function: Any, size: int) -> bytes:
    with Arguments() as arguments:
        memory = arguments.bytes(bytes(size))
        check(function(ffi.cast("uint8_t *", memory.data)))
        return bytes(ffi.buffer(memory.data, size))


def library_version() -> str:
    """Returns the version of the library."""
    return ffi.string(lib.vaultfmt_version()).decode()


def format_version() -> int:
    """Returns the newest version of the format that the library reads and writes."""
    return int(lib.vaultfmt_format_version())
