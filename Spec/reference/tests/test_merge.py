"""Merging: section 8."""

import os
import unittest
from collections.abc import Callable
from dataclasses import replace

from tests.vaults import DEVICE, MAIN, SCOPED_SLOT, Vault, key, reader, rich
from vaultfmt_reference import conflict
from vaultfmt_reference.anchors import Anchor, compare
from vaultfmt_reference.codec import NO_DEVICE, Refused
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.exchange import History, Maker, unlocked
from vaultfmt_reference.frames import Place, Reference
from vaultfmt_reference.items import SEALED, Tombstone
from vaultfmt_reference.merge import Result, adopt, merge
from vaultfmt_reference.merging import merge_item
from vaultfmt_reference.reader import Item, Reader
from vaultfmt_reference.rewrite import add_scoped, rekey, remove_slot, rotate
from vaultfmt_reference.sides import HeldItem, Side
from vaultfmt_reference.verify import verify

A = key("a")


def merged(ours: Vault, theirs: Vault, takes_slots: bool = False) -> Result:
    result = merge(ours.reader, theirs.reader, ours.random, ours.now, ours.own, takes_slots)
    verify(reader(result.data))
    return result


def secrets(data: bytes) -> dict[bytes, bytes]:
    return {each.key: each.live.record.secret for each in reader(data).walk() if isinstance(each, Item) and each.live.record}


def contents(opened: Reader) -> dict[bytes, object]:
    side = Side.of(opened)
    return {
        item: (held.key, held.content, {each.content.secret for each in held.versions.values() if each.content})
        for item, held in side.items.items()
    }


def conflicts(data: bytes, name: bytes) -> set[tuple[int, bytes, bytes]]:
    content = next(held.content for held in Side.of(reader(data)).items.values() if held.key == name)
    assert content is not None
    found = content.attributes.get(conflict.NAME)
    return {(each.kind, each.name, each.value) for each in conflict.decode(found[1])} if found else set()


def earlier(data: bytes, name: bytes) -> list[bytes]:
    held = next(held for held in Side.of(reader(data)).items.values() if held.key == name)
    return [each.content.secret for _, each in sorted(held.versions.items()) if each.content]


