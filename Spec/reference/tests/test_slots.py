"""Slots, factors and scopes: sections 3.1, 3.4 and 3.5; signatures (R-5.20)."""

import unittest
from dataclasses import replace
from hashlib import sha512

from nacl.bindings import crypto_sign_open
from nacl.exceptions import BadSignatureError

from tests.vaults import DEVICE, MAIN, OTHER, RAW, SCOPED_SLOT, SECRET, Clock, Vault, key, reader, rich, verdict
from vaultfmt_reference import signature
from vaultfmt_reference.codec import Refused
from vaultfmt_reference.contents import SlotState
from vaultfmt_reference.drafts import Content
from vaultfmt_reference.dump import check
from vaultfmt_reference.exchange import History, Maker
from vaultfmt_reference.factors import Factors, Policy, Provider, Stretching, key_file, normalised
from vaultfmt_reference.forge import patch
from vaultfmt_reference.header import Header, encode_header
from vaultfmt_reference.reader import Item, Reader
from vaultfmt_reference.rewrite import NewVault, add_scoped, compact, create, grant, rekey, remove_slot, rotate
from vaultfmt_reference.slots import PAYLOADS, NewSlot, OwnerPart, Slot, check_costs, encode_grants, front, seal_owner_part, seal_slot
from vaultfmt_reference.verify import verify
from vaultfmt_reference.writer import Transaction

EXTERNAL = b"e" * 32


def unwrap(*keys: bytes) -> Factors:
    return Factors(provider=b"tests", unwrap=lambda slots: {slot: list(keys) for slot in slots})


def with_slots(vault: Vault, *more: Slot, granted: bytes = b"") -> bytes:
    """The vault's file with further slots; the one of the id `granted` is granted all groups."""
    transaction = vault.transaction()
    for each in more:
        dot = transaction.dot()
        names = [group.name for group in transaction.ring.keyring.groups.values()] if each.id == granted else []
        transaction.contents.slots[each.id] = SlotState(dot, dot, dict.fromkeys(names, dot))
    return rekey(transaction, [*vault.reader.header.slots, *more])


def without_devices(vault: Vault) -> Transaction:
    return Transaction(Reader(vault.data, Factors(raw_key=RAW)), vault.random, vault.now)


def foreign_slot(vault: Vault, kind: int, factors: int, wrapping_key: bytes = bytes(32)) -> Slot:
    """One that only a later reader knows; its owner part is readable."""
    before = front(vault.random(16), kind, factors, b"new", 48 if kind == 1 else 64, 168) + bytes(32 + 24 + (48 if kind == 1 else 64))
    return Slot(before + seal_owner_part(vault.reader.keys, before, OwnerPart(b"later", wrapping_key), vault.random(24)))


def opaque_scoped(vault: Vault, grants: dict[int, bytes]) -> Slot:
    """Kind 82 with an unknown factor."""
    keys = vault.reader.keys
    clear = front(vault.random(16), 0x82, 0x40, b"new", 1368, 168)
    owner = OwnerPart(b"later", b"w" * 32)
    return seal_slot(keys, clear + bytes(32), b"w" * 32, encode_grants(keys.index, keys.public, grants), owner, vault.random)


def ids(data: bytes) -> set[bytes]:
    return {slot.id for slot in reader(data).header.slots}


