"""What a commit states of the state that it is for (section 5.6)."""

from dataclasses import replace
from typing import Any

from .codec import Limit, require
from .contents import Contents
from .drafts import Shelf
from .frames import PAST, Place, Reference
from .header import Header
from .items import Entry
from .objects import Commit
from .output import Output
from .past import Past
from .sealing import Draft
from .tree import Node

# By item id: the key and the entry.
Entries = dict[bytes, tuple[bytes, Entry]]


def stays(_shelf: Shelf, _item: bytes, _source: Any, place: Place) -> Place:
    """In place, records are where they were."""
    return place


def written(draft: Draft, output: Output) -> Draft:
    """With its past in the file."""
    if draft.past is None:
        return draft
    body = draft.past.encode()
    body += bytes(-(len(body) + 48) % 256)
    require(len(body) + 48 <= Limit.PAST and len(draft.past.dots) <= Limit.PAST_DOTS, "more than an item may keep (R-11.2)", "limit")
    return Draft(replace(draft.entry, past=output.append_sealed("past", PAST, body)), draft.past)


def frames_of(entry: Entry, output: Output) -> dict[int, int]:
    """The lengths of all frames that an entry leads to, by offset."""
    frames = {each.record.offset: each.record.length for each in entry.places}
    if entry.past is not None:
        frames[entry.past.offset] = entry.past.length
        frame = bytes(output.data[entry.past.offset : entry.past.end])
        past = Past.decode(output.keys.unseal_at("past", entry.past.offset, frame))
        frames |= {each.record.offset: each.record.length for each in past.places}
    return frames


def core_of(
    contents: Contents, entries: Entries, root: Node | None, live: dict[int, int], named: tuple[Reference, Reference], header: Header,
    own: int,
) -> Commit:  # fmt: skip
    """What follows from the contents. Generations, place and digest are filled in elsewhere; `named` are keyring and vector."""
    keyring, vector = named
    reference, level = (root.reference, root.level) if root and root.reference else (Reference(), 0)
    pasts = sum(entry.past is not None for _, entry in entries.values())
    clock = contents.vector.clock
    length = header.body + Limit.COMMIT + keyring.length + sum(live.values())
    return Commit(
        0, 0, b"", 0, 0, clock, contents.vector.floor, 0, reference, level, keyring, vector, header.hash, b"", len(entries),
        len(contents.forgotten), pasts, length, own, clock if own else 0,
    )  # fmt: skip
