"""The rows of the table: what each compares with what, its goal, and the least that the primitives alone would take."""
import dataclasses
from typing import Callable, Optional

from intervals import interval

COMMIT = 480  # bytes of a commit that are sealed
MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Row:
    """Ours must be at most `goal` times what it is compared with: the peer's figure, the limit, or a bound that is given."""

    name: str
    says: str
    unit: str
    peer: Optional[str] = None
    goal: Callable[[int], Optional[float]] = lambda items: 1
    limit: Optional[Callable] = None
    against: str = "peer"
    bound: Optional[Callable[[int], float]] = None
    ours: Optional[str] = None
    drawn: bool = True


# Limits: shape says what the vault consists of, cost what one primitive takes for so many bytes of plaintext.


def record(shape):
    return shape["record_bytes"] - 80


def page(shape):
    return shape["page_bytes"] - 48


def each(shape, cost, primitive):
    """The primitive for each record and each page."""
    return shape["record_count"] * cost(primitive, record(shape)) + shape["page_count"] * cost(primitive, page(shape))


def opening(shape, cost):
    """Header, commit, keyring, a page of each level and one record: read, hashed and opened. The MACs count as hashes; so do the keys derived."""
    height, keyring = shape["height"], shape["keyring_bytes"]
    lengths = [shape["header_bytes"], 512, keyring, *[shape["page_bytes"]] * int(height), shape["record_bytes"]]
    hashes = 3 * cost("hash", shape["header_bytes"]) + 2 * cost("hash", 400) + cost("hash", keyring)
    hashes += height * cost("hash", shape["page_bytes"]) + cost("hash", shape["record_bytes"])
    opens = 3 * cost("open", 32) + cost("open", COMMIT) + cost("open", keyring - 48)
    opens += height * cost("open", page(shape)) + cost("open", record(shape))
    return cost("read", sum(lengths)) + hashes + opens


def reading(shape, cost):
    """One record, hashed and opened: pages may be in memory."""
    return cost("hash", shape["record_bytes"]) + cost("open", record(shape))


def changing(shape, cost):
    """A record, a page of each level and the commit sealed, and as many bytes as that appends written and synced."""
    seals = cost("seal", record(shape)) + shape["height"] * cost("seal", page(shape)) + cost("seal", COMMIT)
    return seals + cost("overwrite", shape["update_bytes"])


def scanning(shape, cost):
    """Every record and every page opened, by one thread."""
    return each(shape, cost, "open") / shape["record_count"]


def listing(shape, cost):
    """Every page opened."""
    return shape["page_count"] * cost("open", page(shape)) / shape["record_count"]


def filling(shape, cost):
    """Every record and page sealed, and the file written and synced."""
    return (each(shape, cost, "seal") + cost("append", shape["file_bytes"])) / shape["record_count"]


def copying(shape, cost):
    """The file copied by the file system, and synced."""
    return cost("copy", shape["file_bytes"]) / shape["record_count"]


def rotating(shape, cost):
    """Every record and page opened and sealed, and the file written and synced."""
    return filling(shape, cost) + scanning(shape, cost)


