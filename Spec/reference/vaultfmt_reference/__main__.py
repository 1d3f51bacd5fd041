"""python3 -m vaultfmt_reference check …: the command of Spec/vectors/README.md."""

import argparse
import shlex
import sys

from .codec import Refused
from .crypto import Factors, Policy
from .dump import check
from .reader import Reader


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


def answer(arguments: list[str]) -> list[str]:
    given = options().parse_args(arguments)
    with open(given.file, "rb") as file:
        data = file.read()
    device = (bytes.fromhex(given.device[0]), given.device[1]) if given.device else None
    policy = Policy(given.limit_memory, given.limit_passes, given.limit_lanes, given.limit_total)
    try:
        factors = Factors(given.passphrase, given.key_file, given.raw_key)
        reader = Reader(data, factors, device, policy)
    except Refused as refused:
        return [refused.verdict]
    verdict, lines = check(reader, (int(given.anchor[0]), given.anchor[1]) if given.anchor else None)
    return [verdict, *lines]


def main(arguments: list[str]) -> None:
    if arguments[:1] != ["check"]:
        sys.exit("usage: python3 -m vaultfmt_reference check [OPTION]… FILE")
    if arguments[1:]:
        print(*answer(arguments[1:]), sep="\n")
        return
    for line in sys.stdin:
        print(*answer(shlex.split(line)), ".", sep="\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
