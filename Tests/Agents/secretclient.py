"""Clients of the Secret Service, which know what each answer may be."""

from __future__ import annotations

import time
from dataclasses import dataclass

import plan
from secretservice import SERVICE, Refused, ServiceConnection
from sshclient import Served
from world import Wrong

NOBODYS_SESSION = SERVICE + "/session/999999999"
FOREIGN = {"service": "bank"}


@dataclass(frozen=True)
class Value:
    label: str
    secret: bytes


class SecretClient:
    """What clients of both agents do."""

    def __init__(self, served: Served, client: int) -> None:
        self.served, self.client = served, client
        self.connection = ServiceConnection(served.bus)
        # Sessions that this client has opened.
        self.own: set[str] = set()

    def perform(self, request: plan.Request) -> None:
        """Makes a request, and raises `Wrong` if its answer is."""
        sent = time.monotonic()
        try:
            getattr(self, "do_" + request.kind.replace("-", "_"))(request)
        except Refused as refusal:
            # A vault that the command writes to for longer than the agent waits is not changed.
            is_busy = "another program is writing to the vault" in str(refusal) and True in self.served.written.seen(sent, time.monotonic())
            if not is_busy and (refusal.name != "IsLocked" or True not in self.locked(sent)):
                raise Wrong(f"it was refused: {refusal}") from None

    def close(self) -> None:
        self.connection.close()

    def locked(self, sent: float) -> set[bool]:
        """Whether the vault may have been locked since then."""
        return self.served.vault_locked.seen(sent, time.monotonic())

    def must_be_refused(self, call: object, names: set[str], what: str) -> None:
        sent = time.monotonic()
        try:
            call()  # type: ignore[operator]
        except Refused as refusal:
            allowed = names | ({"IsLocked"} if True in self.locked(sent) else set())
            if refusal.name not in allowed:
                raise Wrong(f"{what} was refused, but because of {refusal}") from None
        else:
            raise Wrong(f"{what} was not refused")

    def do_find_foreign(self, request: plan.Request) -> None:
        """Nothing of another group is found or given, whatever it is asked by."""
        if request.place % 2 == 0:
            if self.connection.search(FOREIGN) != ([], []):
                raise Wrong("an item of another group is found")
        else:
            path = f"{SERVICE}/collection/bank/{request.number:032x}"
            self.must_be_refused(lambda: self.connection.secret(path), {"NoSuchObject"}, "another group's secret")

    def do_session(self, request: plan.Request) -> None:
        if self.connection.session and request.place % 3 == 0:
            self.connection.call(self.connection.session.path, "Session", "Close")
        session = self.connection.open_session(is_encrypted=request.place % 2 == 0)
        if session.path in self.served.sessions:
            raise Wrong("two sessions have one path")
        self.served.sessions.append(session.path)
        self.own.add(session.path)

    def a_path(self, request: plan.Request) -> str | None:
        """An item's path, as far as it is known."""
        raise NotImplementedError

    def do_foreign_session(self, request: plan.Request) -> None:
        """A session is its own client's."""
        others = [path for path in self.served.sessions[-40:] if path not in self.own]
        session = others[request.place % len(others)] if others else NOBODYS_SESSION
        if path := self.a_path(request):
            self.must_be_refused(lambda: self.connection.call(path, "Item", "GetSecret", "o", session), {"NoSession"}, "another client's session")
        self.must_be_refused(lambda: self.connection.call(session, "Session", "Close"), {"NoSession", "NoSuchObject"}, "closing another's session")

    def do_alias(self, request: plan.Request) -> None:
        (path,) = self.connection.call(SERVICE, "Service", "ReadAlias", "s", "default")
        if path != SERVICE + "/collection/desktop":
            raise Wrong(f"the default collection is {path}")

    def do_half(self, request: plan.Request) -> None:
        """A client that ends in the middle of a call."""
        self.connection.send_half()
        self.reopen()

    def reopen(self) -> None:
        self.connection.reopen()


