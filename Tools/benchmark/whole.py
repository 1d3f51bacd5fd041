"""Whole runs of the real command, as released: how long each takes from start to exit and how much memory it has at most; and KeePassXC's."""
import dataclasses
import os
import subprocess

from programs import figures, say
from rounds import Samples
from rows import Row, result

# No key derivation runs: the vault opens with a raw key.
RAW_KEY = b"\x2b" * 32
GET = Row("command_get_ms", "vaultfmt get, raw key (peer: keepassxc-cli show, including 0.1 s of key derivation)", "ms", "keepassxc_show_ms",
          against="bound", bound=lambda n: 15)
SET = Row("command_set_ms", "vaultfmt set, raw key (peer: keepassxc-cli edit, likewise)", "ms", "keepassxc_edit_ms", lambda items: None, drawn=False)
# The same file, with the same key derivation: the peer opens it, and shows one entry.
KDBX = Row("command_kdbx_ms", "vaultfmt import of a KDBX file (peer: keepassxc-cli show)", "ms", "keepassxc_show_ms", lambda items: 2, drawn=False)
WORK = {"list": "list", "export": "export", "import": "import", "rekey": "rekey", "rotate": "rekey --rotate"}
KEEPASSXC_MOST = 100_000


def key(number):
    return f"service-{number % 997:04d}.example.com", f"user{number:07d}@example.com"


class Command:
    """The command on one vault, with a home of its own so that it meets nobody's settings."""

    def __init__(self, programs, items):
        self.programs, self.items = programs, items
        folder = programs.folder
        self.vault, self.copy, self.export, self.key = (folder / name for name in ("command", "imported", "export.json", "raw.key"))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "LC_ALL": "C.UTF-8"}
        self.key.write_bytes(RAW_KEY)
        programs.work("ours", "fill", self.vault, items)

    def run(self, *arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        command = [self.programs.run, self.programs.command, *arguments, "--raw-key-file", self.key, "--no-input"]
        return figures(command, env=self.environment, stderr=subprocess.DEVNULL, **options)

    def get(self):
        return self.run("get", *key(self.items // 2), "--vault", self.vault)

    def set(self):
        secret = self.programs.folder / "secret"
        secret.write_bytes(b"s" * 64)
        with open(secret) as source:
            return self.run("set", *key(self.items // 2), "--vault", self.vault, stdin=source)

    def work(self, name):
        if name == "export":
            self.export.unlink(missing_ok=True)
            return self.run("export", "--output", self.export, self.vault)
        if name == "import":
            self.copy.unlink(missing_ok=True)
            self.run("create", self.copy)
            return self.run("import", self.export, "--vault", self.copy)
        if name == "list":
            return self.run("list", "--vault", self.vault)
        # To the same key, which is as much work as to another.
        return self.run("rekey", self.vault, *(["--rotate", "--yes"] if name == "rotate" else ["--new-raw-key-file", self.key]))

    def import_kdbx(self, path):
        passphrase = self.programs.folder / "kdbx-passphrase"
        passphrase.write_text("benchmark")
        self.copy.unlink(missing_ok=True)
        self.run("create", self.copy)
        return self.run("import", path, "--source-passphrase-file", passphrase, "--vault", self.copy)

    def clean(self):
        for path in (self.vault, self.copy, self.export):
            path.unlink(missing_ok=True)


class KeePassXC:
    """The same items in a KDBX database whose key derivation takes 0.1 s, as it says itself."""

    def __init__(self, programs, items):
        self.programs, self.items = programs, items
        self.path = programs.folder / "keepassxc.kdbx"
        source = programs.folder / "keepassxc.xml"
        with open(source, "w") as file:
            file.write("<KeePassFile><Meta/><Root><Group><Name>Root</Name>")
            for number in range(items):
                service, account = key(number)
                fields = {"Title": f"Item {number}", "UserName": account, "URL": service, "Password": "s" * 64}
                file.write("<Entry>" + "".join(f"<String><Key>{k}</Key><Value>{v}</Value></String>" for k, v in fields.items()) + "</Entry>")
            file.write("</Group></Root></KeePassFile>")
        self.xml_bytes = source.stat().st_size
        self.path.unlink(missing_ok=True)
        self.run("import", "-q", "-p", "-t", "100", source, self.path, passwords=2)
        source.unlink()

    def run(self, *arguments, passwords=1):
        command = [self.programs.run, self.programs.keepassxc, *arguments]
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
        return figures(command, input="benchmark\n" * passwords, env=environment, stderr=subprocess.DEVNULL)

    def show(self):
        return self.run("show", "-q", "-s", "-a", "Password", self.path, f"Item {self.items // 2}")

    def edit(self):
        return self.run("edit", "-q", "-u", "changed", self.path, f"Item {self.items // 2}")


def keep(samples, who, name, found):
    samples.add(who, {f"{name}_ms": found["wall_us"] / 1000, f"{name}_memory_mb": found["peak_memory"] / 1e6})


def measure_size(programs, items, rounds, is_largest):
    samples = Samples()
    ours = Command(programs, items)
    theirs = KeePassXC(programs, items) if items <= KEEPASSXC_MOST else None
    for number in range(rounds):
        say(f"whole commands at {items} items, round {number + 1} of {rounds}")
        keep(samples, "ours", "command_get", ours.get())
        if theirs:
            keep(samples, "peer", "keepassxc_show", theirs.show())
        keep(samples, "ours", "command_set", ours.set())
        if theirs:
            keep(samples, "peer", "keepassxc_edit", theirs.edit())
            keep(samples, "ours", "command_kdbx", ours.import_kdbx(theirs.path))
        for work in WORK if is_largest else ():
            keep(samples, "ours", f"command_{work}", ours.work(work))
    ours.clean()
    for row in (GET, SET):
        yield result(row, items, samples.median("ours", row.name), samples.median("peer", row.peer))
    if theirs:
        yield result(KDBX, items, samples.median("ours", KDBX.name), samples.median("peer", KDBX.peer))
        # At most four times the file's XML, but for what every command takes.
        memory = Row("command_kdbx_memory_mb", "vaultfmt import of a KDBX file, peak memory", "MB", against="bound",
                     bound=lambda n: 32 + 4 * theirs.xml_bytes / 1e6)
        yield result(memory, items, samples.median("ours", memory.name))
    if is_largest:
        yield from largest(samples, items)


def largest(samples, items):
    """Time and memory of what reads or writes everything."""
    for work, says in WORK.items():
        time = Row(f"command_{work}_ms", f"vaultfmt {says}", "ms", goal=lambda n: None)
        # An import may take 200 bytes an item more.
        memory = Row(f"command_{work}_memory_mb", f"vaultfmt {says}, peak memory", "MB", against="bound", bound=lambda n: 32)
        if work == "import":
            memory = dataclasses.replace(memory, bound=lambda n: 32 + 200 * n / 1e6)
        for row in (time, memory):
            yield result(row, items, samples.median("ours", row.name))


def measure(programs, sizes, rounds):
    return [line for size in sizes for line in measure_size(programs, size, rounds, size == max(sizes))]
