"""The ssh agent protocol (RFC 9987): messages, and the keys that a client adds."""

from __future__ import annotations

import base64
import socket
import struct
from dataclasses import dataclass
from functools import cached_property

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from world import PATIENCE, Wrong

FAILURE, SUCCESS, IDENTITIES, SIGNATURE, EXTENSION_FAILURE, EXTENSION_RESPONSE = 5, 6, 12, 14, 28, 29
LIST, SIGN, ADD, REMOVE, REMOVE_ALL, LOCK, UNLOCK, ADD_CONSTRAINED, EXTENSION = 11, 13, 17, 18, 19, 22, 23, 25, 27
LIFETIME, CONFIRM = 1, 2
RSA_SHA512 = 4
LONGEST = 256 << 10


def text(data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def mpint(number: int) -> bytes:
    return text(number.to_bytes(number.bit_length() // 8 + 1, "big"))


class Reader:
    """Reads the parts of a message; anything that is missing or left over is wrong."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise Wrong("an answer is truncated")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def text(self) -> bytes:
        return self.take(self.number())

    def end(self) -> None:
        if self.at != len(self.data):
            raise Wrong("an answer has more than it should")


@dataclass
class OwnKey:
    """A key that a client has made, and adds."""

    private: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey
    comment: str

    @cached_property
    def blob(self) -> bytes:
        return public_blob(self.private.public_key())

    @property
    def seed(self) -> bytes:
        """The secret part of the private key."""
        if isinstance(self.private, ed25519.Ed25519PrivateKey):
            return self.private.private_bytes(serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())
        return self.private.private_numbers().private_value.to_bytes(32, "big")

    def message(self, constraints: bytes = b"") -> bytes:
        if isinstance(self.private, ed25519.Ed25519PrivateKey):
            point = self.blob[-32:]
            body = text("ssh-ed25519") + text(point) + text(self.seed + point)
        else:
            body = self.blob + mpint(self.private.private_numbers().private_value)
        return bytes([ADD_CONSTRAINED if constraints else ADD]) + body + text(self.comment) + constraints


def public_blob(key: object) -> bytes:
    line = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)  # type: ignore[attr-defined]
    return base64.b64decode(line.split()[1])


def sign_message(blob: bytes, data: bytes) -> bytes:
    # The flag has an effect on RSA keys only.
    return bytes([SIGN]) + text(blob) + text(data) + struct.pack(">I", RSA_SHA512)


def verify(blob: bytes, data: bytes, answer: bytes) -> None:
    """Raises `Wrong` unless the answer is a signature of the data by the key, of the algorithm that was asked for."""
    whole = Reader(answer)
    signature = Reader(whole.text())
    whole.end()
    name, value = signature.text(), signature.text()
    signature.end()
    key = serialization.load_ssh_public_key(blob_line(blob))
    try:
        if isinstance(key, ed25519.Ed25519PublicKey):
            expect(name, b"ssh-ed25519")
            key.verify(value, data)
        elif isinstance(key, rsa.RSAPublicKey):
            expect(name, b"rsa-sha2-512")
            key.verify(value, data, padding.PKCS1v15(), hashes.SHA512())
        elif isinstance(key, ec.EllipticCurvePublicKey):
            expect(name, b"ecdsa-sha2-nistp256")
            parts = Reader(value)
            r, s = (int.from_bytes(parts.text(), "big") for _ in range(2))
            parts.end()
            key.verify(encode_dss_signature(r, s), data, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise Wrong("a signature does not verify") from None


def expect(name: bytes, expected: bytes) -> None:
    if name != expected:
        raise Wrong(f"a signature is one of {name!r}, not of {expected!r}")


def blob_line(blob: bytes) -> bytes:
    return Reader(blob).text() + b" " + base64.b64encode(blob)


class AgentConnection:
    """A connection to an agent."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.open()

    def open(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(self.path)

    def close(self) -> None:
        self.socket.close()

    def reopen(self) -> None:
        self.close()
        self.open()

    def send(self, message: bytes) -> None:
        self.socket.sendall(text(message))

    def ask(self, message: bytes) -> bytes:
        """Returns the answer to a request."""
        self.send(message)
        length = int.from_bytes(self.read(4), "big")
        if not 1 <= length <= LONGEST:
            raise Wrong(f"an answer says that it has {length} bytes")
        return self.read(length)

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                piece = self.socket.recv(count - len(data))
            except TimeoutError:
                raise Wrong(f"no answer within {PATIENCE} s") from None
            if not piece:
                raise Wrong("the agent has closed the connection")
            data += piece
        return data

    def is_closed(self) -> bool:
        """Whether the agent closes the connection without another word."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def identities(self) -> list[tuple[bytes, str]]:
        answer = Reader(self.ask(bytes([LIST])))
        if answer.take(1)[0] != IDENTITIES:
            raise Wrong("a list of keys was refused")
        found = [(answer.text(), answer.text().decode()) for _ in range(answer.number())]
        answer.end()
        return found
