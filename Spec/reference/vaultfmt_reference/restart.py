"""A rotation that restarts the vector: R-7.25."""

from dataclasses import replace

from .codec import require
from .contents import Contents, SlotState
from .dots import Dot, Vector
from .holding import ItemState, Named, Sibling
from .past import Field


def dots_of(contents: Contents) -> set[Dot]:
    found = {contents.limit_dot, contents.key_dot, *(dot for _, dot in contents.forgotten)}
    for slot in contents.slots.values():
        found |= {slot.made, slot.changed, *slot.grants.values()}
    for item in contents.items.values():
        found |= item.siblings.keys() | {dot for _, dot in item.names}
    return found


def renamed(dots: set[Dot], floor: int) -> dict[Dot, Dot]:
    """Those at or below the floor, without their replica ids: each at least 1 more than the one before."""
    found, last = {}, 0
    for dot in sorted(dots):
        last = max(dot.revision, last + 1)
        found[dot] = Dot(last, 0)
    require(last <= floor, "a rotation whose revision leaves no room (R-7.25)", "limit")
    return found


def restarted(contents: Contents, own: int, floor: int) -> Contents:
    """What was there, and what the rotation adds: its own dots are those above the floor."""
    every = dots_of(contents)
    new = renamed({dot for dot in every if dot.revision <= floor}, floor)

    def dot(old: Dot) -> Dot:
        return new.get(old, old)

    def named(old: Named) -> Named:
        return old[0], dot(old[1])

    def sibling(old: Sibling) -> Sibling:
        fields: dict[Field, Dot] = {of: dot(each) for of, each in old.fields.items()}
        return replace(old, fields=fields, earlier=frozenset(map(named, old.earlier)))

    def item(old: ItemState) -> ItemState:
        values = {named(each): held for each, held in old.values.items()}
        siblings = {dot(each): sibling(one) for each, one in old.siblings.items()}
        records = tuple(replace(each, content=frozenset(map(named, each.content))) for each in old.records)
        return ItemState(old.id, siblings, frozenset(map(named, old.open)), values, records)

    slots = {
        number: SlotState(dot(each.made), dot(each.changed), {name: dot(one) for name, one in each.grants.items()})
        for number, each in contents.slots.items()
    }  # fmt: skip
    return Contents(
        Vector({own: contents.vector.rows.get(own, 0)}, floor), {number: item(each) for number, each in contents.items.items()},
        {named(each) for each in contents.forgotten}, slots, contents.limit, dot(contents.limit_dot), dot(contents.key_dot),
    )  # fmt: skip
