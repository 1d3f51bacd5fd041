"""A vault, a bus for each agent, and two agents: one that a full slot has opened, and one that a scoped slot has."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import plan
import sshagent
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from sshclient import Served
from world import PATIENCE, Wrong

# The bus starts no other service, and lets every client of this user do everything.
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
  <limit name="max_connections_per_user">1024</limit>
  <limit name="max_completed_connections">1024</limit>
  <limit name="max_incomplete_connections">1024</limit>
  <limit name="auth_timeout">120000</limit>
</busconfig>
"""
# Agrees or not, as the question says, and notes when it is started while another one of the same agent asks.
ASKING = """#!/bin/sh
exec 9>>"{folder}/asking-{name}"
flock -n 9 || echo "{name}: $1" >>"{folder}/overlaps"
case $1 in *" agree'"* | *"'agree'"*) exit 0 ;; *) exit 1 ;; esac
"""
GROUPS = ("ssh", "desktop")
BANK = b"the bank's password, 7d20c4"


class Setting:
    """What the programs under test run in; everything is in one folder."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[str]] = []
        (folder / "bin").mkdir()
        (folder / "bin/vaultfmt").symlink_to(binary)
        self.passphrase = "correct horse battery staple"
        self.environment = {
            "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data"),
            "PATH": f"{folder / 'bin'}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "VAULTFMT_VAULT": str(folder / "test.vault"),
            "SWIFT_BACKTRACE": "enable=no",
        }  # fmt: skip
        self.notes = {f"{number} {'refuse' if number % 3 == 2 else 'agree'}": f"secret of note {number}".encode() for number in range(plan.NOTES)}

    # Commands.

    def run(self, *arguments: str, given: bytes | str = b"", environment: dict[str, str] | None = None) -> str:
        """Runs a program, which must succeed; returns its output."""
        done = subprocess.run(
            arguments, input=given.encode() if isinstance(given, str) else given, env={**self.environment, **(environment or {})},
            cwd=self.folder, capture_output=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        if done.returncode:
            raise Wrong(f"{' '.join(arguments[:4])} failed with {done.returncode}: {done.stderr.decode().strip()[-400:]}")
        return done.stdout.decode()

    def vaultfmt(self, *arguments: str, given: bytes | str = b"", runtime: str | None = None) -> str:
        """Runs the command with the owner's passphrase."""
        more = {"VAULTFMT_PASSPHRASE": self.passphrase}
        if runtime:
            more["XDG_RUNTIME_DIR"] = str(self.folder / runtime)
        return self.run("vaultfmt", *arguments, given=given, environment=more)

    def public(self, name: str, group: str) -> bytes:
        """The public key of an item."""
        return base64.b64decode(self.vaultfmt("ssh", "public", name, "--group", group).split()[1])

    def public_of_file(self, name: str) -> bytes:
        return base64.b64decode((self.folder / f"{name}.pub").read_text().split()[1])

    def fill(self) -> None:
        """Makes the vault: keys and notes that are served, a bank's that are not, and a scoped slot."""
        self.vaultfmt("create", "--kdf", "testing")
        self.vaultfmt("set", "server", "--group", "ssh", "--ssh-generate", "ed25519")
        for name, options in (("rsa", ("rsa", "-b", "2048")), ("curve", ("ecdsa", "-b", "256"))):
            self.run("ssh-keygen", "-q", "-t", *options, "-N", "", "-C", name, "-f", name)
            self.vaultfmt("import", name, "--group", "ssh")
        for name in ("agree", "refuse"):
            self.vaultfmt("set", name, "--group", "ssh", "--ssh-generate", "ed25519", "--label", name, "--attribute", "ssh=confirm")
        self.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bank-key", "-f", "bank-key")
        self.vaultfmt("import", "bank-key", "--group", "bank")
        self.vaultfmt("set", "bank", "joe", "--group", "bank", given=BANK)
        for name, secret in self.notes.items():
            self.vaultfmt("set", f"note {name}", "--group", "desktop", "--label", f"note {name}", "--attribute", f"note={name}", given=secret)
        self.vaultfmt("generate", "--key-file", "scoped.key")
        grants = [word for group in GROUPS for word in ("--grant-group", group)]
        self.vaultfmt("slot", "add", "--new-key-file", "scoped.key", "--name", "scoped", *grants)

    def key_parts(self, name: str) -> dict[str, bytes]:
        """What is secret of the key in a file: its number, as messages and as libraries have it, and a line of the file."""
        data = (self.folder / name).read_bytes()
        key = serialization.load_ssh_private_key(data, None)
        if isinstance(key, rsa.RSAPrivateKey):
            number = key.private_numbers().p.to_bytes(128, "big")
        else:
            number = sshagent.OwnKey(key, name).seed
        lines = data.splitlines()
        return {f"the key '{name}'": number, f"the key '{name}' as a number": number[::-1], f"the file of the key '{name}'": lines[len(lines) - 3]}

    def foreign(self) -> dict[str, bytes]:
        """The secrets of the group that is not served."""
        return {"the bank's password": BANK} | self.key_parts("bank-key")

    def secrets(self) -> dict[str, bytes]:
        """The secrets that are served, besides those that clients store."""
        keys = self.key_parts("rsa") | self.key_parts("curve")
        return {f"the note '{name}'": secret for name, secret in self.notes.items()} | keys | {"the passphrase": self.passphrase.encode()}

    # Processes.

    def start(self, *arguments: str, environment: dict[str, str]) -> subprocess.Popen[str]:
        with open(self.folder / "errors", "a") as errors:
            process = subprocess.Popen(
                arguments, env={**self.environment, **environment}, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=errors, text=True,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def start_bus(self, name: str) -> str:
        path = self.folder / f"{name}.bus"
        settings = self.folder / f"{name}.conf"
        settings.write_text(BUS.format(path=path))
        process = self.start("dbus-daemon", f"--config-file={settings}", "--nofork", "--nopidfile", "--print-address=1", environment={})
        address = first_line(process)
        return address.partition(",guid")[0]

    def start_agent(self, name: str, bus: str, *options: str, environment: dict[str, str]) -> tuple[subprocess.Popen[str], str]:
        """Returns the agent's process and its socket, when it answers."""
        runtime = self.folder / name
        runtime.mkdir(mode=0o700)
        asking = self.folder / f"ask-{name}"
        asking.write_text(ASKING.format(folder=self.folder, name=name))
        asking.chmod(0o755)
        process = self.start(
            "vaultfmt", "agent", "--collection", "desktop", *options,
            environment={"XDG_RUNTIME_DIR": str(runtime), "DBUS_SESSION_BUS_ADDRESS": bus, "SSH_ASKPASS": str(asking), **environment},
        )  # fmt: skip
        found = re.match(r"SSH_AUTH_SOCK='?([^';]+)", first_line(process))
        if not found:
            raise Wrong(f"the agent '{name}' did not start: {(self.folder / 'errors').read_text()[-400:]}")
        return process, found[1]

    def has_keyring(self) -> bool:
        """Whether `vaultfmt unlock` can keep a vault open here."""
        try:
            self.vaultfmt("unlock", "--for", "1h")
        except Wrong:
            return False
        return True

    def export(self) -> dict[tuple[str, str], tuple[str, bytes]]:
        """The labels and secrets of the items that clients have stored, as the command exports them."""
        path = self.folder / "export.json"
        path.unlink(missing_ok=True)
        self.vaultfmt("export", "--output", str(path))
        items = json.loads(path.read_text())["items"]
        return {
            (item["service"], item["account"]): (item["attributes"]["label"], item["secret"].encode())
            for item in items
            if item.get("group") == "desktop" and "note" not in item["attributes"]
        }

    def end(self) -> None:
        """Ends what is left, each process by its own id."""
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()


def first_line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline() if process.stdout else ""


@dataclass(frozen=True)
class Memory:
    """In MB: the most that was a process's own, what still is, and the most together with its program's files."""

    peak: float
    kept: float
    resident: float


class Agent:
    """An agent under test, and what its clients know of it."""

    def __init__(self, setting: Setting, name: str, *options: str, environment: dict[str, str]) -> None:
        self.setting, self.name = setting, name
        bus = setting.start_bus(name)
        self.process, socket = setting.start_agent(name, bus, *options, environment=environment)
        keys = {"server": setting.public("server", "ssh")} | {key: setting.public_of_file(key) for key in ("rsa", "curve")}
        confirmed = {key: setting.public(key, "ssh") for key in ("agree", "refuse")}
        self.served = Served(socket, bus, keys, confirmed, [setting.public_of_file("bank-key")])

    def lines(self, file: str) -> dict[str, str]:
        text = Path(f"/proc/{self.process.pid}/{file}").read_text()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def memory(self) -> Memory:
        """Its memory: what is its own, and what it has of its program's files, which all processes share."""
        status = {name: int(value.split()[0]) * 1024 / 1e6 for name, value in self.lines("status").items() if name.startswith(("Vm", "Rss"))}
        files = status["RssFile"] + status["RssShmem"]
        # The system remembers only the peak of both. The pages of files were hardly more then.
        return Memory(peak=status["VmHWM"] - files, kept=status["RssAnon"], resident=status["VmHWM"])

    def descriptors(self) -> int | None:
        """How many descriptors it has open; None if this user may not see that of a hardened process."""
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except PermissionError:
            return None

    @property
    def left(self) -> list[str]:
        """What it has left in its runtime folder, besides the folder of its own."""
        runtime = self.setting.folder / self.name
        return [str(path.relative_to(runtime)) for path in runtime.rglob("*") if path != runtime / "vaultfmt"]
