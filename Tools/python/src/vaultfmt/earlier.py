"""Earlier values: secrets and sealed attributes of items before they were replaced."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ._library import Arguments, ffi, lib, to_text
from .items import AttributeValue, Lent, Moment, attributes_of, moment
from .values import AttributeFlags, BytesLike


@dataclasses.dataclass(frozen=True)
class EarlierValue:
    """An earlier secret of an item, or an earlier value of the sealed attribute named by `attribute`, without its bytes.
    Revision, replica id and attribute distinguish it from the item's other values.

    `replaced_ms` and `modified_ms` are milliseconds since 1970-01-01T00:00:00Z, for times that `replaced` and `modified`
    cannot represent; `replaced_ms` is 0 if the time is not known. The attributes are those that the item had with a secret,
    without sealed ones; the ones in `unread_attributes` are large, and can be read with `Vault.attribute`. `flags` are those
    of an attribute's value.
    """

    revision: int
    replica: int
    attribute: str | None
    flags: AttributeFlags
    replaced_ms: int
    modified_ms: int
    attributes: Mapping[str, bytes]
    attribute_flags: Mapping[str, AttributeFlags]
    unread_attributes: tuple[str, ...]

    @property
    def replaced(self) -> datetime:
        """The time at which this value was replaced. Raises OverflowError for times that datetime cannot represent."""
        return moment(self.replaced_ms)

    @property
    def modified(self) -> datetime:
        """The time at which it was set; for an imported value, of the import. Raises OverflowError for times beyond datetime."""
        return moment(self.modified_ms)

    def fill(self, structure: Any, arguments: Arguments) -> None:
        """`vaultfmt_earlier_id`."""
        structure.revision = self.revision
        structure.replica = self.replica
        arguments.bytes(self.attribute, structure.attribute)

    def structure(self, arguments: Arguments) -> Any:
        """`vaultfmt_earlier_id *`."""
        structure = arguments.structure("vaultfmt_earlier_id")
        self.fill(structure, arguments)
        return structure


def earlier_value(structure: Any) -> EarlierValue:
    """Returns a copy of `vaultfmt_earlier_value`, without its bytes."""
    values, flags, unread = attributes_of(structure)
    return EarlierValue(
        revision=structure.id.revision,
        replica=structure.id.replica,
        attribute=None if structure.id.attribute.data == ffi.NULL else to_text(structure.id.attribute),
        flags=AttributeFlags(structure.flags),
        replaced_ms=structure.replaced,
        modified_ms=structure.modified,
        attributes=values,
        attribute_flags=flags,
        unread_attributes=unread,
    )


class OpenedEarlierValue(Lent):
    """An earlier value with its bytes, in memory that is wiped when the `with` in which it is used ends. `secret`, which is
    the secret or the attribute's value, works as in `OpenedItem`. `group` is the access group that the item was in when it
    had the value, and `device` the device, in hexadecimal, to which the value is bound; None if every device can read it.
    """

    def __init__(self, structure: Any) -> None:
        super().__init__(ffi.gc(structure, lib.vaultfmt_earlier_value_free))
        self.value = earlier_value(structure)
        self.group = to_text(structure.group)
        self.device = bytes(structure.device).hex() if structure.is_device_bound else None


@dataclasses.dataclass(frozen=True)
class NewEarlierValue:
    """An earlier secret to import, with the attributes of that time; sealed ones become earlier values of their own. The
    time must have a zone, or be milliseconds since 1970. `group` is the access group that the item was in when it had the
    value; None stands for the group that it is in.
    """

    secret: BytesLike = dataclasses.field(repr=False)
    replaced: Moment
    attributes: Mapping[str, AttributeValue] = dataclasses.field(default_factory=dict)
    group: str | None = None
