"""Merging under one key, what items hold: sections 6.4 and 8.1. Random histories are compared with the model in test_model.py."""

import itertools
import unittest
from dataclasses import replace

from tests.branches import LABEL, NOTES, A, TwoBranches, content, holder, merged, said, secrets, settled
from tests.orders import plain_dump
from tests.vaults import DEVICE, OTHER, RAW, Vault, key, reader
from vaultfmt_reference.anchors import commits
from vaultfmt_reference.changes import Edit
from vaultfmt_reference.codec import Refused
from vaultfmt_reference.contents import Contents
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.frames import RECORD
from vaultfmt_reference.items import SEALED
from vaultfmt_reference.keyring import OWNERS
from vaultfmt_reference.merge import merge
from vaultfmt_reference.past import KEY_FIELD, PLACE_FIELD, SECRET_FIELD, Where
from vaultfmt_reference.reader import Item, Reader
from vaultfmt_reference.replicas import Memory
from vaultfmt_reference.sealing import content_of
from vaultfmt_reference.verify import verify
from vaultfmt_reference.writer import Transaction


def sealed_secrets(vault: Vault, names: list[bytes]) -> list[bytes]:
    """As they are in the file."""
    opened = vault.reader
    ids = {each.entry.id for each in opened.walk() if isinstance(each, Item) and each.key in names}
    helds = [held for number in ids for held in Contents.of(opened).items[number].values.values()]
    return [opened.frame(held.place.record, RECORD)[64:] for held in helds if held.place is not None]


