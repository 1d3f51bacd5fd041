"""The promises of a C header: functions, types, the values of constants, and sizes and offsets of structures, from clang."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .lists import Promise

# "         8 |   const uint8_t * data": an offset, and a member of the structure itself, not of one within it.
MEMBER = re.compile(r"^ *(?P<offset>\d+) \|   (?P<type>\S.*) (?P<name>\w+)$")
STRUCTURE = re.compile(r"^ *0 \| (?:struct|union) (?P<name>\w+)$")
SIZE = re.compile(r"^ *\| \[sizeof=(?P<size>\d+), align=(?P<alignment>\d+)\]$")
CONSTANT = re.compile(r"^#define (?P<name>\w+) (?P<value>.+)$")


def promises(header: Path, prefix: str, version: str) -> list[Promise]:
    """The promises of all names that begin with the prefix, in either case; `version` is the macro that every release changes."""
    tree = json.loads(clang(header, "-fsyntax-only", "-Xclang", "-ast-dump=json"))
    found = [*declarations(tree["inner"], prefix), *layouts(clang(header, "-fsyntax-only", "-Xclang", "-fdump-record-layouts-complete"), prefix)]
    return found + [Promise(name, text) for name, text in macros(clang(header, "-E", "-dM"), prefix) if name != version]


def clang(header: Path, *arguments: str) -> str:
    return subprocess.run(["clang", "-std=c11", *arguments, "-x", "c", str(header)], check=True, capture_output=True, text=True).stdout


def declarations(nodes: list[dict[str, Any]], prefix: str) -> Iterator[Promise]:
    for node in nodes:
        kind, name = node["kind"], node.get("name", "")
        if kind == "EnumDecl":
            yield from constants(node, prefix)
        elif not name.startswith(prefix):
            continue
        elif kind == "FunctionDecl":
            yield Promise(f"{name}()", node["type"]["qualType"])
        elif kind == "TypedefDecl":
            yield Promise(f"type {name}", node["type"]["qualType"])


def constants(node: dict[str, Any], prefix: str) -> Iterator[Promise]:
    value = -1
    for constant in node["inner"]:
        if constant["kind"] != "EnumConstantDecl":
            continue
        given = [inner["value"] for inner in constant.get("inner", []) if "value" in inner]
        value = int(given[0]) if given else value + 1
        if constant["name"].startswith(prefix.upper()):
            yield Promise(constant["name"], str(value))


def layouts(dump: str, prefix: str) -> Iterator[Promise]:
    structure = None
    for line in dump.splitlines():
        if match := STRUCTURE.match(line):
            structure = match["name"] if match["name"].startswith(prefix) else None
        elif structure and (match := MEMBER.match(line)):
            yield Promise(f"{structure}.{match['name']}", f"{match['type']} at {match['offset']}")
        elif structure and (match := SIZE.match(line)):
            yield Promise(f"struct {structure}", f"{match['size']} bytes, aligned to {match['alignment']}")
            structure = None


def macros(listing: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Macros with a value. An initializer gains what its structure gains: only its name is promised."""
    for line in listing.splitlines():
        match = CONSTANT.match(line)
        if match and match["name"].startswith(prefix.upper()):
            yield match["name"], "an initializer" if match["value"].startswith("{") else match["value"]
