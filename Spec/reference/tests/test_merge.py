"""Merging: section 8, rule by rule. Random histories are compared with the model in test_model.py."""

import itertools
import unittest
from dataclasses import replace
from unittest import mock

from tests.replay import plain_dump
from tests.vaults import DEVICE, MAIN, OTHER, RAW, Vault, key, reader, verdict
from vaultfmt_reference import merge as merging_of_files
from vaultfmt_reference.changes import Edit
from vaultfmt_reference.codec import Limit, Refused
from vaultfmt_reference.contents import Contents
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.holding import ItemState
from vaultfmt_reference.items import SEALED
from vaultfmt_reference.keyring import OWNERS
from vaultfmt_reference.merge import Result, adopt, merge
from vaultfmt_reference.past import ATTRIBUTE_KIND, KEY_FIELD, PLACE_FIELD, SECRET_FIELD, Field, Where
from vaultfmt_reference.reader import Item, Reader
from vaultfmt_reference.replicas import Memory
from vaultfmt_reference.rewrite import add_slot, change_slot, grant, remove_slot, rename_slot, rotate
from vaultfmt_reference.sealing import content_of
from vaultfmt_reference.slots import SCOPED, NewSlot
from vaultfmt_reference.verify import verify
from vaultfmt_reference.writer import Transaction

A = key("a")
LABEL, NOTES = (ATTRIBUTE_KIND, b"label"), (ATTRIBUTE_KIND, b"notes")
OTHER_SLOT = NewSlot(Factors(raw_key=OTHER), name=b"other")


def merged(ours: Vault, theirs: Vault, spare: NewSlot | None = None) -> Result:
    result = merge(ours.reader, theirs.reader, ours.random, ours.now, ours.memory, spare)
    verify(reader(result.data))
    return result


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