class Merging(TwoBranches):
    # What is taken as it is

    def test_what_one_side_has_all_of_is_taken_unchanged_R_8_12(self) -> None:
        ours, theirs = self.branches()
        self.assertEqual(merged(ours, theirs).what, "same")
        theirs.put(Content(A, b"1"))
        result = merged(ours, theirs)
        self.assertEqual((result.what, result.data), ("theirs", theirs.data))
        self.assertEqual(merged(theirs, ours).what, "ours")
        compacted = theirs.branch("compacted").compact()
        self.assertEqual(merged(theirs, compacted).what, "equal")

    def test_a_file_that_has_what_ours_erased_is_not_taken_R_8_12(self) -> None:
        ours, theirs = self.branches()
        later = theirs.branch("later")
        ours.put(Content(A, b"1")).compact()
        theirs.put(Content(key("t"))).merge(ours).put(Content(A, b"2"))
        result = merged(ours, theirs)
        self.assertEqual((result.what, len(list(commits(reader(result.data))))), ("merged", 2))
        self.assertEqual(content(result.data), content(theirs.data))
        self.assertEqual(merged(theirs, ours).what, "ours")
        # A compaction under a greater generation has not seen what ours erased.
        for number in range(4):
            later.put(Content(key(f"l{number}")))
        later.compact().merge(ours)
        self.assertEqual(merged(ours, later).what, "merged")
        # Once it is compacted with everything in it, it can be taken.
        self.assertEqual(merged(ours, later.compact()).data, later.data)

    def test_copies_that_were_all_compacted_end_with_one_file_without_what_any_erased_R_8_12(self) -> None:
        names = [key(name) for name in ("one", "two", "three")]
        for count in (2, 3):
            vaults = self.branches(*(Content(name) for name in [A, *names]), count=count)
            erased = sealed_secrets(vaults[0], names[:count])
            self.assertTrue(len(erased) == count and all(frame in vaults[0].data for frame in erased))
            for vault, name in zip(vaults, names, strict=False):
                vault.remove(name).compact()
            data = settled(*vaults)
            self.assertEqual((set(secrets(data)), len(list(commits(reader(data))))), ({A, *names[count:]}, 1))
            self.assertFalse(any(frame in data for frame in erased))

    def test_two_that_are_compacted_at_once_come_to_rest_R_8_12(self) -> None:
        ours, theirs = self.branches(Content(A), Content(key("o")), Content(key("t")))
        ours.remove(key("o")).compact()
        theirs.remove(key("t")).compact()
        ours.merge(theirs)
        theirs.merge(ours)
        self.assertEqual(merged(ours, theirs).what, "equal")
        first, second = merged(ours, theirs, unifies=True), merged(theirs, ours, unifies=True)
        self.assertEqual((first.what, second.what), ("compacted", "compacted"))
        ours.data, theirs.data = first.data, second.data
        what = {merged(ours, theirs, unifies=True).what, merged(theirs, ours, unifies=True).what}
        self.assertEqual(what, {"theirs", "equal"})
        self.assertIn(settled(ours, theirs), (first.data, second.data))

    def test_the_commit_of_a_merge_R_8_22(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(key("o")))
        for number in range(4):
            theirs.put(Content(key(f"t{number}")))
        opened, rows = reader(self.both_ways(ours, theirs)), list(ours.reader.vector.rows)
        self.assertEqual(opened.commit.generation, theirs.reader.commit.generation + 1)
        self.assertEqual((opened.commit.own_id, opened.commit.own_revision), (0, 0))
        self.assertEqual(list(opened.vector.rows)[: len(rows)], rows)
        self.assertEqual(opened.commit.clock, max(ours.reader.commit.clock, theirs.reader.commit.clock))

    # Items

    def test_fields_that_one_side_changed_are_that_sides(self) -> None:
        ours, theirs = self.branches(Content(A, b"0", {b"label": (0, b"0"), b"notes": (SEALED, b"0")}))
        ours.put(Content(A, b"ours", {b"label": (0, b"0"), b"notes": (SEALED, b"0")}))
        theirs.put(Content(key("renamed"), b"0", {b"label": (0, b"theirs"), b"notes": (SEALED, b"0")}), old=A)
        data = self.both_ways(ours, theirs)
        self.assertEqual(
            content(data, key("renamed")), Content(key("renamed"), b"ours", {b"label": (0, b"theirs"), b"notes": (SEALED, b"0")})
        )
        self.assertEqual(said(data, key("renamed"), "marks"), set())

    def test_of_one_field_on_both_the_later_is_shown_and_the_other_is_left_to_settle(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(A, b"ours", {b"label": (0, b"ours")}))
        theirs.put(Content(A, b"theirs", {b"label": (0, b"theirs")}))
        data = self.both_ways(ours, theirs)
        self.assertEqual(content(data), Content(A, b"theirs", {b"label": (0, b"theirs")}))
        self.assertEqual(said(data, A, "marks"), {(SECRET_FIELD, b"ours"), (LABEL, b"ours")})
        self.assertEqual(said(data, A, "earlier"), {(SECRET_FIELD, b"0")})

    def test_equal_values_leave_nothing_to_settle_and_are_seen_by_bytes_R_6_23(self) -> None:
        ours, theirs = self.branches()
        for each in (ours, theirs):
            each.put(Content(A, b"equal", {b"label": (0, b"equal")}))
        self.assertEqual(said(self.both_ways(ours, theirs), A, "marks"), set())

    def test_an_attributes_flags_are_part_of_its_value_R_6_23(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(A, b"0", {b"label": (0, b"x")}))
        theirs.put(Content(A, b"0", {b"label": (2, b"x")}))
        self.assertEqual(said(self.both_ways(ours, theirs), A, "marks"), {(LABEL, b"x")})

    def test_settling_keeps_the_loser_as_an_earlier_value_R_6_25(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(A, b"ours"))
        theirs.put(Content(A, b"theirs"))
        ours.data = merged(ours, theirs).data
        taking = ours.branch("taking")
        staying, transaction = ours.transaction(), taking.transaction()
        staying.settle(A, [SECRET_FIELD])
        ours.data = staying.commit()
        transaction.settle(A, (), transaction.view(transaction.item(A)).marks)
        taking.data = transaction.commit()
        self.assertEqual((content(ours.data).secret, said(ours.data, A, "marks")), (b"theirs", set()))
        self.assertEqual(said(ours.data, A, "earlier"), {(SECRET_FIELD, b"ours"), (SECRET_FIELD, b"0")})
        self.assertEqual((content(taking.data).secret, said(taking.data, A, "marks")), (b"ours", set()))
        self.assertEqual(said(taking.data, A, "earlier"), {(SECRET_FIELD, b"theirs"), (SECRET_FIELD, b"0")})

    def test_two_who_settle_alike_leave_nothing_to_settle_R_6_25(self) -> None:
        """Staying makes no new dot if what is shown is open."""
        ours, theirs = self.branches()
        ours.put(Content(A, b"ours"))
        theirs.put(Content(A, b"theirs"))
        ours.data = theirs.data = merged(ours, theirs).data
        for each in (ours, theirs):
            transaction = each.transaction()
            transaction.settle(A, [SECRET_FIELD])
            each.data = transaction.commit()
        data = self.both_ways(ours, theirs)
        self.assertEqual((content(data).secret, said(data, A, "marks")), (b"theirs", set()))

    def test_a_removal_takes_only_what_it_has_seen_R_8_13(self) -> None:
        ours, theirs = self.branches(Content(A, b"0"), Content(key("b"), b"0"))
        ours.remove(A, key("b"))
        theirs.put(Content(key("b"), b"changed"))
        self.assertEqual(secrets(self.both_ways(ours, theirs)), {key("b"): b"changed"})
        for each in (ours, theirs):
            each.now.time += 10**12
            each.compact()
        self.assertEqual(secrets(self.both_ways(ours, theirs)), {key("b"): b"changed"})

    def test_what_was_removed_does_not_return_from_a_third_copy(self) -> None:
        ours, theirs, third = self.branches(count=3)
        ours.remove(A)
        third.put(Content(key("c")))
        theirs.merge(ours).merge(third)
        third.merge(theirs)
        self.assertEqual(set(secrets(theirs.data)), {key("c")})
        self.assertEqual(merged(ours, third).data, third.data)

    def test_a_change_against_a_removal_keeps_the_item_with_all_of_its_fields(self) -> None:
        ours, theirs = self.branches(limit=0)
        ours.put(Content(A, b"1", {b"label": (0, b"0")}))
        ours.remove(A)
        theirs.put(Content(A, b"0", {b"label": (0, b"changed")}))
        self.assertEqual(content(self.both_ways(ours, theirs)), Content(A, b"0", {b"label": (0, b"changed")}))

    def test_24_orders_of_a_settling_a_removal_and_two_changes_end_alike(self) -> None:
        one, two, three, four = self.branches(count=4)
        one.put(Content(A, b"1"))
        two.put(Content(A, b"2"))
        two.merge(one)
        transaction = two.transaction()
        transaction.settle(A, [SECRET_FIELD])
        two.data = transaction.commit()
        three.put(Content(A, b"3"))
        four.remove(A)
        ends = set()
        for first, *rest in itertools.permutations((one, two, three, four)):
            end = first.branch("end")
            for each in rest:
                end.merge(each)
            ends.add(tuple(plain_dump(reader(end.data))))
        self.assertEqual(len(ends), 1)

    def test_a_value_that_nobody_replaced_is_shown_rather_than_a_later_one_that_was(self) -> None:
        """M-9: what was overwritten is in a copy whose replacement was removed."""
        one, two, three = self.branches(count=3)
        two.put(Content(A, b"small", {b"label": (0, b"0")}))
        one.now.time += 100_000
        one.put(Content(A, b"x", {b"label": (0, b"0")}))
        three.merge(one)
        three.put(Content(A, b"x", {b"label": (0, b"kept for this")}))
        one.put(Content(A, b"y"))
        one.remove(A)
        end = one.branch("end").merge(three).merge(two)
        self.assertEqual(content(end.data).secret, b"small")
        self.assertIn((SECRET_FIELD, b"x"), said(end.data, A, "earlier"))

    def test_an_attribute_that_one_side_dropped_does_not_return_with_the_others_change(self) -> None:
        ours, theirs = self.branches(Content(A, b"0", {b"label": (0, b"gone"), b"notes": (SEALED, b"gone")}))
        ours.put(Content(A, b"0"))
        theirs.put(Content(A, b"1", {b"label": (0, b"gone"), b"notes": (SEALED, b"gone")}))
        data = self.both_ways(ours, theirs)
        self.assertEqual(content(data), Content(A, b"1"))
        self.assertIn((NOTES, b"gone"), said(data, A, "earlier"))

    def test_what_was_forgotten_stays_so_and_its_bytes_go_R_6_20(self) -> None:
        ours, theirs = self.branches(Content(A, b"leaked"))
        for secret in (b"two", b"leaked", b"three"):
            ours.put(Content(A, secret))
        theirs.merge(ours)
        transaction = ours.transaction()
        view, item = transaction.view(transaction.item(A)), transaction.item(A)
        leaked = {named for named in view.earlier if content_of(item.id, SECRET_FIELD, item.values[named]) == b"leaked"}
        self.assertEqual((len(leaked), len(view.kept)), (1, 3))
        transaction.forget(A, leaked)
        ours.data = transaction.commit()
        theirs.put(Content(A, b"four"))
        data = self.both_ways(ours, theirs)
        self.assertEqual(reader(data).commit.forgotten, 2)
        self.assertEqual(said(data, A, "earlier"), {(SECRET_FIELD, b"two"), (SECRET_FIELD, b"three")})

    def test_equal_earlier_values_are_kept_under_their_newest_8_dots_R_6_26(self) -> None:
        vault = Vault(Content(A, b"0"))
        for number in range(12):
            vault.put(Content(A, b"%d" % (number % 2)))
        vault.put(Content(A, b"last"))
        view = vault.transaction().view(vault.transaction().item(A))
        self.assertEqual((len(view.kept), len(view.earlier)), (12, 2))
        for number in range(12):
            vault.put(Content(A, b"%d" % (number % 2)))
        vault.put(Content(A, b"last"))
        view = vault.transaction().view(vault.transaction().item(A))
        self.assertEqual((len(view.kept), len(view.earlier)), (8 + 8 + 1, 2))

    def test_what_an_item_had_with_a_mark_is_its_makers_whatever_was_merged_in_between(self) -> None:
        one, two, three = self.branches(count=3)
        one.put(Content(A, b"1", {b"label": (0, b"of one")}))
        two.put(Content(A, b"0", {b"label": (0, b"of two")}))
        three.put(Content(A, b"3", {b"label": (0, b"0")}))
        found = set()
        for first, second, third in itertools.permutations((one, two, three)):
            end = first.branch("end").merge(second).merge(third)
            item = next(each for each in end.reader.walk() if isinstance(each, Item))
            found |= {each.value.attributes for each in item.kept if each.content == b"1" and each.value.field == SECRET_FIELD}
        self.assertEqual([[(each.name, each.value) for each in attributes] for attributes in found], [[(b"label", b"of one")]])

    # Readers

    def test_a_value_is_not_read_in_a_place_where_it_was_not_set_R_8_16(self) -> None:
        """One side moved the item to the build's group, the other set a secret in the old one."""
        ours, theirs = self.branches(Content(A, b"old"), scoped=[b"ci"])
        moved = key("a", b"ci")
        ours.put(Content(moved, b"old"), old=A)
        theirs.put(Content(A, b"for admins"))
        data = self.both_ways(ours, theirs)
        self.assertEqual(secrets(data), {A: b"for admins"})
        self.assertEqual(said(data, A, "marks"), {(PLACE_FIELD, Where(b"ci", 1))})
        opened = Reader(data, Factors(raw_key=OTHER))
        self.assertEqual([each.live.reason for each in opened.walk() if isinstance(each, Item)], ["no-key"])

    def test_a_sealed_attribute_is_shown_only_in_its_own_place(self) -> None:
        ours, theirs = self.branches(Content(A, b"0", {b"notes": (SEALED, b"old")}), scoped=[b"ci"])
        moved = key("a", b"ci")
        theirs.now.time -= 500
        theirs.put(Content(A, b"0", {b"notes": (SEALED, b"for admins")}))
        ours.now.time += 5000
        ours.put(Content(moved, b"new", {b"notes": (SEALED, b"old")}), old=A)
        data = self.both_ways(ours, theirs)
        self.assertEqual(content(data, moved), Content(moved, b"new", {b"notes": (SEALED, b"old")}))
        self.assertEqual(said(data, moved, "marks"), {(NOTES, b"for admins")})

    def test_what_is_not_shown_is_the_owners_R_6_10(self) -> None:
        ours, theirs = self.branches(Content(A, b"0", {b"notes": (SEALED, b"0"), b"x/file": (SEALED, b"0" * 5000)}))
        ours.put(Content(A, b"1", {b"notes": (SEALED, b"1"), b"x/file": (SEALED, b"1" * 5000)}))
        theirs.put(Content(A, b"2", {b"notes": (SEALED, b"2"), b"x/file": (SEALED, b"2" * 5000)}))
        opened = reader(self.both_ways(ours, theirs))
        item = next(each for each in opened.walk() if isinstance(each, Item))
        places = [place for kept in item.kept for place in kept.value.places]
        self.assertEqual({opened.keyring.compartments[place.compartment].group for place in places}, {OWNERS})
        self.assertEqual(len(places), 6)

    def test_of_another_devices_item_one_record_is_shown_whole(self) -> None:
        ours, theirs, third = self.branches(Content(A, b"0", {b"notes": (SEALED, b"0")}, 5, DEVICE), count=3)
        ours.put(Content(A, b"1", {b"notes": (SEALED, b"0")}, 5, DEVICE))
        theirs.put(Content(A, b"0", {b"notes": (SEALED, b"2")}, 5, DEVICE))
        ends = []
        for first, second in ((ours, theirs), (theirs, ours)):
            # On a machine that has not the device's secret.
            opened = [Reader(each.data, Factors(raw_key=RAW)) for each in (first, second)]
            ends.append(merge(opened[0], opened[1], third.random, third.now).data)
        for data in ends:
            verify(reader(data))
            self.assertEqual(content(data), Content(A, b"1", {b"notes": (SEALED, b"0")}, 5, DEVICE))
            self.assertIn((NOTES, b"2"), said(data, A, "marks"))
        self.assertEqual(plain_dump(reader(ends[0])), plain_dump(reader(ends[1])))

    # Names

    def test_of_two_items_with_one_key_the_least_id_has_it_plain_R_6_15(self) -> None:
        ours, theirs = self.branches()
        for each, secret in ((ours, b"1"), (theirs, b"2")):
            each.put(Content(key("twin"), secret))
        data = self.both_ways(ours, theirs)
        twins = [each for each in reader(data).walk() if isinstance(each, Item) and each.item_key == key("twin")]
        self.assertEqual([each.is_plain for each in twins], [True, False])
        self.assertLess(twins[0].entry.id, twins[1].entry.id)
        self.assertEqual(twins[1].key, key("twin")[:-1] + b"\2" + twins[1].entry.id)
        vault = holder(data).remove(key("twin"))
        self.assertEqual([each.key for each in vault.reader.walk() if isinstance(each, Item)][1:], [key("twin")])
        verify(vault.reader)

    def test_a_rename_to_a_key_that_another_machine_gave_needs_no_record(self) -> None:
        ours, theirs = self.branches(Content(A, b"0"), Content(key("b"), b"1"))
        ours.put(Content(key("same"), b"0"), old=A)
        theirs.put(Content(key("same"), b"1"), old=key("b"))
        self.assertEqual(sorted(secrets(self.both_ways(ours, theirs)).values()), [b"0", b"1"])


