"""Rounds of the same work by ours and by the peer, in turn; the median of each figure counts."""
import os
import statistics
import subprocess

from programs import figures, say
from rows import (
    COLD_ROWS, COLD_WORK, FLAT, GROWTH_ROWS, LARGE_ROWS, MERGE_CHANGES, MERGE_ITEMS, MERGE_ROWS, ROWS, SCOPED_OPEN, SLOT_ROWS, VARIANT_ROWS, VARIANT_WORK, VARIANTS,
    WHEEL_ROWS, limit, needed, result)

# Kinds of work that follow each other, ours and the peer's. What stands alone has no like at the other.
WORK = [("fill", "fill"), ("open", "open"), ("get", "get"), ("scan", "scan"), ("list", None),
        ("passphrase", None), ("set", "set"), ("rotate", "rekey")]


def warm(path):
    """Reads a file, if it is there: a system that takes what nobody has used for a while out of its cache would have the disk measured."""
    for part in parts(path):
        with open(part, "rb") as file:
            while file.read(1 << 20):
                pass


def parts(path):
    """A file, and what SQLite has beside it."""
    return [part for part in (path, path.with_name(path.name + "-wal")) if part.exists()]


def cool(path):
    """Has the system forget what it has of a file in memory."""
    for part in parts(path):
        file = os.open(part, os.O_RDONLY)
        try:
            # What is not on the disk cannot be forgotten.
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


