"""Prints what `keepassxc-cli merge` makes of two copies of a database that were edited apart: merge_keepassxc.py FOLDER

The table of Docs/many-machines.md is what it printed for KeePassXC 2.7.4. Copy A is changed before copy B unless a name
says otherwise; each is merged into the other.
"""

import shutil
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

from lxml import etree
from pykeepass import PyKeePass, create_database

PASSPHRASE = "pw"


def at(second):
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)


class Copy:
    """One of the copies."""

    def __init__(self, path):
        self.database = PyKeePass(str(path), password=PASSPHRASE)

    def entry(self, title):
        return self.database.find_entries(title=title, first=True)

    def edit(self, title, second, change):
        entry = self.entry(title)
        entry.save_history()
        change(entry)
        entry._set_times_property("LastModificationTime", at(second))

    def set(self, title, second, field, value):
        self.edit(title, second, lambda entry: setattr(entry, field, value))

    def remove(self, title, second):
        """For good, with the note of it that KeePass keeps."""
        entry = self.entry(title)
        identifier = entry._element.find("UUID").text
        self.database.delete_entry(entry)
        root = self.database.tree.find("Root")
        removed = root.find("DeletedObjects")
        if removed is None:
            removed = etree.SubElement(root, "DeletedObjects")
        note = etree.SubElement(removed, "DeletedObject")
        etree.SubElement(note, "UUID").text = identifier
        etree.SubElement(note, "DeletionTime").text = self.database._encode_time(at(second))

    def move(self, title, group, second):
        entry = self.entry(title)
        self.database.move_entry(entry, self.database.find_groups(name=group, first=True))
        entry._set_times_property("LocationChanged", at(second))

    def attach(self, title, second, name):
        binary = self.database.add_binary(name.encode())
        self.edit(title, second, lambda entry: entry.add_attachment(binary, name))


def make(folder):
    """The base, and both copies with their edits."""
    base = create_database(str(folder / "base.kdbx"), password=PASSPHRASE)
    cost = base.kdbx.header.value.dynamic_header.kdf_parameters.data.dict
    cost["I"].value, cost["M"].value, cost["P"].value = 1, 65536, 1
    one = base.add_group(base.root_group, "One")
    for name in ("Two", "Three"):
        base.add_group(base.root_group, name)
    for title in (
        "two fields", "one field", "attributes", "tags", "attachments", "expiry and password", "several edits",
        "removed, then edited", "edited, then removed", "removed, untouched", "removed by both", "moved and edited",
        "moved by both",
    ):
        entry = base.add_entry(one, title, "user", "base")
        entry._set_times_property("LastModificationTime", at(1))
        entry._set_times_property("LocationChanged", at(1))
    base.save()
    for name in ("a", "b"):
        shutil.copy(folder / "base.kdbx", folder / f"{name}.kdbx")
    a, b = Copy(folder / "a.kdbx"), Copy(folder / "b.kdbx")
    a.set("two fields", 10, "password", "A")
    b.set("two fields", 20, "username", "B")
    a.set("one field", 10, "password", "A")
    b.set("one field", 20, "password", "B")
    a.edit("attributes", 10, lambda entry: entry.set_custom_property("x", "A"))
    b.edit("attributes", 20, lambda entry: entry.set_custom_property("y", "B"))
    a.set("tags", 10, "tags", ["A"])
    b.set("tags", 20, "tags", ["B"])
    a.attach("attachments", 10, "A")
    b.attach("attachments", 20, "B")
    a.set("expiry and password", 10, "expires", True)
    b.set("expiry and password", 20, "password", "B")
    for number in (1, 2):
        a.set("several edits", 10 + number, "password", f"A{number}")
        b.set("several edits", 20 + number, "password", f"B{number}")
    a.remove("removed, then edited", 10)
    b.set("removed, then edited", 20, "password", "B")
    b.set("edited, then removed", 10, "password", "B")
    a.remove("edited, then removed", 20)
    a.remove("removed, untouched", 20)
    a.remove("removed by both", 10)
    b.remove("removed by both", 20)
    a.move("moved and edited", "Two", 10)
    b.set("moved and edited", 20, "password", "B")
    a.move("moved by both", "Three", 10)
    b.move("moved by both", "Two", 20)
    for copy, name in ((a, "A"), (b, "B")):
        copy.database.add_entry(copy.database.find_groups(name="One", first=True), "added by both", "user", name)
        copy.database.save()


def show(path):
    for entry in sorted(PyKeePass(str(path), password=PASSPHRASE).entries, key=lambda entry: entry.title):
        files = [file.filename for file in entry.attachments]
        now = (entry.username, entry.password, entry.custom_properties, entry.tags, files, entry.expires)
        past = [(state.username, state.password, state.custom_properties, state.tags) for state in entry.history]
        print(f"  {entry.title}: in {'/'.join(entry.group.path)}: {now}, before: {past}")


def main():
    folder = Path(sys.argv[1])
    make(folder)
    for into, source in (("a", "b"), ("b", "a")):
        target = folder / f"{source}-into-{into}.kdbx"
        shutil.copy(folder / f"{into}.kdbx", target)
        subprocess.run(
            ["keepassxc-cli", "merge", "--quiet", "--same-credentials", str(target), str(folder / f"{source}.kdbx")],
            input=f"{PASSPHRASE}\n", text=True, check=True,
        )
        print(f"{source} merged into {into}:")
        show(target)


if __name__ == "__main__":
    main()
