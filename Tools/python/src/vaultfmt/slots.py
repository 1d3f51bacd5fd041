"""Reports of changes to slots."""

from __future__ import annotations

import dataclasses
from typing import Any

from ._library import ffi, lib
from .items import ItemKey, key_of
from .values import Slot, slot


@dataclasses.dataclass(frozen=True)
class SlotReport:
    """The results of a change to the slots.

    `id` is the id of the slot that was added, changed or removed; None for a rotation. `dropped` lists slots that were
    dropped as well, because they could not be given the new keys. `kept` lists items of other devices: their secrets
    could not be sealed again, and still open with their old keys.
    """

    id: str | None
    dropped: tuple[Slot, ...]
    kept: tuple[ItemKey, ...]


def report_output() -> Any:
    """Returns the pointer in which a call stores its report."""
    return ffi.new("const vaultfmt_slot_report **")


def slot_report(out: Any) -> SlotReport:
    """Copies the report and frees it."""
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
