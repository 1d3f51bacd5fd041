"""Prints a small vault byte by byte: Spec/example.md. Only for the shape of that one: one full slot for a raw key, one item with
one earlier value and a label, compacted."""

from itertools import count

from .codec import Cursor, u64
from .crypto import derive, hashed
from .drafts import Content
from .factors import Factors, slot_key
from .frames import COMMIT, KEYRING, KINDS, PAGE, PAST, RECORD, VECTOR
from .items import ItemKey
from .reader import Reader, open_record
from .replicas import Memory
from .rewrite import NewVault, compact, create
from .slots import NewSlot
from .verify import located
from .writer import Transaction

NAMES = {RECORD: "Record", PAGE: "Page", PAST: "Past", KEYRING: "Keyring", VECTOR: "Vector", COMMIT: "Commit"}
FRAME = ["4 type", "4 length", "24 nonce"]
SEAL = ["-16 sealed body", "16 its tag"]
HEADER = ["8 magic", "2 version", "2 reserved", "4 header length", "16 vault id", "32 epoch", "1 slots", "1 extensions", "2 reserved"]
SLOT = [
    *["4 length", "16 slot id", "1 kind", "1 factors", "2 reserved", "4 length of the parameters", "4 length of the owner part"],
    *["32 commitment", "24 nonce of the payload", "48 sealed payload", "24 nonce of the owner part", "144 sealed owner part"],
]
OWNER_PART = [
    *["1 length of the name", "63 name", "32 wrapping key: none in a full slot", "24 reserved"],
    "2 length of the provider's data",
]
ITEM_KEY = ["1 class", "0 service, ended by 0000", "0 account", "0 group", "1 sync"]
NARROW = ["v record: offset", "v length", "32 hash"]
ATTRIBUTE = ["v attributes", "1 flags", "1 length of the name", "5 name", "v length of the value", "7 value"]
WIDE = ["8 {}: offset", "4 length", "4 reserved", "32 hash"]


def dot(what: str) -> list[str]:
    return [f"8 {what}: revision", "v position"]


BODIES = {
    RECORD: ["1 form", "v length of the item key", *ITEM_KEY, "v length of the secret", "p secret", "v attributes in the record"],
    PAGE: [
        *["1 level", "v entries", "v length of the prefix", "p prefix: with one entry, all of its key", "v length of the rest of the key"],
        *["v length of the value", *NARROW, "16 item id", *dot("dot"), "8 record revision", "8 compartment"],
        *["v created, from the least dot", "v modified, from the dot", "1 flags: field dots, and a past"],
        *["v past: offset", "v length", "32 hash", *ATTRIBUTE, "1 further dots", "v less than the dot", "v position"],
        "1 fields: key, place, label",
    ],
    PAST: [
        *["16 item id", "v dots", *dot("dot"), "v values", "v dot: its index", "1 kind: secret", "1 flags: earlier", "v replaced"],
        *[*NARROW, "8 record revision", "8 compartment: of group 0", *ATTRIBUTE, "v siblings: the one of the entry"],
    ],
    KEYRING: [
        *["1 earlier values to keep", *dot("dot of this setting"), *dot("dot of the vault key"), "v groups", "8 group: number"],
        *["v length of the name", "24 nonce", "48 sealed group key", "v compartments"],
        *["8 compartment: number", "8 group", "1 accessibility", "16 device id", "24 nonce", "48 sealed compartment key"] * 2,
        *["v slots", "16 slot id", *dot("dot of its making"), *dot("dot of its contents"), "v grants", "v hand-overs", "v extensions"],
    ],
    VECTOR: ["1 form: without a base", "v rows", "8 row: replica id", "8 revision"],
    COMMIT: [
        *["8 generation", "8 generation of the predecessor", "32 its chain value", "8 own offset", "8 start", "8 clock"],
        *["8 floor", "4 flags", "4 reserved", "8 root page: offset", "4 length", "1 level", "3 reserved", "32 hash"],
        *[each.format("keyring") for each in WIDE],
        *[each.format("vector") for each in WIDE],
        *["32 header hash", "32 digest", "8 items", "8 forgotten values", "8 items with a past", "8 live bytes"],
        *["8 own id: none in a compaction", "8 own revision", "24 reserved", "32 owner MAC"],
        "64 no signature",
    ],
}  # fmt: skip


KEY = bytes(range(32))


