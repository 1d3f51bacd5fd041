"""What an item shows (section 6.4): a function of its siblings, its open values, what is forgotten, and the limit. No vector is
consulted, so no order of merges matters."""

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field

from .codec import Limit
from .dots import Dot
from .holding import Held, ItemState, Named, Sibling, whole_key
from .items import MEANING, SEALED
from .past import ATTRIBUTE_KIND, KEY_FIELD, PLACE_FIELD, SECRET_FIELD, Field, Where

# What tells whether two values of a field are the same: equal for equal bytes.
Same = Callable[[Named], object]


@dataclass(frozen=True)
class View:
    shown: dict[Field, Dot]
    where: Where
    # What is left to settle.
    marks: frozenset[Named]
    # Earlier values: under each of the dots that are kept, and as they are listed.
    kept: frozenset[Named]
    earlier: frozenset[Named]
    # The sibling whose record is the item's, if the place has a device.
    whole: Dot | None = None


@dataclass
class Viewing:
    """One item, with the values of it that are forgotten."""

    item: ItemState
    gone: frozenset[Named] = frozenset()
    siblings: list[tuple[Dot, Sibling]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.siblings = list(self.item.siblings.items())

    def best(self, of: Field, dots: Iterable[Dot]) -> Dot | None:
        """Of those that are open the greatest; if none is, the greatest."""
        every = list(dots)
        return max([dot for dot in every if (of, dot) in self.item.open] or every, default=None)

    def known(self, of: Field, sibling: Sibling) -> list[Dot]:
        dot = sibling.fields.get(of)
        return [dot] if dot is not None and (of, dot) not in self.gone else []

    def shown(self) -> tuple[dict[Field, Dot], Where, Dot | None]:
        siblings = [each for _, each in self.siblings]
        secret = self.best(SECRET_FIELD, [dot for each in siblings for dot in self.known(SECRET_FIELD, each)])
        holders = [pair for pair in self.siblings if pair[1].fields.get(SECRET_FIELD) == secret] or self.siblings
        place = self.best(PLACE_FIELD, [each.fields[PLACE_FIELD] for _, each in holders])
        key = self.best(KEY_FIELD, [each.fields[KEY_FIELD] for each in siblings])
        assert place is not None and key is not None
        where = self.item.values[PLACE_FIELD, place].where
        assert where is not None
        whole = None
        if where.is_bound:
            whole = max(dot for dot, each in holders if each.fields[PLACE_FIELD] == place)
        shown: dict[Field, Dot] = {KEY_FIELD: key, PLACE_FIELD: place}
        if secret is not None:
            shown[SECRET_FIELD] = secret
        names = sorted({of for each in siblings for of in each.fields if of[0] == ATTRIBUTE_KIND})
        found = [(of, dot) for of in names if (dot := self.attribute(of, where, whole)) is not None]
        return shown | dict(found[: Limit.ATTRIBUTES]), where, whole

    def attribute(self, of: Field, where: Where, whole: Dot | None) -> Dot | None:
        values, dots = self.item.values, []
        for _, each in self.siblings:
            for dot in self.known(of, each):
                held, there = values[of, dot], self.item.where(each)
                if whole is not None:
                    # Nobody but the device can combine two of its records.
                    if held.is_recorded and each is self.item.siblings[whole]:
                        return dot
                    is_candidate = not held.is_recorded
                else:
                    is_candidate = not held.is_recorded or there == where
                dots += [dot] * is_candidate
        opened = [dot for dot in dots if (of, dot) in self.item.open]
        everybody = all(of in each.fields for _, each in self.siblings)
        return max(opened or (dots if everybody else []), default=None)

    def view(self, limit: int, same: Same) -> View:
        shown, where, whole = self.shown()
        names = set(shown.items())
        marks = frozenset(
            (of, dot) for of, dot in self.item.open - names - self.gone
            if of not in shown or same((of, dot)) != same((of, shown[of]))
        )  # fmt: skip
        pool = {named for _, each in self.siblings for named in each.earlier}
        pool |= {named for _, each in self.siblings for named in each.named if is_protected(self.item, named)}
        kept = newest(pool - names - self.item.open - self.gone, limit, same)
        fields = {of for of, _ in kept}
        known = {(of, same((of, dot))) for of, dot in names | marks if of in fields}
        earlier = set[Named]()
        for of, dot in sorted(kept, key=lambda named: named[1], reverse=True):
            if (of, same((of, dot))) not in known:
                known.add((of, same((of, dot))))
                earlier.add((of, dot))
        return View(shown, where, marks, kept, frozenset(earlier), whole)


def whole_key_of(viewing: Viewing) -> bytes:
    """The item key that an item shows."""
    shown, where, _ = viewing.shown()
    key = viewing.item.values[KEY_FIELD, shown[KEY_FIELD]].value
    assert key is not None
    return whole_key(key, where.group)


def is_protected(item: ItemState, named: Named) -> bool:
    return item.values[named].is_protected(named[0])


def newest(pool: Set[Named], limit: int, same: Same) -> frozenset[Named]:
    """The newest different values of each field; of each, the newest 8 of its dots."""
    kept: set[Named] = set()
    for of in {of for of, _ in pool} if limit else ():
        counts: dict[object, int] = {}
        for dot in sorted((dot for each, dot in pool if each == of), reverse=True):
            found = same((of, dot))
            if found in counts or len(counts) < limit:
                counts[found] = counts.get(found, 0) + 1
                if counts[found] <= Limit.EQUAL:
                    kept.add((of, dot))
    return frozenset(kept)


def sameness(item: ItemState, content: Callable[[Field, Held], bytes]) -> Same:
    """R-6.23: by bytes and an attribute's flags; what is under a device's compartment is the same as nothing else."""
    known: dict[Named, object] = {}

    def same(named: Named) -> object:
        if named not in known:
            held = item.values[named]
            if held.where is not None:
                known[named] = held.where
            elif held.is_bound:
                known[named] = named[1]
            else:
                known[named] = held.flags & MEANING, content(named[0], held)
        return known[named]

    return same
