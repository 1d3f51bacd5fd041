"""Verdicts on what a machine remembers: sections 7.2 and 7.3, and who may continue a replica id (7.5)."""

import unittest
from dataclasses import replace

from tests.vaults import MAIN, RAW, Vault, key, reader, verdict
from vaultfmt_reference.anchors import Anchor, Dropped, compare
from vaultfmt_reference.codec import Refused
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.keyring import HandOver
from vaultfmt_reference.merge import adopt
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.replicas import MOST_REVISIONS
from vaultfmt_reference.rewrite import rotate


def anchor(data: bytes) -> Anchor:
    return Anchor.of(reader(data))


def rotated(vault: Vault, restart: bool = False) -> Vault:
    vault.data = rotate(vault.transaction(), [(MAIN, None)], restart)
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

    def test_a_compaction_is_the_same(self) -> None:
        self.assertEqual(self.compared(self.vault.compact().data, self.before[-1]), "same")
        self.assertEqual(self.compared(self.before[-1], self.vault.data), "same")

    def test_another_branch_is_forked_until_it_is_merged(self) -> None:
        other = self.vault.branch("other").put(Content(key("x")))
        mine = self.vault.put(Content(key("y"))).data
        self.assertEqual(self.compared(mine, other.data), "forked")
        self.assertEqual(self.compared(self.vault.compact().data, other.data), "forked")
        self.vault.merge(other)
        self.assertEqual([self.compared(self.vault.data, each) for each in (mine, other.data)], ["descends"] * 2)

    def test_two_machines_that_removed_the_same_item_go_on_after_a_merge(self) -> None:
        other = self.vault.branch("other").remove(key("a"))
        before = self.vault.remove(key("a")).data, other.data
        self.vault.merge(other)
        self.assertEqual([self.compared(self.vault.data, each) for each in before], ["descends"] * 2)

    def test_an_anchor_comes_back_from_its_text(self) -> None:
        for each in (anchor(self.before[0]), anchor(rotated(self.vault, restart=True).data)):
            self.assertEqual(Anchor.parse(each.text).text, each.text)

    def test_with_a_damaged_vector_only_the_chain_value_tells_R_5_37(self) -> None:
        data = self.vault.compact().data
        at = reader(data).commit.vector.offset + 100
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        self.assertEqual(compare(reader(damaged), anchor(data)), "same")
        with self.assertRaises(Refused):
            compare(reader(damaged), anchor(self.before[0]))
        self.assertEqual(verdict(damaged), "authentication-failed")

    # Hand-overs

    def test_rotation_hands_over_R_7_8(self) -> None:
        for restart in (False, True):
            with self.subTest(restart=restart):
                self.setUp()
                old = self.before[-1]
                rotated(self.vault, restart).put(Content(key("after")))
                self.assertEqual([self.compared(self.vault.data, each) for each in self.before], ["descends"] * 5)
                self.before.append(self.vault.data)
                rotated(rotated(self.vault, restart))
                self.assertEqual([self.compared(self.vault.data, each) for each in self.before], ["descends"] * 6)
                self.assertEqual(len(self.vault.reader.keyring.hand_overs), 3)
                self.assertEqual(self.compared(old, self.vault.data), "foreign")

    def test_a_restart_leaves_one_row_and_no_dot_of_another_R_7_25(self) -> None:
        self.vault.merge(self.vault.branch("other").put(Content(key("x"))))
        rotated(self.vault, restart=True)
        opened = self.vault.reader
        self.assertEqual((len(opened.vector.rows), opened.commit.floor + 1), (1, opened.keyring.key_dot.revision))
        self.assertEqual({each.dot.position for each in (opened.entry(name, value) for name, value, _ in opened.entries())}, {0})

    def test_a_branch_under_a_replaced_key_is_forked_until_it_is_taken_in(self) -> None:
        branch = self.vault.branch("thief").put(Content(key("planted")))
        rotated(self.vault).put(Content(key("after")))
        self.assertEqual(self.compared(self.vault.data, branch.data), "forked")
        self.vault.data = adopt(self.vault.reader, branch.reader, self.vault.random, self.vault.now, self.vault.memory).data
        self.assertEqual([self.compared(self.vault.data, each) for each in (branch.data, self.before[-1])], ["descends"] * 2)

    def test_rows_can_be_covered_by_several_hand_overs_together_R_7_6(self) -> None:
        one, two = self.vault.branch("one").put(Content(key("x"))), self.vault.branch("two").put(Content(key("y")))
        both = one.branch("both").merge(two)
        rotated(self.vault)
        for each in (one, two):
            self.assertEqual(self.compared(self.vault.data, both.data), "forked")
            self.vault.data = adopt(self.vault.reader, each.reader, self.vault.random, self.vault.now, self.vault.memory).data
        self.assertEqual(self.compared(self.vault.data, both.data), "descends")

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
            lambda over: replace(over, floor=over.floor + 1),
            lambda over: replace(over, following=bytes(32)),
        ):
            old = self.before[-1]
            vault, self.vault = self.vault, self.vault.branch("again")
            self.assertEqual(self.compared(self.forged(change), old), "foreign")
            self.vault = vault

    def test_a_hand_over_of_other_rows_is_none(self) -> None:
        rotated(self.vault)
        forge = self.vault.forge()
        forge.hand_overs = [[(replica, revision + 1) for replica, revision in rows] for rows in forge.hand_overs]
        self.assertEqual(self.compared(forge.build(), self.before[-1]), "foreign")

    def test_a_hand_over_whose_vector_is_damaged_is_an_error(self) -> None:
        data = rotated(self.vault).data
        at = reader(data).keyring.hand_overs[0].vector.offset + 60
        with self.assertRaises(Refused):
            self.compared(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], self.before[-1])

    def test_a_caller_can_insist_on_an_owner(self) -> None:
        public = self.vault.reader.keys.public
        self.assertEqual(verdict(self.vault.data, opened=lambda data: Reader(data, Factors(raw_key=RAW), owner=public)), "success")
        rotated(self.vault)
        self.assertEqual(verdict(self.vault.data, opened=lambda data: Reader(data, Factors(raw_key=RAW), owner=public)), "foreign")

    def test_hand_overs_are_signed_over_what_they_say(self) -> None:
        keys, rows = self.vault.reader.keys, [(2, 7), (1, 9)]
        over = HandOver.make(keys, rows, 3, self.vault.reader.commit.vector, b"n" * 32)
        self.assertTrue(over.is_valid(keys.vault, rows[::-1]))
        self.assertFalse(over.is_valid(keys.vault, [(2, 7), (1, 8)]))
        self.assertFalse(replace(over, following=b"o" * 32).is_valid(keys.vault, rows))
        self.assertFalse(over.is_valid(bytes(16), rows))

    # What a user dropped

    def test_what_was_dropped_is_found_again_R_7_23(self) -> None:
        fork = self.vault.branch("fork")
        fork.memory = self.vault.memory
        fork.put(Content(key("a"), b"bad"))
        remembered, dropped = anchor(fork.data), Dropped()
        dropped.accept(remembered, self.vault.reader)
        self.assertEqual(dropped.found(self.vault.reader), set())
        self.vault.put(Content(key("a"), b"good"))
        self.assertEqual(dropped.found(self.vault.reader), set())
        later = fork.branch("later").put(Content(key("z")))
        self.assertEqual(dropped.found(later.reader), {*remembered.vector.rows})
        dropped.agree(later.reader)
        self.assertEqual((dropped.rows, dropped.found(later.reader)), ([], set()))

    def test_what_was_dropped_is_found_in_what_was_handed_over(self) -> None:
        fork, dropped = self.vault.branch("fork").put(Content(key("a"), b"bad")), Dropped()
        dropped.accept(anchor(fork.data), self.vault.reader)
        self.assertEqual(len(dropped.found(rotated(fork, restart=True).reader)), 1)


