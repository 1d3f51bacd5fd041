"""Items and their keys."""

from __future__ import annotations

import dataclasses
import functools
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from ._library import Arguments, ffi, lib, to_bytes, to_text
from .errors import VaultError, error
from .values import Accessibility, AttributeFlags, BytesLike


@dataclasses.dataclass(frozen=True, order=True)
class _Key:
    """The fields common to all classes: the access group, and whether the item is synchronised; both are part of the key."""

    item_class: ClassVar[int] = 0

    group: str = dataclasses.field(default="", kw_only=True)
    synchronizable: bool = dataclasses.field(default=False, kw_only=True)


@dataclasses.dataclass(frozen=True, order=True)
class GenericPassword(_Key):
    """The key of a password for an account at a service."""

    item_class: ClassVar[int] = 1
    service: str
    account: str = ""


@dataclasses.dataclass(frozen=True, order=True)
class InternetPassword(_Key):
    """The key of a password for an account on a server."""

    item_class: ClassVar[int] = 2
    server: str
    account: str = ""
    protocol: str = ""
    port: int = 0
    path: str = ""
    security_domain: str = ""
    authentication_type: str = ""


@dataclasses.dataclass(frozen=True, order=True)
class Certificate(_Key):
    """The key of a certificate; the issuer's name is in DER."""

    item_class: ClassVar[int] = 3
    type: int
    issuer: bytes
    serial_number: bytes


@dataclasses.dataclass(frozen=True, order=True)
class KeyItem(_Key):
    """The key of a cryptographic key; class and type use Apple's numbers."""

    item_class: ClassVar[int] = 4
    key_class: int
    key_type: int
    application_label: bytes
    application_tag: bytes
    size_in_bits: int
    effective_size: int


@dataclasses.dataclass(frozen=True, order=True)
class Identity(_Key):
    """The key of a certificate with its private key."""

    item_class: ClassVar[int] = 5
    type: int
    issuer: bytes
    serial_number: bytes


@dataclasses.dataclass(frozen=True, order=True)
class OtherItem(_Key):
    """The key of an item of a class that this version does not define (6 to 63): such items can be read,
    moved and removed, but not created.
    """

    number: int
    texts: tuple[str, ...]


ItemKey = GenericPassword | InternetPassword | Certificate | KeyItem | Identity | OtherItem
_CLASSES: dict[int, Callable[..., ItemKey]] = {
    kind.item_class: kind for kind in (GenericPassword, InternetPassword, Certificate, KeyItem, Identity)
}


def key_structure(key: ItemKey, arguments: Arguments) -> Any:
    """`vaultfmt_key *` for a key."""
    structure = arguments.structure("vaultfmt_key")
    if isinstance(key, OtherItem):
        _fill_other(structure, key, arguments)
        return structure
    structure.item_class = key.item_class
    for field in dataclasses.fields(key):
        value = getattr(key, field.name)
        if isinstance(value, (str, bytes)):
            arguments.bytes(value, getattr(structure, field.name))
        else:
            setattr(structure, field.name, value)
    return structure


def _fill_other(structure: Any, key: OtherItem, arguments: Arguments) -> None:
    if key.number < 6:
        raise ValueError(f"class {key.number} has a type of its own")
    structure.item_class = key.number
    structure.synchronizable = key.synchronizable
    arguments.bytes(key.group, structure.group)
    structure.texts = texts = arguments.keep(ffi.new("vaultfmt_bytes[]", max(len(key.texts), 1)))
    structure.text_count = len(key.texts)
    for index, text in enumerate(key.texts):
        arguments.bytes(text, texts[index])


