"""Finding the state, tails, and what lies between commits: sections 2 and 7.1."""

import unittest
from dataclasses import replace

from tests.vaults import OTHER, RAW, Vault, key, reader, verdict
from vaultfmt_reference.codec import Refused
from vaultfmt_reference.crypto import NONCE
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.frames import Reference
from vaultfmt_reference.objects import Commit
from vaultfmt_reference.output import needs_signature, seal_commit
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.state import HEAD
from vaultfmt_reference.verify import verify


def three(scoped: list[bytes] | None = None) -> list[bytes]:
    """The file after each of three commits, of which the last two are small."""
    vault = Vault(Content(key("a"), b"1"), scoped=scoped)
    return [vault.data, vault.put(Content(key("b"), b"2")).data, vault.put(Content(key("c"), b"3")).data]


def resealed(data: bytes, **changes: object) -> bytes:
    """The newest commit with another core, proven by the owner."""
    opened = reader(data)
    core = replace(opened.commit, **changes).encode()  # type: ignore[arg-type]
    at = opened.commit.offset
    return data[:at] + seal_commit(opened.keys, core, at, needs_signature(opened.header), bytes(NONCE))


def damaged(data: bytes, commit: Commit, at: int = 40) -> bytes:
    """A byte of what it appended."""
    place = commit.start + at
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


