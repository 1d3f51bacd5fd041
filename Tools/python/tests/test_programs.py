"""Python beside the `vaultfmt` command, and the programs that use keyring. Needs the command: VAULTFMT_BINARY, else on the PATH."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CHEAP, ODD, RAW_KEY

import vaultfmt
from vaultfmt import local

BINARY = os.environ.get("VAULTFMT_BINARY") or shutil.which("vaultfmt") or ""
REFERENCE = Path(__file__).resolve().parents[3] / "Spec/reference/run"
needs_command = pytest.mark.skipif(not BINARY, reason="no vaultfmt command")


def command(*arguments: str, given: bytes | None = None) -> bytes:
    done = subprocess.run([BINARY, *arguments], input=given, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@needs_command
def test_the_command_reads_what_python_writes_and_the_other_way(home: Path) -> None:
    with local.open(writable=True) as vault:
        vault.set(("Grüße", "\t'-"), b" secret\n", attributes={"label": "x"})
    command("set", "from", "command", given=b"value")
    with local.open() as vault:
        assert vault["from", "command"] == b"value"
        exported = command("export")
        assert '"Grüße"'.encode() in exported and b'" secret\\n"' in exported


WRITER = """
import sys, vaultfmt
from vaultfmt import local
number, count = int(sys.argv[1]), int(sys.argv[2])
for step in range(count):
    with local.open(writable=True, wait=60) as vault:
        with vault.transaction():
            vault["counter"] = str(int(vault.get("counter", b"0")) + 1).encode()
            vault[f"python-{number}", str(step)] = f"secret {step}".encode()
"""


@needs_command
def test_python_and_swift_processes_write_one_vault_and_lose_nothing(home: Path) -> None:
    steps = 12
    with local.open(writable=True) as vault:
        vault["counter"] = b"0"
    processes = [subprocess.Popen([sys.executable, "-c", WRITER, str(number), str(steps)]) for number in range(2)]
    script = 'for step in $(seq "$1"); do printf "secret %s" "$step" | "$0" set --wait 60 "swift-$2" "$step" || exit 1; done'
    processes += [subprocess.Popen(["bash", "-c", script, BINARY, str(steps), str(number)]) for number in range(2)]
    # One handle that stays open throughout writes, too.
    with local.open(writable=True, wait=60) as vault:
        for step in range(steps):
            vault["here", str(step)] = b"x"
    assert [process.wait(300) for process in processes] == [0, 0, 0, 0]
    with local.open() as vault:
        assert vault["counter"] == str(2 * steps).encode()
        assert len(vault) == 1 + 5 * steps
        for number in range(2):
            for step in range(steps):
                assert vault[f"python-{number}", str(step)] == f"secret {step}".encode()
                assert vault[f"swift-{number}", str(step + 1)] == f"secret {step + 1}".encode()
        report = vault.verify()
        assert report.is_sound, report.problems


@needs_command
def test_what_the_command_unlocked_is_open_here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.run([BINARY, "unlock", "--for", "60s"], capture_output=True, text=True, check=False)
    if done.returncode == 69:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    monkeypatch.delenv("VAULTFMT_PASSPHRASE_FILE")
    with local.open(writable=True) as vault:
        vault["s"] = b"1"
    command("lock")
    with pytest.raises(vaultfmt.NoSlotOpens):
        local.open()


@needs_command
def test_states_are_remembered_in_the_same_place(home: Path) -> None:
    path = Path(local.default_path())
    command("set", "s", "a", given=b"1")
    old = path.read_bytes()
    command("set", "s", "a", given=b"2")
    path.write_bytes(old)
    with pytest.raises(vaultfmt.RolledBack):
        local.open()
    path.unlink()
    vaultfmt.create(path, passphrase="correct horse", cost=CHEAP).close()
    with local.open(writable=True) as vault:
        vault["s"] = b"1"
        new = path.read_bytes()
    path.write_bytes(new)
    command("get", "s")
    assert len(list((home / ".local/state/vaultfmt/anchors").glob("*.owner"))) == 2


def place(flags: int, size: int) -> int:
    """An attribute's flags with those that tell where its value is (section 6.2)."""
    if size > 4096:
        return flags | 0x20
    return flags | 0x10 if flags & vaultfmt.AttributeFlags.SEALED or size > 256 else flags


