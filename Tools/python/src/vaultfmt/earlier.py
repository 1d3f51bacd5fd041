"""Earlier values: the values of items before their secret or a sealed attribute was replaced."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ._library import Arguments, ffi, lib
from .items import AttributeValue, Lent, Moment, attributes_of, moment
from .values import AttributeFlags, BytesLike


@dataclasses.dataclass(frozen=True)
class EarlierValue:
    """An earlier value of an item, without the secret. Revision and device distinguish it from the item's other values.

    `replaced_ms` and `modified_ms` are milliseconds since 1970-01-01T00:00:00Z, for times that `replaced` and `modified`
    cannot represent. The attributes are those that the item had at the time; the ones in `unread_attributes` are sealed or
    large, and can be read with `Vault.attribute`.
    """

    revision: int
    device: str | None
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
        """The time of its last change. Raises OverflowError for times that datetime cannot represent."""
        return moment(self.modified_ms)

    def fill(self, structure: Any) -> None:
        """`vaultfmt_earlier_id`."""
        structure.revision = self.revision
        structure.device = bytes.fromhex(self.device) if self.device else bytes(16)

    def structure(self, arguments: Arguments) -> Any:
        """`vaultfmt_earlier_id *`."""
        structure = arguments.structure("vaultfmt_earlier_id")
        self.fill(structure)
        return structure


def earlier_value(structure: Any) -> EarlierValue:
    """Returns a copy of `vaultfmt_earlier_value`, without the secret."""
    device = bytes(structure.id.device)
    values, flags, unread = attributes_of(structure)
    return EarlierValue(
        revision=structure.id.revision,
        device=device.hex() if any(device) else None,
        replaced_ms=structure.replaced,
        modified_ms=structure.modified,
        attributes=values,
        attribute_flags=flags,
        unread_attributes=unread,
    )


class OpenedEarlierValue(Lent):
    """An earlier value with its secret, in memory that is wiped when the `with` in which it is used ends. `secret` works
    as in `OpenedItem`.
    """

    def __init__(self, structure: Any) -> None:
        super().__init__(ffi.gc(structure, lib.vaultfmt_earlier_value_free))
        self.value = earlier_value(structure)


@dataclasses.dataclass(frozen=True)
class NewEarlierValue:
    """An earlier value to import. Times must have a zone, or be milliseconds since 1970."""

    secret: BytesLike = dataclasses.field(repr=False)
    modified: Moment
    replaced: Moment
    attributes: Mapping[str, AttributeValue] = dataclasses.field(default_factory=dict)
