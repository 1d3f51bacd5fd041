"""Writes a vault as a later version might leave it, with Spec/reference: a slot of a raw key and four of unknown kinds
or factors; an item of a class that format 1 does not define, and one that it does.

Usage: later.py VAULT RAW-KEY-IN-HEXADECIMAL
"""

import sys
import time
from os import urandom
from pathlib import Path

from vaultfmt_reference.contents import SlotState
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.items import ItemKey
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.rewrite import NewVault, create, rekey
from vaultfmt_reference.slots import NewSlot, OwnerPart, Slot, front, seal_owner_part
from vaultfmt_reference.writer import Transaction


def now() -> int:
    return time.time_ns() // 1_000_000


def later(reader: Reader, kind: int, factors: int) -> Slot:
    """A slot whose owner part is readable, and nothing else of it."""
    payload = 48 if kind == 0x01 else 64
    before = front(urandom(16), kind, factors, b"new", payload, 168) + urandom(32 + 24 + payload)
    owner = OwnerPart(b"later", urandom(32) if kind & 0x80 else bytes(32))
    return Slot(before + seal_owner_part(reader.keys, before, owner, urandom(24)))


path, key = Path(sys.argv[1]), Factors(raw_key=bytes.fromhex(sys.argv[2]))
items = [
    Content(ItemKey(1, (b"service", b"account"), b"").encode(), b"secret"),
    Content(ItemKey(17, (b"relying party", "Grüße".encode()), b"group").encode(), b"of a later class"),
]
new = NewVault([(NewSlot(key, name=b"main"), None)], items, groups=[b"", b"group"])
opened = Reader(create(new, urandom, now), key)
more = [later(opened, kind, factors) for kind, factors in ((0x01, 0x40), (0x03, 0x01), (0x83, 0x01), (0x04, 0x08))]
transaction = Transaction(opened, urandom, now)
for each in more:
    dot = transaction.dot()
    transaction.contents.slots[each.id] = SlotState(dot, dot)
path.write_bytes(rekey(transaction, [*opened.header.slots, *more]))
