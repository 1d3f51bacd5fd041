"""The environment of everything that Tools/test and Tools/release-check run, in one place.

Because all steps share it, no configuration is built twice: `swift build` with warnings as errors for what is debugged,
Tools/packaging/swift-build for what is released.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Where Tools/packaging/build-command leaves the command. It builds below one folder, whatever the machine.
RELEASED = ROOT / ".build-release/release/vaultfmt"
# Every random choice of the gate follows from this number.
SEED = 1


def environment(seed: int = SEED, *, released: Path = RELEASED) -> dict[str, str]:
    """The caller's environment without settings of vaultfmt's own, and with those of a check."""
    kept: Mapping[str, str] = {name: value for name, value in os.environ.items() if not name.startswith("VAULTFMT_")}
    return {
        **kept,
        # Package.swift makes warnings of this package's own targets errors.
        "VAULTFMT_STRICT": "1",
        "VAULTFMT_SEED": str(seed),
        # The command that tests, pages, harness and the Python package's tests start.
        "VAULTFMT_RELEASE_BINARY": str(released),
        "VAULTFMT_BINARY": str(released),
        "PYTHONDONTWRITEBYTECODE": "1",
        # Sets and dictionaries of Python programs are in the same order in each run.
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C.UTF-8",
    }
