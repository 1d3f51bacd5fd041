"""Random vaults, as vector files: what this implementation writes, any other has to read (Tools/exchange)."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

from .anchors import Anchor
from .codec import NO_DEVICE, Extension
from .crypto import NONCE, Keys
from .drafts import Content
from .dump import check
from .factors import EXTERNAL, KNOWN, Factors, Provider, Stretching, key_file
from .items import BINARY, CLASSES, CONCEALED, SEALED, ItemKey
from .merge import adopt, merge
from .reader import Reader
from .replicas import Memory
from .rewrite import NewVault, add_scoped, add_slot, change_slot, compact, create, grant, rekey, remove_slot, rename_slot, rotate
from .slots import EPOCH, FULL, PAYLOADS, SCOPED, NewSlot, OwnerPart, Slot, encode_grants, front, seal_owner_part, seal_slot
from .writer import Transaction

# In the passphrases: what NFC composes, decomposes, reorders, and leaves.
LETTERS = ["a", "Z", "0", " ", "é", "e\u0301", "\u212b", "A\u030a", "\u1e0b\u0323", "ﬁ", "한", "\u1112\u1161\u11ab", "🔑", "\u2028"]
Unlocks = list[tuple[str, str]]
PROVIDER = b"example.org/provider"


class Maker:
    """Draws everything from one seed; also the clock."""

    def __init__(self, seed: str) -> None:
        self.pick = Random(seed)
        self.time = 1_700_000_000_000

    def now(self) -> int:
        self.time += self.pick.choice([0, 1, 1000, 86_400_000, 86_400_000 * 30])
        return self.time

    def random(self, *sizes: int) -> bytes:
        return self.pick.randbytes(self.pick.choice(sizes))

    def text(self) -> bytes:
        length = self.pick.choice([0, 1, 1, 3, 8, 20, 60])
        return "".join(self.pick.choice([*LETTERS, "\0", "b", "example.org", "/"]) for _ in range(length)).encode()

    def some(self, most: int) -> range:
        return range(self.pick.randint(0, most))

    # Slots

    def slot(self) -> tuple[NewSlot, Unlocks]:
        passphrase = "".join(self.pick.choice(LETTERS) for _ in range(self.pick.randint(1, 12))).encode()
        external = ("external", f"{PROVIDER.decode()}:{self.random(32).hex()}")
        ways: list[Unlocks] = [[("raw-key", self.random(32).hex())]] * 3
        ways.append([("passphrase", passphrase.hex())])
        ways.append([("key-file", key_file(self.random(32)).hex())])
        ways.append([("key-file", self.random(1, 31, 32, 1000).hex())])
        ways += [ways[3] + ways[4], ways[3] + ways[5], [external], [*ways[3], external]]
        way = self.pick.choice(ways)
        factors, key = unlocked(way)
        lanes = self.pick.choice([1, 1, 2, 4])
        kdf = Stretching(8 * lanes + self.pick.randint(0, 24), self.pick.randint(1, 2), lanes) if factors.kinds & 5 else None
        provider = Provider(PROVIDER, self.random(0, 10, 4000)) if factors.kinds & EXTERNAL else None
        return NewSlot(factors, kdf, provider, key, self.slot_name(), self.random(0, 0, 5, 300)), way

    def slot_name(self) -> bytes:
        return self.text()[:63].decode("utf-8", "ignore").encode()

    def opaque_slot(self, keys: Keys) -> Slot:
        """As a later version would add it: no reader knows its kind, or its factors (R-3.7), but owners read its owner part."""
        kind = self.pick.choice([FULL, SCOPED, self.pick.randrange(0x02, 0x80), self.pick.randrange(0x83, 0x100)])
        unknown = [factors for factors in range(0x100) if kind not in PAYLOADS or factors not in KNOWN]
        owner = OwnerPart(self.slot_name(), self.random(32) if kind & EPOCH else bytes(32), self.random(0, 0, 5, 300))
        payload = PAYLOADS.get(kind) or self.pick.choice([16, 17, 48, 1368, 5000])
        clear = front(self.random(16), kind, self.pick.choice(unknown), self.random(0, 3, 44, 2000), payload, owner.length)
        bound = clear + self.random(32)
        if kind == SCOPED:
            # Owners read this payload too. Its groups are granted later.
            plain = encode_grants(keys.index, keys.public, {})
            return seal_slot(keys, bound, owner.wrapping_key, plain, owner, self.pick.randbytes)
        before = bound + self.random(NONCE + payload)
        return Slot(before + seal_owner_part(keys, before, owner, self.random(NONCE)))

    # Items

    def key(self, group: bytes) -> bytes:
        number = self.pick.choice([1, 1, 2, 3, 4, 5, 6, 63])
        kinds = CLASSES.get(number) or ("text",) * self.pick.randint(0, 3)
        fields: list[bytes | int] = []
        for kind in kinds:
            if kind == "n32":
                fields.append(self.pick.choice([0, 1, 443, 0xFFFF_FFFF]))
            else:
                fields.append(self.text() if kind == "text" else self.random(0, 1, 20, 70).replace(b"\xff", b"\0"))
        if self.pick.random() < 0.01 and number in (1, 2):
            fields[-1] = b"k" * 4096
        return ItemKey(number, tuple(fields), group, self.pick.random() < 0.3).encode()

    def attributes(self) -> dict[bytes, tuple[int, bytes]]:
        names = [b"label", b"comment", b"description", b"notes", b"otp", b"n" * 255, "größe".encode()]
        sizes = [0, 1, 20, 100, 255, 256, 257, 3000, 4096, 4097, 9000]
        flags = [0, 0, 0, SEALED, CONCEALED, BINARY, SEALED | BINARY, SEALED | CONCEALED | BINARY]
        chosen = self.pick.sample(names, self.pick.choice([0, 0, 1, 2, 3, 7]))
        return {name: (self.pick.choice(flags), self.random(*sizes)) for name in chosen}

    def content(self, key: bytes, devices: list[bytes]) -> Content:
        accessibility = self.pick.randint(1, 7 if devices else 3)
        secret = self.random(0, 1, 16, 64, 100, 500, 2000) if self.pick.random() < 0.998 else self.random(1 << 20)
        bound = self.pick.choice(devices) if accessibility >= 4 else NO_DEVICE
        return Content(key, secret, self.attributes(), accessibility, bound)

    def changed(self, content: Content, devices: list[bytes]) -> Content:
        """One or two of its fields."""
        for what in self.pick.sample(["secret", "attributes", "place", "one", "drop"], self.pick.randint(1, 2)):
            attributes = dict(content.attributes)
            if what == "secret":
                content = replace(content, secret=self.random(0, 5, 64, 300))
            elif what == "attributes":
                content = replace(content, attributes=attributes | self.attributes())
            elif what == "one" and attributes:
                name = self.pick.choice(sorted(attributes))
                content = replace(content, attributes=attributes | {name: (attributes[name][0], self.random(3, 300, 5000))})
            elif what == "drop" and attributes:
                attributes.pop(self.pick.choice(sorted(attributes)))
                content = replace(content, attributes=attributes)
            elif what == "place":
                other = self.content(content.key, devices)
                content = replace(content, accessibility=other.accessibility, device=other.device)
        return content


def unlocked(way: Unlocks) -> tuple[Factors, bytes]:
    """The factors of a way to open a slot, and the external key among them."""
    given = dict(way)
    key = bytes.fromhex(given["external"].rpartition(":")[2]) if "external" in given else b""
    passphrase, content, raw = (bytes.fromhex(given[name]) if name in given else None for name in ("passphrase", "key-file", "raw-key"))
    if not key:
        return Factors(passphrase, content, raw), b""
    return Factors(passphrase, content, raw, PROVIDER, lambda slots: {slot: [key] for slot in slots}), key


class History:
    """A vault through several changes. `full` opens its first slot."""

    def __init__(self, maker: Maker) -> None:
        self.maker, pick = maker, maker.pick
        self.groups = sorted({pick.choice([b"", b"work", "grüße".encode(), maker.text()]) for _ in range(pick.randint(1, 4))})
        self.devices = {maker.random(16): maker.random(32) for _ in maker.some(3)}
        # The device whose secret this machine has, if only one.
        self.own = pick.choice([NO_DEVICE, *self.devices])
        self.memory = Memory()
        new = NewVault([], [], self.groups, self.devices, pick.choice([0, 1, 2, 10]))
        self.unlocks: list[Unlocks] = []
        for number in range(pick.choice([1, 1, 1, 2, 3])):
            slot, way = maker.slot()
            names = pick.sample(self.groups, pick.randint(0, len(self.groups))) if number > 0 and pick.random() < 0.7 else None
            new.slots.append((slot, names))
            self.unlocks.append(way)
        flags = [(False, False), (False, False), (False, False)]
        new.header_extensions = [Extension(b"example.org/%d" % n, maker.random(0, 5, 4096), *flags[n]) for n in maker.some(2)]
        new.keyring_extensions = [Extension(b"example.org/%d" % n, maker.random(0, 5, 300), *flags[n]) for n in maker.some(2)]
        items = {}
        for _ in range(pick.choice([0, 1, 2, 5, 5, 20, 20, 60, 60] * 3 + [400])):
            item = maker.content(maker.key(pick.choice(self.groups)), list(self.devices))
            items[item.key] = item
        new.items = list(items.values())
        self.data = create(new, pick.randbytes, maker.now, self.memory)
        if pick.random() < 0.2:
            self.add_opaque_slot()

    def reader(self) -> Reader:
        return Reader(self.data, unlocked(self.unlocks[0])[0], self.devices)

    def transaction(self) -> Transaction:
        return Transaction(self.reader(), self.maker.pick.randbytes, self.maker.now, self.memory)

    def branch(self) -> "History":
        """A copy on another machine."""
        other = object.__new__(History)
        own = self.maker.pick.choice([NO_DEVICE, *self.devices])
        other.__dict__ = self.__dict__ | {"unlocks": list(self.unlocks), "own": own, "memory": Memory()}
        return other

    def step(self) -> None:
        """One change, of any kind."""
        slots = [self.rename_slot, self.regrant, self.rotate, self.drop_slot, self.add_slot, self.change_slot, self.add_opaque_slot]
        ways: list[Callable[[], None]] = [*[self.change] * 8, *[self.settle] * 2, self.forget, self.restore, self.compact, self.meet]
        self.maker.pick.choice(ways + slots)()

    def meet(self) -> None:
        """With a copy that changed on its own: what is left to settle comes from that."""
        other = self.branch()
        for each in (self, other):
            for _ in range(self.maker.pick.randint(1, 2)):
                self.maker.pick.choice([each.change, each.change, each.touch])()
        self.data = merge(self.reader(), other.reader(), self.maker.pick.randbytes, self.maker.now, self.memory).data

    def change(self) -> None:
        pick, transaction = self.maker.pick, self.transaction()
        keys = transaction.live_keys()
        for key in pick.sample(keys, min(len(keys), pick.randint(0, 3))):
            old = transaction.content(transaction.item(key))
            if pick.random() < 0.2:
                transaction.remove(key)
                continue
            new = self.maker.changed(old, list(self.devices))
            if pick.random() < 0.2:
                other = self.maker.key(pick.choice(self.groups))
                new = replace(new, key=old.key if transaction.find(other) else other)
            transaction.change(transaction.item(key), new)
        for _ in range(pick.randint(0, 2)):
            content = self.maker.content(self.maker.key(pick.choice(self.groups)), list(self.devices))
            if transaction.find(content.key) is None:
                transaction.put(content)
        if pick.random() < 0.1:
            transaction.set_limit(pick.choice([0, 1, 3, 50]))
        self.data = transaction.commit()

    def touch(self) -> None:
        """The first item, so that two machines change the same one."""
        transaction = self.transaction()
        for key in transaction.live_keys()[:1]:
            item = transaction.item(key)
            transaction.change(item, self.maker.changed(transaction.content(item), list(self.devices)))
        self.data = transaction.commit()

    def settle(self) -> None:
        """For each field what is shown stays, or something else is taken."""
        transaction, pick = self.transaction(), self.maker.pick
        for key in transaction.live_keys():
            marks = sorted(transaction.view(transaction.item(key)).marks)
            if marks and pick.random() < 0.7:
                chosen = pick.choice(marks)
                transaction.settle(key, [chosen[0]]) if pick.random() < 0.5 else transaction.settle(key, (), [chosen])
        self.data = transaction.commit()

    def forget(self) -> None:
        transaction, pick = self.transaction(), self.maker.pick
        for key in transaction.live_keys():
            earlier = sorted(transaction.view(transaction.item(key)).earlier)
            if earlier and pick.random() < 0.5:
                transaction.forget(key, pick.sample(earlier, pick.randint(1, len(earlier))))
        self.data = transaction.commit()

    def restore(self) -> None:
        transaction, pick = self.transaction(), self.maker.pick
        for key in transaction.live_keys():
            earlier = sorted(transaction.view(transaction.item(key)).earlier)
            if earlier and pick.random() < 0.3:
                transaction.restore(key, pick.choice(earlier))
        self.data = transaction.commit()

    def compact(self) -> None:
        self.data = compact(self.transaction())

    def rename_slot(self) -> None:
        transaction = self.transaction()
        slot = self.maker.pick.choice(transaction.reader.header.slots)
        self.data = rename_slot(transaction, slot.id, b"renamed")

    def add_slot(self) -> None:
        slot, way = self.maker.slot()
        self.data = add_slot(self.transaction(), slot)
        self.unlocks.append(way)

    def add_opaque_slot(self) -> None:
        transaction = self.transaction()
        slot = self.maker.opaque_slot(transaction.reader.keys)
        self.data = rekey(transaction, [*transaction.reader.header.slots, slot])

    def change_slot(self) -> None:
        """Other factors, under the same id."""
        index = self.maker.pick.randrange(len(self.unlocks))
        slot, way = self.maker.slot()
        transaction = self.transaction()
        self.data = change_slot(transaction, self.slot_of(transaction.reader, self.unlocks[index]), slot)
        self.unlocks[index] = way

    def slot_of(self, reader: Reader, way: Unlocks) -> bytes:
        return next(slot.id for slot in reader.header.slots if opens(self.data, way, slot.id))

    def regrant(self) -> None:
        transaction, pick = self.transaction(), self.maker.pick
        groups = pick.sample(self.groups, pick.randint(0, len(self.groups)))
        scoped = [slot.id for slot in transaction.reader.header.slots if slot.kind == SCOPED]
        if scoped:
            self.data = grant(transaction, pick.choice(scoped), groups)
        else:
            slot, way = self.maker.slot()
            self.data = add_scoped(transaction, slot, groups)
            self.unlocks.append(way)

    def rotate(self) -> None:
        pick = self.maker.pick
        new: list[tuple[NewSlot, list[bytes] | None]] = []
        transaction = self.transaction()
        self.unlocks, old = [], transaction.reader
        for number in range(pick.randint(1, 2)):
            slot, way = self.maker.slot()
            slot = replace(slot, id=old.slot.id if number == 0 else b"")
            new.append((slot, None if not new else pick.sample(self.groups, 1)))
            self.unlocks.append(way)
        self.data = rotate(transaction, new, restart=pick.random() < 0.5)

    def drop_slot(self) -> None:
        """Not the first; or one that nobody opens."""
        pick, transaction = self.maker.pick, self.transaction()
        opaque = [slot.id for slot in transaction.reader.header.slots if not slot.is_known]
        if opaque and (len(self.unlocks) == 1 or pick.random() < 0.5):
            self.data = remove_slot(transaction, pick.choice(opaque))
        elif len(self.unlocks) > 1:
            index = pick.randrange(1, len(self.unlocks))
            self.data = remove_slot(transaction, self.slot_of(transaction.reader, self.unlocks[index]))
            del self.unlocks[index]


def opens(data: bytes, way: Unlocks, slot: bytes) -> bool:
    return Reader(data, unlocked(way)[0]).slot.id == slot


def make(seed: str, folder: Path, number: int) -> None:
    """One vault, opened in one of its ways, as a vector file whose content is what this implementation's reader says of it."""
    maker = Maker(f"{seed}/{number}")
    history, pick = History(maker), maker.pick
    past = [history.reader()]
    for _ in range(pick.choice([0, 0, 1, 3, 8])):
        history.step()
        past.append(history.reader())
    way = pick.choice(history.unlocks)
    device = pick.choice([None, *history.devices.items()])
    reader = Reader(history.data, unlocked(way)[0], dict([device] if device else []))
    fields: Unlocks = list(way)
    if device is not None:
        fields.append(("device", f"{device[0].hex()}:{device[1].hex()}"))
    anchor = None
    if pick.random() < 0.5:
        anchor = Anchor.of(pick.choice(past))
        if pick.random() < 0.2:
            anchor = replace(anchor, public=pick.choice(past).keys.public)
        fields.append(("anchor", anchor.text))
    verdict, lines = check(reader, anchor)
    write_vector(folder / f"random-{number:05}.vector", verdict, fields, lines, history.data, f"vault {number} of seed {seed}")


