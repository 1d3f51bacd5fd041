"""The command of Spec/vectors/README.md, and what Tools/exchange calls."""

import argparse
import secrets
import sys
from functools import cache
from pathlib import Path

from . import age
from .anchors import Anchor
from .codec import Refused
from .dump import check
from .example import example, example_vault
from .exchange import make, make_merges
from .factors import STRETCHED, Factors, Policy, Stretching, Unwrap
from .header import Header
from .merge import adopt, merge
from .reader import Reader
from .salvage import salvage
from .slots import NewSlot
from .verify import verify

USAGE = """usage: run check [OPTION VALUE]… FILE       reads a vault; without arguments, requests from standard input
       run verify [OPTION VALUE]… FILE      authenticates every byte, and counts what it opened
       run salvage [OPTION VALUE]… FILE     lists what can be read of a damaged file, proven or not
       run merge [OPTION VALUE]… OURS THEIRS RESULT
                                            merges two copies; without arguments, requests from standard input
       run random SEED FIRST COUNT DIR      writes random vaults as vectors, from number FIRST on
       run merges SEED FIRST COUNT DIR      writes random merges: ours, theirs and what becomes of them
       run example RAW-KEY FILE             prints a vault like the one in Spec/example.md
       run example-vault FILE               writes that one; its raw key is 00 01 02 … 1f"""


@cache
def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vaultfmt_reference check", allow_abbrev=False, add_help=False)
    for name in ("passphrase", "key-file", "raw-key", "owner"):
        parser.add_argument("--" + name, type=unhexed, metavar="HEX")
    parser.add_argument("--external", type=external, metavar="NAME:KEYS")
    parser.add_argument("--age-identity", metavar="IDENTITY")
    parser.add_argument("--device", type=device, action="append", default=[], metavar="ID:SECRET")
    parser.add_argument("--anchor", type=Anchor.parse, metavar="OWNER:CHAIN:FLOOR:ID=REVISION,…")
    for name in ("memory", "passes", "lanes", "total"):
        parser.add_argument("--limit-" + name, type=int, default=getattr(Policy, name))
    parser.add_argument("file")
    return parser


def unhexed(value: str) -> bytes:
    """`-` are no bytes."""
    return b"" if value == "-" else bytes.fromhex(value)


def device(value: str) -> tuple[bytes, bytes]:
    number, _, secret = value.partition(":")
    return bytes.fromhex(number), bytes.fromhex(secret)


def external(value: str) -> tuple[bytes, Unwrap]:
    """A provider's name, and its candidates: KEY for each of its slots, SLOT=KEY for one."""
    name, _, given = value.rpartition(":")
    pairs = [word.rpartition("=") for word in given.split(",")] if given not in ("", "-") else []

    def unwrap(slots: dict[bytes, bytes]) -> dict[bytes, list[bytes]]:
        return {slot: [bytes.fromhex(key) for only, _, key in pairs if only in ("", slot.hex())] for slot in slots}

    return name.encode("ascii"), unwrap


def opened(given: argparse.Namespace) -> Reader:
    data = Path(given.file).read_bytes()
    policy = Policy(given.limit_memory, given.limit_passes, given.limit_lanes, given.limit_total)
    # What is wrong with the header is told first, then what is no factor.
    header = Header.decode(data)
    provider, unwrap = given.external or (b"", None)
    if given.age_identity:
        provider, unwrap = age.NAME, age.unwrapper(header.vault, age.identity(given.age_identity))
    factors = Factors(given.passphrase, given.key_file, given.raw_key, provider, unwrap)
    return Reader(data, factors, dict(given.device), policy, given.owner)


def answer(arguments: list[str]) -> list[str]:
    given = options().parse_args(arguments)
    try:
        reader = opened(given)
    except Refused as refused:
        return [refused.verdict]
    verdict, lines = check(reader, given.anchor)
    return [verdict, *lines]


def verified(arguments: list[str]) -> None:
    try:
        counts = verify(opened(options().parse_args(arguments)))
    except Refused as refused:
        sys.exit(f"{refused.verdict}: {refused}")
    print(*(f"{kind} {count}" for kind, count in sorted(counts.items())), sep="\n")


def merged(arguments: list[str]) -> list[str]:
    """How two copies stood to each other; the file that takes the place of ours is written."""
    parser = argparse.ArgumentParser(prog="vaultfmt_reference merge", allow_abbrev=False, parents=[options()], conflict_handler="resolve")
    parser.add_argument("theirs")
    parser.add_argument("result")
    parser.add_argument("--accept-old-keys", action="store_true")
    parser.add_argument("--one-file", action="store_true")
    given = parser.parse_args(arguments)
    try:
        ours = opened(given)
        given.file = given.theirs
        theirs = opened(given)
        # As if it were done right after the later of both.
        at = max(ours.commit.clock, theirs.commit.clock) >> 16
        if ours.keys.public != theirs.keys.public and given.accept_old_keys:
            result = adopt(ours, theirs, secrets.token_bytes, lambda: at)
        else:
            result = merge(ours, theirs, secrets.token_bytes, lambda: at, spare=spare(ours, given), unifies=given.one_file)
    except Refused as refused:
        return [f"refused {refused.verdict}"]
    Path(given.result).write_bytes(result.data)
    # A file that was compacted for the other side to take is one that no side had.
    return ["merged" if result.what == "compacted" else result.what]


def spare(reader: Reader, given: argparse.Namespace) -> NewSlot | None:
    """For a merge that would leave no full slot: one for the factors at hand (R-8.20), if they are no provider's."""
    if given.external or given.age_identity:
        return None
    factors = Factors(given.passphrase, given.key_file, given.raw_key)
    stretching = reader.slot.parameters.stretching if factors.kinds & STRETCHED else None
    return NewSlot(factors, stretching and Stretching(stretching.memory, stretching.passes, stretching.lanes), name=b"added by a merge")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["merge"]:
            for line in sys.stdin:
                print(*merged(line.removesuffix("\n").split(" ")), ".", sep="\n", flush=True)
        case ["merge", *rest]:
            print(*merged(rest), sep="\n")
        case ["check"]:
            for line in sys.stdin:
                print(*answer(line.removesuffix("\n").split(" ")), ".", sep="\n", flush=True)
        case ["check", *rest]:
            print(*answer(rest), sep="\n")
        case ["verify", *rest]:
            verified(rest)
        case ["salvage", *rest]:
            given = options().parse_args(rest)
            provider, unwrap = given.external or (b"", None)
            factors = Factors(given.passphrase, given.key_file, given.raw_key, provider, unwrap)
            print(*salvage(Path(given.file).read_bytes(), factors, dict(given.device)), sep="\n")
        case ["random", seed, first, count, folder]:
            for number in range(int(first), int(first) + int(count)):
                make(seed, Path(folder), number)
        case ["merges", seed, first, count, folder]:
            for number in range(int(first), int(first) + int(count)):
                make_merges(seed, Path(folder), number)
        case ["example", raw_key, path]:
            data = Path(path).read_bytes()
            key = bytes.fromhex(raw_key)
            example(Reader(data, Factors(raw_key=key)), data, key)
        case ["example-vault", path]:
            Path(path).write_bytes(example_vault())
        case _:
            sys.exit(USAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
