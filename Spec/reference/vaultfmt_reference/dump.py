"""The canonical dump, and the verdict: Spec/vectors/README.md."""

from collections.abc import Iterator

from .anchors import Anchor, compare
from .codec import NO_DEVICE, Extension, Refused
from .items import Tombstone
from .reader import WITHHELD, Item, Reader, Value
from .slots import SCOPED, Slot


def hexed(data: bytes) -> str:
    return data.hex() or "-"


def device(data: bytes) -> str:
    return "-" if data == NO_DEVICE else data.hex()


def check(reader: Reader, anchor: Anchor | None = None) -> tuple[str, list[str]]:
    """The verdict on a vault that was opened, and what it released before that was known."""
    lines: list[str] = []
    failures: list[str] = []
    try:
        for line in opening(reader, anchor):
            lines.append(line)
        for each in reader.walk():
            lines += tombstone(each) if isinstance(each, Tombstone) else item(each)
            failures += reasons(each) if isinstance(each, Item) else []
        lines.append("end")
    except Refused as refused:
        failures.append(refused.verdict)
    return verdict_of(failures, reader.tail), lines


def verdict_of(failures: list[str], tail: str) -> str:
    """A failure counts more than a device that is another one; of failures, the first."""
    for each in failures:
        if each not in WITHHELD:
            return each
    if "device-bound" in failures:
        return "device-bound"
    return f"success-tail-{tail}" if tail else "success"


def reasons(each: Item) -> Iterator[str]:
    yield from each.live.reasons
    if each.versions_reason:
        yield each.versions_reason
    for _, value in each.versions:
        yield from value.reasons


def opening(reader: Reader, anchor: Anchor | None) -> Iterator[str]:
    yield from state(reader)
    history = reader.history()
    if history is not None:
        yield f"history {history.floor} {history.newest}"
        yield from (f"ancestor {generation} {clock} {chain.hex()}" for generation, chain, clock in history.ancestors)
    if anchor is not None:
        yield f"anchor {compare(reader, anchor)}"
    yield from slots(reader)
    yield from keyring(reader)


def state(reader: Reader) -> list[str]:
    commit, access = reader.commit, "full" if reader.keys.is_owner else "scoped"
    return [
        "vaultfmt-dump 2",
        f"vault {reader.header.vault.hex()}",
        f"access {access}",
        f"owner {reader.keys.public.hex()}",
        f"generation {commit.generation}",
        f"chain {reader.state[1].hex()}",
        f"before {commit.before} {commit.chain_before.hex()}",
        f"clock {commit.clock} {commit.horizon}",
    ]


def slots(reader: Reader) -> Iterator[str]:
    yield from (f"grant {number}" for number in reader.keys.grants)
    for slot in reader.header.slots:
        yield slot_line(slot)
        if reader.keys.is_owner:
            part = reader.owner_part(slot)
            granted = reader.grants(slot, part) if slot.kind == SCOPED else {}
            yield f"slot-owner {hexed(part.name)} {part.revision} {device(part.device)} {hexed(part.data)}"
            yield from (f"slot-grant {number}" for number in granted)


def slot_line(slot: Slot) -> str:
    front = f"slot {slot.id.hex()} {slot.kind} {slot.factors}"
    if not slot.is_known:
        return f"{front} opaque {hexed(slot.raw)}"
    kdf, provider = slot.parameters.stretching, slot.parameters.provider
    costs = f"{kdf.memory} {kdf.passes} {kdf.lanes}" if kdf else "0 0 0"
    return f"{front} known {costs}" + (f" {provider.name.hex()} {hexed(provider.parameters)}" if provider else "")


def keyring(reader: Reader) -> list[str]:
    held = reader.keyring
    lines = [extension("header", each) for each in reader.header.extensions]
    lines += [extension("keyring", each) for each in held.extensions]
    lines.append(f"keep {held.keep} {held.keep_revision} {device(held.keep_device)}")
    lines += [f"device {number} {each.hex()}" for number, each in enumerate(held.devices, 1)]
    lines += [f"group {each.number} {hexed(each.name)}" for each in held.groups.values()]
    for each in held.compartments.values():
        lines.append(f"compartment {each.number} {each.group} {each.accessibility} {device(each.device)}")
    lines += [f"removed-slot {slot.hex()} {revision}" for slot, revision in held.removed.items()]
    following = [*(each.public for each in held.hand_overs[1:]), reader.keys.public]
    for over, public in zip(held.hand_overs, following, strict=bool(held.hand_overs)) if held.hand_overs else []:
        validity = "valid" if over.is_valid(reader.header.vault, public) else "invalid"
        lines.append(f"hand-over {over.public.hex()} {over.generation} {over.chain.hex()} {validity}")
    return lines


def extension(place: str, each: Extension) -> str:
    flags = each.is_critical | each.is_read_only << 1
    return f"extension {place} {flags} {each.name.hex()} {hexed(each.value)}"


def item(each: Item) -> list[str]:
    entry = each.entry
    lines = [f"item {each.key.hex()}", f"id {entry.id.hex()}", f"revision {entry.revision} {entry.device}"]
    lines.append(f"times {entry.created} {entry.modified}")
    lines += value_lines(each.live, is_version=False)
    if each.versions_reason:
        lines.append(f"versions-unavailable {entry.earlier} {each.versions_reason}")
    for version, value in each.versions:
        lines.append(f"version {version.revision} {version.device} {version.replaced} {version.modified}")
        lines += value_lines(value, is_version=True)
    return lines


def value_lines(value: Value, is_version: bool) -> Iterator[str]:
    yield f"record {value.place.revision} {value.place.compartment}"
    for each in value.attributes:
        found = value.value(each)
        front = f"{each.name.hex()} {each.flags}"
        yield f"attribute-unavailable {front} {found}" if isinstance(found, str) else f"attribute {front} {hexed(found)}"
        if each.place is not None:
            yield f"attribute-record {each.place.revision} {each.place.compartment}"
    if value.record is None:
        yield f"secret-unavailable {value.reason}"
        return
    if is_version:
        yield f"key {value.record.key.hex()}"
    yield f"secret {hexed(value.record.secret)}"


def tombstone(each: Tombstone) -> list[str]:
    return [f"tombstone {each.item.hex()} {each.revision} {each.device} {each.last} {each.last_device}"]
