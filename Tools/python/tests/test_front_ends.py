"""One vault of one machine through all that opens vaults: the command, KeychainAccess, SecItem, C and Python.

What one of them has seen binds all of them. Needs the command (VAULTFMT_BINARY, else on the PATH) and the program of the Keychain's APIs
(VAULTFMT_KEYCHAIN_PROGRAM; Tools/python/test builds it).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import vaultfmt
from vaultfmt import local

ROOT = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("VAULTFMT_BINARY") or shutil.which("vaultfmt") or ""
KEYCHAIN = os.environ.get("VAULTFMT_KEYCHAIN_PROGRAM", "")
pytestmark = pytest.mark.skipif(not (BINARY and KEYCHAIN), reason="no vaultfmt command, or no program of the Keychain's APIs")

PYTHON = """
import sys
from vaultfmt import local
try:
    with local.open(writable=sys.argv[1] == "set") as vault:
        if sys.argv[1] == "set": vault["program", sys.argv[2]] = sys.argv[3].encode()
        else: print(vault["program", sys.argv[2]].decode())
except Exception as error:
    sys.exit(str(error))
"""


@pytest.fixture(scope="session")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = tmp_path_factory.mktemp("c") / "local"
    package = Path(vaultfmt.__file__).parent
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", program, "-I", ROOT / "Sources/C/CVaultFmt/include"]
    subprocess.run([*command, ROOT / "Tests/C/programs/local.c", package / "libvaultfmt.so.1", f"-Wl,-rpath,{package}"], check=True)
    return str(program)


class FrontEnd:
    """Gets and sets one item; what is refused is the text of an error."""

    def __init__(self, get: list[str], put: list[str], *, secret_is_input: bool = False) -> None:
        self.get_command, self.put_command, self.secret_is_input = get, put, secret_is_input

    def get(self) -> tuple[str, str]:
        return self._run([*self.get_command, "a"], None)

    def put(self, secret: str) -> tuple[str, str]:
        if self.secret_is_input:
            return self._run([*self.put_command, "a"], secret)
        return self._run([*self.put_command, "a", secret], None)

    def _run(self, command: list[str], given: str | None) -> tuple[str, str]:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode == 0:
            return done.stdout.strip(), ""
        # The Keychain program prints what was refused.
        refusal = (done.stderr + done.stdout).strip()
        assert done.returncode > 0 and refusal, (command, done.returncode)
        return "", refusal


NAMES = ["command", "KeychainAccess", "SecItem", "C", "Python"]


@pytest.fixture
def front_ends(c_program: str) -> dict[str, FrontEnd]:
    """All five, by name."""
    return {
        "command": FrontEnd([BINARY, "get", "program"], [BINARY, "set", "program"], secret_is_input=True),
        "KeychainAccess": FrontEnd([KEYCHAIN, "get"], [KEYCHAIN, "set"]),
        "SecItem": FrontEnd([KEYCHAIN, "secitem-get"], [KEYCHAIN, "secitem-set"]),
        "C": FrontEnd([c_program, "get"], [c_program, "set"]),
        "Python": FrontEnd([sys.executable, "-c", PYTHON, "get"], [sys.executable, "-c", PYTHON, "set"]),
    }


@pytest.fixture
def on_machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Goes on as another machine, which shares the vault and its factors with the others."""

    def go(name: str) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(home / name))

    with local.open(writable=True) as vault:
        vault["program", "a"] = b"first"
    return go


@pytest.mark.parametrize("name", NAMES)
def test_the_same_two_machine_rollback_is_refused_by_each_front_end(
    name: str, front_ends: dict[str, FrontEnd], on_machine: Callable[[str], None]
) -> None:
    """M1, M4: rotated on one machine, put back on the other. The front end has seen the vault alone there."""
    one, path = front_ends[name], Path(local.default_path())
    on_machine("two")
    assert one.get() == ("first", "")
    before = path.read_bytes()
    on_machine("one")
    subprocess.run([BINARY, "rekey", "--rotate", "--yes"], check=True, capture_output=True, timeout=600)
    rotated = path.read_bytes()

    # The owners signed that they have handed the vault over: nobody has to accept anything.
    on_machine("two")
    assert one.get() == ("first", "")
    assert path.read_bytes() == rotated
    assert one.put("second") == ("", "")
    assert one.get() == ("second", "")

    path.write_bytes(before)
    for secret, refusal in (one.get(), one.put("leaked")):
        assert secret == "" and "belongs to other owners" in refusal, refusal
    assert path.read_bytes() == before
    local.accept(path, passphrase="correct horse")
    assert one.get() == ("first", "")


@pytest.mark.parametrize("seen_by", NAMES)
def test_what_one_front_end_has_written_binds_all_others(
    seen_by: str, front_ends: dict[str, FrontEnd], on_machine: Callable[[str], None], home: Path
) -> None:
    """M6: none has a place, a memory or factors of its own."""
    on_machine("machine")
    path = Path(local.default_path())
    assert path == home / ".local/share/vaultfmt/default.vault"
    before = path.read_bytes()
    assert front_ends[seen_by].put("second") == ("", "")
    after = path.read_bytes()
    for name, other in front_ends.items():
        assert other.get() == ("second", ""), name
    path.write_bytes(before)
    for name, other in front_ends.items():
        for secret, refusal in (other.get(), other.put("leaked")):
            assert secret == "" and "rolled back" in refusal, (name, refusal)
    assert path.read_bytes() == before
    path.write_bytes(after)
    for name, other in front_ends.items():
        assert other.get() == ("second", ""), name
    assert len(list((home / "machine/vaultfmt/anchors").glob("*.owner"))) == 1


@pytest.mark.parametrize("damage", ["00", "link", "folder"])
def test_a_damaged_memory_is_refused_alike(
    damage: str, front_ends: dict[str, FrontEnd], on_machine: Callable[[str], None], home: Path
) -> None:
    """M6: what is remembered is read in one way."""
    on_machine("machine")
    assert front_ends["command"].get() == ("first", "")
    (entry,) = (home / "machine/vaultfmt/anchors").glob("*.owner")
    entry.unlink()
    match damage:
        case "link":
            entry.symlink_to(home / "passphrase")
        case "folder":
            entry.mkdir()
        case text:
            entry.write_text(text)
    refusals = {name: one.get()[1] for name, one in front_ends.items()}
    assert all("the remembered state" in text and "is damaged" in text for text in refusals.values()), refusals


def test_no_front_end_reads_a_passphrase_that_another_would_not(
    front_ends: dict[str, FrontEnd], on_machine: Callable[[str], None], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M6: one rule for each line ending, and for what is given twice."""
    on_machine("machine")
    spellings = [(b"correct horse", True), (b"correct horse\r\n", True), (b"correct horse\n\n", False), (b" correct horse\n", False)]
    for text, opens in spellings:
        (home / "passphrase").write_bytes(text)
        for name, one in front_ends.items():
            assert (one.get() == ("first", "")) is opens, (name, text)
    (home / "passphrase").write_bytes(b"another")
    monkeypatch.setenv("VAULTFMT_PASSPHRASE", "correct horse")
    results = {name: bool(one.get()[0]) for name, one in front_ends.items()}
    assert len(set(results.values())) == 1, results