class Opening(unittest.TestCase):
    def made(self, slot: NewSlot) -> bytes:
        return create(NewVault([(slot, None)]), Vault().random, Clock())

    def opens(self, data: bytes, factors: Factors, policy: Policy | None = None) -> str:
        return verdict(data, opened=lambda each: Reader(each, factors, policy=policy))

    def test_every_combination_of_factors_opens_and_no_other(self) -> None:
        cheap = Stretching(8, 1)
        provider = Provider(b"tests", b"p")
        passphrase, generated, other = b"pass", key_file(b"g" * 32), b"any file"
        ways = [
            (Factors(passphrase), cheap, None, b""),
            (Factors(None, generated), None, None, b""),
            (Factors(passphrase, generated), cheap, None, b""),
            (Factors(None, other), cheap, None, b""),
            (Factors(passphrase, other), cheap, None, b""),
            (Factors(raw_key=RAW), None, None, b""),
            (unwrap(EXTERNAL), None, provider, EXTERNAL),
            (Factors(passphrase, provider=b"tests", unwrap=lambda each: dict.fromkeys(each, [EXTERNAL])), cheap, provider, EXTERNAL),
        ]
        for factors, stretching, named, external in ways:
            data = self.made(NewSlot(factors, stretching, named, external))
            for other_factors, *_ in ways:
                expected = "success" if other_factors is factors else "no-slot-opens"
                self.assertEqual(self.opens(data, other_factors), expected, (factors.kinds, other_factors.kinds))

    def test_a_provider_is_asked_once_for_all_of_its_slots_and_the_commitment_decides(self) -> None:
        asked: list[dict[bytes, bytes]] = []

        def answer(slots: dict[bytes, bytes]) -> dict[bytes, list[bytes]]:
            asked.append(slots)
            return {slot: [bytes(32), EXTERNAL] for slot, parameters in slots.items() if parameters == b"2"}

        factors = Factors(provider=b"tests", unwrap=answer)
        slots = [
            NewSlot(factors, None, Provider(name, value), EXTERNAL)
            for name, value in ((b"tests", b"1"), (b"other", b"x"), (b"tests", b"2"))
        ]
        data = create(NewVault([(slot, None) for slot in slots]), Vault().random, Clock())
        opened = Reader(data, factors)
        self.assertEqual(opened.slot.parameters.provider, Provider(b"tests", b"2"))
        self.assertEqual([sorted(each.values()) for each in asked], [[b"1", b"2"]])

    def test_of_17_candidates_the_first_16_are_tried_R_3_10(self) -> None:
        data = self.made(NewSlot(unwrap(EXTERNAL), None, Provider(b"tests"), EXTERNAL))
        self.assertEqual(self.opens(data, unwrap(*[bytes(32)] * 15, EXTERNAL)), "success")
        self.assertEqual(self.opens(data, unwrap(*[bytes(32)] * 16, EXTERNAL)), "no-slot-opens")
        self.assertEqual(self.opens(data, unwrap(*[bytes(32)] * 15, EXTERNAL, bytes(32))), "success")

    def test_factors_that_are_none_R_3_18_R_3_19(self) -> None:
        damaged = key_file(b"g" * 32)[:-1]
        for given in (
            (b"",),
            (b"p" * 65_537,),
            (b"\xff",),
            (b"\xed\xa0\x80",),
            (None, b""),
            (None, damaged),
            (None, None, b"short"),
            (b"p", None, RAW),
        ):
            with self.assertRaises(Refused, msg=str(given)[:40]) as caught:
                Factors(*given)
            self.assertEqual(caught.exception.verdict, "no-slot-opens")

    def test_passphrases_are_normalised_and_nothing_else(self) -> None:
        data = self.made(NewSlot(Factors("Å\u1e69".encode()), Stretching(8, 1)))
        self.assertEqual(self.opens(data, Factors("A\u030as\u0307\u0323".encode())), "success")
        self.assertEqual(self.opens(data, Factors(" Å\u1e69".encode())), "no-slot-opens")
        self.assertEqual(self.opens(data, Factors("å\u1e69".encode())), "no-slot-opens")

    def test_text_is_normalised_as_Unicode_13_0_does_R_3_18(self) -> None:
        # Unicode 14.0 and 15.0 gave these marks a class: they stay where they are, and what is around them is normalised.
        for mark in "\u0898\U0001e08f":
            self.assertEqual(normalised(f"a{mark}\u0323".encode()), f"a{mark}\u0323".encode())
            self.assertEqual(normalised(f"a\u0323{mark}e\u0301".encode()), f"\u1ea1{mark}\u00e9".encode())
        # U+11382 and U+113C9 compose in Unicode 16.0.
        self.assertEqual(normalised("\U00011382\U000113c9".encode()), "\U00011382\U000113c9".encode())
        # No more than that is done: 40 marks, and one that belongs before them.
        self.assertEqual(normalised(("q" + "\u0301" * 40 + "\u0323").encode()), ("q\u0323" + "\u0301" * 40).encode())

    def test_a_new_passphrase_has_no_character_that_Unicode_13_0_lacks_R_3_18(self) -> None:
        slot = NewSlot(Factors("p\U0001fae0".encode()), Stretching(8, 1))
        with self.assertRaises(Refused) as caught:
            self.made(slot)
        self.assertEqual(caught.exception.verdict, "limit")
        opened = self.made(replace(slot, id=b"i" * 16))
        self.assertEqual(self.opens(opened, slot.factors), "success")
        self.made(NewSlot(Factors("p\U0001f600\uffff".encode()), Stretching(8, 1)))

    def test_the_policy_bounds_each_slot_and_the_sum_R_3_11(self) -> None:
        data = self.made(NewSlot(Factors(b"p"), Stretching(64, 2, 2)))
        for policy, expected in (
            (Policy(64, 2, 2, 128), "success"),
            (Policy(63, 2, 2, 128), "kdf-limit"),
            (Policy(64, 1, 2, 128), "kdf-limit"),
            (Policy(64, 2, 1, 128), "kdf-limit"),
            (Policy(64, 2, 2, 127), "kdf-limit"),
        ):
            self.assertEqual(self.opens(data, Factors(b"p"), policy), expected)
        self.assertEqual(self.opens(data, Factors(raw_key=RAW), Policy(1, 1, 1, 1)), "no-slot-opens")

    def test_a_slot_without_candidates_costs_nothing(self) -> None:
        factors = Factors(
            b"p", provider=b"tests", unwrap=lambda slots: {slot: [EXTERNAL] for slot, value in slots.items() if value == b"2"}
        )
        dear = NewSlot(factors, Stretching(512, 1), Provider(b"tests", b"1"), EXTERNAL)
        cheap = NewSlot(factors, Stretching(8, 1), Provider(b"tests", b"2"), EXTERNAL)
        data = create(NewVault([(dear, None), (cheap, None)]), Vault().random, Clock())
        self.assertEqual(self.opens(data, factors, Policy(64, 1, 1, 8)), "success")

    def test_a_slot_that_readers_would_not_try_is_not_added_R_3_12(self) -> None:
        vault = Vault()
        opened = vault.reader
        dear = [NewSlot(Factors(b"p"), Stretching(8, 1)).seal(opened.keys, {}, vault.random) for _ in range(22)]
        made = [Slot(patch(32, (256 << 10).to_bytes(4, "little") + b"\3")(slot.raw)) for slot in dear]
        with_slots(vault, *made[:21])
        with self.assertRaises(Refused):
            with_slots(vault, *made)

    def test_slots_whose_cost_is_already_too_great_can_be_changed_and_removed_R_3_12(self) -> None:
        cheap = NewSlot(Factors(b"p"), Stretching(8, 1)).seal(Vault().reader.keys, {}, Vault().random)
        dear = [Slot(patch(32, (256 << 10).to_bytes(4, "little") + b"\3")(cheap.raw))] * 24
        for allowed in (dear, dear[1:], [*dear[1:], cheap]):
            check_costs(allowed, dear)
        for refused in ([*dear, cheap], [*dear, dear[0]]):
            with self.assertRaises(Refused):
                check_costs(refused, dear)

    def test_64_slots_open(self) -> None:
        slots = [NewSlot(Factors(raw_key=bytes([number]) * 32), name=b"n") for number in range(64)]
        data = create(NewVault([(slot, None) for slot in slots]), Vault().random, Clock())
        for slot in slots[::21]:
            self.assertEqual(self.opens(data, slot.factors), "success")

    def test_headers_of_up_to_a_megabyte(self) -> None:
        opened = Vault().reader
        raw = encode_header(opened.header.vault, opened.header.epoch, opened.header.slots, [], opened.keys.index, 1 << 20)
        self.assertEqual(len(raw), 1 << 20)
        large = NewSlot(unwrap(EXTERNAL), None, Provider(b"tests", bytes(16_384)), EXTERNAL, data=bytes(16_384))
        data = create(NewVault([(large, None)] * 25), Vault().random, Clock())
        self.assertEqual(self.opens(data, unwrap(EXTERNAL)), "success")


