"""Random vaults, as vector files: what this implementation writes, any other has to read (Tools/exchange)."""

import hashlib
from pathlib import Path
from random import Random

from .codec import CLASSES, Extension, encode_key
from .crypto import Factors, Stretching, key_file
from .dump import check
from .objects import History, Tombstone
from .reader import Item, Reader
from .writer import NewItem, NewSlot, NewVault, write

# In the passphrases: what NFC composes, decomposes, reorders, and leaves.
LETTERS = ["a", "Z", "0", " ", "é", "e\u0301", "\u212b", "A\u030a", "\u1e0b\u0323", "ﬁ", "한", "\u1112\u1161\u11ab", "🔑", "\u2028"]
Unlocks = list[tuple[str, str]]


class Maker:
    def __init__(self, seed: str) -> None:
        self.pick = Random(seed)

    def random(self, *sizes: int) -> bytes:
        return self.pick.randbytes(self.pick.choice(sizes))

    def text(self) -> bytes:
        length = self.pick.choice([0, 1, 1, 3, 8, 20, 60])
        return "".join(self.pick.choice([*LETTERS, "\0", "b", "example.org", "/"]) for _ in range(length)).encode()

    def some(self, most: int) -> range:
        return range(self.pick.randint(0, most))

    def factors(self) -> tuple[Factors, Stretching, Unlocks]:
        passphrase = "".join(self.pick.choice(LETTERS) for _ in range(self.pick.randint(1, 12))).encode()
        ways: list[Unlocks] = [[("raw-key", self.random(32).hex())]] * 3
        ways.append([("passphrase", passphrase.hex())])
        ways.append([("key-file", key_file(self.random(32)).hex())])
        ways.append([("key-file", self.random(1, 31, 32, 1000).hex())])
        ways += [ways[3] + ways[4], ways[3] + ways[5]]
        way = self.pick.choice(ways)
        given = {name: bytes.fromhex(value) for name, value in way}
        lanes = self.pick.choice([1, 1, 2, 4])
        stretching = Stretching(8 * lanes + self.pick.randint(0, 24), self.pick.randint(1, 2), lanes)
        return Factors(given.get("passphrase"), given.get("key-file"), given.get("raw-key")), stretching, way

    def key(self, group: bytes) -> bytes:
        number = self.pick.randint(1, 5)
        fields: list[bytes | int] = []
        for kind in CLASSES[number]:
            if kind == "n32":
                fields.append(self.pick.choice([0, 1, 443, 0xFFFF_FFFF]))
            else:
                fields.append(self.text() if kind == "text" else self.random(0, 1, 20, 70).replace(b"\xff", b"\0"))
        if self.pick.random() < 0.01:
            fields[-1] = b"k" * 4096 if CLASSES[number][-1] != "n32" else 0
        return encode_key(number, fields, group, self.pick.random() < 0.3)

    def attributes(self) -> dict[bytes, bytes]:
        names = [b"label", b"comment", b"description", b"sealed:totp", b"sealed:", b"n" * 255, "größe".encode()]
        chosen = self.pick.sample(names, self.pick.choice([0, 0, 1, 2, 3, 7]))
        found = {name: self.random(0, 1, 20, 100, 255, 256, 257, 3000) for name in chosen}
        if self.pick.random() < 0.01:
            found = {b"%03d" % number: self.random(0, 3) for number in range(64)}
        return found

    def time(self) -> int:
        return self.pick.choice([0, -1, 1_700_000_000_000, -(1 << 62), (1 << 62) - 1, self.pick.randint(-(1 << 50), 1 << 50)])

    def vault(self) -> tuple[NewVault, list[Unlocks]]:
        groups = list({self.pick.choice([b"", b"work", "grüße".encode(), self.text()]) for _ in range(self.pick.randint(1, 4))})
        devices = {self.random(16): self.random(32) for _ in self.some(3)}
        new = NewVault([], groups=groups, devices=[*devices][:2], device_secrets=devices, clock=self.pick.randrange(1 << 30, 1 << 64))
        unlocks = []
        for number in range(self.pick.choice([1, 1, 1, 2, 3])):
            factors, stretching, way = self.factors()
            grants = self.pick.sample(groups, self.pick.randint(0, len(groups))) if number > 0 and self.pick.random() < 0.7 else None
            new.slots.append(NewSlot(factors, stretching, self.text()[:63].decode("utf-8", "ignore").encode(), grants))
            unlocks.append(way)
        new.header_extensions = [Extension(b"example.org/%d" % number, self.random(0, 5, 4096)) for number in self.some(2)]
        new.keyring_extensions = [Extension(b"example.org/%d" % number, self.random(0, 5, 300)) for number in self.some(2)]
        items = {}
        for _ in range(self.pick.choice([0, 1, 2, 5, 5, 20, 20, 60, 60, 400])):
            item = self.item(groups, devices, new)
            items[item.key] = item
        new.items = list(items.values())
        for _ in range(self.pick.choice([0, 0, 1, 3, 100])):
            new.tombstones.append(Tombstone(self.random(16), self.pick.randrange(new.clock), self.pick.randint(0, len(new.devices))))
        if self.pick.random() < 0.5:
            links = [self.random(32) for _ in range(self.pick.choice([1, 2, 7, 125, 126]))]
            first = self.pick.choice([1, 2, 1000, 1 << 40])
            new.history, new.chain_before = History(first, links), bytes(32) if first == 1 else self.random(32)
        return new, unlocks

    def item(self, groups: list[bytes], devices: dict[bytes, bytes], new: NewVault) -> NewItem:
        accessibility = self.pick.randint(1, 7 if devices else 3)
        device = self.pick.choice(list(devices)) if accessibility >= 4 else bytes(16)
        secret = self.random(0, 1, 16, 64, 100, 500, 2000) if self.pick.random() < 0.998 else self.random(1 << 20)
        revisions = (self.pick.randrange(new.clock), self.pick.randrange(new.clock))
        made_by = self.pick.randint(0, len(new.devices))
        key, attributes, times = self.key(self.pick.choice(groups)), self.attributes(), (self.time(), self.time())
        return NewItem(key, secret, attributes, accessibility, device, self.random(16), *revisions, made_by, *times)