class Merging(unittest.TestCase):
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

    # Split ids

    def test_nothing_is_concluded_from_the_row_of_a_split_id_R_8_14(self) -> None:
        vault = Vault(Content(A, b"0"))
        known = vault.branch("known")
        transaction = known.transaction()
        transaction.put(Content(key("b")))
        transaction.contents.vector.split |= set(vault.reader.vector.rows)
        known.data = transaction.commit()
        vault.remove(A)
        for first, second in ((vault, known), (known, vault)):
            result = merged(first, second)
            item = next(each.entry.id for each in vault.branch("x").merge(known).reader.walk() if isinstance(each, Item) and each.key == A)
            self.assertEqual((set(secrets(result.data)), result.named), ({A, key("b")}, [item]))

    # Slots, groups, settings

    def slot(self, vault: Vault, kind: int) -> bytes:
        return next(slot.id for slot in vault.reader.header.slots if slot.kind == kind)

    def test_a_slot_keeps_its_id_when_its_factors_change_and_the_change_is_followed(self) -> None:
        ours, theirs = self.branches()
        ours.data = change_slot(ours.transaction(), ours.reader.slot.id, OTHER_SLOT)
        theirs.put(Content(key("b")))
        theirs_reader, ours_reader = theirs.reader, reader(ours.data, OTHER)
        data = merge(theirs_reader, ours_reader, theirs.random, theirs.now).data
        self.assertEqual((verdict(data, RAW), verdict(data, OTHER)), ("no-slot-opens", "success"))
        self.assertEqual([slot.id for slot in reader(data, OTHER).header.slots], [theirs_reader.slot.id])

    def test_removal_of_a_slot_wins_over_its_change(self) -> None:
        ours, theirs = self.branches()
        ours.data = theirs.data = add_slot(ours.transaction(), OTHER_SLOT)
        added = next(slot.id for slot in ours.reader.header.slots if slot.id != ours.reader.slot.id)
        ours.data = remove_slot(ours.transaction(), added)
        theirs.data = rename_slot(theirs.transaction(), added, b"renamed")
        self.assertNotIn(added, {slot.id for slot in reader(self.both_ways(ours, theirs)).header.slots})

    def test_a_grant_here_and_a_revocation_there_both_hold_R_8_17(self) -> None:
        ours, theirs = self.branches(Content(key("a", b"ci"), b"1"), Content(key("a", b"admin"), b"2"), scoped=[b"ci", b"admin"])
        slot = self.slot(ours, SCOPED)
        ours.data = theirs.data = grant(ours.transaction(), slot, [b"ci"])
        groups = {each.name: each.number for each in ours.reader.keyring.groups.values()}
        ours.data = grant(ours.transaction(), slot, [b"ci", b"admin"])
        theirs.data = grant(theirs.transaction(), slot, [])
        opened = reader(self.both_ways(ours, theirs))
        names = {opened.keyring.groups[number].name for number in opened.keyring.slots[slot].grants}
        self.assertEqual(names, {b"admin"})
        self.assertFalse(set(groups.values()) & set(opened.keyring.groups))
        found = Reader(opened.data, Factors(raw_key=OTHER))
        self.assertEqual({each.key: each.live.reason for each in found.walk() if isinstance(each, Item)}[key("a", b"ci")], "no-key")

    def test_a_groups_key_goes_on_where_its_grants_are_one_sides_R_8_17(self) -> None:
        ours, theirs = self.branches(Content(key("a", b"ci"), b"1"), scoped=[b"ci"])
        ours.data = grant(ours.transaction(), self.slot(ours, SCOPED), [])
        theirs.put(Content(key("b", b"ci"), b"2"))
        number = ours.reader.keyring.group_named(b"ci").number  # type: ignore[union-attr]
        opened = reader(self.both_ways(ours, theirs))
        self.assertEqual(opened.keyring.group_named(b"ci").number, number)  # type: ignore[union-attr]
        self.assertEqual(secrets(opened.data), {key("a", b"ci"): b"1", key("b", b"ci"): b"2"})
        old = {each for each in theirs.reader.keyring.compartments if theirs.reader.keyring.group_name(each) == b"ci"}
        self.assertFalse(old & set(opened.keyring.compartments))

    def test_two_groups_of_one_name_become_that_of_the_smaller_number(self) -> None:
        ours, theirs = self.branches()
        for each in (ours, theirs):
            each.put(Content(key(each.random(2).hex(), b"new"), b"s"))
        numbers = [each.reader.keyring.group_named(b"new").number for each in (ours, theirs)]  # type: ignore[union-attr]
        opened = reader(self.both_ways(ours, theirs))
        self.assertEqual(opened.keyring.group_named(b"new").number, min(numbers))  # type: ignore[union-attr]
        self.assertEqual(sorted(secrets(opened.data).values()), [b"0", b"s", b"s"])

    def test_the_later_setting_holds(self) -> None:
        ours, theirs = self.branches()
        for each, number in ((ours, 7), (theirs, 1)):
            transaction = each.transaction()
            transaction.set_limit(number)
            each.data = transaction.commit()
        self.assertEqual(reader(self.both_ways(ours, theirs)).keyring.limit, 1)

    def test_a_merge_that_leaves_no_full_slot_is_completed_by_one_R_8_20(self) -> None:
        ours, theirs = self.branches()
        ours.data = theirs.data = add_slot(ours.transaction(), OTHER_SLOT)
        mine, other = ours.reader.slot.id, next(slot.id for slot in ours.reader.header.slots if slot.id != ours.reader.slot.id)
        ours.data = remove_slot(ours.transaction(), other)
        theirs.data = remove_slot(theirs.transaction(), mine)
        left, right = ours.reader, reader(theirs.data, OTHER)
        with self.assertRaises(Refused) as caught:
            merge(left, right, ours.random, ours.now, ours.memory)
        self.assertEqual(caught.exception.verdict, "last-slot")
        result = merge(left, right, ours.random, ours.now, ours.memory, MAIN)
        opened = reader(result.data)
        self.assertEqual((len(opened.header.slots), opened.slot.id in (mine, other), opened.commit.own_id != 0), (1, False, True))
        verify(opened)

    def test_a_merge_that_leaves_no_room_for_earlier_values_drops_the_oldest_R_8_21(self) -> None:
        """With less room than section 11 gives, so that it takes fewer changes."""
        attributes = {b"n%d" % number: (SEALED, bytes(4)) for number in range(6)}
        with mock.patch.object(Limit, "PAST_VALUES", 200), mock.patch.object(merging_of_files, "MANY", 50):
            ours, theirs = self.branches(Content(A, b"0", attributes), limit=50)
            for each in (ours, theirs):
                for number in range(20):
                    changed = {name: (SEALED, each.random(4) + b"%d" % number) for name in attributes}
                    each.put(Content(A, b"%d" % number, changed))
            newest = [name for _, name in sorted((named[1], named) for named in self.item_of(theirs).names)][-1]
            opened = reader(merged(ours, theirs).data)
            item = Contents.of(opened).items[self.item_of(ours).id]
            self.assertNotEqual(opened.commit.own_id, 0)
            self.assertEqual(len(item.siblings), 1)
            self.assertLessEqual(len(item.names), 200)
            self.assertGreater(len(item.names), 180)
            self.assertIn(newest, item.names)

    def item_of(self, vault: Vault) -> ItemState:
        return next(iter(Contents.of(vault.reader).items.values()))

    def test_one_number_with_two_keys_is_refused_R_8_19(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(key("o")))
        theirs.put(Content(key("t")))
        forge = theirs.compact().forge()
        (number,) = (each for each in forge.keyring.groups)
        transaction = theirs.transaction()
        transaction.ring.keyring.groups.pop(number)
        transaction.ring.add_group(b"", b"k" * 32, number)
        for compartment in list(forge.keyring.compartments.values()):
            if compartment.group == number:
                transaction.ring.wrap_again(compartment, forge.keyring.outer(forge.keys, compartment.number))
        forge.keyring = replace(forge.keyring, groups=transaction.ring.keyring.groups, compartments=transaction.ring.keyring.compartments)
        theirs.data = forge.build()
        verify(theirs.reader)
        with self.assertRaises(Refused):
            merged(ours, theirs)

    def test_limits_hold_for_every_item_and_for_64_attributes(self) -> None:
        ours, theirs = self.branches(Content(A, b"0"))
        for number, each in enumerate((ours, theirs)):
            each.put(Content(A, b"0", {b"%d.%02d" % (number, at): (0, b"x") for at in range(40)}))
        data = self.both_ways(ours, theirs)
        self.assertEqual(len(content(data).attributes), 64)
        self.assertEqual(len(said(data, A, "marks")), 16)


class OldKeys(unittest.TestCase):
    """A branch under a key that was replaced: section 8.2."""

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
