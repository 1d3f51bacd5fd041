"""Opens a vault as the `vaultfmt` command does on this machine: with the same default path, environment, device file and
remembered states.

    from vaultfmt import local

    with local.open(writable=True) as vault: ...

The vault is `VAULTFMT_VAULT`, or `vaultfmt/default.vault` in `XDG_DATA_HOME`. It is opened with
`VAULTFMT_PASSPHRASE`, `VAULTFMT_PASSPHRASE_FILE` and `VAULTFMT_KEY_FILE`; if none is set, with the key that `vaultfmt
unlock` keeps. These functions never prompt.

Notices (a vault seen for the first time, a state that could not be remembered) go to the logger `vaultfmt`.
"""

from __future__ import annotations

import os

from ._library import Arguments, check, ffi, lib, local_options, path_bytes
from .errors import InvalidArgument, NoSuchFile
from .external import KeyProvider
from .values import BytesLike, Factors, KeyFile
from .vault import Path, Vault, _open_options

__all__ = ["accept", "default_path", "open"]


def default_path() -> str:
    """Returns the path of the default vault."""
    path = ffi.new("char[]", 8192)
    try:
        check(lib.vaultfmt_local_default_path(path, ffi.sizeof(path)))
    except InvalidArgument as error:
        raise NoSuchFile(str(error)) from None
    return os.fsdecode(ffi.string(path))


def open(path: Path | None = None, *, writable: bool = False, owner: str | None = None, wait: float = 10.0) -> Vault:
    """Opens a vault with the factors from the environment, or else with the key that `vaultfmt unlock` keeps.

    Like `vaultfmt.open`, compares the vault with the state that this machine remembers, and with `owner`. Raises
    NoSlotOpens if none of these opens it.
    """
    path = default_path() if path is None else path
    if not os.path.lexists(path):
        raise NoSuchFile(f'there is no vault "{os.fsdecode(path)}"')
    with Arguments() as arguments:
        options = _open_options(arguments, writable, None, None, None, wait, owner)
        out = arguments.keep(ffi.new("vaultfmt_vault **"))
        check(lib.vaultfmt_local_open(path_bytes(path), ffi.NULL, options, local_options(arguments), out))
        return Vault(out[0], path, writable)


def accept(
    path: Path,
    *,
    passphrase: str | BytesLike | None = None,
    key_file: KeyFile | None = None,
    raw_key: BytesLike | None = None,
    external: KeyProvider | None = None,
    owner: str | None = None,
) -> None:
    """Makes this machine remember the state of a file, regardless of what it remembered before, as `vaultfmt anchor
    --accept` does. Examine the file first.

    With `owner`, raises ForeignOwner for a vault with a different owners' public key.
    """
    with Arguments() as arguments:
        options = _open_options(arguments, False, None, None, None, 10.0, owner)
        factors = Factors(passphrase, key_file, raw_key, external).structure(arguments)
        arguments.check(lib.vaultfmt_local_accept(path_bytes(path), factors, options, local_options(arguments)))
