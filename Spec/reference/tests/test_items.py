"""Items, earlier values and attributes as writers make them (section 6), salvage, and random histories."""

import unittest
from dataclasses import replace

from tests.orders import plain_dump
from tests.vaults import DEVICE, RAW, SECRET, Vault, key, reader, rich, verdict
from vaultfmt_reference import codec
from vaultfmt_reference.codec import Cursor, Refused
from vaultfmt_reference.crypto import NONCE
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.dump import check
from vaultfmt_reference.exchange import History, Maker, unlocked
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.frames import RECORD
from vaultfmt_reference.items import FORGOTTEN, SEALED, ItemKey
from vaultfmt_reference.past import ATTRIBUTE_KIND, SECRET_FIELD, SHOWN
from vaultfmt_reference.reader import Item, Reader
from vaultfmt_reference.rewrite import compact
from vaultfmt_reference.salvage import salvage
from vaultfmt_reference.verify import located, verify


def item(data: bytes, name: bytes) -> Item:
    return next(each for each in reader(data).walk() if isinstance(each, Item) and each.key == name)


def earlier(data: bytes, name: bytes) -> list[bytes]:
    """The earlier secrets, oldest first."""
    kept = [each for each in item(data, name).kept if each.value.field == SECRET_FIELD and not each.value.flags & SHOWN]
    return [each.content or b"" for each in sorted(kept, key=lambda each: each.value.dot)]


class Numbers(unittest.TestCase):
    def test_each_number_has_one_encoding_R_1_1(self) -> None:
        for value in (0, 1, 127, 128, 16_383, 16_384, (1 << 63) - 1):
            self.assertEqual(Cursor(codec.varint(value)).varint(), value)
        for value in (0, -1, 1, -(1 << 62), (1 << 62) - 1):
            self.assertEqual(Cursor(codec.zigzag(value)).zigzag(), value)
        for data in (b"\x80\0", b"\xff" * 9 + b"\1", b"\x80", b"\x81\x80\0"):
            with self.assertRaises(Refused):
                Cursor(data).varint()

    def test_steps_of_records(self) -> None:
        sizes = {1: 128, 128: 128, 129: 256, 1024: 1024, 1025: 1088, 5000: 5120, 100_000: 100_352}
        for length, step in sizes.items():
            self.assertEqual(codec.pad_record(length), step)
            self.assertTrue(codec.is_step(step))
        self.assertFalse(codec.is_step(1025))
        self.assertFalse(codec.is_step(0))

    def test_keys_of_all_classes_come_back(self) -> None:
        maker = Maker("keys")
        for _ in range(300):
            encoded = maker.key(maker.text())
            self.assertEqual(ItemKey.decode(encoded).encode(), encoded)


class Earlier(unittest.TestCase):
    name = key("a")

    def changed(self, count: int, limit: int = 3, **more: object) -> Vault:
        vault = Vault(Content(self.name, b"0", **more), limit=limit)  # type: ignore[arg-type]
        for number in range(1, count + 1):
            vault.put(Content(self.name, b"%d" % number, **more))  # type: ignore[arg-type]
        return vault

    def test_the_newest_are_kept_up_to_the_setting(self) -> None:
        self.assertEqual(earlier(self.changed(5).data, self.name), [b"2", b"3", b"4"])
        self.assertEqual(earlier(self.changed(5, limit=0).data, self.name), [])

    def test_they_survive_compaction_rotation_and_another_name(self) -> None:
        vault = self.changed(2)
        vault.put(Content(key("b", b"work"), b"2"), old=self.name).compact()
        self.assertEqual(earlier(vault.data, key("b", b"work")), [b"0", b"1"])

    def test_only_the_next_change_drops_what_exceeds_the_limit_R_6_27(self) -> None:
        vault = self.changed(3)
        transaction = vault.transaction()
        transaction.set_limit(1)
        vault.data = transaction.commit()
        self.assertEqual(len(earlier(vault.data, self.name)), 3)
        self.assertEqual(len(earlier(vault.compact().data, self.name)), 3)
        self.assertEqual(earlier(vault.put(Content(self.name, b"4")).data, self.name), [b"3"])

    def test_only_a_secret_or_a_sealed_attribute_makes_one(self) -> None:
        vault = Vault(Content(self.name, b"s", {b"label": (0, b"1"), b"notes": (SEALED, b"1")}))
        vault.put(Content(self.name, b"s", {b"label": (0, b"2"), b"notes": (SEALED, b"1"), b"otp": (SEALED, b"new")}))
        self.assertIsNone(item(vault.data, self.name).past)
        vault.put(Content(self.name, b"t", {b"notes": (SEALED, b"2")}))
        found = {each.value.field: each for each in item(vault.data, self.name).kept}
        self.assertEqual(
            {of: each.content for of, each in found.items()},
            {SECRET_FIELD: b"s", (ATTRIBUTE_KIND, b"notes"): b"1", (ATTRIBUTE_KIND, b"otp"): b"new"},
        )
        # With the plain attributes that the item had with the secret.
        self.assertEqual([(each.name, each.value) for each in found[SECRET_FIELD].value.attributes], [(b"label", b"2")])
        self.assertEqual({each.value.replaced for each in found.values()}, {item(vault.data, self.name).entry.modified})

    def test_an_attachment_is_stored_once_however_often_the_secret_changes_R_6_11(self) -> None:
        vault = self.changed(3, attributes={b"x/file": (0, b"f" * 9000)})
        places = {each.place for kept in item(vault.data, self.name).kept for each in kept.value.attributes}
        places |= {each.place for each in item(vault.data, self.name).entry.attributes}
        self.assertEqual(len(places), 1)
        vault.put(Content(self.name, b"4"))
        found = item(vault.data, self.name)
        left = {each.place for kept in found.kept for each in kept.value.attributes if each.place}
        self.assertEqual({vault.reader.keyring.compartments[place.compartment].group for place in left if place}, {0})
        verify(vault.reader)

    def test_binding_to_a_device_reseals_them_under_it_R_6_10(self) -> None:
        vault = self.changed(2)
        vault.put(Content(self.name, b"3", {}, 5, DEVICE))
        found = item(vault.data, self.name)
        compartments = [vault.reader.keyring.compartments[place.compartment] for kept in found.kept for place in kept.value.places]
        self.assertEqual([(each.group, each.accessibility, each.device) for each in compartments], [(0, 5, DEVICE)] * 3)
        self.assertEqual(verdict(vault.data, opened=lambda data: Reader(data, Factors(raw_key=RAW))), "device-bound")

    def test_removal_takes_them_along_R_6_12(self) -> None:
        vault = self.changed(2).remove(self.name)
        self.assertEqual((vault.reader.commit.pasts, vault.reader.commit.items, vault.reader.commit.level), (0, 0, 0))
        self.assertEqual(vault.compact().data.count(RECORD), 0)