class Drawn:
    """Random numbers that anybody can draw again: `H("vaultfmt example" ‖ u64 0)`, and so on."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, size: int) -> bytes:
        out = b""
        while len(out) < size:
            out += hashed(b"vaultfmt example" + u64(self.count))
            self.count += 1
        return out[:size]


def example_vault() -> bytes:
    """A password that was changed once, after compaction. The clock starts with 2026 and goes on by a minute at each look."""
    random, clock, factors = Drawn(), count(1_767_225_600_000, 60_000), Factors(raw_key=KEY)

    def now() -> int:
        return next(clock)

    key, attributes = ItemKey(1, (b"example.org", b"ann")).encode(), {b"label": (0, b"Example")}
    new, memory = NewVault([(NewSlot(factors, name=b"main"), None)], [Content(key, b"first", attributes)], limit=10), Memory()
    transaction = Transaction(Reader(create(new, random, now, memory), factors), random, now, memory)
    transaction.put(Content(key, b"s3cret", attributes))
    return compact(Transaction(Reader(transaction.commit(), factors), random, now, memory))


def example(reader: Reader, data: bytes, raw_key: bytes) -> None:
    slot = reader.header.slots[0]
    length = reader.header.length
    show("Header, up to its zero padding", 0, data[: 68 + len(slot.raw)], [*HEADER, *SLOT])
    show("Header, its end", length - 64, data[length - 64 : length], ["32 header hash", "32 header MAC"])
    print(f"The header's copy, from {length:04x} to {2 * length:04x}, is the same.\n")
    show("Owner part, opened, without its padding", 0, slot.open_owner_part(reader.keys).encode(), OWNER_PART)
    for offset, frame in [*reader.appended(reader.commit), (reader.commit.offset, reader.opened.frame)]:
        name = NAMES[frame[:4]]
        show(name, offset, frame, [*FRAME, *(["32 locator"] if frame[:4] == RECORD else []), *SEAL])
        show(f"{name}, opened, without its padding", 0, opened(reader, offset, frame), BODIES[frame[:4]])
    print("Keys and hashes:\n\n```")
    for label, value in (slot_values(reader, raw_key) | values(reader)).items():
        print(f"{label:<28}{value.hex()}")
    print("```")


def opened(reader: Reader, offset: int, frame: bytes) -> bytes:
    if frame[:4] == RECORD:
        item, place = located(reader, offset, frame)
        key = reader.keyring.compartment_key(reader.keys, place.compartment, {})
        return open_record(reader.keys.vault, key, item, place, frame)
    return reader.keys.unseal_at(KINDS[frame[:4]], offset, frame)


def show(name: str, offset: int, data: bytes, fields: list[str]) -> None:
    """Each field on lines of its own. Sizes: a number; v, a varint; p, as many as the number before says; 0, up to two zeros;
    -n, up to n from the end."""
    cursor, last = Cursor(data), 0
    lines = []
    for field in fields:
        size, _, what = field.partition(" ")
        start = cursor.position
        if size == "v":
            last = cursor.varint()
            what += f": {last}"
        elif size == "0":
            cursor.take(data.index(b"\0\0", start) + 2 - start)
        else:
            count = last if size == "p" else int(size)
            cursor.take(count if count > 0 else len(data) + count - start)
        raw = data[start : cursor.position]
        for at in range(0, len(raw), 16):
            note = f"  # {what}" if at == 0 else ""
            lines.append(f"{offset + start + at:04x}  {raw[at : at + 16].hex(' ', -2):<39}{note}".rstrip())
    if any(data[cursor.position :]):
        raise ValueError(f"{name}: bytes are left over")
    print(f"{name}, {cursor.position} bytes:\n\n```", *lines, "```\n", sep="\n")


def values(reader: Reader) -> dict[str, bytes]:
    """For the raw key that opened the only slot."""
    keys, keyring = reader.keys, reader.keyring
    owners = {f"{label} key": keys.of_owner(label) for label in ("locator", "owner", "slot owner", "keyring")}
    groups = {f"group key {number:016x}": keyring.group_key(keys, number) for number in keyring.groups}
    compartments = {f"in it {number:016x}": keyring.compartment_key(keys, number, {}) for number in keyring.compartments}
    first = {"vault key": keys.vault_key, "index key": keys.index, "past key": keys.past}
    named = first | owners | {"signing seed": keys.of_owner("signing")}
    named |= {"owners' public key": keys.public, "owners' group": keys.of_owner("earlier"), **groups, **compartments}
    return named | {"header hash (commit's)": reader.header.hash, "digest": reader.commit.digest, "chain": reader.state[1]}


def slot_values(reader: Reader, raw_key: bytes) -> dict[str, bytes]:
    slot = reader.header.slots[0]
    key = slot_key(raw_key, reader.keys.vault, slot.clear)
    wrapping_key = derive(key, "slot wrap")
    return {"slot key": key, "commitment": derive(key, "slot commitment"), "wrapping key": wrapping_key}

