"""What each client asks for, as a seed has it: the same seed, the same requests."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

# Items of each client, and keys that it adds; the last key needs confirmation.
ITEMS, KEYS = 4, 3
NOTES = 6
LONG_SECRET = 60_000

# How often a kind of request is made, compared with the others.
SSH = {
    "list": 16, "sign": 24, "sign-added": 14, "add": 10, "add-limited": 3, "remove": 8, "sign-unknown": 3, "sign-foreign": 3,
    "sign-confirmed": 5, "query": 2, "nonsense": 3, "half": 3, "length": 2, "dropped": 4,
}  # fmt: skip
SECRETS = {
    "store": 16, "read": 22, "read-all": 5, "find": 14, "change": 8, "rename": 5, "delete": 8, "read-deleted": 4, "find-foreign": 4,
    "session": 5, "foreign-session": 3, "alias": 2, "half": 2, "dropped": 4,
}  # fmt: skip
# Of the agent that a scoped slot has opened, and that asks a person.
SCOPED_SECRETS = {
    "find": 18, "read": 26, "unlock": 8, "store-refused": 10, "delete-prompt": 6, "find-foreign": 8, "session": 5, "foreign-session": 4,
    "alias": 3, "half": 2, "dropped": 4,
}  # fmt: skip


@dataclass(frozen=True)
class Request:
    protocol: str
    kind: str
    # What it is about, and what it says.
    place: int
    number: int


def secret(request: Request) -> bytes:
    """A secret that only this request stores, as text; a few are long."""
    word = hashlib.sha256(f"{request.number}".encode()).hexdigest()
    length = LONG_SECRET if request.number % 50 == 0 else 8 + request.number % 400
    return (word * (length // len(word) + 1))[:length].encode()


def shares(count: int, clients: int) -> list[int]:
    return [count // clients + (client < count % clients) for client in range(clients)]


def requests(seed: int, client: int, ssh: int, secrets: int, *, is_scoped: bool) -> list[Request]:
    """The requests of one client, of both protocols in turn."""
    chosen = random.Random(f"{seed}/{client}")
    kinds = SCOPED_SECRETS if is_scoped else SECRETS
    protocols = ["ssh"] * ssh + ["secrets"] * secrets
    chosen.shuffle(protocols)
    made = []
    for protocol in protocols:
        table = SSH if protocol == "ssh" else kinds
        (kind,) = chosen.choices(list(table), list(table.values()))
        made.append(Request(protocol, kind, chosen.randrange(1 << 16), chosen.getrandbits(48)))
    return made


def digest(plans: list[list[Request]]) -> str:
    """Tells whether two runs make the same requests."""
    return hashlib.sha256(repr(plans).encode()).hexdigest()[:12]
