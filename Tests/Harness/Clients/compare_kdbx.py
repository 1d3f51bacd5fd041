"""Compares two KDBX files by pykeepass: compare_kdbx.py FILE PASSPHRASE OTHER PASSPHRASE TITLE…

The entries of these titles must be equal: their groups, fields and which of them are protected, tags, icons, expiry,
times, attachments, and the same of their history. Two fields of ours are left aside: `origin`, by which a later import
finds an entry, and the `folder` of a past state, for which KDBX has no place.
"""

import sys

from pykeepass import PyKeePass

OURS = {"origin", "folder"}


def state(entry, is_past=False):
    """What an entry holds, in a form that compares."""
    found = {
        "fields": {
            name: (entry.get_custom_property(name), entry.is_custom_property_protected(name))
            for name in entry.custom_properties if name not in OURS
        },
        "title": entry.title, "username": entry.username or "", "password": entry.password or "",
        "protected": entry._is_property_protected("Password"), "url": entry.url or "",
        "notes": entry.notes or "", "otp": entry.otp, "tags": sorted(entry.tags or []), "expires": entry.expires,
        "expiry": entry.expiry_time if entry.expires else None, "modified": entry.mtime.replace(microsecond=0),
    }
    if not is_past:
        found["group"] = entry.group.path
        found["icon"] = entry.icon or "0"
        found["created"] = entry.ctime.replace(microsecond=0)
        found["attachments"] = sorted((file.filename, file.data) for file in entry.attachments)
        found["history"] = [state(past, is_past=True) for past in entry.history]
    return found


def main():
    first, second = (PyKeePass(sys.argv[at], password=open(sys.argv[at + 1]).read()) for at in (1, 3))
    for title in sys.argv[5:]:
        one, other = (state(database.find_entries(title=title, first=True)) for database in (first, second))
        for name in one:
            assert one[name] == other[name], f"{title}: {name}: {one[name]!r} is {other[name]!r}"
    print(f"{len(sys.argv) - 5} entries are equal")


if __name__ == "__main__":
    main()
