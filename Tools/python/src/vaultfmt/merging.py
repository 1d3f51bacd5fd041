"""Merging copies of a vault, and settling what that leaves."""

from __future__ import annotations

import dataclasses
import enum
from datetime import datetime
from typing import Any

from ._library import Arguments, ffi, lib, to_bytes, to_text
from .items import ItemKey, key_of, moment
from .values import Accessibility, AttributeFlags


class MergeOutcome(enum.IntEnum):
    """How two copies are related: both have the same changes; this one already had everything; the other one had
    everything, and has replaced this one; its changes were merged; or values stored under replaced keys were taken in.
    """

    SAME = 0
    OURS = 1
    THEIRS = 2
    MERGED = 3
    ADOPTED = 4


class NoteKind(enum.IntEnum):
    """What a merge found; `vaultfmt.h` explains each kind. The kinds up to KEPT_FOR_DEVICE, SETTLED,
    FORGETTING_NOT_CARRIED_OUT and ATTRIBUTES_NOT_REMOVED concern an item, and the kinds with SLOT concern a slot.
    """

    CONFLICT = 1
    KEPT_AGAINST_REMOVAL = 2
    RENAMED = 3
    WITHOUT_SECRET = 4
    KEPT_FOR_SPLIT_ID = 5
    EARLIER_VALUES_DROPPED = 6
    TAKEN_IN_TO_SETTLE = 7
    REMOVAL_NOT_CARRIED_OUT = 9
    KEPT_FOR_DEVICE = 10
    SLOT_REMOVED = 11
    SLOT_TAKEN = 12
    SLOT_CHANGED = 13
    SLOT_CHANGED_IN_BOTH = 14
    SLOT_LOST_GROUPS = 15
    SLOT_GAINED_GROUPS = 16
    SLOT_ADDED_AGAIN = 17
    SLOT_DROPPED = 18
    SLOT_NOT_CARRIED_OUT = 19
    EXTENSION_DIFFERS = 20
    DAMAGED = 21
    COPY_DAMAGED = 22
    SHARED_KEY = 23
    SETTLED = 24
    SLOT_READS_MORE = 25
    FORGETTING_NOT_CARRIED_OUT = 26
    ATTRIBUTES_NOT_REMOVED = 27
    LIMIT_NOT_CARRIED_OUT = 28
    SLOTS_OF_BOTH = 29


@dataclasses.dataclass(frozen=True)
class MergeNote:
    """A finding of a merge.

    `text` is the name of a slot or an extension, a number of earlier values, or what is damaged. For a slot that was
    changed in both copies, `is_ours` is true if this vault's change is in effect.
    """

    kind: NoteKind
    key: ItemKey | None
    new_key: ItemKey | None
    slot: str | None
    text: str | None
    groups: tuple[str, ...]
    is_ours: bool


@dataclasses.dataclass(frozen=True)
class MergeReport:
    """The results of a merge: items that only the other copy had (`added`), that show other values now (`changed`), that
    show what they did but received earlier values or values to settle (`supplemented`), or that were removed.
    """

    outcome: MergeOutcome
    is_rehearsal: bool
    has_conflicts: bool
    has_damage: bool
    added: tuple[ItemKey, ...]
    changed: tuple[ItemKey, ...]
    supplemented: tuple[ItemKey, ...]
    removed: tuple[ItemKey, ...]
    notes: tuple[MergeNote, ...]


def merge_report(out: Any) -> MergeReport:
    """Copies the report and frees it."""
    found = out[0]
    try:
        return MergeReport(
            outcome=MergeOutcome(found.outcome),
            is_rehearsal=bool(found.is_rehearsal),
            has_conflicts=bool(found.has_conflicts),
            has_damage=bool(found.has_damage),
            added=_keys(found.added, found.added_count),
            changed=_keys(found.changed, found.changed_count),
            supplemented=_keys(found.supplemented, found.supplemented_count),
            removed=_keys(found.removed, found.removed_count),
            notes=tuple(_note(found.notes[index]) for index in range(found.note_count)),
        )
    finally:
        lib.vaultfmt_merge_report_free(found)


