"""The provider `age` (section 9.3): stanzas, the identities that open them, and the recipients that they are made for."""

import base64
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha3_256, sha256, shake_256

from kyber_py.ml_kem import ML_KEM_768
from nacl.bindings import (
    crypto_aead_chacha20poly1305_ietf_decrypt,
    crypto_aead_chacha20poly1305_ietf_encrypt,
    crypto_scalarmult,
    crypto_scalarmult_base,
    crypto_sign_ed25519_pk_to_curve25519,
    crypto_sign_ed25519_sk_to_curve25519,
    crypto_sign_seed_keypair,
)
from nacl.exceptions import CryptoError

from .crypto import derive

NAME = b"age"
FILE_KEY, BODY, STANZAS, ARGUMENTS, LONGEST = 16, 32, 64, 64, 16_384
X25519_INFO, SSH_INFO = b"age-encryption.org/v1/X25519", b"age-encryption.org/v1/ssh-ed25519"
HYBRID_INFO = b"age-encryption.org/mlkem768x25519"
ZERO_NONCE = bytes(12)
# HPKE with KEM 0x647a, HKDF-SHA256, ChaCha20-Poly1305.
SUITE = b"HPKE" + bytes.fromhex("647a00010003")
# The ciphertext, and the encapsulation key, of ML-KEM-768 are followed by those of X25519.
MLKEM_CIPHERTEXT = 1088
XWING_LABEL = bytes.fromhex("5c2e2f2f5e5c")
ENCAPSULATED = 1120

STANZA = re.compile(rb"-> ([!-~]+(?: [!-~]+)*)\n((?:[A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/]{0,63}\n)")


class Malformed(Exception):
    """What R-9.1 and R-9.2 have a reader ignore."""


@dataclass(frozen=True)
class Stanza:
    arguments: list[bytes]
    body: bytes

    def encode(self) -> bytes:
        text = encode64(self.body)
        lines = [text[at : at + 64] for at in range(0, len(text), 64)]
        if len(text) % 64 == 0:
            lines.append(b"")
        return b"-> " + b" ".join(self.arguments) + b"\n" + b"".join(line + b"\n" for line in lines)

    def argument(self, index: int, count: int, size: int) -> bytes:
        """One of `count` arguments after the type, which is base64 of `size` bytes."""
        if len(self.arguments) != 1 + count:
            raise Malformed("arguments")
        value = decode64(self.arguments[1 + index])
        if len(value) != size:
            raise Malformed("an argument's length")
        return value


def encode64(data: bytes) -> bytes:
    return base64.b64encode(data).rstrip(b"=")


def decode64(text: bytes) -> bytes:
    try:
        data = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise Malformed("base64") from None
    if encode64(data) != text:
        raise Malformed("base64 that is not canonical")
    return data


def stanzas(parameters: bytes) -> list[Stanza]:
    found, at = [], 0
    while at < len(parameters):
        match = STANZA.match(parameters, at)
        if not match or len(match[0]) > LONGEST:
            raise Malformed("a stanza")
        arguments = match[1].split(b" ")
        if len(arguments) > ARGUMENTS:
            raise Malformed("too many arguments")
        found.append(Stanza(arguments, decode64(match[2].replace(b"\n", b""))))
        at = match.end()
    if not 1 <= len(found) <= STANZAS:
        raise Malformed("the number of stanzas")
    return found


# Keys


def extract(salt: bytes, key: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), key, "sha256")


def expand(key: bytes, info: bytes, length: int = 32) -> bytes:
    """Of at most 32 bytes: HKDF's first block."""
    return hmac.digest(key, info + b"\x01", "sha256")[:length]


def hkdf(key: bytes, salt: bytes, info: bytes) -> bytes:
    return expand(extract(salt, key), info)


def shared(scalar: bytes, point: bytes) -> bytes:
    try:
        return crypto_scalarmult(scalar, point)
    except (CryptoError, RuntimeError):
        raise Malformed("a point of small order") from None


def seal(key: bytes, plain: bytes, nonce: bytes = ZERO_NONCE) -> bytes:
    return bytes(crypto_aead_chacha20poly1305_ietf_encrypt(plain, b"", nonce, key))


