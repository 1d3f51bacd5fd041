"""Python beside the `vaultfmt` command, and the programs that use keyring. Needs the command: VAULTFMT_BINARY, else on the PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CHEAP

import vaultfmt
from vaultfmt import local

BINARY = os.environ.get("VAULTFMT_BINARY") or shutil.which("vaultfmt") or ""
needs_command = pytest.mark.skipif(not BINARY, reason="no vaultfmt command")


def command(*arguments: str, given: bytes | None = None) -> bytes:
    done = subprocess.run([BINARY, *arguments], input=given, capture_output=True, timeout=120, check=False)
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
    assert len(list((home / ".local/state/vaultfmt/anchors").iterdir())) == 2
