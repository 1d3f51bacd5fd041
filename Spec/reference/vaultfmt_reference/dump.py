"""The canonical dump, and the verdict: Spec/vectors/README.md."""

from collections.abc import Iterator

from .anchors import Anchor, compare
from .codec import GREATEST, NO_DEVICE, Extension, Refused
from .dots import SPLIT, Dot, Stored
from .frames import Place
from .items import FIRST_ATTRIBUTE, KEY, OWN_RECORD, PLACE, SECRET, Forgotten
from .keyring import HandOver
from .past import GONE, PLACE_KIND, SECRET_KIND, SHOWN, Field, Past
from .reader import WITHHELD, Item, Kept, Reader, Value
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
            lines += [forgotten(each)] if isinstance(each, Forgotten) else item(reader, each)
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
    if each.past_reason:
        yield each.past_reason
    for kept in each.kept:
        yield from kept.reasons


def opening(reader: Reader, anchor: Anchor | None) -> Iterator[str]:
    yield from state(reader)
    # With equal chain values an anchor takes no vector.
    if anchor is not None:
        yield f"anchor {compare(reader, anchor)}"
    yield from rows("row", reader.vector.encoded_rows())
    yield from slots(reader)
    yield from keyring(reader)


def state(reader: Reader) -> list[str]:
    commit, access = reader.commit, "full" if reader.keys.is_owner else "scoped"
    return [
        "vaultfmt-dump 3",
        f"vault {reader.header.vault.hex()}",
        f"access {access}",
        f"owner {reader.keys.public.hex()}",
        f"generation {commit.generation}",
        f"chain {reader.state[1].hex()}",
        f"before {commit.before} {commit.chain_before.hex()}",
        f"clock {commit.clock} {commit.floor}",
        f"own {commit.own_id} {commit.own_revision}",
    ]


def rows(what: str, encoded: list[tuple[int, int]]) -> Iterator[str]:
    for replica, revision in encoded:
        yield f"{what} {replica} {revision & GREATEST}" + (" split" if revision & SPLIT else "")


def slots(reader: Reader) -> Iterator[str]:
    yield from (f"grant {number}" for number in reader.keys.grants)
    for slot in reader.header.slots:
        yield slot_line(slot)
        if reader.keys.is_owner:
            part = reader.owner_part(slot)
            granted = reader.grants(slot, part) if slot.kind == SCOPED else {}
            yield f"slot-owner {hexed(part.name)} {hexed(part.data)}"
            yield from (f"slot-grant {number}" for number in granted)


def slot_line(slot: Slot) -> str:
    front = f"slot {slot.id.hex()} {slot.kind} {slot.factors}"
    if not slot.is_known:
        return f"{front} opaque {hexed(slot.raw)}"
    kdf, provider = slot.parameters.stretching, slot.parameters.provider
    costs = f"{kdf.memory} {kdf.passes} {kdf.lanes}" if kdf else "0 0 0"
    return f"{front} known {costs}" + (f" {provider.name.hex()} {hexed(provider.parameters)}" if provider else "")


def keyring(reader: Reader) -> Iterator[str]:
    held, dot = reader.keyring, reader.vector.dot
    yield from (extension("header", each) for each in reader.header.extensions)
    yield from (extension("keyring", each) for each in held.extensions)
    yield f"limit {held.limit} {dot(held.limit_dot)}"
    yield f"key-dot {dot(held.key_dot)}"
    yield from (f"group {each.number} {hexed(each.name)}" for each in held.groups.values())
    for each in held.compartments.values():
        yield f"compartment {each.number} {each.group} {each.accessibility} {device(each.device)}"
    for slot in held.slots.values():
        yield f"slot-dots {slot.id.hex()} {dot(slot.made)} {dot(slot.changed)}"
        yield from (f"slot-grant-dot {number} {dot(each)}" for number, each in slot.grants.items())
    for over in held.hand_overs:
        yield from hand_over(reader, over)