class WritingClient(SecretClient):
    """A client with items of its own in a vault that it may change."""

    def __init__(self, served: Served, client: int) -> None:
        super().__init__(served, client)
        # What each item may be: several values if an answer was not waited for; None if it does not exist.
        self.values: list[set[Value | None]] = [{None} for _ in range(plan.ITEMS)]
        self.paths: list[str | None] = [None] * plan.ITEMS
        self.deleted: list[str] = []

    def attributes(self, item: int) -> dict[str, str]:
        return {"service": f"s{self.client}", "username": str(item)}

    def a_path(self, request: plan.Request) -> str | None:
        number = request.place % plan.ITEMS
        return self.paths[number] if None not in self.values[number] else None

    def do_store(self, request: plan.Request) -> None:
        number = request.place % plan.ITEMS
        value = Value(f"item {request.number}", plan.secret(request))
        path, prompt = self.connection.create(value.label, self.attributes(number), value.secret)
        if prompt != "/":
            raise Wrong("storing an item of one's own needs a prompt")
        if None not in self.values[number] and self.paths[number] not in (None, path):
            raise Wrong("an item was made instead of replaced")
        self.values[number], self.paths[number] = {value}, path

    def do_find(self, request: plan.Request) -> None:
        number = request.place % plan.ITEMS
        sent = time.monotonic()
        unlocked, locked = self.connection.search(self.attributes(number))
        if locked and True not in self.locked(sent) or unlocked and False not in self.locked(sent):
            raise Wrong("an item is locked, or not, although the vault is not, or is")
        found = unlocked + locked
        is_there = {value is not None for value in self.values[number]}
        if len(found) > 1 or bool(found) not in is_there:
            raise Wrong(f"{len(found)} items are found of one that {'exists' if is_there == {True} else 'does not exist'}")
        if found:
            if None not in self.values[number] and self.paths[number] not in (None, found[0]):
                raise Wrong("an item has another path than before")
            self.paths[number] = found[0]
        self.values[number] = {value for value in self.values[number] if (value is not None) == bool(found)}

    def do_read(self, request: plan.Request) -> None:
        number = request.place % plan.ITEMS
        path = self.a_path(request)
        if path is None:
            return self.do_find(request)
        secret = self.connection.secret(path)
        matching = {value for value in self.values[number] if value and value.secret == secret}
        if not matching:
            raise Wrong(f"a secret of {len(secret)} bytes is not the one that was stored")
        self.values[number] = matching  # type: ignore[assignment]
        return None

    def do_read_all(self, request: plan.Request) -> None:
        known = {path: number for number, path in enumerate(self.paths) if path and None not in self.values[number]}
        sent = time.monotonic()
        found = self.connection.secrets(list(known))
        if set(found) - set(known) or set(known) - set(found) and True not in self.locked(sent):
            raise Wrong(f"of {len(known)} secrets, {len(found)} are given")
        for path, secret in found.items():
            if not any(value and value.secret == secret for value in self.values[known[path]]):
                raise Wrong("one of several secrets is not the one that was stored")

    def do_change(self, request: plan.Request) -> None:
        number = request.place % plan.ITEMS
        path = self.a_path(request)
        if path is None:
            return self.do_store(request)
        secret = plan.secret(request)
        self.connection.set_secret(path, secret)
        self.values[number] = {Value(value.label, secret) for value in self.values[number] if value}
        return None

    def do_rename(self, request: plan.Request) -> None:
        number = request.place % plan.ITEMS
        path = self.a_path(request)
        if path is None:
            return self.do_find(request)
        label = f"renamed {request.number}"
        self.connection.set_label(path, label)
        self.values[number] = {Value(label, value.secret) for value in self.values[number] if value}
        if self.connection.label(path) != label:
            raise Wrong("an item has another label than it was given")
        return None

    def do_delete(self, request: plan.Request) -> None:
        number = request.place % plan.ITEMS
        path = self.a_path(request)
        if path is None:
            return self.do_find(request)
        if self.connection.delete(path) != "/":
            raise Wrong("deleting an item of one's own needs a prompt")
        self.values[number], self.paths[number] = {None}, None
        self.deleted = [*self.deleted[-3:], path]
        return None

    def do_read_deleted(self, request: plan.Request) -> None:
        path = self.deleted[request.place % len(self.deleted)] if self.deleted else f"{SERVICE}/collection/desktop/{request.number:032x}"
        self.must_be_refused(lambda: self.connection.secret(path), {"NoSuchObject"}, "the secret of an item that was deleted")

    def do_dropped(self, request: plan.Request) -> None:
        """A client that ends before the answer: what it asked for is done, or not."""
        number = request.place % plan.ITEMS
        path = self.a_path(request)
        if path is None or request.place // 16 % 2:
            value = Value(f"dropped {request.number}", plan.secret(request))
            self.connection.send(*self.connection.creation(value.label, self.attributes(number), value.secret))
            self.values[number] = self.values[number] | {value}
        else:
            self.connection.send(path, "Item", "Delete", None)
            self.values[number] = self.values[number] | {None}
        self.reopen()