class Salvaging(unittest.TestCase):
    def lines(self, data: bytes) -> list[str]:
        return list(salvage(data, Factors(raw_key=RAW), {DEVICE: SECRET}))

    def test_a_bit_in_the_header_costs_nothing(self) -> None:
        data = rich().data
        whole = self.lines(data)
        self.assertEqual(sum(line.startswith("item ") for line in whole), 4)
        for place in (0, 7, 9, 13, 20, 40, 64, 80, 200, 4000, 4090):
            damaged = data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]
            self.assertEqual(self.lines(damaged), ["header copy", *whole[1:]], place)

    def test_a_bit_in_a_record_costs_its_item(self) -> None:
        vault = Vault(Content(key("a"), b"1"), Content(key("b"), b"2"))
        data = vault.data[:8300] + b"?" + vault.data[8301:]
        lines = self.lines(data)
        self.assertEqual(sorted(line.split()[0] for line in lines), ["generation", "header", "item", "lost"])

    def test_a_damaged_vector_or_past_costs_no_item_R_5_37(self) -> None:
        data = rich().data
        opened = reader(data)
        pasts = [entry.past for name, value, _ in opened.entries() if name[0] != FORGOTTEN if (entry := opened.entry(name, value)).past]
        for reference in (opened.commit.vector, *pasts):
            assert reference is not None
            at = reference.offset + 50
            lines = self.lines(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            self.assertEqual(sum(line.startswith("item ") for line in lines), 4)

    def test_what_no_commit_reaches_is_not_proven_R_5_2(self) -> None:
        vault = Vault(Content(key("a"), b"1"), limit=0).put(Content(key("a"), b"2"))
        lines = self.lines(vault.data)
        self.assertEqual([line.split()[0] for line in lines], ["header", "generation", "item", "unproven"])

    def test_a_header_that_no_commit_proves_is_not_used_R_3_4(self) -> None:
        vault = Vault(Content(key("a"), b"1"), scoped=[b""])
        other = vault.branch("x").forge().build({"header": lambda covered: covered[:-1] + b"\0"})
        self.assertEqual(self.lines(other)[0], "header header")
        with self.assertRaises(Refused):
            list(salvage(bytes(9216), Factors(raw_key=RAW), {}))


class Writing(unittest.TestCase):
    def test_a_record_is_found_by_its_locator_and_not_by_a_scoped_holder(self) -> None:
        opened = rich([b"work"]).reader
        for offset, frame in opened.appended(opened.commit):
            if frame[:4] == RECORD:
                found, place = located(opened, offset, frame)
                self.assertIn(place.compartment, opened.keyring.compartments)
                self.assertEqual(len(found), 16)

    def test_compaction_orders_records_by_their_nonces_R_7_16(self) -> None:
        opened = rich().reader
        nonces = [frame[8 : 8 + NONCE] for _, frame in opened.appended(opened.commit) if frame[:4] == RECORD]
        self.assertEqual(nonces, sorted(nonces))

    def test_a_clock_that_goes_back_makes_no_older_revision_R_1_8(self) -> None:
        vault = Vault(Content(key("a"), b"1"))
        before = vault.reader.commit.clock
        vault.now.time -= 10**9
        self.assertGreater(vault.put(Content(key("a"), b"2")).reader.commit.clock, before)

    def test_a_read_only_extension_keeps_writers_out_R_3_24(self) -> None:
        vault = Vault(Content(key("a")))
        forge = vault.forge()
        extension = codec.Extension(b"later", b"", is_read_only=True)
        forge.keyring = replace(forge.keyring, extensions=[extension])
        vault.data = forge.build()
        self.assertEqual(verdict(vault.data), "success")
        with self.assertRaises(Refused) as caught:
            vault.put(Content(key("b")))
        self.assertEqual(caught.exception.verdict, "read-only-extension")

    def test_random_histories_verify_after_each_step(self) -> None:
        for number in range(6):
            history = History(Maker(f"tests/{number}"))
            for _ in range(6):
                history.step()
                opened = history.reader()
                verify(opened)
                self.assertEqual(check(opened)[0], "success")
            for way in history.unlocks:
                self.assertIn(
                    verdict(history.data, opened=lambda data, way=way: Reader(data, unlocked(way)[0])), ("success", "device-bound")
                )

    def test_compaction_changes_no_content(self) -> None:
        for number in range(4):
            history = History(Maker(f"compact/{number}"))
            for _ in range(3):
                history.change()
            before = history.reader()
            after = Reader(compact(history.transaction()), unlocked(history.unlocks[0])[0], history.devices)
            self.assertEqual(plain_dump(before), plain_dump(after))
