"""An attacker on a vault's raw bytes, with the reference implementation's decoder: the harness's part `scopes` starts it and asks.

A question is a line on standard input, its answer a line on standard output; keys and data are hexadecimal, lists are separated by commas:

    put N DATA           file number N, which later questions name
    forget               all files
    attack FILES slots=N:RAW-KEY,… index=KEY,… kept=KEY,… devices=ID:SECRET,…
                         what these files show to someone who holds what a slot of file N opens with a raw key, index keys, keys of compartments,
                         and devices
    forge SEED slots=N:RAW-KEY,… removed=N:RAW-KEY,… file=N victims=full:RAW-KEY,scoped:RAW-KEY,…
                         one forged file (forging.py), made by a holder of those slots, for readers of file N with those keys

The answer to an attack is the number of decryptions tried, and for each file a word of two lists with a slash between them: the marks (MARK-NUMBER-LETTER) in
anything that any of these keys, or of those that they unwrap, decrypts; and those that open with tag and binding, too, as the reference implementation
opens them. Every frame is tried with every key, live or dead, named by the index or not. Tags are not checked for the first list: so nothing hangs on
knowing what a frame is bound to.

The answer to a forgery is what was done, and the file.
"""

import ctypes
import ctypes.util
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from forging import Forger
from vaultfmt_reference.codec import Cursor, Refused
from vaultfmt_reference.crypto import NONCE, Keys, device_key, unseal
from vaultfmt_reference.dots import Stored
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.frames import PAGE, PAST, Place, Reference
from vaultfmt_reference.items import FORGOTTEN, HAS_PAST, decode_attributes, decode_place
from vaultfmt_reference.keyring import OWNERS, Compartment, Keyring
from vaultfmt_reference.objects import Page
from vaultfmt_reference.past import Past
from vaultfmt_reference.reader import Reader, open_record

TEXT = re.compile(rb"MARK-[0-9]+-[a-z]")
# By type: its name, and where the sealed body starts.
TYPES = {
    b"vREC": ("record", 64), b"vPAG": ("page", 32), b"vPST": ("past", 32), b"vKEY": ("keyring", 32),
    b"vVEC": ("vector", 32), b"vCMT": ("commit", 32),
}  # fmt: skip
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
    """A frame as it is in one file or several: files of one vault share many, and what a key makes of one is computed once."""

    def __init__(self, vault: bytes, offset: int, raw: bytes) -> None:
        self.vault, self.offset, self.raw, self.tag = vault, offset, raw, raw[:4]
        self.name, self.start = TYPES[self.tag]
        self.shown: dict[bytes, set[bytes]] = {}
        self.bodies: dict[bytes, bytes | None] = {}
        self.proofs: dict[tuple[bytes, bytes], set[bytes]] = {}

    def texts(self, key: bytes) -> set[bytes]:
        """The marks in what a key decrypts."""
        if key not in self.shown:
            self.shown[key] = set(TEXT.findall(decrypted(key, self.raw[8:32], self.raw[self.start :])))
        return self.shown[key]

    def body(self, index: bytes) -> bytes | None:
        """What opens under an index key, or a past under its key, bound to this place; nothing of a record."""
        if index not in self.bodies:
            try:
                self.bodies[index] = Keys(self.vault, index, b"", past=index).unseal_at(self.name, self.offset, self.raw)
            except Refused:
                self.bodies[index] = None
        return self.bodies[index]

    def keyring(self, index: bytes) -> Keyring | None:
        body = self.body(index)
        try:
            return None if body is None else Keyring.decode(body)
        except Refused:
            return None

    def places(self, index: bytes) -> Iterator[tuple[bytes, Place]]:
        """The records that a page or a past names, with their items."""
        body = self.body(index)
        if body is None:
            return
        if self.tag == PAST:
            past = Past.decode(body)
            yield from ((past.item, place) for value in past.values for place in value.places)
            return
        page = Page.decode(body, body[0])
        if body[0] > 0:
            return
        for key, value in zip(page.keys, page.values, strict=True):
            if key[0] == FORGOTTEN:
                continue
            cursor = Cursor(value)
            record, item = Reference.from_narrow(cursor), cursor.take(16)
            Stored.decode(cursor)
            place = decode_place(cursor, record)
            cursor.zigzag()
            cursor.zigzag()
            if cursor.number(1) & HAS_PAST:
                Reference.from_narrow(cursor)
            if not record.is_absent:
                yield item, place
            yield from ((item, each.place) for each in decode_attributes(cursor) if each.place)

    def proven(self, key: bytes, item: bytes, place: Place) -> set[bytes]:
        """The marks in a record that opens with its tag."""
        identity = place.identity(item)
        if (key, identity) not in self.proofs:
            try:
                self.proofs[key, identity] = set(TEXT.findall(open_record(self.vault, key, item, place, self.raw)))
            except Refused:
                self.proofs[key, identity] = set()
        return self.proofs[key, identity]