ROWS = [
    Row("open_get_us", "open with a raw key, read one", "µs", "open_get_us", lambda n: 0.5, opening),
    Row("get_us", "read one, vault open", "µs", "get_us", lambda n: 1 if n < 10_000 else 0.5, reading),
    Row("durable_update_us", "change one, durable", "µs", "durable_update_us", lambda n: 1, changing),
    Row("durable_update_aged_us", "change one, durable, in an aged vault", "µs", "durable_update_aged_us", lambda n: 1, changing),
    Row("scan_us_per_item", "read everything, with secrets, per item", "µs", "scan_us_per_item", lambda n: 1, scanning),
    Row("scan_over_opens", "the same, compared with bare opens", "µs", None, lambda n: 1.5, scanning, "limit", ours="scan_us_per_item"),
    Row("list_us_per_item", "list metadata, per item (peer: reads everything)", "µs", "scan_us_per_item", lambda n: 0.5, listing),
    Row("fill_us_per_item", "bulk insert in one transaction, per item", "µs", "fill_us_per_item", lambda n: 1 if n < 100_000 else 0.2, filling),
    Row("passphrase_us_per_item", "change a passphrase, without the KDF, per item", "µs", "rekey_us_per_item", lambda n: 0.2, copying),
    Row("rotate_us_per_item", "rotate everything to a new key, per item", "µs", "rekey_us_per_item", lambda n: 1, rotating),
    Row("file_bytes_per_item", "file size, bulk loaded, per item", "B", "file_bytes_per_item", lambda n: 1.75),
    Row("peak_memory_mb", "peak memory of everything except an import", "MB", "peak_memory_mb", against="bound", bound=lambda n: 32),
    Row("fill_memory_mb", "peak memory of a one-transaction import", "MB", "fill_memory_mb", against="bound", bound=lambda n: 32 + 200 * n / 1e6),
]
# What many random changes do; made once for each size.
GROWTH_ROWS = [
    Row("durable_mean_us", "mean of many random changes, including compactions", "µs", "durable_mean_us", lambda n: None, drawn=False),
    Row("growth_open_ratio", "opening after them, compared with before", "×", against="bound", bound=lambda n: 1.5),
    Row("growth_size_ratio", "greatest file size during them, compared with 2.5 × live + 8 MiB", "×", against="bound", bound=lambda n: 1),
    Row("growth_written_ratio", "bytes written for a change, compared with its commit's own", "×", against="bound", bound=lambda n: 3),
]
LARGE = 16 * MIB
LARGE_ROWS = [
    Row("large_set_us", "set a secret of 16 MiB, compared with sealing, writing and syncing it", "µs", None, lambda n: 1.5,
        lambda shape, cost: cost("seal", LARGE) + cost("append", LARGE), "limit"),
    Row("large_get_us", "get it, compared with opening it", "µs", None, lambda n: 1 / 0.7, lambda shape, cost: cost("open", LARGE), "limit"),
    # The format has every record hashed too, so no reader can do with less than this.
    Row("large_get_over_hash", "get it, compared with hashing and opening it", "µs", None, lambda n: None,
        lambda shape, cost: cost("hash", LARGE) + cost("open", LARGE), "limit", ours="large_get_us"),
    Row("large_set_memory", "memory to set it, compared with its size", "×", against="bound", bound=lambda n: 2.2),
    Row("large_get_memory", "memory to get it, compared with its size", "×", against="bound", bound=lambda n: 2.2),
]
# Opening a vault of 64 slots, the most; made once.
SLOT_ROWS = [
    Row("slots_last_us", "open with the last of 64 raw keys, read one (peer: with the only one)", "µs", "slots_only_us", lambda n: None),
    Row("slots_wrong_us", "refuse a raw key that opens none of 64 slots (peer: open with the only one)", "µs", "slots_only_us", lambda n: None),
    Row("slots_passphrases_last_ms", "open with the last of 21 moderate passphrases among 64 slots, read one (peer: 21 × with the only one)",
        "ms", "slots_passphrases_bound_ms", lambda n: 1.2),
    Row("slots_passphrases_wrong_ms", "refuse a passphrase that opens none of them (peer: the same)", "ms", "slots_passphrases_bound_ms",
        lambda n: 1.2),
    Row("slots_memory_mb", "peak memory of that: one derivation's, and a little", "MB", against="bound", bound=lambda n: 300),
]
# Two copies of a vault of 100,000 items with 1,000 changes each; the peer is one transaction with the same 2,000 changes.
MERGE_ITEMS, MERGE_CHANGES = 100_000, 1000
MERGE_ROWS = [
    Row("merge_us", "merge two vaults of 100,000 items with 1,000 changes each (peer: ours, one transaction with the same 2,000)", "µs",
        "merge_transaction_us", lambda n: 3, drawn=False),
    Row("merge_memory_mb", "peak memory of that", "MB", "merge_transaction_memory_mb", against="bound", bound=lambda n: 64, drawn=False),
]
# Vaults with other settings, compared with the default.
VARIANTS = {"forgetful": "no earlier values", "scoped": "with a scoped slot"}
VARIANT_WORK = ("fill", "open", "open-scoped", "set", "scan", "list", "rotate")
VARIANT_ROWS = [
    Row(f"{variant}_{name}", f"{says}, {means} (peer: ours with ten, one slot)", "µs", name, lambda n: None, ours=name, drawn=False)
    for variant, means in VARIANTS.items()
    for name, says in (
        ("open_get_us", "open with a raw key, read one"), ("durable_update_us", "change one, durable"),
        ("scan_us_per_item", "read everything, with secrets, per item"), ("list_us_per_item", "list metadata, per item"),
        ("fill_us_per_item", "bulk insert in one transaction, per item"), ("rotate_us_per_item", "rotate everything, per item"))
]
SCOPED_OPEN = Row(
    "scoped_open_scoped_us", "open with a scoped slot's key, read one (peer: ours with a full slot's)", "µs", "open_get_us",
    lambda n: None, ours="open_scoped_us", drawn=False)