def make(seed: str, folder: Path, number: int) -> None:
    """One vault, opened in one of its ways, as a vector file whose content is what this implementation's reader says of it."""
    maker = Maker(f"{seed}/{number}")
    new, unlocks = maker.vault()
    data = write(new, maker.pick.randbytes)
    chosen = maker.pick.randrange(len(unlocks))
    device = maker.pick.choice([None, *new.device_secrets.items()])
    reader = Reader(data, new.slots[chosen].factors, device)
    verdict, lines = check(reader)
    compare(new, reader)
    name = f"random-{number:05}"
    fields = [("vector", name), ("spec", "R-8.2"), ("expect", verdict), *unlocks[chosen]]
    if device is not None:
        fields.append(("device", f"{device[0].hex()}:{device[1].hex()}"))
    content = hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()
    fields += [("content", content), ("comment", f"vault {number} of seed {seed}, by the reference implementation")]
    text = "".join(f"{name}: {value}\n" for name, value in fields)
    (folder / f"{name}.vector").write_bytes(text.encode() + b"\n" + data)


def compare(new: NewVault, reader: Reader) -> None:
    """The reader and the writer must mean the same; that another reader does too, Tools/exchange finds out."""
    items = {item.key: item for item in new.items}
    found = [each for each in reader.walk() if isinstance(each, Item)]
    assert [each.key for each in found] == sorted(items)
    for each in found:
        item = items[each.key]
        assert each.secret is None or (each.secret, each.attributes) == (item.secret, item.attributes)
