"""Who may continue a replica id: section 7.5. A run of the machine is the life of this object."""

from dataclasses import dataclass, field

from .dots import Vector
from .drafts import Now, Revisions
from .ring import Random

MOST_REVISIONS = 4096


@dataclass
class Memory:
    """What a machine remembers of its ids, of one vault."""

    last: dict[int, int] = field(default_factory=dict)
    log: dict[int, set[int]] = field(default_factory=dict)
    # Ids under which somebody else writes.
    cloned: set[int] = field(default_factory=set)

    def choose(self, vector: Vector, random: Random) -> int:
        """R-7.19, R-7.24: an id whose row is exactly its last own revision, or a new one."""
        for replica, last in self.last.items():
            is_usable = replica not in self.cloned | vector.split and len(self.log[replica]) < MOST_REVISIONS
            if is_usable and vector.rows.get(replica) == last:
                return replica
        return new_id(vector, random)

    def revisions(self, clock: int, now: Now, random: Random) -> Revisions:
        """Those of a commit on top of a state with this clock."""
        return Revisions(max(clock, self.greatest), now, random)

    def note(self, replica: int, first: int, last: int) -> None:
        """R-7.20: before the commit is written."""
        self.last[replica] = last
        self.log.setdefault(replica, set()).update(range(first, last + 1))

    def check(self, vector: Vector) -> set[int]:
        """R-7.21: the ids that have another writer too."""
        found = {replica for replica in self.last if replica in vector.rows and vector.rows[replica] not in self.log[replica]}
        self.cloned |= found
        return found

    @property
    def greatest(self) -> int:
        return max(self.last.values(), default=0)


def new_id(vector: Vector, random: Random) -> int:
    while (number := int.from_bytes(random(8), "little")) == 0 or number in vector.rows:
        pass
    return number
