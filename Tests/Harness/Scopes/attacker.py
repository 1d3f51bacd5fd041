"""An attacker on a vault's raw bytes, with the reference implementation's decoder: the harness's part `scopes` starts it and asks.

A question is a line on standard input, its answer a line on standard output; keys and data are hexadecimal, lists are separated by commas:

    put N DATA           file number N, which later questions name
    forget               all files
    attack FILES slots=N:RAW-KEY,… index=KEY,… kept=KEY,… devices=ID:SECRET,…
                         what these files show to someone who holds what a slot of file N opens with a raw key, index keys, keys of compartments,
                         and devices

The answer to an attack is the number of decryptions tried, and for each file a word of two lists with a slash between them: the marks (MARK-NUMBER-LETTER) in
anything that any of these keys, or of those that they unwrap, decrypts; and those that open with tag and binding, too, as the reference implementation
opens them. Every frame is tried with every key, live or dead, named by the index or not. Tags are not checked for the first list: so nothing hangs on
knowing what a frame is bound to.
"""

import ctypes
import ctypes.util
import re
import sys
from dataclasses import dataclass, field
from functools import cache

from vaultfmt_reference.codec import Refused
from vaultfmt_reference.crypto import Factors, Keys, derive, object_data, unseal
from vaultfmt_reference.objects import Compartment, Keyring
from vaultfmt_reference.reader import Reader

TEXT = re.compile(rb"MARK-[0-9]+-[a-z]")
TAGS = {b"vREC": 60, b"vPAG": 32, b"vKEY": 32, b"vHIS": 32, b"vCMT": 32}
sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
stream = sodium.crypto_stream_xchacha20_xor_ic
stream.argtypes = [
    ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulonglong, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p,
]  # fmt: skip


def decrypted(key: bytes, nonce: bytes, sealed: bytes) -> bytes:
    """The plaintext under a key, whatever the tag says: block 0 is the tag's key."""
    out = ctypes.create_string_buffer(len(sealed))
    stream(out, sealed, len(sealed), nonce, 1, key)
    return out.raw


class Frame:
    """A frame as it stands in one file or several: files of one vault share many, and what a key made of one is made once."""

    def __init__(self, vault: bytes, offset: int, raw: bytes) -> None:
        self.vault, self.offset, self.raw, self.tag = vault, offset, raw, raw[:4]
        self.shown: dict[bytes, set[bytes]] = {}
        self.proofs: dict[tuple[bytes, bytes], set[bytes]] = {}
        self.keyrings: dict[bytes, Keyring | None] = {}

    def texts(self, key: bytes) -> set[bytes]:
        """The marks in what a key decrypts."""
        if key not in self.shown:
            self.shown[key] = set(TEXT.findall(decrypted(key, self.raw[8:32], self.raw[TAGS[self.tag] :])))
        return self.shown[key]

    def proven(self, index: bytes, key: bytes) -> set[bytes]:
        """The marks in what opens with its tag: a page under an index key, a record also under a compartment's."""
        if (index, key) not in self.proofs:
            try:
                self.proofs[index, key] = set(TEXT.findall(self.opened(Keys.scoped(self.vault, index, b"", {}), key)))
            except Refused:
                self.proofs[index, key] = set()
        return self.proofs[index, key]

    def opened(self, keys: Keys, key: bytes) -> bytes:
        if self.tag == b"vPAG":
            return keys.unseal_at("page", self.offset, self.raw)
        identity = keys.locator(self.raw[8:32], self.raw[32:60])
        # In the associated data the compartment stands before the revision.
        bound = object_data("record", self.vault, identity[:16] + identity[24:] + identity[16:24], self.raw)
        return unseal(key, self.raw[8:32], bound, self.raw[60:], "a record")

    def keyring(self, index: bytes) -> Keyring | None:
        if index not in self.keyrings:
            try:
                body = Keys.scoped(self.vault, index, b"", {}).unseal_at("keyring", self.offset, self.raw)
                self.keyrings[index] = Keyring.decode(body)
            except Refused:
                self.keyrings[index] = None
        return self.keyrings[index]


@dataclass
class Held:
    """Everything that the attacker has, or finds out on the way."""

    index: set[bytes] = field(default_factory=set)
    groups: set[bytes] = field(default_factory=set)
    keyring: set[bytes] = field(default_factory=set)
    compartments: set[bytes] = field(default_factory=set)
    others: set[bytes] = field(default_factory=set)
    devices: list[tuple[bytes, bytes]] = field(default_factory=list)

    def take(self, keys: Keys) -> None:
        self.index.add(keys.index)
        self.groups |= set(keys.grants.values())
        self.others.add(keys.reader)
        if keys.is_owner:
            self.keyring.add(keys.keyring)
            self.others |= {keys.vault_key, keys.owner, keys.slot_owner}

    @property
    def all(self) -> set[bytes]:
        devices = {secret for _, secret in self.devices}
        return self.index | self.groups | self.keyring | self.compartments | self.others | devices


