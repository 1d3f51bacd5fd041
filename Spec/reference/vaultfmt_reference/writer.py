"""Changes a vault in place, one commit at a time: sections 6 and 7.4. What it makes are the bytes of the whole new file.

Locks, syncing and renaming are a process's business, and not here.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Self

from .changes import Edit, added, changed
from .codec import Refused, refuse_read_only, require
from .commits import Entries, core_of, frames_of, stays, written
from .contents import Contents, forgotten_of
from .dots import Dot, Vector
from .drafts import Content, Now, Revisions, Shelf, Unchanged
from .frames import KEYRING
from .holding import Held, ItemState, Named
from .items import MEANING, item_key
from .keyring import HandOver, Keyring, Slotted
from .output import Output, needs_signature
from .past import ATTRIBUTE_KIND, PLACE_FIELD, SECRET_FIELD, Field
from .reader import Reader
from .replicas import Memory
from .ring import Random, Ring
from .sealing import Move, Sealing, content_of, view_of
from .tree import Changes, Node, pages, write
from .tree import changed as changed_tree
from .vectors import append_vector, vector_frames
from .views import View, sameness


class Transaction:
    """Changes on top of a state, for one commit in place."""

    def __init__(self, reader: Reader, random: Random, now: Now, memory: Memory | None = None, contents: Contents | None = None) -> None:
        """`contents` are those of a merge, on top of this state."""
        require(reader.keys.is_owner, "a scoped slot cannot write", "not-an-owner")
        refuse_read_only(reader.header.extensions + reader.keyring.extensions)
        self.reader, self.random, self.now, self.memory = reader, random, now, memory or Memory()
        self.base = contents or Contents.of(reader)
        self.contents = self.base.copy()
        self.ring = Ring(reader.keyring, reader.keys, random, reader.devices)
        self.revisions: Revisions = Unchanged(self.base.vector.clock, now, random)
        self.fresh = self.memory.revisions(self.base.vector.clock, now, random)
        self.own, self.first = 0, 0
        # Items that this change gives another device.
        self.binds: set[bytes] = set()

    @classmethod
    def fresh_one(cls, random: Random, now: Now, memory: Memory | None = None) -> Self:
        """Of a vault that is being made: its contents are empty, and there is nothing that it is on top of."""
        made = object.__new__(cls)
        made.random, made.now, made.memory = random, now, memory or Memory()
        none = Dot(0, 0)
        made.base = Contents(Vector(), {}, set(), {}, 0, none, none)
        made.contents = made.base.copy()
        made.fresh = made.revisions = made.memory.revisions(0, now, random)
        made.own, made.first, made.binds = 0, 0, set()
        return made

    # Dots

    def dot(self) -> Dot:
        """Of a further change. The first makes the commit one that has an own id."""
        if self.own == 0:
            self.contents.vector.split |= self.memory.check(self.base.vector)
            self.own, self.revisions = self.memory.choose(self.base.vector, self.random), self.fresh
        dot = Dot(self.revisions.next(), self.own)
        self.first = self.first or dot.revision
        return dot

    # Reading what is there

    def find(self, key: bytes) -> ItemState | None:
        """By the page key: of several items with one key, that is the one that has it plain."""
        number = self.contents.find(key)
        return None if number is None else self.contents.items[number]

    def item(self, key: bytes) -> ItemState:
        found = self.find(key)
        if found is None:
            raise Refused("no-item", "no such item")
        return found

    def live_keys(self) -> list[bytes]:
        """The page keys of the items that there are."""
        return sorted(self.contents.page_keys().values())

    def view(self, item: ItemState) -> View:
        return view_of(item, self.contents.gone(item), self.contents.limit)

    def content(self, item: ItemState) -> Content:
        """What an item shows. `Refused` where a record cannot be opened."""
        view, values = self.view(item), dict[Field, bytes]()
        for of, dot in view.shown.items():
            if of != PLACE_FIELD:
                values[of] = content_of(item.id, of, item.values[of, dot])
        attributes = {
            of[1]: (item.values[of, dot].flags & MEANING, values[of]) for of, dot in view.shown.items() if of[0] == ATTRIBUTE_KIND
        }
        key = item_key(self.contents.page_keys()[item.id], item.id)[0]
        return Content(key, values.get(SECRET_FIELD), attributes, view.where.accessibility, view.where.device)

    # Changing

    def put(self, content: Content, key: bytes = b"", item: bytes = b"", created: int | None = None) -> ItemState:
        """Makes an item, or changes the one that has `key` (the content's, if not given)."""
        old = self.find(key or content.key)
        require(old is not None or not key, "no such item", "no-item")
        if old is not None:
            require(key in (b"", content.key) or self.find(content.key) is None, "another item has that key", "item-exists")
            return self.change(old, content)
        now, number = self.now(), item or self.random(16)
        made = added(number, content.writes, self.dot(), now if created is None else created, now)
        self.contents.items[number] = made
        return made

    def change(self, old: ItemState, content: Content) -> ItemState:
        """Writes the fields that differ."""
        before, after = self.content(old).writes, content.writes
        edit = Edit({of: held for of, held in after.items() if before.get(of) != held}, absent=set(before.keys() - after.keys()))
        return self.edit(old.id, edit) if edit.writes or edit.absent else old

    def edit(self, number: bytes, edit: Edit, dot: Dot | None = None) -> ItemState:
        """Any change of an item."""
        item = self.contents.items[number]
        gone, view, limit = self.contents.gone(item), self.view(item), self.contents.limit
        same = sameness(item, lambda of, held: content_of(number, of, held))
        made, forgotten = changed(item, view, edit, dot or self.dot(), self.now(), gone, limit, same)
        where = edit.writes.get(PLACE_FIELD)
        if where is not None and where.where is not None and where.where.device != view.where.device and where.where.is_bound:
            self.binds.add(number)
        self.contents.items[number] = made
        self.contents.forgotten |= forgotten
        return made

    def settle(self, key: bytes, stay: Iterable[Field] = (), take: Iterable[Named] = ()) -> ItemState:
        """R-6.25: what is shown stays, or a value that is left to settle is taken."""
        item = self.item(key)
        return self.edit(item.id, Edit({of: self.rewritten(item, (of, dot)) for of, dot in take}, settle=set(stay)))

    def rewritten(self, item: ItemState, named: Named) -> Held:
        """A value of the item, to be written under a new dot."""
        held = item.values[named]
        if held.where is not None:
            return Held(where=held.where)
        return Held(held.flags, content_of(item.id, named[0], held), is_bound=held.is_bound)

    def restore(self, key: bytes, named: Named) -> ItemState:
        item = self.item(key)
        return self.edit(item.id, Edit({named[0]: self.rewritten(item, named)}))

    def forget(self, key: bytes, chosen: Iterable[Named]) -> ItemState:
        return self.edit(self.item(key).id, Edit(forget=set(chosen)))

    def remove(self, key: bytes) -> None:
        """R-6.12: with its past."""
        del self.contents.items[self.item(key).id]
        self.dot()

    def set_limit(self, number: int) -> None:
        self.contents.limit, self.contents.limit_dot = number, self.dot()

    # Committing

    def commit(
        self, least: int = 0, is_synced: bool = False, move: Move = stays, hand_overs: Callable[[Output], list[HandOver]] | None = None
    ) -> bytes:
        """The file with one more commit. `least` is a generation to go on from; `move` brings records of another file, and
        `hand_overs` are others than before."""
        reader, contents = self.reader, self.contents
        output, shelf = Output(reader.data[: reader.commit.end], reader.keys, self.random), Shelf(self.ring, self.revisions)
        if self.own:
            # Records take revisions too: the row is set when all are sealed.
            contents.vector.rows.setdefault(self.own, 0)
        sealing = Sealing(self.ring, shelf, contents.vector, move, contents.limit)
        drafts = dict(self.changed_items())
        made = {number: sealing.draft(each, contents.gone(each), number in self.binds) for number, each in drafts.items()}
        self.finish()
        where = shelf.append(output)
        keys = contents.page_keys()
        entries = {number: (keys[number], written(draft.placed(where), output).entry) for number, draft in made.items()}
        entries |= {number: (keys[number], contents.written[number][1]) for number in contents.items.keys() - made.keys()}
        root, live = self.write_tree(output, entries)
        keyring = reader.commit.keyring
        wanted = self.keyring(self.ring, hand_overs(output) if hand_overs else reader.keyring.hand_overs)
        if wanted.encode() != reader.keyring.encode():
            keyring = output.append_sealed("keyring", KEYRING, wanted.encode())
        vector = append_vector(output, contents.vector, self.own, reader)
        live |= vector_frames(output, vector, wanted)
        generation, chain = reader.state
        core = replace(
            core_of(contents, entries, root, live, (keyring, vector), reader.header, self.own), generation=max(generation, least) + 1,
            before=generation, chain_before=chain,
        )  # fmt: skip
        return output.commit(core, needs_signature(reader.header), is_synced)

    def finish(self) -> None:
        """The own row: the last revision that this commit has made, also of a record."""
        if self.own:
            self.contents.vector.rows[self.own] = self.revisions.clock
            self.memory.note(self.own, self.first, self.revisions.clock)

    def changed_items(self) -> Iterable[tuple[bytes, ItemState]]:
        written = self.contents.written
        for number, item in sorted(self.contents.items.items()):
            if number not in written or written[number][0] is not item:
                yield number, item

    def keyring(self, ring: Ring, overs: list[HandOver]) -> Keyring:
        """With the slots and settings of the contents."""
        contents, stored = self.contents, self.contents.vector.stored
        names = {each.name: number for number, each in ring.keyring.groups.items()}
        slots = {
            number: Slotted(
                number, stored(each.made), stored(each.changed), {names[name]: stored(dot) for name, dot in each.grants.items()}
            )
            for number, each in contents.slots.items()
        }  # fmt: skip
        return replace(
            ring.keyring, limit=contents.limit, limit_dot=stored(contents.limit_dot), key_dot=stored(contents.key_dot), slots=slots,
            hand_overs=overs,
        )  # fmt: skip

    def write_tree(self, output: Output, entries: Entries) -> tuple[Node | None, dict[int, int]]:
        """The new root, and the frames of the state that it leads to, by offset."""
        reader = self.reader
        before = {key: value for key, value, _ in reader.entries()}
        after = {key: entry.encode() for key, entry in entries.values()} | {forgotten_of(each).key: b"" for each in self.contents.forgotten}
        changes: Changes = {key: after.get(key) for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        old = None if reader.commit.root.is_absent else Node(reader.commit.level, reader.commit.root)
        root = changed_tree(old, changes, reader.page)
        if root is not None:
            write(root, output.append_page)
        live = {each.offset: each.length for each in pages(root, reader.page)}
        for _, entry in entries.values():
            live |= frames_of(entry, output)
        return root, live

