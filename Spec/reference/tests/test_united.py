"""Merging under one key: slots, groups, settings, split ids and limits (section 8.1)."""

from dataclasses import replace
from unittest import mock

from tests.branches import OTHER_SLOT, A, TwoBranches, content, holder, merged, said, secrets, settled
from tests.vaults import MAIN, OTHER, RAW, Vault, key, reader, verdict
from vaultfmt_reference import merge as merging_of_files
from vaultfmt_reference.anchors import commits
from vaultfmt_reference.codec import Extension, Limit, Refused
from vaultfmt_reference.contents import Contents
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.holding import ItemState
from vaultfmt_reference.items import SEALED
from vaultfmt_reference.merge import merge
from vaultfmt_reference.reader import Item, Reader
from vaultfmt_reference.rewrite import add_slot, change_slot, grant, remove_slot, rename_slot
from vaultfmt_reference.slots import SCOPED
from vaultfmt_reference.verify import verify


class United(TwoBranches):
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

    def test_copies_with_a_split_id_end_with_one_file_without_what_was_erased_R_8_12(self) -> None:
        ours, theirs = self.branches(Content(A), Content(key("gone")))
        transaction = ours.branch("known").transaction()
        transaction.remove(key("gone"))
        transaction.contents.vector.split |= set(ours.reader.vector.rows)
        ours, theirs = holder(ours.data).branch("o"), theirs.branch("t")
        ours.data = theirs.data = transaction.commit()
        ours.compact().put(Content(key("o")))
        theirs.put(Content(key("t")))
        data = settled(ours, theirs)
        self.assertEqual((set(secrets(data)), len(list(commits(reader(data))))), ({A, key("o"), key("t")}, 1))

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

    def test_extensions_that_differ_are_ours_R_8_23(self) -> None:
        ours, theirs = self.branches()
        for each, value in ((ours, b"o"), (theirs, b"t")):
            each.put(Content(key("new " + value.decode())))
            forge = each.compact().forge()
            forge.keyring = replace(forge.keyring, extensions=[Extension(b"example.org/x", value, False, False)])
            each.data = forge.build()
        for first, second, value in ((ours, theirs, b"o"), (theirs, ours, b"t")):
            result = merged(first, second)
            self.assertEqual([each.value for each in reader(result.data).keyring.extensions], [value])

    def test_limits_hold_for_every_item_and_for_64_attributes(self) -> None:
        ours, theirs = self.branches(Content(A, b"0"))
        for number, each in enumerate((ours, theirs)):
            each.put(Content(A, b"0", {b"%d.%02d" % (number, at): (0, b"x") for at in range(40)}))
        data = self.both_ways(ours, theirs)
        self.assertEqual(len(content(data).attributes), 64)
        self.assertEqual(len(said(data, A, "marks")), 16)
