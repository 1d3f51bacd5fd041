"""An error class for each status of the library."""

from __future__ import annotations


class VaultError(Exception):
    """An error with a vault. `status` is the library's number; `offset` is the position in the file, if the error has
    one.
    """

    status: int = 0

    def __init__(self, message: str = "", offset: int | None = None) -> None:
        super().__init__(message)
        self.offset = offset

    def __str__(self) -> str:
        text = str(self.args[0]) if self.args else ""
        return text if self.offset is None else f"{text} (at byte {self.offset})"


class NotAVault(VaultError, ValueError):
    """The file does not begin like a vault."""

    status = 1


class UnsupportedVersion(VaultError):
    """The file has a later format version."""

    status = 2


class UnsupportedCritical(VaultError):
    """The vault requires an extension that this version does not know."""

    status = 3


class HeaderInvalid(VaultError, ValueError):
    """The header is malformed."""

    status = 4


class KDFLimit(VaultError):
    """A slot's key derivation costs more than the limits allow."""

    status = 5


class NoSlotOpens(VaultError, PermissionError):
    """No slot opens with these factors."""

    status = 6


class AuthenticationFailed(VaultError):
    """Sealed data does not authenticate: it is damaged or altered."""

    status = 7


class StructureInvalid(VaultError):
    """The data is authentic, but malformed."""

    status = 8


class LimitExceeded(VaultError, ValueError):
    """The operation would exceed a limit of the format; nothing was written."""

    status = 9


class DeviceBound(VaultError, PermissionError):
    """The secret is bound to another device."""

    status = 10


class Tampered(VaultError):
    """The newest commit was not made by an owner, or belongs to another header."""

    status = 11


class RolledBack(VaultError):
    """The file lacks changes of a remembered state."""

    status = 12


class Forked(VaultError):
    """The file and the remembered state each have changes that the other lacks."""

    status = 13


class NoSuchItem(VaultError, KeyError):
    """No such item."""

    status = 14


class DuplicateItem(VaultError, ValueError):
    """The item already exists."""

    status = 15


class NoSuchFile(VaultError, FileNotFoundError):
    """No such file."""

    status = 16


class FileExists(VaultError, FileExistsError):
    """The file to be created already exists."""

    status = 17


class InputOutput(VaultError, OSError):
    """An operating system call failed."""

    status = 18


class NoSpace(VaultError, OSError):
    """No space is left on the device."""

    status = 19


class Busy(VaultError, TimeoutError):
    """Another writer is using the vault."""

    status = 20


class ReadOnly(VaultError, PermissionError):
    """The vault was opened for reading."""

    status = 21


class Locked(VaultError, PermissionError):
    """The vault is locked."""

    status = 22


class NotPermitted(VaultError, PermissionError):
    """The slot that opened the vault does not grant this."""

    status = 23


class OutcomeUnknown(VaultError, OSError):
    """A sync failed: the last change may or may not be durable. The vault must be opened again."""

    status = 24


class CannotReplace(VaultError, OSError):
    """The file cannot be replaced without losing its links, owner or attributes."""

    status = 25


class LastSlot(VaultError, ValueError):
    """The last full slot cannot be removed."""

    status = 26


class NoSuchSlot(VaultError, KeyError):
    """No such slot."""

    status = 27


class KeyFileInvalid(VaultError, ValueError):
    """The key file is damaged, empty or too large."""

    status = 28


class PassphraseInvalid(VaultError, ValueError):
    """The passphrase is empty, too long or not UTF-8."""

    status = 29


class WeakKDF(VaultError, ValueError):
    """The key derivation's cost is below the minimum."""

    status = 30


class InvalidArgument(VaultError, ValueError):
    """An argument is invalid."""

    status = 31


class OutOfMemory(VaultError, MemoryError):
    """There is no memory for the key derivation, a secret or a large buffer."""

    status = 32


class NoKernelKeyring(VaultError, OSError):
    """The system has no kernel keyring, or does not allow access to it."""

    status = 33


class OtherProcess(VaultError, RuntimeError):
    """The handle was opened by the parent process, before a fork: open the vault again."""

    status = 34


class NoSecret(VaultError, LookupError):
    """The item shows no secret: it was forgotten, is left to settle, or is an earlier value."""

    status = 35


class ForeignOwner(VaultError):
    """The vault belongs to owners other than those remembered or requested."""

    status = 36


class MemoryDamaged(VaultError):
    """This machine's record of the vault is damaged."""

    status = 37


class UnsupportedForm(VaultError):
    """The value is stored in a form that this version does not know."""

    status = 38


class DamagedTail(VaultError):
    """A damaged commit follows the newest state: call `Vault.repair` before making any change."""

    status = 39


class ReadOnlyExtension(VaultError, PermissionError):
    """The vault has an extension that this version does not know; only programs that know it may write."""

    status = 40


_BY_STATUS = {kind.status: kind for kind in VaultError.__subclasses__()}

__all__ = ["VaultError", *(kind.__name__ for kind in _BY_STATUS.values())]


def error(status: int, text: str, offset: int | None) -> VaultError:
    """Returns the error for a status; an unknown status yields a plain `VaultError` with its number."""
    kind = _BY_STATUS.get(status)
    if kind is None:
        unknown = VaultError(text, offset)
        unknown.status = status
        return unknown
    return kind(text, offset)
