"""Hashes, keys and seals: sections 1, 3.4 and 4."""

import hmac
from dataclasses import dataclass, field
from hashlib import blake2b

from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt
from nacl.exceptions import CryptoError

from . import signature
from .codec import Refused, str8, u32, u64

NONCE, TAG = 24, 16


def hashed(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def mac(key: bytes, data: bytes) -> bytes:
    return blake2b(data, digest_size=32, key=key).digest()


def derive(key: bytes, label: str, data: bytes = b"") -> bytes:
    return mac(key, str8("vaultfmt-1 " + label) + data)


def is_same(left: bytes, right: bytes) -> bool:
    """In constant time (R-1.7)."""
    return hmac.compare_digest(left, right)


def seal(key: bytes, nonce: bytes, bound: bytes, plain: bytes) -> bytes:
    return bytes(crypto_aead_xchacha20poly1305_ietf_encrypt(plain, bound, nonce, key))


def unseal(key: bytes, nonce: bytes, bound: bytes, sealed: bytes, what: str) -> bytes:
    try:
        return bytes(crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, bound, nonce, key))
    except CryptoError:
        raise Refused("authentication-failed", f"{what} does not authenticate") from None


def associated(label: str, vault: bytes, identity: bytes, frame: bytes) -> bytes:
    """AD(label, x): what a frame is bound to (section 4)."""
    return str8("vaultfmt-1 " + label) + vault + identity + frame[:8]


# Section 3.4


@dataclass(frozen=True)
class Keys:
    """What an opened slot leads to. A scoped holder has no vault key, and nothing that follows from it alone."""

    vault: bytes
    index: bytes
    public: bytes
    vault_key: bytes = field(default=b"", repr=False)
    # Seals pasts; empty for a scoped holder.
    past: bytes = field(default=b"", repr=False)
    grants: dict[int, bytes] = field(default_factory=dict, repr=False)

    @classmethod
    def owners(cls, vault: bytes, epoch: bytes, vault_key: bytes) -> "Keys":
        public = signature.public_key(derive(vault_key, "signing"))
        return cls(vault, derive(vault_key, "index", epoch), public, vault_key, derive(vault_key, "past", epoch))

    @property
    def is_owner(self) -> bool:
        return self.vault_key != b""

    def of_owner(self, label: str) -> bytes:
        """The owner key, the signing seed, the slot owner key, the keyring key, the locator key, and the key of group 0."""
        assert self.is_owner
        return derive(self.vault_key, label)

    def of_frame(self, kind: str) -> bytes:
        return self.past if kind == "past" else self.index

    def locator(self, nonce: bytes, locator: bytes) -> bytes:
        """Hides a record's locator, or shows it (section 5.1)."""
        mask = derive(self.of_owner("locator"), "locator mask", nonce)
        return bytes(left ^ right for left, right in zip(locator, mask, strict=True))

    def seal_at(self, kind: str, tag: bytes, offset: int, nonce: bytes, body: bytes) -> bytes:
        """The frame of anything but a record."""
        head = tag + u32(8 + NONCE + len(body) + TAG)
        return head + nonce + seal(self.of_frame(kind), nonce, associated(kind, self.vault, u64(offset), head), body)

    def unseal_at(self, kind: str, offset: int, frame: bytes) -> bytes:
        bound = associated(kind, self.vault, u64(offset), frame)
        return unseal(self.of_frame(kind), frame[8:32], bound, frame[32:], f"the {kind} at {offset}")


def device_key(secret: bytes, vault: bytes) -> bytes:
    return derive(secret, "device", vault)