class Replicas(unittest.TestCase):
    def test_an_id_goes_on_only_from_its_own_last_revision_R_7_19(self) -> None:
        vault = Vault(Content(key("a"), b"1"))
        copy = vault.branch("copy")
        copy.memory = vault.memory
        vault.put(Content(key("a"), b"2"))
        self.assertEqual(len(vault.reader.vector.rows), 1)
        # The copy does not have that change: so its next one is another id's.
        copy.put(Content(key("a"), b"3"))
        self.assertEqual(len(copy.reader.vector.rows), 2)

    def test_an_id_with_another_writer_is_named_and_split_R_7_21(self) -> None:
        vault = Vault(Content(key("a"), b"1"))
        clone = vault.branch("clone")
        clone.memory.last, clone.memory.log = dict(vault.memory.last), {each: set(log) for each, log in vault.memory.log.items()}
        vault.put(Content(key("a"), b"2"))
        clone.put(Content(key("b"), b"3"))
        (replica,) = vault.memory.last
        # The machine finds its own id with a revision that it never made, as its last one: still it does not go on with it.
        vault.memory.last[replica] = clone.reader.vector.rows[replica]
        clone.memory = vault.memory
        clone.put(Content(key("c")))
        self.assertEqual((clone.reader.vector.split, len(clone.reader.vector.rows)), ({replica}, 2))
        self.assertEqual(verdict(clone.data), "success")

    def test_an_id_ends_after_4096_revisions_R_7_24(self) -> None:
        vault = Vault(Content(key("a"), b"1"))
        (replica,) = vault.memory.last
        last = vault.memory.last[replica]
        vault.memory.note(replica, last - MOST_REVISIONS, last)
        self.assertEqual(len(vault.put(Content(key("a"), b"2")).reader.vector.rows), 2)

    def test_a_daily_change_writes_no_vector_and_another_machines_a_short_one_R_5_36(self) -> None:
        vault = Vault(*(Content(key(f"{number}")) for number in range(3)))
        frame = vault.reader.commit.vector
        self.assertEqual(vault.put(Content(key("a"))).reader.commit.vector, frame)
        for number in range(30):
            vault.merge(vault.branch(f"m{number}").put(Content(key(f"m{number}"))))
        opened = vault.reader
        self.assertEqual((len(opened.vector.rows), opened.vector_frame[1].base is not None), (31, True))
        self.assertLess(opened.commit.vector.length, 512)
