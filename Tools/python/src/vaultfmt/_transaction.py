"""Transactions that no interrupt leaves open.

KeyboardInterrupt, or any other exception from a signal handler, can arrive between any two steps of Python code, even before `__exit__`
has done anything. Therefore, each transaction has its own handle (`vaultfmt_share`), held only by one object, which is on the stack of
the `with`: however the `with` is left, that object is destroyed, and the library then rolls back anything that was not committed.
"""

from __future__ import annotations

import functools
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ._library import check, ffi, lib

if TYPE_CHECKING:
    from types import TracebackType

    from .vault import Vault

# This task's vaults and the handles of their transactions, the innermost last.
_entered: ContextVar[tuple[tuple[weakref.ref[Vault], weakref.ref[Any]], ...]] = ContextVar("vaultfmt_transactions", default=())


def entered_handle(vault: Vault) -> Any:
    """Returns the handle of the transaction that this task has open on a vault; None if there is none."""
    for owner, handle in reversed(_entered.get()):
        if owner() is vault:
            found = handle()
            if found is not None:
                return found
    return None


def _share(vault: Vault) -> Any:
    """Returns a second handle, which is closed when its last user is done."""
    out = ffi.new("vaultfmt_vault **")
    check(lib.vaultfmt_share(vault._open_handle, out))
    return ffi.gc(out[0], lib.vaultfmt_close)


def _end(reference: weakref.ref[Any], kind: type[BaseException] | None) -> None:
    # Until it is assigned here, only the stack of the `with` holds it; from the next line on, this function always ends it.
    handle = reference()
    try:
        if kind is None:
            check(lib.vaultfmt_commit(handle))
        else:
            lib.vaultfmt_rollback(handle)
    except BaseException:
        # Has no effect if it has already ended.
        lib.vaultfmt_rollback(handle)
        raise
    finally:
        _entered.set(tuple(one for one in _entered.get() if one[1] is not reference))


def _leave(
    reference: weakref.ref[Any], kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
) -> None:
    _end(reference, kind)


class _Exit:
    """`__exit__` as the `with` statement looks it up: before it enters, and held by nothing else."""

    def __get__(self, transaction: Transaction | None, kind: type[Transaction]) -> Any:
        if transaction is None:
            return _exit_of_class
        if transaction._handle is not None:
            # Entered manually, so the transaction holds it.
            return functools.partial(_exit_of_class, transaction)
        handle = _share(transaction._vault)
        transaction._reference = weakref.ref(handle)
        leave = functools.partial(_leave, transaction._reference)
        leave.handle = handle  # type: ignore[attr-defined]
        return leave


def _exit_of_class(
    transaction: Transaction, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
) -> None:
    # Code that looks up `__exit__` in the class, as ExitStack does, holds the transaction itself.
    assert transaction._reference is not None
    _end(transaction._reference, kind)
    transaction._handle = None


class Transaction:
    """The result of `Vault.transaction`, for use in one `with`."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._reference: weakref.ref[Any] | None = None
        self._handle: Any = None

    def __enter__(self) -> None:
        handle = None if self._reference is None else self._reference()
        if handle is None:
            handle = self._handle = _share(self._vault)
            self._reference = weakref.ref(handle)
        assert self._reference is not None
        try:
            check(lib.vaultfmt_begin(handle))
            _entered.set((*_entered.get(), (weakref.ref(self._vault), self._reference)))
        except BaseException:
            # Has no effect if none was begun.
            lib.vaultfmt_rollback(handle)
            raise

    if TYPE_CHECKING:

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None: ...

    else:
        __exit__ = _Exit()
