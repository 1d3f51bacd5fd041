"""Changes a vault in place, one commit at a time: sections 6 and 7.4. What it makes are the bytes of the whole new file.

Locks, syncing and renaming are a process's business, and not here.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from .codec import NO_DEVICE, Limit, Refused, refuse_read_only, require
from .drafts import Content, Draft, Now, Revisions, Shelf
from .frames import HISTORY, KEYRING, VERSIONS, Place, Reference
from .header import Header
from .items import MEANING, TOMBSTONE, Attribute, Entry, Tombstone
from .keyring import OWNERS
from .objects import Ancestor, Commit, History, Version, encode_versions
from .output import Output, needs_signature
from .reader import Reader, Value, open_record
from .ring import Random, Ring
from .tree import Changes, Load, Node, changed, pages, write


class Transaction:
    """Changes on top of a state, for one commit in place."""

    def __init__(self, reader: Reader, random: Random, now: Now, device: bytes = NO_DEVICE) -> None:
        require(reader.keys.is_owner, "a scoped slot cannot write", "not-an-owner")
        refuse_read_only(reader.header.extensions + reader.keyring.extensions)
        self.reader, self.random, self.now, self.device = reader, random, now, device
        self.revisions = Revisions(reader.commit.clock, now)
        self.ring = Ring(reader.keyring, reader.keys, random, reader.devices)
        self.shelf = Shelf(self.ring, self.revisions)
        self.entries: dict[bytes, tuple[Entry, int]] = {}
        self.tombstones: dict[bytes, Tombstone] = {}
        self.drafts: dict[bytes, Draft] = {}
        self.changes: dict[bytes, Draft | Tombstone | None] = {}
        self.horizon = reader.commit.horizon
        for key, value, page in reader.entries():
            if key[0] == TOMBSTONE:
                self.tombstones[key[1:]] = Tombstone.decode(key, value, reader.keyring, reader.commit.clock)
            else:
                self.entries[key] = Entry.decode(key, value, reader.keyring, reader.commit.clock), page

    # Reading what is there

    def draft(self, key: bytes) -> Draft | None:
        if key in self.changes:
            found = self.changes[key]
            return found if isinstance(found, Draft) else None
        if key not in self.entries:
            return None
        entry, page = self.entries[key]
        if key not in self.drafts:
            self.drafts[key] = Draft.of(key, entry, self.reader.open_versions(entry, page) if entry.versions else [])
        return self.drafts[key]

    def live_keys(self) -> list[bytes]:
        """Of the items that there are."""
        kept = self.entries.keys() - self.changes.keys()
        return sorted(kept | {key for key, change in self.changes.items() if isinstance(change, Draft)})

    def content(self, draft: Draft) -> Content:
        """`Refused` where a record cannot be opened."""
        value = self.opened(draft.id, draft.place, draft.attributes, draft.key)
        for reason in value.reasons:
            raise Refused(reason, "a value that cannot be read")
        assert value.record is not None
        compartment = self.ring.keyring.compartments[draft.place.compartment]
        attributes: dict[bytes, tuple[int, bytes]] = {}
        for each in draft.attributes:
            found = value.value(each)
            assert isinstance(found, bytes)
            attributes[each.name] = each.flags & MEANING, found
        return Content(value.record.key, value.record.secret, attributes, compartment.accessibility, compartment.device)

    def opened(self, item: bytes, place: Place, attributes: tuple[Attribute, ...], key: bytes | None = None) -> Value:
        if place.record.hash in self.shelf.frames:
            raise Refused("busy", "a value that this transaction made; commit first")
        return self.reader.value(item, place, attributes, self.reader.commit.offset, key)

    def body(self, item: bytes, place: Place) -> bytes:
        """Also of a record that is on the shelf."""
        frame = self.shelf.frames.get(place.record.hash)
        if frame is not None:
            return open_record(self.reader.keys.vault, self.ring.key(place.compartment), item, place, frame)
        return self.reader.record_body(item, place, self.reader.commit.offset)

    # Changing

    def put(self, content: Content, key: bytes = b"", item: bytes = b"", created: int | None = None) -> Draft:
        """Makes an item, or changes the one that has `key` (the content's, if not given)."""
        old = self.draft(key or content.key)
        require(old is not None or not key, "no such item", "no-item")
        if old is not None:
            return self.change(old, content)
        now, item = self.now(), item or self.item_id()
        place, attributes = self.shelf.seal_content(item, content)
        draft = Draft(
            content.key, item, self.revisions.next(), self.ring.position(self.device), place, attributes,
            now if created is None else created, now,
        )  # fmt: skip
        self.changes[content.key] = draft
        return draft

    def change(self, old: Draft, content: Content) -> Draft:
        before, now = self.content(old), self.now()
        if before == content:
            return old
        place, attributes = self.shelf.seal_content(old.id, content, old, before)
        versions, keep = list(old.versions), self.ring.keyring.keep
        is_replaced = any(content.attributes.get(name) != each for name, each in before.sealed.items())
        if keep and (is_replaced or before.secret != content.secret):
            versions.append(Version(old.revision, old.device, now, old.modified, old.place, old.attributes))
            # A merge can leave a version of the item's own revision, by another device.
            versions = sorted(versions, key=lambda each: (each.revision, each.device))[-keep:]
        draft = replace(old, key=content.key, place=place, attributes=attributes, modified=now)
        draft.versions = self.withdrawn(draft, versions, content.device if content.device != before.device else NO_DEVICE)
        draft.written = old.written if draft.versions == old.versions else None
        draft.revision, draft.device = self.revisions.next(), self.ring.position(self.device)
        if old.key != content.key:
            require(self.draft(content.key) is None, "another item has that key", "item-exists")
            self.changes[old.key] = None
        self.changes[content.key] = draft
        return draft

    def withdrawn(self, draft: Draft, versions: list[Version], newly_bound: bytes = NO_DEVICE) -> list[Version]:
        """What only versions refer to, resealed for owners (R-6.10, R-6.11)."""
        shared = [each.place for each in draft.attributes if each.place]
        moved: dict[Place, Place] = {}

        def owners(place: Place) -> Place:
            here = self.ring.keyring.compartments[place.compartment]
            device = here.device if newly_bound == NO_DEVICE else newly_bound
            if (here.group, here.device) == (OWNERS, device):
                return place
            if place not in moved:
                moved[place] = self.resealed(draft.id, place, device)
            return moved[place]

        def attribute(each: Attribute) -> Attribute:
            is_moved = each.place is not None and each.place not in shared
            return replace(each, place=owners(each.place)) if is_moved and each.place else each

        return [
            replace(each, place=owners(each.place), attributes=tuple(map(attribute, each.attributes))) for each in versions
        ]

    def resealed(self, item: bytes, place: Place, device: bytes) -> Place:
        """Under group 0; what belongs to another device stays where it is."""
        try:
            body = self.body(item, place)
        except Refused as refused:
            if refused.verdict != "device-bound":
                raise
            return place
        return self.shelf.seal(item, body, self.ring.owners(device))

    def remove(self, key: bytes) -> Tombstone:
        """R-6.12: with its versions."""
        draft = self.draft(key)
        if draft is None:
            raise Refused("no-item", "no such item")
        tombstone = Tombstone(draft.id, self.revisions.next(), self.ring.position(self.device), draft.revision, draft.device)
        self.changes[key], self.changes[tombstone.key] = None, tombstone
        return tombstone

    def set_keep(self, number: int) -> None:
        self.ring.keyring = replace(self.ring.keyring, keep=number, keep_revision=self.revisions.next(), keep_device=self.device)

    def item_id(self) -> bytes:
        used = {entry.id for entry, _ in self.entries.values()} | self.tombstones.keys()
        while (item := self.random(16)) in used:
            pass
        return item

    # Committing

    def prune(self) -> None:
        """Takes from the shelf what no item refers to any more."""
        used = {place.record.hash for each in self.changes.values() if isinstance(each, Draft) for place in each.places}
        self.shelf.frames = {of_hash: frame for of_hash, frame in self.shelf.frames.items() if of_hash in used}

    def commit(
        self, merged: Iterable[Ancestor] = (), floor: int = 0, least: int = 0, clock: int = 0, is_synced: bool = False
    ) -> bytes:
        """The file with one more commit. `merged` are the states of another branch, `least` a generation to go on from."""
        reader = self.reader
        self.prune()
        output = Output(reader.data[: reader.commit.end], reader.keys, self.random)
        where = self.shelf.append(output)
        root, everything = self.write_tree(output, where)
        keyring = reader.commit.keyring
        if self.ring.keyring != reader.keyring:
            keyring = output.append_sealed("keyring", KEYRING, self.ring.keyring.encode())
        history = self.write_history(output, list(merged), floor)
        core = core_of(everything, (root, reader.page), keyring, history, reader.header)
        generation, chain = reader.state
        core = replace(
            core, generation=max(generation, least) + 1, before=generation, chain_before=chain, horizon=self.horizon,
            clock=max(self.revisions.clock, clock),
        )  # fmt: skip
        return output.commit(core, needs_signature(reader.header), is_synced)

    def write_tree(self, output: Output, where: Callable[[Place], Place]) -> tuple[Node | None, dict[bytes, Draft | Tombstone]]:
        changes: Changes = {}
        for key, change in sorted(self.changes.items()):
            if isinstance(change, Draft):
                change.placed(where)
                if change.versions and change.written is None:
                    change.written = output.append_sealed("versions", VERSIONS, encode_versions(change.id, change.versions))
                changes[key] = change.entry().encode()
            elif change is None:
                if key in self.entries or key[1:] in self.tombstones:
                    changes[key] = None
            else:
                changes[key] = change.encode()
        reader = self.reader
        old = None if reader.commit.root.is_absent else Node(reader.commit.level, reader.commit.root)
        root = changed(old, changes, reader.page)
        if root is not None:
            write(root, output.append_page)
        return root, self.everything()

    def everything(self) -> dict[bytes, Draft | Tombstone]:
        found: dict[bytes, Draft | Tombstone] = {each.key: each for each in self.tombstones.values()}
        for key in self.live_keys():
            draft = self.draft(key)
            assert draft is not None
            found[key] = draft
        for key, change in self.changes.items():
            if isinstance(change, Tombstone):
                found[key] = change
            elif change is None:
                found.pop(key, None)
        return found

    def write_history(self, output: Output, merged: list[Ancestor], floor: int) -> Reference:
        """In place the predecessors are in the file, and only another branch's states are added."""
        if not merged:
            return self.reader.commit.history
        before = self.reader.history() or History(1, [])
        new = [each for each in merged if each[:2] not in before.states]
        history = folded(max(before.floor, floor), before.ancestors, new)
        return output.append_sealed("history", HISTORY, history.encode())

def core_of(
    everything: dict[bytes, Draft | Tombstone], tree: tuple[Node | None, Load], keyring: Reference, history: Reference, header: Header
) -> Commit:
    """What follows from the contents. Generations, clock, place and digest are filled in elsewhere."""
    root, load = tree
    drafts = [each for each in everything.values() if isinstance(each, Draft)]
    frames = {place.record for draft in drafts for place in draft.places} | set(pages(root, load))
    frames |= {draft.written for draft in drafts if draft.versions and draft.written}
    live = header.body + Limit.COMMIT + keyring.length + history.length + sum(each.length for each in frames)
    reference, level = (root.reference, root.level) if root and root.reference else (Reference(), 0)
    earlier = sum(len(each.versions) for each in drafts)
    return Commit(
        0, 0, b"", 0, 0, 0, 0, 0, reference, level, keyring, history, header.hash, b"", len(drafts), len(everything) - len(drafts),
        earlier, live,
    )  # fmt: skip


def folded(floor: int, old: list[Ancestor], new: list[Ancestor], most: int = Limit.ANCESTORS) -> History:
    """Whatever is left out raises the floor (R-5.17)."""
    every = [*old, *new]
    left, kept = every[: max(0, len(every) - most)], every[max(0, len(every) - most) :]
    floor = max([floor, *(each[0] + 1 for each in left)])
    return History(floor, kept, min(len(new), len(kept)))


