"""Opens a vault with an age identity, without the command, and prints a secret:

    python age_identity.py VAULT IDENTITY-FILE SERVICE ACCOUNT

The identity is one that age-keygen has made, AGE-SECRET-KEY-1…. Needs PyPI's `cryptography`.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Iterable, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

import vaultfmt

STANZA = re.compile(rb"-> ([!-~]+(?: [!-~]+)*)\n((?:[A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/]{0,63}\n)")
MOST = 64  # stanzas of a slot, arguments of a stanza
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


class AgeIdentity:
    """The provider `age` (section 9.3 of the specification) for stanzas of the type X25519."""

    name = "age"

    def __init__(self, path: str, private_key: bytes) -> None:
        self.vault = bytes.fromhex(vaultfmt.inspect(path).vault_id)
        self.key = X25519PrivateKey.from_private_bytes(private_key)
        self.recipient = self.key.public_key().public_bytes_raw()

    def unwrap(self, slots: Sequence[vaultfmt.ExternalSlot]) -> Iterable[Iterable[bytes]]:
        for slot in slots:
            # The key is the slot's own, so that stanzas copied to another slot do not open it.
            place = b"\x0evaultfmt-1 age" + self.vault + bytes.fromhex(slot.id)
            file_keys = filter(None, map(self.file_key, stanzas(slot.parameters)))
            yield [hashlib.blake2b(place, key=file_key, digest_size=32).digest() for file_key in file_keys]

    def file_key(self, stanza: tuple[list[bytes], bytes]) -> bytes | None:
        """The key that a stanza wraps; None if the stanza is not for this identity, or malformed."""
        arguments, body = stanza
        if arguments[0] != b"X25519" or len(arguments) != 2 or len(body) != 32:
            return None
        try:
            share = decode64(arguments[1])
            secret = self.key.exchange(X25519PublicKey.from_public_bytes(share))
        except ValueError:
            return None
        key = HKDF(SHA256(), 32, share + self.recipient, b"age-encryption.org/v1/X25519").derive(secret)
        try:
            return ChaCha20Poly1305(key).decrypt(bytes(12), body, None)
        except InvalidTag:
            return None

    def wrap(self) -> vaultfmt.WrappedKey:
        raise NotImplementedError("'vaultfmt slot add --recipient' makes slots for recipients")

    def rewrap(self, owners_data: bytes) -> vaultfmt.WrappedKey | None:
        return None


def stanzas(parameters: bytes) -> list[tuple[list[bytes], bytes]]:
    """The arguments and the body of each stanza; none if the parameters are malformed."""
    found, at = [], 0
    while at < len(parameters):
        match = STANZA.match(parameters, at)
        try:
            if not match:
                return []
            found.append((match[1].split(b" "), decode64(match[2].replace(b"\n", b""))))
        except ValueError:
            return []
        at = match.end()
    return found if len(found) <= MOST and all(len(arguments) <= MOST for arguments, _ in found) else []


def decode64(text: bytes) -> bytes:
    """Canonical Base64 without padding."""
    data = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    if base64.b64encode(data).rstrip(b"=") != text:
        raise ValueError("base64 that is not canonical")
    return data


def private_key(file: str) -> bytes:
    """The private key of the first identity in a file of age-keygen's. Bech32 (BIP 173) encodes it."""
    with open(file, encoding="utf-8") as lines:
        text = next((line.strip().lower() for line in lines if line.startswith("AGE-SECRET-KEY-1")), "")
    prefix, _, digits = text.rpartition("1")
    values = [BECH32.find(digit) for digit in digits]
    if len(values) != 58 or -1 in values or checksum(prefix, values) != 1:
        raise SystemExit(f"{file}: there is no age identity in this file")
    number = int("".join(f"{value:05b}" for value in values[:52])[:256], 2)
    return number.to_bytes(32, "big")


def checksum(prefix: str, values: list[int]) -> int:
    total = 1
    for value in [*(ord(each) >> 5 for each in prefix), 0, *(ord(each) & 31 for each in prefix), *values]:
        top, total = total >> 25, (total & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            total ^= generator if top >> bit & 1 else 0
    return total


if __name__ == "__main__":
    path, file, service, account = sys.argv[1:]
    try:
        with vaultfmt.open(path, external=AgeIdentity(path, private_key(file))) as vault:
            sys.stdout.buffer.write(vault[service, account])
    except vaultfmt.VaultError as error:
        raise SystemExit(f"{path}: {error}") from None
