"""The provider `age`: section 9.3."""

import json
import unittest
from pathlib import Path
from random import Random
from unittest import mock

from nacl.bindings import crypto_scalarmult_base

from tests.vaults import Vault, verdict
from vaultfmt_reference import age
from vaultfmt_reference.age import X25519, Hybrid, Identity, SSHEd25519, Stanza
from vaultfmt_reference.factors import Factors, Provider
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.rewrite import rekey
from vaultfmt_reference.slots import NewSlot

PUBLISHED = Path(__file__).parent / "published/hybrid.json"
FILE_KEY, SLOT = b"sixteen bytes ok", b"i" * 16
RANDOM = Random(9).randbytes
OWN: dict[str, Identity] = {"X25519": X25519(b"1" * 32), "mlkem768x25519": Hybrid(b"2" * 32), "ssh-ed25519": SSHEd25519(b"3" * 32)}
OTHERS: dict[str, Identity] = {"X25519": X25519(b"4" * 32), "mlkem768x25519": Hybrid(b"5" * 32), "ssh-ed25519": SSHEd25519(b"6" * 32)}


def wrapped(identity: Identity, file_key: bytes = FILE_KEY) -> Stanza:
    if isinstance(identity, X25519):
        return age.wrap_x25519(crypto_scalarmult_base(identity.scalar), file_key, RANDOM)
    if isinstance(identity, Hybrid):
        return age.wrap_hybrid(identity.public(), file_key, RANDOM)
    return age.wrap_ssh(identity.wire(), file_key, RANDOM)


def encoded(*stanzas: Stanza) -> bytes:
    return b"".join(stanza.encode() for stanza in stanzas)


class Slots(unittest.TestCase):
    def setUp(self) -> None:
        self.vault = Vault()
        self.id = self.vault.reader.header.vault

    def opens(self, parameters: bytes, identity: Identity, slot: bytes = SLOT) -> str:
        """The verdict on a vault with one more slot, opened by an identity."""
        reader = self.vault.reader
        key = age.external_key(FILE_KEY, self.id, slot)
        factors = Factors(provider=age.NAME, unwrap=age.unwrapper(self.id, identity))
        new = NewSlot(factors, None, Provider(age.NAME, parameters), key, id=SLOT)
        made = new.seal(reader.keys, {}, self.vault.random)
        data = rekey(self.vault.transaction(), [*reader.header.slots, made])
        return verdict(data, opened=lambda each: Reader(each, factors, {}))

    def test_a_slot_opens_with_the_identity_of_each_recipient_and_no_other(self) -> None:
        for name, identity in OWN.items():
            with self.subTest(name):
                parameters = encoded(wrapped(identity))
                self.assertEqual(self.opens(parameters, identity), "success")
                self.assertEqual(self.opens(parameters, OTHERS[name]), "no-slot-opens")
        several = encoded(*map(wrapped, OWN.values()))
        for identity in OWN.values():
            self.assertEqual(self.opens(several, identity), "success")

    def test_the_key_is_bound_to_the_slot(self) -> None:
        self.assertEqual(self.opens(encoded(wrapped(OWN["X25519"])), OWN["X25519"], slot=b"j" * 16), "no-slot-opens")

    def test_malformed_parameters_are_a_slot_without_candidates_R_9_1(self) -> None:
        good = encoded(wrapped(OWN["X25519"]))
        for parameters in (
            b"",
            b"x",
            good[:-1],
            good + b"x",
            good + b"\n",
            good.replace(b"-> ", b"->  ", 1),
            good.replace(b"-> ", b"=> ", 1),
            good.replace(b"\n", b"\r\n"),
            good[:-2] + b"=\n",
            good * 65,
            b"-> X25519" + b" a" * 64 + b"\n\n" + good,
            b"-> \xc3\xa9\n\n" + good,
        ):
            with self.subTest(parameters[:40]):
                self.assertEqual(self.opens(parameters, OWN["X25519"]), "no-slot-opens")
        self.assertEqual(self.opens(good * 64, OWN["X25519"]), "success")

    def test_malformed_and_unknown_stanzas_are_ignored_R_9_2(self) -> None:
        body, zero = b"b" * 32, age.encode64(bytes(32))
        for name, identity in OWN.items():
            count = 2 if name == "ssh-ed25519" else 1
            for arguments in ([], [b"AAAA"] * count, [b"A-"] * count, [zero] * count, [zero] * 3, [zero + b"="] * count):
                bad = Stanza([name.encode(), *arguments], body)
                with self.subTest(name, arguments=arguments):
                    self.assertEqual(self.opens(encoded(bad, wrapped(identity)), identity), "success")
                    self.assertEqual(self.opens(encoded(bad), identity), "no-slot-opens")
            unknown = Stanza([b"unknown", b"~"], b"")
            self.assertEqual(self.opens(encoded(unknown, wrapped(identity)), identity), "success")

    def test_a_body_has_32_bytes_R_9_3(self) -> None:
        for name, identity in OWN.items():
            for size in (0, 15, 17, 32):
                longer = wrapped(identity, bytes(size))
                with self.subTest(name, size=size):
                    self.assertEqual(age.file_keys(identity, encoded(longer)), [])

    def test_a_changed_byte_opens_nothing(self) -> None:
        for name, identity in OWN.items():
            stanza = wrapped(identity)
            changed = Stanza(stanza.arguments, bytes([stanza.body[0] ^ 1]) + stanza.body[1:])
            with self.subTest(name):
                self.assertEqual(age.file_keys(identity, encoded(changed)), [])


