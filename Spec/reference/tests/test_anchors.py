"""Verdicts on what a machine remembers: sections 7.2 and 7.3."""

import unittest
from dataclasses import replace

from tests.vaults import MAIN, RAW, Vault, key, reader, verdict
from vaultfmt_reference.anchors import Anchor, Ancestry, compare
from vaultfmt_reference.codec import Refused
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.keyring import HandOver
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.rewrite import past, rotate


def anchor(data: bytes) -> Anchor:
    opened = reader(data)
    return Anchor(*opened.state, opened.keys.public)


def rotated(vault: Vault) -> Vault:
    vault.data = rotate(vault.reader, [(MAIN, None)], vault.random, vault.now, vault.own)
    return vault


class Anchors(unittest.TestCase):
    def setUp(self) -> None:
        self.vault = Vault(Content(key("a"), b"1"))
        self.before = [self.vault.data]
        for number in range(4):
            self.before.append(self.vault.put(Content(key(f"b{number}"), b"2")).data)

    def compared(self, data: bytes, to: bytes | Anchor) -> str:
        return compare(reader(data), to if isinstance(to, Anchor) else anchor(to))

    def test_states_of_one_file(self) -> None:
        last = self.before[-1]
        self.assertEqual([self.compared(last, each) for each in self.before], ["descends"] * 4 + ["same"])
        self.assertEqual(self.compared(self.before[0], last), "older")

    def test_another_branch_is_forked(self) -> None:
        other = self.vault.branch("other").put(Content(key("x")))
        self.vault.put(Content(key("y")))
        self.assertEqual(self.compared(self.vault.data, other.data), "forked")
        self.assertEqual(self.compared(self.vault.put(Content(key("z"))).data, other.data), "forked")
        self.assertEqual(self.compared(self.vault.compact().data, other.data), "forked")

    def test_compaction_keeps_the_past(self) -> None:
        data = self.vault.compact().data
        self.assertEqual([self.compared(data, each) for each in self.before], ["descends"] * 5)

    def test_the_order_is_that_in_which_states_became_ancestors_R_5_17(self) -> None:
        data = self.vault.compact().put(Content(key("n"))).compact().data
        generations = [generation for generation, _ in Ancestry.of(reader(data)).in_history]
        self.assertEqual(generations, list(range(1, reader(data).commit.generation)))

    def test_below_the_floor_it_is_unprovable(self) -> None:
        forge = self.vault.compact().forge()
        assert forge.history is not None
        forge.history = replace(forge.history, floor=4, ancestors=forge.history.ancestors[3:])
        data = forge.build()
        verdicts = [self.compared(data, each) for each in self.before]
        self.assertEqual(verdicts, ["unprovable"] * 3 + ["descends"] * 2)
        self.assertEqual(self.compared(data, replace(anchor(self.before[3]), chain=bytes(32))), "forked")
        self.assertEqual(self.compared(data, replace(anchor(self.before[2]), chain=bytes(32))), "unprovable")

    def test_a_walk_that_meets_damage(self) -> None:
        at = reader(self.before[2]).commit.offset + 100
        data = self.before[-1][:at] + b"x" + self.before[-1][at + 1 :]
        self.assertEqual(self.compared(data, self.before[3]), "descends")
        self.assertEqual(self.compared(data, replace(anchor(self.before[3]), chain=bytes(32))), "forked")
        for each in self.before[:3]:
            with self.assertRaises(Refused):
                self.compared(data, each)

    def test_rotation_hands_over_R_7_8(self) -> None:
        old = self.before[-1]
        rotated(self.vault).put(Content(key("after")))
        self.assertEqual([self.compared(self.vault.data, each) for each in self.before], ["descends"] * 5)
        self.before.append(self.vault.data)
        rotated(rotated(self.vault))
        self.assertEqual([self.compared(self.vault.data, each) for each in self.before], ["descends"] * 6)
        self.assertEqual(len(self.vault.reader.keyring.hand_overs), 3)
        self.assertEqual(self.compared(old, self.vault.data), "foreign")

    def test_a_branch_under_a_rotated_key_is_foreign(self) -> None:
        branch = self.vault.branch("thief").put(Content(key("planted")))
        rotated(self.vault).put(Content(key("after")))
        self.assertEqual(self.compared(self.vault.data, branch.data), "foreign")

    def forged(self, change: object) -> bytes:
        rotated(self.vault)
        forge = self.vault.forge()
        assert callable(change)
        forge.keyring = replace(forge.keyring, hand_overs=[change(forge.keyring.hand_overs[0])])
        return forge.build()

    def test_hand_overs_that_are_none(self) -> None:
        for change in (
            lambda over: replace(over, signature=bytes(64)),
            lambda over: replace(over, public=bytes(32)),
            lambda over: replace(over, generation=over.generation + 1),
            lambda over: replace(over, chain=bytes(32)),
        ):
            old = self.before[-1]
            vault, self.vault = self.vault, self.vault.branch("again")
            self.assertEqual(self.compared(self.forged(change), old), "foreign")
            self.vault = vault

    def test_a_hand_over_below_the_floor_is_unprovable(self) -> None:
        rotated(self.vault)
        forge = self.vault.put(Content(key("n"))).compact().forge()
        assert forge.history is not None
        kept = forge.history.ancestors[-1:]
        forge.history = replace(forge.history, floor=kept[0][0], ancestors=kept)
        self.assertEqual(self.compared(forge.build(), self.before[-1]), "unprovable")

    def test_a_strangers_vault_with_the_same_past_is_foreign(self) -> None:
        """A copied id and a copied chain, under another key: what first sight cannot tell, an anchor does."""
        stranger = rotated(self.vault.branch("stranger"))
        forge = stranger.forge()
        forge.keyring = replace(forge.keyring, hand_overs=[])
        self.assertEqual(self.compared(forge.build(), self.before[-1]), "foreign")

    def test_a_caller_can_insist_on_an_owner(self) -> None:
        public = self.vault.reader.keys.public
        self.assertEqual(verdict(self.vault.data, opened=lambda data: Reader(data, Factors(raw_key=RAW), owner=public)), "success")
        rotated(self.vault)
        self.assertEqual(verdict(self.vault.data, opened=lambda data: Reader(data, Factors(raw_key=RAW), owner=public)), "foreign")

    def test_hand_overs_are_signed_over_what_they_say(self) -> None:
        keys = self.vault.reader.keys
        over = HandOver.make(keys, 7, bytes(32), b"n" * 32)
        self.assertTrue(over.is_valid(keys.vault, b"n" * 32))
        self.assertFalse(over.is_valid(keys.vault, b"o" * 32))
        self.assertFalse(over.is_valid(bytes(16), b"n" * 32))

    def test_at_least_1000_ancestors_are_kept(self) -> None:
        forge = self.vault.compact().forge()
        assert forge.history is not None
        own = forge.history.ancestors[-1]
        many = [(1, number.to_bytes(32, "big"), 1) for number in range(1363)] + [own]
        forge.history = replace(forge.history, ancestors=many, floor=1)
        kept = past(reader(forge.build()))
        self.assertEqual((len(kept.ancestors), kept.floor, kept.ancestors[:1]), (1364, 2, many[1:2]))
