"""The Secret Service (freedesktop.org, version 0.2) from a client's side, over jeepney."""

from __future__ import annotations

import hashlib
import hmac
import os

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from jeepney import DBusAddress, HeaderFields, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection
from world import PATIENCE, Wrong

NAME = "org.freedesktop.secrets"
SERVICE = "/org/freedesktop/secrets"
PREFIX = "org.freedesktop.Secret."
DEFAULT = SERVICE + "/aliases/default"
PLAIN, ENCRYPTED = "plain", "dh-ietf1024-sha256-aes128-cbc-pkcs7"
# The second group of RFC 2409.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF",
    16,
)
SIZE = 128


class Refused(Exception):
    """An error reply: the last part of its name, and its message."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name.rpartition(".")[2]


class Session:
    """A session of one connection: how secrets are transferred."""

    def __init__(self, path: str, key: bytes | None) -> None:
        self.path, self.key = path, key

    def seal(self, secret: bytes) -> tuple[str, bytes, bytes, str]:
        if self.key is None:
            return (self.path, b"", secret, "text/plain")
        vector = os.urandom(16)
        padder = padding.PKCS7(128).padder()
        encryptor = Cipher(algorithms.AES(self.key), modes.CBC(vector)).encryptor()
        sealed = encryptor.update(padder.update(secret) + padder.finalize()) + encryptor.finalize()
        return (self.path, vector, sealed, "text/plain")

    def open(self, secret: tuple[str, bytes, bytes, str]) -> bytes:
        path, vector, value, _ = secret
        if path != self.path:
            raise Wrong("a secret is for another session")
        if self.key is None:
            if vector:
                raise Wrong("a plain secret has an initialisation vector")
            return bytes(value)
        decryptor = Cipher(algorithms.AES(self.key), modes.CBC(bytes(vector))).decryptor()
        unpadder = padding.PKCS7(128).unpadder()
        padded = decryptor.update(bytes(value)) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()


def derived(shared: int) -> bytes:
    """HKDF with SHA-256, without salt and information: the first 16 bytes."""
    extracted = hmac.digest(bytes(32), shared.to_bytes(SIZE, "big"), hashlib.sha256)
    return hmac.digest(extracted, b"\1", hashlib.sha256)[:16]


class ServiceConnection:
    """A connection to the bus, with at most one session."""

    def __init__(self, bus: str) -> None:
        self.bus = bus
        self.open()

    def open(self) -> None:
        self.connection = open_dbus_connection(self.bus, auth_timeout=PATIENCE)
        self.session: Session | None = None

    def close(self) -> None:
        self.connection.close()

    def reopen(self) -> None:
        self.close()
        self.open()

    @staticmethod
    def message(path: str, interface: str, member: str, signature: str | None = None, body: tuple[object, ...] = ()) -> object:
        name = interface if "." in interface else PREFIX + interface
        return new_method_call(DBusAddress(path, bus_name=NAME, interface=name), member, signature, body)

    def call(self, path: str, interface: str, member: str, signature: str | None = None, *body: object) -> tuple[object, ...]:
        try:
            reply = self.connection.send_and_get_reply(self.message(path, interface, member, signature, body), timeout=PATIENCE)
        except TimeoutError:
            raise Wrong(f"{member}: no answer within {PATIENCE} s") from None
        if reply.header.message_type is MessageType.error:
            raise Refused(reply.header.fields[HeaderFields.error_name], reply.body[0] if reply.body else "")
        return reply.body

    def send(self, *call: object) -> None:
        """Makes a call whose answer nobody reads."""
        path, interface, member, signature, *body = call
        self.connection.send(self.message(path, interface, member, signature, tuple(body)))

    def send_half(self) -> None:
        """Sends the first half of a call."""
        data = self.message(SERVICE, "Service", "ReadAlias", "s", ("default",)).serialise(serial=1_000_000)  # type: ignore[attr-defined]
        self.connection.sock.sendall(data[: len(data) // 2])

    # What clients ask for.

    def open_session(self, *, is_encrypted: bool) -> Session:
        if not is_encrypted:
            _, path = self.call(SERVICE, "Service", "OpenSession", "sv", PLAIN, ("s", ""))
            self.session = Session(path, None)  # type: ignore[arg-type]
            return self.session
        exponent = int.from_bytes(os.urandom(32), "big")
        ours = pow(2, exponent, PRIME).to_bytes(SIZE, "big")
        (kind, theirs), path = self.call(SERVICE, "Service", "OpenSession", "sv", ENCRYPTED, ("ay", ours))  # type: ignore[misc]
        if kind != "ay":
            raise Wrong(f"the output of OpenSession is of the type {kind}")
        self.session = Session(path, derived(pow(int.from_bytes(bytes(theirs), "big"), exponent, PRIME)))  # type: ignore[arg-type]
        return self.session

    def used_session(self) -> Session:
        return self.session or self.open_session(is_encrypted=False)

    def search(self, attributes: dict[str, str]) -> tuple[list[str], list[str]]:
        unlocked, locked = self.call(SERVICE, "Service", "SearchItems", "a{ss}", attributes)
        return list(unlocked), list(locked)  # type: ignore[call-overload]

    def secret(self, path: str) -> bytes:
        session = self.used_session()
        (found,) = self.call(path, "Item", "GetSecret", "o", session.path)
        return session.open(found)  # type: ignore[arg-type]

    def secrets(self, paths: list[str]) -> dict[str, bytes]:
        session = self.used_session()
        (found,) = self.call(SERVICE, "Service", "GetSecrets", "aoo", paths, session.path)
        return {path: session.open(secret) for path, secret in found.items()}  # type: ignore[attr-defined]

    def creation(self, label: str, attributes: dict[str, str], secret: bytes) -> tuple[object, ...]:
        properties = {PREFIX + "Item.Label": ("s", label), PREFIX + "Item.Attributes": ("a{ss}", attributes)}
        return (DEFAULT, "Collection", "CreateItem", "a{sv}(oayays)b", properties, self.used_session().seal(secret), True)

    def create(self, label: str, attributes: dict[str, str], secret: bytes) -> tuple[str, str]:
        path, prompt = self.call(*self.creation(label, attributes, secret))  # type: ignore[arg-type]
        return path, prompt  # type: ignore[return-value]

    def set_secret(self, path: str, secret: bytes) -> None:
        self.call(path, "Item", "SetSecret", "(oayays)", self.used_session().seal(secret))

    def label(self, path: str) -> str:
        ((_, label),) = self.call(path, "org.freedesktop.DBus.Properties", "Get", "ss", PREFIX + "Item", "Label")  # type: ignore[misc]
        return label

    def set_label(self, path: str, label: str) -> None:
        self.call(path, "org.freedesktop.DBus.Properties", "Set", "ssv", PREFIX + "Item", "Label", ("s", label))

    def delete(self, path: str) -> str:
        (prompt,) = self.call(path, "Item", "Delete")
        return prompt  # type: ignore[return-value]

    def unlock(self, path: str) -> tuple[list[str], str]:
        unlocked, prompt = self.call(SERVICE, "Service", "Unlock", "ao", [path])
        return list(unlocked), prompt  # type: ignore[call-overload, return-value]

    def show(self, prompt: str) -> bool:
        """Shows a prompt; returns whether it was dismissed."""
        self.send(prompt, "Prompt", "Prompt", "s", "")
        try:
            while True:
                message = self.connection.receive(timeout=PATIENCE)
                fields = message.header.fields
                if message.header.message_type is MessageType.signal and fields.get(HeaderFields.path) == prompt:
                    return bool(message.body[0])
        except TimeoutError:
            raise Wrong("a prompt was not completed") from None