@dataclass
class Held:
    """Everything that the attacker has, or finds out on the way."""

    # Of indexes and pasts: those of the one open nothing of the others.
    index: set[bytes] = field(default_factory=set)
    groups: set[bytes] = field(default_factory=set)
    keyring: set[bytes] = field(default_factory=set)
    compartments: set[bytes] = field(default_factory=set)
    others: set[bytes] = field(default_factory=set)
    devices: list[tuple[bytes, bytes]] = field(default_factory=list)

    def take(self, keys: Keys) -> None:
        self.index.add(keys.index)
        self.groups |= set(keys.grants.values())
        if keys.is_owner:
            self.index.add(keys.past)
            self.keyring.add(keys.of_owner("keyring"))
            self.groups.add(keys.of_owner("earlier"))
            self.others |= {keys.vault_key, *(keys.of_owner(label) for label in ("owner", "signing", "slot owner", "locator"))}

    @property
    def all(self) -> set[bytes]:
        devices = {secret for _, secret in self.devices}
        return self.index | self.groups | self.keyring | self.compartments | self.others | devices


class File:
    def __init__(self, data: bytes, known: dict[tuple[int, bytes], Frame]) -> None:
        self.data = data
        self.frames: list[Frame] = []
        self.vault = data[16:32]
        for match in re.finditer(rb"vREC|vPAG|vPST|vKEY|vVEC|vCMT", data[68:]):
            at = 68 + match.start()
            length = int.from_bytes(data[at + 4 : at + 8], "little")
            if 100 <= length <= len(data) - at:
                raw = data[at : at + length]
                self.frames.append(known.setdefault((at, raw), Frame(self.vault, at, raw)))
        self.by_offset = {frame.offset: frame for frame in self.frames}
        self.opened: dict[bytes, Keys] = {}

    def slot(self, raw_key: bytes) -> Keys:
        """What a slot opens, as the reference implementation reads it."""
        if raw_key not in self.opened:
            self.opened[raw_key] = Reader(self.data, Factors(raw_key=raw_key)).keys
        return self.opened[raw_key]

    def kind(self, *tags: bytes) -> list[Frame]:
        return [frame for frame in self.frames if frame.tag in tags]


@cache
def opened(key: bytes, wrapped: bytes, bound: bytes) -> bytes | None:
    try:
        return unseal(key, wrapped[:NONCE], bound, wrapped[NONCE:], "a key")
    except Refused:
        return None


def unwrap(file: File, held: Held) -> None:
    """Every key of every keyring of the file, live or dead, that opens with a key that is held."""
    for frame in file.kind(b"vKEY"):
        for keyring in [keyring for index in held.index if (keyring := frame.keyring(index))]:
            for group in keyring.groups.values():
                bound = group.bound(file.vault)
                held.groups |= {key for each in held.keyring if (key := opened(each, group.wrapped, bound))}
            for compartment in keyring.compartments.values():
                unwrap_compartment(file.vault, compartment, held)


def unwrap_compartment(vault: bytes, compartment: Compartment, held: Held) -> None:
    # A key of group 0 is tried like any other, whatever the keyring says of the group.
    assert compartment.group >= OWNERS
    for key in [key for each in held.groups if (key := opened(each, compartment.wrapped, compartment.bound(vault)))]:
        if not compartment.is_bound:
            held.compartments.add(key)
            continue
        for _, secret in held.devices:
            if device_bound := opened(device_key(secret, vault), key, compartment.device_bound(vault)):
                held.compartments.add(device_bound)


def proven(file: File, held: Held) -> set[bytes]:
    """What opens with its tag: pages and pasts, and the records that they name, bound to what they say."""
    found: set[bytes] = set()
    for index in held.index:
        for frame in file.kind(PAGE, PAST):
            found |= set(TEXT.findall(frame.body(index) or b""))
            for item, place in frame.places(index):
                record = file.by_offset.get(place.record.offset)
                if record is not None and record.name == "record":
                    found |= {text for key in held.compartments for text in record.proven(key, item, place)}
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

    def forge(self, seed: str, slots: str, removed: str, file: str, victims: str) -> str:
        files = {int(name): each.data for name, each in self.files.items()}
        held = [(int(number), self.files[number].slot(bytes.fromhex(key))) for number, key in listed(slots) + listed(removed)]
        factors = [(int(number), Factors(raw_key=bytes.fromhex(key))) for number, key in listed(slots)]
        made_for = [(kind == "full", bytes.fromhex(key)) for kind, key in listed(victims)]
        what, data = Forger(int(seed), files, held, factors, int(file.partition("=")[2]), made_for).forge()
        return f"{what} {data.hex()}"

    def answer(self, line: str) -> str:
        words = line.split()
        if words[0] == "put":
            self.files[words[1]] = File(bytes.fromhex(words[2]), self.frames)
        elif words[0] == "forget":
            self.files.clear()
            self.frames.clear()
            opened.cache_clear()
        elif words[0] == "forge":
            return self.forge(*words[1:])
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
