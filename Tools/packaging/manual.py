#!/usr/bin/env python3
"""Makes man pages from what `vaultfmt --experimental-dump-help` says: one for the command, one for each of its commands.

manual.py BINARY FOLDER DATE: writes vaultfmt.1 and vaultfmt-COMMAND.1; DATE stands at the foot of each page.
"""

import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator

# Names under which other programs start a command; vaultfmt-askpass is also the name of its page.
ALIASES = {
    "git-credential": "git-credential-vaultfmt",
    "docker-credential": "docker-credential-vaultfmt",
    "age-plugin": "age-plugin-vaultfmt",
}

# The options whose values may be omitted, as in ArgumentSpelling.swift; the description does not say so.
OPTIONAL_VALUES = {"generate", "clip"}


def escaped(text: str) -> str:
    """Text of a page: nothing in it is a request, and a dash is a dash that can be typed."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def literal(text: str) -> list[str]:
    return [".nf", *(escaped(line) for line in text.split("\n")), ".fi"]


def paragraphs(text: str) -> tuple[list[str], list[str]]:
    """The paragraphs before "Examples:", and the lines of examples behind it."""
    before, _, examples = text.partition("Examples:\n")
    blocks = [" ".join(block.split()) for block in before.split("\n\n") if block.strip()]
    return blocks, [line.strip() for line in examples.split("\n") if line.strip()]


def option_names(argument: dict) -> str:
    names = [("-" if name["kind"] == "short" else "--") + name["name"] for name in argument["names"]]
    shown = ", ".join(f"\\fB{escaped(name)}\\fR" for name in names)
    if argument["kind"] == "flag":
        return shown
    value = f"\\fI{escaped(argument['valueName'])}\\fR"
    has_optional_value = argument["preferredName"]["name"] in OPTIONAL_VALUES
    return f"{shown}[={value}]" if has_optional_value else f"{shown} {value}"


def synopsis(path: list[str], command: dict) -> str:
    words = [f"\\fB{escaped(' '.join(path))}\\fR"]
    if command.get("subcommands"):
        return words[0] + " \\fIcommand\\fR \\&..."
    words.append("[\\fIoptions\\fR]")
    for argument in shown_arguments(command):
        if argument["kind"] != "positional":
            continue
        name = f"\\fI{escaped(argument['valueName'])}\\fR" + (" \\&..." if argument["isRepeating"] else "")
        name = f"[{name}]" if argument["isOptional"] else name
        words.append(f"\\-\\- {name}" if argument["parsingStrategy"] == "postTerminator" else name)
    return " ".join(words)


def shown_arguments(command: dict) -> Iterator[dict]:
    return (argument for argument in command.get("arguments", []) if argument.get("shouldDisplay", True))


def argument_lines(command: dict) -> Iterator[str]:
    sections: dict[str, list[dict]] = {}
    for argument in shown_arguments(command):
        default = "Arguments" if argument["kind"] == "positional" else "Options"
        sections.setdefault(argument.get("sectionTitle") or default, []).append(argument)
    for title, arguments in sorted(sections.items(), key=lambda section: section[0] != "Arguments"):
        yield f".SH {escaped(title.upper())}"
        for argument in arguments:
            yield ".TP"
            is_positional = argument["kind"] == "positional"
            yield f"\\fI{escaped(argument['valueName'])}\\fR" if is_positional else option_names(argument)
            text = argument.get("abstract", "")
            if default := argument.get("defaultValue"):
                text += f" (default: {default})"
            if values := argument.get("allValueStrings"):
                text += f" One of: {', '.join(values)}."
            yield escaped(" ".join(text.split())) or "\\&"


def commands_below(command: dict) -> list[dict]:
    return [sub for sub in command.get("subcommands", []) if sub.get("shouldDisplay", True)]


class Manual:
    def __init__(self, binary: str, folder: str, date: str) -> None:
        self.binary, self.folder, self.date = binary, pathlib.Path(folder), date
        self.version = self.ask("--version")
        self.folder.mkdir(parents=True, exist_ok=True)

    def ask(self, *arguments: str) -> str:
        return subprocess.run([self.binary, *arguments], check=True, capture_output=True, text=True).stdout.rstrip("\n")

    def write(self) -> None:
        root = json.loads(self.ask("--experimental-dump-help"))["command"]
        commands = [sub for sub in commands_below(root) if sub["commandName"] != "help"]
        self.page(["vaultfmt"], root, [f"vaultfmt-{sub['commandName']}" for sub in commands])
        for command in commands:
            self.page(["vaultfmt", command["commandName"]], command, ["vaultfmt"])
            if alias := ALIASES.get(command["commandName"]):
                target = f".so man1/vaultfmt-{command['commandName']}.1\n"
                (self.folder / f"{alias}.1").write_text(target)

    def page(self, path: list[str], command: dict, related: list[str]) -> None:
        name = "-".join(path)
        blocks, examples = paragraphs(command.get("discussion", ""))
        abstract = command["abstract"].rstrip(".")
        lines = [
            f'.TH {escaped(name.upper())} 1 "{self.date}" "vaultfmt {self.version}" "User Commands"',
            ".SH NAME",
            f"{escaped(name)} \\- {escaped(abstract[:1].lower() + abstract[1:])}",
            ".SH SYNOPSIS",
            *self.synopses(path, command),
            ".SH DESCRIPTION",
            *"\n.PP\n".join(escaped(block) for block in blocks or [command["abstract"]]).split("\n"),
            *argument_lines(command),
            *self.commands(path, command),
        ]
        if len(path) == 1:
            lines += [".SH EXIT STATUS", *literal(self.topic("exit-codes"))]
            lines += [".SH ENVIRONMENT", *literal(self.topic("environment"))]
        if examples:
            lines += [".SH EXAMPLES", *literal("\n".join(examples))]
        links = [f".BR {escaped(page)} (1)" for page in sorted(related)]
        lines += [".SH SEE ALSO", *(link + "," for link in links[:-1]), links[-1]]
        (self.folder / f"{name}.1").write_text("\n".join(lines) + "\n")

    def synopses(self, path: list[str], command: dict) -> list[str]:
        all_synopses = [synopsis([*path, sub["commandName"]], sub) for sub in commands_below(command)]
        return "\n.br\n".join(all_synopses if len(path) > 1 and all_synopses else [synopsis(path, command)]).split("\n")

    def commands(self, path: list[str], command: dict) -> Iterator[str]:
        """What stands below a command: a list for the root, everything for the others."""
        below = commands_below(command)
        if not below:
            return
        if len(path) == 1:
            yield ".SH COMMANDS"
        for sub in below:
            if len(path) == 1:
                yield from (".TP", f"\\fB{escaped(sub['commandName'])}\\fR", escaped(sub["abstract"]))
                continue
            blocks, examples = paragraphs(sub.get("discussion", ""))
            yield f".SH {escaped(' '.join([*path[1:], sub['commandName']]).upper())}"
            yield from "\n.PP\n".join(escaped(block) for block in [sub["abstract"], *blocks]).split("\n")
            for line in argument_lines(sub):
                yield line.replace(".SH ", ".SS ", 1)
            if examples:
                yield from (".SS EXAMPLES", *literal("\n".join(examples)))

    def topic(self, name: str) -> str:
        """A topic of `vaultfmt help`, without its heading."""
        return self.ask("help", name).partition("\n\n")[2]


if __name__ == "__main__":
    Manual(*sys.argv[1:]).write()