# The same, compared with a later SQLCipher, from Python.
WHEEL_ROWS = [
    Row(f"wheel_{row.name}", f"{row.says} (peer: SQLCipher 4.12 from Python)", row.unit, row.peer, lambda n: None, ours=row.name, drawn=False)
    for row in ROWS
    if row.peer in ("open_get_us", "get_us", "durable_update_us", "fill_us_per_item", "rekey_us_per_item") or row.name == "scan_us_per_item"
]
# The same with nothing of the file in memory at the start: what is read comes from the disk.
COLD_WORK = ("get", "scan")
COLD_ROWS = [
    Row("cold_get_us", "read one, vault open, nothing of the file in memory at first", "µs", "cold_get_us", lambda n: None, drawn=False),
    Row("cold_scan_us_per_item", "read everything, likewise, per item", "µs", "cold_scan_us_per_item", lambda n: None, drawn=False),
]
FLAT = Row(
    "open_get_flat", "opening the largest vault, compared with the smallest", "×", "open_get_flat", against="bound", bound=lambda n: 1.5,
    drawn=False)


class Costs:
    """What primitives take; a first go with none finds out which are needed."""

    def __init__(self, known=None):
        self.known, self.asked = known, set()

    def __call__(self, primitive, size):
        name = f"{primitive}:{int(size)}"
        self.asked.add(name)
        return self.known[name] if self.known else 1


def needed(rows, shape):
    costs = Costs()
    for row in rows:
        if row.limit:
            row.limit(shape, costs)
    return sorted(costs.asked)


def limit(row, shape, known):
    return row.limit(shape, Costs(known)) if row.limit else None


def result(row, items, ours, peer=None, limit=None, rounds=(None, None)):
    """A line of the table. `ratio` is to what `against` says. It reaches its goal, where there is one, if the whole interval that the rounds (ours, and
    what they are compared with) give is at most that."""
    if ours is None:
        return None
    bound = row.bound(items) if row.bound else None
    base = {"peer": peer, "limit": limit, "bound": bound}[row.against]
    ratio = ours / base if base else None
    goal = row.goal(items)
    line = {"row": row.name, "items": items, "ours": ours, "peer": peer, "limit": limit, "ratio": ratio, "goal": goal}
    low, high = interval(*rounds) or (ratio, ratio)
    reached = None if goal is None or ratio is None else high <= goal
    return line | {"low": low, "high": high} | {"against": row.against, "bound": bound, "unit": row.unit, "says": row.says, "drawn": row.drawn, "reached": reached}
