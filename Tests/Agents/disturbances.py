"""What happens while clients are served: changes of the vault by the command, locks, a new passphrase, clients that are killed."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import sshagent
from secretservice import SERVICE, Refused, ServiceConnection
from setting import Agent, Setting
from sshagent import AgentConnection, text
from world import Tally, Wrong

VICTIM = Path(__file__).resolve().with_name("victim.py")


class Disturbances:
    """Made one after the other by one thread, spread over the requests of the clients."""

    def __init__(self, setting: Setting, full: Agent, scoped: Agent, tally: Tally, seed: int, *, has_keyring: bool) -> None:
        self.setting, self.full, self.scoped, self.tally = setting, full, scoped, tally
        self.chosen = random.Random(f"{seed}/disturbances")
        self.number = 0
        self.kinds: dict[str, Callable[[], None]] = {
            "item set and removed": self.change_item, "key made and removed": self.change_key, "agent locked": self.lock_agent,
            "client killed": self.kill_client,
        }  # fmt: skip
        if has_keyring:
            self.kinds |= {"vault locked": self.lock_vault, "vault locked by a client": self.lock_by_client, "passphrase changed": self.rekey}
        # Clients of its own, which make no other requests.
        self.bus = ServiceConnection(full.served.bus)
        self.agents = {agent.name: AgentConnection(agent.served.socket) for agent in (full, scoped)}

    def run(self, rounds: int, total: int) -> None:
        """Makes each kind so many times, in an order of the seed, while clients make so many requests."""
        order = list(self.kinds) * rounds
        self.chosen.shuffle(order)
        self.pause = max(1, total // (4 * len(order)))
        for number, kind in enumerate(order):
            self.tally.wait_for(total * number // len(order))
            self.number += 1
            self.tally.case(kind, is_request=False)
            try:
                self.kinds[kind]()
            except (Wrong, Refused) as problem:
                self.tally.fail(kind, problem)
            except Exception as problem:  # noqa: BLE001 (whatever it is, the run has failed)
                self.tally.fail(kind, repr(problem))

    def close(self) -> None:
        self.bus.close()
        for connection in self.agents.values():
            connection.close()

    def wait(self) -> None:
        """Lets clients make some requests meanwhile."""
        self.tally.wait_for(self.tally.requests + self.pause)

    # Changes of the vault by the command, which both agents follow.

    def write(self, *arguments: str, given: bytes | str = b"", runtime: str | None = None) -> None:
        """Runs a command that writes to the vault."""
        written = self.full.served.written
        with written.change(True):
            pass
        with written.change(False):
            self.setting.vaultfmt(*arguments, given=given, runtime=runtime)

    def change_item(self) -> None:
        name = f"made {self.number}"
        secret = f"secret {self.number} of the command".encode()
        self.write("set", name, "ann", "--group", "desktop", given=secret)
        found = self.bus.search({"service": name, "username": "ann"})
        if len(found[0]) != 1 or found[1]:
            raise Wrong(f"an item that the command has set is found as {found}")
        if self.bus.secret(found[0][0]) != secret:
            raise Wrong("an item that the command has set has another secret")
        self.wait()
        self.write("remove", name, "ann", "--group", "desktop", "--yes")
        if self.bus.search({"service": name, "username": "ann"}) != ([], []):
            raise Wrong("an item that the command has removed is found")

    def change_key(self) -> None:
        """The agents list a key as soon as it exists, and not any longer when it does not."""
        name = f"key {self.number}"
        self.write("set", name, "--group", "other", "--ssh-generate", "ed25519", "--attribute", "ssh=off")
        blob = self.setting.public(name, "other")
        self.full.served.others.add(blob)
        self.write("update", name, "--group", "other", "--attribute", "ssh=offer")
        self.must_list(self.full, blob, True)
        # The scoped slot does not open this group.
        self.must_list(self.scoped, blob, False)
        self.wait()
        self.write("remove", name, "--group", "other", "--yes")
        self.must_list(self.full, blob, False)

    def must_list(self, agent: Agent, blob: bytes, is_listed: bool) -> None:
        found = [blob for blob, _ in self.agents[agent.name].identities()]
        if (blob in found) != is_listed:
            raise Wrong(f"the agent '{agent.name}' {'does not list' if is_listed else 'lists'} a key of the vault")

    # Locks.

    def ask(self, agent: Agent, kind: int, password: str) -> bool:
        answer = self.agents[agent.name].ask(bytes([kind]) + text(password))
        if answer not in (bytes([sshagent.SUCCESS]), bytes([sshagent.FAILURE])):
            raise Wrong(f"a lock was answered with {answer[:1].hex()}")
        return answer[0] == sshagent.SUCCESS

    def lock_agent(self) -> None:
        agents = (self.full, self.scoped)
        for agent in agents:
            with agent.served.agent_locked.change(True):
                if not self.ask(agent, sshagent.LOCK, "password"):
                    raise Wrong("the agent was not locked")
        self.wait()
        for agent in agents:
            if self.ask(agent, sshagent.LOCK, "other"):
                raise Wrong("an agent that is locked was locked again")
            if self.ask(agent, sshagent.UNLOCK, "wrong"):
                raise Wrong("a wrong password has unlocked the agent")
        self.wait()
        for agent in agents:
            with agent.served.agent_locked.change(False):
                self.unlock_agent(agent)

    def unlock_agent(self, agent: Agent) -> None:
        # A password that comes too soon after a wrong one is refused, right or not; each refusal is the event to wait for.
        for _ in range(100_000):
            if self.ask(agent, sshagent.UNLOCK, "password"):
                return
        raise Wrong("the agent was not unlocked")

    def lock_vault(self) -> None:
        with self.full.served.vault_locked.change(True):
            self.setting.vaultfmt("lock", runtime=self.full.name)
        self.wait()
        self.unlock_vault()

    def lock_by_client(self) -> None:
        with self.full.served.vault_locked.change(True):
            self.bus.call(SERVICE, "Service", "Lock", "ao", [SERVICE + "/collection/desktop"])
        self.wait()
        self.unlock_vault()

    def unlock_vault(self) -> None:
        with self.full.served.vault_locked.change(False):
            # Each time for longer: a key that is kept until the time of the last one does not open the vault again.
            self.setting.vaultfmt("unlock", "--for", f"{3600 + 60 * self.number}s", runtime=self.full.name)

    def rekey(self) -> None:
        """The slot gets another passphrase, which ends what `unlock` keeps; then the vault is unlocked with the new one."""
        new = f"a new passphrase {self.number} {self.chosen.getrandbits(64):x}"
        path = self.setting.folder / "new-passphrase"
        path.write_text(new)
        path.chmod(0o600)
        with self.full.served.vault_locked.change(True):
            self.write("rekey", "--new-passphrase-file", str(path), "--kdf", "testing", runtime=self.full.name)
            self.setting.passphrase = new
        self.wait()
        self.unlock_vault()

    # Clients.

    def kill_client(self) -> None:
        """A process of its own that uses both services, and is killed after a number of requests."""
        agent = self.chosen.choice([self.full, self.scoped])
        least = self.chosen.randrange(1, 30)
        arguments = [sys.executable, "-B", str(VICTIM), agent.served.socket, agent.served.bus]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=self.setting.environment) as victim:
            if not victim.stdout or len(victim.stdout.read(least)) < least:
                raise Wrong("a client that was to be killed has ended before")
            victim.kill()
