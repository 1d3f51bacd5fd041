"""What became of a mutant."""

from dataclasses import dataclass


class Failure(Exception):
    """What is wrong, in one line."""


@dataclass(frozen=True)
class Found:
    key: str
    file: str
    line: int
    # The check as it is in the source, and what was made of it.
    text: str
    what: str
    # caught, crashed or left
    outcome: str
    # The vector.
    by: str
