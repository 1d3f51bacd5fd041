"""Builds vaults in which one thing is wrong."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vaultfmt_reference.codec import GREATEST, u8, u16, u32, u64, varint
from vaultfmt_reference.dots import SPLIT, Stored, VectorFrame
from vaultfmt_reference.forge import Forge, Sealing
from vaultfmt_reference.frames import Place, Reference
from vaultfmt_reference.items import Attribute, Entry, page_key
from vaultfmt_reference.keyring import Compartment, Group, HandOver, Keyring, Slotted
from vaultfmt_reference.objects import Commit, ItemRecord, Page
from vaultfmt_reference.past import Past, PastSibling, PastValue
from vaultfmt_reference.slots import NewSlot, OwnerPart, Slot, front, seal_owner_part

FAILED, MALFORMED, HEADER = "authentication-failed", "structure-invalid", "header-invalid"
Build = Callable[[Forge], bytes]


def altered(name: str, alter: Callable[[bytes], bytes]) -> Build:
    return lambda forge: forge.build({name: alter})


def core(**changes: object) -> Build:
    return lambda forge: forge.build(core=lambda commit: replace(commit, **changes))  # type: ignore[arg-type]


def entry(alter: Callable[[Entry], Entry], item: bytes = b"second") -> Build:
    """Of one item; its id is taken from its account."""

    def build(forge: Forge) -> bytes:
        chosen = next(each.id for name, each in forge.entries.items() if item in name and isinstance(each, Entry))
        return forge.build(entry=lambda each: alter(each) if each.id == chosen else each)

    return build


def keyring(alter: Callable[[Keyring], Keyring]) -> Build:
    def build(forge: Forge) -> bytes:
        forged = alter(forge.keyring).encode()
        return forge.build({"keyring": lambda _: forged})

    return build


def slots(*made: Callable[[Forge, Slot], bytes], extensions: bytes = b"", count: int = 0, extension_count: int = 0) -> Build:
    """The header with these slots, each made from the first."""

    def build(forge: Forge) -> bytes:
        first = forge.header.slots[0]
        raws = [make(forge, first) for make in made]
        content = b"".join(raws) + extensions
        length = forge.header.length

        def alter(before: bytes) -> bytes:
            return (before[:64] + u8(count or len(made)) + u8(extension_count) + bytes(2) + content).ljust(length - 64, b"\0")

        # The keyring has to know them.
        dot, ids = forge.keyring.limit_dot, [each[4:20] for each in raws]
        forge.keyring = replace(forge.keyring, slots={each: forge.keyring.slots.get(each, Slotted(each, dot, dot)) for each in ids})
        return forge.build({"header": alter})

    return build


def same(_forge: Forge, slot: Slot) -> bytes:
    return slot.raw


def opaque(kind: int, factors: int, payload: int = 100, owner: int = 168, parameters: bytes = b"?") -> Callable[[Forge, Slot], bytes]:
    """A slot that nobody can open; its owner part is right if it has the least length."""

    def make(forge: Forge, _slot: Slot) -> bytes:
        before = front(forge.random(16), kind, factors, parameters, payload, owner) + bytes(32 + 24 + payload)
        sealed = seal_owner_part(forge.keys, before, OwnerPart(b"other"), forge.random(24))
        return before + sealed.ljust(owner, b"\0")

    return make


def known(new: NewSlot) -> Callable[[Forge, Slot], bytes]:
    return lambda forge, _slot: new.seal(forge.keys, {}, forge.random).raw


def stretched(memory: int, passes: int, lanes: int) -> Callable[[Forge, Slot], bytes]:
    """A passphrase slot with these figures, which nobody can open."""
    return opaque(1, 1, 48, 168, u32(memory) + u32(passes) + u32(lanes) + bytes(32))


def extension(name: bytes = b"a", value: bytes = b"", flags: int = 0) -> bytes:
    return u8(flags) + u8(len(name)) + name + u16(len(value)) + value


def page(alter: Callable[[Page], Page]) -> Build:
    """The page, encoded again."""

    def build(forge: Forge) -> bytes:
        return forge.build({"page": lambda body: alter(Page.decode(body, 0)).encode()})

    return build


def with_key(new: bytes) -> Build:
    """The second item under another key."""

    def alter(before: Page) -> Page:
        values = dict(zip(before.keys, before.values, strict=True))
        old = next(each for each in values if b"second" in each)
        values[new] = values.pop(old)
        return Page(0, sorted(values), [values[each] for each in sorted(values)], [])

    return page(alter)


def attributes(*made: Attribute) -> Build:
    return entry(lambda each: replace(each, attributes=made))


def record(number: int, alter: Callable[[ItemRecord], ItemRecord], step: int = 0) -> Build:
    return altered(f"record {number}", lambda body: alter(ItemRecord.decode(body)).encode(step))


def sealing(name: str, alter: Callable[[Sealing], Sealing]) -> Build:
    return lambda forge: forge.build(sealing={name: alter})


def bound(old: bytes, new: bytes) -> Callable[[Sealing], Sealing]:
    def alter(given: Sealing) -> Sealing:
        assert old in given.bound
        return replace(given, bound=given.bound.replace(old, new))

    return alter


def compartment(alter: Callable[[Compartment], Compartment], is_bound: bool = False) -> Build:
    def change(held: Keyring) -> Keyring:
        found = next(each for each in held.compartments.values() if each.is_bound == is_bound and each.group)
        made = alter(found)
        return replace(held, compartments=held.compartments | {found.number: made})

    return keyring(change)


def place(alter: Callable[[Place], Place], item: bytes = b"second") -> Build:
    return entry(lambda each: replace(each, place=alter(each.place)), item)


def at(**changes: object) -> Build:
    """The second item's reference to its record."""
    return place(lambda each: replace(each, record=replace(each.record, **changes)))  # type: ignore[arg-type]


