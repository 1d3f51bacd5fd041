"""Merges two files of one vault: section 8. What the result holds is in merging.py, old_keys.py and united.py."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from .anchors import commits
from .changes import Edit, changed
from .codec import NO_DEVICE, Limit, Refused, require
from .contents import Contents
from .dots import Dot, Vector, VectorFrame, read_rows, vector_of, with_own
from .drafts import Now, Shelf
from .frames import RECORD, VECTOR, Place
from .holding import Held, ItemState, Named
from .keyring import HandOver
from .merging import merged as united_contents
from .old_keys import Branch, taken_in
from .output import Output
from .reader import Reader
from .replicas import Memory
from .rewrite import Change, HandedOver, Replacement, compact, hand_overs_of, new_slot, newest_hand_overs
from .ring import Random
from .sealing import Sealing, content_of, view_of
from .slots import NewSlot
from .united import United, has_full_slot, unite
from .views import sameness
from .writer import Transaction

# How many values an item may keep before it is tried whether they fit.
MANY = 200


@dataclass
class Result:
    """The file that takes the place of ours: ours itself where there is nothing to do."""

    data: bytes
    # "same", "equal" (other states with the same changes), "ours" (has all of theirs), "theirs", "compacted", "merged" or "adopted".
    what: str
    # Items of which something could not be taken in, or that stay only because an id is split.
    named: list[bytes] = field(default_factory=list)


def merge(
    ours: Reader, theirs: Reader, random: Random, now: Now, memory: Memory | None = None, spare: NewSlot | None = None,
    unifies: bool = False,
) -> Result:  # fmt: skip
    """Both were opened by an owner. Neither file is changed. `spare` is a slot that is added if no full one would be left.
    `unifies` makes one file of two with the same contents."""
    require(ours.keys.is_owner and theirs.keys.is_owner, "a scoped slot cannot merge", "not-an-owner")
    require(ours.header.vault == theirs.header.vault, "another vault", "other-vault")
    # what went on under a key that was replaced is not merged unasked.
    require(ours.keys.public == theirs.keys.public, "a branch under another owners' key (R-8.1)", "foreign")
    if ours.state == theirs.state:
        return Result(ours.data, "same")
    left, right = Contents.of(ours), Contents.of(theirs)
    is_split = left.vector.split | right.vector.split != set()
    here, there = has_all(left, right, is_split), has_all(right, left, is_split)
    if here and there and unifies:
        return unified(Transaction(ours, random, now, memory), theirs, left, right)
    if here:
        return Result(ours.data, "equal" if there and not is_split else "ours")
    if there and holds_nothing_erased(theirs, ours, left, right):
        return Result(theirs.data, "theirs")
    result = united_contents(left, right)
    data = Merging(ours, theirs, left, right, result, random, now, memory, spare).file()
    return Result(data, "merged", kept_by_splits(left, right, result))


def has_all(left: Contents, right: Contents, is_split: bool) -> bool:
    """R-8.12: whether the first state has everything of the second one."""
    return is_already(united_contents(left, right), left) if is_split else left.vector.includes(right.vector)


def unified(transaction: Transaction, theirs: Reader, left: Contents, right: Contents) -> Result:
    """R-8.12: the file that both sides keep in the end. A file of one state holds what both have, and nothing else."""
    ours = transaction.reader
    here = is_only_state(ours) or holds_nothing_erased(ours, theirs, right, left)
    there = is_only_state(theirs) or holds_nothing_erased(theirs, ours, left, right)
    if not here and not there:
        return Result(compact(transaction), "compacted")
    if there and (not here or ours.state < theirs.state):
        return Result(theirs.data, "theirs")
    return Result(ours.data, "equal")


def is_only_state(reader: Reader) -> bool:
    first = first_state(reader)
    return first is not None and first[0] == reader.state[1]


def holds_nothing_erased(theirs: Reader, ours: Reader, left: Contents, right: Contents) -> bool:
    """R-8.12: whether no state in their file is older than the first one in ours, which a compaction may have left."""
    first, other = first_state(ours), first_state(theirs)
    if first is None or other is None:
        return False
    split = left.vector.split | right.vector.split
    rows = first[1].rows.items()
    return first[0] == other[0] or all(
        replica not in split and other[1].has_seen(Dot(revision, replica)) for replica, revision in rows
    )


def first_state(reader: Reader) -> tuple[bytes, Vector] | None:
    """The chain value and the vector of the first state in a file; None if a commit or a vector on the way cannot be read."""
    *_, opened = commits(reader)
    if opened.start > reader.header.body:
        return None
    commit = opened.commit
    try:
        rows, _ = read_rows(commit.vector, commit.offset, commit.floor, reader.open_vector)
        return opened.chain, with_own(vector_of(rows, commit.floor), commit.own, commit.clock)
    except Refused:
        return None


def is_already(result: Contents, side: Contents) -> bool:
    """Whether a union is one of the two states."""
    are_items = result.items.keys() == side.items.keys() and all(result.items[number] is each for number, each in side.items.items())
    same = ("vector", "forgotten", "slots", "limit", "limit_dot")
    return are_items and all(getattr(result, name) == getattr(side, name) for name in same)


def kept_by_splits(left: Contents, right: Contents, result: Contents) -> list[bytes]:
    """R-8.14: items that one side lacks, and that stay only because an id is split."""
    found = []
    for side, other in ((left, right), (right, left)):
        for number in result.items.keys() & side.items.keys() - other.items.keys():
            if all(other.vector.has_seen(dot) for dot in result.items[number].siblings):
                found.append(number)
    return sorted(found)


class Merging:
    """The file of a union."""

    def __init__(
        self, ours: Reader, theirs: Reader, left: Contents, right: Contents, result: Contents, random: Random, now: Now,
        memory: Memory | None, spare: NewSlot | None,
    ) -> None:  # fmt: skip
        self.ours, self.theirs, self.left, self.spare = ours, theirs, left, spare
        self.transaction = Transaction(ours, random, now, memory, result)
        self.united: United = unite(ours, theirs, left, right, result, self.transaction.ring)
        self.there = records_of(left)
        self.renew()

    def renew(self) -> None:
        """An item of which something was forgotten on the other side is written again, though its siblings are the same."""
        contents = self.transaction.contents
        for number, item in contents.items.items():
            if number in self.left.items and contents.gone(item) != self.left.gone(item):
                contents.items[number] = replace(item)

    def move(self, shelf: Shelf, item: bytes, source: Any, place: Place) -> Place:
        """In place: a record of ours stays, and one of theirs is copied as it is, once."""
        if source is self.ours:
            return place
        if place.record.hash in self.there:
            return self.there[place.record.hash]
        place.record.check(RECORD, source.header.body, source.commit.offset)
        return shelf.copy(place, source.frame(place.record, RECORD))

    def file(self) -> bytes:
        transaction, united = self.transaction, self.united
        overs = newest_hand_overs([*hand_overs_of(self.ours), *hand_overs_of(self.theirs)])
        slots, least = list(united.slots), self.theirs.commit.generation
        if not has_full_slot(slots):
            if self.spare is None:
                raise Refused("last-slot", "no full slot would be left (R-8.20)")
            slots.append(new_slot(transaction, transaction.ring, self.spare, None))
        is_in_place = not united.has_new_epoch and [slot.raw for slot in slots] == [slot.raw for slot in self.ours.header.slots]
        if not is_in_place:
            change = Change(regroup=united.fresh, new_epoch=united.has_new_epoch, slots=slots, hand_overs=overs, least=least)
            replacement = Replacement(transaction, change)
            complete(transaction, Sealing(replacement.ring, scratch(transaction), transaction.contents.vector, replacement.move, 50))
            return replacement.file()
        complete(transaction, Sealing(transaction.ring, scratch(transaction), transaction.contents.vector, self.move, 50))
        return transaction.commit(least, move=self.move, hand_overs=lambda output: appended(output, self.ours, overs))


def records_of(contents: Contents) -> dict[bytes, Place]:
    """Where a state has its records, by hash."""
    helds = [held for item in contents.items.values() for held in item.values.values()]
    helds += [each for held in helds for _, each in held.attributes]
    return {each.place.record.hash: each.place for each in helds if each.place is not None}


def appended(output: Output, reader: Reader, overs: list[HandedOver]) -> list[HandOver]:
    """With their vectors in the file that is written: those of our file are there."""
    known = {over.order for over in reader.keyring.hand_overs}
    return [
        over if over.order in known
        else replace(over, vector=output.append_sealed("vector", VECTOR, VectorFrame(None, [], rows).encode()))
        for over, rows in overs
    ]  # fmt: skip


# A merge whose item would exceed a limit


def scratch(transaction: Transaction) -> Shelf:
    """What is sealed only to see how long it gets."""
    return Shelf(transaction.ring, transaction.revisions)


def complete(transaction: Transaction, sealing: Sealing) -> None:
    for number, item in list(transaction.changed_items()):
        if len(item.names) < MANY and len(item.siblings) < MANY or fits(transaction, sealing, item):
            continue
        dot, now = transaction.dot(), transaction.now()
        transaction.contents.vector.rows.setdefault(dot.replica, 0)
        gone, view, limit = transaction.contents.gone(item), transaction.view(item), transaction.contents.limit
        same = sameness(item, partial(content_of, number))
        whole, _ = changed(item, view, Edit(), dot, now, gone, limit, same)
        while not fits(transaction, sealing, whole):
            sibling = whole.siblings[dot]
            order = sorted(sibling.earlier, key=lambda named: named[1])
            require(order != [], "more to settle than an item may keep (R-8.21)", "limit")
            kept = frozenset(order[1 + len(order) // 16 :])
            whole = replace(whole, siblings={dot: replace(sibling, earlier=kept)}).pruned()
        transaction.contents.items[number] = whole


def fits(transaction: Transaction, sealing: Sealing, item: ItemState) -> bool:
    try:
        past = sealing.draft(item, transaction.contents.gone(item)).past
    except Refused as refused:
        if refused.verdict != "limit":
            raise
        return False
    return past is None or (len(past.encode()) + 48 <= Limit.PAST - 256 and len(past.dots) <= Limit.PAST_DOTS)


# A branch under a key that was replaced: section 8.2


def adopt(ours: Reader, theirs: Reader, random: Random, now: Now, memory: Memory | None = None) -> Result:
    """At the user's request: what a branch has that is not known comes in to be settled."""
    require(ours.keys.is_owner and theirs.keys.is_owner, "a scoped slot cannot merge", "not-an-owner")
    require(ours.header.vault == theirs.header.vault, "another vault", "other-vault")
    branch = Branch.of(ours, theirs)
    if branch.is_taken_in:
        return Result(branch.staying.data, "ours" if branch.staying is ours else "theirs")
    return Adopting(branch, random, now, memory).result()