class File:
    def __init__(self, data: bytes, known: dict[tuple[int, bytes], Frame]) -> None:
        self.data = data
        self.frames: list[Frame] = []
        self.vault = data[16:32]
        for match in re.finditer(rb"vREC|vPAG|vKEY|vHIS|vCMT", data[68:]):
            at = 68 + match.start()
            length = int.from_bytes(data[at + 4 : at + 8], "little")
            if 100 <= length <= len(data) - at:
                raw = data[at : at + length]
                self.frames.append(known.setdefault((at, raw), Frame(self.vault, at, raw)))
        self.opened: dict[bytes, Keys] = {}

    def slot(self, raw_key: bytes) -> Keys:
        """What a slot opens, as the reference implementation reads it."""
        if raw_key not in self.opened:
            self.opened[raw_key] = Reader(self.data, Factors(raw_key=raw_key)).keys
        return self.opened[raw_key]

    def kind(self, tag: bytes) -> list[Frame]:
        return [frame for frame in self.frames if frame.tag == tag]


@cache
def opened(key: bytes, wrapped: bytes, bound: bytes) -> bytes | None:
    try:
        return unseal(key, wrapped[:24], bound, wrapped[24:], "a key")
    except Refused:
        return None


def unwrap(file: File, held: Held) -> None:
    """Every key of every keyring of the file, live or dead, that opens with a key that is held."""
    for frame in file.kind(b"vKEY"):
        for keyring in [keyring for index in held.index if (keyring := frame.keyring(index))]:
            for group in keyring.groups.values():
                data = group.data(file.vault)
                held.groups |= {key for each in held.keyring if (key := opened(each, group.wrapped, data))}
            for compartment in keyring.compartments.values():
                unwrap_compartment(file.vault, compartment, held)


def unwrap_compartment(vault: bytes, compartment: Compartment, held: Held) -> None:
    data, inner = compartment.data("compartment", vault), compartment.data("device compartment", vault)
    for key in [key for each in held.groups if (key := opened(each, compartment.wrapped, data))]:
        if not compartment.is_bound:
            held.compartments.add(key)
            continue
        for _, secret in held.devices:
            if device_bound := opened(derive(secret, "vaultfmt-1 device", vault), key, inner):
                held.compartments.add(device_bound)


def proven(file: File, held: Held) -> set[bytes]:
    """What opens with its tag, bound to what its locator or place says."""
    found: set[bytes] = set()
    for index in held.index:
        for frame in file.kind(b"vPAG"):
            found |= frame.proven(index, b"")
        for frame in file.kind(b"vREC"):
            for key in held.compartments:
                found |= frame.proven(index, key)
    return found


def listed(word: str) -> list[list[str]]:
    """The list of `name=a:b,c:d`."""
    return [each.split(":") for each in word.partition("=")[2].split(",") if each]


class Attacker:
    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.frames: dict[tuple[int, bytes], Frame] = {}

    def held(self, slots: str, index: str, kept: str, devices: str) -> Held:
        held = Held(devices=[(bytes.fromhex(each), bytes.fromhex(secret)) for each, secret in listed(devices)])
        for number, raw_key in listed(slots):
            held.take(self.files[number].slot(bytes.fromhex(raw_key)))
        held.index |= {bytes.fromhex(key) for (key,) in listed(index)}
        held.compartments |= {bytes.fromhex(key) for (key,) in listed(kept)}
        return held

    def attack(self, names: str, *rest: str) -> str:
        files = [self.files[name] for name in names.split(",")]
        held = self.held(*rest)
        # Whoever opened a slot of a file had its keyrings, too; and a key of one file may open what another has.
        known = {name: self.files[name] for name in [*names.split(","), *(number for number, _ in listed(rest[0]))]}
        for _ in range(2):
            for file in known.values():
                unwrap(file, held)
        keys = held.all
        words = []
        for file in files:
            shown = {text for frame in file.frames for key in keys for text in frame.texts(key)}
            words.append("/".join(b",".join(sorted(each)).decode() for each in (shown, proven(file, held))))
        return " ".join([str(sum(len(file.frames) for file in files) * len(keys)), *words])

    def answer(self, line: str) -> str:
        words = line.split()
        if words[0] == "put":
            self.files[words[1]] = File(bytes.fromhex(words[2]), self.frames)
        elif words[0] == "forget":
            self.files.clear()
            self.frames.clear()
            opened.cache_clear()
        else:
            return self.attack(*words[1:])
        return ""


def main() -> None:
    attacker = Attacker()
    for line in sys.stdin:
        sys.stdout.write(attacker.answer(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
