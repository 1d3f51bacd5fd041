"""A branch under a key that was replaced: section 8.2."""

import unittest

from tests.branches import LABEL, NOTES, OTHER_SLOT, A, content, said, secrets
from tests.vaults import DEVICE, MAIN, RAW, Vault, key, reader
from vaultfmt_reference.codec import Refused
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.items import SEALED
from vaultfmt_reference.merge import Result, adopt, merge
from vaultfmt_reference.past import SECRET_FIELD
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.rewrite import add_slot, rotate
from vaultfmt_reference.verify import verify


class OldKeys(unittest.TestCase):
    def setUp(self) -> None:
        self.ours = Vault(Content(A, b"0", {b"label": (0, b"0")}), Content(key("known"), b"k"))
        self.theirs = self.ours.branch("theirs")
        self.theirs.put(Content(A, b"unseen", {b"label": (0, b"l")}), Content(key("new"), b"n", {b"notes": (SEALED, b"s")}))
        self.ours.data = rotate(self.ours.transaction(), [(MAIN, None)], restart=True)
        self.ours.put(Content(A, b"ours", {b"label": (0, b"0")}))

    def adopted(self, ours: Vault, theirs: Vault) -> Result:
        result = adopt(ours.reader, theirs.reader, ours.random, ours.now, ours.memory)
        verify(reader(result.data))
        return result

    def test_it_is_not_merged_unasked_R_8_1(self) -> None:
        with self.assertRaises(Refused) as caught:
            merge(self.ours.reader, self.theirs.reader, self.ours.random, self.ours.now)
        self.assertEqual(caught.exception.verdict, "foreign")

    def test_its_values_come_in_to_be_settled_and_nothing_that_is_shown_changes_R_8_1(self) -> None:
        for ours, theirs in ((self.ours, self.theirs), (self.theirs, self.ours)):
            result = self.adopted(ours, theirs)
            self.assertEqual(result.what, "adopted")
            self.assertEqual(content(result.data), Content(A, b"ours", {b"label": (0, b"0")}))
            self.assertEqual(said(result.data, A, "marks"), {(SECRET_FIELD, b"unseen"), (LABEL, b"l")})
            self.assertEqual(content(result.data, key("new")), Content(key("new"), None))
            self.assertEqual(said(result.data, key("new"), "marks"), {(SECRET_FIELD, b"n"), (NOTES, b"s")})

    def test_taking_it_in_again_changes_nothing_R_8_24(self) -> None:
        self.ours.data = self.adopted(self.ours, self.theirs).data
        result = self.adopted(self.ours, self.theirs)
        self.assertEqual((result.what, result.data), ("ours", self.ours.data))
        self.assertEqual(self.adopted(self.theirs, self.ours).what, "theirs")

    def test_what_was_removed_after_the_rotation_does_not_return_R_8_25(self) -> None:
        self.ours.remove(key("known"))
        self.ours.data = self.adopted(self.ours, self.theirs).data
        self.assertNotIn(key("known"), secrets(self.ours.data))

    def test_its_removals_and_slots_are_not_carried_out_R_8_27(self) -> None:
        item = self.theirs.transaction().item(key("known")).id
        self.theirs.remove(key("known"))
        self.theirs.data = add_slot(self.theirs.transaction(), OTHER_SLOT)
        result = self.adopted(self.ours, self.theirs)
        self.assertEqual((secrets(result.data)[key("known")], result.named), (b"k", [item]))
        self.assertEqual(len(reader(result.data).header.slots), 1)

    def test_what_was_forgotten_does_not_come_in_though_its_id_is_gone_R_8_27(self) -> None:
        vault = Vault(Content(A, b"leaked")).put(Content(A, b"two"))
        branch = vault.branch("branch")
        transaction = vault.transaction()
        transaction.forget(A, transaction.view(transaction.item(A)).earlier)
        vault.data = transaction.commit()
        vault.data = rotate(vault.transaction(), [(MAIN, None)], restart=True)
        vault.data = adopt(vault.reader, branch.put(Content(A, b"three")).reader, vault.random, vault.now).data
        verify(vault.reader)
        self.assertEqual(said(vault.data, A, "marks"), {(SECRET_FIELD, b"three")})
        self.assertEqual(said(vault.data, A, "earlier"), set())

    def test_if_both_rotated_all_go_on_under_the_later_key(self) -> None:
        self.theirs.now.time += 10**6
        self.theirs.data = rotate(self.theirs.transaction(), [(MAIN, None)])
        ends = [self.adopted(first, second).data for first, second in ((self.ours, self.theirs), (self.theirs, self.ours))]
        self.assertEqual({reader(data).keys.public for data in ends}, {self.theirs.reader.keys.public})
        for data in ends:
            self.assertEqual(content(data).secret, b"unseen")
            self.assertIn((SECRET_FIELD, b"ours"), said(data, A, "marks"))
            # What both had before they rotated is known: nothing of it is left to settle.
            self.assertEqual(said(data, key("known"), "marks"), set())

    def test_vaults_of_which_neither_key_led_to_the_other_are_foreign(self) -> None:
        stranger = Vault(Content(A, b"0"), seed="stranger")
        header, opened = self.ours.reader.header, stranger.reader
        self.assertNotEqual(header.vault, opened.header.vault)
        with self.assertRaises(Refused) as caught:
            adopt(self.ours.reader, opened, self.ours.random, self.ours.now)
        self.assertEqual(caught.exception.verdict, "other-vault")

    def test_an_item_of_another_device_comes_in_with_its_record_as_it_is(self) -> None:
        self.theirs.put(Content(key("bound"), b"b", {}, 5, DEVICE))
        opened = [Reader(each.data, Factors(raw_key=RAW)) for each in (self.ours, self.theirs)]
        data = adopt(opened[0], opened[1], self.ours.random, self.ours.now).data
        verify(reader(data))
        self.assertEqual(content(data, key("bound")), Content(key("bound"), None, {}, 5, DEVICE))
        self.assertEqual(said(data, key("bound"), "marks"), {(SECRET_FIELD, b"b")})
