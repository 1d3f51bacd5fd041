"""Whatever is altered, sealed again or not: a verdict, and nothing else."""

import contextlib
import unittest
from random import Random

from tests.vaults import RAW, reader, rich, verdict
from vaultfmt_reference.anchors import Anchor, compare
from vaultfmt_reference.codec import Refused
from vaultfmt_reference.dots import Vector
from vaultfmt_reference.dump import check
from vaultfmt_reference.factors import Factors
from vaultfmt_reference.reader import Reader
from vaultfmt_reference.salvage import salvage
from vaultfmt_reference.verify import verify

PARTS = ["header", "page", "keyring", "vector", "core", "past 0", "past 1", "proof", "commit-frame", "page-frame"]
PARTS += [f"{kind} {number}" for kind in ("record", "record-frame") for number in range(10)]


def mutated(data: bytes, pick: Random) -> bytes:
    """Bits, numbers, cuts, repetitions."""
    out = bytearray(data)
    for _ in range(pick.choice([1, 1, 1, 2, 5])):
        at = pick.randrange(len(out) + 1)
        match pick.randrange(6):
            case 0 if at < len(out):
                out[at] ^= 1 << pick.randrange(8)
            case 1:
                out[at : at + 8] = pick.choice([bytes(8), b"\xff" * 8, b"\x7f" + b"\xff" * 7, pick.randbytes(8)])
            case 2:
                out[at : at + 1] = pick.choice([b"\0", b"\1", b"\x7f", b"\x80", b"\xff"])
            case 3:
                del out[at : at + pick.choice([1, 8, 256])]
            case 4:
                out[at:at] = out[at : at + pick.choice([1, 8, 256])]
            case _:
                out[at : at + 16] = out[:16]
    return bytes(out)


class Mutations(unittest.TestCase):
    def everything(self, data: bytes) -> str:
        found = verdict(data)
        with contextlib.suppress(Refused):
            opened = reader(data)
            check(opened, Anchor(bytes(32), bytes(32), Vector({1: 1})))
            compare(opened, Anchor(opened.keys.public, bytes(32), Vector({1: 1})))
            verify(opened)
        with contextlib.suppress(Refused):
            list(salvage(data, Factors(raw_key=RAW), {}))
        return found

    def test_files(self, count: int = 150) -> None:
        pick = Random("files")
        vault = rich([b"work"])
        for _ in range(count):
            self.everything(mutated(vault.data, pick))

    def test_what_is_sealed_again(self, count: int = 250) -> None:
        pick = Random("sealed")
        forge = rich().forge()
        verdicts = set()
        for _ in range(count):
            part = pick.choice(PARTS)
            with contextlib.suppress(OverflowError):  # A frame longer than its length can state.
                verdicts.add(self.everything(forge.build({part: lambda before: mutated(before, pick)})))
        self.assertGreaterEqual(len(verdicts), 4)

    def test_a_scoped_reader(self, count: int = 60) -> None:
        pick = Random("scoped")
        forge = rich([b"work"]).forge()
        for _ in range(count):
            data = forge.build({pick.choice(PARTS): lambda before: mutated(before, pick)})
            with contextlib.suppress(Refused):
                check(Reader(data, Factors(raw_key=bytes(range(32, 64)))))