def raw_value(alter: Callable[[bytes], bytes]) -> Build:
    def change(before: Page) -> Page:
        values = [alter(value) if b"second" in name else value for name, value in zip(before.keys, before.values, strict=True)]
        return replace(before, values=values)

    return page(change)


def forgotten(new: bytes) -> Build:
    """The forgotten value under another key."""
    return page(lambda before: replace(before, keys=[*before.keys[:-1], new]))


def forgotten_key(revision: int | None = None, replica: int | None = None, tail: bytes = b"\0") -> Build:
    def build(forge: Forge) -> bytes:
        (old,) = (name for name, each in forge.entries.items() if isinstance(each, bytes))
        first = old[1:9] if revision is None else revision.to_bytes(8, "big")
        second = old[9:17] if replica is None else replica.to_bytes(8, "big")
        return forgotten(b"\x7e" + first + second + tail)(forge)

    return build


def overs(count: int) -> list[HandOver]:
    return [HandOver(bytes(32), bytes([number + 1]) * 32, 0, Reference(), bytes(64)) for number in range(count)]


def slotted(alter: Callable[[Slotted], Slotted]) -> Build:
    """What the keyring says of its only slot."""

    def change(held: Keyring) -> Keyring:
        altered_slots = [alter(each) for each in held.slots.values()]
        return replace(held, slots={each.id: each for each in altered_slots})

    return keyring(change)


def past_of(item: bytes, alter: Callable[[Past], Past]) -> Build:
    def build(forge: Forge) -> bytes:
        chosen = item_id(forge, item)
        return forge.build(past=lambda each: alter(each) if each.item == chosen else each)

    return build


def values(item: bytes, alter: Callable[[list[PastValue]], list[PastValue]]) -> Build:
    return past_of(item, lambda each: replace(each, values=alter(list(each.values))))


def siblings(alter: Callable[[list[PastSibling]], list[PastSibling]]) -> Build:
    return past_of(b"twice", lambda each: replace(each, siblings=alter(list(each.siblings))))