def unseal(key: bytes, body: bytes, nonce: bytes = ZERO_NONCE) -> bytes | None:
    if len(body) != BODY:
        raise Malformed("a body's length (R-9.3)")
    try:
        return bytes(crypto_aead_chacha20poly1305_ietf_decrypt(body, b"", nonce, key))
    except CryptoError:
        return None


def hpke_key(secret: bytes) -> tuple[bytes, bytes]:
    """Key and nonce of RFC 9180, section 5.1, in base mode."""

    def labeled_extract(salt: bytes, label: bytes, key: bytes) -> bytes:
        return extract(salt, b"HPKE-v1" + SUITE + label + key)

    def labeled_expand(key: bytes, label: bytes, info: bytes, length: int) -> bytes:
        return expand(key, length.to_bytes(2, "big") + b"HPKE-v1" + SUITE + label + info, length)

    context = b"\x00" + labeled_extract(b"", b"psk_id_hash", b"") + labeled_extract(b"", b"info_hash", HYBRID_INFO)
    schedule = labeled_extract(secret, b"secret", b"")
    return labeled_expand(schedule, b"key", context, 32), labeled_expand(schedule, b"base_nonce", context, 12)


def xwing_secret(mlkem: bytes, x25519: bytes, share: bytes, public: bytes) -> bytes:
    return sha3_256(mlkem + x25519 + share + public + XWING_LABEL).digest()


@dataclass(frozen=True)
class X25519:
    scalar: bytes

    def unwrap(self, stanza: Stanza) -> bytes | None:
        if stanza.arguments[0] != b"X25519":
            return None
        share = stanza.argument(0, 1, 32)
        return unseal(hkdf(shared(self.scalar, share), share + crypto_scalarmult_base(self.scalar), X25519_INFO), stanza.body)


@dataclass(frozen=True)
class Hybrid:
    seed: bytes

    def expanded(self) -> tuple[bytes, bytes, bytes]:
        """ML-KEM's encapsulation and decapsulation keys, and the scalar."""
        seeds = shake_256(self.seed).digest(96)
        return (*ML_KEM_768.key_derive(seeds[:64]), seeds[64:])

    def public(self) -> bytes:
        encapsulation, _, scalar = self.expanded()
        return bytes(encapsulation) + crypto_scalarmult_base(scalar)

    def unwrap(self, stanza: Stanza) -> bytes | None:
        if stanza.arguments[0] != b"mlkem768x25519":
            return None
        sent = stanza.argument(0, 1, ENCAPSULATED)
        if len(stanza.body) != BODY:
            raise Malformed("a body's length (R-9.3)")
        _, decapsulation, scalar = self.expanded()
        mlkem = ML_KEM_768.decaps(decapsulation, sent[:MLKEM_CIPHERTEXT])
        share = sent[MLKEM_CIPHERTEXT:]
        key, nonce = hpke_key(xwing_secret(mlkem, shared(scalar, share), share, crypto_scalarmult_base(scalar)))
        return unseal(key, stanza.body, nonce)


@dataclass(frozen=True)
class SSHEd25519:
    seed: bytes

    def wire(self) -> bytes:
        public, _ = crypto_sign_seed_keypair(self.seed)
        return ssh_wire(public)

    def unwrap(self, stanza: Stanza) -> bytes | None:
        if stanza.arguments[0] != b"ssh-ed25519":
            return None
        share = stanza.argument(1, 2, 32)
        public, pair = crypto_sign_seed_keypair(self.seed)
        wire = ssh_wire(public)
        if stanza.arguments[1] != encode64(sha256(wire).digest()[:4]):
            return None
        tweaked = shared(hkdf(b"", wire, SSH_INFO), shared(crypto_sign_ed25519_sk_to_curve25519(pair), share))
        return unseal(hkdf(tweaked, share + crypto_sign_ed25519_pk_to_curve25519(public), SSH_INFO), stanza.body)


Identity = X25519 | Hybrid | SSHEd25519


