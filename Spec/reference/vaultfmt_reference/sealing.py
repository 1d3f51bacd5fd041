"""How an item is written: which record has what it shows, and which records have what it keeps (R-6.10, R-6.11, R-8.16)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .changes import attributes_with
from .codec import NO_DEVICE, Limit, Refused, require
from .dots import Dot, Stored, Vector
from .drafts import Shelf
from .frames import Place, Reference
from .holding import Held, ItemState, Named, WholeRecord, whole_key
from .items import FIRST_ATTRIBUTE, IN_RECORD, KEY, OWN_RECORD, PLACE, SECRET, Attribute, Entry
from .keyring import OWNERS
from .objects import AttributeRecord, ItemRecord
from .past import (
    ATTRIBUTE_KIND,
    EARLIER,
    GONE,
    KEY_FIELD,
    OPEN,
    PLACE_FIELD,
    SECRET_FIELD,
    SHOWN,
    Field,
    Past,
    PastSibling,
    PastValue,
)
from .ring import Ring
from .views import View, Viewing, sameness

# Brings a record of a file into the one that is being written: the shelf of that one, the item's id, the reader of the file, and
# where it is there.
Move = Callable[[Shelf, bytes, Any, Place], Place]


def content_of(item: bytes, of: Field, held: Held) -> bytes:
    """The bytes of a value. `Refused` where its record cannot be opened."""
    if held.value is not None:
        return held.value
    assert held.place is not None
    reader, before = held.source, held.source.commit.offset
    if of[0] != ATTRIBUTE_KIND:
        secret: bytes = reader.item_record(item, held.place, before).secret
        return secret
    content: bytes = reader.attribute_content(item, of[1], held.flags, held.place, before)
    return content


def view_of(item: ItemState, gone: frozenset[Named], limit: int) -> View:
    return Viewing(item, gone).view(limit, sameness(item, lambda of, held: content_of(item.id, of, held)))


@dataclass
class Draft:
    """An item's entry and past, whose records are not placed yet."""

    entry: Entry
    past: Past | None

    @property
    def places(self) -> list[Place]:
        return self.entry.places + (self.past.places if self.past else [])

    def placed(self, where: Callable[[Place], Place]) -> "Draft":
        """With all references to records replaced."""

        def moved(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
            return tuple(replace(each, place=where(each.place)) if each.place else each for each in attributes)

        entry = replace(self.entry, place=where(self.entry.place), attributes=moved(self.entry.attributes))
        past = self.past and replace(self.past, values=[
            replace(each, place=where(each.place) if each.place else None, attributes=moved(each.attributes)) for each in self.past.values
        ])  # fmt: skip
        return Draft(entry, past)


class Sealing:
    """Of all items of a file that is being written. `vector` is that of its state."""

    def __init__(self, ring: Ring, shelf: Shelf, vector: Vector, move: Move, limit: int) -> None:
        self.ring, self.shelf, self.vector, self.move, self.limit = ring, shelf, vector, move, limit

    def draft(self, item: ItemState, gone: frozenset[Named], binds: bool = False) -> Draft:
        """`binds` if this change gives the item another device: what it keeps goes with it."""
        view = view_of(item, gone, self.limit)
        return Drafting(self, item, gone, view, view.where.device if binds else NO_DEVICE).draft()


class Drafting:
    """One item."""

    def __init__(self, sealing: Sealing, item: ItemState, gone: frozenset[Named], view: View, device: bytes) -> None:
        self.ring, self.shelf, self.move, self.vector = sealing.ring, sealing.shelf, sealing.move, sealing.vector
        self.item, self.gone, self.view, self.device = item, gone, view, device
        self.group = self.ring.group(view.where.group)
        key = item.values[KEY_FIELD, view.shown[KEY_FIELD]].value
        assert key is not None
        self.key = whole_key(key, view.where.group)
        self.moved: dict[tuple[int, Place], Place] = {}

    def draft(self) -> Draft:
        item, view, stored = self.item, self.view, self.vector.stored
        place = self.shown_record()
        names = sorted(of for of in view.shown if of[0] == ATTRIBUTE_KIND)
        attributes = tuple(self.shown_attribute(of) for of in names)
        past = self.past({each.name: each.place for each in attributes})
        numbers = {KEY_FIELD: KEY, PLACE_FIELD: PLACE, SECRET_FIELD: SECRET} | {of: at for at, of in enumerate(names, FIRST_ATTRIBUTE)}
        dots: dict[Stored, list[int]] = {}
        for of, dot in view.shown.items():
            dots.setdefault(stored(dot), []).append(numbers[of])
        own = max(map(stored, item.siblings))
        dots.pop(own, None)
        further = sorted(dots.items(), key=lambda pair: (own.revision - pair[0].revision, pair[0].position))
        entry = Entry(
            place, item.id, own, item.created, item.modified, attributes, view.marks != frozenset(), SECRET_FIELD in view.shown, None,
            tuple((dot, tuple(sorted(fields))) for dot, fields in further),
        )  # fmt: skip
        return Draft(entry, past)

    # What the item shows

    @property
    def compartment(self) -> int:
        where = self.view.where
        return self.ring.compartment(self.group, where.accessibility, where.device)

    def within(self) -> list[Named]:
        """What the item's record has."""
        shown, values = self.view.shown, self.item.values
        return [(of, dot) for of, dot in shown.items() if of == SECRET_FIELD or values[of, dot].flags & IN_RECORD]

    def shown_record(self) -> Place:
        needed = self.within()
        if not needed:
            return Place(Reference(), 0, self.compartment)
        for record in self.item.records:
            if record.content == frozenset(needed) and self.fits(record):
                return self.moved_record(record)
        try:
            contents = {named: content_of(self.item.id, named[0], self.item.values[named]) for named in needed}
            recorded = {
                named[0][1]: (self.item.values[named].flags, each) for named, each in contents.items() if named[0] != SECRET_FIELD
            }
            secret = next((each for named, each in contents.items() if named[0] == SECRET_FIELD), b"")
            return self.shelf.seal(self.item.id, ItemRecord(self.key, secret, recorded).encode(), self.compartment)
        except Refused as refused:
            if refused.verdict != "device-bound":
                raise
        return self.moved_record(self.unopened(needed))

    def unopened(self, needed: list[Named]) -> Held | WholeRecord:
        """Of another device: the record of the sibling that is shown. Nobody here can make another one."""
        for record in self.item.records:
            # It can have more than is shown: what was forgotten.
            if record.content >= frozenset(needed) and self.fits(record):
                return record
        held = [each for named in needed if (each := self.item.values[named]).place is not None and self.fits(each)]
        agreeing = [each for each in held if self.agrees(each, needed)]
        require(agreeing != [], "a record of another device that has to change", "device-bound")
        return max(agreeing, key=lambda each: each.place.revision if each.place else 0)

    def agrees(self, held: Held, needed: list[Named]) -> bool:
        """Whether nothing is known to be in a record that differs from what is needed."""
        wanted = dict(needed)
        known = {named for named, each in self.item.values.items() if each.place == held.place}
        known |= {named for record in self.item.records if record.place == held.place for named in record.content}
        return all(wanted.get(of, dot) == dot for of, dot in known)

    def fits(self, held: Held | WholeRecord) -> bool:
        """Whether its record is under a compartment of the shown place."""
        assert held.place is not None
        keyring, where = held.source.keyring, self.view.where
        there = keyring.compartments[held.place.compartment]
        name = keyring.group_name(held.place.compartment)
        return (name, there.accessibility, there.device) == tuple(where)

    def moved_record(self, held: Held | WholeRecord) -> Place:
        """Each once, and in one place for all that refer to it."""
        assert held.place is not None
        known = id(held.source), held.place
        if known not in self.moved:
            self.moved[known] = self.move(self.shelf, self.item.id, held.source, held.place)
        return self.moved[known]

    def shown_attribute(self, of: Field) -> Attribute:
        held = self.item.values[of, self.view.shown[of]]
        if not held.flags & (IN_RECORD | OWN_RECORD):
            return Attribute(of[1], held.flags, held.value)
        if held.flags & IN_RECORD:
            return Attribute(of[1], held.flags)
        if held.place is not None and self.fits(held):
            return Attribute(of[1], held.flags, None, self.moved_record(held))
        # The other copy can have the item in this place, and with it a record that fits.
        for record in self.item.records:
            if record.content == {(of, self.view.shown[of])} and self.fits(record):
                return Attribute(of[1], held.flags, None, self.moved_record(record))
        return Attribute(of[1], held.flags, None, self.large(of[1], held, self.compartment))

    def large(self, name: bytes, held: Held, compartment: int) -> Place:
        value = content_of(self.item.id, (ATTRIBUTE_KIND, name), held)
        return self.shelf.seal(self.item.id, AttributeRecord(self.key, held.flags, name, value).encode(), compartment)

    # What it keeps

    def past(self, shared: dict[bytes, Place | None]) -> Past | None:
        item, shown = self.item, set(self.view.shown.items())
        first = next(iter(item.siblings.values()))
        # A forgotten value is no field of the entry, but it is one of the sibling.
        is_simple = len(item.siblings) == 1 and set(first.named) == shown <= item.open
        names = item.names - (shown if is_simple else set())
        kept = {named for each in item.siblings.values() for named in each.named} | item.open
        names = {named for named in names if named in kept or named not in self.gone}
        if not names:
            return None
        order = sorted(names, key=lambda named: (*named[0], self.vector.stored(named[1])))
        require(len(order) <= Limit.PAST_VALUES and len(item.siblings) <= Limit.SIBLINGS, "more than an item may keep (R-11.2)", "limit")
        values = [self.value(named, shown, first.earlier if is_simple else frozenset(), shared) for named in order]
        numbers = {named: number for number, named in enumerate(order)}
        siblings = [] if is_simple else [self.sibling(dot, numbers) for dot in sorted(item.siblings, key=self.vector.stored)]
        return Past(item.id, values, siblings)

    def sibling(self, dot: Dot, numbers: dict[Named, int]) -> PastSibling:
        each = self.item.siblings[dot]
        earlier = each.earlier - self.gone
        return PastSibling(
            self.vector.stored(dot), each.created, each.modified, tuple(sorted(numbers[named] for named in each.named)),
            tuple(sorted(numbers[named] for named in earlier)),
        )  # fmt: skip

    def value(self, named: Named, shown: set[Named], earlier: frozenset[Named], shared: dict[bytes, Place | None]) -> PastValue:
        of, held = named[0], self.item.values[named]
        flags = (named in self.item.open) * OPEN | (named in earlier) * EARLIER | (named in shown) * SHOWN | (named in self.gone) * GONE
        value = PastValue(of, self.vector.stored(named[1]), flags, held.flags)
        if flags & (SHOWN | GONE):
            return value
        value = replace(value, replaced=0 if flags & OPEN else held.replaced, where=held.where)
        if of == SECRET_FIELD:
            return self.kept_secret(value, named, held, shared)
        if held.flags & (IN_RECORD | OWN_RECORD):
            return replace(value, place=self.kept_record(of, held, shared.get(of[1])))
        return replace(value, value=held.value or b"")

    def target(self, held: Held) -> int:
        """The owners' compartment where a value goes: with the device where it was set, if this machine has its secret."""
        device = self.device
        if device == NO_DEVICE and held.place is not None:
            device = held.source.keyring.compartments[held.place.compartment].device
        elif device == NO_DEVICE and held.is_bound:
            device = self.view.where.device
        return self.ring.owners(device if device in self.ring.secrets else NO_DEVICE)

    def is_kept(self, held: Held) -> bool:
        """Whether the record stays as it is: under group 0 already, or of another device."""
        if held.place is None:
            return False
        there = held.source.keyring.compartments[held.place.compartment]
        if there.is_bound and there.device not in self.ring.secrets:
            return True
        return there.group == OWNERS and self.device in (NO_DEVICE, there.device)

    def kept_record(self, of: Field, held: Held, shared: Place | None) -> Place:
        is_shared = held.place is not None and self.moved.get((id(held.source), held.place)) == shared
        if shared is not None and held.flags & OWN_RECORD and is_shared:
            return shared
        if self.is_kept(held):
            return self.moved_record(held)
        if held.flags & OWN_RECORD:
            return self.large(of[1], held, self.target(held))
        content = {of[1]: (held.flags, content_of(self.item.id, of, held))}
        return self.shelf.seal(self.item.id, ItemRecord(self.key, b"", content).encode(), self.target(held))

    def kept_secret(self, value: PastValue, named: Named, held: Held, shared: dict[bytes, Place | None]) -> PastValue:
        attributes = attributes_with(self.item, named)
        stays = self.is_kept(held)
        if stays:
            # What is in other records cannot be put into this one.
            attributes = tuple((name, each) for name, each in attributes if not each.flags & IN_RECORD or each.place == held.place)
        listed, within = [], {}
        for name, each in attributes:
            if each.flags & OWN_RECORD:
                listed.append(Attribute(name, each.flags, None, self.kept_record((ATTRIBUTE_KIND, name), each, shared.get(name))))
                continue
            listed.append(Attribute(name, each.flags, None if each.flags & IN_RECORD else each.value))
            if each.flags & IN_RECORD and not stays:
                within[name] = each.flags, content_of(self.item.id, (ATTRIBUTE_KIND, name), each)
        place = self.moved_record(held) if stays else self.shelf.seal(
            self.item.id, ItemRecord(self.key, content_of(self.item.id, SECRET_FIELD, held), within).encode(), self.target(held)
        )
        return replace(value, place=place, attributes=tuple(listed))

