"""A client of the ssh agent, which knows what each of its answers may be."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import plan
import sshagent
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from sshagent import AgentConnection, OwnKey
from world import Switch, Wrong


@dataclass
class Served:
    """An agent from its clients' side: what it offers, and what it is going through."""

    socket: str
    bus: str
    # The vault's keys by name: those that sign, and those that a person is asked about, by the answer.
    keys: dict[str, bytes]
    confirmed: dict[str, bytes]
    # The keys that it must never offer.
    foreign: list[bytes]
    vault_locked: Switch = field(default_factory=lambda: Switch(False))
    agent_locked: Switch = field(default_factory=lambda: Switch(False))
    # Whether the command writes to the vault.
    written: Switch = field(default_factory=lambda: Switch(False))
    # Whatever else it may offer: keys that clients add, and those that a disturbance makes.
    others: set[bytes] = field(default_factory=set)
    # Sessions of all clients, of which each is only its own client's.
    sessions: list[str] = field(default_factory=list)


class SSHClient:
    def __init__(self, served: Served, client: int) -> None:
        self.served = served
        comments = [f"client {client} key {number}" for number in range(plan.KEYS - 1)]
        comments.append(f"client {client} {'agree' if client % 2 else 'refuse'}")
        self.keys = [
            OwnKey(ed25519.Ed25519PrivateKey.generate() if number % 2 == 0 else ec.generate_private_key(ec.SECP256R1()), comment)
            for number, comment in enumerate(comments)
        ]
        # Whether the agent has each of them: yes, no, or both are possible because an answer was not waited for.
        self.has: list[set[bool]] = [{False} for _ in self.keys]
        self.unknown = OwnKey(ed25519.Ed25519PrivateKey.generate(), "unknown")
        served.others.update(key.blob for key in self.keys)
        self.connection = AgentConnection(served.socket)

    def perform(self, request: plan.Request) -> None:
        """Makes a request, and raises `Wrong` if its answer is."""
        method = getattr(self, "do_" + request.kind.replace("-", "_"))
        method(request)

    def close(self) -> None:
        self.connection.close()

    def reopen(self) -> None:
        """Goes on with another connection after a wrong answer, and with nothing that is certain."""
        self.has = [{False, True} for _ in self.keys]
        self.connection.reopen()

    # Answers.

    def ask(self, message: bytes) -> tuple[bytes, set[bool], set[bool]]:
        """Returns the answer, and whether the vault and the agent may have been locked."""
        sent = time.monotonic()
        answer = self.connection.ask(message)
        answered = time.monotonic()
        return answer, self.served.vault_locked.seen(sent, answered), self.served.agent_locked.seen(sent, answered)

    @staticmethod
    def judge(answer: bytes, expected: set[bytes], what: str) -> None:
        if answer not in expected:
            raise Wrong(f"{what} was answered with {answer[:1].hex()} ({len(answer)} bytes)")

    FAILED, DONE = bytes([sshagent.FAILURE]), bytes([sshagent.SUCCESS])

    def change(self, message: bytes, allowed: set[bool], what: str) -> bool:
        """Makes a change that is possible or not; returns whether it was made."""
        answer, _, agent_locked = self.ask(message)
        expected = {self.DONE if is_possible else self.FAILED for is_possible in allowed} if False in agent_locked else set()
        if True in agent_locked:
            expected.add(self.FAILED)
        self.judge(answer, expected, what)
        return answer == self.DONE

    def sign(self, blob: bytes, request: plan.Request, possible: set[bool], what: str, *, of_vault: bool) -> None:
        """Asks for a signature that is possible or not, unless something is locked."""
        data = b"data to sign " + plan.secret(request)[:300]
        answer, vault_locked, agent_locked = self.ask(sshagent.sign_message(blob, data))
        is_locked = agent_locked | vault_locked if of_vault else agent_locked
        is_always_locked = False not in agent_locked or of_vault and False not in vault_locked
        if answer[0] == sshagent.SIGNATURE:
            if True not in possible or is_always_locked:
                raise Wrong(f"{what} was not refused")
            sshagent.verify(blob, data, answer[1:])
        elif answer != self.FAILED:
            raise Wrong(f"{what} was answered with {answer[:1].hex()}")
        elif possible == {True} and True not in is_locked:
            raise Wrong(f"{what} was refused")

    # Requests.

    def do_list(self, request: plan.Request) -> None:
        sent = time.monotonic()
        found = self.connection.identities()
        answered = time.monotonic()
        blobs = [blob for blob, _ in found]
        agent_locked = self.served.agent_locked.seen(sent, answered)
        vault_locked = self.served.vault_locked.seen(sent, answered)
        if len(blobs) != len(set(blobs)):
            raise Wrong("a key is listed twice")
        ours = [*self.served.keys.values(), *self.served.confirmed.values()]
        if unexpected := set(blobs) - set(ours) - self.served.others:
            raise Wrong(f"a key is listed that is nobody's, or another group's: {unexpected.pop().hex()}")
        if not blobs and True in agent_locked:
            return
        if False not in agent_locked:
            raise Wrong("keys are listed while the agent is locked")
        shown = sum(blob in blobs for blob in ours)
        if shown not in {0 if is_locked else len(ours) for is_locked in vault_locked}:
            raise Wrong(f"{shown} of the vault's {len(ours)} keys are listed")
        for key, has in zip(self.keys, self.has, strict=True):
            if (key.blob in blobs) not in has:
                raise Wrong(f"'{key.comment}' is {'listed' if key.blob in blobs else 'not listed'}")
        for key, has in zip(self.keys, self.has, strict=True):
            has.intersection_update({key.blob in blobs})

    def do_sign(self, request: plan.Request) -> None:
        names = sorted(self.served.keys)
        name = names[request.place % len(names)]
        self.sign(self.served.keys[name], request, {True}, f"a signature with '{name}'", of_vault=True)

    def do_sign_added(self, request: plan.Request) -> None:
        number = request.place % (plan.KEYS - 1)
        self.sign(self.keys[number].blob, request, self.has[number], "a signature with an added key", of_vault=False)

    def do_sign_unknown(self, request: plan.Request) -> None:
        self.sign(self.unknown.blob, request, {False}, "a signature with a key that was never added", of_vault=False)

    def do_sign_foreign(self, request: plan.Request) -> None:
        blob = self.served.foreign[request.place % len(self.served.foreign)]
        self.sign(blob, request, {False}, "a signature with another group's key", of_vault=False)

    def do_sign_confirmed(self, request: plan.Request) -> None:
        """A person agrees or not, as the key's comment says."""
        names = [*sorted(self.served.confirmed), "added"]
        name = names[request.place % len(names)]
        if name != "added":
            self.sign(self.served.confirmed[name], request, {name == "agree"}, f"a signature with '{name}'", of_vault=True)
            return
        key, has = self.keys[-1], self.has[-1]
        possible = {is_there and key.comment.endswith("agree") for is_there in has}
        self.sign(key.blob, request, possible, f"a signature with '{key.comment}'", of_vault=False)

    def do_add(self, request: plan.Request) -> None:
        number = request.place % plan.KEYS
        constraints = bytes([sshagent.CONFIRM]) if number == plan.KEYS - 1 else b""
        if self.change(self.keys[number].message(constraints), {True}, "a key that is added"):
            self.has[number] = {True}

    def do_add_limited(self, request: plan.Request) -> None:
        number = request.place % (plan.KEYS - 1)
        lifetime = bytes([sshagent.LIFETIME]) + (3600 + request.place % 1000).to_bytes(4, "big")
        if self.change(self.keys[number].message(lifetime), {True}, "a key that is added for a time"):
            self.has[number] = {True}

    def removal(self, number: int) -> bytes:
        return bytes([sshagent.REMOVE]) + sshagent.text(self.keys[number].blob)

    def do_remove(self, request: plan.Request) -> None:
        number = request.place % plan.KEYS
        sent = time.monotonic()
        was_removed = self.change(self.removal(number), self.has[number], "a key that is removed")
        # A failure tells that there was no such key, unless the agent was locked.
        if was_removed or True not in self.served.agent_locked.seen(sent, time.monotonic()):
            self.has[number] = {False}

    def do_query(self, request: plan.Request) -> None:
        name = ["query", "no-such-extension@example.org"][request.place % 2]
        answer = self.connection.ask(bytes([sshagent.EXTENSION]) + sshagent.text(name))
        if name == "query":
            known = sshagent.text("query") + sshagent.text("query") + sshagent.text("session-bind@openssh.com")
            self.judge(answer, {bytes([sshagent.EXTENSION_RESPONSE]) + known}, "a query")
        else:
            self.judge(answer, {self.FAILED}, "an unknown extension")

    def do_nonsense(self, request: plan.Request) -> None:
        """A message that means nothing fails, and the connection goes on."""
        body = plan.secret(request)[:200]
        kinds = [bytes([0, *body]), bytes([sshagent.SIGN]) + body, bytes([sshagent.ADD]) + body, bytes([sshagent.LIST]) + body, bytes([200])]
        self.judge(self.connection.ask(kinds[request.place % len(kinds)]), {self.FAILED}, "nonsense")

    def do_half(self, request: plan.Request) -> None:
        """A client that ends in the middle of a message: nothing of it is done."""
        message = sshagent.text(self.keys[0].message())
        self.connection.socket.sendall(message[: 1 + request.place % (len(message) - 1)])
        self.connection.reopen()

    def do_length(self, request: plan.Request) -> None:
        """A length that no message has: the agent closes the connection."""
        length = [0, sshagent.LONGEST + 1, 1 << 31, (1 << 32) - 1][request.place % 4]
        self.connection.socket.sendall(length.to_bytes(4, "big"))
        if not self.connection.is_closed():
            raise Wrong(f"a message of {length} bytes is waited for")
        self.connection.reopen()

    def do_dropped(self, request: plan.Request) -> None:
        """A client that ends before the answer: what it asked for is done, or not."""
        number = request.place % (plan.KEYS - 1)
        kind = request.place // 16 % 4
        if kind == 0:
            self.connection.send(bytes([sshagent.LIST]))
        elif kind == 1:
            self.connection.send(sshagent.sign_message(next(iter(self.served.keys.values())), b"data"))
        elif kind == 2:
            self.connection.send(self.keys[number].message())
            self.has[number] = self.has[number] | {True}
        else:
            self.connection.send(self.removal(number))
            self.has[number] = self.has[number] | {False}
        self.connection.reopen()