class Adopting:
    def __init__(self, branch: Branch, random: Random, now: Now, memory: Memory | None) -> None:
        self.branch = branch
        self.transaction = Transaction(branch.staying, random, now, memory)
        self.theirs = Contents.of(branch.branch)
        self.named: list[bytes] = []

    def result(self) -> Result:
        transaction, branch, theirs = self.transaction, self.branch, self.theirs
        self.bring_compartments()
        made = taken_in(
            branch, transaction.contents, theirs, transaction.view, lambda item: view_of(item, theirs.gone(item), theirs.limit),
            self.take, transaction.dot,
        )  # fmt: skip
        transaction.contents.items |= made
        if transaction.own == 0:
            transaction.dot()
        rows = branch.branch.vector.encoded_rows()
        over = HandOver.make(branch.branch.keys, rows, branch.branch.commit.floor, branch.branch.commit.vector, branch.staying.keys.public)
        overs = newest_hand_overs([*hand_overs_of(branch.staying), *hand_overs_of(branch.branch), (over, rows)])
        data = transaction.commit(move=self.move, hand_overs=lambda output: appended(output, branch.staying, overs))
        removed = {each for each in transaction.base.items.keys() - theirs.items.keys() if self.saw(each)}
        return Result(data, "adopted", sorted({*self.named, *removed}))

    def saw(self, number: bytes) -> bool:
        """Whether the branch removed an item: it had seen it (R-8.27), or that was before a rotation that took its id."""
        return any(dot.replica == 0 or self.theirs.vector.has_seen(dot) for dot in self.transaction.base.items[number].siblings)

    def take(self, item: ItemState, named: Named) -> Held | None:
        """A value with its bytes, to be sealed under our keys; of another device, its record as it is."""
        held = item.values[named]
        if held.where is not None:
            return Held(where=held.where)
        try:
            value = content_of(item.id, named[0], held)
        except Refused as refused:
            if refused.verdict == "device-bound":
                return held
            self.named.append(item.id)
            return None
        attributes = tuple((name, self.at_hand(item.id, name, each)) for name, each in held.attributes)
        device = self.device_of(held)
        return Held(held.flags, value, attributes=attributes, replaced=0, is_bound=device != NO_DEVICE)

    def at_hand(self, item: bytes, name: bytes, held: Held) -> Held:
        return Held(held.flags, content_of(item, (1, name), held))

    def device_of(self, held: Held) -> bytes:
        if held.place is None:
            return NO_DEVICE
        return self.branch.branch.keyring.compartments[held.place.compartment].device

    def bring_compartments(self) -> None:
        """Those of other devices, wrapped under our groups' keys: nobody here can seal anything under them anew."""
        ring, theirs = self.transaction.ring, self.branch.branch
        for number, each in sorted(theirs.keyring.compartments.items()):
            if number not in ring.keyring.compartments and not ring.can_open_device(each):
                group = each.group and ring.group(theirs.keyring.groups[each.group].name)
                ring.wrap_again(replace(each, group=group), theirs.keyring.outer(theirs.keys, number))
        # Their records keep their revisions, of which none may be from the future.
        helds = (held for item in self.theirs.items.values() for held in item.values.values())
        places = [held.place for held in helds if held.is_bound and held.place is not None]
        carried = [each.revision for each in places if not ring.can_open_device(theirs.keyring.compartments[each.compartment])]
        self.transaction.fresh.clock = max([self.transaction.fresh.clock, *carried])

    def move(self, shelf: Shelf, item: bytes, source: Any, place: Place) -> Place:
        """A record of another device is copied, with its locator masked anew."""
        if source is self.branch.staying:
            return place
        frame = source.frame(place.record, RECORD)
        locator = self.transaction.ring.keys.locator(frame[8:32], place.identity(item))
        return shelf.copy(place, frame[:32] + locator + frame[64:])
