"""Verification of a whole file, and what salvage may take: what nothing has to refer to any more is authenticated too."""

from collections import Counter
from collections.abc import Iterator

from .anchors import commits
from .codec import Refused, require
from .dots import VectorFrame
from .frames import CHUNK, KINDS, PAGE, PAST, RECORD, Place, Reference
from .holding import ItemState, Named, decode_item
from .keyring import Keyring
from .objects import ATTRIBUTE, AttributeRecord, ItemRecord, Page
from .past import ATTRIBUTE_KIND, SECRET_FIELD, Past, entry_fields
from .reader import WITHHELD, Item, Reader, open_record
from .slots import SCOPED
from .state import Opened
from .views import Viewing


def verify(reader: Reader) -> Counter[str]:
    """Counts what it opened, by kind. `unopened` are records whose key is not at hand.

    As Spec/vectors/README.md lists it: the header's copy; the tail; every commit in the file with its proof, padding and digest;
    everything that they appended; the vectors; the slots' owner parts; and everything that the state holds.
    """
    counts: Counter[str] = Counter()
    header = reader.header
    require(reader.data[header.length : header.body] == header.raw, "the header's copy (R-3.5)", "authentication-failed")
    require(reader.tail == "", f"what follows the state is {reader.tail} (R-7.3)", f"tail-{reader.tail}")
    first = reader.opened
    for opened in commits(reader):
        check_commit(reader, opened)
        for offset, frame in reader.appended(opened.commit):
            counts[open_frame(reader, offset, frame)] += 1
        counts["commit"] += 1
        first = opened
    require(first.start == header.body, "what is before a commit cannot be read", "authentication-failed")
    check_slots(reader)
    check_contents(reader, counts)
    return counts


def check_commit(reader: Reader, opened: Opened) -> None:
    """A past commit may belong to an earlier header, with other slots: so its signature may be zeros."""
    reader.check_proof(opened)
    commit = opened.commit
    commit.check(opened.offset, reader.header.body)
    require(reader.has_digest(commit), f"the digest of generation {commit.generation} (R-2.1)", "authentication-failed")
    is_signed = any(opened.signature)
    if opened is reader.opened:
        #
        needs = any(slot.kind != 1 or not slot.is_known for slot in reader.header.slots)
        require(is_signed == needs, "a signature that is missing, or that nobody needs (R-5.19)", "authentication-failed")
    require(not is_signed or reader.has_signature(opened), "a commit's signature (R-5.20)", "authentication-failed")


def open_frame(reader: Reader, offset: int, frame: bytes) -> str:
    """The kind of what a commit appended, dead or alive."""
    tag = frame[:4]
    if tag == CHUNK:
        return "unopened"
    if tag == RECORD:
        return open_dead_record(reader, offset, frame)
    if tag == PAST and not reader.keys.is_owner:
        return "unopened"
    body = reader.keys.unseal_at(KINDS[tag], offset, frame)
    if tag == PAGE:
        Page.decode(body, body[0])
    elif tag == PAST:
        Past.decode(body)
    elif KINDS[tag] == "keyring":
        Keyring.decode(body)
    else:
        VectorFrame.decode(body)
    return KINDS[tag]


def open_dead_record(reader: Reader, offset: int, frame: bytes) -> str:
    """No page has to refer to it: the locator tells an owner what it is, and the seal proves that."""
    if not reader.keys.is_owner:
        return "unopened"
    item, place = located(reader, offset, frame)
    if place.compartment not in reader.keyring.compartments:
        return "unopened"
    try:
        key = reader.keyring.compartment_key(reader.keys, place.compartment, reader.devices)
    except Refused as refused:
        if refused.verdict in WITHHELD:
            return "unopened"
        raise
    body = open_record(reader.keys.vault, key, item, place, frame)
    decode_any(body)
    return "record"


def located(reader: Reader, offset: int, frame: bytes) -> tuple[bytes, Place]:
    """What a record's locator says."""
    locator = reader.keys.locator(frame[8:32], frame[32:64])
    compartment, revision = (int.from_bytes(locator[at : at + 8], "little") for at in (16, 24))
    return locator[:16], Place(Reference(offset, len(frame)), revision, compartment)


def decode_any(body: bytes) -> ItemRecord | AttributeRecord:
    return AttributeRecord.decode(body) if body[:1] == bytes([ATTRIBUTE]) else ItemRecord.decode(body)


def check_slots(reader: Reader) -> None:
    for slot in reader.header.slots if reader.keys.is_owner else []:
        part = reader.owner_part(slot)
        if slot.kind == SCOPED:
            reader.grants(slot, part)


def check_contents(reader: Reader, counts: Counter[str]) -> None:
    """R-5.25, R-6.9, and everything that the state refers to."""
    reader.reached.clear()
    # The vectors are read again, as live bytes.
    for name in ("vector", "vector_frame"):
        reader.__dict__.pop(name, None)
    require(reader.vector.rows != {}, "a state without rows (R-5.33)")
    ids: set[bytes] = set()
    items, gone = list[Item](), set[Named]()
    for each in reader.walk():
        if not isinstance(each, Item):
            counts["forgotten"] += 1
            gone.add((SECRET_FIELD if each.kind == 0 else (ATTRIBUTE_KIND, each.name), each.dot))
            continue
        counts["item"] += 1
        require(each.entry.id not in ids, "two items have one id (R-6.9)")
        ids.add(each.entry.id)
        for reason in failures(each):
            raise Refused(reason, f"an item of the record at {each.entry.place.record.offset}")
        counts["past"] += each.past is not None
        items.append(each)
    for over in reader.keyring.hand_overs:
        reader.hand_over_rows(over)
    if reader.keys.is_owner:
        for each in items:
            check_shown(reader, each, gone)
        live = reader.header.body + sum(reader.reached.values()) + reader.commit.keyring.length + len(reader.opened.frame)
        require(live == reader.commit.live, "the commit states other live bytes (R-5.25)")


def check_shown(reader: Reader, each: Item, gone: set[Named]) -> None:
    """R-6.22: that the entry has what the item shows, as far as that takes no record to tell."""
    item = decode_item(each.key, each.entry, each.past, reader.keyring, reader.vector)
    shown, where, _ = Viewing(item, of_item(item, gone)).shown()
    has = {field: reader.vector.dot(stored) for field, stored, _ in entry_fields(each.entry)}
    compartment = reader.keyring.compartments[each.entry.place.compartment]
    is_there = (where.accessibility, where.device) == (compartment.accessibility, compartment.device)
    require(shown == has and is_there, "an entry has something else than its item shows (R-6.22)")


def of_item(item: ItemState, gone: set[Named]) -> frozenset[Named]:
    return frozenset(item.names & gone)


def failures(each: Item) -> Iterator[str]:
    for reason in (*each.live.reasons, each.past_reason, *(reason for kept in each.kept for reason in kept.reasons)):
        if reason and reason not in WITHHELD:
            yield reason
