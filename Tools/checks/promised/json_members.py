"""The members of what the command writes with --json: their places and types, from runs on new vaults and on those of the vectors.

A member's place is its command and the names that lead to it: `list [].attributes.*` is any attribute of an element of what `list`
writes. A member that no run shows, and that the sources name, is an error: it would be promised nowhere.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .lists import Promise

# Objects whose members are named by what a vault contains.
NAMED_BY_DATA = {"attributes", "objects", "itemsByClass"}
MEMBER = re.compile(r'\b(?:member|name|object|array)\("(\w+)"')
SOURCES = ("VaultCommand", "VaultSync", "VaultConsole", "VaultExchange/Items", "VaultExchange/Writers")
# JSON that is not of --json: its members are other programs'.
OTHERS = {"DockerCredential.swift"}
# Members that need what is not worth having here: they are no promise until a run shows them.
UNSEEN = {
    "kernelKeyring": "a system without a kernel keyring",
    "writer": "another process that is writing",
    "unreadable": "an agent whose vault was damaged while it ran",
    "unreadableSince": "an agent whose vault was damaged while it ran",
    "secretService": "a session bus",
    "asksWith": "a pinentry",
    "unlockedUntil": "the kernel keyring",
    "locked": "an agent whose vault was locked while it ran",
    "action": "a client that asked the agent for a signature",
    "program": "a client that asked the agent for a signature",
    "problem": "a merge with a damaged vault",
    "extension": "copies with different extensions",
    "value": "an earlier value of a sealed attribute",
    "flags": "an attribute with flags other than its name's, in an export",
    "unreadableTail": "a torn tail that a program reads",
    "compactionBlocked": "a file that cannot be replaced",
}
PASSWORD = "correct horse battery staple"


class Command:
    """The command in a folder of its own, without the caller's vaults."""

    def __init__(self, binary: str, folder: Path) -> None:
        self.binary, self.folder = binary, folder
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": str(folder / "state"),
            "XDG_DATA_HOME": str(folder / "data"), "XDG_RUNTIME_DIR": str(folder),
        }  # fmt: skip
        self.found: set[Promise] = set()

    def run(self, *arguments: str, text: str = "", codes: tuple[int, ...] = (0,), **variables: str) -> str:
        done = subprocess.run(
            [self.binary, *arguments], cwd=self.folder, env={**self.environment, **variables}, input=text,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode not in codes:
            raise SystemExit(f"Tools/checks/promises: error: {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def see(self, name: str, *arguments: str, text: str = "", codes: tuple[int, ...] = (0,), **variables: str) -> None:
        """Runs a command with --json, and notes its members; `name` is the command without arguments."""
        output = self.run(*name.split(), *arguments, *([] if name == "export" else ["--json"]), text=text, codes=codes, **variables)
        if output:
            self.found |= set(members(json.loads(output), name))


def members(value: Any, place: str) -> Iterator[Promise]:
    match value:
        case dict():
            yield from (promise for name, inner in value.items() for promise in member(inner, place, name))
        case list():
            for inner in value:
                yield Promise(f"{place} []", kind(inner))
                yield from members(inner, f"{place} []")


def member(value: Any, place: str, name: str) -> Iterator[Promise]:
    # A command's own members follow it after a space.
    at = f"{place}.{name}" if place.endswith(("[]", "*")) or "." in place else f"{place} .{name}"
    yield Promise(at, kind(value))
    if isinstance(value, dict) and name in NAMED_BY_DATA:
        for inner in value.values():
            yield Promise(f"{at}.*", kind(inner))
            yield from members(inner, f"{at}.*")
    else:
        yield from members(value, at)


def kind(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case dict():
            return "an object"
        case list():
            return "an array"
        case _:
            return "null"


def promises(binary: str, root: Path) -> list[Promise]:
    with tempfile.TemporaryDirectory() as folder:
        command = Command(binary, Path(folder))
        new_vault(command)
        for pattern in ("features/*.vector", "header/extension-header*.vector"):
            for vector in sorted((root / "Spec/vectors").glob(pattern)):
                of_vector(command, vector)
        for ours in sorted((root / "Spec/vectors/merging").glob("*-ours.vector")):
            of_merge(command, ours)
        older_copy(command)
        torn(command)
        agent(command)
    seen = {part for name, _ in command.found for part in re.findall(r"\w+", name)}
    missing = {name: path for name, path in sorted(written(root).items()) if name not in seen and name not in UNSEEN}
    if missing:
        places = ", ".join(f"'{name}' of {path}" for name, path in missing.items())
        raise SystemExit(f"Tools/checks/promises: error: no run of json_members.py shows {places}")
    # What is seen on some machines only is not listed.
    return sorted(promise for promise in command.found if re.split(r"[ .]", promise.name)[-1] not in UNSEEN)


def written(root: Path) -> dict[str, str]:
    """The names of members in the sources, and a file that writes each."""
    paths = [path for folder in SOURCES for path in (root / "Sources" / folder).rglob("*.swift") if path.name not in OTHERS]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    return {name: path.name for path, text in texts.items() if "JSONWriter" in text for name in MEMBER.findall(text)}


# MARK: the runs


def new_vault(command: Command) -> None:
    command.run("create", "new.vault", "--kdf-memory", "8MiB", "--kdf-passes", "1", "--allow-weak-kdf", VAULTFMT_PASSPHRASE=PASSWORD)
    command.environment |= {"VAULTFMT_PASSPHRASE": PASSWORD, "VAULTFMT_VAULT": "new.vault"}
    command.see("generate")
    command.see("generate", "--key-file", "new.key")
    command.see("generate", "--identity", "age.key")
    command.run("set", "example.org", "ann", "--label", "Example", "--attribute", "url=https://example.org", text="one")
    command.run("set", "example.org", "ann", text="two")
    command.run("set", "example.org", "ann", "--otp", text="JBSWY3DPEHPK3PXP")
    command.run("set", "due.example", "ann", "--rotate-every", "1d", text="two")
    command.run("set", "token", "--group", "team", text="three")
    command.run("set", "bound", "--accessible", "when-unlocked-this-device-only", text="four")
    recipient = next(word for word in (command.folder / "age.key").read_text().split() if word.startswith("age1"))
    command.run("slot", "add", "--recipient", recipient, "--name", "age")
    command.run("slot", "add", "--new-key-file", "new.key", "--grant-group", "team", "--name", "team", "--kdf-memory", "8MiB", "--kdf-passes", "1", "--allow-weak-kdf")
    for name in ("list", "status", "inspect", "verify", "slot list", "log"):
        command.see(name)
    command.see("inspect", VAULTFMT_PASSPHRASE="")
    command.see("inspect", "--key-file", "new.key", VAULTFMT_PASSPHRASE="")
    command.run("get", "token", "--key-file", "new.key", VAULTFMT_PASSPHRASE="")
    command.see("status")
    command.see("check", codes=(0, 3))
    command.see("export", codes=(0, 3))
    old(command)
    conflict_copies(command)
    without_secret(command)
    for reveal in ([], ["--reveal"]):
        command.see("show", "example.org", "ann", *reveal)
    command.see("show", "due.example", "ann")
    command.see("get", "example.org", "ann")
    command.see("history", "example.org", "ann")
    command.see("otp", "example.org", "ann")
    (command.folder / "list.csv").write_text("name,url,username,password\nShop,https://shop.example,ann,five\n")
    command.see("import", "list.csv")
    command.see("log")
    command.see("diff", "new.vault", "--since", str(json.loads(command.run("log", "--json"))[-1]["generation"]))


def old(command: Command) -> None:
    """The vault's items as they were years ago, in another vault."""
    export = re.sub(r"\b20\d\d-", "2011-", command.run("export", codes=(0, 3)))
    (command.folder / "old.json").write_text(export)
    command.run("create", "old.vault", "--kdf-memory", "8MiB", "--kdf-passes", "1", "--allow-weak-kdf")
    command.run("import", "old.json", "--vault", "old.vault", codes=(0, 3))
    command.see("check", "--older-than", "1y", "--vault", "old.vault", codes=(0, 3))


def conflict_copies(command: Command) -> None:
    """Copies as a file syncer leaves them: one of the vault, and one that is none."""
    whole = (command.folder / "new.vault").read_bytes()
    command.run("set", "later", text="six")
    (command.folder / "new.sync-conflict-20260131-235959-ABCDEFG.vault").write_bytes(whole)
    (command.folder / "new.sync-conflict-20260131-235959-HIJKLMN.vault").write_bytes(whole[:4000] + bytes(96) + whole[4096:])
    command.see("status")
    command.see("merge", "--conflicts", codes=(0, 3, 65))


def without_secret(command: Command) -> None:
    """An item that shows no secret, because a merge of a copy under replaced keys has left it to settle."""
    command.run("create", "rotated.vault", "--kdf-memory", "8MiB", "--kdf-passes", "1", "--allow-weak-kdf")
    (command.folder / "before.vault").write_bytes((command.folder / "rotated.vault").read_bytes())
    elsewhere = str(command.folder / "elsewhere")
    command.run("set", "fresh", "--vault", "before.vault", text="seven", XDG_STATE_HOME=elsewhere)
    command.run("rekey", "--rotate", "rotated.vault")
    command.run("merge", "rotated.vault", "before.vault", "--accept-old-keys", "--yes", codes=(3,))
    command.see("list", "--vault", "rotated.vault")


def taken_out(command: Command, vector: Path, name: str) -> str | None:
    """Writes the vault of a vector, and returns its raw key; None for one that opens otherwise."""
    head, _, data = vector.read_bytes().partition(b"\n\n")
    values = dict(line.split(": ", 1) for line in head.decode().splitlines())
    if "raw-key" not in values or values["expect"] not in ("success", "success-tail-torn"):
        return None
    (command.folder / name).write_bytes(data)
    key = command.folder / f"{name}.key"
    key.write_bytes(bytes.fromhex(values["raw-key"]))
    key.chmod(0o600)
    return key.name


def of_vector(command: Command, vector: Path) -> None:
    key = taken_out(command, vector, vector.stem)
    if key:
        for name in ("inspect", "list", "conflicts list"):
            command.see(name, "--vault", vector.stem, "--raw-key-file", key, codes=(0, 3, 65, 69, 77), VAULTFMT_PASSPHRASE="")


def of_merge(command: Command, ours: Path) -> None:
    theirs = ours.with_name(ours.name.replace("-ours", "-theirs"))
    key = taken_out(command, ours, ours.stem)
    if key and theirs.exists() and taken_out(command, theirs, theirs.stem):
        arguments = ("--raw-key-file", key)
        command.see("diff", ours.stem, theirs.stem, *arguments, codes=(0, 1, 3, 64, 65, 69, 77), VAULTFMT_PASSPHRASE="")
        command.see("merge", ours.stem, theirs.stem, *arguments, codes=(0, 3, 64, 65, 69, 77), VAULTFMT_PASSPHRASE="")
        command.see("conflicts list", "--vault", ours.stem, *arguments, codes=(0, 3, 65, 77), VAULTFMT_PASSPHRASE="")
        command.see("list", "--vault", ours.stem, *arguments, codes=(0, 65, 77), VAULTFMT_PASSPHRASE="")


def torn(command: Command) -> None:
    path = command.folder / "new.vault"
    whole = path.read_bytes()
    path.write_bytes(whole.rstrip(b"\0")[:-40])
    command.see("inspect", codes=(0, 3, 65))
    command.see("verify", codes=(0, 3, 65))
    path.write_bytes(whole)


def older_copy(command: Command) -> None:
    (command.folder / "older.vault").write_bytes((command.folder / "new.vault").read_bytes())
    command.run("set", "later.example", text="five")
    command.see("verify", "--vault", "older.vault")


def agent(command: Command) -> None:
    """A running agent with a key of the vault. It forks once it is ready, and `agent stop` waits for its end."""
    command.run("set", "laptop", "--ssh-generate", "ed25519")
    command.run("agent", "--daemon", "--time", "1h")
    try:
        command.see("agent status")
    finally:
        command.run("agent", "stop")
