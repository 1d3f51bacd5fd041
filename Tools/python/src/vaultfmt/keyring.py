"""A backend of the `keyring` package that keeps passwords in a vault.

`keyring` finds it automatically once a vault exists: `VAULTFMT_VAULT`, or the command's default vault. The vault is opened as in
`vaultfmt.local`: with the factors in the environment, or with the key that `vaultfmt unlock` keeps. Each password is stored as the generic
password of the service and the user name, which may contain any characters.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from keyring import credentials, errors
from keyring.backend import KeyringBackend

try:
    from keyring.compat import properties
except ImportError:  # before keyring 25
    from keyring._compat import properties  # type: ignore[import-not-found,no-redef]

from . import local
from .errors import (
    InputOutput,
    InvalidArgument,
    LimitExceeded,
    NoSlotOpens,
    NoSuchFile,
    NoSuchItem,
    OutcomeUnknown,
    ReadOnly,
    VaultError,
)
from .items import GenericPassword
from .vault import Vault

Result = TypeVar("Result")


_backends: weakref.WeakSet[VaultKeyring] = weakref.WeakSet()


def _renew_backends() -> None:
    for backend in _backends:
        backend._renew()


os.register_at_fork(after_in_child=_renew_backends)


class VaultKeyring(KeyringBackend):
    """Stores passwords in a vault. `vault` names the file; it can be set with KEYRING_PROPERTY_VAULT."""

    vault: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self._opened: Vault | None = None
        self._guard = threading.Lock()
        _backends.add(self)

    def _renew(self) -> None:
        """In a child process: the open vault belongs to the parent, and no thread here holds its lock."""
        self._opened = None
        self._guard = threading.Lock()

    @properties.classproperty  # type: ignore[misc]
    def priority(cls) -> float:
        """Higher than backends that store passwords in plaintext, and lower than a desktop's own backend."""
        try:
            path = os.environ.get("KEYRING_PROPERTY_VAULT") or local.default_path()
        except VaultError as error:
            raise RuntimeError(str(error)) from error
        if not os.path.exists(path):
            raise RuntimeError(f'there is no vault "{path}"; make one with "vaultfmt create"')
        return 4.5

    # ---- What keyring asks for ----

    def get_password(self, service: str, username: str) -> str | None:
        """Returns the password, or None. Raises KeyringLocked if the vault cannot be opened."""

        def read(vault: Vault) -> bytes | None:
            try:
                return vault[service, username]
            except NoSuchItem:
                return None

        secret = self._reading(read)
        return None if secret is None else self._text(secret, service)

    def set_password(self, service: str, username: str, password: str) -> None:
        """Stores a password, which is durable when the call returns. The item keeps its attributes."""
        try:
            self._writing(lambda vault: vault.set(GenericPassword(service, username), password.encode("utf-8", "surrogatepass")))
        except (LimitExceeded, InvalidArgument, ReadOnly, OutcomeUnknown) as error:
            raise errors.PasswordSetError(str(error)) from error

    def delete_password(self, service: str, username: str) -> None:
        """Removes a password."""
        try:
            self._writing(lambda vault: vault.remove(GenericPassword(service, username)))
        except NoSuchItem as error:
            raise errors.PasswordDeleteError("there is no such password") from error
        except (LimitExceeded, InvalidArgument, ReadOnly, OutcomeUnknown) as error:
            raise errors.PasswordDeleteError(str(error)) from error

    def get_credential(self, service: str, username: str | None) -> credentials.Credential | None:
        """Returns the user name and password; if no user name is given, those of the service's first item."""
        if username is None:
            username = self._reading(lambda vault: self._first_account(vault, service))
        if username is None:
            return None
        password = self.get_password(service, username)
        return None if password is None else credentials.SimpleCredential(username, password)

    # ---- The vault ----

    @staticmethod
    def _first_account(vault: Vault, service: str) -> str | None:
        for item in vault.search(item_class=GenericPassword, service=service, group="", synchronizable=False):
            assert isinstance(item.key, GenericPassword)
            return item.key.account
        return None

    @staticmethod
    def _text(secret: bytes, service: str) -> str:
        try:
            return secret.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise errors.KeyringError(f"the secret for {service!r} is no text") from None

    def _reading(self, body: Callable[[Vault], Result]) -> Result:
        try:
            return self._with_vault(body)
        except (LimitExceeded, InvalidArgument) as error:
            # No item can have such a name.
            raise errors.KeyringError(str(error)) from error

    def _writing(self, body: Callable[[Vault], None]) -> None:
        self._with_vault(body)

    def _with_vault(self, body: Callable[[Vault], Result]) -> Result:
        """Runs `body` on the newest state of the vault, which stays open until the process ends, so the key derivation runs only once."""
        try:
            with self._guard:
                return body(self._newest())
        except NoSlotOpens as error:
            raise errors.KeyringLocked(str(error)) from error
        except (NoSuchItem, LimitExceeded, InvalidArgument, ReadOnly, OutcomeUnknown):
            raise
        except (VaultError, OSError) as error:
            raise errors.KeyringError(str(error)) from error

    def _newest(self) -> Vault:
        try:
            path = self.vault or local.default_path()
        except NoSuchFile as error:
            raise errors.NoKeyringError(str(error)) from error
        if self._opened is not None and self._opened.path == path:
            try:
                self._opened.refresh()
                return self._opened
            except VaultError:
                # Other keys or another file: opening it again shows which.
                self._opened.close()
        self._opened = None
        try:
            self._opened = local.open(path, writable=True)
        except InputOutput:
            if os.access(path, os.W_OK) or not os.access(path, os.R_OK):
                raise
            self._opened = local.open(path)
        except NoSuchFile as error:
            raise errors.NoKeyringError(str(error)) from error
        return self._opened

