"""What Tools/release-check runs: everything that takes too long, needs other people's programs, or must have new seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

CORE = ("Sources/VaultBytes", "Sources/VaultCrypto", "Sources/VaultStore", "Sources/VaultFmt", "Sources/C/CVaultShim")
LOCAL = (*CORE, "Sources/VaultLocal")
EXCHANGE = (*LOCAL, "Sources/VaultExchange", "Sources/C/CInterchange")
COMMAND = (
    *EXCHANGE, "Sources/VaultAge", "Sources/VaultAgent", "Sources/VaultSecretService", "Sources/C/CUserBus", "Sources/VaultConsole", "Sources/VaultArguments",
    "Sources/VaultReferences", "Sources/VaultSync", "Sources/VaultCommand", "Sources/C/CVaultStart",
)  # fmt: skip
C = (*LOCAL, "Sources/C")
PAGE = ("Sources/C/VaultReader", "Sources/Page", "Sources/C/CVaultPage", "Tests/Page", "Tools/page", "Tools/reader")
READERS = (*CORE, "Spec/reference", "Tests/Vectors", "Tests/Fuzzing")
HARNESS = ".build-release/release/harness"
VECTORS = ".build/debug/vectors"
EXCHANGING = "Tools/exchange --library .build-release/release/vectors"
TESTS = "Tools/testing/swift-tests --filter"


@dataclass(frozen=True)
class Check:
    """One line of the table.

    `command` is run once for each piece, with a seed of its own in `{seed}`; `area` are the folders whose changes make
    an earlier run stale; `minutes` is what a piece takes on two quiet cores.
    """

    name: str
    command: str
    area: tuple[str, ...]
    minutes: float
    about: str
    pieces: int = 1
    environment: tuple[tuple[str, str], ...] = ()


# Parts of the harness, with the minutes of their long budgets.
PARTS = {
    "crash": 20, "faults": 3, "disk": 1, "kill": 8, "syncing": 60, "power": 2, "files": 1, "mutation": 8, "flips": 5, "cuts": 10, "bounds": 3,
    "concurrency": 2, "scopes": 45, "machines": 8, "hosts": 20, "memory": 1, "terminal": 12, "descriptors": 1,
    "meetings": 12, "sanitizers": 15,
}  # fmt: skip
AREAS = {"hosts": C, "memory": COMMAND, "terminal": COMMAND, "descriptors": COMMAND, "meetings": COMMAND, "kill": COMMAND, "syncing": COMMAND}
# Parts of Tests/Harness/Clients/run and merging.
PROGRAMS = {
    "read-run-inject": 1, "git": 1, "git-libsecret": 1, "restic": 1, "borg": 1, "ansible": 1, "msmtp": 1, "aws": 1, "docker": 1, "bindfs": 1, "ntfs-3g": 1,
    "sshfs": 1, "keepass": 1, "keepass-equal": 2,
}  # fmt: skip
BETWEEN = {"sync-ssh": 1, "sync-http": 1, "sync-clients": 4, "syncthing": 4}
FUZZED = {
    "open": CORE, "sealed": CORE, "operations": CORE, "import": EXCHANGE, "age": (*LOCAL, "Sources/VaultAge"),
    "agent": (*EXCHANGE, "Sources/VaultAgent"), "secret-service": (*EXCHANGE, "Sources/VaultAgent", "Sources/VaultSecretService"),
}  # fmt: skip


def checks() -> Iterator[Check]:
    """In the order in which they run: what is quick first."""
    for name, minutes in PROGRAMS.items():
        yield Check(f"program {name}", f"Tests/Harness/Clients/run {{binary}} {name}", COMMAND, minutes, "a program, or a file system of one, with a vault")
    for name, minutes in BETWEEN.items():
        yield Check(f"program {name}", f"Tests/Harness/Clients/merging {{binary}} {name}", COMMAND, minutes, "one vault on several machines")
    yield Check("page module", "Tools/reader/wasm --check", PAGE, 2, "the page's WebAssembly, built again of its sources: the same bytes")
    yield Check("page browser", "Tests/Page/run-browser", PAGE, 4, "the page in Chromium")
    yield Check("page engines", "Tests/Page/run-engines", PAGE, 4, "the page in Firefox and WebKit")
    yield Check("demo", "Tools/demo", COMMAND, 5, "the demonstration, from its build on")
    yield Check("pages", "Tests/Pages/run long", (*COMMAND, "README.md", "Docs", "Tools"), 20, "every page, followed to its end, from a clone")
    yield Check("debian package", "Tools/package deb .build-release-check/packages --check", (*COMMAND, "Tools/packaging"), 6, "the package, in a clean root")
    yield Check(
        "artefacts", "rm -rf .build-release-check/artefacts && Tools/release-artefacts .build-release-check/artefacts --compare",
        (*C, *COMMAND, "Sources/Page", "Docs", "Tools/c", "Tools/packaging", "Tools/python", "Tools/reader", "Tools/release-artefacts"), 40,
        "everything that a release publishes, built twice and equal",
    )  # fmt: skip
    yield Check("planted failures", "Tools/testing/planted", ("Tools/testing", "Tools/test"), 25, "failures that Tools/test must name")
    yield Check("timing", f"{TESTS} VaultCommandTests", COMMAND, 6, "tests that need a quiet machine", environment=(("VAULTFMT_RELEASE_CHECK", "1"),))
    yield Check("kdbx", f"{TESTS} ImportKDBXTests", COMMAND, 4, "every file of the matrix of KDBX", environment=(("VAULTFMT_KDBX_MATRIX", "whole"),))
    yield Check(
        "altered imports", f"{TESTS} ReplayTests", COMMAND, 30, "imports that are truncated or altered",
        environment=(("VAULTFMT_ALTERED_IMPORTS", "100000"),),
    )  # fmt: skip
    yield Check(
        "import sweep", f"{TESTS} ImportSweepTests", COMMAND, 40, "5,000 alterations of each importer's source; every limit on memory and descriptors",
        environment=(("VAULTFMT_IMPORT_SWEEP", "5000"),),
    )  # fmt: skip
    yield Check(
        "merge histories", f"{TESTS} MergeCommitTests", CORE, 15, "10,000 random histories of branches",
        environment=(("VAULTFMT_MERGE_HISTORIES", "10000"),),
    )  # fmt: skip
    yield Check(
        "convergence", f"{TESTS} ConvergenceTests", CORE, 20, "20,000 random histories of copies", pieces=4,
        environment=(("VAULTFMT_MERGE_SEQUENCES", "5000"),),
    )  # fmt: skip
    yield Check("agents", "Tests/Agents/run {binary} --seed {seed}", (*COMMAND, "Tests/Agents"), 4, "64 clients of the agent at once, with kills, locks and changes of the vault")
    yield Check("round trip", ".build-release/release/round-trip --seed {seed} --count 300", CORE, 10, "random operations, compared with a plain model")
    for name, minutes in PARTS.items():
        yield Check(f"harness {name}", f"{HARNESS} {name} --long --seed {{seed}}", AREAS.get(name, LOCAL), minutes, "the harness with its long budget")
    for name, minutes, about in (
        ("conformance", 8, "bugs that a vector must catch"), ("merges", 8, "bugs that a merge of two vectors must catch"),
        ("harness", 30, "bugs that a part of the harness must catch"), ("readers library", 15, "each check of the library's reader left out or inverted"),
        ("readers reference", 15, "each check of the reference's reader left out or inverted"),
    ):  # fmt: skip
        yield Check(f"mutants {name}", f"Tools/mutants {name}", READERS if "readers" in name else COMMAND, minutes, about)
    yield Check("merges", f"Tools/merges {VECTORS} Spec/reference/run --random 500 --seed {{seed}}", READERS, 20, "2,000 merges of the reference, repeated by the library", pieces=4)
    yield Check("exchange random", f"{EXCHANGING} --count 2000 --mutated 0 --resealed 20000 --seed {{seed}}", READERS, 40, "random and resealed vaults, read alike")
    yield Check("exchange mutated", f"{EXCHANGING} --count 0 --mutated 50000 --resealed 0 --seed {{seed}}", READERS, 25, "1,000,000 mutated vaults, read alike", pieces=20)
    portable = f"Tests/Reader/run feature-one-item && {EXCHANGING} --reader .build-reader/check"
    yield Check("exchange portable", f"{portable} --count 2000 --mutated 0 --resealed 20000 --seed {{seed}}", (*READERS, *PAGE), 40, "the same by the portable reader")
    yield Check(
        "exchange portable mutated", f"{portable} --count 0 --mutated 50000 --resealed 0 --seed {{seed}}", (*READERS, *PAGE), 15,
        "1,000,000 mutated vaults, read alike by library and portable reader", pieces=20,
    )  # fmt: skip
    for name, area in FUZZED.items():
        yield Check(f"fuzz {name}", f"Tools/fuzz/run {name} 1200", area, 22, "libFuzzer, for 20 minutes")
    yield Check("fuzz reader", "Tools/reader/fuzz 1200", PAGE, 22, "libFuzzer on the portable reader, for 20 minutes")
    yield Check("model", "Spec/model/run simulate --sequences 2000 --first {seed}", ("Spec/model",), 20, "the model of merging")
