"""Builds the C library and the declarations that cffi reads from its header, for the wheel being built, and collects the licences."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from cffi import FFI
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "libvaultfmt.so.1"
# What auditwheel adds to the wheel: the Debian packages with the licences of these libraries.
BUNDLED = ("libargon2-dev", "libsodium-dev", "libutf8proc-dev")


def declarations(header: str) -> str:
    """Returns the header without the parts that cffi cannot read: comments, function bodies, and macros that are not numbers."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    header = re.sub(r'#ifdef __cplusplus\n.*?#endif\n', "", header, flags=re.S)
    header = re.sub(r"static inline [^{]*\{.*?\n\}", "", header, flags=re.S)
    header = header.replace("\\\n", " ")
    lines = header.splitlines()
    return "\n".join(line for line in lines if not line.startswith("#") or re.match(r"#define VAULTFMT_\w+ \d+$", line))


class BuildLibrary(BuildHookInterface[Any]):
    """Puts the library and the declarations next to the modules, and marks the wheel as for this kind of machine and any Python 3."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            raise RuntimeError("the package holds a library that is built: install it, not a link to its sources")
        work = Path(tempfile.mkdtemp())
        self.work = work
        environment = {**os.environ, "PREFIX": str(work)}
        for name in ("LIBDIR", "INCLUDEDIR", "DESTDIR"):
            environment.pop(name, None)
        subprocess.run([ROOT / "Tools/c/install"], env=environment, check=True)
        with (work / "LICENCES").open("wb") as licences:
            subprocess.run([ROOT / "Tools/packaging/licences", "--runtime", *BUNDLED], stdout=licences, check=True)
        ffi = FFI()
        ffi.cdef(declarations((work / "include/vaultfmt.h").read_text()))
        ffi.set_source("vaultfmt._declarations", None)
        ffi.emit_python_code(str(work / "_declarations.py"))
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"] = {
            str(work / "lib" / LIBRARY): f"vaultfmt/{LIBRARY}",
            str(work / "_declarations.py"): "vaultfmt/_declarations.py",
            str(work / "LICENCES"): "vaultfmt/LICENCES",
        }

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self.work)
