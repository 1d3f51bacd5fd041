"""What the tests share: vaults with cheap keys, and an environment that touches nothing of the caller's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import vaultfmt

RAW_KEY = bytes(range(32))
CHEAP = vaultfmt.KDFCost(8, 1, 1, allow_weak=True)

# What names and secrets are made of in the tests: nothing of it may be lost or changed.
ODD = [
    *("", " ", "  two ", "\t", "\n", "line\nbreak", "\r\n", "-leading", "--", "'", '"', "a\\b", "$HOME", "%s"),
    *("Grüße", "key \U0001f511", "e\u0301", "\u00e9"),
]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine remembers is a test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.vault"


@pytest.fixture
def vault(path: Path) -> Iterator[vaultfmt.Vault]:
    with vaultfmt.create(path, raw_key=RAW_KEY) as vault:
        yield vault


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a vault that a passphrase file opens."""
    for name in list(os.environ):
        if name.startswith(("VAULTFMT_", "KEYRING_", "PYTHON_KEYRING", "XDG_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    (home / ".local/share/vaultfmt").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    (home / "passphrase").write_text("correct horse\n")
    monkeypatch.setenv("VAULTFMT_PASSPHRASE_FILE", str(home / "passphrase"))
    vaultfmt.create(home / ".local/share/vaultfmt/default.vault", passphrase="correct horse", cost=CHEAP).close()
    return home
