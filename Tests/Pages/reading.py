"""Pages of the documentation: their blocks of code, and the command lines of those that show a terminal."""

import dataclasses
import pathlib


@dataclasses.dataclass
class Line:
    """A command line, with what the page shows below it."""

    page: str
    number: int
    text: str
    shown: list[str] = dataclasses.field(default_factory=list)

    @property
    def command(self) -> str:
        """Without the page's remark."""
        return self.text.split("  #")[0].rstrip()


@dataclasses.dataclass
class Block:
    """A block that shows no terminal: a file, or a program."""

    page: str
    number: int
    language: str
    text: str

    @property
    def first(self) -> str:
        return self.text.splitlines()[0]


def read(root: pathlib.Path, page: str) -> list[Line | Block]:
    """The command lines and the other blocks of a page, in its order."""
    found: list[Line | Block] = []
    inside: list[tuple[int, str]] | None = None
    language = ""
    for number, text in enumerate((root / page).read_text().splitlines(), 1):
        if not text.startswith("```"):
            if inside is not None:
                inside.append((number, text))
        elif inside is None:
            inside, language = [], text[3:]
        else:
            if language in ("console", "sh-session"):
                found += lines(page, inside)
            else:
                body = "".join(f"{text}\n" for _, text in inside)
                found.append(Block(page, inside[0][0], language, body))
            inside = None
    if inside is not None:
        raise SystemExit(f"{page}: a block of code does not end")
    return found


def lines(page: str, block: list[tuple[int, str]]) -> list[Line]:
    """Lines that begin with `$ `; those below, up to an empty line, are what the command says."""
    found: list[Line] = []
    ended = True
    for number, text in block:
        if text.startswith("$ "):
            found.append(Line(page, number, text[2:]))
            ended = False
        elif not text:
            ended = True
        elif ended:
            raise SystemExit(
                f"{page}:{number}: '{text}' is neither a command, which begins with '$ ', nor what one says"
            )
        else:
            found[-1].shown.append(text)
    return found
