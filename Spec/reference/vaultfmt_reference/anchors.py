"""What a reader that remembers a state says of another: sections 7.2 and 7.3."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .codec import SECTOR, Refused, require
from .dots import Dot, Vector, vector_of
from .keyring import HandOver
from .reader import Reader
from .state import Opened


@dataclass(frozen=True)
class Anchor:
    """Of a state whose proof was checked."""

    public: bytes
    chain: bytes
    vector: Vector

    @classmethod
    def of(cls, reader: Reader) -> "Anchor":
        return cls(reader.keys.public, reader.state[1], reader.vector.copy())

    @property
    def text(self) -> str:
        """As a request has it (Spec/vectors/README.md)."""
        rows = ",".join(f"{replica}={revision}" for replica, revision in self.vector.rows.items())
        return f"{self.public.hex()}:{self.chain.hex()}:{self.vector.floor}:{rows or '-'}"

    @classmethod
    def parse(cls, said: str) -> "Anchor":
        public, chain, floor, rows = said.split(":")
        pairs = [row.split("=") for row in rows.split(",") if rows != "-"]
        vector = Vector({int(replica): int(revision) for replica, revision in pairs}, int(floor))
        return cls(bytes.fromhex(public), bytes.fromhex(chain), vector)


def commits(reader: Reader) -> Iterator[Opened]:
    """The state that is served, and its predecessors in the file: each has to lie before its successor, to open, and to be the
    state that this one names. Nothing else of it is checked."""
    opened: Opened | None = reader.opened
    while opened is not None:
        yield opened
        if opened.start <= reader.header.body:
            return
        before = reader.open_at(opened.start - SECTOR) if opened.start <= opened.offset else None
        opened = before if before is not None and before.state == opened.before else None


@dataclass(frozen=True)
class Handing:
    """A hand-over whose signature is valid. Without a vector it cannot be read."""

    over: HandOver
    vector: Vector | None
    reason: str = ""

    def covers(self, dot: Dot) -> bool:
        return self.vector is None or self.vector.has_seen(dot)


def handings(reader: Reader) -> list[Handing]:
    """R-7.8: those with a valid signature, and those of which nobody can tell."""
    found = []
    for over in reader.keyring.hand_overs:
        try:
            rows = reader.hand_over_rows(over)
        except Refused as refused:
            found.append(Handing(over, None, refused.verdict))
            continue
        if over.is_valid(reader.keys.vault, rows):
            found.append(Handing(over, vector_of(rows, over.floor)))
    return found


def leads(overs: list[Handing], start: bytes, end: bytes) -> bool:
    """Whether hand-overs lead from one key to another."""
    seen, todo = set[bytes](), {start}
    while todo:
        seen |= todo
        todo = {each.over.following for each in overs if each.over.public in todo} - seen
    return end in seen


def across_keys(overs: list[Handing], anchor: Anchor, public: bytes) -> str:
    if not leads(overs, anchor.public, public):
        return "foreign"
    own = [each for each in overs if each.over.public == anchor.public and leads(overs, each.over.following, public)]
    rows = [Dot(revision, replica) for replica, revision in anchor.vector.rows.items()]
    return "descends" if all(any(each.covers(dot) for each in own) for dot in rows) else "forked"


def relation(ours: Vector, theirs: Vector) -> str:
    """How a state stands to one that is remembered: "same", "descends", "older" or "forked"."""
    has_all, is_all = theirs.includes(ours), ours.includes(theirs)
    return ("same" if is_all else "descends") if has_all else "older" if is_all else "forked"


def compare(reader: Reader, anchor: Anchor) -> str:
    """R-7.6."""
    public = reader.keys.public
    if anchor.public != public:
        overs = handings(reader)
        verdict = across_keys(overs, anchor, public)
        sound = [each for each in overs if each.vector is not None]
        is_sure = verdict == across_keys(sound, anchor, public)
        reason = next((each.reason for each in overs if each.vector is None), "")
        require(is_sure, "a hand-over that cannot be read (R-7.6)", reason)
        return verdict
    return "same" if anchor.chain == reader.state[1] else relation(anchor.vector, reader.vector)


# What a user has dropped


@dataclass
class Dropped:
    """For each id, up to which revision the user has taken it, and up to which it was remembered."""

    rows: list[tuple[int, int, int]] = field(default_factory=list)

    def accept(self, anchor: Anchor, reader: Reader) -> None:
        """The user takes a state under the same key that is older than what is remembered, or forked."""
        state = reader.vector
        for replica, revision in anchor.vector.rows.items():
            if not state.has_seen(Dot(revision, replica)):
                self.rows.append((replica, state.rows.get(replica, 0), revision))

    def found(self, reader: Reader) -> set[int]:
        """The ids of which a state has something that was dropped."""
        last = last_rows(reader)
        return {replica for replica, low, _ in self.rows if last.get(replica, 0) > low}

    def agree(self, reader: Reader) -> None:
        """The user takes such a state after all."""
        last = last_rows(reader)
        self.rows = [
            (replica, max(low, last.get(replica, 0)), high) for replica, low, high in self.rows if last.get(replica, 0) < high
        ]


def last_rows(reader: Reader) -> dict[int, int]:
    """The greatest revision of each id, under the state's key or one that handed over to it."""
    last = dict(reader.vector.rows)
    for over in reader.keyring.hand_overs:
        for replica, revision in vector_of(reader.hand_over_rows(over), over.floor).rows.items():
            last[replica] = max(revision, last.get(replica, 0))
    return last
