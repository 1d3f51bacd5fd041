"""The promises of the Swift libraries: the public symbols of their modules, and what their types conform to, from the compiler's symbol graphs."""

from __future__ import annotations

import json
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .lists import Promise

ROOT = Path(__file__).resolve().parents[3]
# The modules of the products, and the two that VaultFmt exports as its own.
MODULES = ("VaultCrypto", "VaultStore", "VaultFmt", "VaultLocal", "VaultAge", "KeychainAccess", "SecItem", "KeychainStores")
C_MODULES = ("CSodium", "CArgon2", "CUtf8proc")
# Every type of ours has the second by having the first.
IMPLIED = "Swift.SendableMetatype"


def promises(modules: tuple[str, ...] = MODULES) -> list[Promise]:
    """The promises of modules that `swift build` has made."""
    built = Path(run("swift", "build", "--show-bin-path").strip())
    found: list[Promise] = []
    with tempfile.TemporaryDirectory() as folder:
        for module in modules:
            if not (built / "Modules" / f"{module}.swiftmodule").exists():
                raise SystemExit(f"Tools/checks/promises: error: {built} has no module {module}; run 'swift build' first")
            extract(module, built, folder)
            for path in sorted(Path(folder).glob(f"{module}*.symbols.json")):
                # "KeychainStores@FoundationEssentials" has what a module adds to another one's types.
                name = path.name.removesuffix(".symbols.json")
                if name.partition("@")[0] == module:
                    found += of_graph(json.loads(path.read_text(encoding="utf-8")), name)
    return found


def extract(module: str, built: Path, folder: str) -> None:
    shim = "Sources/C/CVaultShim/include"
    maps = [f"{built}/CVaultShim.build/module.modulemap", *(f"Sources/C/{name}/module.modulemap" for name in C_MODULES)]
    run(
        "swift", "symbolgraph-extract", "-module-name", module, "-I", f"{built}/Modules", "-I", shim,
        *(argument for path in maps for argument in ("-Xcc", f"-fmodule-map-file={path}")),
        "-target", f"{platform.machine()}-unknown-linux-gnu", "-output-dir", folder,
        "-minimum-access-level", "public", "-skip-synthesized-members",
    )  # fmt: skip


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"Tools/checks/promises: error: {' '.join(command[:2])} failed: {done.stderr.strip()}")
    return done.stdout


def of_graph(graph: dict[str, Any], module: str) -> Iterator[Promise]:
    paths = {}
    for symbol in graph["symbols"]:
        path = paths[symbol["identifier"]["precise"]] = ".".join([module, *symbol["pathComponents"]])
        declaration = "".join(fragment["spelling"] for fragment in symbol["declarationFragments"])
        yield Promise(path, " ".join(declaration.split()))
    for relation in graph["relationships"]:
        protocol = relation.get("targetFallback") or paths.get(relation["target"], relation["target"])
        if relation["kind"] == "conformsTo" and relation["source"] in paths and protocol != IMPLIED:
            yield Promise(f"{paths[relation['source']]}: {protocol}", "conforms")
