"""Mutants of the library's reader: every check of its reading half, built once, on the conformance vectors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutating.found import Failure, Found

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "Tools/mutating"
COPY = ROOT / ".build-mutants/readers"
CORES = len(os.sched_getaffinity(0))

# What takes part in reading. The rest of the four modules writes, replaces files, calls the system or holds secrets.
READING = {
    "VaultBytes": ["Coding", "Header", "Objects"],
    "VaultCrypto": [
        "AEAD", "Argon2", "AssociatedData", "KeyFileFormat", "KeySchedule", "Passphrase", "Proofs", "Sealing", "Signature", "SlotKey",
    ],
    "VaultStore": [
        "Commits", "Frames/CommitCodec", "Frames/FrameReader", "Frames/FrameWalker", "Frames/Reserve", "Slots", "Store/KeptKey",
        "Store/Store", "Tree/Page", "Tree/PageSource", "Tree/TreeReader",
    ],
    "VaultFmt": [
        "Items/Attribute", "Items/Attributes", "Items/EarlierValue", "Items/Item", "Items/ItemClass", "Items/ItemCodec", "Items/ItemField",
        "Items/ItemKey", "Items/KeyringView", "Items/RecordCodec", "Items/RecordReading", "Keys/CompartmentKeys", "Keys/Factors",
        "Vault/Anchor", "Vault/ItemCursor", "Vault/LeafBatches", "Vault/Lookup", "Vault/Opening", "Vault/Reading", "Vault/Scan", "Vault/Vault",
        "Vault/VaultCore",
    ],
}  # fmt: skip
WRITING = {"Encoder", "Padding", "PageBuilder"}


def reading_files() -> list[str]:
    found: list[str] = []
    for module, names in READING.items():
        for name in names:
            path = ROOT / "Sources" / module / name
            files = sorted(path.glob("*.swift")) if path.is_dir() else [path.with_suffix(".swift")]
            missing = [str(each.relative_to(ROOT)) for each in files or [path] if not each.is_file()]
            if missing:
                raise Failure(f"{missing[0]} is gone: name in Tools/mutating/swift_reader.py where its checks are now")
            found += [str(each.relative_to(ROOT)) for each in files if each.stem not in WRITING]
    return found


def run(command: list[str], folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "VAULTFMT_STRICT"} | {"VAULTFMT_LIBRARY_ONLY": "1"}
    if subprocess.run(command, cwd=folder, env=environment, stdout=sys.stderr, check=False).returncode != 0:
        raise Failure(f"this fails: {' '.join(command)}")


def put(path: Path, data: bytes) -> None:
    """What has not changed keeps its time, so that only the rest is compiled again."""
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def copy_tree() -> None:
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True).stdout
    wanted = {name: (ROOT / name).read_bytes() for name in listed.decode().split("\0") if name and (ROOT / name).is_file()}
    rewritten = COPY / ".build-rewritten"
    for name in reading_files():
        (rewritten / name).parent.mkdir(parents=True, exist_ok=True)
    run(["swift", "build", "-c", "debug", "--product", "mutate"], HERE)
    run([str(HERE / ".build/debug/mutate"), str(ROOT), str(rewritten), str(COPY / ".build-table"), *reading_files()], ROOT)
    for name in reading_files():
        wanted[name] = (rewritten / name).read_bytes()
    for folder, target in (("CMutants", "Sources/CMutants"), ("Runner", "Tests/ReaderMutants")):
        for path in (HERE / folder).rglob("*.*"):
            wanted[f"{target}/{path.relative_to(HERE / folder)}"] = path.read_bytes()
    for folder in ("Check", "Operations", "Random"):
        for path in (ROOT / "Tests/Vectors" / folder).glob("*.swift"):
            wanted[f"Tests/ReaderMutants/{path.name}"] = path.read_bytes()
    wanted["Package.swift"] += PACKAGE.encode()
    for path in [path for path in COPY.rglob("*") if path.is_file()]:
        name = path.relative_to(COPY)
        if not name.parts[0].startswith(".build") and str(name) not in wanted and path.name != "Package.resolved":
            path.unlink()
    for name, data in wanted.items():
        put(COPY / name, data)
        if (ROOT / name).is_file():
            (COPY / name).chmod((ROOT / name).stat().st_mode)


PACKAGE = """
package.targets.append(.target(name: "CMutants"))
for target in package.targets where ["VaultBytes", "VaultCrypto", "VaultStore", "VaultFmt"].contains(target.name) {
    target.dependencies.append("CMutants")
}
package.targets.append(
    .executableTarget(
        name: "reader-mutants",
        dependencies: [
            "CMutants", "VectorMaking", "TestSupport", "Fuzzing", "VaultAge", "VaultFmt", "VaultBytes", "VaultCrypto",
            "VaultStore", "CSodium",
        ],
        path: "Tests/ReaderMutants", swiftSettings: settings))
"""


def program() -> Path:
    copy_tree()
    run(["swift", "build", "-c", "release", "--product", "reader-mutants"], COPY)
    return COPY / ".build/release/reader-mutants"


def lines_of(command: list[str]) -> list[list[str]]:
    done = subprocess.run(command, cwd=COPY, env={**os.environ, "SWIFT_BACKTRACE": "enable=no"}, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Failure(f"ended with {done.returncode}: {' '.join(command)[:200]}")
    return [line.split("\t") for line in done.stdout.decode(errors="replace").splitlines()]


VALUES = {"0": "false", "1": "true", "2": "inverted"}


def table() -> dict[str, list[str]]:
    return {line.split("\t")[0]: line.split("\t")[1:] for line in (COPY / ".build-table").read_text().splitlines()}


def found(line: list[str], known: dict[str, list[str]]) -> Found:
    number, value, outcome, by = line
    kind, file, at, text = known[number]
    what = {"call": "left out", "check": "left out", "reached": "never reached"}.get(kind) or VALUES[value]
    return Found(f"{number}:{value}", file.removeprefix("Sources/"), int(at), text, what, outcome, by)


def vectors() -> list[Found]:
    """Each mutant, and the vector that catches it."""
    started = time.monotonic()
    binary = program()
    print(f"built in {time.monotonic() - started:.0f} s", file=sys.stderr)
    parts = [[str(binary), "run", str(COPY / ".build-table"), str(part), str(CORES)] for part in range(CORES)]
    with ThreadPoolExecutor(CORES) as pool:
        lines = [line for part in pool.map(lines_of, parts) for line in part]
    known = table()
    return [found(line, known) for line in lines if len(line) == 4]


def files(left: list[Found], seed: int, count: int, out: Path) -> list[Found]:
    """The same mutants on mutated files; what tells one goes into `out` as a vector."""
    out.mkdir(parents=True, exist_ok=True)
    each = -(-count // CORES)
    common = [str(COPY / ".build/release/reader-mutants"), "fuzz", str(COPY / ".build-table"), str(seed)]
    parts = [[*common, str(part * each), str(each), str(out), *(one.key for one in left)] for part in range(CORES)]
    with ThreadPoolExecutor(CORES) as pool:
        lines = [line for part in pool.map(lines_of, parts) for line in part]
    known = table()
    return [found(line, known) for line in lines if len(line) == 4]
