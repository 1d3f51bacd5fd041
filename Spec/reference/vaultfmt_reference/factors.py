"""What opens a slot: passphrases, key files, raw keys, and the external keys of providers (section 3.1)."""

import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from unicodedata import normalize

from argon2.low_level import Type, hash_secret_raw

from .codec import Cursor, Limit, at_most, require, short, str8, u8, u16, u32, visible
from .crypto import hashed, mac

PASSPHRASE, GENERATED, KEY_FILE, RAW_KEY, EXTERNAL = 0x01, 0x02, 0x04, 0x08, 0x10
KNOWN = (0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x10, 0x11)
STRETCHED = PASSPHRASE | KEY_FILE

# A provider's slots by id, each with its parameters, and the candidates for each.
Unwrap = Callable[[dict[bytes, bytes]], dict[bytes, list[bytes]]]


@dataclass(frozen=True)
class Stretching:
    """What a slot says about Argon2id."""

    memory: int
    passes: int
    lanes: int = 1
    salt: bytes = bytes(32)

    @property
    def cost(self) -> int:
        return self.memory * self.passes

    def encode(self) -> bytes:
        return u32(self.memory) + u32(self.passes) + u32(self.lanes) + self.salt

    def stretch(self, password: bytes) -> bytes:
        return hash_secret_raw(password, self.salt, self.passes, self.memory, self.lanes, 32, Type.ID, 0x13)


@dataclass(frozen=True)
class Provider:
    """What a slot says about the provider of its external key."""

    name: bytes
    parameters: bytes = b""

    def encode(self) -> bytes:
        return short(self.name) + u16(len(self.parameters)) + self.parameters


@dataclass(frozen=True)
class Parameters:
    stretching: Stretching | None = None
    provider: Provider | None = None

    def encode(self) -> bytes:
        stretching, provider = self.stretching, self.provider
        return (stretching.encode() if stretching else b"") + (provider.encode() if provider else b"")

    @classmethod
    def decode(cls, factors: int, data: bytes) -> "Parameters":
        """Of a known slot (R-3.9)."""
        cursor, stretching, provider = Cursor(data), None, None
        if factors & STRETCHED:
            stretching = Stretching(cursor.number(4), cursor.number(4), cursor.number(4), cursor.take(32))
            require(0 < stretching.lanes < 1 << 24 and stretching.passes > 0, "a slot's lanes or passes (R-3.9)")
            require(stretching.memory >= 8 * stretching.lanes, "a slot's memory (R-3.9)")
        if factors & EXTERNAL:
            name = visible(cursor.short(Limit.PROVIDER_NAME, "a provider's name"), "a provider's name")
            provider = Provider(name, cursor.take(at_most(cursor.number(2), Limit.PROVIDER_DATA, "a provider's parameters")))
        cursor.finish()
        return cls(stretching, provider)


@dataclass(frozen=True)
class Policy:
    """What a reader is willing to spend (R-3.11)."""

    memory: int = 2 << 20
    passes: int = 16
    lanes: int = 16
    total: int = 1 << 24

    def allows(self, kdf: Stretching) -> bool:
        return kdf.memory <= self.memory and kdf.passes <= self.passes and kdf.lanes <= self.lanes


class Factors:
    """What a user gives: `Refused` for what is no factor."""

    def __init__(
        self,
        passphrase: bytes | None = None,
        key_file: bytes | None = None,
        raw_key: bytes | None = None,
        provider: bytes = b"",
        unwrap: Unwrap | None = None,
    ) -> None:
        self.kinds, self.passphrase, self.file_hash, self.key = 0, b"", b"", b""
        self.provider, self.unwrap = provider, unwrap
        if passphrase is not None:
            self.kinds, self.passphrase = PASSPHRASE, normalised(passphrase)
        if key_file is not None and key_file.startswith(b"VAULTFMT-KEY-"):
            self.kinds, self.key = self.kinds | GENERATED, generated_key(key_file)
        elif key_file is not None:
            require(1 <= len(key_file) <= Limit.KEY_FILE, "a key file's length", "no-slot-opens")
            self.kinds, self.file_hash = self.kinds | KEY_FILE, hashed(str8("vaultfmt-1 key file") + key_file)
        if raw_key is not None:
            require(len(raw_key) == 32, "a raw key is 32 bytes", "no-slot-opens")
            self.kinds, self.key = self.kinds | RAW_KEY, raw_key
        if unwrap is not None:
            self.kinds |= EXTERNAL
        # A combination that no slot of format 1 can have (section 3.1).
        require(self.kinds in KNOWN, "no factor, or factors that do not go together", "no-slot-opens")

    def candidates(self, slots: dict[bytes, bytes]) -> dict[bytes, list[bytes]]:
        """The keys to try for each slot, 16 at most; asked once, with the provider's parameters of all of them."""
        if self.unwrap is None:
            return {slot: [self.key] for slot in slots}
        found = self.unwrap(slots)
        return {slot: found.get(slot, [])[: Limit.CANDIDATES] for slot in slots}

    def stretched(self, kdf: Stretching | None) -> bytes:
        if kdf is None:
            return b""
        sizes = u8(self.kinds) + u32(len(self.passphrase))
        return kdf.stretch(hashed(str8("vaultfmt-1 stretch") + sizes + self.passphrase + self.file_hash))


def slot_key(material: bytes, vault: bytes, bound: bytes) -> bytes:
    """Bound to bytes 0 to 32+p of the slot."""
    return mac(material, str8("vaultfmt-1 slot key") + vault + bound)


def normalised(passphrase: bytes) -> bytes:
    """R-3.18."""
    require(1 <= len(passphrase) <= Limit.PASSPHRASE, "a passphrase's length (R-3.18)", "no-slot-opens")
    try:
        decoded = passphrase.decode("utf-8")
    except UnicodeDecodeError:
        decoded = ""
    require(decoded != "", "the passphrase is not UTF-8 (R-3.18)", "no-slot-opens")
    runs = (list(run) for _, run in groupby(decoded, is_assigned))
    return "".join(normalize("NFC", "".join(run)) if is_assigned(run[0]) else "".join(run) for run in runs).encode("utf-8")


def is_assigned(character: str) -> bool:
    """Whether Unicode 13.0 has it (section 3.1). Later versions agree on the NFC of text that has nothing else."""
    after = bisect_right(UNASSIGNED, (ord(character), sys.maxunicode + 1))
    return after == 0 or ord(character) > UNASSIGNED[after - 1][1]


def unassigned() -> list[tuple[int, int]]:
    lines = (Path(__file__).parents[2] / "unicode-13.txt").read_text("ascii").splitlines()
    ranges = [line.split("..") for line in lines if not line.startswith("#")]
    return [(int(each[0], 16), int(each[-1], 16)) for each in ranges]


UNASSIGNED = unassigned()


def check_new(passphrase: bytes) -> None:
    """Of a slot that is not yet there (R-3.18): for writers."""
    require(all(map(is_assigned, passphrase.decode("utf-8"))), "a character that Unicode 13.0 does not have (R-3.18)", "limit")


def generated_key(content: bytes) -> bytes:
    """R-3.19."""
    try:
        key = bytes.fromhex(content[15:79].decode("ascii"))
    except ValueError:
        key = b""
    require(len(key) == 32 and content == key_file(key), "a damaged key file (R-3.19)", "no-slot-opens")
    return key


def key_file(key: bytes) -> bytes:
    check = hashed(str8("vaultfmt-1 key file check") + key)[:4].hex()
    return f"VAULTFMT-KEY-1-{key.hex()}-{check}\n".encode("ascii")
