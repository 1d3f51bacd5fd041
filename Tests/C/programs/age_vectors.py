"""Unpacks the conformance vectors that an age identity of the type X25519 opens, or fails to, into a folder: a vault and
an identity file each, and `list`, whose lines are a vector's name and verdict.

Usage: age_vectors.py FOLDER
"""

import sys
from pathlib import Path

folder = Path(sys.argv[1])
names = []
for path in sorted(Path("Spec/vectors/age").glob("*.vector")):
    header, _, vault = path.read_bytes().partition(b"\n\n")
    fields = dict(line.split(": ", 1) for line in header.decode("ascii").splitlines())
    identity = fields.get("age-identity", "")
    if identity.startswith("AGE-SECRET-KEY-1") and "passphrase" not in fields:
        (folder / f"{path.stem}.vault").write_bytes(vault)
        (folder / f"{path.stem}.txt").write_text(f"# a comment\n{identity}\n")
        names.append(f"{path.stem} {fields['expect']}\n")
(folder / "list").write_text("".join(names))
