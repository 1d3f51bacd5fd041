"""External keys: a provider generates a slot's key from a token, a device or an identity.

    class Token:
        name = "example.org/token"

        def wrap(self) -> WrappedKey: ...
        def rewrap(self, owners_data: bytes) -> WrappedKey | None: ...
        def unwrap(self, slots: Sequence[ExternalSlot]) -> Iterable[Iterable[bytes]]: ...

    vaultfmt.open(path, external=Token())

The vault calls the provider on the thread of the call that needs it, and does not keep it. An exception that the provider
raises, including KeyboardInterrupt, ends that call and is raised by it. A provider must not use the vault for which it is
called; doing so raises InvalidArgument.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

from ._library import Arguments, c_string, check, ffi, lib, to_bytes

# The original exception is raised in its place.
_FAILED = 18
_MOST_CANDIDATES = 16


@dataclasses.dataclass(frozen=True)
class ExternalSlot:
    """A slot as seen by its provider: its id, and the parameters as stored by the provider, or as replaced by anyone who
    can write to the file.
    """

    id: str
    parameters: bytes


@dataclasses.dataclass(frozen=True)
class WrappedKey:
    """The data that a provider generates for a slot: parameters, which anyone can read; data that only owners can read; and
    32 secret bytes. The first two can each be at most 16,384 bytes.
    """

    parameters: bytes
    owners_data: bytes
    key: bytes | bytearray | memoryview = dataclasses.field(repr=False)


class KeyProvider(Protocol):
    """Generates 32 secret bytes for a new slot, and finds the same bytes again later."""

    @property
    def name(self) -> str:
        """The provider's name as stored in slots: ASCII without spaces, 1 to 64 bytes. Names without a dot are reserved for
        the specification.
        """

    def wrap(self) -> WrappedKey:
        """Generates a key for a new slot."""

    def rewrap(self, owners_data: bytes) -> WrappedKey | None:
        """Generates another key for the slot with this data, without anyone's token or identity. Returns None if the
        provider cannot do this; a rotation then drops the slot.
        """

    def unwrap(self, slots: Sequence[ExternalSlot]) -> Iterable[Iterable[bytes | bytearray | memoryview]]:
        """Returns candidate keys for each slot, in the given order; none for a slot that it cannot open. At most sixteen
        per slot are used.
        """


def provider_structure(provider: KeyProvider, arguments: Arguments) -> Any:
    """Returns a `vaultfmt_provider *` with functions that live as long as the arguments."""
    structure = arguments.structure("vaultfmt_provider")
    structure.name = arguments.keep(c_string(provider.name, "a provider's name"))

    def wrap(_: Any, out: Any) -> int:
        return _set(out, provider.wrap())

    def rewrap(_: Any, owners_data: Any, out: Any) -> int:
        made = provider.rewrap(to_bytes(owners_data))
        return 0 if made is None else _set(out, made)

    def unwrap(_: Any, slots: Any, count: int, out: Any) -> int:
        all_slots = [slots[index] for index in range(count)]
        given = [ExternalSlot(bytes(slot.id).hex(), to_bytes(slot.parameters)) for slot in all_slots]
        found = list(provider.unwrap(given))
        if len(found) != count:
            raise ValueError(f"the provider {provider.name!r} returned keys for {len(found)} slots of {count}")
        for index, keys in enumerate(found):
            for key in islice(keys, _MOST_CANDIDATES):
                _add(out, index, key)
        return 0

    structure.wrap = _callback("vaultfmt_status(void *, vaultfmt_wrapped *)", wrap, arguments)
    structure.rewrap = _callback("vaultfmt_status(void *, vaultfmt_bytes, vaultfmt_wrapped *)", rewrap, arguments)
    structure.unwrap = _callback(
        "vaultfmt_status(void *, const vaultfmt_external_slot *, size_t, vaultfmt_candidates *)", unwrap, arguments
    )
    return structure


def _callback(kind: str, function: Callable[..., int], arguments: Arguments) -> Any:
    def fail(_: type[BaseException], failure: BaseException, trace: Any) -> None:
        arguments.failures.append(failure)

    return arguments.keep(ffi.callback(kind, function, error=_FAILED, onerror=fail))


def _set(out: Any, made: WrappedKey) -> int:
    with Arguments() as arguments:
        parameters, data = arguments.bytes(bytes(made.parameters)), arguments.bytes(bytes(made.owners_data))
        check(lib.vaultfmt_wrapped_set(out, parameters, data, arguments.bytes(_key(made.key))))
    return 0


def _add(out: Any, index: int, key: Any) -> None:
    with Arguments() as arguments:
        check(lib.vaultfmt_candidates_add(out, index, arguments.bytes(_key(key))))


def _key(key: Any) -> Any:
    if not isinstance(key, (bytes, bytearray, memoryview)):
        raise TypeError(f"an external key is bytes, not {type(key).__name__}")
    return key