class Merging(unittest.TestCase):
    def branches(self, *items: Content, keep: int = 3, compacted: bool = False) -> tuple[Vault, Vault]:
        ours = Vault(*(items or (Content(A, b"0", {b"label": (0, b"0")}),)), keep=keep)
        theirs = ours.branch("theirs")
        theirs.now.time += 500
        return ours, theirs

    def both_ways(self, ours: Vault, theirs: Vault) -> bytes:
        """The merge, which has to hold the same whichever side is ours."""
        first, second = merged(ours, theirs), merged(theirs, ours)
        self.assertEqual((first.what, second.what), ("merged", "merged"))
        self.assertTrue(contents(reader(first.data)) == contents(reader(second.data)))
        again = Vault.branch(ours, "again")
        again.data = first.data
        self.assertEqual(merged(again, theirs).what, "ours")
        return first.data

    def test_what_one_side_has_is_taken_unchanged_R_8_2(self) -> None:
        ours, theirs = self.branches()
        self.assertEqual(merged(ours, theirs).what, "same")
        theirs.put(Content(A, b"1"))
        result = merged(ours, theirs)
        self.assertEqual((result.what, result.data), ("theirs", theirs.data))
        self.assertEqual(merged(theirs, ours).what, "ours")

    def test_both_branches_descend_into_the_merge_R_8_3(self) -> None:
        for compacted in (False, True):
            ours, theirs = self.branches()
            remembered = []
            for number in range(3):
                ours.put(Content(key(f"o{number}")))
                remembered.append(ours.reader)
            for number in range(5):
                theirs.put(Content(key(f"t{number}")))
                remembered.append(theirs.reader)
            if compacted:
                ours.compact()
                theirs.compact()
            opened = reader(self.both_ways(ours, theirs))
            self.assertEqual(opened.commit.generation, max(ours.reader.commit.generation, theirs.reader.commit.generation) + 1)
            for each in remembered:
                self.assertEqual(compare(opened, Anchor(*each.state, each.keys.public)), "descends")
            self.assertEqual(len(secrets(opened.data)), 9)

    def test_fields_that_one_side_changed_are_that_sides_R_8_5(self) -> None:
        ours, theirs = self.branches(Content(A, b"0", {b"label": (0, b"0"), b"notes": (SEALED, b"0")}))
        ours.put(Content(A, b"ours", {b"label": (0, b"0"), b"notes": (SEALED, b"0")}))
        theirs.put(Content(key("renamed"), b"0", {b"label": (0, b"theirs"), b"notes": (SEALED, b"0")}), old=A)
        data = self.both_ways(ours, theirs)
        content = next(iter(Side.of(reader(data)).items.values())).content
        self.assertEqual(content, Content(key("renamed"), b"ours", {b"label": (0, b"theirs"), b"notes": (SEALED, b"0")}))
        self.assertEqual(conflicts(data, key("renamed")), set())

    def test_of_one_field_on_both_the_greater_wins_and_nothing_is_lost(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(A, b"ours", {b"label": (0, b"ours")}))
        theirs.put(Content(A, b"theirs", {b"label": (0, b"theirs")}))
        data = self.both_ways(ours, theirs)
        self.assertEqual(secrets(data)[A], b"theirs")
        self.assertEqual(earlier(data, A), [b"0", b"ours"])
        self.assertEqual(conflicts(data, A), {(conflict.ATTRIBUTE, b"label", b"ours"), (conflict.SECRET, b"", b"ours")})

    def test_without_earlier_values_a_losing_secret_is_kept_in_conflict_R_8_6(self) -> None:
        ours, theirs = self.branches(keep=0)
        ours.put(Content(A, b"ours"))
        theirs.put(Content(A, b"theirs"))
        data = self.both_ways(ours, theirs)
        self.assertEqual(conflicts(data, A), {(conflict.SECRET, b"", b"ours")})

    def test_accessibility_and_key_fields_that_lose_are_named(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(key("o"), b"0", {b"label": (0, b"0")}, 2), old=A)
        theirs.put(Content(key("t"), b"0", {b"label": (0, b"0")}, 5, DEVICE), old=A)
        data = self.both_ways(ours, theirs)
        lost = {(conflict.ACCESSIBILITY, b"", b"\2" + NO_DEVICE), (conflict.KEY_FIELD, b"account", b"o")}
        self.assertEqual(conflicts(data, key("t")), lost)

    def test_a_deletion_holds_and_a_change_beats_it_R_8_7(self) -> None:
        ours, theirs = self.branches(Content(A, b"0"), Content(key("b"), b"0"))
        ours.remove(A, key("b"))
        theirs.put(Content(key("b"), b"changed"))
        self.assertEqual(secrets(self.both_ways(ours, theirs)), {key("b"): b"changed"})
        for each in (ours, theirs):
            each.compact()
        data = self.both_ways(ours, theirs)
        self.assertEqual(secrets(data), {key("b"): b"changed"})
        dead = {each.item for each in reader(data).walk() if isinstance(each, Tombstone)}
        self.assertEqual(len(dead), 1)

    def test_a_deletion_holds_when_its_tombstone_is_gone(self) -> None:
        ours, theirs = self.branches(Content(A, b"0"), Content(key("b"), b"0"))
        ours.remove(A)
        ours.now.time += 200 * 86_400_000
        theirs.now.time += 200 * 86_400_000
        ours.compact()
        theirs.put(Content(key("new"))).compact()
        result = merged(ours, theirs)
        self.assertEqual(set(secrets(result.data)), {key("b"), key("new")})
        self.assertEqual(len(result.named), 1)

    def test_a_deletion_holds_whichever_of_two_common_ancestors_is_the_base_R_8_7(self) -> None:
        """Each branch merged the other's first commit: both are common, and neither is the other's ancestor."""
        for compacted in (False, True):
            for number in range(6):
                with self.subTest(number, compacted=compacted):
                    two = Vault(Content(A, b"0"), seed=f"{number}")
                    one = two.branch("one")
                    two.put(Content(key("b")))
                    one.now.time += 500
                    one.put(Content(A, b"1"))
                    deleting, other = one.branch("deleting"), two.branch("other")
                    deleting.remove(A)
                    deleting.data, other.data = merged(deleting, two).data, merged(other, one).data
                    if compacted:
                        deleting.compact()
                        other.compact()
                    self.assertEqual(set(secrets(self.both_ways(other, deleting))), {key("b")})

    def test_a_deletion_holds_next_to_an_older_tombstone_R_8_7(self) -> None:
        """The removal's own tombstone is gone, and one of an earlier removal has come in."""
        ours, first = self.branches(Content(A, b"0"), Content(key("b"), b"0"))
        first.remove(A)
        ours.now.time += 1000
        ours.put(Content(A, b"1"))
        theirs = ours.branch("theirs")
        theirs.put(Content(key("new"))).compact()
        ours.remove(A)
        ours.now.time += 200 * 86_400_000
        ours.data = merged(ours.compact(), first).data
        self.assertTrue(any(isinstance(each, Tombstone) for each in ours.reader.walk()))
        result = self.both_ways(ours, theirs)
        self.assertEqual(set(secrets(result)), {key("b"), key("new")})

    def test_a_removal_that_no_base_confirms_is_named_R_8_7(self) -> None:
        """A merge gives two values one revision: the tombstone does not say which of them was removed."""
        ours, theirs = self.branches()
        ours.put(Content(A, b"0", {b"label": (0, b"ours")}))
        theirs.put(Content(A, b"1", {b"label": (0, b"0")}))
        ours.data = merged(ours, theirs).data
        item = next(iter(Side.of(ours.reader).items))
        theirs.compact().remove(A)
        for first, second in ((ours, theirs), (theirs, ours)):
            result = merged(first, second)
            self.assertEqual((secrets(result.data), result.named), ({}, [item]))

    def test_of_one_revision_with_two_values_the_greater_holds_whatever_the_base_R_8_5(self) -> None:
        """If one of them is named: otherwise machines that see different bases exchange the two for ever."""

        def held(value: bytes, secret: bytes, *lost: bytes) -> HeldItem:
            entries = {conflict.Lost((1, DEVICE), conflict.ATTRIBUTE, each, b"label") for each in lost}
            named = {conflict.NAME: (conflict.FLAGS, conflict.encode(entries))} if lost else {}
            attributes = {b"label": (0, value)} | named
            side, place = Side(Vault().reader), Place(Reference(), 1, 1)
            return HeldItem(b"i" * 16, (2, DEVICE), 0, place, (), Content(A, secret, attributes), side, key=A)

        first = held(b"less", b"s", b"more"), held(b"more", b"s")
        second = held(b"less", b"s"), held(b"more", b"s", b"less")
        for left, right in (first, second):
            for base in (None, held(b"less", b"0"), held(b"more", b"0"), held(b"0", b"0")):
                for one, two in ((left, right), (right, left)):
                    content = merge_item(one, two, base).content
                    assert content is not None
                    lost = {each.value for each in conflict.decode(content.attributes[conflict.NAME][1])}
                    self.assertEqual((content.attributes[b"label"], lost), ((0, b"more"), {b"less"}))

    def test_two_new_items_with_one_key_are_both_kept_R_8_8(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(key("n"), b"ours"))
        theirs.put(Content(key("n"), b"theirs"))
        data = self.both_ways(ours, theirs)
        found = secrets(data)
        found.pop(A)
        kept = {held.id: held.key for held in Side.of(reader(data)).items.values()}
        first = min(item for item, name in kept.items() if name != A)
        self.assertEqual(kept[first], key("n"))
        self.assertEqual(sorted(found.values()), [b"ours", b"theirs"])
        other = next(name for name in found if name != key("n"))
        self.assertRegex(other, rb"n \(conflict [0-9a-f]{8}\)")
        # The addition is no change, and goes when it is not needed any more.
        again, third = ours.branch("again"), ours.branch("third")
        again.data = third.data = data
        again.remove(key("n"))
        third.put(Content(key("later")))
        result = merged(third, again)
        self.assertEqual(set(secrets(result.data)), {A, key("n"), key("later")})

    def test_equal_contents_write_once_R_8_4(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(key("o")))
        theirs.put(Content(key("t")))
        one, two = merged(ours, theirs), merged(theirs, ours)
        ours.data, theirs.data = one.data, two.data
        results = merged(ours, theirs), merged(theirs, ours)
        self.assertEqual([each.what for each in results], ["equal", "equal"])
        unchanged = [result.data == old for result, old in zip(results, (one.data, two.data), strict=True)]
        self.assertEqual(sorted(unchanged), [False, True])
        ours.data, theirs.data = (each.data for each in results)
        self.assertEqual({merged(ours, theirs).what, merged(theirs, ours).what}, {"ours", "theirs"})

    def test_a_removed_slot_does_not_come_back_R_8_9(self) -> None:
        ours, theirs = self.branches()
        ours.data = add_scoped(ours.reader, SCOPED_SLOT, [b""], ours.random, ours.now)
        theirs.data = ours.data
        slot = next(slot.id for slot in ours.reader.header.slots if slot.kind == 0x82)
        ours.data = remove_slot(ours.reader, slot, ours.random, ours.now)
        theirs.put(Content(key("t"), b"t"))
        for result in (merged(ours, theirs), merged(theirs, ours)):
            opened = reader(result.data)
            self.assertNotIn(slot, {each.id for each in opened.header.slots})
            self.assertIn(slot, opened.keyring.removed)
            before = {number for each in (ours, theirs) for number in each.reader.keyring.groups}
            self.assertFalse(before & opened.keyring.groups.keys())
            self.assertEqual(secrets(result.data)[key("t")], b"t")

    def test_a_slot_of_one_side_is_taken_only_if_the_user_agrees(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(key("o")))
        theirs.data = add_scoped(theirs.reader, SCOPED_SLOT, [b""], theirs.random, theirs.now)
        slot = next(slot.id for slot in theirs.reader.header.slots if slot.kind == 0x82)
        refused, taken = merged(ours, theirs), merged(ours, theirs, takes_slots=True)
        self.assertIn(slot, reader(refused.data).keyring.removed)
        self.assertEqual(refused.named, [slot])
        self.assertIn(slot, {each.id for each in reader(taken.data).header.slots})

    def test_a_name_that_one_side_changed_stays(self) -> None:
        ours, theirs = self.branches()
        slot = ours.reader.header.slots[0].id
        ours.data = rekey(ours.reader, list(ours.reader.header.slots), ours.random, ours.now, DEVICE, {slot: b"renamed"})
        theirs.put(Content(key("t")))
        for result in (merged(ours, theirs), merged(theirs, ours)):
            opened = reader(result.data)
            self.assertEqual(opened.owner_part(opened.header.slots[0]).name, b"renamed")

    def test_groups_of_one_name_become_one_R_8_10(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(key("o", b"work"), b"o"))
        theirs.put(Content(key("t", b"work"), b"t"))
        data = self.both_ways(ours, theirs)
        self.assertEqual(sorted(group.name for group in reader(data).keyring.groups.values()), [b"", b"work"])
        self.assertEqual(len(secrets(data)), 3)

    def test_one_number_with_two_keys_is_refused(self) -> None:
        ours, theirs = self.branches()
        ours.put(Content(key("o")))
        forge = theirs.put(Content(key("t"))).compact().forge()
        opened = theirs.reader
        number = next(iter(opened.keyring.groups))
        other = replace(opened.keyring.groups[number], name=b"other")
        forge.keyring = replace(forge.keyring, groups=forge.keyring.groups)
        theirs_ring = replace(opened.keyring, groups={number: other})
        theirs_reader = theirs.reader
        theirs_reader.keyring = theirs_ring
        with self.assertRaises(Refused):
            merge(ours.reader, theirs_reader, ours.random, ours.now)

    def test_a_branch_under_a_rotated_key_is_refused_R_8_1(self) -> None:
        ours, theirs = self.branches()
        theirs.put(Content(key("planted")))
        ours.data = rotate(ours.reader, [(MAIN, None)], ours.random, ours.now)
        for first, second in ((ours, theirs), (theirs, ours)):
            with self.assertRaises(Refused) as caught:
                merged(first, second)
            self.assertEqual(caught.exception.verdict, "foreign")

    def test_what_went_on_under_a_rotated_key_comes_in_as_earlier_values_if_asked_for(self) -> None:
        ours, theirs = self.branches(Content(A, b"0"), Content(key("b"), b"0"))
        theirs.now.time += 10**12
        theirs.put(Content(A, b"leaked"), Content(key("planted"), b"p")).remove(key("b"))
        ours.data = rotate(ours.reader, [(MAIN, None)], ours.random, ours.now)
        before = ours.reader
        result = adopt(before, theirs.reader, ours.random, ours.now, ours.own)
        opened = reader(result.data)
        verify(opened)
        self.assertEqual(secrets(result.data), {A: b"0", key("b"): b"0", key("planted"): b""})
        self.assertEqual((earlier(result.data, A), earlier(result.data, key("planted"))), ([b"leaked"], [b"p"]))
        self.assertEqual(len(result.named), 1)
        self.assertLess(opened.commit.clock, theirs.reader.commit.clock)
        self.assertEqual(compare(opened, Anchor(*theirs.reader.state, theirs.reader.keys.public)), "foreign")
        again = adopt(opened, theirs.reader, ours.random, ours.now)
        self.assertEqual(again.data, opened.data)
        with self.assertRaises(Refused):
            adopt(theirs.reader, opened, ours.random, ours.now)

    def test_the_setting_and_removed_slots_are_united_R_8_11(self) -> None:
        ours, theirs = self.branches()
        transaction = ours.transaction()
        transaction.set_keep(9)
        ours.data = transaction.commit()
        theirs.put(Content(key("t")))
        for result in (merged(ours, theirs), merged(theirs, ours)):
            self.assertEqual(reader(result.data).keyring.keep, 9)

    def test_rich_vaults_merge(self) -> None:
        ours = rich([b"work"])
        theirs = ours.branch("theirs")
        ours.put(Content(key("first"), b"o", {b"x/file": (0, b"h" * 7000)}))
        theirs.put(Content(key("first"), b"t", {b"x/file": (0, b"i" * 8000)})).remove(key("third"))
        data = self.both_ways(ours, theirs)
        self.assertEqual(len(secrets(data)), 2)


