"""What is in a process's memory, as root sees it."""

from __future__ import annotations

from pathlib import Path

PIECE = 1 << 20


def find(process: int, needles: dict[str, bytes]) -> set[str] | None:
    """The names of the needles that are found; None if this user may not look into a hardened process."""
    overlap = max(map(len, needles.values())) - 1
    found: set[str] = set()
    try:
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            for start, end in regions(process):
                before = b""
                while start < end:
                    try:
                        memory.seek(start)
                        piece = memory.read(min(PIECE, end - start))
                    except (OSError, OverflowError):
                        break
                    if not piece:
                        break
                    whole = before + piece
                    found |= {name for name, value in needles.items() if value in whole}
                    before = piece[-overlap:] if overlap else b""
                    start += len(piece)
    except PermissionError:
        return None
    return found


def regions(process: int) -> list[tuple[int, int]]:
    """What the process can write: the rest is what its files contain."""
    ranges = []
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        addresses, rights = line.split(maxsplit=2)[:2]
        if "w" in rights:
            low, high = addresses.split("-")
            ranges.append((int(low, 16), int(high, 16)))
    return ranges