class Devices(unittest.TestCase):
    def test_a_machine_without_the_secret_renames_and_does_not_move(self) -> None:
        vault = Vault(Content(A, b"bound", {}, 5, DEVICE))
        opened = Reader(vault.data, Factors(raw_key=RAW))
        transaction = Transaction(opened, vault.random, vault.now, Memory())
        item = transaction.item(A)
        name = replace(item.values[KEY_FIELD, next(iter(item.siblings.values())).fields[KEY_FIELD]], value=key("b"))
        transaction.edit(item.id, Edit({KEY_FIELD: name}))
        data = transaction.commit()
        self.assertEqual(secrets(data), {key("b"): b"bound"})
        moving = Transaction(Reader(data, Factors(raw_key=RAW)), vault.random, vault.now, Memory())
        place = replace(item.values[PLACE_FIELD, next(iter(item.siblings.values())).fields[PLACE_FIELD]], where=Where(b"", 1))
        moving.edit(item.id, Edit({PLACE_FIELD: place}))
        with self.assertRaises(Refused) as caught:
            moving.commit()
        self.assertEqual(caught.exception.verdict, "device-bound")


class Scoped(unittest.TestCase):
    def test_a_scoped_holder_cannot_merge(self) -> None:
        vault = Vault(Content(A, b"0"), scoped=[b"ci"])
        with self.assertRaises(Refused) as caught:
            merge(reader(vault.data, OTHER), vault.reader, vault.random, vault.now)
        self.assertEqual(caught.exception.verdict, "not-an-owner")