class ScopedClient(SecretClient):
    """A client of an agent that a scoped slot has opened, and that asks a person before it gives a secret."""

    def __init__(self, served: Served, client: int, notes: dict[str, bytes]) -> None:
        super().__init__(served, client)
        self.notes = notes
        # What a person has agreed to, for this connection.
        self.agreed: set[str] = set()
        self.paths: dict[str, str] = {}

    def reopen(self) -> None:
        self.agreed = set()
        super().reopen()

    def note(self, request: plan.Request) -> str:
        return sorted(self.notes)[request.place % len(self.notes)]

    def path(self, name: str) -> str:
        if name not in self.paths:
            unlocked, locked = self.connection.search({"note": name})
            if len(unlocked + locked) != 1:
                raise Wrong(f"{len(unlocked + locked)} items are found as the note '{name}'")
            (self.paths[name],) = unlocked + locked
        return self.paths[name]

    def a_path(self, request: plan.Request) -> str | None:
        return self.path(self.note(request))

    def do_find(self, request: plan.Request) -> None:
        name = self.note(request)
        found = self.connection.search({"note": name})
        expected = ([self.path(name)], []) if name in self.agreed else ([], [self.path(name)])
        if found != expected:
            raise Wrong(f"the note '{name}' is found as {found}, and not as {expected}")

    def do_read(self, request: plan.Request) -> None:
        name = self.note(request)
        path = self.path(name)
        if name.endswith("refuse"):
            return self.must_be_refused(lambda: self.connection.secret(path), {"IsLocked"}, f"the note '{name}'")
        if self.connection.secret(path) != self.notes[name]:
            raise Wrong(f"the note '{name}' is another one")
        self.agreed.add(name)
        return None

    def do_unlock(self, request: plan.Request) -> None:
        name = self.note(request)
        unlocked, prompt = self.connection.unlock(self.path(name))
        if unlocked != ([self.path(name)] if name in self.agreed else []) or (prompt == "/") != (name in self.agreed):
            raise Wrong(f"unlocking '{name}' is answered with {unlocked} and {prompt}")
        if prompt == "/":
            return
        if self.connection.show(prompt) != name.endswith("refuse"):
            raise Wrong(f"the prompt about '{name}' has ended in another way than a person said")
        if name.endswith("agree"):
            self.agreed.add(name)

    def do_store_refused(self, request: plan.Request) -> None:
        call = self.connection.creation("new", {"service": f"scoped {self.client}"}, plan.secret(request))
        self.must_be_refused(lambda: self.connection.call(*call), {"AccessDenied"}, "storing by a scoped slot")  # type: ignore[arg-type]

    def do_delete_prompt(self, request: plan.Request) -> None:
        """Deleting needs a prompt; as long as nobody shows it, nothing happens."""
        name = self.note(request)
        if self.connection.delete(self.path(name)) == "/":
            raise Wrong(f"the note '{name}' was deleted without a question")
        self.do_find(request)

    def do_dropped(self, request: plan.Request) -> None:
        session = self.connection.used_session()
        self.connection.send(self.path("0 agree"), "Item", "GetSecret", "o", session.path)
        self.reopen()