class Vectors(unittest.TestCase):
    def test_the_hybrid_vectors_are_what_a_sender_makes_of_their_randomness(self) -> None:
        for name, seed in (("age-hybrid", 0x51), ("age-hybrid-two-second", 0x52)):
            randomness = iter((b"\x01" * 32, b"\x02" * 32))
            made = age.wrap_hybrid(Hybrid(bytes([seed]) * 32).public(), bytes(range(0xF0, 0x100)), lambda _: next(randomness))
            vector = Path(__file__).parents[2] / "vectors/age" / f"{name}.vector"
            with self.subTest(name):
                self.assertIn(made.encode(), vector.read_bytes())


class Published(unittest.TestCase):
    def test_the_stanza_of_C2SP_age_opens(self) -> None:
        identity = age.identity("AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX")
        text = b"-> X25519 O6DLx/wDIawpUC978NSPjYvrfDtJVnZApXKp4FMPHCY\n3aKjozt9agh7jGmvOKvR4iax41Wl4zj95MKK4X9JuWc\n"
        (key,) = age.file_keys(identity, text)
        self.assertEqual(len(key), 16)

    def test_the_hybrid_makes_the_keys_and_secrets_of_X_Wing(self) -> None:
        vectors = json.loads(PUBLISHED.read_text())["x-wing"]
        self.assertEqual(len(vectors), 3)
        for vector in vectors:
            known = {name: bytes.fromhex(value) for name, value in vector.items()}
            identity, secrets = Hybrid(known["seed"]), []
            self.assertEqual(identity.public(), known["pk"])
            randomness = iter((known["eseed"][:32], known["eseed"][32:]))
            with mock.patch.object(age, "hpke_key", lambda secret: (secrets.append(secret), (bytes(32), bytes(12)))[1]):
                made = age.wrap_hybrid(identity.public(), FILE_KEY, lambda _: next(randomness))
                self.assertEqual(made.argument(0, 1, age.ENCAPSULATED), known["ct"])
                self.assertEqual(identity.unwrap(made), FILE_KEY)
            self.assertEqual(secrets, [known["ss"]] * 2)

    def test_the_hybrid_makes_the_keys_of_HPKE(self) -> None:
        vector = json.loads(PUBLISHED.read_text())["hpke"]
        known = {name: bytes.fromhex(value) for name, value in vector.items() if isinstance(value, str)}
        self.assertEqual(age.SUITE, known["suite_id"])
        self.assertEqual(Hybrid(known["skRm"]).public(), known["pkRm"])
        with mock.patch.object(age, "HYBRID_INFO", known["info"]):
            self.assertEqual(age.hpke_key(known["shared_secret"]), (known["key"], known["base_nonce"]))
