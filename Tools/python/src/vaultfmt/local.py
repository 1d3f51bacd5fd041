"""A vault as the `vaultfmt` command opens it on this machine: same default place, environment, device file and memory of states.

    from vaultfmt import local

    with local.open(writable=True) as vault: ...

The vault is `VAULTFMT_VAULT`, or `vaultfmt/default.vault` in `XDG_DATA_HOME`. It is opened with `VAULTFMT_PASSPHRASE`,
`VAULTFMT_PASSPHRASE_FILE` and `VAULTFMT_KEY_FILE`; where none is set, with what `vaultfmt unlock` keeps. Nothing is ever asked.
"""

from __future__ import annotations

import logging
import os
import pwd
import secrets
from contextlib import suppress
from pathlib import Path

from . import vault as _vault
from .errors import Forked, NoKernelKeyring, NoSlotOpens, NoSuchFile, RolledBack, VaultError
from .values import Verdict
from .vault import Vault

_log = logging.getLogger("vaultfmt")


def default_path() -> str:
    """The vault used where none is named."""
    given = os.environ.get("VAULTFMT_VAULT")
    return given or str(_base("XDG_DATA_HOME", ".local/share") / "vaultfmt/default.vault")


def _base(variable: str, fallback: str) -> Path:
    """A base directory; the XDG specification has relative ones ignored."""
    given = os.environ.get(variable, "")
    if given.startswith("/"):
        return Path(given)
    home = os.environ.get("HOME")
    if not home:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:
            raise NoSuchFile(f"this user has no home folder: set HOME, {variable} or VAULTFMT_VAULT") from None
    return Path(home) / fallback


def _state_folder() -> Path:
    return _base("XDG_STATE_HOME", ".local/state") / "vaultfmt"


def open(path: str | os.PathLike[str] | None = None, *, writable: bool = False, wait: float = 10.0) -> Vault:
    """Opens a vault with what the environment gives, else with what `vaultfmt unlock` keeps.

    What is opened is compared with what this machine remembers of the vault (RolledBack, Forked), and remembered, again when it is closed.
    Raises NoSlotOpens where nothing opens it.
    """
    path = default_path() if path is None else os.fspath(path)
    if not os.path.lexists(path):
        raise NoSuchFile(f'there is no vault "{path}"')
    device = _device()
    opened = _open(path, writable, wait, device)
    try:
        _check(opened)
    except BaseException:
        opened.close()
        raise
    opened._closing = remember
    return opened


def _open(path: str, writable: bool, wait: float, device: bytes | None) -> Vault:
    passphrase, key_file = _passphrase(), _key_file()
    if passphrase is None and key_file is None:
        try:
            return _vault.open_kept(path, writable=writable, device=device, wait=wait)
        except (NoSlotOpens, NoKernelKeyring):
            raise NoSlotOpens(
                "the vault is locked: run 'vaultfmt unlock', or set VAULTFMT_PASSPHRASE_FILE or VAULTFMT_KEY_FILE"
            ) from None
    # What needs more factors first.
    combinations = [(passphrase, key_file)]
    if passphrase is not None and key_file is not None:
        combinations += [(None, key_file), (passphrase, None)]
    failure: NoSlotOpens | None = None
    for one, other in combinations:
        try:
            return _vault.open(path, passphrase=one, key_file=other, writable=writable, device=device, wait=wait)
        except NoSlotOpens as error:
            failure = failure or error
    assert failure is not None
    raise failure


def _passphrase() -> bytes | None:
    given = os.environb.get(b"VAULTFMT_PASSPHRASE")
    if given:
        return given
    path = os.environ.get("VAULTFMT_PASSPHRASE_FILE")
    if not path:
        return None
    content = Path(path).read_bytes()
    # One newline at its end is not part of it.
    if content.endswith(b"\r\n"):
        return content[:-2]
    return content.removesuffix(b"\n")


def _key_file() -> bytes | None:
    path = os.environ.get("VAULTFMT_KEY_FILE")
    return Path(path).read_bytes() if path else None


def _device() -> bytes | None:
    """This machine's device, where the command has made one."""
    try:
        return (_state_folder() / "device").read_bytes()
    except FileNotFoundError:
        return None


# ---- What this machine remembers ----


def _anchor_file(vault: Vault) -> Path:
    return _state_folder() / "anchors" / f"{vault.id}-{vault.fingerprint}"


def _recall(vault: Vault) -> str | None:
    try:
        return _anchor_file(vault).read_text("ascii").removesuffix("\n")
    except FileNotFoundError:
        return None


def _generation(anchor: str) -> int:
    return int(anchor.split(":")[1])


def _check(vault: Vault) -> None:
    anchor = _recall(vault)
    if anchor is None:
        _log.info("first sight of the vault %s on this machine; its state is remembered from now on", vault.id)
        return remember(vault)
    verdict = vault.verdict(anchor)
    if verdict == Verdict.OLDER:
        # Another process may have committed since it was opened.
        vault.refresh()
        verdict = vault.verdict(anchor)
    if verdict == Verdict.OLDER:
        raise RolledBack(
            f"the vault is at generation {vault.generation}, but this machine saw {_generation(anchor)}: it was rolled back; "
            "see 'vaultfmt anchor --accept'"
        )
    if verdict == Verdict.FORKED:
        raise Forked(
            f"the vault was continued from another state than generation {_generation(anchor)}, which this machine saw; "
            "see 'vaultfmt anchor --accept'"
        )
    if verdict == Verdict.UNPROVABLE:
        _log.warning("the file no longer proves that it continues generation %d, which this machine saw last", _generation(anchor))
    if verdict != Verdict.SAME:
        _write(_anchor_file(vault), vault.anchor)


def remember(vault: Vault) -> None:
    """Remembers the state of a vault, unless a later one is remembered already. A failure is logged, not raised: the commit stands."""
    try:
        anchor = vault.anchor
        known = _recall(vault)
        if known is None or _generation(known) < _generation(anchor):
            _write(_anchor_file(vault), anchor)
    except (OSError, VaultError, ValueError, IndexError) as error:
        _log.warning("the vault's state could not be remembered, so a rollback will not be noticed: %s", error)


def _write(path: Path, anchor: str) -> None:
    """Beside its place, synced, and moved there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(anchor + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