def dump(vault: vaultfmt.Vault) -> list[str]:
    """The vault in those lines of Spec/vectors/README.md that the C interface can give."""

    def text(data: bytes) -> str:
        return data.hex() or "-"

    lines = [f"vault {vault.id}", f"access {'full' if vault.is_owner else 'scoped'}", f"owner {vault.owner}"]
    anchor = vault.anchor.split(":")
    lines += [f"generation {vault.generation}", f"chain {anchor[2]}"]
    lines += [f"row {int(row[:16], 16)} {row[17:]}" for row in anchor[5].split(",")]

    def attribute(item: vaultfmt.Item, name: str, flags: int, of: vaultfmt.EarlierValue | None = None) -> str:
        value = vault.attribute(item.key, name, of=of)
        assert value is not None
        return f"attribute {text(name.encode())} {place(flags, len(value))} {text(value)}"

    def add(item: vaultfmt.Item, secret: bytes | vaultfmt.VaultError) -> None:
        assert isinstance(secret, bytes)
        lines.extend([f"item {text(item.encoded_key)}", f"id {item.id}", f"times {item.created_ms} {item.modified_ms}"])
        lines.extend(attribute(item, name, flags) for name, flags in item.attribute_flags.items())
        lines.append(f"secret {text(secret)}")
        for value in vault.earlier_values(item.key):
            with vault.open_earlier(item.key, value) as opened:
                content = bytes(opened.secret)
            is_secret = value.attribute is None
            front = "value 0 -" if value.attribute is None else f"value 1 {text(value.attribute.encode())}"
            number = 0 if is_secret else place(value.flags, len(content))
            parts = [f"{front} {value.revision}.{value.replica} 2 {number} {value.replaced_ms}"]
            parts += [attribute(item, name, flags, value) for name, flags in value.attribute_flags.items()]
            lines.append(" ".join([*parts, f"{'secret' if is_secret else 'content'} {text(content)}"]))

    vault.each_secret(add)
    return lines


def fill(vault: vaultfmt.Vault) -> None:
    """Items of every class, with attributes of every kind."""
    with vault.transaction():
        for text in ODD:
            vault.set((text, text), text.encode(), attributes={"label": text, "sealed:x": b"1", "long": bytes(300)})
        vault[vaultfmt.InternetPassword("host", "a", "https", 8443, "/p", "realm", "basic", group="web", synchronizable=True)] = b"\xff"
        vault[vaultfmt.Certificate(3, b"\x30\x00\xff", b"\x01")] = b"certificate"
        vault[vaultfmt.Identity(3, b"\x30\x00\xff", b"\x01")] = b"identity"
        vault[vaultfmt.KeyItem(1, 42, b"\x00label", b"", 2048, 2047)] = b"key"


def readable(lines: list[str]) -> list[str]:
    """Of the lines of a dump, those that the C interface can give: attributes without dots, each earlier value in one line."""
    kinds = {"vault", "access", "owner", "generation", "chain", "row", "item", "id", "times", "attribute", "secret"}
    found: list[str] = []
    is_within = False
    for line in lines:
        kind, *words = line.split(" ")
        is_part = is_within and kind in ("record", "attribute-record", "attribute", "secret", "content")
        is_within = kind == "value" or is_part
        short = " ".join([kind, *words[:3]]) if kind == "attribute" else line
        if is_part and "record" not in kind:
            found[-1] += f" {short}"
        elif kind == "value" or (kind in kinds and not is_part):
            found.append(short)
    return found


def split(lines: list[str]) -> tuple[list[str], set[str]]:
    """Those of items, and those of earlier values, which a dump has in the order of the frame."""
    return [line for line in lines if not line.startswith("value ")], {line for line in lines if line.startswith("value ")}


def test_the_reference_implementation_reads_the_same(path: Path) -> None:
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        fill(vault)
        sealed = vaultfmt.Attribute(bytes(5000), vaultfmt.AttributeFlags.SEALED)
        vault.set(("", ""), b"newer", attributes={"large": sealed, "label": "x"})
        vault.set(("", ""), b"newest", attributes={"large": None})
        ours = dump(vault)
        assert len(split(ours)[1]) == 3
    done = subprocess.run([REFERENCE, "check", "--raw-key", RAW_KEY.hex(), path], capture_output=True, text=True, check=False)
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip("Tools/setup --tests installs what the reference implementation needs")
    assert split(ours) == split(readable(done.stdout.splitlines()[1:])), done.stderr


@needs_command
def test_the_command_reads_the_same(home: Path) -> None:
    with local.open(writable=True) as vault:
        fill(vault)
    exported = json.loads(command("export"))
    with local.open() as vault:
        assert exported["vault"] == vault.id and exported["generation"] == vault.generation
        opened = [vault.open(key) for key in vault]

    def value(data: bytes) -> object:
        try:
            return data.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(data).decode()}

    assert [one["id"] for one in exported["items"]] == [one.item.id for one in opened]
    for theirs, ours in zip(exported["items"], opened, strict=True):
        assert theirs["revision"] == ours.item.revision
        assert theirs["created"] == ours.item.created.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        assert theirs.get("attributes", {}) == {name: value(data) for name, data in ours.item.attributes.items()}
        assert theirs["secret"] == value(bytes(ours.secret))
        assert theirs.get("service") == getattr(ours.item.key, "service", None)
        ours.close()