def _keys(keys: Any, count: int) -> tuple[ItemKey, ...]:
    return tuple(key_of(keys[index][0]) for index in range(count))


def _key(pointer: Any) -> ItemKey | None:
    return None if pointer == ffi.NULL else key_of(pointer[0])


def _note(note: Any) -> MergeNote:
    kind = NoteKind(note.kind)
    return MergeNote(
        kind=kind,
        key=_key(note.key),
        new_key=_key(note.new_key),
        slot=bytes(note.slot).hex() if kind.name.startswith("SLOT") else None,
        text=None if note.text.data == ffi.NULL else to_text(note.text),
        groups=tuple(to_text(note.groups[index]) for index in range(note.group_count)),
        is_ours=bool(note.is_ours),
    )


class Field(enum.IntEnum):
    """A field of an item, which a change sets as a whole. The key is without its group, which belongs to the place."""

    SECRET = 1
    ATTRIBUTE = 2
    KEY = 3
    PLACE = 4


@dataclasses.dataclass(frozen=True)
class Place:
    """Who can read an item: its group, its accessibility, and the device to which it is bound."""

    group: str
    accessibility: Accessibility
    device: str | None


@dataclasses.dataclass(frozen=True)
class ConflictValue:
    """A value that an item does not show, because another one was set later, or elsewhere at the same time. Revision,
    replica id, field and attribute distinguish it from the item's others.

    `value` is that of a secret or an attribute, None if it cannot be read here; `key` that of the field KEY, in the default
    group. `place` is the value of the field PLACE; of a secret or a sealed attribute, it is where it was set, if the item is
    elsewhere now, where others may be able to read it once it is kept.
    """

    revision: int
    replica: int
    field: Field
    attribute: str | None
    flags: AttributeFlags
    time_ms: int
    value: bytes | None = dataclasses.field(repr=False)
    key: ItemKey | None
    place: Place | None

    @property
    def time(self) -> datetime:
        """When it was set. Raises OverflowError for times that datetime cannot represent."""
        return moment(self.time_ms)

    def fill(self, structure: Any, arguments: Arguments) -> None:
        """`vaultfmt_conflict_id`."""
        structure.revision = self.revision
        structure.replica = self.replica
        structure.field = self.field
        arguments.bytes(self.attribute, structure.attribute)


@dataclasses.dataclass(frozen=True)
class Conflict:
    """What merges have left to settle in one item, sorted by field and then from the oldest to the newest."""

    item: str
    key: ItemKey
    place: Place
    values: tuple[ConflictValue, ...]


def conflicts(out: Any) -> tuple[Conflict, ...]:
    """Copies the list and frees it."""
    found = out[0]
    try:
        return tuple(_conflict(found.conflicts[index]) for index in range(found.count))
    finally:
        lib.vaultfmt_conflicts_free(found)


def _conflict(found: Any) -> Conflict:
    return Conflict(
        item=bytes(found.item).hex(),
        key=key_of(found.key),
        place=_place(found.place),
        values=tuple(_value(found.values[index]) for index in range(found.count)),
    )


def _value(found: Any) -> ConflictValue:
    return ConflictValue(
        revision=found.id.revision,
        replica=found.id.replica,
        field=Field(found.id.field),
        attribute=None if found.id.attribute.data == ffi.NULL else to_text(found.id.attribute),
        flags=AttributeFlags(found.flags),
        time_ms=found.time,
        value=None if found.value.data == ffi.NULL else to_bytes(found.value),
        key=_key(found.key),
        place=None if found.place == ffi.NULL else _place(found.place[0]),
    )


def _place(found: Any) -> Place:
    return Place(
        group=to_text(found.group),
        accessibility=Accessibility(found.accessibility),
        device=bytes(found.device).hex() if found.is_device_bound else None,
    )