def file_system(folder):
    """Its type, as the system calls it."""
    return subprocess.run(["stat", "--file-system", "--format=%T", folder], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Samples:
    def __init__(self):
        self.values = {}

    def add(self, who, found):
        for name, value in found.items():
            self.values.setdefault((who, name), []).append(value)

    def all(self, who, name):
        return self.values.get((who, name))

    def median(self, who, name):
        values = self.values.get((who, name))
        return statistics.median(values) if values else None

    def most(self, who, name):
        values = self.values.get((who, name))
        return max(values) if values else None


class Size:
    """The measurements at one number of items."""

    def __init__(self, programs, items, rounds, changes):
        self.programs, self.items, self.rounds, self.changes = programs, items, rounds, changes
        self.samples = Samples()
        self.all = ("peer", "ours", "wheel") if programs.python else ("peer", "ours")
        self.paths = {who: programs.folder / f"{who}-{items}" for who in self.all}
        self.aged = {who: programs.folder / f"{who}-{items}-aged" for who in ("ours", "peer")}
        self.limits, self.growth, self.shape = [], {}, {}
        # Files of a tmpfs are nowhere else than in memory.
        self.has_disk = file_system(programs.folder) not in ("tmpfs", "ramfs")

    def measure(self):
        for number in range(self.rounds):
            say(f"{self.items} items, round {number + 1} of {self.rounds}")
            self.round(self.all[::-1] if number % 2 else self.all, number == 0)
            names = needed(ROWS, self.shape)
            self.limits.append(self.programs.cost(names))
        self.clean()

    def round(self, order, is_first):
        for path in self.paths.values():
            remove(path)
        for ours, peer in WORK:
            for who in order:
                work = ours if who == "ours" else peer
                if not work:
                    continue
                warm(self.paths[who])
                found = self.programs.work(who, work, self.paths[who], self.items)
                # An import may take more than the rest.
                if work == "fill" and "peak_memory" in found:
                    found["fill_memory_mb"] = found.pop("peak_memory") / 1e6
                self.samples.add(who, found)
                if work in COLD_WORK and who != "wheel" and self.has_disk:
                    cool(self.paths[who])
                    found = self.programs.work(who, work, self.paths[who], self.items)
                    self.samples.add(who, {f"cold_{name}": value for name, value in found.items()})
            if ours == "fill" and is_first:
                self.shape = figures([self.programs.ours, "shape", self.paths["ours"]])
            if ours == "fill" and is_first and self.changes:
                self.age()
            if ours == "set":
                self.shape["update_bytes"] = self.samples.median("ours", "commit_bytes")
                self.set_aged(order)
        self.variants()
        if is_first:
            for work in ("verify", "compact"):
                self.samples.add("ours", self.programs.work("ours", work, self.paths["ours"], self.items))

    def age(self):
        for who in ("peer", "ours"):
            say(f"{self.items} items: {self.changes} random changes by {who}")
            self.programs.work(who, "fill", self.aged[who], self.items)
            command = [self.programs.ours, "growth"] if who == "ours" else [self.programs.peer, "growth"]
            self.growth[who] = figures([*command, self.aged[who], self.items, self.changes])
            self.samples.add(who, {"peak_memory": self.growth[who]["peak_memory"]})

    def set_aged(self, order):
        for who in order:
            if not self.changes or who == "wheel":
                continue
            warm(self.aged[who])
            found = self.programs.work(who, "set", self.aged[who], self.items)
            self.samples.add(who, {"durable_update_aged_us": found["durable_update_us"]})

    def variants(self):
        """Vaults that are made otherwise. What is compared with them was measured just before."""
        for variant in VARIANTS:
            path = self.programs.folder / f"{variant}-{self.items}"
            for work in VARIANT_WORK:
                if work != "open-scoped" or variant == "scoped":
                    self.samples.add(variant, self.programs.work("ours", work, path, self.items, variant))
            remove(path)

    def clean(self):
        for path in (*self.paths.values(), *self.aged.values()):
            remove(path)

    def results(self):
        samples = self.samples
        for who in ("ours", "peer"):
            samples.values[who, "peak_memory_mb"] = [samples.most(who, "peak_memory") / 1e6]
        for row in ROWS:
            at_least = [limit(row, self.shape, known) for known in self.limits] if row.limit else []
            ours = samples.all("ours", row.ours or row.name) or []
            base = {"peer": samples.all("peer", row.peer), "limit": at_least, "bound": [row.bound(self.items)] * len(ours) if row.bound else None}
            yield result(
                row, self.items, samples.median("ours", row.ours or row.name), samples.median("peer", row.peer),
                statistics.median(at_least) if at_least else None, (ours, base[row.against]))
        if self.growth:
            yield from self.growth_results()
        for row in (*VARIANT_ROWS, SCOPED_OPEN):
            variant = row.name.split("_")[0]
            yield result(
                row, self.items, samples.median(variant, row.ours), samples.median("ours", row.peer),
                rounds=(samples.all(variant, row.ours), samples.all("ours", row.peer)))
        for row in COLD_ROWS:
            yield result(
                row, self.items, samples.median("ours", row.name), samples.median("peer", row.peer),
                rounds=(samples.all("ours", row.name), samples.all("peer", row.peer)))
        for row in WHEEL_ROWS if self.programs.python else ():
            yield result(
                row, self.items, samples.median("ours", row.ours), samples.median("wheel", row.peer),
                rounds=(samples.all("ours", row.ours), samples.all("wheel", row.peer)))

    def growth_results(self):
        ours, peer = self.growth["ours"], self.growth["peer"]
        found = {
            "durable_mean_us": ours["durable_mean_us"],
            "growth_open_ratio": ours["open_after_us"] / ours["open_before_us"],
            "growth_size_ratio": ours["largest_over_bound"],
            "growth_written_ratio": ours["written_per_change"] / ours["commit_bytes"],
        }
        for row in GROWTH_ROWS:
            yield result(row, self.items, found[row.name], peer.get(row.peer))


def remove(path):
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def flat(lines):
    """How much longer the largest vault takes to open than the smallest."""
    opens = sorted((line for line in lines if line["row"] == "open_get_us"), key=lambda line: line["items"])
    if len(opens) < 2:
        return []
    least, most = opens[0], opens[-1]
    return [result(FLAT, most["items"], most["ours"] / least["ours"], most["peer"] / least["peer"])]


def large(programs, rounds):
    """One secret of 16 MiB."""
    say("a secret of 16 MiB")
    samples, limits = Samples(), []
    path = programs.folder / "large"
    for _ in range(rounds):
        remove(path)
        for work in ("set", "get"):
            samples.add("ours", figures([programs.ours, "large", work, path]))
        limits.append(programs.cost(needed(LARGE_ROWS, {})))
    remove(path)
    for row in LARGE_ROWS:
        at_least = [limit(row, {}, known) for known in limits] if row.limit else None
        ours = samples.all("ours", row.ours or row.name)
        base = at_least if row.against == "limit" else [row.bound(1)] * rounds
        yield result(
            row, 1, samples.median("ours", row.ours or row.name), limit=statistics.median(at_least) if at_least else None, rounds=(ours, base))


def slots(programs):
    """Vaults of 64 slots."""
    say("64 slots")
    found = {}
    for kind in ("raw", "passphrases"):
        path = programs.folder / f"slots-{kind}"
        found |= figures([programs.ours, "slots", kind, path])
        remove(path)
    for row in SLOT_ROWS:
        yield result(row, 1, found[row.name], found.get(row.peer))


def merge(programs, rounds):
    """Two copies of a vault that went on."""
    samples = Samples()
    path = programs.folder / "merge"
    names = [path, *(path.with_name(f"merge.{side}") for side in ("ours", "theirs"))]
    for number in range(rounds):
        say(f"a merge of {MERGE_ITEMS} items, round {number + 1} of {rounds}")
        for work in ("prepare", "merge", "transaction"):
            samples.add("ours", figures([programs.ours, "merge", work, path, str(MERGE_ITEMS), str(MERGE_CHANGES)]))
        for name in names:
            remove(name)
    for row in MERGE_ROWS:
        ours = samples.all("ours", row.name)
        base = samples.all("ours", row.peer) if row.against == "peer" else [row.bound(MERGE_ITEMS)] * rounds
        yield result(row, MERGE_ITEMS, samples.median("ours", row.name), samples.median("ours", row.peer), rounds=(ours, base))
