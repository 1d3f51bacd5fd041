"""The keyring backend: through keyring's API, its command, and the programs that use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CHEAP, ODD

import vaultfmt
from vaultfmt import local

keyring = pytest.importorskip("keyring")
from keyring import errors  # noqa: E402

from vaultfmt.keyring import VaultKeyring  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Empty usernames")


@pytest.fixture
def backend(home: Path) -> VaultKeyring:
    return VaultKeyring()


def run(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the real command in the environment of the test."""
    command = [sys.executable, "-W", "ignore", "-m", "keyring", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=600, check=False)


def test_the_backend_is_found_through_its_entry_point(home: Path) -> None:
    found = run("--list-backends").stdout
    assert "vaultfmt.keyring.VaultKeyring (priority: 4.5)" in found
    assert run("set", "service", "account", given="secret").returncode == 0
    with local.open() as vault:
        assert vault["service", "account"] == b"secret"


def test_it_is_not_chosen_where_there_is_no_vault(home: Path) -> None:
    os.unlink(local.default_path())
    with pytest.raises(RuntimeError, match="vaultfmt create"):
        VaultKeyring.priority  # noqa: B018
    assert not VaultKeyring.viable
    with pytest.raises(errors.NoKeyringError):
        VaultKeyring().get_password("s", "a")


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_odd_names_and_secrets_through_the_api(backend: VaultKeyring, text: str) -> None:
    assert backend.get_password(text, text) is None
    backend.set_password(text, text, text)
    backend.set_password(text + "x", text, "other")
    assert backend.get_password(text, text) == text
    assert VaultKeyring().get_password(text, text) == text
    credential = backend.get_credential(text, None)
    assert credential is not None and (credential.username, credential.password) == (text, text)
    backend.delete_password(text, text)
    assert backend.get_password(text, text) is None and backend.get_password(text + "x", text) == "other"
    with pytest.raises(errors.PasswordDeleteError):
        backend.delete_password(text, text)


# What follows `--` is taken as it is, but for another `--`, which argparse drops; a secret is read from a pipe, without its last newline.
@pytest.mark.parametrize("text", [" ", "a\nb", "-leading", "--double", "'\"", "Grüße \U0001f511", ""], ids=ascii)
def test_odd_names_and_secrets_through_the_command(home: Path, text: str) -> None:
    names = ["--", text, text]
    done = run("set", *names, given=f" {text}'\"\n$x ü")
    assert done.returncode == 0, done.stderr
    with local.open() as vault:
        assert vault[text, text].decode() == f" {text}'\"\n$x ü"
    got = run("get", *names)
    assert (got.returncode, got.stdout) == (0, f" {text}'\"\n$x ü\n"), got.stderr
    assert run("del", *names).returncode == 0
    assert run("get", *names).returncode == 1
    assert run("del", *names).returncode == 1


def test_credentials(backend: VaultKeyring) -> None:
    assert backend.get_credential("s", None) is None and backend.get_credential("s", "a") is None
    backend.set_password("s", "b", "2")
    backend.set_password("s", "a", "1")
    for name, password in [("a", "1"), ("b", "2")]:
        credential = backend.get_credential("s", name)
        assert credential is not None and (credential.username, credential.password) == (name, password)
    first = backend.get_credential("s", None)
    assert first is not None and (first.username, first.password) == ("a", "1")
    assert backend.get_credential("s", "c") is None


def test_what_it_cannot_keep_is_refused(backend: VaultKeyring) -> None:
    with pytest.raises(errors.PasswordSetError):
        backend.set_password("x" * 5000, "a", "1")
    with pytest.raises(errors.PasswordSetError):
        backend.set_password("\udcff", "a", "1")
    with local.open(writable=True) as vault:
        vault["s", "binary"] = b"\xff\xfe"
    with pytest.raises(errors.KeyringError, match="no text"):
        backend.get_password("s", "binary")


def test_attributes_of_an_item_stay(backend: VaultKeyring) -> None:
    with local.open(writable=True) as vault:
        vault.set(("s", "a"), b"1", attributes={"label": "mine"})
    backend.set_password("s", "a", "2")
    with local.open() as vault:
        item = vault.item(("s", "a"))
        assert item is not None and item.label == "mine" and vault["s", "a"] == b"2"


def test_a_locked_vault_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VAULTFMT_PASSPHRASE_FILE")
    with pytest.raises(errors.KeyringLocked, match="vaultfmt unlock"):
        VaultKeyring().get_password("s", "a")
    monkeypatch.setenv("VAULTFMT_PASSPHRASE", "wrong")
    with pytest.raises(errors.KeyringLocked):
        VaultKeyring().set_password("s", "a", "1")
    monkeypatch.setenv("VAULTFMT_PASSPHRASE", "correct horse")
    assert VaultKeyring().get_password("s", "a") is None
    done = run("get", "s", "a")
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_a_vault_that_is_kept_open_needs_no_factor(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with local.open() as vault:
        try:
            vault.keep_unlocked(60)
        except vaultfmt.NoKernelKeyring as error:
            pytest.skip(str(error))
    monkeypatch.delenv("VAULTFMT_PASSPHRASE_FILE")
    backend = VaultKeyring()
    backend.set_password("s", "a", "1")
    assert run("get", "s", "a").stdout == "1\n"
    vaultfmt.end_unlocked(local.default_path())
    with pytest.raises(errors.KeyringLocked):
        VaultKeyring().get_password("s", "a")


def test_changes_of_others_are_seen_and_new_keys_found(backend: VaultKeyring, home: Path) -> None:
    backend.set_password("s", "a", "1")
    with local.open(writable=True) as vault:
        vault["s", "a"] = b"2"
        assert backend.get_password("s", "a") == "2"
        vault.rotate(vaultfmt.Factors("correct horse"))
    assert backend.get_password("s", "a") == "2"
    backend.set_password("s", "a", "3")
    assert VaultKeyring().get_password("s", "a") == "3"


def test_another_vault_by_property(backend: VaultKeyring, tmp_path: Path) -> None:
    other = tmp_path / "other.vault"
    vaultfmt.create(other, passphrase="correct horse", cost=CHEAP).close()
    backend.set_password("s", "a", "1")
    second = backend.with_properties(vault=str(other))
    second.set_password("s", "a", "2")
    assert backend.get_password("s", "a") == "1" and second.get_password("s", "a") == "2"


def test_a_vault_that_was_put_back_is_refused(backend: VaultKeyring, home: Path) -> None:
    path = Path(local.default_path())
    backend.set_password("s", "a", "1")
    old = path.read_bytes()
    backend.set_password("s", "a", "2")
    path.unlink()
    path.write_bytes(old)
    with pytest.raises(errors.KeyringError, match="rolled back"):
        VaultKeyring().get_password("s", "a")


def test_after_a_fork_the_child_opens_the_vault_itself(backend: VaultKeyring) -> None:
    backend.set_password("s", "a", "1")
    child = os.fork()
    if child == 0:
        try:
            ok = backend.get_password("s", "a") == "1"
            backend.set_password("s", "child", "2")
        except BaseException:
            ok = False
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert backend.get_password("s", "child") == "2"
