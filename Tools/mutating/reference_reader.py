"""Mutants of the reference's reader: every check of its modules that read, on the conformance vectors.

Run by the reference's own Python: `reference_reader.py vectors`, or `reference_reader.py files FOLDER KEY…` with vectors of another folder. Prints a
line for each mutant, fields separated by tabs: key, file, line, check, what was made of it, `caught`, `crashed` or `left`, and the vector.
"""

from __future__ import annotations

import ast
import gc
import importlib.machinery
import importlib.util
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
READING = (
    "codec", "signature", "crypto", "factors", "slots", "header", "frames", "keyring", "items", "objects", "state", "reader", "anchors", "dump",
)  # fmt: skip
# Functions that return their first argument if it may be believed.
PASSING = {"at_most", "number_of", "visible", "text"}
# Calls that only check: where they do not raise, it makes no difference that they are left out.
CHECKING = {"ascending", "check", "check_against", "check_mac", "check_proof", "check_recorded", "finish", "refuse_critical", "require"}
FALSE, TRUE, RAISED = 1, 2, 4

MARKS = """\
chosen, value, met = 0, 0, {}

def mutant_check(number, operand):
    met[number] = met.get(number, 0) | (2 if operand else 1)
    if number != chosen:
        return operand
    return not operand if value == 2 else bool(value)

def mutant_kept(number):
    met[number] = met.get(number, 0) | 1
    return number != chosen

def mutant_raised(number):
    met[number] = met.get(number, 0) | 4

def mutant_passed(number, function, first, *rest):
    if not mutant_kept(number):
        return first
    try:
        return function(first, *rest)
    except BaseException:
        mutant_raised(number)
        raise
"""


@dataclass(frozen=True)
class Mark:
    number: int
    # "needed" and "refused" are operands; "call", "raise" and "passed" are left out.
    kind: str
    file: str
    line: int
    text: str
    is_pure: bool = False


@dataclass(frozen=True)
class Mutant:
    mark: Mark
    value: int

    @property
    def key(self) -> str:
        return f"{self.mark.number}:{self.value}"

    @property
    def what(self) -> str:
        return ("false", "true", "inverted")[self.value] if self.mark.kind in ("needed", "refused") else "left out"

    def concerns(self, met: int) -> bool:
        """Whether a reading that met these could have gone another way with the mutant."""
        if self.mark.kind in ("needed", "refused") and self.value < 2:
            return met & (FALSE, TRUE)[1 - self.value] != 0
        return met & RAISED != 0 if self.mark.is_pure else met != 0


class Marking(ast.NodeTransformer):
    """Puts a mark at each check."""

    def __init__(self, file: str, marks: list[Mark]) -> None:
        self.file, self.marks = file, marks

    def mark(self, kind: str, node: ast.AST, is_pure: bool = False) -> ast.Constant:
        number = len(self.marks) + 1
        self.marks.append(Mark(number, kind, self.file, getattr(node, "lineno", 0), " ".join(ast.unparse(node).split()), is_pure))
        return ast.Constant(number)

    def call(self, name: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])

    def operands(self, kind: str, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BoolOp):
            return ast.BoolOp(node.op, [self.operands(kind, each) for each in node.values])
        chain = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        middle = [inner for each in chain[1:-1] for inner in ast.walk(each)]
        if len(chain) > 2 and not any(isinstance(each, ast.Call) and ast.unparse(each.func) != "len" for each in middle):
            pairs = zip(chain, node.ops, chain[1:], strict=False)  # type: ignore[attr-defined]
            parts: list[ast.expr] = [ast.copy_location(ast.Compare(left, [op], [right]), node) for left, op, right in pairs]
            return ast.BoolOp(ast.And(), [self.operands(kind, each) for each in parts])
        number = self.mark(kind, node)
        return self.call("mutant_check", number, self.generic_visit(node))  # type: ignore[arg-type]

    def visit_Call(self, node: ast.Call) -> ast.expr:  # noqa: N802
        name = ast.unparse(node.func)
        if name == "require":
            return ast.Call(node.func, [self.operands("needed", node.args[0]), *node.args[1:]], node.keywords)
        if name in PASSING and not node.keywords:
            number = self.mark("passed", node, is_pure=True)
            self.generic_visit(node)
            return self.call("mutant_passed", number, node.func, *node.args)
        self.generic_visit(node)
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:  # noqa: N802
        last = node.body[-1]
        is_nothing = isinstance(last, ast.Return) and isinstance(last.value, ast.Constant) and last.value.value in (None, False)
        test = node.test
        if (isinstance(last, ast.Raise) or is_nothing) and not node.orelse:
            marked = self.operands("refused", test)
            node.body = [self.visit(each) for each in node.body] if len(node.body) > 1 else node.body
            return ast.If(marked, node.body, node.orelse)
        self.generic_visit(node)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:  # noqa: N802
        number = self.mark("raise", node)
        self.generic_visit(node)
        return ast.If(self.call("mutant_kept", number), [node], [])

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:  # noqa: N802
        if not isinstance(node.value, ast.Call) or ast.unparse(node.value.func) in {"require", "super().__init__", "out.append", *PASSING}:
            self.generic_visit(node)
            return node
        name = ast.unparse(node.value.func).rpartition(".")[2]
        number = self.mark("call", node, name in CHECKING)
        self.generic_visit(node)
        raised = ast.Expr(self.call("mutant_raised", number))
        handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [raised, ast.Raise()])
        return ast.If(self.call("mutant_kept", number), [ast.Try([node], [handler], [], [])], [])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:  # noqa: N802
        if node.name in WRITING or node.name.startswith(("encode", "seal", "open_record")) or (node.name == "require"):
            return node
        self.generic_visit(node)
        return node


