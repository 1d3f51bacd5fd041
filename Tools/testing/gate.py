"""The steps of Tools/test, what each of them needs, and how the failures in its output are found."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from environment import ROOT, SEED, environment
from runner import Failure, Finder, Run, Step, chosen
from scratch import left, scratch

LOGS = ROOT / ".build-test"
REPEAT = "Tools/test"
VECTORS = ".build/debug/vectors"
REFERENCE = "Spec/reference/run"
# Lines of other programs that name what failed, where a step has no words of its own for it.
USUAL = re.compile(r"\berror: |^FAILED|\bFAILED\b|Fatal error|Traceback|^E  ", re.MULTILINE)


def lines(pattern: str, again: str) -> Finder:
    """Finds the lines of a log that match; `again` is the command, in which `{NAME}` stands for a group of the match."""
    compiled = re.compile(pattern, re.MULTILINE)

    def find(log: str) -> list[Failure]:
        found = {match[0].strip(): match.groupdict() for match in compiled.finditer(log)}
        return [Failure(line, again.format(**{name: value or "" for name, value in groups.items()})) for line, groups in found.items()]

    return find


def promised(name: str, about: str, *parts: str, needs: Sequence[str] = ()) -> Step:
    """A step that compares what programs may rely on with the lists of it."""
    found = lines(r"^Tools/checks/promises: error: .*$|^Spec/\S+: error: .*$", f"{REPEAT} --only {name}")
    return Step(name, about, ["Tools/checks/promises", *parts], needs, find=found)


def steps(seed: int) -> Iterator[Step]:
    """All steps, in the order in which they start: what fails quickly, and what others wait for, comes first."""
    of_seed = f" --seed {seed}" if seed != SEED else ""
    yield Step(
        "set-up", "installs what is missing: Debian's packages, Python's pinned by their hashes, Swift's dependencies",
        ["Tools/testing/set-up"], builds=True, limit=1200, find=lines(r"^Tools/setup: .*$|.*\berror: .*", f"{REPEAT} --only set-up"),
    )  # fmt: skip

    # What needs no build.
    yield Step(
        "lint", "the layout of Swift files", ["swift", "format", "lint", "--strict", "--recursive", "Package.swift", "Sources", "Tests", "Tools"],
        find=lines(r"^.*\.swift:\d+:\d+: (error|warning): .*$", f"{REPEAT} --only lint"),
    )  # fmt: skip
    yield Step(
        "lint-scripts", "shell scripts by shellcheck, Python by ruff", ["Tools/testing/lint-scripts"], ["set-up"],
        find=lines(r"^In .* line \d+:$|^\S+\.py:\d+:\d+: .*$|^Tools/testing.*$", f"{REPEAT} --only lint-scripts"),
    )  # fmt: skip
    yield Step("rooms", "imports point down the layers, and no folders use each other", ["Tools/checks/rooms"])
    yield Step(
        "statuses", "the constants of Apple's status codes are those of their table", ["Tools/checks/statuses", "--check"],
        find=lines(r"^\S+: error: .*$", f"{REPEAT} --only statuses"),
    )  # fmt: skip
    yield Step(
        "units", "systemd reads the units of the user's service manager", ["Tools/checks/units"],
        find=lines(r"^Tools/checks/units: error: .*$", f"{REPEAT} --only units"),
    )  # fmt: skip
    yield Step(
        "mutants-fit", "the tables of planted bugs fit the sources", ["Tools/mutants", "check"],
        find=lines(r"^Tools/mutants: .*$", f"{REPEAT} --only mutants-fit"),
    )  # fmt: skip
    yield Step(
        "pages-listed", "every page is in the table of those that are followed", ["Tests/Pages/run", "check"],
        find=lines(r"^table\.py .*$", f"{REPEAT} --only pages-listed"),
    )  # fmt: skip

    yield Step(
        "artefacts", "what a release publishes of the sources: the archive, the bill of materials, no secret key", ["Tools/checks/artefacts"], ["set-up"],
        find=lines(r"^Tools/(checks/artefacts|packaging/sbom): .*$", f"{REPEAT} --only artefacts"),
    )  # fmt: skip

    yield promised(
        "promises", "the C headers and the Python package are as Spec/promises lists them", "c", "reader", "python",
    )  # fmt: skip
    yield promised(
        "frozen", "no conformance vector and no vault of an earlier version was changed or removed", "vectors", "archive",
    )  # fmt: skip
    yield Step(
        "promises-tests", "the tests of what compares promises", ["python3", "-m", "unittest", "discover", "--start-directory", "Tools/checks/tests"],
        find=lines(r"^(FAIL|ERROR): .*$", f"{REPEAT} --only promises-tests"),
    )  # fmt: skip

    # Both configurations, each built once.
    yield Step(
        "release-build", "the command, the harness, the benchmark and the C library as they are released",
        ["Tools/testing/build-release"], ["set-up"], builds=True, limit=2400, find=lines(r"^.*\berror: .*$", f"{REPEAT} --only release-build"),
    )  # fmt: skip
    yield Step(
        "debug-build", "the libraries and their tests, with warnings as errors", ["swift", "build", "--build-tests"], ["set-up"], builds=True,
        limit=2400, find=lines(r"^.*\berror: .*$", f"{REPEAT} --only debug-build"),
    )  # fmt: skip
    # These take a core for a while, so they start as soon as one of the builds has ended.
    yield Step(
        "portable-reader", "the portable reader in C: every vector, sanitizers, mutations, budgets, its size", ["Tests/Reader/run"], ["set-up"], limit=1200,
        find=lines(r"^  FAILED .*$|^Tests/Reader/run: (?!FAILED|the same|\d).*$|^.*: (error|runtime error|warning): .*$|^.*undefined reference to .*$|^.*AddressSanitizer: .*$", f"{REPEAT} --only portable-reader"),
    )  # fmt: skip
    yield Step(
        "page", "the page that opens a vault: assembled from its sources; every vector, read by its WebAssembly in node", ["Tests/Page/run-short"], ["set-up"],
        find=lines(r"^.*assemble: .*$|^✖ .*$|^  FAILED .*$", f"{REPEAT} --only page"),
    )  # fmt: skip
    yield Step(
        "costs", "size and instructions, compared with Tools/benchmark/costs.json", ["Tools/benchmark/costs"], ["release-build"], builds=True,
        find=lines(r"^costs: .*$", f"{REPEAT} --only costs"),
    )  # fmt: skip
    yield Step(
        "c-library", "the C library as it is installed, from C and C++", ["Tests/C/run"], ["release-build"], builds=True,
        find=lines(r"^Tests/C/run: (?!FAILED).*$|^.*: (error|Assertion).*$|^\S+\.c:\d+: .*$|^.*undefined reference to .*$", f"{REPEAT} --only c-library"),
    )  # fmt: skip

    yield promised(
        "promises-command", "the exit codes and the members of --json are as Spec/promises lists them", "exit-codes", "json", needs=["release-build"],
    )  # fmt: skip
    yield Step(
        "archive", "the vaults of every earlier version open, or are refused as CHANGELOG.md says", ["Tests/Archive/run"], ["release-build"],
        find=lines(r"^Tests/Archive/run: error: .*$", f"{REPEAT} --only archive"),
    )  # fmt: skip
    yield promised("promises-swift", "the Swift libraries are as Spec/promises lists them", "swift", needs=["debug-build"])

    # What the debug build is needed for. The tests start the released command.
    yield Step(
        "tests", "the tests of all modules, with the released command as the program that they start", ["Tools/testing/swift-tests"],
        ["release-build", "debug-build"], cores=2, limit=3000,
        find=lines(r"^FAILED (?P<id>\S+): .*$", f"{REPEAT} --only tests -- --filter '{{id}}'"),
    )  # fmt: skip
    yield Step(
        "harness", "crashes, faults, kills and attackers, with budgets of three minutes in all",
        # It keeps both processors busy for some of its parts only, so another step runs next to it.
        [".build-release/release/harness", "--seed", str(seed)], ["release-build"], limit=2400,
        find=lines(r"^(?P<part>[a-z]+): (?!further).*$|^(?P<line>[a-z]+) +\d+ cases, [1-9]\d* failures.*$", f"{REPEAT} --only harness{of_seed} -- {{part}}{{line}}"),
    )  # fmt: skip
    # The longest of the rest begin first, so that both cores are busy to the end.
    yield Step(
        "pages", "README and documentation, followed line by line, without what needs other programs", ["Tests/Pages/run", "short"],
        ["release-build"], limit=1800, find=lines(r"^failed (?P<page>[^:\s]+):.*(?:\n(?!ok |failed |skipped ).*)*", f"{REPEAT} --only pages -- --page {{page}}"),
    )  # fmt: skip
    yield Step(
        "exchange", "random and mutated vaults, read alike by library and reference",
        ["Tools/exchange", "--library", VECTORS, "--seed", str(seed)], ["debug-build"], limit=1800,
        find=lines(r"^  FAILED .*$", f"{REPEAT} --only exchange{of_seed}"),
    )  # fmt: skip
    yield Step(
        "round-trip", "random operations, compared with a plain model; every conformance vector as an input of two fuzz targets",
        [".build-release/release/round-trip", "--seed", str(seed), "--count", "20", "--changes", "500", "--vectors", "Spec/vectors"], ["release-build"],
        find=lines(r"^FAILED .*$|^seed \d+: .*$", f"{REPEAT} --only round-trip{of_seed}"),
    )  # fmt: skip
    yield Step(
        "agents", "clients of the ssh agent and of the Secret Service, at once, and killed, over changes and locks of the vault",
        ["Tests/Agents/run", ".build-release/release/vaultfmt", "--short", "--seed", str(seed)], ["release-build"],
        find=lines(r"^  FAILED .*$|^\S*Error\b.*$", f"{REPEAT} --only agents{of_seed}"),
    )  # fmt: skip
    yield Step(
        "python-package", "the Python package: types and tests", ["Tools/python/test"], ["release-build", "debug-build"], builds=True,
        find=lines(r"^(FAILED|ERROR) (?P<test>\S+).*$|^.*: error: .*$", f"{REPEAT} --only python-package -- {{test}}"),
    )  # fmt: skip
    for name, reader in (("library", VECTORS), ("reference", REFERENCE)):
        yield Step(
            f"vectors-{name}", f"the conformance vectors, read by the {name}", ["Tools/conformance", reader],
            ["debug-build"] if name == "library" else ["set-up"], find=lines(r"^  FAILED .*$", f"{REPEAT} --only vectors-{name}"),
        )  # fmt: skip
    yield Step(
        "vectors-same", "the library makes the vectors as they are", [VECTORS, "compare", "Spec/vectors"], ["debug-build"],
        find=lines(r"^.*(differs|missing|FAILED).*$", f"{REPEAT} --only vectors-same"),
    )  # fmt: skip
    yield Step(
        "reference", "the reference implementation's own tests", ["Spec/reference/test"], ["set-up"],
        find=lines(r"^(FAIL|ERROR): (?P<test>\S+) \((?P<id>[\w.]+)\).*$", f"{REPEAT} --only reference -- {{id}}"),
    )  # fmt: skip
    yield Step(
        "merges", "vectors and random copies, merged alike by library and reference",
        ["Tools/merges", VECTORS, REFERENCE, "--random", "20", "--seed", str(seed)], ["debug-build"],
        find=lines(r"^  FAILED .*$", f"{REPEAT} --only merges{of_seed}"),
    )  # fmt: skip
    yield Step(
        "documentation", "DocC's articles and comments, without a warning", ["Tools/checks/articles"], ["debug-build"], builds=True,
        find=lines(r"^.*\b(error|warning): .*$", f"{REPEAT} --only documentation"),
    )  # fmt: skip


def usual(log: str, name: str) -> list[Failure]:
    """The lines that look like a failure, of a step whose own words were not found."""
    rows = [line.strip() for line in log.splitlines() if USUAL.search(line)]
    return [Failure(row, f"{REPEAT} --only {name}") for row in rows[:3]]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="Tools/test", description="Sets up what is missing, then runs every check that a change must pass (.ci/run calls this).",
        epilog="Arguments after -- go to the step that --only names, such as --filter NAME to tests.",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the steps")
    parser.add_argument("--only", metavar="STEP", action="append", default=[], help="run only this step and those that it needs")
    parser.add_argument("--seed", type=int, default=SEED, metavar="S", help=f"the seed of every random choice ({SEED})")
    arguments, _, rest = (list(part) for part in split(sys.argv[1:]))
    given = parser.parse_args(arguments)
    table = list(steps(given.seed))
    if given.list:
        print("\n".join(f"{step.name:18}{step.about}" for step in table))
        return 0
    picked = chosen(table, given.only) if given.only else table
    if rest:
        if len(given.only) != 1:
            parser.error("arguments after -- need one --only STEP")
        picked = [with_arguments(step, rest) if step.name == given.only[0] else step for step in picked]
    with scratch() as folder:
        run = Run(picked, environment(given.seed), folder, LOGS / "logs", REPEAT)
        print(f"Tools/test: seed {given.seed}; the output of each step is in {run.logs.relative_to(ROOT)}", flush=True)
        began = time.monotonic()
        is_good = run.perform()
        names = left(folder)
    for name, result in run.results.items():
        if result.state == "FAILED" and len(result.failures) == 1 and "exit code" in result.failures[0].what:
            result.failures = usual(run.text(name), name) or result.failures
    if names:
        print(f"\nleft in the folder for temporary files, and removed: {', '.join(names[:12])}{f' and {len(names) - 12} more' if names[12:] else ''}")
    print_closing(run, time.monotonic() - began, is_good=is_good)
    return 0 if is_good else 1


def split(arguments: list[str]) -> tuple[list[str], list[str], list[str]]:
    """What stands before and after `--`."""
    if "--" not in arguments:
        return arguments, [], []
    at = arguments.index("--")
    return arguments[:at], ["--"], arguments[at + 1 :]


def with_arguments(step: Step, rest: list[str]) -> Step:
    return Step(step.name, step.about, [*step.command, *rest], step.needs, step.cores, step.limit, step.find)


def print_closing(run: Run, seconds: float, *, is_good: bool) -> None:
    """What was measured, the slowest tests, and last what failed."""
    for step in ("costs", "tests"):
        if run.results.get(step) and run.results[step].state == "ok":
            shown = [line for line in run.text(step).splitlines() if line.startswith(("  ", "slowest"))]
            print("\n".join(["", *shown]) if shown else "", end="\n" if shown else "")
    for line in run.summary():
        print(line)
    counted = re.search(r"^tests: \d+ passed, \d+ failed.*$", run.text("tests"), re.MULTILINE) if "tests" in run.results else None
    print()
    if counted:
        print(counted[0])
    passed = sum(result.state == "ok" for result in run.results.values())
    failed = len(run.results) - passed
    verdict = "everything passed" if is_good else "FAILED"
    print(f"steps: {passed} passed, {failed} failed")
    print(f"Tools/test: {verdict}, in {seconds:.0f} s; {shlex.quote(str(Path(run.logs).relative_to(ROOT)))} has the output")


if __name__ == "__main__":
    sys.exit(main())
