"""Opens a vault, and walks all that it holds: sections 3.1, 5 and 7.1. Every byte is checked before it is believed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .codec import ALIGNMENT, Attributes, Limit, Refused, require, str8, u32
from .crypto import Factors, Keys, Policy, derive, hashed, is_same, object_data, unseal
from .header import FULL, Header, Slot, decode_grants, decode_owner_part, header_macs
from .objects import (
    LENGTHS, Commit, Entry, History, Keyring, Page, Reference, Tombstone, chained, commit_mac, decode_record, link,
)

COMMIT_HEAD = b"vCMT" + u32(Limit.COMMIT)


@dataclass
class Item:
    key: bytes
    entry: Entry
    attributes: Attributes
    secret: bytes | None
    # Why the secret is not there: the reasons of Spec/vectors/README.md.
    reason: str = ""


@dataclass(frozen=True)
class State:
    """A commit that opened, with what follows from its body and frame."""

    commit: Commit
    chain: bytes
    frame: bytes = field(repr=False)


class Reader:
    """A vault that was opened (section 7.1). `Refused` says why it was not."""

    def __init__(self, data: bytes, factors: Factors, device: tuple[bytes, bytes] | None = None, policy: Policy | None = None) -> None:
        self.data, self.device = data, device
        self.header = Header.decode(data)
        self.vault = self.header.vault
        self.keys = self.open_slot(factors, policy or Policy())
        macs = header_macs(self.keys, self.header.raw[:-64])
        require(is_same(macs, self.header.raw[-64:][: len(macs)]), "the header's MACs (R-3.3)", "authentication-failed")
        if not self.keys.is_owner:
            self.keys.grants = decode_grants(self.payload)
        self.find_state()
        commit = self.commit = self.state.commit
        body = self.keys.unseal_at("keyring", commit.keyring.offset, self.frame(commit.keyring, b"vKEY"))
        self.keyring = Keyring.decode(body)

    # Slots

    def open_slot(self, factors: Factors, policy: Policy) -> Keys:
        slots = [slot for slot in self.header.slots if slot.factors == factors.kinds]
        for slot in slots:
            kdf = slot.stretching
            is_allowed = kdf.memory <= policy.memory and kdf.passes <= policy.passes and kdf.lanes <= policy.lanes
            require(is_allowed, "a slot's KDF cost (R-3.6)", "kdf-limit")
        spent = 0
        for slot in slots:
            spent += slot.stretching.memory * slot.stretching.passes
            require(spent <= policy.total, "the KDF cost of all slots (R-3.6)", "kdf-limit")
            key = factors.slot_key(self.vault, slot.parameters, slot.stretching)
            if is_same(derive(key, "vaultfmt-1 slot commitment"), slot.commitment):
                self.slot, self.slot_key = slot, key
                self.payload = payload = self.open_payload(slot, derive(key, "vaultfmt-1 slot wrap"))
                if slot.kind == FULL:
                    return Keys(self.vault, self.header.epoch, payload)
                return Keys.scoped(self.vault, payload[:32], payload[32:64], {})
        raise Refused("no-slot-opens", "no slot opens with these factors")

    def open_payload(self, slot: Slot, wrapping_key: bytes) -> bytes:
        bound = str8("vaultfmt-1 slot") + self.vault + slot.clear
        return unseal(wrapping_key, slot.nonce, bound, slot.payload, "a slot's payload")

    def owner_part(self, slot: Slot) -> tuple[bytes, list[int]]:
        """For owners: a slot's name, and the groups that a scoped one grants."""
        bound = str8("vaultfmt-1 slot owner") + self.vault + slot.clear
        plain = unseal(self.keys.slot_owner, slot.owner_nonce, bound, slot.owner_part, "an owner part")
        name, wrapping_key = decode_owner_part(slot.kind, plain)
        return name, [] if slot.kind == FULL else list(decode_grants(self.open_payload(slot, wrapping_key)))

    # The state

    def find_state(self) -> None:
        """Section 7.1, steps 2 to 4."""
        self.live = 0
        newest = self.newest_commit()
        self.check_served(newest)
        self.incomplete = not self.is_complete(newest.commit)
        self.state = newest
        if self.incomplete:
            before = self.commit_at(newest.commit.previous) if newest.commit.previous else None
            if before is None:
                raise Refused("authentication-failed", "the newest generation is incomplete, and there is none before it")
            is_next = newest.commit.follows(before.commit, before.chain)
            require(is_next, "the generation before is not the one that is named", "authentication-failed")
            self.check_served(before)
            require(self.is_complete(before.commit), "two generations are incomplete", "authentication-failed")
            self.state = before
        rest = self.data[newest.commit.end :]
        self.is_tail_damaged = len(rest) > Limit.RESERVE or any(rest)

    def newest_commit(self) -> State:
        # A commit's head is what the search looks for; what opens as a commit is one.
        at = len(self.data)
        while (at := self.data.rfind(COMMIT_HEAD, len(self.header.raw), at)) >= 0:
            if at % ALIGNMENT == 0 and (state := self.commit_at(at)):
                return state
            at += len(COMMIT_HEAD) - 1
        raise Refused("authentication-failed", "no commit opens")

    def commit_at(self, offset: int) -> State | None:
        frame = self.data[offset : offset + Limit.COMMIT]
        if len(frame) < Limit.COMMIT or frame[:8] != COMMIT_HEAD:
            return None
        try:
            body = self.keys.unseal_at("commit", offset, frame[:384])
        except Refused:
            return None
        if not is_same(commit_mac(self.keys.reader, "reader", self.vault, frame[:384]), frame[384:416]):
            return None
        commit = Commit.decode(body, offset, len(self.header.raw))
        return State(commit, chained(self.vault, commit.generation, commit.chain_before, link(body)), frame)

    def check_owner(self, state: State) -> None:
        if self.keys.is_owner:
            owner_mac = commit_mac(self.keys.owner, "owner", self.vault, state.frame[:384])
            require(is_same(owner_mac, state.frame[416:]), "a commit's owner MAC (R-5.9)", "authentication-failed")

    def check_served(self, state: State) -> None:
        self.check_owner(state)
        is_bound = state.commit.header_hash == hashed(self.header.raw)
        require(is_bound, "a commit that names another header (R-5.11)", "authentication-failed")

    def is_complete(self, commit: Commit) -> bool:
        return commit.flags == 1 or self.has_digest(commit)

    def has_digest(self, commit: Commit) -> bool:
        try:
            hashes = b"".join(hashed(frame) for _, frame in self.appended(commit))
        except Refused:
            return False
        return hashed(str8("vaultfmt-1 digest") + hashes) == commit.digest

    def appended(self, commit: Commit) -> Iterator[tuple[int, bytes]]:
        """The frames between the commit before and the padding (section 2)."""
        at = commit.start
        while commit.offset - at >= ALIGNMENT or any(self.data[at : commit.offset]):
            tag, length = self.data[at : at + 4], int.from_bytes(self.data[at + 4 : at + 8], "little")
            require(tag in LENGTHS, f"no object at {at} (R-2.1)")
            Reference(at, length).check(tag, commit.start, commit.offset)
            yield at, self.data[at : at + length]
            at += length

    def past(self) -> Iterator[State]:
        """The state that is served, and those before it in the file."""
        state = self.state
        yield state
        while state.commit.previous:
            before = self.commit_at(state.commit.previous)
            if before is None or not state.commit.follows(before.commit, before.chain):
                raise Refused("authentication-failed", f"what is before generation {state.commit.generation}")
            state = before
            yield state

    def history(self) -> History | None:
        commit = self.commit
        if commit.history.is_absent:
            return None
        history = History.decode(self.keys.unseal_at("history", commit.history.offset, self.frame(commit.history, b"vHIS")))
        after = history.first + len(history.links)
        require(after == commit.generation if commit.previous == 0 else after < commit.generation, "a history's generations")
        return history

    def compare(self, generation: int, chain: bytes) -> str:
        """How the state stands to an anchor (section 7.2)."""
        if generation > self.commit.generation:
            return "older"
        for state in self.past():
            if state.commit.generation == generation:
                is_same_chain = state.chain == chain
                return ("same" if state is self.state else "descends") if is_same_chain else "forked"
        history = self.history()
        if generation + 1 != state.commit.generation:
            if history is None or generation + 1 < history.first:
                return "unprovable"
            for number in range(generation + 1, state.commit.generation):
                chain = chained(self.vault, number, chain, history.links[number - history.first])
        return "descends" if chain == state.commit.chain_before else "forked"

    # Objects

    def frame(self, reference: Reference, tag: bytes) -> bytes:
        """What a reference names, whole. It has been checked to end before what names it."""
        frame = self.data[reference.offset : reference.end]
        require(is_same(hashed(frame), reference.hash), f"the hash of what is at {reference.offset}", "authentication-failed")
        require(frame[:8] == tag + u32(reference.length), f"no {tag.decode()} of that length at {reference.offset}")
        return frame

    def page(self, reference: Reference, level: int) -> Page:
        return Page.decode(self.keys.unseal_at("page", reference.offset, self.frame(reference, b"vPAG")), level)

    def entries(self) -> Iterator[tuple[bytes, bytes, Reference]]:
        """Each key with its value and its page, in order."""
        if not self.commit.root.is_absent:
            yield from self.subtree(self.commit.root, self.commit.level, b"", None)

    def subtree(self, reference: Reference, level: int, low: bytes, high: bytes | None) -> Iterator[tuple[bytes, bytes, Reference]]:
        page = self.page(reference, level)
        self.live += reference.length
        require(all(low <= key and (high is None or key < high) for key in page.keys), "a key outside of its range (R-5.6)")
        for key, value in zip(page.keys, page.values, strict=True) if level == 0 else []:
            yield key, value, reference
        # A page is checked as a whole, before anything below it is released.
        for child in page.children:
            child.check(b"vPAG", len(self.header.raw), reference.offset)
        for child, first, last in zip(page.children, [low, *page.keys], [*page.keys, high], strict=True) if level > 0 else []:
            yield from self.subtree(child, level - 1, first, last)

    def walk(self) -> Iterator[Item | Tombstone]:
        """Everything that the tree holds, with secrets, in order; counts the live bytes on the way."""
        self.live = len(self.header.raw) + self.commit.keyring.length + self.commit.history.length + Limit.COMMIT
        items = tombstones = 0
        for key, value, page in self.entries():
            if key[:1] == b"\x7e":
                tombstones += 1
                yield Tombstone.decode(key, value, self.keyring)
                continue
            items += 1
            entry = Entry.decode(key, value, self.keyring)
            entry.record.check(b"vREC", len(self.header.raw), page.offset)
            self.live += entry.record.length
            try:
                yield self.item(key, entry)
            except Refused as refused:
                yield Item(key, entry, entry.attributes, None, refused.verdict)
        require((items, tombstones) == (self.commit.items, self.commit.tombstones), "the commit counts other items")

    def item(self, key: bytes, entry: Entry) -> Item:
        record_key = self.compartment_key(entry.compartment)
        frame = self.frame(entry.record, b"vREC")
        bound = object_data("record", self.vault, entry.identity, frame)
        body = unseal(record_key, frame[8:32], bound, frame[60:], f"the record at {entry.record.offset}")
        secret, attributes = decode_record(body, key, entry)
        return Item(key, entry, attributes, secret)

    def compartment_key(self, number: int) -> bytes:
        compartment = self.keyring.compartments[number]
        wrapped = compartment.wrapped
        group_key = self.group_key(compartment.group)
        key = unseal(group_key, wrapped[:24], compartment.data("compartment", self.vault), wrapped[24:], "a compartment's key")
        if not compartment.is_bound:
            return key
        if self.device is None or self.device[0] != compartment.device:
            raise Refused("device-bound", "a secret of another device")
        device_key = derive(self.device[1], "vaultfmt-1 device", self.vault)
        try:
            return unseal(device_key, key[:24], compartment.data("device compartment", self.vault), key[24:], "the inner layer")
        except Refused:
            raise Refused("device-bound", "a secret of another device, or of another secret of this one") from None

    def group_key(self, number: int) -> bytes:
        if not self.keys.is_owner:
            if number not in self.keys.grants:
                raise Refused("no-key", "a group that the slot does not grant")
            return self.keys.grants[number]
        group = self.keyring.groups[number]
        return unseal(self.keys.keyring, group.wrapped[:24], group.data(self.vault), group.wrapped[24:], "a group's key")
