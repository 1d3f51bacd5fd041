"""A branch under a key that was replaced: section 8.2."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .anchors import Anchor, Handing, across_keys, handings, leads
from .codec import require
from .contents import Contents
from .dots import Dot
from .holding import Held, ItemState, Named, Sibling
from .past import KEY_FIELD, PLACE_FIELD
from .reader import Reader
from .views import View


@dataclass
class Branch:
    """The side that stays, and the one whose values come in."""

    staying: Reader
    branch: Reader
    stays: list[Handing] = field(default_factory=list)
    branches: list[Handing] = field(default_factory=list)

    @classmethod
    def of(cls, ours: Reader, theirs: Reader) -> "Branch":
        """`Refused` as *foreign* where no key led to both."""
        here, there = handings(ours), handings(theirs)
        mine, other = ours.keys.public, theirs.keys.public
        to_ours, to_theirs = leads(here, other, mine), leads(there, mine, other)
        starts = {each.over.public for each in here} & {each.over.public for each in there}
        from_one = any(leads(here, start, mine) and leads(there, start, other) for start in starts)
        require(to_ours or to_theirs or from_one, "no hand-over leads from one key to the other (section 8.2)", "foreign")
        if to_ours == to_theirs:
            to_ours = (ours.vector.dot(ours.keyring.key_dot), mine) > (theirs.vector.dot(theirs.keyring.key_dot), other)
        return cls(ours, theirs, here, there) if to_ours else cls(theirs, ours, there, here)

    @property
    def is_taken_in(self) -> bool:
        """R-8.24: everything of the branch is covered."""
        anchor = Anchor.of(self.branch)
        return across_keys([each for each in self.stays if each.vector is not None], anchor, self.staying.keys.public) == "descends"

    def is_known(self, dot: Dot) -> bool:
        split = self.staying.vector.split | self.branch.vector.split
        if dot.replica in split and dot.replica != 0:
            return False
        if any(each.over.public == self.branch.keys.public and each.covers(dot) for each in self.stays):
            return True
        return any(
            mine.over.public == each.over.public and mine.covers(dot) and each.covers(dot)
            and leads(self.branches, each.over.following, self.branch.keys.public)
            for each in self.branches for mine in self.stays
        )  # fmt: skip

    def is_gone(self, forgotten: set[Named], named: Named) -> bool:
        """R-8.27: with the replica id 0, every dot of its revision."""
        return named in forgotten or (named[0], Dot(named[1].revision, 0)) in forgotten


Looks = Callable[[ItemState], View]
# Makes a value that has its bytes at hand, or a reference that can be moved.
Takes = Callable[[ItemState, Named], Held | None]


def taken_in(
    branch: Branch, ours: Contents, theirs: Contents, look: Looks, their_look: Looks, take: Takes, new_dot: Callable[[], Dot]
) -> dict[bytes, ItemState]:
    """The items that change: values that are not known come in under new dots, and nothing that is shown changes."""
    made: dict[bytes, ItemState] = {}
    for number in sorted(theirs.items):
        item, there, known = theirs.items[number], ours.items.get(number), branch.is_known
        if there is None and all(known(dot) for dot in item.siblings):
            continue  # Removed here by somebody who had seen it.
        view = their_look(item)
        live = set(view.shown.items()) | view.marks
        wanted = {
            named for named in live | view.earlier
            if not branch.is_gone(ours.forgotten, named) and (there is None or not known(named[1]))
        }  # fmt: skip
        taken = {named: held for named in wanted if (held := take(item, named)) is not None}
        if not taken and there is not None:
            continue
        dots = {named: new_dot() for named in sorted(taken, key=lambda named: (named[1], named[0]))}
        at, values = new_dot(), {(named[0], dots[named]): held for named, held in taken.items()}
        opened = {(named[0], dots[named]) for named in taken if named in live}
        earlier = {(named[0], dots[named]) for named in taken if named not in live}
        if there is None:
            values |= {(of, at): replace(item.values[of, view.shown[of]], replaced=0) for of in (KEY_FIELD, PLACE_FIELD)}
            opened |= {(KEY_FIELD, at), (PLACE_FIELD, at)}
            fields, modified, created = {KEY_FIELD: at, PLACE_FIELD: at}, item.modified, item.created
        else:
            ours_view = look(there)
            fields, created, modified = dict(ours_view.shown), there.created, there.modified
            values |= there.values
            opened, earlier = opened | there.open, earlier | ours_view.kept
        sibling = Sibling(fields, frozenset(earlier), created, modified)
        records = there.records if there is not None else ()
        made[number] = ItemState(number, {at: sibling}, frozenset(opened), values, records).pruned()
    return made
