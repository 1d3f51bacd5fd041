"""Files that may be added, but neither changed nor removed: their SHA-256 hashes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .lists import Promise

LIST = "SHA256SUMS"


def promises(folder: Path, pattern: str) -> list[Promise]:
    """A promise for each file below the folder whose name matches, but the list itself."""
    files = [path for path in folder.rglob(pattern) if path.is_file() and path.name != LIST]
    return [Promise(path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()) for path in sorted(files)]
