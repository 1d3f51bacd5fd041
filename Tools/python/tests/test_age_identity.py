"""The example that opens vaults with age identities: with what the command, age-keygen and the conformance vectors make."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_programs import command, needs_command

import vaultfmt

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "Tools/python/examples/age_identity.py"


def fields_and_vault(path: Path) -> tuple[dict[str, str], bytes]:
    header, _, vault = path.read_bytes().partition(b"\n\n")
    return dict(line.split(": ", 1) for line in header.decode("ascii").splitlines()), vault


def vectors() -> list[Path]:
    """Those that an identity of the type X25519 opens, or fails to."""
    found = []
    for path in sorted((ROOT / "Spec/vectors/age").glob("*.vector")):
        fields, _ = fields_and_vault(path)
        if fields.get("age-identity", "").startswith("AGE-SECRET-KEY-1"):
            found.append(path)
    assert len(found) > 100
    return found


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector.stem)
def test_it_agrees_with_the_vector(vector: Path, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    from age_identity import AgeIdentity, private_key

    fields, vault = fields_and_vault(vector)
    path.write_bytes(vault)
    (tmp_path / "identity").write_text(f"# a comment\n{fields['age-identity']}\n")
    identity = AgeIdentity(str(path), private_key(str(tmp_path / "identity")))
    passphrase = bytes.fromhex(fields["passphrase"]).decode() if "passphrase" in fields else None
    if fields["expect"] == "success":
        vaultfmt.open(path, external=identity, passphrase=passphrase).close()
    else:
        assert fields["expect"] == "no-slot-opens"
        with pytest.raises(vaultfmt.NoSlotOpens):
            vaultfmt.open(path, external=identity, passphrase=passphrase)


@needs_command
def test_it_prints_a_secret_of_a_vault_that_the_command_made_for_its_recipient(path: Path, tmp_path: Path) -> None:
    def keygen(name: str) -> tuple[Path, str]:
        file = tmp_path / name
        subprocess.run(["age-keygen", "-o", file], check=True, capture_output=True)
        return file, subprocess.run(["age-keygen", "-y", file], check=True, capture_output=True, text=True).stdout.strip()

    def example(identity: Path) -> subprocess.CompletedProcess[bytes]:
        words = [sys.executable, EXAMPLE, path, identity, "deploy", "bot"]
        return subprocess.run(words, capture_output=True, timeout=120, check=False)

    (alice, recipient), (bob, _) = keygen("alice"), keygen("bob")
    command("create", str(path), "--recipient", recipient, "--no-recovery")
    command("set", "deploy", "bot", "--vault", str(path), "--identity", str(alice), given=b"t0ken")
    done = example(alice)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"t0ken", b"")
    done = example(bob)
    assert done.returncode == 1 and b"no slot of this vault accepts these factors" in done.stderr and not done.stdout
    (tmp_path / "empty").write_text("AGE-SECRET-KEY-1\n")
    done = example(tmp_path / "empty")
    assert done.returncode == 1 and b"there is no age identity in this file" in done.stderr