class Opaque(unittest.TestCase):
    def test_they_are_kept_byte_for_byte_by_what_keeps_the_epoch_R_3_16(self) -> None:
        vault = rich()
        added = [foreign_slot(vault, 1, 0x20), foreign_slot(vault, 3, 1), foreign_slot(vault, 0x83, 1)]
        vault.data = with_slots(vault, *added)
        self.assertEqual(verdict(vault.data), "success")
        verify(vault.reader)
        vault.put(Content(key("more")))
        for data in (vault.data, compact(vault.transaction()), with_slots(vault)):
            self.assertEqual([slot for slot in reader(data).header.slots if not slot.is_known], added)
            verify(reader(data))

    def test_a_new_epoch_keeps_or_drops_them_by_their_kind(self) -> None:
        vault = rich([b"work"])
        numbers = {number: vault.reader.keyring.group_key(vault.reader.keys, number) for number in vault.reader.keyring.groups}
        full, plain, scoped = foreign_slot(vault, 1, 0x20), foreign_slot(vault, 3, 1), opaque_scoped(vault, numbers)
        bound = foreign_slot(vault, 0x83, 1, b"w" * 32)
        vault.data = with_slots(vault, full, plain, bound, scoped, granted=scoped.id)
        build = next(slot.id for slot in vault.reader.header.slots if slot.is_known and slot.kind == 0x82)
        vault.data = grant(vault.transaction(), build, [b""])
        opened = vault.reader
        self.assertEqual(ids(vault.data), {each.id for each in (full, plain, scoped, opened.slot)} | {build})
        self.assertNotIn(bound.id, opened.keyring.slots)
        verify(opened)
        kept = next(slot for slot in opened.header.slots if slot.id == scoped.id)
        granted = opened.grants(kept, opened.owner_part(kept))
        self.assertEqual(set(granted), set(opened.keyring.groups))
        # The one that is gone could have opened every group.
        self.assertFalse(set(opened.keyring.groups) & set(numbers))

    def test_rotation_drops_what_it_cannot_make_anew(self) -> None:
        vault = rich()
        vault.data = with_slots(vault, foreign_slot(vault, 1, 0x20))
        main = vault.reader.slot.id
        vault.data = rotate(vault.transaction(), [(replace(MAIN, id=main), None)])
        self.assertEqual(vault.reader.keyring.slots.keys(), {main})
        self.assertEqual([slot.id for slot in vault.reader.header.slots], [main])

    def test_random_vaults_carry_them_of_each_kind(self) -> None:
        """So that no reader of what Tools/exchange makes is only ever shown slots that it knows (R-3.7)."""
        kinds = set()
        for number in range(40):
            data, again = (History(Maker(f"opaque/{number}")).data for _ in range(2))
            self.assertEqual(data, again)
            slots = Header.decode(data).slots
            kinds |= {(slot.kind in PAYLOADS, bool(slot.kind & 0x80)) for slot in slots if not slot.is_known}
        self.assertEqual(kinds, {(True, False), (True, True), (False, False), (False, True)})

    def test_a_random_one_is_one_that_owners_read(self) -> None:
        vault, maker = rich([b"work"]), Maker("opaque")
        added = [maker.opaque_slot(vault.reader.keys) for _ in range(20)]
        vault.data = with_slots(vault, *added)
        self.assertFalse([slot for slot in added if slot.is_known])
        self.assertEqual(verdict(vault.data), "success")
        verify(vault.reader)
        # Groups can be granted to those of kind 82 as to any scoped slot.
        scoped = next(slot.id for slot in added if slot.kind == 0x82)
        vault.data = grant(vault.transaction(), scoped, [b"work"])
        verify(vault.reader)
        kept = next(slot for slot in vault.reader.header.slots if slot.id == scoped)
        self.assertEqual(len(vault.reader.grants(kept, vault.reader.owner_part(kept))), 1)


