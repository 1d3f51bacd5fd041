"""The file that is being written, and its commits: sections 5.6 and 7.4."""

from dataclasses import replace

from . import signature
from .codec import SECTOR, Limit
from .crypto import NONCE, Keys, derive, hashed
from .frames import PAGE, Reference
from .header import Header
from .objects import Commit, Page, chain_value, digest_of, signed_by_commit
from .ring import Random
from .state import HEAD


class Output:
    """The file that is being written, and what the next commit appends to it."""

    def __init__(self, data: bytes, keys: Keys, random: Random) -> None:
        self.data, self.keys, self.random = bytearray(data), keys, random
        self.start, self.hashes = len(data), list[bytes]()

    def append(self, frame: bytes) -> Reference:
        reference = Reference(len(self.data), len(frame), hashed(frame))
        self.data += frame
        self.hashes.append(reference.hash)
        return reference

    def append_sealed(self, kind: str, tag: bytes, body: bytes) -> Reference:
        return self.append(self.keys.seal_at(kind, tag, len(self.data), self.random(NONCE), body))

    def append_page(self, page: Page) -> Reference:
        return self.append_sealed("page", PAGE, page.encode())

    def commit(self, core: Commit, is_signed: bool, is_synced: bool = False) -> bytes:
        """Fills in what the place and the content determine; the file's bytes."""
        self.data += bytes(-len(self.data) % SECTOR)
        offset = len(self.data)
        is_synced = is_synced or offset - self.start > Limit.SMALL_COMMIT
        core = replace(core, offset=offset, start=self.start, flags=int(is_synced), digest=digest_of(self.hashes))
        return bytes(self.data) + seal_commit(self.keys, core.encode(), offset, is_signed, self.random(NONCE))


def seal_commit(keys: Keys, core: bytes, offset: int, is_signed: bool, nonce: bytes) -> bytes:
    """A commit's frame (section 5.6)."""
    chain = chain_value(keys.vault, core)
    proof = signature.sign(keys.of_owner("signing"), signed_by_commit(chain)) if is_signed else bytes(64)
    frame = keys.seal_at("commit", b"vCMT", offset, nonce, core + derive(keys.of_owner("owner"), "commit owner", chain) + proof)
    assert frame[:8] == HEAD
    return frame


def needs_signature(header: Header) -> bool:
    """R-5.19."""
    return any(slot.kind != 1 or not slot.is_known for slot in header.slots)
