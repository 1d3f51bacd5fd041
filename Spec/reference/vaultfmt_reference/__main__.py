"""The command of Spec/vectors/README.md, and random vaults for Tools/exchange."""

import argparse
import shlex
import sys
from pathlib import Path

from .codec import Refused
from .crypto import Factors, Policy
from .dump import check
from .example import example
from .exchange import make
from .reader import Reader
from .verify import verify

USAGE = """usage: run check [OPTION VALUE]… FILE       reads a vault; without arguments, requests from standard input
       run verify [OPTION VALUE]… FILE      authenticates every byte, and counts what it opened
       run random SEED FIRST COUNT DIR  writes random vaults as vectors, from number FIRST on
       run example RAW-KEY FILE         prints a vault like the one in Spec/example.md"""


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vaultfmt_reference check")
    for name in ("passphrase", "key-file", "raw-key"):
        parser.add_argument("--" + name, type=bytes.fromhex, metavar="HEX")
    parser.add_argument("--device", type=pair, metavar="ID:SECRET")
    parser.add_argument("--anchor", type=pair, metavar="GENERATION:CHAIN")
    for name in ("memory", "passes", "lanes", "total"):
        parser.add_argument("--limit-" + name, type=int, default=getattr(Policy, name))
    parser.add_argument("file")
    return parser


def pair(value: str) -> tuple[str, bytes]:
    left, _, right = value.partition(":")
    return left, bytes.fromhex(right)


def opened(given: argparse.Namespace) -> Reader:
    with open(given.file, "rb") as file:
        data = file.read()
    device = (bytes.fromhex(given.device[0]), given.device[1]) if given.device else None
    policy = Policy(given.limit_memory, given.limit_passes, given.limit_lanes, given.limit_total)
    return Reader(data, Factors(given.passphrase, given.key_file, given.raw_key), device, policy)


def answer(arguments: list[str]) -> list[str]:
    given = options().parse_args(arguments)
    try:
        reader = opened(given)
    except Refused as refused:
        return [refused.verdict]
    verdict, lines = check(reader, (int(given.anchor[0]), given.anchor[1]) if given.anchor else None)
    return [verdict, *lines]


def verified(arguments: list[str]) -> None:
    try:
        counts = verify(opened(options().parse_args(arguments)))
    except Refused as refused:
        sys.exit(f"{refused.verdict}: {refused}")
    print(*(f"{kind} {count}" for kind, count in sorted(counts.items())), sep="\n")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["check"]:
            for line in sys.stdin:
                print(*answer(shlex.split(line)), ".", sep="\n", flush=True)
        case ["check", *rest]:
            print(*answer(rest), sep="\n")
        case ["verify", *rest]:
            verified(rest)
        case ["random", seed, first, count, folder]:
            for number in range(int(first), int(first) + int(count)):
                make(seed, Path(folder), number)
        case ["example", raw_key, path]:
            with open(path, "rb") as file:
                data = file.read()
            example(Reader(data, Factors(raw_key=bytes.fromhex(raw_key))), data)
        case _:
            sys.exit(USAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