class Scopes(unittest.TestCase):
    def secrets(self, data: bytes, raw: bytes) -> dict[bytes, str]:
        opened = Reader(data, Factors(raw_key=raw), {DEVICE: SECRET})
        return {each.entry.id: each.live.reason or "read" for each in opened.walk() if isinstance(each, Item)}

    def test_a_scoped_slot_reads_the_index_and_its_groups_only(self) -> None:
        vault = rich([b"work"])
        self.assertEqual(sorted(self.secrets(vault.data, OTHER).values()), ["no-key", "no-key", "no-key", "read"])
        opened = Reader(vault.data, Factors(raw_key=OTHER), {DEVICE: SECRET})
        lines = check(opened)[1]
        self.assertEqual([line for line in lines if line.startswith("past-unavailable")], ["past-unavailable no-key"] * 2)
        self.assertEqual(lines.count("to-settle"), 1)
        self.assertFalse([line for line in lines if line.startswith(("slot-owner", "value ", "sibling "))])

    def test_a_grant_gives_new_keys_and_numbers_R_3_27(self) -> None:
        vault = rich([b"work"])
        before = vault.reader
        build = next(slot.id for slot in before.header.slots if slot.kind == 0x82)
        vault.data = grant(vault.transaction(), build, [b"work", b""])
        after = vault.reader
        self.assertNotEqual(before.header.epoch, after.header.epoch)
        self.assertEqual(before.keys.public, after.keys.public)
        old, new = (each.keyring.group_named(b"") for each in (before, after))
        assert old and new
        self.assertNotEqual(old.number, new.number)
        self.assertEqual(before.keyring.group_named(b"work").number, after.keyring.group_named(b"work").number)  # type: ignore[union-attr]
        self.assertEqual(sorted(self.secrets(vault.data, OTHER).values()), ["read", "read", "read", "read"])
        verify(after)

    def test_a_removed_scoped_slot_opens_nothing_and_leaves_nothing(self) -> None:
        vault = rich([b"work"])
        build = next(slot.id for slot in vault.reader.header.slots if slot.kind == 0x82)
        vault.data = remove_slot(vault.transaction(), build)
        self.assertEqual(verdict(vault.data, OTHER), "no-slot-opens")
        self.assertNotIn(build, vault.reader.keyring.slots)
        vault.data = add_scoped(vault.transaction(), SCOPED_SLOT, [b"work"])
        self.assertEqual(sorted(self.secrets(vault.data, OTHER).values()), ["no-key", "no-key", "no-key", "read"])

    def test_a_slot_without_the_other_devices_secret_wraps_its_compartments_again(self) -> None:
        vault = rich([b"work"])
        build = next(slot.id for slot in vault.reader.header.slots if slot.kind == 0x82)
        vault.data = grant(without_devices(vault), build, [b""])
        self.assertEqual(verdict(vault.data), "success")
        self.assertEqual(verdict(vault.data, opened=lambda data: Reader(data, Factors(raw_key=RAW))), "device-bound")
        vault.data = rotate(without_devices(vault), [(MAIN, None)])
        self.assertEqual(verdict(vault.data), "success")

    def test_payloads_that_are_malformed_R_3_14(self) -> None:
        vault = rich([b"work"])
        build = next(slot for slot in vault.reader.header.slots if slot.kind == 0x82)
        keys, part = vault.reader.keys, vault.reader.owner_part(build)
        good = encode_grants(keys.index, keys.public, {1: bytes(32), 2: bytes(32)})
        for payload, expected in (
            (good, "success"),
            (patch(64, b"\x21")(good), "structure-invalid"),
            (patch(65, b"\1")(good), "structure-invalid"),
            (patch(72, bytes(8))(good), "structure-invalid"),
            (patch(79, b"\x80")(good), "structure-invalid"),
            (patch(112, b"\1")(good), "structure-invalid"),
            (patch(-1, b"\1")(good), "structure-invalid"),
            (patch(0, bytes(32))(good), "authentication-failed"),
            (patch(32, bytes(32))(good), "authentication-failed"),
        ):
            made = seal_slot(keys, build.bound, part.wrapping_key, payload, part, vault.random)
            slots = [slot if slot.id != build.id else made for slot in vault.reader.header.slots]
            data = rekey(vault.transaction(), slots)
            self.assertEqual(verdict(data, OTHER), expected)

    def test_owner_parts_that_are_malformed_R_3_15(self) -> None:
        vault = rich()
        slot, keys = vault.reader.header.slots[0], vault.reader.keys
        good = vault.reader.owner_part(slot).encode()
        for plain in (
            patch(0, b"\x40")(good),
            patch(1, b"\xff")(good),
            patch(63, b"\1")(good),
            patch(64, b"\1")(good),
            patch(96, b"\1")(good),
            patch(119, b"\1")(good),
            patch(120, b"\1\0")(good)[:-1] + b"\1",
            patch(120, b"\xff\xff")(good),
            patch(-1, b"\1")(good),
        ):

            class Raw(OwnerPart):
                def encode(self) -> bytes:
                    return plain  # noqa: B023

            made = Slot(slot.before_owner_part + seal_owner_part(keys, slot.before_owner_part, Raw(), vault.random(24)))
            data = rekey(vault.transaction(), [made])
            self.assertEqual(verdict(data), "structure-invalid")