def hand_over(reader: Reader, over: HandOver) -> Iterator[str]:
    try:
        covered = reader.hand_over_rows(over)
    except Refused as refused:
        yield f"hand-over {over.public.hex()} {over.following.hex()} {over.floor} {refused.verdict}"
        return
    validity = "valid" if over.is_valid(reader.header.vault, covered) else "invalid"
    yield f"hand-over {over.public.hex()} {over.following.hex()} {over.floor} {validity}"
    yield from rows("hand-over-row", covered)


def extension(place: str, each: Extension) -> str:
    flags = each.is_critical | each.is_read_only << 1
    return f"extension {place} {flags} {each.name.hex()} {hexed(each.value)}"


def item(reader: Reader, each: Item) -> Iterator[str]:
    entry = each.entry

    def dot(stored: Stored) -> Dot:
        return reader.vector.dot(stored)

    yield f"item {each.key.hex()}"
    yield f"id {entry.id.hex()}"
    yield f"dot {dot(entry.dot)}"
    yield f"times {entry.created} {entry.modified}"
    of_secret = str(dot(entry.dot_of(SECRET))) if entry.has_secret else "-"
    yield f"fields {dot(entry.dot_of(KEY))} {dot(entry.dot_of(PLACE))} {of_secret}"
    if entry.to_settle:
        yield "to-settle"
    dots = [f" {dot(entry.dot_of(FIRST_ATTRIBUTE + number))}" for number in range(len(entry.attributes))]
    yield from value_lines(each.live, dots, entry.has_secret)
    if each.past_reason:
        yield f"past-unavailable {each.past_reason}"
    for kept in each.kept:
        yield from kept_lines(kept, dot(kept.value.dot))
    if each.past is not None:
        yield from sibling_lines(reader, each.past)


def value_lines(value: Value, dots: list[str], has_secret: bool = True) -> Iterator[str]:
    """The record's line is that of the compartment, where an item has no record."""
    yield record_line("record", value.place)
    for each, dot in zip(value.attributes, dots, strict=True):
        found = value.value(each)
        front = f"{each.name.hex()} {each.flags}"
        yield f"attribute-unavailable {front} {found}{dot}" if isinstance(found, str) else f"attribute {front} {hexed(found)}{dot}"
        if each.place is not None:
            yield record_line("attribute-record", each.place)
    if value.record is None:
        yield f"secret-unavailable {value.reason}"
    else:
        yield f"secret {hexed(value.record.secret)}" if has_secret else "secret-none"


def record_line(what: str, place: Place) -> str:
    return f"{what} {place.revision} {place.compartment}"


def named(field: Field) -> str:
    return f"{field[0]} {hexed(field[1])}"


def kept_lines(kept: Kept, dot: Dot) -> Iterator[str]:
    value = kept.value
    front = f"value {named(value.field)} {dot} {value.flags} {value.attribute}"
    if value.flags & (SHOWN | GONE):
        yield front
        return
    yield f"{front} {value.replaced}"
    if kept.whole is not None and value.field[0] == SECRET_KIND:
        yield from value_lines(kept.whole, [""] * len(value.attributes))
        return
    if value.place is not None:
        yield record_line("attribute-record" if value.attribute & OWN_RECORD else "record", value.place)
    if value.field[0] == PLACE_KIND and value.where is not None:
        yield f"content {hexed(value.where.group)} {value.where.accessibility} {device(value.where.device)}"
    else:
        yield f"content-unavailable {kept.reason}" if kept.content is None else f"content {hexed(kept.content)}"


def sibling_lines(reader: Reader, past: Past) -> Iterator[str]:
    for each in past.siblings:
        yield f"sibling {reader.vector.dot(each.dot)} {each.created} {each.modified}"
        for what, numbers in (("field", each.fields), ("earlier", each.earlier)):
            for number in numbers:
                value = past.values[number]
                yield f"sibling-{what} {named(value.field)} {reader.vector.dot(value.dot)}"


def forgotten(each: Forgotten) -> str:
    return f"forgotten {each.kind} {hexed(each.name)} {each.dot}"
