"""The folder for the temporary files of the steps of Tools/test that do not build the package, removed with whatever is left in it.

Tests leave nothing, unless they are killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from environment import ROOT

# What the package manager and pytest leave, and the compiler where a test runs it.
USUAL = re.compile(r"TemporaryDirectory\.\w+|swift-generated-sources|.*_.*\.lock|pytest-of-.*")


@contextmanager
def scratch() -> Iterator[Path]:
    """Makes the folder. Runs in one checkout share it, and the last one removes it.

    Its name is short, because tests make sockets in it.
    """
    name = hashlib.sha256(os.fsencode(ROOT)).hexdigest()[:8]
    folder = Path(tempfile.gettempdir()) / f"vf-{os.getuid()}-{name}"
    lock = shared(folder)
    try:
        yield folder
    finally:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def shared(folder: Path) -> int:
    """Makes the folder if it does not exist, and returns a descriptor with a shared lock on it."""
    while True:
        folder.mkdir(mode=0o711, exist_ok=True)  # tests start programs as other users, with vaults in it
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        if os.fstat(lock).st_uid != os.getuid():
            raise SystemExit(f"Tools/test: {folder} belongs to another user")
        fcntl.flock(lock, fcntl.LOCK_SH)
        # Another run may have removed it before it was locked here.
        if folder.exists() and os.path.samestat(os.fstat(lock), folder.stat()):
            return lock
        os.close(lock)


def left(folder: Path) -> list[str]:
    """The names of what this repository's own programs have left."""
    return sorted(name for name in os.listdir(folder) if not USUAL.fullmatch(name))
