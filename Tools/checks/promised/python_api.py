"""The promises of the Python package, read from its sources: names, signatures, fields, and the values of constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from .lists import Promise

# What `with`, subscripts, `in`, loops and `len` call. Programs make objects with the package's functions, or as dataclasses
# of their fields: other methods with such names are not for them to call.
PROTOCOLS = {"__enter__", "__exit__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__len__"}

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


class Package:
    """The modules of a package, and what each of them defines at its top."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.modules = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.py"))}

    def definition(self, module: str, name: str) -> tuple[str, Definition] | None:
        """What a name of a module means in this package, with the module that defines it."""
        for node in self.modules[module].body:
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module in self.modules:
                for alias in node.names:
                    found = self.definition(node.module, alias.name if alias.name != "*" else name)
                    if (alias.asname or alias.name) in (name, "*") and found:
                        return found
            elif name in defined(node):
                return module, node
        return None

    def public_names(self, module: str) -> list[str]:
        """The names of `__all__`, or the classes and functions of a module without it."""
        body = self.modules[module].body
        for node in body:
            if isinstance(node, ast.Assign) and "__all__" in defined(node):
                return self.listed(module, node.value)
        return [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and is_public(node.name)]

    def listed(self, module: str, value: ast.expr) -> list[str]:
        if not isinstance(value, ast.List):
            raise SystemExit(f"{module}.py: error: __all__ is not a list")
        names: list[str] = []
        for element in value.elts:
            match element:
                case ast.Constant():
                    names.append(str(element.value))
                case ast.Starred(value=ast.Name()):
                    names += self.public_names(self.source(module, element.value.id))
                case _:
                    # Computed of the module's classes.
                    names += [node.name for node in self.modules[module].body if isinstance(node, ast.ClassDef) and is_public(node.name)]
        return list(dict.fromkeys(names))

    def source(self, module: str, name: str) -> str:
        """The module whose `__all__` is imported under a name."""
        for node in self.modules[module].body:
            if isinstance(node, ast.ImportFrom) and node.module in self.modules and any(alias.asname == name for alias in node.names):
                return node.module
        raise SystemExit(f"{module}.py: error: {name} in __all__ is not another module's __all__")

    def exports(self, name: str) -> bool:
        return name in self.public_names("__init__")


def promises(folder: Path) -> list[Promise]:
    package = Package(folder)
    found = []
    for module in package.modules:
        if module != "__init__" and module.startswith("_"):
            continue
        # What the package itself exports is imported from there; other modules are imported by their names.
        if module != "__init__" and is_gathered(package, module):
            continue
        prefix = package.name if module == "__init__" else f"{package.name}.{module}"
        for name in package.public_names(module):
            definition = package.definition(module, name)
            if definition is None:
                raise SystemExit(f"{module}.py: error: nothing defines {name}")
            found += described(package, f"{prefix}.{name}", *definition)
    return found


def is_gathered(package: Package, module: str) -> bool:
    nodes = package.modules["__init__"].body
    return any(isinstance(node, ast.ImportFrom) and node.level == 1 and node.module == module for node in nodes)


def defined(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name()):
            return [node.target.id]
        case _:
            return []


def is_public(name: str) -> bool:
    return name in PROTOCOLS or not name.startswith("_")


def described(package: Package, path: str, module: str, node: Definition) -> Iterator[Promise]:
    match node:
        case ast.ClassDef():
            # Programs catch an error by any of its bases.
            bases = [ast.unparse(base) for base in node.bases if is_public(ast.unparse(base))]
            decorators = [f"@{ast.unparse(decorator)} " for decorator in node.decorator_list]
            yield Promise(path, f"{''.join(decorators)}class({', '.join(bases)})")
            for name, member in members(package, module, node).items():
                yield from described(package, f"{path}.{name}", *member)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            decorators = [f"@{ast.unparse(decorator)} " for decorator in node.decorator_list]
            yield Promise(path, f"{''.join(decorators)}({ast.unparse(node.args)}){returned}")
        case ast.AnnAssign():
            value = f" = {ast.unparse(node.value)}" if node.value else ""
            yield Promise(path, f"{ast.unparse(node.annotation)}{value}")
        case ast.Assign():
            yield Promise(path, f"= {ast.unparse(node.value)}")


def members(package: Package, module: str, node: ast.ClassDef) -> dict[str, tuple[str, Definition]]:
    """A class's public members, with those that it inherits from classes of this package that are not public themselves."""
    found: dict[str, tuple[str, Definition]] = {}
    for base in reversed(node.bases):
        inherited = package.definition(module, ast.unparse(base))
        if inherited and isinstance(inherited[1], ast.ClassDef) and not package.exports(inherited[1].name):
            found |= members(package, inherited[0], inherited[1])
    for statement in node.body:
        if isinstance(statement, Definition):
            found |= {name: (module, statement) for name in defined(statement) if is_public(name)}
    return found
