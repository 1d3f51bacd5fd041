"""Copies merged in all orders, compared with the model and with each other."""

import importlib
import itertools
import sys
from pathlib import Path
from random import Random
from typing import Any

from vaultfmt_reference.codec import Refused
from vaultfmt_reference.dump import check
from vaultfmt_reference.reader import Reader

MODEL = Path(__file__).resolve().parents[2] / "model"


def model(name: str) -> Any:
    """A module of the model; its folder is no package."""
    if str(MODEL) not in sys.path:
        sys.path.insert(0, str(MODEL))
    return importlib.import_module(name)


class Played(Exception):
    """The reference has something else than the model."""


def at_end(files: Any, states: list[Any], pick: Random, loose: set[bytes]) -> None:
    """Up to four copies under one key, merged in all orders."""
    merging = model("merging")
    by_key: dict[Any, dict[int, Any]] = {}
    for st in states:
        if id(st) in files.known:
            by_key.setdefault(st.key, {})[id(st)] = st
    for group in by_key.values():
        chosen = pick.sample(sorted(group.values(), key=lambda st: sorted(st.vv.items())), min(len(group), pick.choice((2, 3, 3, 4))))
        said_by_order = set[str]()
        for order in itertools.permutations(chosen):
            st, data = order[0], files.file(order[0])
            try:
                for other in order[1:]:
                    st, data = merging.merge(st, other), files.merged(data, files.file(other))
            except Refused as refused:
                if refused.verdict != "last-slot":
                    raise
                continue
            found, wanted = files.contents(data, loose), files.expected(st, loose)
            if found != wanted:
                raise Played(f"merged in an order: {found}\n  instead of {wanted}")
            said_by_order.add("\n".join(plain_dump(files.reader(data))))
            again = files.merged(data, files.file(order[0]))
            if again != data:
                raise Played("merging again changes the file")
        if len(said_by_order) > 1:
            first, second = sorted(said_by_order)[:2]
            differing = sorted(set(first.split("\n")) ^ set(second.split("\n")))
            raise Played("two orders end in two files: " + "\n".join(differing[:20]))


def plain_dump(opened: Reader) -> list[str]:
    """Without what depends on who merges, on the order, and on random numbers."""
    verdict, lines = check(opened)
    assert verdict in ("success", "device-bound"), verdict
    out: list[str] = []
    dropped = {
        "dot", "generation", "chain", "before", "own", "slot", "slot-owner", "compartment", "group", "record", "attribute-record",
        "hand-over", "clock", "grant", "slot-grant",
    }  # fmt: skip
    groups = {f"{each.number}": each.name.hex() for each in opened.keyring.groups.values()}
    item = ""
    for line in lines:
        word, _, rest = line.partition(" ")
        if word in ("item", "forgotten", "end"):
            item = rest
        if word == "value" and len(rest.split()) == 6:
            # When a value was replaced, and what a secret had then, are no contents: what was shown in between loses them.
            rest = rest.rpartition(" ")[0]
        if word not in dropped and not (word in ("attribute", "attribute-unavailable") and len(rest.split()) == 3):
            if word == "slot-grant-dot":
                group, _, dot = rest.partition(" ")
                rest = f"{groups[group]} {dot}"
            out.append(f"{item}: {word} {rest}")
    return sorted(out)