class Signatures(unittest.TestCase):
    """R-5.20, also where libsodium decides otherwise."""

    seed, message = b"s" * 32, b"message"

    def test_what_libsodium_signs_is_valid_and_nothing_that_was_altered(self) -> None:
        public, signed = signature.public_key(self.seed), signature.sign(self.seed, self.message)
        self.assertTrue(signature.is_valid(public, self.message, signed))
        for place in range(0, 64, 7):
            altered = signed[:place] + bytes([signed[place] ^ 1]) + signed[place + 1 :]
            self.assertFalse(signature.is_valid(public, self.message, altered))
        self.assertFalse(signature.is_valid(public, self.message + b"!", signed))
        self.assertFalse(signature.is_valid(public, self.message, signed[:63]))

    def test_s_is_less_than_the_order(self) -> None:
        public, signed = signature.public_key(self.seed), signature.sign(self.seed, self.message)
        factor = int.from_bytes(signed[32:], "little") + signature.ORDER
        self.assertFalse(signature.is_valid(public, self.message, signed[:32] + factor.to_bytes(32, "little")))

    def test_points_of_small_order_and_other_encodings_are_refused(self) -> None:
        signed = signature.sign(self.seed, self.message)
        one, minus_one = (1).to_bytes(32, "little"), (signature.P - 1).to_bytes(32, "little")
        larger, negative_zero = (signature.P + 1).to_bytes(32, "little"), (1 | 1 << 255).to_bytes(32, "little")
        for point in (one, minus_one, bytes(32), larger, negative_zero, b"\xff" * 32):
            self.assertFalse(signature.is_valid(point, self.message, signed))
            self.assertFalse(signature.is_valid(point, self.message, point + bytes(32)))
            self.assertFalse(signature.is_valid(signature.public_key(self.seed), self.message, point + signed[32:]))

    def test_the_cofactor_is_not_multiplied_in(self) -> None:
        """R, the key or both have a part of order 2: only the exact equation counts."""
        low = signature.decoded((signature.P - 1).to_bytes(32, "little"))
        assert low is not None
        secret, nonce = 12_345, 67_890
        points = signature.multiplied(nonce, signature.BASE), signature.multiplied(secret, signature.BASE)
        expected = {(True, False): {False}, (False, True): {True, False}, (True, True): {True, False}}
        for mixed, verdicts in expected.items():
            commitment, public = (
                signature.encoded(signature.added(point, low) if is_mixed else point) for point, is_mixed in zip(points, mixed, strict=True)
            )
            found = set()
            for number in range(16):
                message = b"message %d" % number
                challenge = int.from_bytes(sha512(commitment + public + message).digest(), "little") % signature.ORDER
                factor = (nonce + challenge * secret) % signature.ORDER
                signed = commitment + factor.to_bytes(32, "little")
                found.add(signature.is_valid(public, message, signed))
                self.assertEqual(signature.is_valid(public, message, signed), self.libsodium(public, message, signed))
                beyond = commitment + (factor + signature.ORDER).to_bytes(32, "little")
                self.assertFalse(signature.is_valid(public, message, beyond) or self.libsodium(public, message, beyond))
            self.assertEqual(found, verdicts)

    def libsodium(self, public: bytes, message: bytes, signed: bytes) -> bool:
        try:
            return crypto_sign_open(signed + message, public) == message
        except BadSignatureError:
            return False