def nth(number: int, alter: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    return lambda every: [alter(each) if at == number % len(every) else each for at, each in enumerate(every)]


def flagged(number: int, flags: int) -> Callable[[list[PastValue]], list[PastValue]]:
    return nth(number, lambda each: replace(each, flags=flags))


def with_value(**what: Any) -> Build:
    """The first item's past with one more value, under the dot of its last one."""

    def alter(every: list[PastValue]) -> list[PastValue]:
        field = what["field"]
        return sorted([*every, PastValue(dot=every[-1].dot, **what)], key=lambda each: each.order) if field else every

    return values(b"first", alter)


def rows(alter: Callable[[list[tuple[int, int]]], list[tuple[int, int]]]) -> Build:
    def build(forge: Forge) -> bytes:
        forge.vector = VectorFrame(None, [], alter(list(forge.vector.further)))
        return forge.build()

    return build


def longer(value: bytes) -> bytes:
    """The offset, a varint, with a byte more than it takes."""
    end = next(index for index, byte in enumerate(value) if byte < 0x80)
    return value[:end] + bytes([value[end] | 0x80, 0]) + value[end + 1 :]


def short_prefix(body: bytes) -> bytes:
    """The page's prefix, which is empty, as if there was none to share: one entry under a prefix of no bytes."""
    held = Page.decode(body, 0)
    out = u8(0) + varint(1) + varint(0) + varint(len(held.keys[0])) + held.keys[0] + varint(len(held.values[0])) + held.values[0]
    return out + bytes(-(len(out) + 48) % 256)


def provider(name: bytes) -> Callable[[Forge, Slot], bytes]:
    parameters = u8(len(name)) + name + u16(0)
    return lambda forge, _: front(forge.random(16), 1, 0x10, parameters, 48, 168) + bytes(32 + 24 + 48 + 168)


def first_of(held: dict[int, Group]) -> Group:
    return next(iter(held.values()))


def group_compartment(forge: Forge) -> int:
    return next(number for number, each in forge.keyring.compartments.items() if each.group and not each.is_bound)


def move_compartment(forge: Forge, item: bytes) -> bytes:
    """The second item under the compartment of another, or of group 0."""
    if item:
        held = next(each for name, each in forge.entries.items() if item in name and isinstance(each, Entry))
        number = held.place.compartment
    else:
        number = next(number for number, each in forge.keyring.compartments.items() if not each.group)
    return place(lambda each: replace(each, compartment=number))(forge)


def item_id(forge: Forge, item: bytes) -> bytes:
    return next(each.id for name, each in forge.entries.items() if item in name and isinstance(each, Entry))


def first_dot(forge: Forge) -> Stored:
    return next(each for each in forge.entries.values() if isinstance(each, Entry)).dot_of(0)


def unused_dot(body: bytes) -> bytes:
    """One more in the list, behind the others."""
    count = body[16]
    end = 17 + 9 * count
    out = body[:16] + bytes([count + 1]) + body[17:end] + u64(GREATEST >> 1) + b"\1" + body[end:].rstrip(b"\0")
    return out + bytes(-(len(out) + 48) % 256)


def forgotten_dot(forge: Forge, dot: Stored) -> bytes:
    """A value that is still there, listed as forgotten."""
    found = forge.reader.vector.dot(dot)
    forge.entries[b"\x7e" + found.revision.to_bytes(8, "big") + found.replica.to_bytes(8, "big") + b"\0"] = b""
    return forge.build(core=lambda one: replace(one, forgotten=2))


def own_commit(alter: Callable[[Commit], Commit]) -> Build:
    """As of a change, by the writer of the greatest revision."""

    def build(forge: Forge) -> bytes:
        own = max(forge.vector.further, key=lambda row: row[1] & GREATEST)[0]
        return forge.build(core=lambda one: alter(replace(one, own_id=own, own_revision=one.clock)))

    return build


def split(forge: Forge) -> Forge:
    forge.vector = VectorFrame(None, [], [(replica, revision | SPLIT) for replica, revision in forge.vector.further])
    return forge


def twin(forge: Forge, item: bytes, of: bytes) -> bytes:
    return page_key(of, item_id(forge, item))


def twin_of_greater(forge: Forge) -> bytes:
    """Of two items of one group, the one with the less id has the key of the other."""
    named = {name: each.id for name, each in forge.entries.items() if isinstance(each, Entry) and b"work" not in name}
    less, greater = sorted(named, key=lambda name: named[name])[:2]

    def alter(before: Page) -> Page:
        held = dict(zip(before.keys, before.values, strict=True))
        held[page_key(greater, named[less])] = held.pop(less)
        return Page(0, sorted(held), [held[each] for each in sorted(held)], [])

    return page(alter)(forge)


def further(dots: bytes) -> Build:
    """The second item with the flag that field dots follow, and these: it has no attributes."""
    return raw_value(lambda value: value[:-2] + bytes([value[-2] | 1]) + value[-1:] + dots)
