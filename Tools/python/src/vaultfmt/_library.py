"""The C library, and what every call of it needs."""

from __future__ import annotations

import logging
import os
from typing import Any

from ._declarations import ffi as _ffi
from .errors import error

# What types C's structures have is not known to type checkers.
ffi: Any = _ffi
lib: Any = ffi.dlopen(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libvaultfmt.so.1"))


def check(status: int) -> None:
    """Raises what a status means, in the library's words."""
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
        # What the caller's own functions raised within the call.
        self.failures: list[BaseException] = []

    def check(self, status: int) -> None:
        """Raises what a function of the caller's raised, else what the status means."""
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
        """A zeroed structure with its size, if it has that member."""
        structure = self.keep(ffi.new(f"{name} *"))
        if any(field == "struct_size" for field, _ in ffi.typeof(name).fields):
            structure.struct_size = ffi.sizeof(name)
        return structure

    def bytes(self, value: bytes | bytearray | memoryview | str | None, field: Any = None) -> Any:
        """`vaultfmt_bytes` for a value, NULL for None; written to `field` if that is given."""
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
    """A C string. Raises ValueError for a text with a NUL, which would end it."""
    encoded = text.encode()
    if b"\0" in encoded:
        raise ValueError(f"{what} has no NUL")
    return ffi.new("char[]", encoded)


@ffi.callback("void(void *, uint32_t, const char *)")  # type: ignore[untyped-decorator]
def _notice(_context: Any, is_warning: int, text: Any) -> None:
    """What the library says about what this machine remembers."""
    level = logging.WARNING if is_warning else logging.INFO
    logging.getLogger("vaultfmt").log(level, "%s", ffi.string(text).decode("utf-8", "replace"))


def local_options(arguments: Arguments) -> Any:
    """This machine, as the environment has it."""
    options = arguments.structure("vaultfmt_local_options")
    options.notice = _notice
    return options


def path_bytes(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> bytes:
    """A path as the system takes it."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("a path has no NUL")
    return encoded


def to_bytes(value: Any) -> bytes:
    """A copy of `vaultfmt_bytes`."""
    return b"" if value.data == ffi.NULL else bytes(ffi.buffer(value.data, value.size))


def to_text(value: Any) -> str:
    """A copy of `vaultfmt_bytes` that are UTF-8."""
    return to_bytes(value).decode("utf-8")
