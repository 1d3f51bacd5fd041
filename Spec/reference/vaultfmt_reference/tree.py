"""Writes the tree: pages that did not change are referred to again (section 5.2)."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from os.path import commonprefix

from .codec import Limit
from .frames import Reference
from .objects import Page

Changes = dict[bytes, bytes | None]
Load = Callable[[Reference, int], Page]
Append = Callable[[Page], Reference]


@dataclass
class Node:
    """A page to be: written already if it has a reference, and loaded from there when its contents are needed."""

    level: int
    reference: Reference | None = None
    keys: list[bytes] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    children: list["Node"] = field(default_factory=list)

    def load(self, load: Load) -> None:
        if self.reference is not None and not self.keys and not self.children:
            page = load(self.reference, self.level)
            self.keys, self.values = page.keys, page.values
            self.children = [Node(self.level - 1, child) for child in page.children]

    @property
    def page(self) -> Page:
        return Page(self.level, self.keys, self.values, [each.reference or Reference(1 << 40, 1 << 16) for each in self.children])

    @property
    def is_too_long(self) -> bool:
        """R-5.12."""
        can_split = len(self.keys) > 1 if self.level == 0 else len(self.children) > 4
        return can_split and len(self.page.encode()) + 48 > Limit.PAGE_GOAL


def update(node: Node, changes: Changes, load: Load) -> list[tuple[bytes, Node]]:
    """What takes the node's place: nodes, each with the separator before it; the first separator is the parent's."""
    if not changes:
        return [(b"", node)]
    node.load(load)
    if node.level == 0:
        entries = dict(zip(node.keys, node.values, strict=True))
        for key, value in changes.items():
            if value is None:
                del entries[key]
            else:
                entries[key] = value
        ordered = sorted(entries.items())
        return split(Node(0, None, [key for key, _ in ordered], [value for _, value in ordered])) if ordered else []
    parts: list[Changes] = [{} for _ in node.children]
    for key, value in changes.items():
        parts[bisect_right(node.keys, key)][key] = value
    children: list[tuple[bytes, Node]] = []
    for before, child, part in zip([b"", *node.keys], node.children, parts, strict=True):
        replaced = update(child, part, load)
        children += [(before if index == 0 else separator, each) for index, (separator, each) in enumerate(replaced)]
    return split(Node(node.level, None, [key for key, _ in children[1:]], [], [each for _, each in children])) if children else []


def split(node: Node) -> list[tuple[bytes, Node]]:
    if not node.is_too_long:
        return [(b"", node)]
    if node.level == 0:
        middle = len(node.keys) // 2
        between = separator(node.keys[middle - 1], node.keys[middle])
        left = Node(0, None, node.keys[:middle], node.values[:middle])
        right = Node(0, None, node.keys[middle:], node.values[middle:])
    else:
        middle = len(node.children) // 2
        between = node.keys[middle - 1]
        left = Node(node.level, None, node.keys[: middle - 1], [], node.children[:middle])
        right = Node(node.level, None, node.keys[middle:], [], node.children[middle:])
    return [*split(left), *((key or between, each) for key, each in split(right))]


def separator(before: bytes, after: bytes) -> bytes:
    """The shortest that is greater than the one, and not greater than the other."""
    return after[: len(commonprefix([before, after])) + 1]


def changed(root: Node | None, changes: Changes, load: Load) -> Node | None:
    """The new root; None if nothing is left."""
    if root is None and not changes:
        return None
    nodes = update(root or Node(0), changes, load)
    while len(nodes) > 1:
        keys, children = [key for key, _ in nodes[1:]], [each for _, each in nodes]
        nodes = split(Node(children[0].level + 1, None, keys, [], children))
    return nodes[0][1] if nodes else None


def write(node: Node, append: Append) -> Reference:
    """Children before parents (R-5.12)."""
    if node.reference is None:
        for child in node.children:
            write(child, append)
        node.reference = append(node.page)
    return node.reference


def pages(node: Node | None, load: Load) -> list[Reference]:
    """All of a written tree."""
    if node is None or node.reference is None:
        return []
    node.load(load)
    return [node.reference, *(each for child in node.children for each in pages(child, load))]


