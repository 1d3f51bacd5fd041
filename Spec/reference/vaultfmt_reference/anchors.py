"""What a reader that remembers a state says of another: sections 7.2 and 7.3."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .codec import SECTOR, Refused
from .keyring import HandOver
from .objects import State
from .reader import Reader
from .state import Opened


@dataclass(frozen=True)
class Anchor:
    generation: int
    chain: bytes
    # The owners' public key, that of the state itself where it is not given.
    public: bytes | None = None

    @property
    def state(self) -> State:
        return self.generation, self.chain


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


@dataclass
class Ancestry:
    """The ancestors of a state (section 7.2)."""

    floor: int = 1
    in_file: list[State] = field(default_factory=list)
    in_history: list[State] = field(default_factory=list)
    # Whether the walk reached the first commit of the file.
    is_whole: bool = True

    @classmethod
    def of(cls, reader: Reader) -> "Ancestry":
        history, walked = reader.history(), list(commits(reader))
        return cls(
            history.floor if history else 1,
            [each.state for each in walked[1:]],
            history.states if history else [],
            walked[-1].start == reader.header.body,
        )

    def __contains__(self, state: State) -> bool:
        return state in self.in_history or state in self.in_file

    def has_passed(self, generation: int, newest: int) -> bool:
        """Whether the walk came as far back as a generation."""
        return min([newest, *(each for each, _ in self.in_file)]) <= generation

    def lacks(self, state: State, newest: int) -> str:
        """The verdict on a state that is not an ancestor."""
        if not self.is_whole and not self.has_passed(state[0], newest):
            raise Refused("authentication-failed", "what is before a commit cannot be read (R-7.6)")
        return "unprovable" if state[0] < self.floor else "forked"


def compare(reader: Reader, anchor: Anchor) -> str:
    """R-7.6."""
    ancestry = Ancestry.of(reader)
    if anchor.public not in (None, reader.keys.public):
        verdict = handed_over(reader, anchor, ancestry)
        if verdict:
            return verdict
    if anchor.state == reader.state:
        return "same"
    if anchor.generation > reader.commit.generation:
        return "older"
    return "descends" if anchor.state in ancestry else ancestry.lacks(anchor.state, reader.commit.generation)


def handed_over(reader: Reader, anchor: Anchor, ancestry: Ancestry) -> str:
    """R-7.8: "foreign" or "unprovable", or nothing if hand-overs lead from the anchor's key to the state's."""
    verdict = "foreign"
    for start, hand_over in enumerate(reader.keyring.hand_overs):
        if hand_over.public != anchor.public:
            continue
        found = follow(reader, anchor, ancestry, reader.keyring.hand_overs[start:])
        if not found:
            return ""
        verdict = "unprovable" if found == "unprovable" else verdict
    return verdict


def follow(reader: Reader, anchor: Anchor, ancestry: Ancestry, hand_overs: list[HandOver]) -> str:
    following = [*(each.public for each in hand_overs[1:]), reader.keys.public]
    if not all(each.is_valid(reader.keys.vault, public) for each, public in zip(hand_overs, following, strict=True)):
        return "foreign"
    generations = [each.generation for each in hand_overs]
    if generations != sorted(set(generations)):
        return "foreign"
    first = (hand_overs[0].generation, hand_overs[0].chain)
    if anchor.state != first and anchor.generation >= first[0]:
        return "foreign"
    lacking = [state for state in (anchor.state, *((each.generation, each.chain) for each in hand_overs)) if state not in ancestry]
    # All of them, so that a past that cannot be read is an error whatever else there is.
    verdicts = {ancestry.lacks(state, reader.commit.generation) for state in lacking}
    if verdicts <= {"unprovable"}:
        return "unprovable" if lacking else ""
    return "foreign"
