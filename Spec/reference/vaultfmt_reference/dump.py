"""The canonical dump, and the verdict: Spec/vectors/README.md."""

from collections.abc import Iterator

from .codec import Extension, Refused
from .header import FULL
from .objects import Tombstone
from .reader import Item, Reader


def hexed(data: bytes) -> str:
    return data.hex() or "-"


def check(reader: Reader, anchor: tuple[int, bytes] | None = None) -> tuple[str, list[str]]:
    """The verdict on a vault that was opened, and what it released before that was known."""
    lines: list[str] = []
    verdict = ""
    try:
        lines += state(reader)
        history = reader.history()
        lines += [f"link {link.hex()}" for link in history.links] if history else []
        lines += [f"anchor {reader.compare(*anchor)}"] if anchor else []
        for line in slots(reader):
            lines.append(line)
        lines += keyring(reader)
        for each in reader.walk():
            lines += tombstone(each) if isinstance(each, Tombstone) else item(each)
            if isinstance(each, Item) and each.reason not in ("", "no-key"):
                # A failure counts more than a device that is another one; of failures, the first.
                verdict = each.reason if verdict in ("", "device-bound") else verdict
        lines.append("end")
    except Refused as refused:
        verdict = refused.verdict if verdict in ("", "device-bound") else verdict
    is_damaged = reader.is_tail_damaged or reader.incomplete
    return verdict or ("success-tail-damaged" if is_damaged else "success"), lines


def state(reader: Reader) -> list[str]:
    access = "full" if reader.keys.is_owner else "scoped"
    generation, chain = reader.commit.generation, reader.state.chain.hex()
    return ["vaultfmt-dump 1", f"vault {reader.vault.hex()}", f"access {access}", f"generation {generation}", f"chain {chain}"]


def slots(reader: Reader) -> Iterator[str]:
    yield from (f"grant {number}" for number in reader.keys.grants)
    for slot in reader.header.slots if reader.keys.is_owner else []:
        name, grants = reader.owner_part(slot)
        kind, kdf = "full" if slot.kind == FULL else "scoped", slot.stretching
        yield f"slot {slot.id.hex()} {kind} {slot.factors} {kdf.memory} {kdf.passes} {kdf.lanes} {hexed(name)}"
        yield from (f"slot-grant {number}" for number in grants)


def keyring(reader: Reader) -> list[str]:
    held = reader.keyring
    lines = [extension("header", each) for each in reader.header.extensions]
    lines += [extension("keyring", each) for each in held.extensions]
    lines += [f"device {number} {device.hex()}" for number, device in enumerate(held.devices, 1)]
    lines += [f"group {group.number} {hexed(group.name)}" for group in held.groups.values()]
    for each in held.compartments.values():
        device = each.device.hex() if each.is_bound else "-"
        lines.append(f"compartment {each.number} {each.group} {each.accessibility} {device}")
    return lines


def extension(place: str, each: Extension) -> str:
    return f"extension {place} {'critical' if each.is_critical else 'optional'} {each.name.hex()} {hexed(each.value)}"


def item(each: Item) -> list[str]:
    entry = each.entry
    lines = [f"item {each.key.hex()}", f"id {entry.id.hex()}", f"revision {entry.revision} {entry.device}"]
    lines += [f"record {entry.record_revision} {entry.compartment}", f"times {entry.created} {entry.modified}"]
    lines += [f"attribute {name.hex()} {hexed(value)}" for name, value in sorted(each.attributes.items())]
    return [*lines, f"secret-unavailable {each.reason}" if each.secret is None else f"secret {hexed(each.secret)}"]


def tombstone(each: Tombstone) -> list[str]:
    return [f"tombstone {each.item.hex()} {each.revision} {each.device}"]