def key_of(structure: Any) -> ItemKey:
    """A copy of `vaultfmt_key`."""
    if structure.item_class not in _CLASSES:
        texts = tuple(to_text(structure.texts[index]) for index in range(structure.text_count))
        group, synchronizable = to_text(structure.group), bool(structure.synchronizable)
        return OtherItem(structure.item_class, texts, group=group, synchronizable=synchronizable)
    kind = _CLASSES[structure.item_class]
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        value = getattr(structure, field.name)
        if field.type == "str":
            values[field.name] = to_text(value)
        elif field.type == "bytes":
            values[field.name] = to_bytes(value)
        else:
            values[field.name] = bool(value) if field.type == "bool" else int(value)
    return kind(**values)


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def moment(milliseconds: int) -> datetime:
    """Converts milliseconds since 1970 to a datetime. Raises OverflowError for times that datetime cannot represent."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


# A time with its zone; or milliseconds since 1970-01-01T00:00:00Z, which have a wider range.
Moment = datetime | int


def milliseconds(time: Moment) -> int:
    """Returns milliseconds since 1970. Raises ValueError for a time without a zone."""
    if isinstance(time, int):
        return time
    if time.tzinfo is None:
        raise ValueError("a time without a time zone: give datetime.now(timezone.utc) or the like")
    return (time - _EPOCH) // timedelta(milliseconds=1)


@dataclasses.dataclass(frozen=True)
class Attribute:
    """A value to set, with its flags. Without flags, an existing attribute keeps its flags, and a new one gets the
    defaults: `notes`, `otp` and names that start with `sealed:` are sealed.
    """

    value: BytesLike | str = dataclasses.field(repr=False)
    flags: AttributeFlags | None = None


AttributeValue = BytesLike | str | Attribute


def attributes_of(structure: Any) -> tuple[Mapping[str, bytes], Mapping[str, AttributeFlags], tuple[str, ...]]:
    """Returns the attributes of an item or an earlier value: the values that were read, the flags of all attributes, and
    the names of those that were not read.
    """
    values, flags, unread = {}, {}, []
    for index in range(structure.attribute_count):
        attribute = structure.attributes[index]
        name = to_text(attribute.name)
        flags[name] = AttributeFlags(attribute.flags)
        if attribute.value.data == ffi.NULL:
            unread.append(name)
        else:
            values[name] = to_bytes(attribute.value)
    return MappingProxyType(values), MappingProxyType(flags), tuple(unread)


def fill_attributes(
    structure: Any, attributes: Mapping[str, AttributeValue | None] | None, arguments: Arguments
) -> None:
    """Fills in the members `attributes` and `attribute_count`."""
    if not attributes:
        return
    structure.attributes = array = arguments.keep(ffi.new("vaultfmt_attribute[]", len(attributes)))
    structure.attribute_count = len(attributes)
    for index, (name, given) in enumerate(attributes.items()):
        value = given.value if isinstance(given, Attribute) else given
        if isinstance(given, Attribute):
            if given.value is None:
                raise TypeError("an attribute has a value; None alone removes it")
            if given.flags is not None:
                array[index].flags = given.flags
                array[index].states_flags = 1
        arguments.bytes(name, array[index].name)
        arguments.bytes(value, array[index].value)


@dataclasses.dataclass(frozen=True)
class Item:
    """An item without its secret, as read by listing and searching.

    `created_ms` and `modified_ms` are milliseconds since 1970-01-01T00:00:00Z, for times that `created` and `modified`
    cannot represent. For an item that was found, `attributes` contains the unsealed ones of at most 256 bytes; for one
    that was opened, those of at most 4096 bytes. `unread_attributes` names the others, which can be read with
    `Vault.attribute`. `encoded_key` is the key as stored in the index; items are sorted by it.

    `has_past` says whether the item has earlier values, or values that a merge has left to settle, which `needs_settling`
    says. `secret_changed_ms` is the time of the last change to the secret, or of the import of the item; it is None if
    `lacks_secret`: the secret was forgotten, is left to settle, or is an earlier value.
    """

    id: str
    key: ItemKey
    encoded_key: bytes
    attributes: Mapping[str, bytes]
    attribute_flags: Mapping[str, AttributeFlags]
    unread_attributes: tuple[str, ...]
    has_past: bool
    needs_settling: bool
    lacks_secret: bool
    accessibility: Accessibility
    device: str | None
    created_ms: int
    modified_ms: int
    secret_changed_ms: int | None
    revision: int

    @property
    def label(self) -> str | None:
        """The attribute `label`, as text."""
        value = self.attributes.get("label")
        return None if value is None else value.decode("utf-8", "replace")

    @property
    def created(self) -> datetime:
        """The creation time. Raises OverflowError for times that datetime cannot represent."""
        return moment(self.created_ms)

    @property
    def modified(self) -> datetime:
        """The time of the last change to the secret or attributes. Raises OverflowError for times that datetime cannot represent."""
        return moment(self.modified_ms)


def item(structure: Any) -> Item:
    """Returns a copy of `vaultfmt_item`, without the secret."""
    values, flags, unread = attributes_of(structure)
    return Item(
        id=bytes(structure.id).hex(),
        key=key_of(structure.key),
        encoded_key=to_bytes(structure.encoded_key),
        attributes=values,
        attribute_flags=flags,
        unread_attributes=unread,
        has_past=bool(structure.has_past),
        needs_settling=bool(structure.needs_settling),
        lacks_secret=bool(structure.lacks_secret),
        accessibility=Accessibility(structure.accessibility),
        device=bytes(structure.device).hex() if structure.is_device_bound else None,
        created_ms=structure.created,
        modified_ms=structure.modified,
        secret_changed_ms=None if structure.lacks_secret else structure.secret_changed,
        revision=structure.revision,
    )


LentType = TypeVar("LentType", bound="Lent")


class Lent:
    """A secret in memory that is wiped when the `with` in which it is used ends."""

    def __init__(self, structure: Any) -> None:
        self._structure = structure
        self._views: list[weakref.ref[memoryview]] = []

    def __reduce__(self) -> Any:
        raise TypeError("an opened item cannot be copied or pickled")

    def __enter__(self: LentType) -> LentType:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def secret(self) -> memoryview:
        """The secret's bytes. Raises ValueError after they have been wiped."""
        if self._structure is None:
            raise ValueError("the item's memory was wiped")
        structure = self._structure
        # A view holds the pointer, which holds the item, so the item is freed after the last view.
        pointer = ffi.gc(structure.secret.data, functools.partial(_nothing, structure))
        view = memoryview(ffi.buffer(pointer, structure.secret.size)).toreadonly()
        self._views.append(weakref.ref(view))
        return view

    def close(self) -> None:
        """Wipes the memory; does nothing the second time."""
        structure, self._structure = self._structure, None
        if structure is None:
            return
        lib.vaultfmt_wipe(ffi.cast("void *", structure.secret.data), structure.secret.size)
        for reference in self._views:
            view = reference()
            if view is not None:
                # A view that is being lent at this moment remains, and reads zeros.
                with suppress(BufferError):
                    view.release()


class OpenedItem(Lent):
    """An item with its secret, in memory that is wiped when the `with` in which it is used ends.

    `secret` lends that memory. After the end, it raises ValueError, and slices or other views of it read zeros.
    `bytes(opened.secret)` is a copy that is never wiped.
    """

    def __init__(self, structure: Any) -> None:
        super().__init__(structure)
        self.item = item(structure)


def _nothing(*_: object) -> None:
    """What a pointer is freed with that only keeps something."""


def _refusal(structure: Any) -> VaultError | None:
    """Returns the error that prevented the library from reading a secret."""
    if structure.secret_status == 0:
        return None
    name = ffi.string(lib.vaultfmt_status_name(structure.secret_status)).decode()
    return error(structure.secret_status, f"the secret cannot be read: {name}", None)


def lent(structure: Any) -> tuple[Item, bytes | VaultError]:
    """Returns a copy of a lent `vaultfmt_item` and its secret."""
    return item(structure), _refusal(structure) or to_bytes(structure.secret)
