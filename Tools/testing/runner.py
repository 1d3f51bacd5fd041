"""Runs the steps of a check, two at a time where the machine allows it, and keeps what each of them prints.

A step waits for the steps that it needs; if one of those fails, it does not run. All other steps go on. The console shows
one line a step when it ends, and the failures last, each with the command that repeats it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# How often a running step is looked at, in seconds.
PAUSE = 0.2
# A step that is told to end gets this many seconds before it is killed.
GRACE = 20
# The end of a summary fits a screen: longer lists of failures are in the logs.
SHOWN_FAILURES = 12
SHOWN_CHARACTERS = 400


@dataclass(frozen=True)
class Failure:
    """What failed, in a line, and the command that repeats just that."""

    what: str
    repeat: str


Finder = Callable[[str], list[Failure]]


@dataclass(frozen=True)
class Step:
    """A command with a name.

    `cores` is how many processors it keeps busy, `limit` after how many seconds it is taken for hanging: ten times what
    it needs on a quiet machine, or more. `find` gets the log of a step that failed, and returns its failures. A step that
    `builds` the package has the caller's folder for temporary files: with another one, everything would be built again.
    """

    name: str
    about: str
    command: Sequence[str]
    needs: Sequence[str] = ()
    cores: int = 1
    limit: int = 900
    find: Finder | None = None
    builds: bool = False


@dataclass
class Result:
    state: str = "waiting"
    seconds: float = 0
    failures: list[Failure] = field(default_factory=list)
    note: str = ""

    @property
    def has_ended(self) -> bool:
        return self.state in ("ok", "FAILED", "not run")


class Run:
    """One run of some steps, in the order of the list as far as their needs allow."""

    def __init__(self, steps: Sequence[Step], environment: Mapping[str, str], scratch: Path, logs: Path, repeat: str) -> None:
        self.steps = {step.name: step for step in steps}
        self.environment = dict(environment)
        self.scratch = scratch
        self.logs = logs
        self.repeat = repeat
        self.results = {step.name: Result() for step in steps}
        self.running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
        self.cores = len(os.sched_getaffinity(0))
        self.began = time.monotonic()

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def perform(self) -> bool:
        """Runs all steps; returns whether each of them succeeded."""
        self.logs.mkdir(parents=True, exist_ok=True)
        for name in self.steps:
            self.log(name).unlink(missing_ok=True)
        handlers = {number: signal.signal(number, self.interrupted) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            while not all(result.has_ended for result in self.results.values()):
                self.start_what_can()
                time.sleep(PAUSE)
                for name in list(self.running):
                    self.look_at(name)
        finally:
            for name in list(self.running):
                self.stop(name)
            for number, handler in handlers.items():
                signal.signal(number, handler)
        return all(result.state == "ok" for result in self.results.values())

    def interrupted(self, number: int, _: object) -> None:
        raise SystemExit(128 + number)

    def start_what_can(self) -> None:
        """Starts every step whose needs are met and for which there is a processor; an earlier one comes first."""
        for name, step in self.steps.items():
            if self.results[name].state != "waiting":
                continue
            needs = [self.results[need] for need in step.needs if need in self.results]
            if any(need.state in ("FAILED", "not run") for need in needs):
                missing = next(need for need in step.needs if need in self.results and self.results[need].state in ("FAILED", "not run"))
                self.end(name, "not run", 0, note=f"it needs {missing}")
                continue
            if any(need.state != "ok" for need in needs):
                continue
            busy = sum(self.steps[other].cores for other in self.running)
            if busy and busy + step.cores > self.cores:
                # What comes later does not overtake a step that waits for both processors.
                if step.cores > 1:
                    return
                continue
            self.start(step)

    def start(self, step: Step) -> None:
        environment = self.environment if step.builds else {**self.environment, "TMPDIR": str(self.scratch)}
        with self.log(step.name).open("wb") as log:
            process = subprocess.Popen(
                step.command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.results[step.name].state = "running"
        self.running[step.name] = process, time.monotonic()

    def look_at(self, name: str) -> None:
        process, began = self.running[name]
        seconds = time.monotonic() - began
        code = process.poll()
        step = self.steps[name]
        if code is None and seconds < step.limit:
            return
        self.stop(name)
        if code is None:
            last = [line for line in self.text(name).splitlines() if line.strip()][-1:] or ["nothing"]
            found = [Failure(f"it hung: no end within {step.limit} s; it said last: {last[0]}", self.again(name))]
            if step.find:
                found += step.find(self.text(name))
            self.end(name, "FAILED", seconds, found)
        elif code == 0:
            self.end(name, "ok", seconds)
        else:
            found = step.find(self.text(name)) if step.find else []
            self.end(name, "FAILED", seconds, found or [self.unknown(name, code)])

    def stop(self, name: str) -> None:
        """Ends what the step started, also what it left behind."""
        process, _ = self.running.pop(name)
        try:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        except ProcessLookupError:
            process.wait()

    def unknown(self, name: str, code: int) -> Failure:
        """A failure of which nothing is known but the end of the log."""
        lines = [line.strip() for line in self.text(name).splitlines() if line.strip()]
        end = " | ".join(lines[-3:]) or "it printed nothing"
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        return Failure(f"{how}: {end}", self.again(name))

    def again(self, name: str) -> str:
        return f"{self.repeat} --only {name}"

    def text(self, name: str) -> str:
        return self.log(name).read_text(errors="replace") if self.log(name).exists() else ""

    def end(self, name: str, state: str, seconds: float, failures: Sequence[Failure] = (), note: str = "") -> None:
        self.results[name] = Result(state, seconds, list(failures), note)
        at = time.monotonic() - self.began
        why = f"  ({note})" if note else ""
        print(f"{state:8}{name:22}{seconds:6.0f} s   at {at:5.0f} s{why}", flush=True)

    # MARK: the summary

    def summary(self) -> list[str]:
        """The failures, each with its step, what failed, and the command that repeats it."""
        lines = []
        for name, result in self.results.items():
            if result.state != "FAILED":
                continue
            lines.append("")
            lines.append(f"FAILED {name}; its output: {self.log(name).relative_to(ROOT)}")
            for failure in result.failures[:SHOWN_FAILURES]:
                lines.append(f"  {shortened(failure.what)}")
                lines.append(f"      repeat: {failure.repeat}")
            if len(result.failures) > SHOWN_FAILURES:
                lines.append(f"  and {len(result.failures) - SHOWN_FAILURES} more, in its output")
        skipped = [name for name, result in self.results.items() if result.state == "not run"]
        if skipped:
            lines += ["", f"not run, because they need a step that failed: {', '.join(skipped)}"]
        return lines


def shortened(text: str) -> str:
    """At most so many characters, in one line; beginning and end say the most."""
    text = " ".join(text.split())
    if len(text) <= SHOWN_CHARACTERS:
        return text
    return f"{text[: SHOWN_CHARACTERS // 2]} … {text[-SHOWN_CHARACTERS // 2 :]}"


def chosen(steps: Sequence[Step], names: Sequence[str]) -> list[Step]:
    """The steps of these names and all that they need, in the order of the list."""
    known = {step.name: step for step in steps}
    wanted: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in known:
            print(f"there is no step '{name}'; there are: {', '.join(known)}", file=sys.stderr)
            raise SystemExit(64)
        if name not in wanted:
            wanted.add(name)
            pending += known[name].needs
    return [step for step in steps if step.name in wanted]
