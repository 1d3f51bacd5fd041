"""Tests of what compares promises: each kind of list is made of an original, and a change of the original must be found."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from promised import c_header, exit_codes, hashes, json_members, lists, python_api, swift_api
from promised.lists import SUMS, TABLE, Promise

HEADER = """
typedef enum vaultfmt_kind { VAULTFMT_FIRST = 1, VAULTFMT_SECOND } vaultfmt_kind;
#define VAULTFMT_SIZE 48
#define VAULTFMT_INIT {0, 0}
#define VAULTFMT_VERSION "1"
typedef struct vaultfmt_pair { int first; struct { long inner; } second; } vaultfmt_pair;
int vaultfmt_open(const char *path);
int other(void);
"""


class Lists(unittest.TestCase):
    def test_what_was_removed_changed_and_added_is_told_apart(self) -> None:
        found = lists.compare([Promise("a", "1"), Promise("b", "1"), Promise("c", "1")], [Promise("b", "2"), Promise("c", "1"), Promise("d", "1")])
        self.assertEqual(found.removed, [Promise("a", "1")])
        self.assertEqual(found.changed, [("b", "1", "2")])
        self.assertEqual(found.added, [Promise("d", "1")])
        self.assertTrue(found.breaks)
        lines = list(found.lines("HOW"))
        self.assertEqual(lines[0], "removed: a, which was '1'")
        self.assertEqual(lines[2], "not listed: d, '1'; add it with 'HOW'")

    def test_an_overload_that_is_added_changes_nothing(self) -> None:
        found = lists.compare([Promise("f", "(int)")], [Promise("f", "(int)"), Promise("f", "(text)")])
        self.assertFalse(found.breaks)
        self.assertEqual(found.added, [Promise("f", "(text)")])

    def test_what_is_written_is_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for form in (TABLE, SUMS):
                promises = [Promise("a b", "1  2") if form is TABLE else Promise("a  b", "1"), Promise("c", "3")]
                lists.write(Path(folder, "list"), form, "comment", promises)
                self.assertEqual(lists.read(Path(folder, "list"), form), promises)
            self.assertEqual(lists.read(Path(folder, "none"), TABLE), [])

    def test_a_line_twice_or_without_text_is_refused(self) -> None:
        for text in ("a\t1\na\t1\n", "a\n", "\t1\n"):
            with self.assertRaises(lists.Malformed):
                lists.parse(text, TABLE)


class Sources(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_header_has_functions_constants_sizes_and_offsets(self) -> None:
        (self.folder / "h.h").write_text(HEADER)
        found = dict(c_header.promises(self.folder / "h.h", "vaultfmt_", "VAULTFMT_VERSION"))
        self.assertEqual(found["VAULTFMT_FIRST"], "1")
        self.assertEqual(found["VAULTFMT_SECOND"], "2")
        self.assertEqual(found["VAULTFMT_SIZE"], "48")
        self.assertEqual(found["VAULTFMT_INIT"], "an initializer")
        self.assertEqual(found["vaultfmt_open()"], "int (const char *)")
        self.assertEqual(found["vaultfmt_pair.first"], "int at 0")
        self.assertTrue(found["vaultfmt_pair.second"].endswith(" at 8"))
        self.assertEqual(found["struct vaultfmt_pair"], "16 bytes, aligned to 8")
        self.assertNotIn("VAULTFMT_VERSION", found)
        self.assertNotIn("other()", found)

    def test_a_package_has_what_it_exports(self) -> None:
        package = self.folder / "package"
        package.mkdir()
        (package / "__init__.py").write_text("from .things import Thing\n__all__ = ['Thing']\n")
        (package / "things.py").write_text(
            "class Base:\n    def inherited(self) -> int: ...\n"
            "class Thing(Base):\n    size: int = 3\n    def _hidden(self): ...\n    def grow(self, by: int, *, fast=False) -> None: ...\n"
        )
        (package / "extra.py").write_text("def helper(text): ...\ndef _own(): ...\n")
        found = dict(python_api.promises(package))
        self.assertEqual(
            found,
            {
                "package.Thing": "class(Base)",
                "package.Thing.inherited": "(self) -> int",
                "package.Thing.size": "int = 3",
                "package.Thing.grow": "(self, by: int, *, fast=False) -> None",
                "package.extra.helper": "(text)",
            },
        )

    def test_files_have_the_hashes_of_their_bytes(self) -> None:
        (self.folder / "a").mkdir()
        (self.folder / "a" / "x.vector").write_bytes(b"abc")
        (self.folder / "SHA256SUMS").write_bytes(b"")
        digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        self.assertEqual(hashes.promises(self.folder, "*"), [Promise("a/x.vector", digest)])


class Outputs(unittest.TestCase):
    def test_a_meaning_goes_on_in_the_next_line(self) -> None:
        text = "Exit codes:\n\n  0    done\n  3    done, but\n       not all\n  126, 127  'run' cannot\n"
        expected = [Promise("0", "done"), Promise("3", "done, but not all"), Promise("126", "'run' cannot"), Promise("127", "'run' cannot")]
        self.assertEqual(exit_codes.promises(text), expected)

    def test_members_have_places_and_types(self) -> None:
        value = [{"a": 1, "attributes": {"label": "x"}, "b": {"c": [True, None]}}]
        self.assertEqual(
            sorted(set(json_members.members(value, "list"))),
            sorted([
                Promise("list []", "an object"),
                Promise("list [].a", "a number"),
                Promise("list [].attributes", "an object"),
                Promise("list [].attributes.*", "a string"),
                Promise("list [].b", "an object"),
                Promise("list [].b.c", "an array"),
                Promise("list [].b.c []", "true or false"),
                Promise("list [].b.c []", "null"),
            ]),
        )  # fmt: skip

    def test_a_symbol_graph_has_declarations_and_conformances(self) -> None:
        graph = {
            "symbols": [{"identifier": {"precise": "s:T"}, "pathComponents": ["T"], "declarationFragments": [{"spelling": "struct"}, {"spelling": " T"}]}],
            "relationships": [
                {"kind": "conformsTo", "source": "s:T", "target": "s:SQ", "targetFallback": "Swift.Equatable"},
                {"kind": "conformsTo", "source": "s:T", "target": "s:X", "targetFallback": "Swift.SendableMetatype"},
            ],
        }
        self.assertEqual(list(swift_api.of_graph(graph, "M")), [Promise("M.T", "struct T"), Promise("M.T: Swift.Equatable", "conforms")])


if __name__ == "__main__":
    unittest.main()