class States(unittest.TestCase):
    def setUp(self) -> None:
        self.files = three()
        self.commits = [reader(each).commit for each in self.files]

    def generation(self, data: bytes) -> tuple[int, str]:
        opened = reader(data)
        return opened.commit.generation, opened.tail

    def test_the_newest_commit_is_served(self) -> None:
        self.assertEqual([self.generation(each) for each in self.files], [(1, ""), (2, ""), (3, "")])
        self.assertEqual([each.flags for each in self.commits], [1, 0, 0])

    def test_a_reserve_is_no_tail_R_2_5(self) -> None:
        for length in (1, 511, 512, 4096, 262_144):
            self.assertEqual(self.generation(self.files[2] + bytes(length)), (3, ""), length)
        self.assertEqual(self.generation(self.files[2] + bytes(262_145)), (3, "torn"))

    def test_what_is_neither_reserve_nor_commit_is_torn_R_7_3(self) -> None:
        for tail in (b"x", bytes(511) + b"x", b"vREC" + bytes(600), bytes(512) + b"x" + bytes(512)):
            self.assertEqual(self.generation(self.files[2] + tail), (3, "torn"))
        self.assertEqual(verdict(self.files[2] + b"x"), "success-tail-torn")
        self.assertEqual(self.generation(self.files[2][: self.commits[2].start + 100]), (2, "torn"))

    def test_a_head_that_does_not_open_is_damage(self) -> None:
        for tail in (HEAD + bytes(504), HEAD + b"x", bytes(512) + HEAD + bytes(503) + b"x", HEAD):
            self.assertEqual(self.generation(self.files[2] + tail), (3, "damaged"))
        self.assertEqual(self.generation(self.files[2] + b"x" * 512 + HEAD + b"x"), (3, "damaged"))
        self.assertEqual(self.generation(self.files[2][:-1]), (2, "damaged"))
        for offset in (1, 64, 511, 513):
            self.assertEqual(self.generation(self.files[2] + b"x" * offset + HEAD + b"x"), (3, "damaged"))
        self.assertEqual(self.generation(self.files[2] + b"x" * 64 + HEAD[:-1]), (3, "torn"))

    def test_bytes_inserted_or_removed_before_a_commit_are_damage(self) -> None:
        start = self.commits[2].start
        for data in (self.files[2][:start] + b"x" * 64 + self.files[2][start:], self.files[2][: start + 8] + self.files[2][start + 16 :]):
            self.assertEqual(self.generation(data), (2, "damaged"))

    def test_63_heads_that_do_not_open_are_passed_and_64_are_not(self) -> None:
        head = HEAD + b"x" * 504
        self.assertEqual(self.generation(self.files[2] + head * 63), (3, "damaged"))
        self.assertEqual(verdict(self.files[2] + head * 64), "authentication-failed")

    def test_an_incomplete_generation_gives_way_to_its_predecessor(self) -> None:
        data = damaged(self.files[2], self.commits[2])
        self.assertEqual(self.generation(data), (2, "incomplete"))
        self.assertEqual(verdict(data), "success-tail-incomplete")
        self.assertEqual(self.generation(data + HEAD + b"x" * 504), (2, "damaged"))

    def test_two_incomplete_generations_are_not_passed_R_7_2(self) -> None:
        data = damaged(damaged(self.files[2], self.commits[2]), self.commits[1])
        self.assertEqual(verdict(data), "authentication-failed")

    def test_with_flag_1_the_predecessors_digest_is_not_asked_for(self) -> None:
        data = damaged(damaged(self.files[1], self.commits[1]), self.commits[0])
        self.assertEqual(self.generation(data), (1, "incomplete"))
        self.assertEqual(verdict(data), "authentication-failed")  # The record itself.

    def test_with_flag_1_a_damaged_record_costs_its_item_only(self) -> None:
        vault = Vault(Content(key("a"), b"1"), Content(key("b"), b"2"))
        opened = reader(damaged(vault.data, vault.reader.commit))
        reasons = [each.live.reason for each in opened.walk()]  # type: ignore[union-attr]
        self.assertEqual(sorted(reasons), ["", "authentication-failed"])

    def test_an_incomplete_generation_without_a_predecessor_in_the_file_is_damage(self) -> None:
        data = resealed(self.files[0], flags=0, digest=bytes(32))
        self.assertEqual(verdict(data), "authentication-failed")

    def test_an_incomplete_generation_that_names_another_predecessor_is_damage(self) -> None:
        for changes in ({"before": 1, "generation": 3}, {"chain_before": bytes(32)}):
            data = damaged(resealed(self.files[2], **changes), self.commits[2])
            self.assertEqual(verdict(data), "authentication-failed")

    def test_a_forged_newest_commit_is_an_error_and_no_reason_to_go_back_R_7_1(self) -> None:
        for changes, expected in (
            ({"header_hash": bytes(32)}, "authentication-failed"),
            ({"flags": 4}, "structure-invalid"),
            ({"root": Reference(0, 256)}, "structure-invalid"),
        ):
            self.assertEqual(verdict(resealed(self.files[2], **changes)), expected)

    def test_a_generation_may_be_more_than_one_greater_R_5_21(self) -> None:
        self.assertEqual(self.generation(resealed(self.files[2], generation=77)), (77, ""))

    def test_32768_bytes_may_be_unsynced_and_512_more_may_not_R_5_23(self) -> None:
        for secret, expected in ((31_000, 0), (34_000, 1)):
            vault = Vault().put(Content(key("a"), bytes(secret)))
            self.assertEqual(vault.reader.commit.flags, expected)
        self.assertEqual(verdict(resealed(vault.data, flags=0)), "structure-invalid")

    def test_frames_that_do_not_divide_have_no_digest_R_2_1(self) -> None:
        commit = self.commits[2]
        for at, data in ((0, b"vXXX"), (0, b"vCMT"), (4, bytes(4)), (4, (300).to_bytes(4, "little"))):
            place = commit.start + at
            changed = self.files[2][:place] + data + self.files[2][place + len(data) :]
            self.assertEqual(self.generation(changed), (2, "incomplete"))
        changed = self.files[2][: commit.offset - 1] + b"x" + self.files[2][commit.offset :]
        self.assertEqual(self.generation(changed), (2, "incomplete"))

    def test_verification_names_any_flip_outside_of_the_reserve(self) -> None:
        data = self.files[1]
        verify(reader(data))
        for place in range(0, len(data), 97):
            flipped = data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]
            with self.assertRaises(Refused, msg=f"byte {place}"):
                verify(reader(flipped))

    def test_a_commit_by_a_scoped_holder_is_accepted_by_nobody_R_5_18(self) -> None:
        """It has the index key, and so can seal what it wants."""
        data = three([b""])[2]
        opened = reader(data)
        commit = replace(opened.commit, generation=9)
        body = commit.encode() + bytes(32) + opened.opened.signature
        forged = opened.keys.seal_at("commit", b"vCMT", commit.offset, bytes(NONCE), body)
        for raw in (RAW, OTHER):
            self.assertEqual(verdict(data[:-512] + forged, raw), "authentication-failed")

    def test_a_commit_without_a_signature_is_for_owners_only_R_5_19(self) -> None:
        data = three([b""])[2]
        opened = reader(data)
        sealed = seal_commit(opened.keys, opened.commit.encode(), opened.commit.offset, False, bytes(NONCE))
        self.assertEqual(verdict(data[:-512] + sealed), "success")
        self.assertEqual(verdict(data[:-512] + sealed, OTHER), "authentication-failed")
        with self.assertRaises(Refused):
            verify(reader(data[:-512] + sealed))

    def test_the_header_copy_is_not_read_but_verified_R_3_4(self) -> None:
        data = self.files[2][:5000] + b"x" + self.files[2][5001:]
        self.assertEqual(verdict(data), "success")
        with self.assertRaises(Refused):
            verify(reader(data))


class Large(unittest.TestCase):
    def test_trees_of_several_levels_are_read_and_changed(self) -> None:
        vault = Vault(*(Content(key(f"{number:03}" + "k" * 500), b"s") for number in range(300)))
        self.assertGreaterEqual(vault.reader.commit.level, 2)
        vault.put(*(Content(key(f"m{number}")) for number in range(40)))
        vault.remove(*(key(f"{number:03}" + "k" * 500) for number in range(0, 300)))
        opened: Reader = vault.reader
        self.assertEqual(opened.commit.items, 40)
        self.assertEqual(verify(opened)["item"], 40)
