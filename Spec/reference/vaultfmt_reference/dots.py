"""Dots, vectors and vector frames: which changes a state has seen (sections 1 and 5.5)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from .codec import GREATEST, Cursor, Limit, number_of, pad_step, padded, require, u8, u64, varint
from .frames import Reference

# In a row's revision: two writers have used the id.
SPLIT = 1 << 63


class Dot(NamedTuple):
    """Names one change. Compared by revision, then by replica id."""

    revision: int
    replica: int

    @property
    def time(self) -> int:
        return self.revision >> 16

    def __str__(self) -> str:
        return f"{self.revision}.{self.replica}"


class Stored(NamedTuple):
    """A dot as it is encoded: its revision, and the position of its id's row, or 0 at or below the floor."""

    revision: int
    position: int

    @property
    def time(self) -> int:
        return self.revision >> 16

    def encode(self) -> bytes:
        return u64(self.revision) + varint(self.position)

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        return cls(number_of(cursor.number(8), "a revision"), cursor.varint())


@dataclass(frozen=True)
class Bounds:
    """What a commit alone says of dots: R-1.10 and R-6.8."""

    clock: int
    floor: int

    def check(self, dots: Iterable[Stored]) -> None:
        for each in dots:
            require(each.revision <= self.clock, "a revision from the future (R-6.8)")
            require((each.position == 0) == (each.revision <= self.floor), "a dot's position (R-1.10)")


@dataclass
class Vector:
    """Rows in the order of their positions, and the floor."""

    rows: dict[int, int] = field(default_factory=dict)
    floor: int = 0
    split: set[int] = field(default_factory=set)

    def copy(self) -> "Vector":
        return Vector(dict(self.rows), self.floor, set(self.split))

    @property
    def clock(self) -> int:
        return max(self.floor, *self.rows.values()) if self.rows else self.floor

    def has_seen(self, dot: Dot) -> bool:
        return dot.revision <= self.floor or dot.revision <= self.rows.get(dot.replica, 0)

    def includes(self, other: "Vector") -> bool:
        """Whether everything that the other has seen by its rows is seen here."""
        return all(self.has_seen(Dot(revision, replica)) for replica, revision in other.rows.items())

    # To and from what is stored

    def dot(self, stored: Stored) -> Dot:
        """R-6.7."""
        if stored.position == 0:
            require(stored.revision <= self.floor, "a dot's position (R-1.10)")
            return Dot(stored.revision, 0)
        require(stored.position <= len(self.rows), "a position beyond the vector's rows (R-6.7)")
        dot = Dot(stored.revision, list(self.rows)[stored.position - 1])
        require(self.floor < dot.revision <= self.rows[dot.replica], "a dot that the state has not seen (R-6.7)")
        return dot

    def stored(self, dot: Dot) -> Stored:
        if dot.revision <= self.floor:
            return Stored(dot.revision, 0)
        return Stored(dot.revision, list(self.rows).index(dot.replica) + 1)

    def encoded_rows(self) -> list[tuple[int, int]]:
        return [(replica, revision | (SPLIT if replica in self.split else 0)) for replica, revision in self.rows.items()]


@dataclass(frozen=True)
class VectorFrame:
    """A vector's body. `changed` are revisions by position in the base, with the bit that says *split*."""

    base: Reference | None
    changed: list[tuple[int, int]]
    further: list[tuple[int, int]]

    def encode(self) -> bytes:
        out = u8(0)
        if self.base is not None:
            out = u8(1) + self.base.narrow() + varint(len(self.changed))
            out += b"".join(varint(position) + u64(revision) for position, revision in self.changed)
        out += varint(len(self.further)) + b"".join(u64(replica) + u64(revision) for replica, revision in self.further)
        return padded(out)

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """What the frame alone shows of R-5.33 and R-5.34."""
        cursor = Cursor(body)
        form = cursor.number(1)
        require(form <= 1, "a vector of an unknown form")
        base, changed = None, []
        if form == 1:
            base = Reference.from_narrow(cursor)
            changed = [(cursor.varint(), cursor.number(8)) for _ in cursor.count(Limit.OWN_ROWS, "changed rows")]
        further = [(cursor.number(8), cursor.number(8)) for _ in cursor.count(Limit.ROWS, "the rows of a vector")]
        cursor.padding(pad_step(cursor.position))
        if form == 1:
            require(1 <= len(changed) + len(further) <= Limit.OWN_ROWS, "the rows that a vector has of its own (R-5.34)")
        positions = [position for position, _ in changed]
        are_possible = positions == sorted(set(positions)) and all(1 <= position <= Limit.ROWS for position in positions)
        require(are_possible, "the changed rows of a vector (R-5.34)")
        require(all(replica > 0 for replica, _ in further), "a replica id that is 0 (R-5.33)")
        require(all(revision & GREATEST > 0 for _, revision in changed + further), "a row without a revision (R-5.33)")
        return cls(base, changed, further)

    def rows(self, base: list[tuple[int, int]], floor: int) -> list[tuple[int, int]]:
        """All of them, those of the base included."""
        rows = list(base)
        for position, revision in self.changed:
            require(1 <= position <= len(rows), "a changed row that the base does not have (R-5.34)")
            replica, before = rows[position - 1]
            goes_on = revision & GREATEST >= before & GREATEST and revision & SPLIT >= before & SPLIT and revision != before
            require(goes_on, "a row that goes back, or is the base's (R-5.34)")
            rows[position - 1] = replica, revision
        rows += self.further
        require(1 <= len(rows) <= Limit.ROWS, "the number of a vector's rows (R-5.33)")
        ids = [replica for replica, _ in rows]
        require(0 not in ids and len(set(ids)) == len(ids), "a replica id that is 0, or has two rows (R-5.33)")
        for _, revision in rows:
            require(floor < revision & GREATEST, "a row at or below the floor (R-5.33)")
        return rows


# Opens a vector frame: its body.
Open = Callable[[Reference, int], bytes]


def read_rows(reference: Reference, before: int, floor: int, open_frame: Open) -> tuple[list[tuple[int, int]], VectorFrame]:
    """The rows of a frame that ends before `before`, and the frame."""
    frame = VectorFrame.decode(open_frame(reference, before))
    rows: list[tuple[int, int]] = []
    if frame.base is not None:
        base = VectorFrame.decode(open_frame(frame.base, reference.offset))
        require(base.base is None, "a base of a vector with a base of its own (R-5.34)")
        rows = base.rows([], 0)
    return frame.rows(rows, floor), frame


def vector_of(rows: list[tuple[int, int]], floor: int) -> Vector:
    split = {replica for replica, revision in rows if revision & SPLIT}
    return Vector({replica: revision & GREATEST for replica, revision in rows}, floor, split)


def with_own(vector: Vector, own: Dot | None, clock: int) -> Vector:
    """The state's vector: the frame's, with the row of the commit's own id (R-5.35)."""
    rows = dict(vector.rows)
    if own is not None:
        require(own.replica in rows and own.replica not in vector.split, "the vector has no row for the commit's own id (R-5.35)")
        require(rows[own.replica] <= own.revision, "the commit's own row goes back (R-5.35)")
        rows[own.replica] = own.revision
    vector = replace(vector, rows=rows)
    require(vector.clock == clock, "the clock is not the vector's greatest revision (R-5.35)")
    return vector

