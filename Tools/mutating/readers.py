"""`Tools/mutants readers`: what became of every mutant of both readers."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutating import swift_reader
from mutating.found import Failure, Found

ROOT = Path(__file__).resolve().parent.parent.parent
EQUIVALENT = ROOT / "Spec/vectors/equivalent.md"
REFERENCE = [str(ROOT / ".python/bin/python"), str(ROOT / "Tools/mutating/reference_reader.py")]


def reference(arguments: list[str]) -> list[Found]:
    if not Path(REFERENCE[0]).exists():
        raise Failure("the reference's Python is missing: Tools/setup --tests")
    done = subprocess.run([*REFERENCE, *arguments], stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode != 0:
        raise Failure("the reference's mutants could not be run")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [Found(key, file, int(line), text, what, outcome, by) for key, file, line, text, what, outcome, by in rows]


def explained() -> set[tuple[str, str, str]]:
    """Rows of the tables of equivalent.md: file, check, and what is made of it; each of the last two may be "any"."""
    found = set()
    for line in EQUIVALENT.read_text().splitlines():
        cells = [each.strip().replace("\\|", "|") for each in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if len(cells) == 5 and cells[0].startswith("`"):
            found.add((cells[0].strip("`"), cells[1].strip("`"), cells[2]))
    return found


def rows_for(one: Found, known: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    return known & {(one.file, one.text, one.what), (one.file, one.text, "any"), (one.file, "any", "any")}


def report(name: str, found: list[Found], seconds: float) -> int:
    """The number of mutants that nothing explains, and of rows that explain none."""
    known = {row for row in explained() if row[0].startswith("reference/") == (name == "reference")}
    left = [one for one in found if one.outcome == "left"]
    unexplained = [one for one in left if not rows_for(one, known)]
    for one in unexplained:
        print(f"{one.file}:{one.line} {one.what}: {one.text}  ({one.key}, met by {one.by})")
    idle = sorted(known - {row for one in left for row in rows_for(one, known)})
    for row in idle:
        print(f"equivalent.md explains a mutant that is caught, or no longer there: {' · '.join(row)}")
    caught = len(found) - len(left)
    print(
        f"{name}: {len(found)} mutants, {caught} caught by a vector, {len(left) - len(unexplained)} explained in equivalent.md,"
        f" {len(unexplained)} neither; {len(idle)} rows that explain none; {seconds:.0f} s", flush=True)  # fmt: skip
    return len(unexplained) + len(idle)


def run(arguments: list[str]) -> int:
    """`[library|reference]`, or `files SEED COUNT`."""
    which = arguments or ["library", "reference"]
    if which[0] == "files":
        return run_files(int(arguments[1]), int(arguments[2]))
    wrong = 0
    for name in which:
        started = time.monotonic()
        found = {"library": swift_reader.vectors, "reference": lambda: reference(["vectors"])}[name]()
        wrong += report(name, found, time.monotonic() - started)
    return 1 if wrong else 0


def run_files(seed: int, count: int) -> int:
    """The library's mutants that no vector catches, on mutated files."""
    left = [one for one in swift_reader.vectors() if one.outcome == "left" and one.what != "never reached"]
    out = Path(tempfile.mkdtemp(prefix="mutants-"))
    started = time.monotonic()
    found = swift_reader.files(left, seed, count, out)
    for one in found:
        print(f"{one.file}:{one.line} {one.what}: {one.text}  {one.outcome} {one.by}")
    told = sum(one.outcome != "left" for one in found)
    print(f"{count} mutated files told {told} of {len(left)} mutants, in {time.monotonic() - started:.0f} s; they are in {out}", file=sys.stderr)
    return 0
