"""Lists of promises: a line for each, read from and written to a file, and compared with what the sources and programs have now.

A promise has a name and a text, such as a member of a structure, and its offset and type. Several promises may have one
name, as overloaded functions do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Promise(NamedTuple):
    name: str
    text: str


class Malformed(Exception):
    """A list has a line that is not a promise, or one line twice."""


@dataclass(frozen=True)
class Form:
    """How a promise is written as a line."""

    separator: str
    text_is_first: bool = False
    is_commented: bool = True

    def line(self, promise: Promise) -> str:
        parts = (promise.text, promise.name) if self.text_is_first else (promise.name, promise.text)
        if any("\n" in part or not part for part in parts) or self.separator in parts[0]:
            raise Malformed(f"{promise.name!r} cannot be written in a line")
        return self.separator.join(parts)

    def promise(self, line: str) -> Promise:
        first, separator, rest = line.partition(self.separator)
        if not (first and separator and rest):
            raise Malformed(f"'{line}' is not a promise")
        return Promise(rest, first) if self.text_is_first else Promise(first, rest)


TABLE = Form("\t")
# What sha256sum writes, and checks with --check.
SUMS = Form("  ", text_is_first=True, is_commented=False)


def parse(text: str, form: Form) -> list[Promise]:
    lines = [line for line in text.splitlines() if not (form.is_commented and line.startswith("#"))]
    promises = [form.promise(line) for line in lines]
    if len(set(promises)) != len(promises):
        raise Malformed("a line is there twice")
    return promises


def read(path: Path, form: Form) -> list[Promise]:
    """The promises of a file; none if it does not exist."""
    try:
        return parse(path.read_text(encoding="utf-8"), form) if path.exists() else []
    except Malformed as problem:
        raise Malformed(f"{path.name}: {problem}") from None


def write(path: Path, form: Form, comment: str, promises: Iterable[Promise]) -> None:
    lines = [f"# {comment}"] if form.is_commented else []
    lines += [form.line(promise) for promise in sorted(set(promises))]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Differences:
    """What became of the listed promises. `changed` has pairs of a name's texts as listed and as they are now."""

    removed: list[Promise]
    changed: list[tuple[str, str, str]]
    added: list[Promise]

    @property
    def breaks(self) -> bool:
        return bool(self.removed or self.changed)

    def lines(self, how_to_add: str) -> Iterator[str]:
        for name, text in self.removed:
            yield f"removed: {name}, which was '{text}'"
        for name, was, now in self.changed:
            yield f"changed: {name} was '{was}' and is '{now}'"
        for name, text in self.added:
            yield f"not listed: {name}, '{text}'; add it with '{how_to_add}'"


def compare(listed: Iterable[Promise], found: Iterable[Promise]) -> Differences:
    """Compares a list with what there is.

    A name of which one text is gone and another one is new has changed; if a name has several, they are paired in order.
    """
    listed, found = set(listed), set(found)
    gone: dict[str, list[str]] = defaultdict(list)
    new: dict[str, list[str]] = defaultdict(list)
    for promise in sorted(listed - found):
        gone[promise.name].append(promise.text)
    for promise in sorted(found - listed):
        new[promise.name].append(promise.text)
    removed, changed = [], []
    for name, texts in gone.items():
        for text in texts:
            if new[name]:
                changed.append((name, text, new[name].pop(0)))
            else:
                removed.append(Promise(name, text))
    added = [Promise(name, text) for name, texts in new.items() for text in texts]
    return Differences(removed, changed, sorted(added))
