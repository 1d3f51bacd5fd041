"""What changes of slots report."""

from __future__ import annotations

import dataclasses
from typing import Any

from ._library import ffi, lib
from .items import ItemKey, key_of
from .values import Slot, slot


@dataclasses.dataclass(frozen=True)
class SlotReport:
    """What a change of slots did.

    `id` is that of the slot that was added, changed or removed; None for a rotation. `dropped` are slots that had to
    go with it, since nobody here can give them the new keys. `kept` are items of other devices, whose secrets could
    not be sealed again: they open with their old keys.
    """

    id: str | None
    dropped: tuple[Slot, ...]
    kept: tuple[ItemKey, ...]


def report_output() -> Any:
    """Where a call puts its report."""
    return ffi.new("const vaultfmt_slot_report **")


def slot_report(out: Any) -> SlotReport:
    """A copy of the report, which is freed."""
    found = out[0]
    try:
        number = bytes(found.id)
        return SlotReport(
            id=number.hex() if any(number) else None,
            dropped=tuple(slot(found.dropped[index]) for index in range(found.dropped_count)),
            kept=tuple(key_of(found.kept[index][0]) for index in range(found.kept_count)),
        )
    finally:
        lib.vaultfmt_slot_report_free(found)
