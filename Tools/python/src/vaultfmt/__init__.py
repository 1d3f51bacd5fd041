"""Encrypted single-file vaults of passwords, certificates, keys and identities.

    import vaultfmt

    with vaultfmt.create("example.vault", passphrase="correct horse battery staple") as vault:
        vault["example.org", "ann"] = b"s3cret"
        print(vault["example.org", "ann"])

A vault is a mapping from keys (`GenericPassword` and the other classes; a pair is a service and an account) to secrets,
which are bytes. In addition, `item`, `search`, `add`, `set`, `change`, `move` and `remove` support attributes, dates and
filters, `earlier_values` and `restore` give access to overwritten values, `merge`, `conflicts` and `settle` bring copies
together, and `transaction` makes several changes durable together. Every error is a `VaultError`, with a subclass for each status.

Python's bytes and strings are in ordinary memory that is never wiped. `Vault.open` lends a secret in memory that is.
"""

from .earlier import EarlierValue, NewEarlierValue, OpenedEarlierValue
from .errors import *  # noqa: F403
from .errors import __all__ as _errors
from .external import ExternalSlot, KeyProvider, WrappedKey
from .items import (
    Attribute,
    Certificate,
    GenericPassword,
    Identity,
    InternetPassword,
    Item,
    ItemKey,
    KeyItem,
    OpenedItem,
    OtherItem,
)
from .merging import Conflict, ConflictValue, Field, MergeNote, MergeOutcome, MergeReport, NoteKind, Place
from .slots import SlotReport
from .values import (
    Accessibility,
    AttributeFlags,
    Factors,
    Inspection,
    KDFCost,
    Limits,
    Report,
    Slot,
    Statistics,
    Tail,
    Verdict,
    format_version,
    generate_device,
    generate_key_file,
    inspect,
    library_version,
)
from .vault import Vault, create, end_unlocked, open, open_unlocked

__version__ = library_version()

__all__ = [
    "Accessibility",
    "Attribute",
    "AttributeFlags",
    "Certificate",
    "Conflict",
    "ConflictValue",
    "EarlierValue",
    "ExternalSlot",
    "Factors",
    "Field",
    "GenericPassword",
    "Identity",
    "Inspection",
    "InternetPassword",
    "Item",
    "ItemKey",
    "KDFCost",
    "KeyItem",
    "KeyProvider",
    "Limits",
    "MergeNote",
    "MergeOutcome",
    "MergeReport",
    "NewEarlierValue",
    "NoteKind",
    "OpenedEarlierValue",
    "OpenedItem",
    "OtherItem",
    "Place",
    "Report",
    "Slot",
    "SlotReport",
    "Statistics",
    "Tail",
    "Vault",
    "Verdict",
    "WrappedKey",
    "create",
    "end_unlocked",
    "format_version",
    "generate_device",
    "generate_key_file",
    "inspect",
    "open",
    "open_unlocked",
    *_errors,
]
