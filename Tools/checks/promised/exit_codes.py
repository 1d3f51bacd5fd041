"""The exit codes of the command, and what each means, as `vaultfmt help exit-codes` says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .lists import Promise

ROW = re.compile(r"^  (?P<codes>\d+(?:, \d+)*)  +(?P<meaning>\S.*)$")


def promises(help_text: str) -> list[Promise]:
    """The rows of the table; a line that is indented further continues the meaning of the row before."""
    return [Promise(code, meaning) for codes, meaning in rows(help_text.splitlines()) for code in codes.split(", ")]


def rows(lines: list[str]) -> Iterator[tuple[str, str]]:
    codes, meaning = "", ""
    for line in lines:
        if match := ROW.match(line):
            if codes:
                yield codes, meaning
            codes, meaning = match["codes"], match["meaning"]
        elif codes and line.startswith("    "):
            meaning += f" {line.strip()}"
    if codes:
        yield codes, meaning
