"""Prints a small vault byte by byte: Spec/example.md. Only for the shape of that one: one full slot, one item, compacted."""

from .codec import Cursor
from .crypto import derive, object_data, unseal
from .reader import COMMIT_HEAD, Reader

NAMES = {b"vREC": "Record", b"vPAG": "Page", b"vKEY": "Keyring", b"vHIS": "History", b"vCMT": "Commit"}
SEAL = ["24 nonce", "-16 sealed body", "16 its tag"]
HEADER = ["8 magic", "2 version", "2 reserved", "4 header length", "16 vault id", "32 epoch", "1 slots", "1 extensions", "2 reserved"]
SLOT = ["2 length", "16 slot id", "1 kind", "1 factors", "4 memory", "4 passes", "4 lanes", "16 salt", "32 commitment"]
SLOT += ["24 nonce of the payload", "4 length of the payload", "48 sealed payload", "24 nonce of the owner part", "112 sealed owner part"]
ITEM_KEY = ["1 class", "0 service, ended by 0000", "0 account", "0 group", "1 sync"]

BODIES = {
    b"vREC": ["v length of the item key", *ITEM_KEY, "v length of the secret", "6 secret", "v large attributes"],
    b"vPAG": [
        *["1 level", "v entries", "v length of the prefix", "p prefix: with one entry, all of its key", "v length of the rest of the key"],
        *["v length of the value", "v record: offset", "v length", "32 hash", "16 item id", "8 revision", "v device", "8 record revision"],
        *["v compartment", "v created", "v modified", "v attributes in the record", "v attributes here", "1 length of the name"],
        *["5 name", "v length of the value", "7 value"],
    ],
    b"vKEY": [
        *["4 next compartment number", "4 next group number", "v devices", "v groups", "4 group: number", "v length of the name"],
        *["24 nonce", "48 sealed group key", "v compartments", "4 compartment: number", "4 group", "1 accessibility", "16 device id"],
        *["24 nonce", "48 sealed compartment key", "v extensions"],
    ],
    b"vHIS": ["8 first generation", "4 links", "32 link of generation 1", "32 link of generation 2"],
    b"vCMT": [
        *["8 generation", "8 own offset", "8 start", "8 offset of the previous commit", "8 clock", "4 flags", "4 reserved"],
        *["8 root page: offset", "4 length", "1 level", "3 reserved", "32 hash", "8 keyring: offset", "4 length", "4 reserved", "32 hash"],
        *["8 history: offset", "4 length", "4 reserved", "32 hash", "32 hash of the header", "32 chain value of generation 2", "32 digest"],
        *["8 items", "8 tombstones", "8 live bytes"],
    ],
}  # fmt: skip


def example(reader: Reader, data: bytes) -> None:
    show("Header, up to its zero padding", 0, data[:360], [*HEADER, *SLOT])
    show("Header, MACs", 4032, data[4032:4096], ["32 reader MAC", "32 owner MAC"])
    frames = [*reader.appended(reader.commit), (reader.commit.offset, reader.state.frame)]
    for offset, frame in frames:
        tag, name = frame[:4], NAMES[frame[:4]]
        fields = ["4 type", "4 length", *SEAL]
        if tag == b"vREC":
            fields.insert(3, "28 locator")
        if frame[:8] == COMMIT_HEAD:
            fields = [*fields[:3], "336 sealed body", "16 its tag", "32 reader MAC", "32 owner MAC"]
        show(name, offset, frame, fields)
        show(f"{name}, opened, without its padding", 0, opened(reader, offset, frame), BODIES[tag])
    print("Keys and hashes:\n\n```")
    for label, value in values(reader).items():
        print(f"{label:<18}{value.hex()}")
    print("```")


def opened(reader: Reader, offset: int, frame: bytes) -> bytes:
    kind = NAMES[frame[:4]].lower()
    if kind == "record":
        locator = reader.keys.locator(frame[8:32], frame[32:60])
        bound = object_data("record", reader.vault, locator[:16] + locator[24:] + locator[16:24], frame)
        return unseal(reader.compartment_key(1), frame[8:32], bound, frame[60:], "the record")
    return reader.keys.unseal_at(kind, offset, frame[:384] if kind == "commit" else frame)


def show(name: str, offset: int, data: bytes, fields: list[str]) -> None:
    """Each field on lines of its own. Sizes: a number; v, a varint; p, as many as the number before says; 0, up to two zeros; -n, up to n
    from the end."""
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
    keys, commit = reader.keys, reader.commit
    return {
        "slot key": reader.slot_key,
        "commitment": reader.slot.commitment,
        "vault key": keys.vault_key,
        "index key": keys.index,
        "locator key": derive(keys.index, "vaultfmt-1 locator"),
        "reader key": keys.reader,
        "owner key": keys.owner,
        "slot owner key": keys.slot_owner,
        "keyring key": keys.keyring,
        "group key 1": reader.group_key(1),
        "compartment key 1": reader.compartment_key(1),
        "header hash": commit.header_hash,
        "digest": commit.digest,
        "chain": reader.state.chain,
    }
