"""Authenticates every byte of a file: also of past states, and what no state names any more."""

from collections import Counter

from .codec import Refused, require
from .crypto import object_data, unseal
from .objects import Page, chained
from .reader import Item, Reader

KINDS = {b"vPAG": "page", b"vKEY": "keyring", b"vHIS": "history"}


def verify(reader: Reader) -> Counter[str]:
    """Counts what it opened, by kind; `unopened` are records whose key is not at hand."""
    counts: Counter[str] = Counter()
    first = reader.state
    for state in reader.past():
        reader.check_owner(state)
        require(reader.has_digest(state.commit), f"the digest of generation {state.commit.generation}", "authentication-failed")
        for offset, frame in reader.appended(state.commit):
            counts[open_object(reader, offset, frame)] += 1
        counts["commit"] += 1
        first = state
    check_history(reader, first.commit.chain_before)
    for slot in reader.header.slots if reader.keys.is_owner else []:
        reader.owner_part(slot)
    for each in reader.walk():
        if isinstance(each, Item) and each.reason not in ("", "no-key", "device-bound"):
            raise Refused(each.reason, f"an item of the record at {each.entry.record.offset}")
        counts["item" if isinstance(each, Item) else "tombstone"] += 1
    require(reader.live == reader.commit.live, "the commit counts other live bytes (R-5.14)")
    return counts


def open_object(reader: Reader, offset: int, frame: bytes) -> str:
    tag = frame[:4]
    if tag in KINDS:
        body = reader.keys.unseal_at(KINDS[tag], offset, frame)
        if tag == b"vPAG":
            Page.decode(body, body[0])
        return KINDS[tag]
    # No page has to name it any more: the locator says what it is, and the seal proves that.
    locator = reader.keys.locator(frame[8:32], frame[32:60])
    compartment = int.from_bytes(locator[24:], "little")
    require(compartment in reader.keyring.compartments, "a record's locator", "authentication-failed")
    try:
        key = reader.compartment_key(compartment)
    except Refused as refused:
        if refused.verdict in ("no-key", "device-bound"):
            return "unopened"
        raise
    bound = object_data("record", reader.vault, locator[:16] + locator[24:] + locator[16:24], frame)
    unseal(key, frame[8:32], bound, frame[60:], f"the record at {offset}")
    return "record"


def check_history(reader: Reader, chain_before: bytes) -> None:
    """Its links lead to the chain value before the first commit in the file, if they begin with generation 1."""
    history = reader.history()
    if history is not None and history.first == 1:
        chain = bytes(32)
        for generation, link in enumerate(history.links, 1):
            chain = chained(reader.vault, generation, chain, link)
        require(chain == chain_before, "a history's links", "authentication-failed")
