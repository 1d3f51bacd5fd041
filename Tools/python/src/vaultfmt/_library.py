"""The C library, and the helpers that every call to it needs."""

from __future__ import annotations

import logging
import os
from typing import Any

from ._declarations import ffi as _ffi
from .errors import error

# Type checkers do not know the types of C structures.
ffi: Any = _ffi
lib: Any = ffi.dlopen(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libvaultfmt.so.1"))


def check(status: int) -> None:
    """Raises the error for a status, with the library's message."""
    if status == 0:
        return
    text = ffi.string(lib.vaultfmt_error_text()).decode("utf-8", "replace")
    offset = ffi.new("uint64_t *")
    has_offset = lib.vaultfmt_error_offset(offset)
    raise error(status, text, int(offset[0]) if has_offset else None)


class Arguments:
    """Arguments of one call: C structures, and the memory that they point to, which is wiped when the call has ended.
    """

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._wiped: list[tuple[Any, int]] = []
        # The exception that the caller's own function raised during the call.
        self.failures: list[BaseException] = []

    def check(self, status: int) -> None:
        """Raises the exception from the caller's function, if any, or else the error for the status."""
        if self.failures:
            raise self.failures[0]
        check(status)

    def __enter__(self) -> Arguments:
        return self

    def __exit__(self, *_: object) -> None:
        for memory, size in self._wiped:
            lib.vaultfmt_wipe(memory, size)
        self._kept.clear()
        self._wiped.clear()

    def keep(self, memory: Any) -> Any:
        self._kept.append(memory)
        return memory

    def structure(self, name: str) -> Any:
        """Returns a zeroed structure with its size set, if it has that member."""
        structure = self.keep(ffi.new(f"{name} *"))
        if any(field == "struct_size" for field, _ in ffi.typeof(name).fields):
            structure.struct_size = ffi.sizeof(name)
        return structure

    def bytes(self, value: bytes | bytearray | memoryview | str | None, field: Any = None) -> Any:
        """Returns `vaultfmt_bytes` for a value, or NULL for None; writes them to `field` if it is given."""
        structure = field if field is not None else self.structure("vaultfmt_bytes")[0]
        if value is None:
            structure.data = ffi.NULL
            structure.size = 0
            return structure
        source = _memory(str.encode(value, "utf-8", "surrogatepass") if isinstance(value, str) else value)
        size = len(source)
        # One byte more, so that an empty value has memory too.
        memory = self.keep(ffi.new("uint8_t[]", size + 1))
        self._wiped.append((memory, size))
        ffi.memmove(memory, source, size)
        structure.data = memory
        structure.size = size
        return structure


def _memory(value: Any) -> Any:
    """The bytes of a buffer, whatever its items are, as long as the buffer says: a class may have a `__len__` of its
    own.
    """
    view = memoryview(value)
    return ffi.from_buffer("uint8_t[]", value if view.c_contiguous else view.tobytes())


def c_string(text: str, what: str) -> Any:
    """Returns a C string. Raises ValueError if the text contains a NUL, which would terminate it."""
    encoded = text.encode()
    if b"\0" in encoded:
        raise ValueError(f"{what} has no NUL")
    return ffi.new("char[]", encoded)


@ffi.callback("void(void *, uint32_t, const char *)")  # type: ignore[untyped-decorator]
def _notice(_context: Any, is_warning: int, text: Any) -> None:
    """Logs the library's notices about the states that this machine remembers."""
    level = logging.WARNING if is_warning else logging.INFO
    logging.getLogger("vaultfmt").log(level, "%s", ffi.string(text).decode("utf-8", "replace"))


def local_options(arguments: Arguments) -> Any:
    """Returns the options for this machine, as set by the environment."""
    options = arguments.structure("vaultfmt_local_options")
    options.notice = _notice
    return options


def path_bytes(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> bytes:
    """Returns a path in the form that the system expects."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("a path has no NUL")
    return encoded


def to_bytes(value: Any) -> bytes:
    """Returns a copy of `vaultfmt_bytes`."""
    return b"" if value.data == ffi.NULL else bytes(ffi.buffer(value.data, value.size))


def to_text(value: Any) -> str:
    """Returns a copy of UTF-8 `vaultfmt_bytes` as text."""
    return to_bytes(value).decode("utf-8")
