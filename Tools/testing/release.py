"""Runs the checks of a release one after the other, and keeps what each found (Tools/release-check).

A finished run is one line of Spec/assurance/runs.jsonl: check, commit, command, seed, cases, failures, seconds. A check
whose area has not changed since its last sound run is not run again, so that a run which was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from checks import Check, checks
from environment import RELEASED, ROOT, environment

DATA = ROOT / "Spec/assurance/runs.jsonl"
PAGE = ROOT / "Spec/assurance.md"
LOGS = ROOT / ".build-release-check/logs"
BEGIN, END = "<!-- Tools/release-check --table writes what follows. -->", "<!-- End of the table. -->"
# A check that takes so many times what it needs on a quiet machine hangs.
PATIENCE = 8
COUNTS = (
    re.compile(r"^\S+ +(?P<cases>\d+) cases, (?P<failures>\d+) failures", re.MULTILINE),
    re.compile(r"^tests: (?P<cases>\d+) passed, (?P<failures>\d+) failed", re.MULTILINE),
    re.compile(r"^  the same in all (?P<cases>\d+) of them", re.MULTILINE),
    re.compile(r": all (?P<cases>\d+) mutants were caught", re.MULTILINE),
    re.compile(r"^stat::number_of_executed_units: (?P<cases>\d+)", re.MULTILINE),
    re.compile(r": (?P<cases>\d+) merges, both ways", re.MULTILINE),
    re.compile(r"^(?P<cases>\d+) (?:sequences|mutants)\b", re.MULTILINE),
)


@dataclass
class Row:
    """A finished run of one piece of a check."""

    check: str
    piece: int
    commit: str
    date: str
    command: str
    seed: int
    cases: int
    failures: int
    seconds: int


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def rows() -> list[Row]:
    return [Row(**json.loads(line)) for line in DATA.read_text().splitlines()] if DATA.exists() else []


def is_stale(row: Row, check: Check) -> bool:
    """Whether code of the check's area changed after the row's commit, or that commit is not known here."""
    done = subprocess.run(["git", "diff", "--quiet", row.commit, "HEAD", "--", *check.area], cwd=ROOT, capture_output=True, check=False)
    return done.returncode != 0


def newest(check: Check, piece: int, known: list[Row]) -> Row | None:
    return next((row for row in reversed(known) if (row.check, row.piece) == (check.name, piece)), None)


def is_due(check: Check, piece: int, known: list[Row]) -> bool:
    row = newest(check, piece, known)
    return row is None or row.failures > 0 or is_stale(row, check)


# Running.


def counted(output: str, code: int) -> tuple[int, int]:
    """Cases and failures: what the program counted, or one case."""
    for pattern in COUNTS:
        if found := list(pattern.finditer(output)):
            cases = sum(int(match["cases"]) for match in found)
            failures = sum(int(match.groupdict().get("failures") or 0) for match in found)
            return cases, max(failures, 1) if code else failures
    lines = re.findall(r"^(ok|failed) ", output, re.MULTILINE)
    return len(lines) or 1, max(lines.count("failed"), 1) if code else lines.count("failed")


def run(check: Check, piece: int, base: Mapping[str, str], *, ends: float) -> Row | None:
    """Runs one piece; None if the time was over before its end."""
    seed = secrets.randbelow(999_999_999) + 1
    command = check.command.format(seed=seed, binary=RELEASED)
    log = LOGS / f"{check.name.replace(' ', '-')}{f'-{piece + 1}' if check.pieces > 1 else ''}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    limit = check.minutes * 60 * PATIENCE
    # A suite with a long budget takes longer than any in the gate.
    variables = {**base, "VAULTFMT_SEED": str(seed), "VAULTFMT_PATIENCE": str(round(limit)), **dict(check.environment)}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, shell=True, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL,
            stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(min(limit, max(0, ends - began)))
        except subprocess.TimeoutExpired:
            stop(process)
            if time.monotonic() - began < limit:
                return None
            code = 124
        except BaseException:
            stop(process)
            raise
    output = log.read_text(errors="replace")
    cases, failures = counted(output, code)
    seconds = round(time.monotonic() - began)
    prefix = "".join(f"{name}={value} " for name, value in check.environment)
    if "{seed}" not in check.command and "swift-tests" in check.command:
        prefix = f"VAULTFMT_SEED={seed} VAULTFMT_PATIENCE={round(limit)} {prefix}"
    shown = prefix + command.replace(str(RELEASED), "BINARY")
    name = check.name + (f" {piece + 1} of {check.pieces}" if check.pieces > 1 else "")
    print(f"{'ok' if failures == 0 else 'FAILED':8}{name:26}{cases:>10,} cases {seconds:>6} s  {log.relative_to(ROOT)}", flush=True)
    if failures:
        print(f"        repeat: {shown}", flush=True)
    return Row(check.name, piece, git("rev-parse", "--short=10", "HEAD"), time.strftime("%Y-%m-%d", time.gmtime()), shown, seed, cases, failures, seconds)


def stop(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def record(row: Row) -> None:
    DATA.parent.mkdir(parents=True, exist_ok=True)
    with DATA.open("a") as file:
        file.write(json.dumps(vars(row), ensure_ascii=False) + "\n")


def prepare(base: Mapping[str, str]) -> None:
    """Builds what the checks start, and installs the programs that they need."""
    for command in (
        ["Tools/testing/set-up"], ["Tools/setup", "--clients"], ["Tools/setup", "--packages"], ["Tools/testing/build-release"],
        # The long comparisons of readers take several times as long in a debug build.
        ["Tools/packaging/swift-build", "--product", "vectors"],
        ["swift", "build", "--build-tests"],
    ):  # fmt: skip
        if subprocess.run(command, cwd=ROOT, env=dict(base), stdout=sys.stderr, check=False).returncode:
            raise SystemExit(f"Tools/release-check: {' '.join(command)} failed")


# The table.


def table(known: list[Row]) -> str:
    lines = ["| check | command | cases | failures | seconds | commit |", "|---|---|---|---|---|---|"]
    for check in checks():
        pieces = [row for piece in range(check.pieces) if (row := newest(check, piece, known))]
        if not pieces:
            lines.append(f"| {check.name} | not run yet | | | | |")
            continue
        commits = ", ".join(f"`{commit}`" for commit in dict.fromkeys(row.commit for row in pieces))
        stale = " *stale*" if any(is_stale(row, check) for row in pieces) else ""
        done = f" ({len(pieces)} of {check.pieces} pieces)" if len(pieces) < check.pieces else ""
        failures, seconds = sum(row.failures for row in pieces), sum(row.seconds for row in pieces)
        lines.append(f"| {check.name}{done} | `{pieces[0].command}` | {sum(row.cases for row in pieces):,} | {failures} | {seconds:,} | {commits}{stale} |")
    return "\n".join(lines)


def write_table(known: list[Row]) -> None:
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"Tools/release-check: {PAGE.relative_to(ROOT)} has no place for the table")
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(known)}\n\n{END}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="Tools/release-check", description="Runs what a release must pass beyond Tools/test, with new seeds.")
    parser.add_argument("--list", action="store_true", help="list the checks, and which of them are due")
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="run only this check, due or not")
    parser.add_argument("--hours", type=float, default=24, metavar="N", help="stop after so many hours; the next run goes on from there")
    parser.add_argument("--table", action="store_true", help="only write the table of Spec/assurance.md")
    given = parser.parse_args()
    everything = list(checks())
    if unknown := [name for name in given.only if name not in {check.name for check in everything}]:
        parser.error(f"there is no check '{unknown[0]}'; --list lists them")
    picked = [(check, piece) for check in everything if not given.only or check.name in given.only for piece in range(check.pieces)]
    known = rows()
    if given.list:
        for check in everything:
            due = sum(is_due(check, piece, known) for piece in range(check.pieces))
            print(f"{check.name:24}{'due' if due else '':5}{check.pieces:>3} × {check.minutes:>4g} min  {check.about}")
        return 0
    if given.table:
        write_table(known)
        return 0
    if changed := git("status", "--porcelain", "--untracked-files=no", "--", ":!Spec/assurance", ":!Spec/assurance.md"):
        raise SystemExit(f"Tools/release-check: what it runs must be a commit; changed: {changed.split()[-1]}")
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    base = environment()
    prepare(base)
    ends = time.monotonic() + given.hours * 3600
    failed = 0
    for check, piece in picked:
        if time.monotonic() >= ends:
            break
        if not given.only and not is_due(check, piece, known):
            continue
        if row := run(check, piece, base, ends=ends):
            record(row)
            known.append(row)
            failed += row.failures > 0
    write_table(known)
    left = [f"{check.name} {piece + 1}" if check.pieces > 1 else check.name for check, piece in picked if is_due(check, piece, known)]
    print(f"Tools/release-check: {len(left)} left: {', '.join(left)}" if left else "Tools/release-check: nothing is left")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
