"""Hashes, keys and seals: sections 1, 3.1 (factors) and 4."""

import hmac
import unicodedata
from dataclasses import dataclass
from hashlib import blake2b

from argon2.low_level import Type, hash_secret_raw
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt
from nacl.exceptions import CryptoError

from .codec import Limit, Refused, require, str8, u8, u32

NONCE, TAG = 24, 16


def hashed(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


def mac(key: bytes, data: bytes) -> bytes:
    return blake2b(data, digest_size=32, key=key).digest()


def derive(key: bytes, label: str, data: bytes = b"") -> bytes:
    return mac(key, str8(label) + data)


def is_same(left: bytes, right: bytes) -> bool:
    """In constant time (R-3.3, R-3.7)."""
    return hmac.compare_digest(left, right)


def seal(key: bytes, nonce: bytes, bound: bytes, plain: bytes) -> bytes:
    return bytes(crypto_aead_xchacha20poly1305_ietf_encrypt(plain, bound, nonce, key))


def unseal(key: bytes, nonce: bytes, bound: bytes, sealed: bytes, what: str) -> bytes:
    try:
        return bytes(crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, bound, nonce, key))
    except CryptoError:
        raise Refused("authentication-failed", f"{what} does not authenticate") from None


def object_data(label: str, vault: bytes, identity: bytes, frame: bytes) -> bytes:
    """The associated data of a frame (section 4)."""
    return str8("vaultfmt-1 " + label) + vault + identity + frame[:8]


@dataclass(frozen=True)
class Stretching:
    """What a slot says about Argon2id."""

    memory: int = 0
    passes: int = 0
    lanes: int = 0
    salt: bytes = bytes(16)


@dataclass(frozen=True)
class Policy:
    """What a reader is willing to spend (R-3.6)."""

    memory: int = 2 << 20
    passes: int = 16
    lanes: int = 16
    total: int = 1 << 24


class Factors:
    """A passphrase, a key file or both, or a raw key. `Refused` for what is none."""

    def __init__(self, passphrase: bytes | None = None, key_file: bytes | None = None, raw_key: bytes | None = None) -> None:
        self.kinds, self.passphrase, self.file_hash, self.key = 0, b"", b"", b""
        if passphrase is not None:
            self.kinds, self.passphrase = 1, normalised(passphrase)
        if raw_key is not None:
            require(self.kinds == 0 and key_file is None and len(raw_key) == 32, "a raw key is 32 bytes, alone", "no-slot-opens")
            self.kinds, self.key = 8, raw_key
        if key_file is not None and key_file.startswith(b"VAULTFMT-KEY-"):
            self.kinds, self.key = self.kinds | 2, generated_key(key_file)
        elif key_file is not None:
            require(1 <= len(key_file) <= Limit.KEY_FILE, "a key file's length", "no-slot-opens")
            self.kinds, self.file_hash = self.kinds | 4, hashed(str8("vaultfmt-1 key file") + key_file)
        require(self.kinds != 0, "no factor is given", "no-slot-opens")

    def slot_key(self, vault: bytes, parameters: bytes, stretching: Stretching) -> bytes:
        """The parameters are bytes 2 to 48 of the slot."""
        stretched = b""
        if self.kinds & 5:
            sizes = u8(self.kinds) + u32(len(self.passphrase))
            password = hashed(str8("vaultfmt-1 stretch") + sizes + self.passphrase + self.file_hash)
            stretched = hash_secret_raw(
                password, stretching.salt, stretching.passes, stretching.memory, stretching.lanes, 32, Type.ID, 0x13
            )
        return mac(stretched + self.key, str8("vaultfmt-1 slot key") + vault + parameters)


def normalised(passphrase: bytes) -> bytes:
    require(1 <= len(passphrase) <= Limit.PASSPHRASE, "a passphrase's length", "no-slot-opens")
    try:
        return unicodedata.normalize("NFC", passphrase.decode("utf-8")).encode("utf-8")
    except UnicodeDecodeError:
        raise Refused("no-slot-opens", "the passphrase is not UTF-8 (R-3.8)") from None


def generated_key(content: bytes) -> bytes:
    try:
        key = bytes.fromhex(content[15:79].decode("ascii"))
    except ValueError:
        key = b""
    require(len(key) == 32 and content == key_file(key), "a damaged key file (R-3.9)", "no-slot-opens")
    return key


def key_file(key: bytes) -> bytes:
    check = hashed(str8("vaultfmt-1 key file check") + key)[:4].hex()
    return f"VAULTFMT-KEY-1-{key.hex()}-{check}\n".encode("ascii")


class Keys:
    """Section 3.3. Who opened a scoped slot has no vault key, and nothing that comes from it alone."""

    def __init__(self, vault: bytes, epoch: bytes, vault_key: bytes) -> None:
        self.vault, self.vault_key = vault, vault_key
        self.grants: dict[int, bytes] = {}
        if vault_key:
            self.index = derive(vault_key, "vaultfmt-1 index", epoch)
            self.reader = derive(vault_key, "vaultfmt-1 reader", epoch)
            self.owner = derive(vault_key, "vaultfmt-1 owner", epoch)
            self.slot_owner = derive(vault_key, "vaultfmt-1 slot owner")
            self.keyring = derive(vault_key, "vaultfmt-1 keyring")

    @classmethod
    def scoped(cls, vault: bytes, index: bytes, reader: bytes, grants: dict[int, bytes]) -> "Keys":
        keys = cls(vault, b"", b"")
        keys.index, keys.reader, keys.grants = index, reader, grants
        return keys

    @property
    def is_owner(self) -> bool:
        return self.vault_key != b""

    def locator(self, nonce: bytes, locator: bytes) -> bytes:
        """Hides a record's locator, or shows it (section 5.1)."""
        mask = derive(derive(self.index, "vaultfmt-1 locator"), "vaultfmt-1 locator mask", nonce)
        return bytes(left ^ right for left, right in zip(locator, mask[: len(locator)], strict=True))

    def seal_at(self, kind: str, tag: bytes, offset: int, nonce: bytes, body: bytes, extra: int = 0) -> bytes:
        """The frame of a page, keyring, history or commit; of a commit without its MACs, which are the extra bytes."""
        head = tag + u32(8 + NONCE + len(body) + TAG + extra)
        bound = object_data(kind, self.vault, offset.to_bytes(8, "little"), head)
        return head + nonce + seal(self.index, nonce, bound, body)

    def unseal_at(self, kind: str, offset: int, frame: bytes) -> bytes:
        bound = object_data(kind, self.vault, offset.to_bytes(8, "little"), frame)
        return unseal(self.index, frame[8:32], bound, frame[32:], f"the {kind} at {offset}")