# Writers' functions in modules that read.
WRITING = {"check_costs", "make", "refuse_read_only", "reseal_owner_part", "rewrapped", "seal_slot", "varint", "with_owner_part"}


def rewrite(folder: Path) -> list[Mark]:
    """The package with marks in it."""
    marks: list[Mark] = []
    package = folder / "vaultfmt_reference"
    package.mkdir()
    (package / "mutants.py").write_text(MARKS)
    for path in sorted((ROOT / "Spec/reference/vaultfmt_reference").glob("*.py")):
        text = path.read_text()
        if path.stem in READING:
            tree = ast.parse(text)
            marking = Marking(str(path.relative_to(ROOT / "Spec")), marks)
            tree.body = [marking.visit(each) if isinstance(each, (ast.FunctionDef, ast.ClassDef)) else each for each in tree.body]
            text = ast.unparse(ast.fix_missing_locations(tree))
            names = "from .mutants import mutant_check, mutant_kept, mutant_passed, mutant_raised\n"
            after_docstring = text.index('"""', 3) + 4
            text = text[:after_docstring] + names + text[after_docstring:]
        (package / path.name).write_text(text)
    return marks


@dataclass
class Known:
    name: str
    arguments: list[str]
    answer: list[str]
    met: dict[int, int]
    seconds: float


def load_vectors(folder: Path) -> tuple[list[tuple[str, bytes, list[str]]], dict[str, str]]:
    loader = importlib.machinery.SourceFileLoader("conformance", str(ROOT / "Tools/conformance"))
    spec = importlib.util.spec_from_loader("conformance", loader)
    assert spec
    conformance = importlib.util.module_from_spec(spec)
    sys.modules["conformance"] = conformance
    loader.exec_module(conformance)
    vectors = conformance.load(folder)
    cases = [
        (each.name, each.vault, [word for key in conformance.OPTIONS for value in each.header.get(key, []) for word in ("--" + key, value)])
        for each in vectors
    ]
    return cases, {each.name: each.one("expect") for each in vectors}


class Run:
    def __init__(self, folder: Path, vectors: Path) -> None:
        self.marks = rewrite(folder)
        sys.path.insert(0, str(folder))
        sys.dont_write_bytecode = True
        from vaultfmt_reference import __main__ as program  # type: ignore[import-not-found]
        from vaultfmt_reference import mutants  # type: ignore[import-not-found]

        self.program, self.mutants = program, mutants
        self.known: list[Known] = []
        cases, expected = load_vectors(vectors)
        for number, (name, vault, options) in enumerate(cases):
            path = folder / f"{number}.vault"
            path.write_bytes(vault)
            arguments = [*options, str(path)]
            mutants.met.clear()
            started = time.monotonic()
            answer = self.answer(arguments)
            if answer[0] != expected[name]:
                sys.exit(f"{name} fails without a mutant: {answer[0]}")
            self.known.append(Known(name, arguments, answer, dict(mutants.met), time.monotonic() - started))
        self.known.sort(key=lambda each: each.seconds)
        print(f"{len(self.known)} vectors in {sum(each.seconds for each in self.known):.1f} s", file=sys.stderr)

    def answer(self, arguments: list[str]) -> list[str]:
        try:
            return list(self.program.answer(arguments))
        except Exception as error:  # noqa: BLE001
            return [f"no answer: {type(error).__name__}: {error}"]

    def all_mutants(self) -> list[Mutant]:
        return [Mutant(mark, value) for mark in self.marks for value in (range(3) if mark.kind in ("needed", "refused") else [0])]

    def tell(self, mutant: Mutant) -> tuple[str, str]:
        number = mutant.mark.number
        candidates = [each for each in self.known if mutant.concerns(each.met.get(number, 0))]
        candidates.sort(key=lambda each: not each.met[number] & RAISED)
        if not candidates:
            return "left", "0"
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))
            resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
            signal.alarm(400)
            self.mutants.chosen, self.mutants.value = number, mutant.value
            for each in candidates:
                if self.answer(each.arguments) != each.answer:
                    os.write(write, each.name.encode())
                    os._exit(1)
            os._exit(0)
        os.close(write)
        name = os.read(read, 4096).decode()
        os.close(read)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return ("caught", name) if code == 1 else ("left", str(len(candidates))) if code == 0 else ("crashed", "-")

    def part(self, mutants: list[Mutant]) -> None:
        for mutant in mutants:
            mark = mutant.mark
            print(mutant.key, mark.file, mark.line, mark.text, mutant.what, *self.tell(mutant), sep="\t", flush=True)


def in_parts(parts: int, work: Callable[[int], None]) -> None:
    """Each in a process of its own; what they print comes one after the other."""
    gc.freeze()
    outputs = [tempfile.TemporaryFile() for _ in range(parts)]
    children = []
    for part in range(parts):
        child = os.fork()
        if child == 0:
            os.dup2(outputs[part].fileno(), 1)
            work(part)
            sys.stdout.flush()
            os._exit(0)
        children.append(child)
    failed = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    for output in outputs:
        output.seek(0)
        sys.stdout.buffer.write(output.read())
    sys.stdout.flush()
    if any(failed):
        sys.exit(f"a part ended with {max(failed)}")


def main(arguments: list[str]) -> None:
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as place:
        # The reference reads this table from the folder above its own.
        shutil.copy(ROOT / "Spec/unicode-13.txt", place)
        folder = Path(place) / "reference"
        folder.mkdir()
        run = Run(folder, Path(arguments[1]) if arguments[0] == "files" else ROOT / "Spec/vectors")
        chosen = set(arguments[2:])
        mutants = [each for each in run.all_mutants() if not chosen or each.key in chosen]
        in_parts(cores, lambda part: run.part(mutants[part::cores]))


if __name__ == "__main__":
    main(sys.argv[1:])
