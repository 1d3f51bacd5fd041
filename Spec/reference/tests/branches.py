"""What the tests of merging share."""

import itertools
import unittest

from tests.orders import plain_dump
from tests.vaults import OTHER, Vault, key, reader
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.merge import Result, merge
from vaultfmt_reference.past import ATTRIBUTE_KIND, Field
from vaultfmt_reference.reader import Item
from vaultfmt_reference.sealing import content_of
from vaultfmt_reference.slots import NewSlot
from vaultfmt_reference.verify import verify

A = key("a")
LABEL, NOTES = (ATTRIBUTE_KIND, b"label"), (ATTRIBUTE_KIND, b"notes")
OTHER_SLOT = NewSlot(Factors(raw_key=OTHER), name=b"other")


def merged(ours: Vault, theirs: Vault, spare: NewSlot | None = None, unifies: bool = False) -> Result:
    result = merge(ours.reader, theirs.reader, ours.random, ours.now, ours.memory, spare, unifies)
    verify(reader(result.data))
    return result


def settled(*vaults: Vault) -> bytes:
    """The file that is left once each has merged all others, again and again, until none changes any more."""
    for _ in range(6):
        before = [each.data for each in vaults]
        for ours, theirs in itertools.permutations(vaults, 2):
            ours.data = merged(ours, theirs, unifies=True).data
        if [each.data for each in vaults] == before:
            break
    assert len({each.data for each in vaults}) == 1, "they exchange files without end, or do not end alike"
    return vaults[0].data


def secrets(data: bytes) -> dict[bytes, bytes]:
    return {each.key: each.live.record.secret for each in reader(data).walk() if isinstance(each, Item) and each.live.record}


def content(data: bytes, name: bytes = A) -> Content:
    transaction = Vault.transaction(holder(data))
    return transaction.content(transaction.item(name))


def holder(data: bytes) -> Vault:
    vault = Vault()
    vault.data = data
    return vault


def said(data: bytes, name: bytes, what: str) -> set[tuple[Field, object]]:
    """Of an item: what is left to settle ("marks"), or its earlier values."""
    transaction = holder(data).transaction()
    item = transaction.item(name)
    found = getattr(transaction.view(item), what)
    return {(of, item.values[of, dot].where or content_of(item.id, of, item.values[of, dot])) for of, dot in found}


class TwoBranches(unittest.TestCase):
    def branches(self, *items: Content, limit: int = 3, scoped: list[bytes] | None = None, count: int = 2) -> list[Vault]:
        first = Vault(*(items or (Content(A, b"0", {b"label": (0, b"0")}),)), limit=limit, scoped=scoped)
        others = [first.branch(f"{number}") for number in range(1, count)]
        for number, each in enumerate(others, 1):
            each.now.time += 500 * number
        return [first, *others]

    def both_ways(self, ours: Vault, theirs: Vault) -> bytes:
        """The merge, which has to hold the same whichever side is ours."""
        first, second = merged(ours, theirs), merged(theirs, ours)
        self.assertEqual((first.what, second.what), ("merged", "merged"))
        self.assertEqual(plain_dump(reader(first.data)), plain_dump(reader(second.data)))
        again = ours.branch("again")
        again.data = first.data
        self.assertEqual((merged(again, theirs).what, merged(again, ours).what), ("ours", "ours"))
        again.data = second.data
        other = ours.branch("other")
        other.data = first.data
        self.assertEqual(merged(again, other).what, "equal")
        return first.data
