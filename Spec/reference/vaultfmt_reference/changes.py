"""A change of one item: section 6.4, R-6.24 to R-6.26, and R-6.20."""

from dataclasses import dataclass, field, replace

from .dots import Dot
from .holding import Held, ItemState, Named, Sibling
from .items import SEALED
from .past import ATTRIBUTE_KIND, SECRET_FIELD, Field
from .views import Same, View, newest


@dataclass
class Edit:
    """What a change does, of one item: all under one dot."""

    writes: dict[Field, Held] = field(default_factory=dict)
    # Fields of which what is shown stays.
    settle: set[Field] = field(default_factory=set)
    absent: set[Field] = field(default_factory=set)
    forget: set[Named] = field(default_factory=set)


def added(item: bytes, writes: dict[Field, Held], dot: Dot, created: int, modified: int) -> ItemState:
    """A new item."""
    sibling = Sibling(dict.fromkeys(writes, dot), frozenset(), created, modified)
    values = {(of, dot): held for of, held in writes.items()}
    return ItemState(item, {dot: sibling}, frozenset(values), values)


def changed(
    item: ItemState, view: View, edit: Edit, dot: Dot, now: int, gone: frozenset[Named], limit: int, same: Same
) -> tuple[ItemState, set[Named]]:
    """The item after it, with one sibling, and the values that are forgotten with it."""
    writes = dict(edit.writes)
    for of in edit.settle & view.shown.keys():
        if (of, view.shown[of]) not in item.open:
            writes.setdefault(of, item.values[of, view.shown[of]])
    fields = {of: each for of, each in view.shown.items() if of not in edit.absent} | dict.fromkeys(writes, dot)
    values = item.values | {(of, dot): replace(held, replaced=0) for of, held in writes.items()}
    done = writes.keys() | edit.settle | edit.absent
    opened = {(of, each) for of, each in item.open if of not in done or (of in edit.settle and each == fields.get(of))}
    opened |= {(of, dot) for of in writes}
    forgotten = equal_to(edit.forget, item, same) - opened - set(fields.items())
    pool = view.kept | {named for named in (*view.shown.items(), *item.open) if item.values[named].is_protected(named[0])}
    earlier = newest(pool - forgotten - opened - set(fields.items()) - gone, limit, same)
    for named in earlier:
        values[named] = replaced_at(values[named], item, named, now)
    sibling = Sibling(fields, earlier, item.created, now if edit.writes or edit.absent else item.modified)
    return ItemState(item.id, {dot: sibling}, frozenset(opened), values, item.records).pruned(), forgotten


def equal_to(chosen: set[Named], item: ItemState, same: Same) -> set[Named]:
    """Every value of the item with the same bytes in the same field (R-6.20)."""
    wanted = {(of, same((of, dot))) for of, dot in chosen}
    fields = {of for of, _ in chosen}
    return {(of, dot) for of, dot in item.names if of in fields and (of, same((of, dot))) in wanted}


def replaced_at(held: Held, item: ItemState, named: Named, now: int) -> Held:
    """With what is kept of its time."""
    if held.replaced:
        return held
    return replace(held, replaced=now, attributes=attributes_with(item, named))


def attributes_with(item: ItemState, named: Named) -> tuple[tuple[bytes, Held], ...]:
    """The plain attributes that the item had with a secret: those of the greatest sibling that has it; or what was kept of them.

    Not those of the entry, which can be another sibling's: what a merge in between showed would matter then.
    """
    held = item.values[named]
    if named[0] != SECRET_FIELD:
        return ()
    holders = [dot for dot, each in item.siblings.items() if each.fields.get(SECRET_FIELD) == named[1]]
    if held.replaced or not holders:
        return held.attributes
    fields = item.siblings[max(holders)].fields
    chosen = ((of[1], item.values[of, fields[of]]) for of in sorted(fields) if of[0] == ATTRIBUTE_KIND)
    return tuple((name, each) for name, each in chosen if not each.flags & SEALED)

