"""Vaults: creating, opening, reading and changing them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, TypedDict

from ._library import Arguments, c_string, check, ffi, lib, local_options, path_bytes, to_bytes, to_text
from ._transaction import Transaction, entered_handle
from .earlier import EarlierValue, NewEarlierValue, OpenedEarlierValue, earlier_value
from .errors import NoSuchItem, VaultError
from .external import KeyProvider, provider_structure
from .items import (
    AttributeValue,
    GenericPassword,
    Item,
    ItemKey,
    Moment,
    OpenedItem,
    OtherItem,
    _Key,
    fill_attributes,
    item,
    key_structure,
    lent,
    milliseconds,
)
from .merging import Conflict, ConflictValue, MergeReport, conflicts, merge_report
from .slots import SlotReport, report_output, slot_report
from .values import Accessibility, BytesLike, Factors, KDFCost, KeyFile, Limits, Report, Slot, Statistics, Tail, Verdict, slot

Path = str | bytes | os.PathLike[str]
KeyLike = ItemKey | str | tuple[str, str]
_UNSET = -(2**63)


class Filters(TypedDict, total=False):
    """Selects items: each filter must match exactly, except `pattern`, which matches a part of service, account, server or
    label, ignoring case.
    """

    item_class: type[_Key] | int
    service: str
    account: str
    server: str
    protocol: str
    path: str
    group: str
    label: str
    pattern: str
    port: int
    synchronizable: bool
    accessibility: Accessibility


def create(
    path: Path,
    *,
    passphrase: str | BytesLike | None = None,
    key_file: KeyFile | None = None,
    raw_key: BytesLike | None = None,
    external: KeyProvider | None = None,
    cost: KDFCost | None = None,
    slot_name: str = "",
    kept_versions: int = 10,
    device: BytesLike | None = None,
    wait: float = 10.0,
    memory: bool = True,
) -> Vault:
    """Creates a vault with one slot, and opens it for changing. Raises FileExists rather than overwrite a file.

    `kept_versions` is the number of earlier values that each field of an item keeps, 0 to 50; `wait` is the number of seconds that a
    change waits for another writer; `device` is the result of `generate_device`, by default this machine's device. If
    `memory` is false, this machine neither remembers the vault nor provides its device.
    """
    cost = cost or KDFCost()
    with Arguments() as arguments:
        options = arguments.structure("vaultfmt_create_options")
        options.kdf_memory = cost.memory_kib
        options.kdf_passes = cost.passes
        options.kdf_lanes = cost.lanes
        options.allow_weak_kdf = cost.allow_weak
        options.kept_versions = kept_versions
        options.lock_wait = round(wait * 1000)
        arguments.bytes(slot_name, options.slot_name)
        arguments.bytes(device, options.device)
        out = arguments.keep(ffi.new("vaultfmt_vault **"))
        factors = Factors(passphrase, key_file, raw_key, external).structure(arguments)
        if memory:
            local = local_options(arguments)
            arguments.check(lib.vaultfmt_local_create(path_bytes(path), factors, options, local, out))
        else:
            arguments.check(lib.vaultfmt_create(path_bytes(path), factors, options, out))
        return Vault(out[0], path, True)


def open(
    path: Path,
    *,
    passphrase: str | BytesLike | None = None,
    key_file: KeyFile | None = None,
    raw_key: BytesLike | None = None,
    external: KeyProvider | None = None,
    writable: bool = False,
    limits: Limits | None = None,
    device: BytesLike | None = None,
    anchor: str | None = None,
    owner: str | None = None,
    wait: float = 10.0,
    memory: bool = True,
) -> Vault:
    """Opens a vault with the factors of one of its slots. With `anchor`, raises RolledBack, Forked or ForeignOwner
    unless the vault has all changes of that state; with `owner`, the owners' public key in hexadecimal, raises
    ForeignOwner for a vault with a different key.

    The vault is compared with the state that this machine remembers (`vaultfmt anchor`), before any of its contents are
    released and at each refresh and change. Raises RolledBack, Forked or ForeignOwner until the vault is accepted
    (`local.accept`). If `memory` is false, nothing is compared or remembered.
    """
    with Arguments() as arguments:
        options = _open_options(arguments, writable, limits, device, anchor, wait, owner)
        out = arguments.keep(ffi.new("vaultfmt_vault **"))
        factors = Factors(passphrase, key_file, raw_key, external).structure(arguments)
        if memory:
            arguments.check(lib.vaultfmt_local_open(path_bytes(path), factors, options, local_options(arguments), out))
        else:
            arguments.check(lib.vaultfmt_open(path_bytes(path), factors, options, out))
        return Vault(out[0], path, writable)


def open_unlocked(
    path: Path,
    *,
    writable: bool = False,
    device: BytesLike | None = None,
    anchor: str | None = None,
    owner: str | None = None,
    wait: float = 10.0,
) -> Vault:
    """Opens a vault that `vaultfmt unlock` or `Vault.keep_unlocked` keeps unlocked; `anchor` and `owner` work as in
    `open`.

    Raises NoSlotOpens if the vault is not kept unlocked, and NoKernelKeyring.
    """
    with Arguments() as arguments:
        options = _open_options(arguments, writable, None, device, anchor, wait, owner)
        out = arguments.keep(ffi.new("vaultfmt_vault **"))
        check(lib.vaultfmt_open_unlocked(path_bytes(path), options, out))
        return Vault(out[0], path, writable)


def end_unlocked(path: Path) -> None:
    """Ends the effect of `vaultfmt unlock` or `Vault.keep_unlocked` for the vault in a file; does nothing if the vault was
    not kept unlocked.
    """
    check(lib.vaultfmt_end_unlocked(path_bytes(path)))


def _open_options(
    arguments: Arguments,
    writable: bool,
    limits: Limits | None,
    device: BytesLike | None,
    anchor: str | None,
    wait: float,
    owner: str | None = None,
) -> Any:
    limits = limits or Limits()
    options = arguments.structure("vaultfmt_open_options")
    options.writable = writable
    options.lock_wait = round(wait * 1000)
    options.most_kdf_memory = limits.memory_kib
    options.most_kdf_passes = limits.passes
    options.most_kdf_lanes = limits.lanes
    options.most_kdf_work = limits.work
    arguments.bytes(device, options.device)
    if anchor is not None:
        options.anchor = arguments.keep(c_string(anchor, "an anchor"))
    if owner is not None:
        arguments.bytes(bytes.fromhex(owner), options.owners)
    return options


def _key(key: KeyLike) -> ItemKey:
    if isinstance(key, str):
        return GenericPassword(key)
    if isinstance(key, tuple):
        service, account = key
        return GenericPassword(service, account)
    return key


class Vault(MutableMapping[KeyLike, bytes]):
    """An open vault: a mapping from keys to secrets. Use it in a `with`, or close it, to wipe its keys.

    A pair of service and account is the key of a generic password, and a string is the key of one without an account.
    Changes are durable when they return, except within a `transaction`.

    Any number of threads may use the vault, and one may close it while others read. It belongs to the process that opened
    it: in a child, after a fork, any use raises OtherProcess, and closing it has no effect; the child must open the vault
    itself. It cannot be copied or pickled.
    """

    def __init__(self, handle: Any, path: Path, writable: bool) -> None:
        # The library's handle is closed after the last call that uses it, which may be in another thread.
        self._handle = ffi.gc(handle, lib.vaultfmt_close)
        self.path = path
        self._mode = "writable" if writable else "read-only"

    def __enter__(self) -> Vault:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("an open vault cannot be copied or pickled")

    def __repr__(self) -> str:
        return f"<vaultfmt.Vault {os.fsdecode(self.path)!r}, {self._mode if self._handle else 'closed'}>"

    # A vault has identity: it is not compared by contents.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def close(self) -> None:
        """Wipes the keys once other threads' calls have ended; does nothing the second time. Rolls back an open
        transaction.
        """
        if self._handle is None:
            return
        transaction = entered_handle(self)
        if transaction is not None:
            lib.vaultfmt_rollback(transaction)
            del transaction
        self._handle = None

    @property
    def _open_handle(self) -> Any:
        handle = self._handle
        if handle is None:
            raise ValueError("the vault is closed")
        return handle

    @property
    def _vault(self) -> Any:
        """Returns the handle for a call: that of this task's transaction, if there is one."""
        handle = self._open_handle
        return entered_handle(self) or handle

    # ---- As a mapping ----

    def __getitem__(self, key: KeyLike) -> bytes:
        with self.open(key) as opened:
            return bytes(opened.secret)

    def __setitem__(self, key: KeyLike, secret: BytesLike) -> None:
        self.set(key, secret)

    def __delitem__(self, key: KeyLike) -> None:
        self.remove(key)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, (str, tuple, _Key)):
            return False
        return self.item(key) is not None  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[ItemKey]:  # type: ignore[override]
        return (found.key for found in self.search())

    def __len__(self) -> int:
        return self.statistics().items

    def pop(self, key: KeyLike, *default: Any) -> Any:  # type: ignore[override]
        """Removes an item and returns its secret, in one transaction: what is returned is what was removed."""
        with self._in_transaction():
            return super().pop(key, *default)

    def popitem(self) -> tuple[KeyLike, bytes]:
        """Removes an item and returns its key and secret. Raises KeyError if there is none."""
        for key in self:
            with suppress(NoSuchItem):
                return key, self.pop(key)
        raise KeyError("the vault has no items")

    def setdefault(self, key: KeyLike, default: Any = None) -> Any:  # type: ignore[override]
        """Returns an item's secret; if there is no such item, adds it with this secret, in one transaction."""
        with self._in_transaction():
            return super().setdefault(key, default)

    def _in_transaction(self) -> AbstractContextManager[Any]:
        return self.transaction() if entered_handle(self) is None else nullcontext()

    def clear(self) -> None:
        """Removes all items in one transaction."""
        keys = list(self)
        with self.transaction():
            for key in keys:
                with suppress(NoSuchItem):
                    self.remove(key)

    # ---- Reading ----

    def item(self, key: KeyLike) -> Item | None:
        """Returns the item with this key, without its secret; None if there is none."""
        with Arguments() as arguments:
            out = arguments.keep(ffi.new("const vaultfmt_item **"))
            try:
                check(lib.vaultfmt_find(self._vault, key_structure(_key(key), arguments), out))
            except NoSuchItem:
                return None
            return item(ffi.gc(out[0], lib.vaultfmt_item_free))

    def open(self, key: KeyLike) -> OpenedItem:
        """Returns the item with its secret, in memory that is wiped after use: use it in a `with`. Raises NoSuchItem,
        Locked, NotPermitted, DeviceBound, NoSecret.
        """
        with Arguments() as arguments:
            out = arguments.keep(ffi.new("const vaultfmt_item **"))
            check(lib.vaultfmt_get(self._vault, key_structure(_key(key), arguments), out))
            return OpenedItem(ffi.gc(out[0], lib.vaultfmt_item_free))

    def attribute(self, key: KeyLike, name: str, *, of: EarlierValue | None = None) -> bytes | None:
        """Returns the value of an attribute, of any size; None if the item has no attribute with this name. With `of`,
        returns the value that it had with that earlier secret; earlier values of sealed attributes are values of their own.

        Raises NoSuchItem and the errors of `open`.
        """
        with Arguments() as arguments:
            out = arguments.keep(ffi.new("const vaultfmt_value **"))
            structure, encoded = key_structure(_key(key), arguments), arguments.bytes(name)
            if of is None:
                check(lib.vaultfmt_get_attribute(self._vault, structure, encoded, out))
            else:
                check(lib.vaultfmt_get_earlier_attribute(self._vault, structure, of.structure(arguments), encoded, out))
            return _value(out)

    def search(self, **filters: Any) -> Iterator[Item]:
        """Returns all matching items (see `Filters`), sorted by key, as of now. No secret is decrypted."""
        with Arguments() as arguments:
            out = ffi.new("vaultfmt_cursor **")
            check(lib.vaultfmt_items(self._vault, _query(filters, arguments), out))
        return _Cursor(out[0])

    def each_secret(self, function: Callable[[Item, bytes | VaultError], object], **filters: Any) -> None:
        """Calls a function with every matching item and its secret, or with the error that prevented it from being read.

        This is the fastest way to read everything. An exception that the function raises, including KeyboardInterrupt,
        ends the iteration and is raised.
        """
        failures: list[BaseException] = []

        def call(_: Any, structure: Any) -> int:
            found, secret = lent(structure)
            function(found, secret)
            return 0

        def fail(_: type[BaseException], failure: BaseException, trace: Any) -> None:
            failures.append(failure)

        # An exception before the first line of `call` also ends the iteration.
        callback = ffi.callback("int32_t(void *, const vaultfmt_item *)", call, error=1, onerror=fail)
        with Arguments() as arguments:
            check(lib.vaultfmt_each_secret(self._vault, _query(filters, arguments), callback, ffi.NULL))
        if failures:
            raise failures[0]

    # ---- Changing ----

    def add(self, key: KeyLike, secret: BytesLike, **details: Any) -> None:
        """Adds an item. Raises DuplicateItem if an item with this key exists. The details are the same as for `set`."""
        self._store(lib.vaultfmt_add, key, secret, details)

    def set(self, key: KeyLike, secret: BytesLike, **details: Any) -> None:
        """Adds an item, or replaces its secret and the named attributes.

        Details are `attributes`, a mapping from names to bytes, text or an `Attribute`, with None for attributes to
        remove; `replace_attributes`, whether to remove the others; `accessibility`; `created` and `modified`, times with
        a zone, or milliseconds since 1970. The previous secret, and each sealed attribute that changes, become
        earlier values.
        """
        self._store(lib.vaultfmt_set, key, secret, details)

    def _store(self, function: Any, key: KeyLike, secret: BytesLike, details: dict[str, Any]) -> None:
        with Arguments() as arguments:
            encoded = arguments.bytes(_secret(secret))
            check(function(self._vault, key_structure(_key(key), arguments), encoded, _details(arguments, **details)))

    def change(self, key: KeyLike, **details: Any) -> None:
        """Changes attributes or accessibility, but not the secret. The details are the same as for `set`, without dates.
        Raises NoSuchItem.
        """
        with Arguments() as arguments:
            check(lib.vaultfmt_update(self._vault, key_structure(_key(key), arguments), _details(arguments, **details)))

    def move(self, key: KeyLike, new_key: KeyLike) -> None:
        """Gives an item another key of the same class. Raises NoSuchItem, DuplicateItem."""
        with Arguments() as arguments:
            check(lib.vaultfmt_move(self._vault, key_structure(_key(key), arguments), key_structure(_key(new_key), arguments)))

    def remove(self, key: KeyLike) -> None:
        """Removes an item and its earlier values. Raises NoSuchItem. The ciphertext remains in the file until `compact`,
        and in copies of the file.
        """
        with Arguments() as arguments:
            check(lib.vaultfmt_remove(self._vault, key_structure(_key(key), arguments)))

    # ---- Earlier values ----

    def earlier_values(self, key: KeyLike) -> Sequence[EarlierValue]:
        """Returns an item's secrets and sealed attributes before they were replaced, the oldest first. Raises NoSuchItem,
        Locked, NotPermitted.
        """
        with Arguments() as arguments:
            out = ffi.new("const vaultfmt_earlier_values **")
            check(lib.vaultfmt_get_earlier_values(self._vault, key_structure(_key(key), arguments), out))
        try:
            return tuple(earlier_value(out[0].values[index]) for index in range(out[0].count))
        finally:
            lib.vaultfmt_earlier_values_free(out[0])

    def open_earlier(self, key: KeyLike, value: EarlierValue) -> OpenedEarlierValue:
        """Returns an earlier value with its bytes, in memory that is wiped after use: use it in a `with`. Also raises
        NoSuchItem if the item has no such value.
        """
        with Arguments() as arguments:
            out = ffi.new("const vaultfmt_earlier_value **")
            structure = key_structure(_key(key), arguments)
            check(lib.vaultfmt_get_earlier_value(self._vault, structure, value.structure(arguments), out))
            return OpenedEarlierValue(out[0])

    def restore(self, key: KeyLike, value: EarlierValue) -> None:
        """Restores an item's secret, or a sealed attribute, from an earlier value; nothing else of the item changes. The
        current value becomes an earlier value, and the restored one is not listed while the item has it.
        It still counts as one of them, so the oldest is dropped if the vault already keeps as many as it may.

        If the item was in another group when it had the value (`OpenedEarlierValue.group`), scoped slots can now read it that
        could not then; if the value was bound to a device and the item no longer is, every device can.
        """
        with Arguments() as arguments:
            check(lib.vaultfmt_restore(self._vault, key_structure(_key(key), arguments), value.structure(arguments)))

    def forget(self, key: KeyLike, values: Iterable[EarlierValue] | None = None) -> int:
        """Forgets these earlier values of an item, or all of them, and returns their number. No copy of the vault brings
        them back. Their ciphertext remains in the file until `compact`, and in copies of the file.

        Raises NoSuchItem if one of them does not exist; in that case, none are forgotten.
        """
        with Arguments() as arguments:
            ids, count = ffi.NULL, 0
            if values is not None:
                chosen = list(values)
                count = len(chosen)
                ids = arguments.keep(ffi.new("vaultfmt_earlier_id[]", max(count, 1)))
                for index, value in enumerate(chosen):
                    value.fill(ids[index], arguments)
            forgotten = ffi.new("size_t *")
            check(lib.vaultfmt_forget(self._vault, key_structure(_key(key), arguments), ids, count, forgotten))
            return int(forgotten[0])

    def add_earlier(self, key: KeyLike, values: Iterable[NewEarlierValue]) -> int:
        """Adds earlier secrets to an item, the oldest first, after its existing ones: for imports. Only the last ones are
        added, up to the number that the vault keeps; returns how many were added.
        """
        with Arguments() as arguments:
            new = list(values)
            array = arguments.keep(ffi.new("vaultfmt_new_earlier_value[]", max(len(new), 1)))
            for index, value in enumerate(new):
                array[index].struct_size = ffi.sizeof("vaultfmt_new_earlier_value")
                arguments.bytes(_secret(value.secret), array[index].secret)
                array[index].replaced = milliseconds(value.replaced)
                arguments.bytes(value.group, array[index].group)
                fill_attributes(array[index], value.attributes, arguments)
            added = ffi.new("size_t *")
            structure = key_structure(_key(key), arguments)
            check(lib.vaultfmt_add_earlier_values(self._vault, structure, array, len(new), added))
            return int(added[0])

    def keep_versions(self, count: int) -> None:
        """Sets the number of earlier values that each field of an item keeps, 0 to 50. Excess values are not listed, and are
        removed when their item changes.
        """
        check(lib.vaultfmt_keep_versions(self._vault, count))

    @property
    def kept_versions(self) -> int:
        """The number of earlier values that each field of an item keeps."""
        return int(self._info().kept_versions)

    # ---- Transactions ----

    def transaction(self) -> Transaction:
        """Returns a transaction, for use in a `with`: its changes become durable together when the `with` ends, or not at
        all if it ends with an error.

        Within it, this thread can read and change single items; any other operation on this vault raises
        InvalidArgument. Other threads wait for `wait` seconds and then get Busy. The transaction belongs to the task that
        began it and to tasks that this one starts in the meantime; other tasks on the same thread get InvalidArgument.
        However the `with` is left, even by KeyboardInterrupt at any instant, no transaction stays open.
        """
        return Transaction(self)

    # ---- State ----

    def refresh(self) -> None:
        """Moves to the newest committed state, as every change does automatically."""
        check(lib.vaultfmt_refresh(self._vault))

    def lock(self) -> None:
        """Wipes the vault key and the keys of items that are accessible only when unlocked."""
        check(lib.vaultfmt_lock(self._vault))

    def unlock(
        self,
        *,
        passphrase: str | BytesLike | None = None,
        key_file: KeyFile | None = None,
        raw_key: BytesLike | None = None,
        external: KeyProvider | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Unlocks the vault with the factors of any of its slots, and moves to the newest state."""
        with Arguments() as arguments:
            options = _open_options(arguments, False, limits, None, None, 0)
            factors = Factors(passphrase, key_file, raw_key, external).structure(arguments)
            arguments.check(lib.vaultfmt_unlock(self._vault, factors, options))

    def keep_unlocked(self, seconds: int) -> None:
        """Keeps the vault unlocked for all processes of this user, in the kernel's keyring, for `open_unlocked`. Raises
        NoKernelKeyring.
        """
        check(lib.vaultfmt_keep_unlocked(self._vault, seconds))

    def _info(self) -> Any:
        info = ffi.new("vaultfmt_info *")
        info.struct_size = ffi.sizeof("vaultfmt_info")
        check(lib.vaultfmt_get_info(self._vault, info))
        return info

    @property
    def id(self) -> str:
        """The vault's id: 32 hexadecimal digits."""
        return bytes(self._info().vault_id).hex()

    @property
    def generation(self) -> int:
        """The generation of the state being read, greater than those of all states before it in the file."""
        return int(self._info().generation)

    @property
    def anchor(self) -> str:
        """The state, in a form to be remembered: a program that does can detect a rollback of the file. The form is
        VAULT:GENERATION:CHAIN:OWNER:FLOOR:ROWS and will not change; it has about 40 characters for each replica id under
        which the vault was changed.
        """
        out = ffi.new("const vaultfmt_value **")
        check(lib.vaultfmt_get_anchor(self._vault, out))
        anchor = _value(out)
        assert anchor is not None
        return anchor.decode()

    @property
    def owner(self) -> str:
        """The owners' public key: 64 hexadecimal digits, the same for all slots, and replaced by a rotation. It reveals
        nothing.
        """
        return bytes(self._info().owners).hex()

    @property
    def is_locked(self) -> bool:
        """Whether the vault is locked."""
        return bool(self._info().is_locked)

    @property
    def is_owner(self) -> bool:
        """Whether a full slot opened the vault; otherwise, only the index and some access groups can be read."""
        return bool(self._info().is_owner)

    @property
    def is_writable(self) -> bool:
        """Whether the vault was opened for changing."""
        return bool(self._info().is_writable)

    @property
    def tail(self) -> Tail:
        """What follows the state being read."""
        return Tail(self._info().tail)

    def verdict(self, anchor: str) -> Verdict:
        """Compares the state with a remembered one. Raises InvalidArgument for another vault's anchor.
        """
        out = ffi.new("int32_t *")
        check(lib.vaultfmt_check_anchor(self._vault, c_string(anchor, "an anchor"), out))
        return Verdict(out[0])

    # ---- Slots ----

    def slots(self) -> list[Slot]:
        """Returns the slots, in the order of the header."""
        out = ffi.new("const vaultfmt_slots **")
        check(lib.vaultfmt_get_slots(self._vault, out))
        try:
            return [slot(out[0].slots[index]) for index in range(out[0].count)]
        finally:
            lib.vaultfmt_slots_free(out[0])

    def add_slot(
        self, factors: Factors, *, cost: KDFCost | None = None, name: str = "", groups: Sequence[str] | None = None
    ) -> SlotReport:
        """Adds a slot, or, if `groups` is given, a scoped slot that opens only these access groups; the report contains its
        id.

        A scoped slot can read the vault from now on, but no earlier state; the file is rewritten. Groups that do not exist
        are created. Raises InvalidArgument for factors that already open a slot.
        """
        with Arguments() as arguments:
            options = _slot_options(arguments, cost or KDFCost())
            arguments.bytes(name, options.name)
            if groups is not None:
                options.is_scoped = 1
                options.groups, options.group_count = _texts(groups, arguments)
            identity, out = ffi.new("uint8_t[16]"), report_output()
            arguments.check(lib.vaultfmt_slot_add(self._vault, factors.structure(arguments), options, identity, out))
            return slot_report(out)

    def change_slot(self, factors: Factors, slot_id: str | None = None, *, cost: KDFCost | None = None) -> SlotReport:
        """Changes the factors of the slot with this id, or of the slot that opened the vault. The slot keeps its id,
        name, groups and place; whoever has an old copy of the file and the old factors can still read later states, until the
        keys are rotated, or until a scoped slot is removed or its grants change.
        """
        with Arguments() as arguments:
            options = _slot_options(arguments, cost) if cost else ffi.NULL
            identity = ffi.NULL if slot_id is None else _slot_id(slot_id)
            out = report_output()
            arguments.check(lib.vaultfmt_slot_change(self._vault, identity, factors.structure(arguments), options, out))
            return slot_report(out)

    def rename_slot(self, slot_id: str, name: str) -> None:
        """Renames a slot."""
        with Arguments() as arguments:
            check(lib.vaultfmt_slot_rename(self._vault, _slot_id(slot_id), arguments.bytes(name)))

    def grant(self, slot_id: str, groups: Sequence[str]) -> SlotReport:
        """Replaces the access groups that a scoped slot opens. Groups that the slot gains or loses get new keys, and the
        file is rewritten.
        """
        with Arguments() as arguments:
            out = report_output()
            check(lib.vaultfmt_slot_grant(self._vault, _slot_id(slot_id), *_texts(groups, arguments), out))
            return slot_report(out)

    def remove_slot(self, slot_id: str) -> SlotReport:
        """Removes a slot. Raises LastSlot, NoSuchSlot."""
        out = report_output()
        check(lib.vaultfmt_slot_remove(self._vault, _slot_id(slot_id), out))
        return slot_report(out)

    def rotate(self, *kept: Factors, made_again: Mapping[str, KeyProvider] | None = None) -> SlotReport:
        """Encrypts everything again under new keys. Slots that none of these factors open are dropped and listed in the
        report.

        `made_again` lists the ids of slots that require only an external key, for which their providers generate new keys
        without anyone's token or identity.
        """
        with Arguments() as arguments:
            all_factors = arguments.keep(ffi.new("vaultfmt_factors[]", max(len(kept), 1)))
            for index, factors in enumerate(kept):
                factors.fill(all_factors[index], arguments)
            again = arguments.keep(ffi.new("vaultfmt_made_again[]", max(len(made_again or {}), 1)))
            for index, (slot_id, provider) in enumerate((made_again or {}).items()):
                again[index].id = _slot_id(slot_id)
                again[index].provider = provider_structure(provider, arguments)
            out = report_output()
            arguments.check(lib.vaultfmt_rotate(self._vault, all_factors, len(kept), again, len(made_again or {}), out))
            return slot_report(out)

    # ---- Merging ----

    def merge(
        self, other: Vault, *, rehearsal: bool = False, accept_old_keys: bool = False, take_dropped: bool = False
    ) -> MergeReport:
        """Merges another copy of this vault into it, in one change or not at all; the copy is only read. Open it with
        `memory=False`, so that it is not compared with what this machine remembers.

        With `rehearsal`, nothing is written. With `accept_old_keys`, values that the copy stored under keys that this vault
        has since replaced are taken in, to be settled or as earlier values: someone with a leaked old passphrase may have
        written them. With `take_dropped`, changes that were dropped with `local.accept` are taken in again.

        Raises InvalidArgument for another vault, or within a transaction; Forked for changes that were dropped; ForeignOwner
        for a copy that was continued under other keys; NotPermitted, ReadOnly.
        """
        with Arguments() as arguments:
            options = arguments.structure("vaultfmt_merge_options")
            options.is_rehearsal = rehearsal
            options.accepts_old_keys = accept_old_keys
            options.takes_dropped = take_dropped
            out = ffi.new("const vaultfmt_merge_report **")
            check(lib.vaultfmt_merge(self._vault, other._vault, options, out))
            return merge_report(out)

    def conflicts(self) -> tuple[Conflict, ...]:
        """Returns what merges have left to settle, with the values, sorted by key. Raises NotPermitted for a scoped slot,
        Locked.
        """
        out = ffi.new("const vaultfmt_conflicts **")
        check(lib.vaultfmt_get_conflicts(self._vault, out))
        return conflicts(out)

    def settle(self, key: KeyLike, keep: Iterable[ConflictValue] = ()) -> None:
        """Settles what merges have left of an item: of each field, the value in `keep` or, if there is none, the one that is
        shown is the only one afterwards. Secrets and sealed attributes that are not kept become earlier values. A value that is kept
        is in the item's place, whatever its own `place`: ask before you let others read it.

        Raises NoSuchItem if the item or a value does not exist, InvalidArgument for two values of one field, and
        DuplicateItem, DeviceBound.
        """
        with Arguments() as arguments:
            chosen = list(keep)
            ids = arguments.keep(ffi.new("vaultfmt_conflict_id[]", max(len(chosen), 1)))
            for index, value in enumerate(chosen):
                value.fill(ids[index], arguments)
            check(lib.vaultfmt_settle(self._vault, key_structure(_key(key), arguments), ids, len(chosen)))

    # ---- Maintenance ----

    def compact(self) -> tuple[int, int]:
        """Rewrites the file without dead data; returns its length before and after."""
        before, after = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        check(lib.vaultfmt_compact(self._vault, before, after))
        return int(before[0]), int(after[0])

    def repair(self) -> str | None:
        """Moves a damaged tail to a file next to the vault, so that the vault can be changed again. Returns that file's
        path; None if the tail was not damaged.
        """
        out = ffi.new("const vaultfmt_value **")
        check(lib.vaultfmt_repair(self._vault, out))
        kept = _value(out)
        return None if kept is None else os.fsdecode(kept)

    def verify(self) -> Report:
        """Authenticates every byte of every object. Damage is listed in the report and does not raise an error."""
        out = ffi.new("const vaultfmt_report **")
        check(lib.vaultfmt_verify(self._vault, out))
        found = out[0]
        try:
            problems = [found.problems[index] for index in range(found.listed_problems)]
            return Report(
                is_sound=bool(found.is_sound),
                items=found.items,
                objects=found.objects,
                unopened=found.unopened,
                problem_count=found.problem_count,
                items_with_past=found.items_with_past,
                forgotten_values=found.forgotten_values,
                problems=tuple((to_text(one.what), one.offset if one.has_offset else None) for one in problems),
            )
        finally:
            lib.vaultfmt_report_free(found)

    def statistics(self) -> Statistics:
        """Returns statistics. Reads the whole index."""
        out = ffi.new("vaultfmt_statistics *")
        out.struct_size = ffi.sizeof("vaultfmt_statistics")
        check(lib.vaultfmt_get_statistics(self._vault, out))
        return Statistics(
            items=out.items,
            items_with_past=out.items_with_past,
            forgotten_values=out.forgotten_values,
            file_bytes=out.file_bytes,
            live_bytes=out.live_bytes,
            dead_bytes=out.dead_bytes,
            tree_height=out.tree_height,
            is_memory_locked=bool(out.is_memory_locked),
            kept_versions=out.kept_versions,
            replicas=out.replicas or None,
        )


class _Cursor(Iterator[Item]):
    """Iterates over items; the C cursor is closed after the last one, or with this object.

    Only one thread at a time may use it; others get InvalidArgument.
    """

    def __init__(self, cursor: Any) -> None:
        self._cursor = ffi.gc(cursor, lib.vaultfmt_cursor_close)

    def __reduce__(self) -> Any:
        raise TypeError("an iterator over a vault cannot be copied or pickled")

    def __next__(self) -> Item:
        cursor = self._cursor
        if cursor is None:
            raise StopIteration
        out = ffi.new("const vaultfmt_item **")
        check(lib.vaultfmt_cursor_next(cursor, out))
        if out[0] == ffi.NULL:
            self._cursor = None
            raise StopIteration
        return item(ffi.gc(out[0], lib.vaultfmt_item_free))


def _query(filters: dict[str, Any], arguments: Arguments) -> Any:
    unknown = filters.keys() - Filters.__annotations__.keys()
    if unknown:
        raise TypeError(f"there is no filter {', '.join(sorted(unknown))}")
    query = arguments.structure("vaultfmt_query")
    query.port = filters.get("port", -1)
    query.synchronizable = filters.get("synchronizable", -1)
    query.accessibility = filters.get("accessibility", 0)
    if "item_class" in filters:
        query.item_class = _class_number(filters["item_class"])
    for name in ("service", "account", "server", "protocol", "path", "group", "label", "pattern"):
        arguments.bytes(filters.get(name), getattr(query, name))
    return query


def _class_number(kind: type[_Key] | int) -> int:
    if kind is OtherItem:
        raise ValueError("a class without a type of its own is named by its number")
    return kind if isinstance(kind, int) else kind.item_class


def _value(out: Any) -> bytes | None:
    """Returns a copy of a `vaultfmt_value`, which is wiped and freed; None for NULL."""
    if out[0] == ffi.NULL:
        return None
    try:
        return to_bytes(out[0].bytes)
    finally:
        lib.vaultfmt_value_free(out[0])


def _secret(secret: Any) -> Any:
    if isinstance(secret, str):
        raise TypeError("a secret is bytes: encode text")
    if secret is None:
        raise TypeError("a secret is bytes, not None")
    return secret


def _texts(texts: Sequence[str], arguments: Arguments) -> tuple[Any, int]:
    if isinstance(texts, str):
        raise TypeError("groups are a sequence of names, not one")
    array = arguments.keep(ffi.new("vaultfmt_bytes[]", max(len(texts), 1)))
    for index, text in enumerate(texts):
        arguments.bytes(text, array[index])
    return array, len(texts)


def _details(
    arguments: Arguments,
    *,
    attributes: Mapping[str, AttributeValue | None] | None = None,
    replace_attributes: bool = False,
    accessibility: Accessibility | None = None,
    created: Moment | None = None,
    modified: Moment | None = None,
) -> Any:
    details = arguments.structure("vaultfmt_details")
    details.accessibility = accessibility or 0
    details.replaces_attributes = replace_attributes
    details.created = _UNSET if created is None else milliseconds(created)
    details.modified = _UNSET if modified is None else milliseconds(modified)
    fill_attributes(details, attributes, arguments)
    return details


def _slot_id(text: str) -> Any:
    identity = bytes.fromhex(text)
    if len(identity) != 16:
        raise ValueError("a slot's id has 32 hexadecimal digits")
    return ffi.new("uint8_t[16]", identity)


def _slot_options(arguments: Arguments, cost: KDFCost) -> Any:
    options = arguments.structure("vaultfmt_slot_options")
    options.kdf_memory = cost.memory_kib
    options.kdf_passes = cost.passes
    options.kdf_lanes = cost.lanes
    options.allow_weak_kdf = cost.allow_weak
    return options
