"""Finding the state that is served, and what follows it: section 7.1."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from . import signature
from .codec import SECTOR, Limit, Refused, require, rounded_up, u32
from .crypto import Keys, derive, hashed, is_same
from .frames import COMMIT, LENGTHS, Reference
from .header import Header
from .objects import Commit, State, chain_value, digest_of, signed_by_commit

HEAD = COMMIT + u32(Limit.COMMIT)
CORE, PROOFS = 368, 96
# How far back the search goes from the end (step 5).
REACH = Limit.TRANSACTION + 1024


@dataclass(frozen=True)
class Opened:
    """A commit whose frame opened. Nothing in it is proven yet."""

    offset: int
    core: bytes
    mac: bytes
    signature: bytes
    frame: bytes = field(repr=False)
    vault: bytes = b""

    @property
    def chain(self) -> bytes:
        return chain_value(self.vault, self.core)

    @property
    def commit(self) -> Commit:
        return Commit.decode(self.core)

    @property
    def generation(self) -> int:
        return int.from_bytes(self.core[:8], "little")

    @property
    def before(self) -> State:
        """The state that it names as its predecessor."""
        return int.from_bytes(self.core[8:16], "little"), self.core[16:48]

    @property
    def start(self) -> int:
        return int.from_bytes(self.core[56:64], "little")

    @property
    def state(self) -> State:
        return self.generation, self.chain


class File:
    """The file's bytes, its header, and the keys that a slot led to."""

    def __init__(self, data: bytes, header: Header, keys: Keys) -> None:
        self.data, self.header, self.keys = data, header, keys

    # Commits

    def head_at(self, offset: int) -> bool:
        return self.data[offset : offset + 8] == HEAD

    def heads_in(self, start: int, end: int) -> Iterator[int]:
        at = self.data.find(HEAD, start, end)
        while at >= 0:
            yield at
            at = self.data.find(HEAD, at + 1, end)

    def open_at(self, offset: int) -> Opened | None:
        """None for what is no commit, or does not open."""
        frame = self.data[offset : offset + Limit.COMMIT]
        if offset < self.header.body or offset % SECTOR or len(frame) < Limit.COMMIT or frame[:8] != HEAD:
            return None
        try:
            body = self.keys.unseal_at("commit", offset, frame)
        except Refused:
            return None
        return Opened(offset, body[:CORE], body[CORE : CORE + 32], body[CORE + 32 :], frame, self.keys.vault)

    def check_proof(self, opened: Opened) -> None:
        """R-5.18."""
        if self.keys.is_owner:
            is_proven = is_same(derive(self.keys.of_owner("owner"), "commit owner", opened.chain), opened.mac)
        else:
            is_proven = self.has_signature(opened)
        require(is_proven, "a commit's proof (R-5.18)", "authentication-failed")

    def has_signature(self, opened: Opened) -> bool:
        return signature.is_valid(self.keys.public, signed_by_commit(opened.chain), opened.signature)

    def check_served(self, opened: Opened) -> Commit:
        """Step 6: the proof first, then everything that the core says."""
        self.check_proof(opened)
        commit = opened.commit
        commit.check(opened.offset, self.header.body)
        is_bound = is_same(commit.header_hash, self.header.hash)
        require(is_bound, "a commit that belongs to another header (R-5.24)", "authentication-failed")
        return commit

    # What a commit appended

    def is_complete(self, commit: Commit) -> bool:
        """Step 7, which flag 1 makes unnecessary."""
        return commit.is_synced or self.has_digest(commit)

    def has_digest(self, commit: Commit) -> bool:
        try:
            return digest_of([hashed(frame) for _, frame in self.appended(commit)]) == commit.digest
        except Refused:
            return False

    def appended(self, commit: Commit) -> Iterator[tuple[int, bytes]]:
        """Each frame with its offset. `Refused` where it does not divide (R-2.1)."""
        at = commit.start
        while commit.offset - at >= SECTOR or any(self.data[at : commit.offset]):
            tag, length = self.data[at : at + 4], int.from_bytes(self.data[at + 4 : at + 8], "little")
            require(tag in LENGTHS, f"no frame at {at} (R-2.1)")
            Reference(at, length).check(tag, commit.start, commit.offset)
            yield at, self.data[at : at + length]
            at += length


@dataclass(frozen=True)
class Found:
    """The state that is served, and what follows it: "", "torn", "incomplete" or "damaged"."""

    opened: Opened
    commit: Commit
    tail: str


def find_state(file: File) -> Found:
    newest, end = newest_commit(file)
    commit = file.check_served(newest)
    if file.is_complete(commit):
        served = newest
    else:
        served, commit = predecessor(file, commit)
    return Found(served, commit, tail_of(file, commit.end, end))


def end_before_reserve(data: bytes) -> int:
    """Step 3."""
    after_last = rounded_up(len(data.rstrip(b"\0")), SECTOR)
    return min(len(data), max(after_last, len(data) - Limit.RESERVE))


def newest_commit(file: File) -> tuple[Opened, int]:
    """Steps 3 to 5, and the end before the reserve."""
    end = end_before_reserve(file.data)
    least = max(file.header.body, end - REACH)
    failed = 0
    for offset in range((end - SECTOR) // SECTOR * SECTOR, least - 1, -SECTOR):
        if not file.head_at(offset):
            continue
        opened = file.open_at(offset)
        if opened is not None:
            return opened, end
        failed += 1
        require(failed <= Limit.HEADS, "64 heads that do not open (section 7.1)", "authentication-failed")
    raise Refused("authentication-failed", "no commit opens within the bounds of the search (section 7.1)")


def predecessor(file: File, incomplete: Commit) -> tuple[Opened, Commit]:
    """Step 8."""
    require(incomplete.start > file.header.body, "the only generation is incomplete (section 7.1)", "authentication-failed")
    opened = file.open_at(incomplete.start - SECTOR)
    if opened is None:
        raise Refused("authentication-failed", "the commit before an incomplete generation does not open (section 7.1)")
    commit = file.check_served(opened)
    require(incomplete.follows(opened.state), "another predecessor (section 7.1)", "authentication-failed")
    require(file.is_complete(commit), "two generations are incomplete (section 7.1)", "authentication-failed")
    return opened, commit


def tail_of(file: File, start: int, end: int) -> str:
    """What follows the served commit, up to the reserve. Heads count at any offset, but only at multiples of 512 do commits open."""
    opened = [file.open_at(at) for at in file.heads_in(start, end)]
    if None in opened:
        return "damaged"
    if opened:
        return "incomplete"
    return "torn" if start < end else ""
