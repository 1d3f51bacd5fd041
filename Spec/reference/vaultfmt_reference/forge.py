"""Builds a vault again from its parts, with any of them altered: for tests and vectors of what readers have to refuse.

Every part can be altered before it is sealed, hashed or referred to, so that a fault is met where it is and nowhere else.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from . import signature
from .codec import SECTOR, pad_step, require, u32
from .crypto import NONCE, Keys, associated, derive, hashed, seal
from .dots import VectorFrame
from .frames import KEYRING, PAGE, PAST, RECORD, VECTOR, Place, Reference
from .header import ENDING, Header, signed_header
from .items import FORGOTTEN, Entry
from .keyring import Keyring
from .objects import Commit, Page, chain_value, digest_of, signed_by_commit
from .output import needs_signature
from .past import Past, PastValue
from .reader import Reader

Alter = Callable[[bytes], bytes]


@dataclass
class Sealing:
    """What a frame is sealed with."""

    key: bytes
    bound: bytes
    nonce: bytes


class Forge:
    """Of a vault with one commit and at most one page.

    `alter` has functions by the name of a part: `header` (bytes 0 to L-64), `ending` (hash and MAC), `copy`, `record N` (a body),
    `record-frame N`, `past N`, `page`, `page-frame`, `keyring`, `keyring-frame`, `vector`, `core`, `proof` (MAC and
    signature), `commit-frame`, `padding`, `file`; N counts from 0, in the order of the file. `sealing` has functions that alter
    key, associated data or nonce, by the same names.
    """

    def __init__(self, reader: Reader, random: Callable[[int], bytes]) -> None:
        require(reader.commit.level == 0 and reader.commit.start == reader.header.body, "a vault with one commit and one page")
        self.reader, self.random = reader, random
        self.keys: Keys = reader.keys
        self.header: Header = reader.header
        self.keyring: Keyring = reader.keyring
        self.vector: VectorFrame = reader.vector_frame[1]
        # The rows of the vector of each hand-over.
        self.hand_overs = [reader.hand_over_rows(each) for each in reader.keyring.hand_overs]
        self.commit: Commit = reader.commit
        self.entries: dict[bytes, Entry | bytes] = {}
        self.pasts: dict[bytes, Past] = {}
        self.bodies: dict[Place, tuple[bytes, bytes]] = {}
        for key, value, page in reader.entries():
            if key[0] == FORGOTTEN:
                self.entries[key] = value
                continue
            entry = reader.entry(key, value)
            self.entries[key] = entry
            places = entry.places
            if entry.past:
                self.pasts[entry.id] = reader.past(entry, page)
                places += self.pasts[entry.id].places
            for place in places:
                self.bodies[place] = entry.id, reader.record_body(entry.id, place, page)

    def build(
        self,
        alter: dict[str, Alter] | None = None,
        sealing: dict[str, Callable[[Sealing], Sealing]] | None = None,
        core: Callable[[Commit], Commit] | None = None,
        entry: Callable[[Entry], Entry] | None = None,
        past: Callable[[Past], Past] | None = None,
    ) -> bytes:
        """The file. `core`, `entry` and `past` alter what is decoded, of every entry and past."""
        self.alter, self.sealing, self.used = alter or {}, sealing or {}, set[str]()
        self.hashes: list[bytes] = []
        covered = self.altered("header", self.header.raw[:-ENDING])
        raw = covered + self.altered("ending", signed_header(covered, self.keys.index)[-ENDING:])
        self.out = bytearray(raw + self.altered("copy", raw))
        moved = self.records()
        page = self.page(moved, entry or (lambda each: each), past or (lambda each: each))
        overs = [
            replace(each, vector=self.append(f"hand-over {number}", VECTOR, VectorFrame(None, [], rows).encode()))
            for number, (each, rows) in enumerate(zip(self.keyring.hand_overs, self.hand_overs, strict=False))
        ]  # fmt: skip
        self.keyring = replace(self.keyring, hand_overs=overs + self.keyring.hand_overs[len(overs) :])
        keyring = self.append("keyring", KEYRING, self.keyring.encode())
        vector = self.append("vector", VECTOR, self.vector.encode())
        self.out += self.altered("padding", bytes(-len(self.out) % SECTOR))
        commit = replace(
            self.commit, offset=len(self.out), start=2 * len(raw), root=page, keyring=keyring, vector=vector,
            header_hash=raw[-ENDING:-32], digest=digest_of(self.hashes),
        )  # fmt: skip
        data = self.altered("file", bytes(self.out) + self.commit_frame(core(commit) if core else commit))
        unused = (self.alter.keys() | self.sealing.keys()) - self.used
        require(not unused, f"no part {unused}")
        return data

    def altered(self, name: str, data: bytes) -> bytes:
        self.used.add(name)
        return self.alter[name](data) if name in self.alter else data

    def sealed(self, name: str, given: Sealing, body: bytes) -> tuple[bytes, bytes]:
        """The nonce, and what it seals."""
        self.used.add(name)
        given = self.sealing[name](given) if name in self.sealing else given
        return given.nonce, seal(given.key, given.nonce, given.bound, body)

    def append(self, name: str, tag: bytes, body: bytes) -> Reference:
        body = self.altered(name, body)
        kind = {b"vVEC": "vector", b"vPST": "past"}.get(tag, name)
        head, at = tag + u32(len(body) + 48), len(self.out).to_bytes(8, "little")
        given = Sealing(self.keys.of_frame(kind), associated(kind, self.keys.vault, at, head), self.random(NONCE))
        return self.place(f"{name}-frame", head + b"".join(self.sealed(name, given, body)))

    def place(self, name: str, frame: bytes) -> Reference:
        frame = self.altered(name, frame)
        reference = Reference(len(self.out), len(frame), hashed(frame))
        self.out += frame
        self.hashes.append(reference.hash)
        return reference

    def records(self) -> dict[Place, Place]:
        moved = {}
        for number, (place, (item, plain)) in enumerate(self.bodies.items()):
            body = self.altered(f"record {number}", plain)
            head, identity = RECORD + u32(len(body) + 80), place.identity(item)
            key = self.keyring.compartment_key(self.keys, place.compartment, self.reader.devices)
            given = Sealing(key, associated("record", self.keys.vault, identity, head), self.random(NONCE))
            nonce, sealed = self.sealed(f"record {number}", given, body)
            frame = head + nonce + self.keys.locator(nonce, identity) + sealed
            moved[place] = replace(place, record=self.place(f"record-frame {number}", frame))
        return moved

    def page(self, moved: dict[Place, Place], alter: Callable[[Entry], Entry], alter_past: Callable[[Past], Past]) -> Reference:
        values = {}
        for key, each in sorted(self.entries.items()):
            if isinstance(each, bytes):
                values[key] = each
                continue
            held = replace(each, place=moved.get(each.place, each.place), attributes=self.moved(each.attributes, moved))
            if each.past:
                past = self.pasts[each.id]
                past = alter_past(replace(past, values=[self.moved_value(one, moved) for one in past.values]))
                number = sum(1 for name in self.used if name.startswith("past ") and not name.endswith("-frame"))
                body = past.encode()
                held = replace(held, past=self.append(f"past {number}", PAST, body.ljust(pad_step(len(body)), b"\0")))
            values[key] = alter(held).encode()
        if not values:
            return Reference()
        return self.append("page", PAGE, Page(0, list(values), list(values.values()), []).encode())

    def moved_value(self, value: PastValue, moved: dict[Place, Place]) -> PastValue:
        place = moved[value.place] if value.place else None
        return replace(value, place=place, attributes=self.moved(value.attributes, moved))

    def moved(self, attributes: tuple, moved: dict[Place, Place]) -> tuple:  # type: ignore[type-arg]
        return tuple(replace(each, place=moved[each.place]) if each.place else each for each in attributes)

    def commit_frame(self, commit: Commit) -> bytes:
        core = self.altered("core", commit.encode())
        chain = chain_value(self.keys.vault, core)
        seed = self.keys.of_owner("signing")
        proof = derive(self.keys.of_owner("owner"), "commit owner", chain)
        proof += signature.sign(seed, signed_by_commit(chain)) if needs_signature(self.header) else bytes(64)
        body = core + self.altered("proof", proof)
        head, at = b"vCMT" + u32(len(body) + 48), len(self.out).to_bytes(8, "little")
        given = Sealing(self.keys.index, associated("commit", self.keys.vault, at, head), self.random(NONCE))
        return self.altered("commit-frame", head + b"".join(self.sealed("commit", given, body)))


def patch(offset: int, data: bytes) -> Alter:
    """Writes over what is there; from the end if the offset is negative."""

    def alter(before: bytes) -> bytes:
        at = offset % len(before) if before else 0
        return before[:at] + data + before[at + len(data) :]

    return alter


def flip(offset: int, bit: int = 1) -> Alter:
    return lambda before: patch(offset, bytes([before[offset] ^ bit]))(before)