def write_vector(path: Path, verdict: str, fields: Unlocks, lines: list[str], data: bytes, what: str) -> None:
    content = hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()
    header = [("vector", path.stem), ("spec", "R-11.2"), ("expect", verdict), *fields, ("content", content)]
    header.append(("comment", f"{what}, by the reference implementation"))
    path.write_bytes("".join(f"{name}: {value}\n" for name, value in header).encode() + b"\n" + data)


def make_merges(seed: str, folder: Path, number: int) -> None:
    """Two branches of one vault, and what this implementation makes of them: NAME-ours, -theirs, and -merged or -adopted."""
    maker = Maker(f"{seed}/merge/{number}")
    pick = maker.pick
    ours = History(maker)
    theirs = ours.branch()
    # The first slot opens both files.
    for branch in (ours, theirs):
        ways = [branch.change] * 6 + [branch.touch] * 6 + [branch.settle, branch.forget, branch.restore, branch.compact, branch.rename_slot]
        ways += [branch.regrant, branch.drop_slot, branch.add_slot, branch.add_opaque_slot, branch.meet]
        for _ in range(pick.randint(1, 4)):
            pick.choice(ways)()
    if pick.random() < 0.1:
        slot = replace(unlocking(ours), id=ours.reader().slot.id)
        ours.data = rotate(ours.transaction(), [(slot, None)], restart=pick.random() < 0.5)
        ours.change()
    # A machine has the secret of one device only.
    own = {ours.own: ours.devices[ours.own]} if ours.own != NO_DEVICE else {}
    fields = list(ours.unlocks[0]) + [("device", f"{device.hex()}:{secret.hex()}") for device, secret in own.items()]
    factors = unlocked(ours.unlocks[0])[0]
    left, right = (Reader(data, factors, own) for data in (ours.data, theirs.data))
    made = {"ours": ours.data, "theirs": theirs.data}
    at = max(left.commit.clock, right.commit.clock) >> 16
    if left.keys.public != right.keys.public:
        made["adopted"] = adopt(left, right, pick.randbytes, lambda: at).data
    else:
        made["merged"] = merge(left, right, pick.randbytes, lambda: at).data
    for name, data in made.items():
        verdict, lines = check(Reader(data, factors, own))
        path = folder / f"merge-{number:05}-{name}.vector"
        write_vector(path, verdict, fields, lines, data, f"merge {number} of seed {seed}, {name}")


def unlocking(history: History) -> NewSlot:
    """A slot that the factors of the first one open."""
    factors, key = unlocked(history.unlocks[0])
    slot = history.reader().slot
    kdf = slot.parameters.stretching
    return NewSlot(factors, kdf and Stretching(kdf.memory, kdf.passes, kdf.lanes), slot.parameters.provider, key)