class Random(unittest.TestCase):
    """Histories of several machines that change, compact and merge at random."""

    def play(self, seed: str) -> None:
        maker = Maker(seed)
        first = History(maker)
        machines = []
        for _ in range(3):
            machine = object.__new__(History)
            own = maker.pick.choice([NO_DEVICE, *first.devices])
            machine.__dict__ = first.__dict__ | {"unlocks": list(first.unlocks), "own": own}
            machines.append(machine)

        def take(ours: History, theirs: History) -> str:
            result = merge(ours.reader(), theirs.reader(), maker.pick.randbytes, maker.now, ours.own, takes_slots=True)
            before, ours.data = ours.reader(), result.data
            opened = ours.reader()
            verify(opened)
            for each in (before, theirs.reader()) if result.what in ("merged", "theirs") else ():
                self.assertIn(compare(opened, Anchor(*each.state, each.keys.public)), ("descends", "same"))
            return result.what

        def remove_other_slot(machine: History) -> None:
            opened = machine.reader()
            others = [slot.id for slot in opened.header.slots if slot.id != opened.slot.id]
            if others:
                machine.data = remove_slot(opened, maker.pick.choice(others), maker.pick.randbytes, maker.now, machine.own)

        steps: list[Callable[[History], object]] = [History.change] * 8 + [History.compact, History.rename_slot] * 2 + [remove_other_slot]
        for _ in range(8):
            machine, other = maker.pick.sample(machines, 2)
            maker.pick.choice([*steps, *[lambda each, other=other: take(each, other)] * 5])(machine)
        one, two = (merge(x.reader(), y.reader(), maker.pick.randbytes, maker.now, x.own, True) for x, y in (machines[:2], machines[1::-1]))
        if one.what == "merged":
            left, right = (Reader(each.data, unlocked(first.unlocks[0])[0], first.devices) for each in (one, two))
            self.assertTrue(contents(left) == contents(right))
        for _ in machines:
            for ours in machines:
                for theirs in machines:
                    if ours is not theirs:
                        take(ours, theirs)
        self.assertEqual(len({machine.reader().state for machine in machines}), 1)

    def test_machines_converge(self) -> None:
        # A range of seeds, as in `VAULTFMT_SEQUENCES=1000-2000 ./test tests.test_merge.Random`.
        first, _, end = os.environ.get("VAULTFMT_SEQUENCES", "0-8").partition("-")
        for number in range(int(first), int(end)):
            with self.subTest(number):
                self.play(f"converge/{number}")
