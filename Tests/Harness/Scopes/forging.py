"""What somebody makes who holds everything that scoped slots open, all old versions of the file, and factors that were removed: commits, pages,
records, pasts, vectors, keyrings, headers, hand-overs, copies under a key of his own, and mixes of versions.

Everything is sealed as the format wants it, with the reference implementation's sealer; only what takes an owner's key is made up.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vaultfmt_reference import signature
from vaultfmt_reference.codec import GREATEST, MAGIC, SECTOR, Extension, Limit, Refused, u8, u16, u32
from vaultfmt_reference.crypto import NONCE, Keys, associated, derive, hashed, seal
from vaultfmt_reference.dots import VectorFrame
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.frames import KEYRING, PAGE, PAST, RECORD, VECTOR, Reference
from vaultfmt_reference.header import ENDING, FIXED, Header, signed_header
from vaultfmt_reference.items import FORGOTTEN, Entry, ItemKey, item_key
from vaultfmt_reference.keyring import HandOver, Keyring
from vaultfmt_reference.objects import Commit, ItemRecord, Page, chain_value, digest_of, signed_by_commit
from vaultfmt_reference.past import EARLIER, OPEN, SECRET_FIELD, Past, PastValue
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.rewrite import HandedOver, Rewriting, new_slot, nothing_moves
from vaultfmt_reference.ring import Ring
from vaultfmt_reference.slots import NewSlot, Slot
from vaultfmt_reference.state import HEAD
from vaultfmt_reference.writer import Transaction


class Forger:
    """`held` are keys by the file whose slot they were read from; `factors` open slots of files; `victims` are raw keys of slots, full or scoped,
    that a copy under the forger's own key is made for, as it could be for public recipients."""

    def __init__(
        self, seed: int, files: dict[int, bytes], held: list[tuple[int, Keys]], factors: list[tuple[int, Factors]], target: int,
        victims: list[tuple[bool, bytes]],
    ) -> None:  # fmt: skip
        self.numbers = random.Random(seed)
        self.files, self.held, self.target, self.victims = files, held, target, victims
        number, own = max(factors, key=lambda each: each[0])
        self.reader = Reader(files[number], own)
        self.keys = self.reader.keys
        # Of full slots that were removed, and rotated away since.
        self.old_owners = [keys for _, keys in held if keys.is_owner and keys.public != self.keys.public]

    def random(self, count: int) -> bytes:
        return self.numbers.randbytes(count)

    def pick(self, choices: list[Any]) -> Any:
        return self.numbers.choice(choices)

    def forge(self) -> tuple[str, bytes]:
        kinds: list[Callable[[], tuple[str, bytes]]] = [
            self.commit, self.commit, self.page, self.page, self.replaced_page, self.record, self.past, self.vector, self.keyring,
            self.keyring, self.header, self.header, self.proof, self.stranger, self.stranger, self.mix, self.mix, self.mix,
        ]  # fmt: skip
        what, data = self.pick(kinds)()
        return what.replace(" ", "-"), data

    # Proofs

    def proofs(self, chain: bytes) -> bytes:
        """Owner MAC and signature of a commit, as far as somebody without the owners' keys can make them."""
        genuine = self.reader.opened
        seed = self.random(32)
        macs = [self.random(32), bytes(32), genuine.mac, derive(self.keys.index, "commit owner", chain)]
        signatures = [
            self.random(64), bytes(64), genuine.signature, signature.sign(seed, signed_by_commit(chain)),
            # Of small order: R is the identity, S is zero.
            u8(1) + bytes(63), bytes(63) + u8(0x80),
        ]  # fmt: skip
        for keys in self.old_owners:
            macs.append(derive(keys.of_owner("owner"), "commit owner", chain))
            signatures.append(signature.sign(keys.of_owner("signing"), signed_by_commit(chain)))
        return self.pick(macs) + self.pick(signatures)

    # Appending

    def append(self, data: bytes, core: Commit, frames: list[bytes], what: str) -> tuple[str, bytes]:
        """Frames and a commit at the end of the file, with what the place determines."""
        start = len(data)
        data += b"".join(frames)
        data += bytes(-len(data) % SECTOR)
        offset = len(data)
        core = replace(core, offset=offset, start=start, flags=1, digest=digest_of([hashed(frame) for frame in frames]))
        return what, data + self.sealed_commit(core.encode(), offset)

    def sealed_commit(self, core: bytes, offset: int, proofs: bytes | None = None) -> bytes:
        chain = chain_value(self.keys.vault, core)
        body = core + (self.proofs(chain) if proofs is None else proofs)
        return self.keys.seal_at("commit", b"vCMT", offset, self.random(NONCE), body)

    @property
    def whole(self) -> bytes:
        """The file up to the end of its newest commit."""
        return self.reader.data[: self.reader.commit.end]

    def next(self, **changes: object) -> Commit:
        reader = self.reader
        generation, chain = reader.state
        clock = reader.commit.clock + 1 + self.numbers.randrange(1 << 20)
        core = replace(
            reader.commit, generation=generation + self.pick([1, 1, 1, 5, 1000]), before=generation, chain_before=chain,
            clock=clock, own_id=self.pick(list(reader.vector.rows)), own_revision=clock,
        )  # fmt: skip
        return replace(core, **changes)

    def commit(self) -> tuple[str, bytes]:
        """A commit with the same contents, an empty tree, other numbers, or a past that never was."""
        change = self.pick([{}, {"root": Reference(), "level": 0, "items": 0}, {"floor": 1}, {"chain_before": self.random(32)}])
        return self.append(self.whole, self.next(**change), [], "commit")

    def proof(self) -> tuple[str, bytes]:
        """The newest commit itself, sealed again with other proofs: its core, and so its chain value, stay."""
        opened = self.reader.opened
        factor = int.from_bytes(opened.signature[32:], "little")
        malleated = opened.signature[:32] + ((factor + signature.ORDER) % (1 << 256)).to_bytes(32, "little")
        proofs = self.pick([opened.mac + malleated, opened.mac + bytes(64), bytes(32) + opened.signature, self.proofs(opened.chain)])
        return "proof", self.reader.data[: opened.offset] + self.sealed_commit(opened.core, opened.offset, proofs)

    # Pages and what they refer to

    def leaf(self) -> tuple[Reference, Page] | None:
        """One leaf of the tree."""
        reference, level = self.reader.commit.root, self.reader.commit.level
        if reference.is_absent:
            return None
        page = self.reader.page(reference, level)
        while level > 0:
            level -= 1
            reference = self.pick(page.children)
            page = self.reader.page(reference, level)
        return reference, page

    def altered(self, page: Page) -> Page:
        """An entry less, two values swapped, or another name or group."""
        keys, values = list(page.keys), list(page.values)
        items = [index for index, key in enumerate(keys) if key[0] != FORGOTTEN]
        if not items:
            return page
        index = self.pick(items)
        match self.numbers.randrange(3):
            case 0 if len(keys) > 1:
                del keys[index], values[index]
            case 1 if len(items) > 1:
                other = self.pick([each for each in items if each != index])
                values[index], values[other] = values[other], values[index]
            case _:
                value = bytearray(values[index])
                value[self.numbers.randrange(len(value))] ^= 1 << self.numbers.randrange(8)
                values[index] = bytes(value)
        return Page(0, keys, values, [])

    def page(self) -> tuple[str, bytes]:
        """An altered leaf as the whole tree."""
        leaf = self.leaf()
        if leaf is None:
            return self.commit()
        page, data = self.altered(leaf[1]), self.whole
        frame = self.keys.seal_at("page", PAGE, len(data), self.random(NONCE), page.encode())
        items = sum(1 for key in page.keys if key[0] != FORGOTTEN)
        core = self.next(
            root=Reference(len(data), len(frame), hashed(frame)), level=0, items=items, forgotten=len(page.keys) - items,
            pasts=self.pick([0, min(items, self.reader.commit.pasts)]),
        )  # fmt: skip
        return self.append(data, core, [frame], "page")

    def replaced_page(self) -> tuple[str, bytes]:
        """An altered leaf in the place of the one that the commit reaches: all but its hash is right."""
        leaf = self.leaf()
        if leaf is None:
            return self.commit()
        reference, page = leaf
        frame = self.keys.seal_at("page", PAGE, reference.offset, self.random(NONCE), self.altered(page).encode())
        if len(frame) != reference.length:
            return self.page()
        return "page in place", overwritten(self.whole, reference.offset, frame)

    def record(self) -> tuple[str, bytes]:
        """Another secret in the place of one of a granted group, and sometimes a page and a commit for it."""
        readable = []
        for key, entry, page in self.entries():
            if not entry.has_record:
                continue
            try:
                compartment = self.reader.keyring.compartment_key(self.keys, entry.place.compartment, {})
                readable.append((key, entry, compartment, ItemRecord.decode(self.reader.record_body(entry.id, entry.place, page))))
            except Refused:
                continue
        if not readable:
            return self.page()
        key, entry, compartment, record = self.pick(readable)
        body = replace(record, secret=bytes(byte ^ 1 for byte in record.secret)).encode()
        frame = self.sealed_record(compartment, entry, body)
        if self.numbers.randrange(2) and len(frame) == entry.place.record.length:
            return "record in place", overwritten(self.whole, entry.place.record.offset, frame)
        data = self.whole
        place = replace(entry.place, record=Reference(len(data), len(frame), hashed(frame)))
        return self.alone(data, key, replace(entry, place=place), frame, "record")

    def alone(self, data: bytes, key: bytes, entry: Entry, frame: bytes, what: str) -> tuple[str, bytes]:
        """A tree of one item, with a frame that it refers to."""
        page = Page(0, [key], [entry.encode()], [])
        at = len(data) + len(frame)
        leaf = self.keys.seal_at("page", PAGE, at, self.random(NONCE), page.encode())
        core = self.next(root=Reference(at, len(leaf), hashed(leaf)), level=0, items=1, forgotten=0, pasts=int(entry.past is not None))
        return self.append(data, core, [frame, leaf], what)

    def entries(self) -> list[tuple[bytes, Entry, int]]:
        """The items, with their page keys and the offsets of their pages."""
        bounds = self.reader.commit.bounds
        return [
            (key, Entry.decode(key, value, self.reader.keyring, bounds), page)
            for key, value, page in self.reader.entries() if key[0] != FORGOTTEN
        ]  # fmt: skip

    def past(self) -> tuple[str, bytes]:
        """Another past of an item: its secret, or another item's, as a value that is earlier or open, under any key that is at hand."""
        entries = [(key, entry) for key, entry, _ in self.entries() if entry.has_record]
        if not entries:
            return self.vector()
        (key, entry), (_, other) = self.pick(entries), self.pick(entries)
        value = PastValue(SECRET_FIELD, other.least, self.pick([OPEN, EARLIER]), place=other.place)
        body = Past(entry.id, [value], []).encode()
        body += bytes(-(len(body) + 48) % 256)
        data, under = self.whole, self.pick([self.keys.index, *(keys.past for keys in self.old_owners)])
        frame = replace(self.keys, past=under).seal_at("past", PAST, len(data), self.random(NONCE), body)
        entry = replace(entry, past=Reference(len(data), len(frame), hashed(frame)), to_settle=self.pick([False, True]))
        return self.alone(data, key, entry, frame, "past")

    # Vectors

    def claimed(self) -> list[tuple[int, int]]:
        """Rows of fewer changes than there are, of more, of others, or of the ids of somebody else."""
        rows, clock = self.reader.vector.encoded_rows(), self.reader.commit.clock
        match self.numbers.randrange(4):
            case 0 if len(rows) > 1:
                del rows[self.numbers.randrange(len(rows))]
            case 1:
                rows = [(replica, self.numbers.randrange(1, clock + 1)) for replica, _ in rows]
            case 2:
                rows = [*rows, (self.numbers.randrange(1, 1 << 63), clock + 1)]
            case _:
                rows = [(self.numbers.randrange(1, 1 << 63), revision) for _, revision in rows]
        return rows

    def sealed_vector(self, at: int, rows: list[tuple[int, int]]) -> bytes:
        return self.keys.seal_at("vector", VECTOR, at, self.random(NONCE), VectorFrame(None, [], rows).encode())

    def vector(self) -> tuple[str, bytes]:
        """Changes that never were, or fewer than there are; of a commit that makes a change, or of one that makes none."""
        rows, data = self.claimed(), self.whole
        frame = self.sealed_vector(len(data), rows)
        core = self.next(vector=Reference(len(data), len(frame), hashed(frame)), own_id=self.pick(rows)[0])
        if self.numbers.randrange(2):
            core = replace(core, clock=max(revision & GREATEST for _, revision in rows), own_id=0, own_revision=0)
        return self.append(data, core, [frame], "vector")

    def sealed_record(self, key: bytes, entry: Entry, body: bytes) -> bytes:
        head, nonce = RECORD + u32(len(body) + 80), self.random(NONCE)
        bound = associated("record", self.keys.vault, entry.place.identity(entry.id), head)
        return head + nonce + self.random(32) + seal(key, nonce, bound, body)

    # Keyrings

    def hand_over(self, following: bytes) -> HandedOver:
        """A word for another key, in the name of the owners or of keys that were rotated away."""
        reader, vault = self.reader, self.keys.vault
        seed, floor = self.random(32), reader.vector.floor
        rows = self.pick([reader.vector.encoded_rows(), self.claimed()])
        message = HandOver.signed(vault, rows, floor, following)
        made = [
            (HandOver(self.keys.public, following, floor, Reference(), signature.sign(seed, message)), rows),
            (HandOver(self.keys.public, following, floor, Reference(), self.random(64)), rows),
            (HandOver(self.keys.public, following, floor, Reference(), u8(1) + bytes(63)), rows),
            (HandOver(signature.public_key(seed), following, floor, Reference(), signature.sign(seed, message)), rows),
        ]
        made += [(HandOver.make(keys, rows, floor, Reference(), following), rows) for keys in self.old_owners]
        made += [(replace(over, public=self.keys.public), covered) for over, covered in self.handed_over()]
        return self.pick([each for each in made if each[0].public != following] or made[3:4])

    def handed_over(self) -> list[HandedOver]:
        return [(over, self.reader.hand_over_rows(over)) for over in self.reader.keyring.hand_overs]

    def keyring(self) -> tuple[str, bytes]:
        """A keyring with another setting, without a group, or with a hand-over more."""
        ring, data, frames = self.reader.keyring, self.whole, list[bytes]()
        change = self.numbers.randrange(4)
        if change == 0:
            ring = replace(ring, limit=(ring.limit + 1) % 50)
        elif change == 1 and ring.groups:
            gone = self.pick(list(ring.groups))
            ring = replace(
                ring, groups={number: each for number, each in ring.groups.items() if number != gone},
                compartments={number: each for number, each in ring.compartments.items() if each.group != gone},
            )  # fmt: skip
        elif change == 2:
            ring = replace(ring, slots={slot: replace(each, grants={}) for slot, each in ring.slots.items()})
        else:
            over, rows = self.hand_over(self.pick([self.keys.public, self.random(32)]))
            frames.append(self.sealed_vector(len(data), rows))
            over = replace(over, vector=Reference(len(data), len(frames[0]), hashed(frames[0])))
            ring = replace(ring, hand_overs=[*ring.hand_overs, over][-Limit.HAND_OVERS :])
        at = len(data) + sum(map(len, frames))
        frame = self.keys.seal_at("keyring", KEYRING, at, self.random(NONCE), ring.encode())
        core = self.next(keyring=Reference(at, len(frame), hashed(frame)))
        return self.append(data, core, [*frames, frame], "keyring")

    # Headers

    def header(self) -> tuple[str, bytes]:
        """A header with slots or extensions that no owner chose, with the right hash and MAC; with a commit for it, or without."""
        header = self.reader.header
        slots, extensions = list(header.slots), list(header.extensions)
        match self.numbers.randrange(5):
            case 0 if len(slots) > 1:
                slots.pop(self.numbers.randrange(len(slots)))
            case 1:
                self.numbers.shuffle(slots)
            case 2:
                # A slot of an older version, which may have been removed or have had weaker factors.
                old = [slot for data in self.files.values() for slot in decoded_slots(data)]
                there = {slot.id for slot in slots}
                new = [slot for slot in old if slot.id not in there]
                slots += [self.pick(new)] if new else []
            case 3:
                index = self.numbers.randrange(len(slots))
                slots[index] = Slot(slots[index].before_owner_part + self.random(slots[index].owner_length))
            case _:
                extensions = [*extensions, Extension(b"forged/extension", self.random(8))]
        raw = encoded(header.vault, header.epoch, slots, extensions, self.keys.index, header.length)
        if len(raw) != header.length:
            return self.commit()
        copy = self.pick([raw, header.raw])
        data = raw + copy + self.whole[header.body :]
        if self.numbers.randrange(3) == 0:
            return "header", data
        return self.append(data, self.next(header_hash=raw[-ENDING:-32]), [], "header and commit")

    # Copies under a key of his own

    def stranger(self) -> tuple[str, bytes]:
        """A vault with the same id, past and generation, with slots for its victims, and hand-overs that may be forged."""
        reader = self.reader
        epoch = self.pick([reader.header.epoch, self.random(32)])
        keys = Keys.owners(self.keys.vault, epoch, self.random(32))
        ring = Ring(Keyring(), keys, self.random, {})
        # The owners' own past, or nothing of it.
        making = Transaction.fresh_one(self.random, lambda: (reader.commit.clock >> 16) + 1)
        if self.numbers.randrange(4):
            making.base.vector, making.contents.vector = reader.vector.copy(), reader.vector.copy()
        contents, dot = making.contents, making.dot()
        contents.limit, contents.limit_dot, contents.key_dot = reader.keyring.limit, dot, dot
        names = [b"", *(group.name for group in reader.keyring.groups.values() if group.name)]
        for each in names:
            ring.group(each)
        self.fill(making, names)
        slots = [
            new_slot(making, ring, NewSlot(Factors(raw_key=raw_key)), None if is_full else names[: Limit.GRANTS])
            for is_full, raw_key in self.victims
        ]
        overs = self.handed_over() if self.numbers.randrange(2) else []
        overs += [self.hand_over(keys.public)] if self.numbers.randrange(4) else []
        raw = encoded(keys.vault, epoch, slots, [], keys.index)
        return "stranger", Rewriting(making, ring, nothing_moves, overs[-Limit.HAND_OVERS :]).file(raw, reader.state)

    def fill(self, making: Transaction, names: list[bytes]) -> None:
        """With the names of a few items, and secrets of his own."""
        for key, entry, _ in self.entries()[:4]:
            whole, is_plain = item_key(key, entry.id)
            assert ItemKey.decode(whole).group in names
            if is_plain:
                making.put(Content(whole, b"the stranger's"))

    # Mixes

    def mix(self) -> tuple[str, bytes]:
        one, other = (self.pick(list(self.files.values())) for _ in range(2))
        target = self.files[self.target]
        match self.numbers.randrange(7):
            case 0:
                return "prefix", target[: self.sector(target)]
            case 1:
                at = self.sector(target)
                return "splice", target[:at] + other[at:]
            case 2:
                length = header_length(one)
                return "header of another version", one[:length] + target[length:]
            case 3:
                length = header_length(one)
                return "header and copy of another version", one[: 2 * length] + target[2 * length :]
            case 4:
                return "appended version", target + one[2 * header_length(one) :]
            case 5:
                commits = [at for at in range(0, len(other) - SECTOR + 1, SECTOR) if other[at : at + 8] == HEAD]
                at = self.pick(commits)
                return "appended commit", target + other[at : at + SECTOR]
            case _:
                at, length = self.sector(target), SECTOR * self.numbers.randrange(1, 4)
                start = self.sector(other)
                return "sectors of another version", overwritten(target, at, other[start : start + length])

    def sector(self, data: bytes) -> int:
        first = 2 * header_length(data) // SECTOR
        return SECTOR * self.numbers.randrange(first, len(data) // SECTOR)


def overwritten(data: bytes, at: int, part: bytes) -> bytes:
    return data[:at] + part + data[at + len(part) :]


def header_length(data: bytes) -> int:
    return int.from_bytes(data[12:16], "little")


def decoded_slots(data: bytes) -> list[Slot]:
    return Header.decode(data).slots


def encoded(
    vault: bytes, epoch: bytes, slots: list[Slot], extensions: list[Extension], index: bytes, least: int = Limit.HEADER_STEP
) -> bytes:
    """A header, with none of the checks that a writer makes."""
    content = b"".join(slot.raw for slot in slots) + b"".join(each.encode() for each in extensions)
    length = max(least, -(-(FIXED + len(content) + ENDING) // Limit.HEADER_STEP) * Limit.HEADER_STEP)
    fixed = MAGIC + u16(1) + bytes(2) + u32(length) + vault + epoch + u8(len(slots)) + u8(len(extensions)) + bytes(2)
    return signed_header((fixed + content).ljust(length - ENDING, b"\0"), index)

