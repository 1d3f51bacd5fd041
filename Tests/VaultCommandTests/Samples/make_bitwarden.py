"""Makes the files of Bitwarden/, from Bitwarden's published description of its exports: one plain, and the same one
protected with the password `bitwarden wörd`, by PBKDF2 and by Argon2id. Needs pycryptodomex and argon2-cffi; run by hand.
"""

import base64
import hashlib
import hmac
import json
from pathlib import Path

from argon2.low_level import Type, hash_secret_raw
from Cryptodome.Cipher import AES

FOLDER = Path(__file__).parent / "Bitwarden"
PASSWORD = "bitwarden wörd"


def item(kind, name, **more):
    base = {
        "passwordHistory": None,
        "revisionDate": "2024-05-06T07:08:09.120Z",
        "creationDate": "2023-01-02T03:04:05.000Z",
        "deletedDate": None,
        "id": hashlib.md5(name.encode()).hexdigest(),
        "organizationId": None,
        "folderId": None,
        "type": kind,
        "reprompt": 0,
        "name": name,
        "notes": None,
        "favorite": False,
        "collectionIds": None,
    }
    return base | more


PLAIN = {
    "encrypted": False,
    "folders": [{"id": "f1", "name": "Web/Shops"}],
    "items": [
        item(
            1, "Example", folderId="f1", favorite=True, notes="a note\nwith <two> lines",
            fields=[
                {"name": "pin", "value": "1234", "type": 1, "linkedId": None},
                {"name": "colour", "value": "blue", "type": 0, "linkedId": None},
                {"name": "remember", "value": "true", "type": 2, "linkedId": None},
            ],
            passwordHistory=[
                {"lastUsedDate": "2024-02-01T00:00:00.000Z", "password": "second"},
                {"lastUsedDate": "2024-01-01T00:00:00.000Z", "password": "first"},
            ],
            login={
                "uris": [
                    {"match": None, "uri": "https://example.com/login"}, {"match": 1, "uri": "https://example.org"},
                ],
                "username": "alice",
                "password": "p\"\\wört",
                "totp": "JBSW Y3DP EHPK 3PXP",
                "fido2Credentials": [
                    {"credentialId": "c-1", "keyType": "public-key", "keyAlgorithm": "ECDSA", "keyCurve": "P-256",
                     "keyValue": "MIGH", "rpId": "example.com", "userHandle": "dQ", "userName": "alice",
                     "counter": "0", "rpName": "Example", "userDisplayName": "Alice", "discoverable": "true",
                     "creationDate": "2024-01-01T00:00:00.000Z"},
                ],
            },
        ),
        item(2, "Door", notes="the code is 99", secureNote={"type": 0}),
        item(
            3, "Card",
            card={"cardholderName": "Alice A", "brand": "Visa", "number": "4111111111111111", "expMonth": "4",
                  "expYear": "2031", "code": "123"},
        ),
        item(
            4, "Me",
            identity={"title": "Ms", "firstName": "Alice", "middleName": None, "lastName": "A", "ssn": "078-05-1120",
                      "username": "alice", "email": "alice@example.com", "passportNumber": "P1"},
        ),
        item(5, "Server", sshKey={"privateKey": "-----BEGIN…", "publicKey": "ssh-ed25519 AAAA", "keyFingerprint": "SHA256:x"}),
        item(1, "Steam", login={"uris": None, "username": "bob", "password": "pw4", "totp": "steam://JBSWY3DPEHPK3PXP"}),
        item(1, "Gone", deletedDate="2024-06-01T00:00:00.000Z", login={"username": "bob", "password": "pw6"}),
    ],
}


def expand(key, info):
    return hmac.new(key, info + b"\x01", hashlib.sha256).digest()


def encrypted(key, text):
    """Type 2: AES-256 in CBC mode, and HMAC-SHA-256 over both."""
    iv = hashlib.sha256(text.encode()).digest()[:16]
    padding = 16 - len(text.encode()) % 16
    data = AES.new(expand(key, b"enc"), AES.MODE_CBC, iv).encrypt(text.encode() + bytes([padding]) * padding)
    code = hmac.new(expand(key, b"mac"), iv + data, hashlib.sha256).digest()
    return "2." + "|".join(base64.b64encode(part).decode() for part in (iv, data, code))


def protected(kdf):
    salt = "c2FsdCB0aGF0IGlzIHRleHQ="
    outer = {"encrypted": True, "passwordProtected": True, "salt": salt, "kdfType": kdf}
    if kdf == 0:
        outer["kdfIterations"] = 5000
        key = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), salt.encode(), 5000, 32)
    else:
        outer |= {"kdfIterations": 2, "kdfMemory": 16, "kdfParallelism": 2}
        key = hash_secret_raw(
            PASSWORD.encode(), hashlib.sha256(salt.encode()).digest(), time_cost=2, memory_cost=16 * 1024,
            parallelism=2, hash_len=32, type=Type.ID,
        )
    outer["encKeyValidation_DO_NOT_EDIT"] = encrypted(key, "0b7d3c2a-7e5f-4a3c-9d1e-2f3a4b5c6d7e")
    outer["data"] = encrypted(key, json.dumps(PLAIN, indent=2, ensure_ascii=False))
    return outer


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    account = {"encrypted": True, "encKeyValidation_DO_NOT_EDIT": "2.AA==|AA==|AA==", "folders": [], "items": []}
    for name, value in {
        "plain": PLAIN, "pbkdf2": protected(0), "argon2id": protected(1), "account": account,
    }.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")
