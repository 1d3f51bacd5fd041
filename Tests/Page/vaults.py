"""Vaults for the tests of the page, made by the command, and pages that carry them."""

import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSPHRASE = "correct horse café"
SECRET = "s3cret-of-alice"
OLD_SECRET = "older-secret-of-alice"
NOTES = "first line of the notes\nsecond line"
CI_SECRET = "token-of-the-runner"
OTP = "otpauth://totp/Example:alice?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&digits=8"  # RFC 6238's key for SHA-1
QUICK = ["--kdf-memory", "19MiB", "--kdf-passes", "2"]
LARGE = 16 << 20

# What a name in a vault can try: markup, controls, directions, invisible characters, stacked marks, many scripts.
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "{{constructor.constructor('alert(1)')()}}",
    "&lt;b&gt;bold&lt;/b&gt;",
    "<!--",
    "]]>",
    "' onmouseover='alert(1)",
    "evil\u202egnp.exe",
    "\u2067right\u2069 left",
    "a\u0000b",
    "a\u001b[31mred",
    "line\nfeed",
    "carriage\rreturn",
    "tab\tinside",
    "zero\u200bwidth",
    "soft\u00adhyphen",
    "\ufeffmark at the start",
    "joiner\u200dbetween",
    "no\u00a0break",
    "para\u2029graph",
    "line\u2028separator",
    "del\u007fete",
    "next\u0085line",
    "filler\u3164hangul",
    "tag\U000e0041\U000e0042",
    "z" + "\u0351\u0350\u034f" * 60,
    "unassigned\U000323b0",
    "noncharacter\uffff",
    "private\ue000use",
    " leading and trailing ",
    "",
    "w" * 4000,
    "\u202e" * 1000,
    "界" * 1300,
    "Ж" * 2000,
    "база данных",
    "東京サーバー",
    "خادم البريد",
    "שרת דואר",
    "नमस्ते सर्वर",
    "می\u200cخواهم",
    "👨\u200d👩\u200d👧 family",
    "❤\ufe0f heart",
    "ไทย",
    "ភាសាខ្មែរ",
    "한국어 서버",
    "Ελληνικά",
]
HOSTILE += [
    f"{name}{'/' * (1 + index % 3)}..\\{chr(0x202A + index % 5)}{index}" for index, name in enumerate(HOSTILE[:50])
]
assert len(HOSTILE) == 100


def bytes_of(seed, size):
    """Bytes that look random and are the same in every run."""
    return hashlib.shake_256(seed.encode()).digest(size)


class Vaults:
    """The vaults and key files, in one folder."""

    def __init__(self, folder, binary):
        self.folder = folder
        self.binary = binary
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "LC_ALL": "C.UTF-8"}
        (folder / "home").mkdir()
        self.passphrase = self.file("passphrase", PASSPHRASE.encode())
        self.key_file = folder / "owner.key"
        self.second_key = folder / "second.key"
        self.ci_key = folder / "ci.key"
        for key in (self.key_file, self.second_key, self.ci_key):
            self.run("generate", "--key-file", key)
        self.raw_key = self.file("raw.key", bytes_of("raw", 32))
        self.attachment = bytes_of("attachment", LARGE)

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        path.chmod(0o600)
        return path

    def run(self, *arguments, data=b""):
        done = subprocess.run(
            [self.binary, *map(str, arguments)], input=data, env=self.environment, capture_output=True, check=False
        )
        if done.returncode != 0:
            sys.exit(f"vaultfmt {' '.join(map(str, arguments))}: {done.stderr.decode()}")
        return done.stdout

    def on(self, command, vault, *arguments, data=b""):
        return self.run(*command.split(), "-f", vault, "--passphrase-file", self.passphrase, *arguments, data=data)

    def create(self, name, *kdf):
        vault = self.folder / name
        self.run("create", vault, "--passphrase-file", self.passphrase, "--allow-weak-kdf", *(kdf or QUICK))
        return vault

    def load(self, vault, items):
        """Imports items, given as (service, account, secret, attributes), in one change."""
        listed = [
            {
                "class": "generic-password",
                "service": service,
                "account": account,
                "secret": secret,
                "attributes": attributes,
            }
            for service, account, secret, attributes in items
        ]
        source = self.file(
            "import.json", json.dumps({"format": "vaultfmt-export", "version": 2, "items": listed}).encode()
        )
        self.on("import", vault, source)

    def everyday(self, *kdf):
        """A vault with one of everything, opened by five slots; and its state before the last change."""
        vault = self.create("everyday.vault", *kdf)
        attributes = {
            "label": "GitHub",
            "comment": "work account",
            "notes": NOTES,
            "otp": OTP,
            "com.example.pin": {"text": "pin-4711", "flags": ["concealed"]},
            "file:plan.bin": {
                "base64": base64.b64encode(bytes_of("plan", 900)).decode(),
                "flags": ["binary", "sealed"],
            },
        }
        self.load(
            vault,
            [("github.com", "alice", OLD_SECRET, attributes), ("db.example.org", "app", "database", {"label": "Prod"})],
        )
        self.on("set", vault, "github.com", "alice", data=SECRET.encode())
        self.on("set", vault, "blob.example.org", "bytes", data=b"\xff\xfe\x00binary")
        self.on("set", vault, "ci.example.org", "runner", "--group", "ci", data=CI_SECRET.encode())
        self.on("slot add", vault, "--new-key-file", self.key_file)
        self.on("slot add", vault, "--new-raw-key-file", self.raw_key)
        both = ["--new-key-file", self.second_key, "--new-passphrase-file", self.passphrase]
        self.on("slot add", vault, *both, *QUICK)
        self.on("slot add", vault, "--new-key-file", self.ci_key, "--grant-group", "ci")
        older = self.file("older.vault", vault.read_bytes())
        older_anchor = self.on("anchor", vault).decode().strip()
        self.on("set", vault, "later.example.org", "ann", data=b"later")
        return vault, older, older_anchor, self.on("anchor", vault).decode().strip()

    def hostile(self):
        vault = self.create("hostile.vault")
        self.load(
            vault,
            [(name, f"{index}", name or "x", {"label": name, "comment": name}) for index, name in enumerate(HOSTILE)],
        )
        return vault

    def many(self, count, name="many.vault", *kdf):
        vault = self.create(name, *kdf)
        self.load(
            vault,
            [
                (f"service-{i:05}.example.org", f"user{i % 97}", f"secret {i}", {"label": f"Item {i}"})
                for i in range(count)
            ],
        )
        return vault

    def large(self):
        vault = self.create("large.vault")
        encoded = base64.b64encode(self.attachment).decode()
        name = "file:../.hidden\u202e/plan of the house.pdf"
        self.load(vault, [("files", "large", "x", {name: {"base64": encoded, "flags": ["binary", "sealed"]}})])
        return vault


def native_listing(output):
    """Compiles a program that opens a vault with the portable reader, as it is released, and lists it."""
    reader = ROOT / "Sources/C/VaultReader"
    sources = [path for path in reader.glob("*.c") if not re.match(r"(example|page|page-\w+)\.c$", path.name)]
    flags = ["-std=c11", "-O2", "-I", reader / "include", "-o", output, "-lsodium", "-largon2"]
    subprocess.run(["cc", ROOT / "Tests/Page/listing.c", *sources, *flags], check=True)
    return output


def page_with(vault, output):
    """Assembles the page that carries `vault`, or an empty one."""
    with_vault = ["--vault", vault] if vault else []
    subprocess.run([ROOT / "Tools/page/assemble", "--output", output, *with_vault], check=True)
    return output