def ssh_wire(public: bytes) -> bytes:
    return bytes.fromhex("0000000b") + b"ssh-ed25519" + bytes.fromhex("00000020") + public


# Making stanzas: `random` returns as many bytes as it is asked for.

Random = Callable[[int], bytes]


def wrap_x25519(recipient: bytes, file_key: bytes, random: Random) -> Stanza:
    scalar = random(32)
    share = crypto_scalarmult_base(scalar)
    return Stanza([b"X25519", encode64(share)], seal(hkdf(shared(scalar, recipient), share + recipient, X25519_INFO), file_key))


def wrap_hybrid(recipient: bytes, file_key: bytes, random: Random) -> Stanza:
    encapsulation, public = recipient[:-32], recipient[-32:]
    mlkem, ciphertext = ML_KEM_768._encaps_internal(encapsulation, random(32))
    scalar = random(32)
    share = crypto_scalarmult_base(scalar)
    key, nonce = hpke_key(xwing_secret(mlkem, shared(scalar, public), share, public))
    return Stanza([b"mlkem768x25519", encode64(ciphertext + share)], seal(key, file_key, nonce))


def wrap_ssh(wire: bytes, file_key: bytes, random: Random) -> Stanza:
    scalar, point = random(32), crypto_sign_ed25519_pk_to_curve25519(wire[-32:])
    share = crypto_scalarmult_base(scalar)
    tweaked = shared(hkdf(b"", wire, SSH_INFO), shared(scalar, point))
    tag = encode64(sha256(wire).digest()[:4])
    return Stanza([b"ssh-ed25519", tag, encode64(share)], seal(hkdf(tweaked, share + point, SSH_INFO), file_key))


# Slots


def external_key(file_key: bytes, vault: bytes, slot: bytes) -> bytes:
    return derive(file_key, "age", vault + slot)


def unwrapper(vault: bytes, identity: Identity) -> Callable[[dict[bytes, bytes]], dict[bytes, list[bytes]]]:
    """What finds the keys of slots: `Factors` calls it with their parameters."""

    def unwrap(slots: dict[bytes, bytes]) -> dict[bytes, list[bytes]]:
        return {slot: [external_key(key, vault, slot) for key in file_keys(identity, text)] for slot, text in slots.items()}

    return unwrap


def file_keys(identity: Identity, parameters: bytes) -> list[bytes]:
    try:
        each = stanzas(parameters)
    except Malformed:
        return []
    found = []
    for stanza in each:
        try:
            key = identity.unwrap(stanza)
        except Malformed:
            continue
        if key is not None:
            found.append(key)
    return found


# Identities, as the vectors have them

ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def bech32(text: str) -> tuple[str, bytes]:
    """BIP 173, without its limit on length."""
    if text not in (text.lower(), text.upper()):
        raise ValueError("both cases")
    prefix, _, data = text.lower().rpartition("1")
    values = [ALPHABET.index(letter) for letter in data]
    if polymod([*(ord(c) >> 5 for c in prefix), 0, *(ord(c) & 31 for c in prefix), *values]) != 1:
        raise ValueError("a checksum")
    number = 0
    for value in values[:-6]:
        number = number << 5 | value
    bits = 5 * (len(values) - 6)
    if bits % 8 >= 5 or number & ((1 << bits % 8) - 1):
        raise ValueError("padding")
    return prefix, (number >> bits % 8).to_bytes(bits // 8, "big")


def polymod(values: list[int]) -> int:
    state = 1
    for value in values:
        top, state = state >> 25, (state & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            state ^= generator if top >> bit & 1 else 0
    return state


def identity(text: str) -> Identity:
    """`AGE-SECRET-KEY-1…`, `AGE-SECRET-KEY-PQ-1…`, or `ssh-ed25519:` and a seed in hexadecimal."""
    if text.startswith("ssh-ed25519:"):
        return SSHEd25519(bytes.fromhex(text.removeprefix("ssh-ed25519:")))
    prefix, key = bech32(text)
    if len(key) != 32:
        raise ValueError("an identity's length")
    return {"age-secret-key-": X25519, "age-secret-key-pq-": Hybrid}[prefix](key)
