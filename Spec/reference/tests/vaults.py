"""Vaults for the tests. Everything in them follows from one seed."""

from collections.abc import Callable
from random import Random

from vaultfmt_reference.codec import Refused
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.dump import check
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.forge import Forge
from vaultfmt_reference.items import SEALED, ItemKey
from vaultfmt_reference.merge import merge
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.replicas import Memory
from vaultfmt_reference.rewrite import NewVault, compact, create
from vaultfmt_reference.slots import NewSlot
from vaultfmt_reference.writer import Transaction

RAW, OTHER = bytes(range(32)), bytes(range(32, 64))
DEVICE, SECRET = b"d" * 16, b"s" * 32
MAIN = NewSlot(Factors(raw_key=RAW), name=b"main")
SCOPED_SLOT = NewSlot(Factors(raw_key=OTHER), name=b"build")


class Clock:
    def __init__(self, start: int = 1_700_000_000_000, step: int = 1000) -> None:
        self.time, self.step = start, step

    def __call__(self) -> int:
        self.time += self.step
        return self.time


def key(name: str, group: bytes = b"") -> bytes:
    return ItemKey(1, (b"service", name.encode()), group).encode()


def reader(data: bytes, raw: bytes = RAW, device: bool = True, **more: bytes) -> Reader:
    return Reader(data, Factors(raw_key=raw), {DEVICE: SECRET} if device else {}, **more)  # type: ignore[arg-type]


class Vault:
    """A vault that changes, with its random numbers and clock."""

    def __init__(self, *items: Content, limit: int = 3, scoped: list[bytes] | None = None, seed: str = "") -> None:
        self.random, self.now, self.memory = Random(seed).randbytes, Clock(), Memory()
        slots: list[tuple[NewSlot, list[bytes] | None]] = [(MAIN, None)]
        if scoped is not None:
            slots.append((SCOPED_SLOT, scoped))
        new = NewVault(slots, list(items), scoped or [], {DEVICE: SECRET}, limit)
        self.data = create(new, self.random, self.now, self.memory)

    @property
    def reader(self) -> Reader:
        return reader(self.data)

    def transaction(self) -> Transaction:
        return Transaction(self.reader, self.random, self.now, self.memory)

    def put(self, *contents: Content, old: bytes = b"") -> "Vault":
        transaction = self.transaction()
        for each in contents:
            transaction.put(each, old)
        self.data = transaction.commit()
        return self

    def remove(self, *keys: bytes) -> "Vault":
        transaction = self.transaction()
        for each in keys:
            transaction.remove(each)
        self.data = transaction.commit()
        return self

    def compact(self) -> "Vault":
        self.data = compact(self.transaction())
        return self

    def branch(self, seed: str) -> "Vault":
        other = object.__new__(Vault)
        other.__dict__ = self.__dict__ | {"random": Random(seed).randbytes, "now": Clock(self.now.time), "memory": Memory()}
        return other

    def merge(self, other: "Vault") -> "Vault":
        self.data = merge(self.reader, other.reader, self.random, self.now, self.memory).data
        return self

    def forge(self) -> Forge:
        return Forge(self.reader, self.random)


def rich(scoped: list[bytes] | None = None) -> Vault:
    """One commit, one page: an item with two earlier values and attributes in all places, a forgotten value, a device's item, and an
    item of two siblings with something to settle."""
    attributes = {b"label": (0, b"text"), b"notes": (SEALED, b"sealed"), b"x/file": (0, b"f" * 5000), b"x/long": (0, b"l" * 300)}
    first = Content(key("first"), b"one", attributes)
    vault = Vault(first, Content(key("gone")), Content(key("second", b"work"), b"two"), Content(key("twice"), b"0"), scoped=scoped)
    vault.put(Content(key("first"), b"new", attributes), Content(key("third"), b"bound", {}, 5, DEVICE))
    vault.put(Content(key("first"), b"newer", attributes | {b"x/file": (0, b"g" * 6000)}))
    vault.put(Content(key("first"), b"newest", attributes | {b"x/file": (0, b"g" * 6000)}))
    forgetting = vault.transaction()
    forgetting.forget(key("first"), [min(forgetting.view(forgetting.item(key("first"))).earlier, key=lambda named: named[1])])
    vault.data = forgetting.commit()
    other = vault.branch("other")
    other.now.time += 500
    vault.put(Content(key("twice"), b"1")).remove(key("gone"))
    other.put(Content(key("twice"), b"2", {b"label": (0, b"x")}))
    return vault.merge(other).compact()


def verdict(data: bytes, raw: bytes = RAW, opened: Callable[[bytes], Reader] | None = None) -> str:
    try:
        return check(opened(data) if opened else reader(data, raw))[0]
    except Refused as refused:
        return refused.verdict
