"""Each requirement of a reader, by a vault in which only that is wrong."""

import unittest
from dataclasses import replace

from tests.faults import (
    FAILED,
    HEADER,
    MALFORMED,
    Build,
    altered,
    at,
    attributes,
    bound,
    compartment,
    core,
    entry,
    extension,
    first_dot,
    first_of,
    flagged,
    forgotten,
    forgotten_dot,
    forgotten_key,
    further,
    group_compartment,
    item_id,
    keyring,
    longer,
    move_compartment,
    nth,
    opaque,
    overs,
    own_commit,
    page,
    past_of,
    place,
    provider,
    raw_value,
    record,
    rows,
    same,
    sealing,
    short_prefix,
    siblings,
    slots,
    slotted,
    split,
    stretched,
    twin,
    twin_of_greater,
    unused_dot,
    values,
    with_key,
    with_value,
)
from tests.vaults import key, reader, rich, verdict
from vaultfmt_reference.codec import GREATEST, Extension, Refused, u8, u16, u32
from vaultfmt_reference.dots import Stored
from vaultfmt_reference.forge import flip, patch
from vaultfmt_reference.frames import Place, Reference
from vaultfmt_reference.items import Attribute, ItemKey
from vaultfmt_reference.objects import AttributeRecord
from vaultfmt_reference.past import PastValue, Where
from vaultfmt_reference.slots import front
from vaultfmt_reference.verify import verify

CASES: dict[str, tuple[Build, str]] = {
    # Numbers and text
    "R-1.1 a varint longer than necessary": (raw_value(lambda value: value[:0] + longer(value)), MALFORMED),
    "R-1.2 reserved bytes of the core": (altered("core", flip(84)), MALFORMED),
    "R-1.2 reserved bytes at the end of the core": (altered("core", flip(-1)), MALFORMED),
    "R-1.2 reserved bytes of the root": (altered("core", flip(101)), MALFORMED),
    "R-1.2 padding of the keyring": (altered("keyring", flip(-1)), MALFORMED),
    "R-1.2 padding of a record": (altered("record 5", flip(-1)), MALFORMED),
    "R-1.3 a value that goes on": (raw_value(lambda value: value + b"\0"), MALFORMED),
    "R-1.4 a field that is not UTF-8": (with_key(b"\x01\xff\0\0\0\0\0\0\0"), MALFORMED),
    "R-1.4 a surrogate": (with_key(b"\x01\xed\xa0\x80\0\0\0\0\0\0\0"), MALFORMED),
    "R-1.4 an attribute's name": (attributes(Attribute(b"\xff", 0, b"")), MALFORMED),
    # The file
    "R-2.2 a page of 300 bytes": (core(root=Reference(8192, 300)), MALFORMED),
    "R-2.2 a record of 207 bytes": (at(length=207), MALFORMED),
    "R-2.2 a record of 20 MiB and one byte": (at(length=(20 << 20) + 1), MALFORMED),
    "R-2.3 a record in the header's copy": (at(offset=4096), MALFORMED),
    "R-2.3 a record after its page": (at(offset=1 << 40), MALFORMED),
    "R-2.3 the hash of a record": (at(hash=bytes(32)), FAILED),
    "R-2.3 a frame of another type": (altered("record-frame 5", patch(0, b"vPAG")), MALFORMED),
    "R-2.3 a frame of another length": (altered("page-frame", patch(4, u32(16 * 256))), MALFORMED),
    "R-2.3 the keyring's hash": (
        lambda forge: forge.build(core=lambda one: replace(one, keyring=replace(one.keyring, hash=bytes(32)))),
        FAILED,
    ),
    "R-2.3 a seal that does not open": (altered("page-frame", flip(-1)), FAILED),
    # The header
    "R-3.1 the magic": (altered("file", flip(0)), "not-a-vault"),
    "R-3.1 15 bytes": (altered("file", lambda data: data[:15]), "not-a-vault"),
    "R-3.1 another version": (altered("file", patch(8, u16(2))), "unsupported-version"),
    "R-3.1 the magic before the version": (altered("file", patch(7, b"\r\2")), "not-a-vault"),
    "R-3.2 a length of 0": (altered("file", patch(12, u32(0))), HEADER),
    "R-3.2 a length of 4097": (altered("file", patch(12, u32(4097))), HEADER),
    "R-3.2 a length above 1 MiB": (altered("file", patch(12, u32((1 << 20) + 4096))), HEADER),
    "R-3.2 a file that is too short": (altered("file", lambda data: data[: 8192 + 1023]), HEADER),
    "R-3.2 the hash": (altered("file", flip(100)), HEADER),
    "R-3.2 padding": (altered("header", flip(-1)), HEADER),
    "R-3.2 reserved bytes": (altered("header", flip(10)), HEADER),
    "R-3.2 no slot": (altered("header", patch(64, b"\0")), HEADER),
    "R-3.2 65 slots": (altered("header", patch(64, u8(65))), HEADER),
    "R-3.2 17 extensions": (altered("header", patch(65, u8(17))), HEADER),
    "R-3.3 the MAC": (altered("ending", flip(-1)), FAILED),
    "R-3.7 a known payload of another size": (slots(same, opaque(1, 0x40, payload=49)), HEADER),
    "R-3.7 an opaque payload of 15 bytes": (slots(same, opaque(3, 1, payload=15, owner=296)), HEADER),
    "R-3.7 reserved bytes of an opaque slot": (slots(same, lambda forge, slot: flip(22)(opaque(3, 1)(forge, slot))), HEADER),
    "R-3.8 two slots with one id": (slots(same, same), HEADER),
    "R-3.9 no lane": (slots(same, stretched(8, 1, 0)), HEADER),
    "R-3.9 2^24 lanes": (slots(same, stretched(1 << 31, 1, 1 << 24)), HEADER),
    "R-3.9 no pass": (slots(same, stretched(8, 0, 1)), HEADER),
    "R-3.9 7 KiB": (slots(same, stretched(7, 1, 1)), HEADER),
    "R-3.10 the payload of the slot that fits": (slots(lambda _forge, slot: flip(100)(slot.raw)), FAILED),
    "R-3.10 no commitment": (slots(lambda _forge, slot: flip(33)(slot.raw)), "no-slot-opens"),
    "R-3.10 parameters that are left over": (
        slots(same, lambda forge, _: front(forge.random(16), 1, 8, b"x", 48, 168) + bytes(32 + 24 + 48 + 168)),
        HEADER,
    ),
    "R-3.10 a provider without a name": (slots(same, provider(b"")), HEADER),
    "R-3.10 a provider's name with a space": (slots(same, provider(b"a b")), HEADER),
    "R-3.22 extensions out of order": (slots(same, extensions=extension(b"b") + extension(b"a"), extension_count=2), HEADER),
    "R-3.22 an extension twice": (slots(same, extensions=extension() * 2, extension_count=2), HEADER),
    "R-3.22 a reserved flag": (slots(same, extensions=extension(flags=4), extension_count=1), HEADER),
    "R-3.23 a critical extension": (slots(same, extensions=extension(flags=1), extension_count=1), "unsupported-critical"),
    "R-3.23 a critical extension of the keyring": (
        keyring(lambda held: replace(held, extensions=[Extension(b"a", b"", True)])),
        "unsupported-critical",
    ),
    # Associated data
    "R-4.1 a record's item": (sealing("record 5", lambda given: replace(given, bound=given.bound[:-32] + bytes(32))), FAILED),
    "R-4.1 a page's offset": (sealing("page", bound(b"vaultfmt-1 page", b"vaultfmt-1 leaf")), FAILED),
    "R-4.1 a keyring's label": (sealing("keyring", bound(b"keyring", b"keyrang")), FAILED),
    "R-4.1 a vector's type": (sealing("vector", bound(b"vVEC", b"vKEY")), FAILED),
    "R-4.1 a past under the index key": (
        lambda forge: forge.build(sealing={"past 0": lambda given: replace(given, key=forge.keys.index)}), FAILED,
    ),
    "R-4.1 a commit's label": (sealing("commit", bound(b"commit", b"commas")), FAILED),
    # Records
    "R-5.1 a length that is no step": (altered("record 5", lambda body: body + bytes(1)), MALFORMED),
    "R-5.3 a key that is none": (record(5, lambda one: replace(one, key=b"\x01")), MALFORMED),
    "R-5.4 a form of later formats": (altered("record 5", patch(0, u8(2))), "unsupported-form"),
    "R-5.4 an attribute's form": (
        altered("record 5", lambda _: AttributeRecord(key("second", b"work"), 0x20, b"a", bytes(5000)).encode()),
        MALFORMED,
    ),
    # Pages
    "R-5.5 keys out of order": (page(lambda each: replace(each, keys=each.keys[::-1], values=each.values[::-1])), MALFORMED),
    "R-5.5 a key twice": (
        page(lambda each: replace(each, keys=each.keys[:1] + each.keys, values=each.values[:1] + each.values)),
        MALFORMED,
    ),
    "R-5.6 a prefix that is too short": (altered("page", short_prefix), MALFORMED),
    "R-5.7 another level": (altered("page", patch(0, b"\1")), MALFORMED),
    "R-5.10 a class of 0": (with_key(b"\0" * 8), MALFORMED),
    "R-5.10 a class of 64": (with_key(b"\x40" + bytes(7)), MALFORMED),
    "R-5.10 a kind of 7D": (with_key(b"\x7d" + bytes(16)), MALFORMED),
    "R-5.10 a key without bytes": (with_key(b""), MALFORMED),
    "R-5.11 padding that is too long": (altered("page", lambda body: body + bytes(256)), MALFORMED),
    "R-11.1 a leaf without entries": (altered("page", lambda _: bytes(208)), MALFORMED),
    # Pasts
    "R-5.26 another item's": (past_of(b"first", lambda each: replace(each, item=bytes(16))), MALFORMED),
    "R-5.27 values out of order": (values(b"first", lambda every: every[::-1]), MALFORMED),
    "R-5.27 a value twice": (values(b"first", lambda every: every[:1] + every), MALFORMED),
    "R-5.27 siblings out of order": (siblings(lambda every: every[::-1]), MALFORMED),
    "R-5.27 a dot that nothing has": (altered("past 0", unused_dot), MALFORMED),
    "R-5.28 neither open nor earlier": (values(b"first", flagged(0, 0)), MALFORMED),
    "R-5.28 earlier and forgotten": (values(b"first", flagged(0, 10)), MALFORMED),
    "R-5.28 a reserved flag": (values(b"first", flagged(0, 18)), MALFORMED),
    "R-5.28 shown without siblings": (values(b"first", flagged(0, 5)), MALFORMED),
    "R-5.28 open, and replaced": (values(b"first", flagged(0, 3)), MALFORMED),
    "R-5.28 a plain attribute that is earlier": (with_value(field=(1, b"label"), flags=2, value=b"x"), MALFORMED),
    "R-5.28 a field of the entry": (
        lambda forge: values(
            b"first", lambda every: [*every, PastValue((2, b""), first_dot(forge), 1, value=key("x"))]
        )(forge), MALFORMED,
    ),
    "R-5.29 a value that nobody has": (siblings(lambda every: [replace(each, earlier=()) for each in every]), MALFORMED),
    "R-5.29 earlier next to siblings": (values(b"twice", flagged(0, 2)), MALFORMED),
    "R-5.29 shown, and not the entry's": (values(b"twice", flagged(1, 5)), MALFORMED),
    "R-5.29 a sibling without a key": (siblings(nth(0, lambda each: replace(each, fields=each.fields[:1]))), MALFORMED),
    "R-5.29 a sibling with two secrets": (siblings(nth(0, lambda each: replace(each, fields=tuple({*each.fields, 0, 1, 2})))), MALFORMED),
    "R-5.29 an earlier value that is a field": (siblings(nth(0, lambda each: replace(each, earlier=(each.fields[0],)))), MALFORMED),
    "R-5.29 an earlier key": (siblings(nth(0, lambda each: replace(each, earlier=(0, 4)))), MALFORMED),
    "R-5.29 one sibling too few": (siblings(lambda every: every[:1]), MALFORMED),
    "R-5.29 another created": (siblings(lambda every: [replace(each, created=each.created + 1) for each in every]), MALFORMED),
    "R-5.29 another modified": (siblings(nth(-1, lambda each: replace(each, modified=each.modified + 1))), MALFORMED),
    "R-5.30 a key with a group": (with_value(field=(2, b""), flags=1, value=key("x", b"g")), MALFORMED),
    "R-5.30 a place of a device without one": (with_value(field=(3, b""), flags=1, where=Where(b"", 5)), MALFORMED),
    "R-5.30 a record without the attribute": (
        values(b"first", lambda every: [*every, PastValue((1, b"otp"), every[-1].dot, 1, 0x11, place=every[0].place)]), MALFORMED,
    ),
    "R-6.6 a past in a group's compartment": (
        lambda forge: values(
            b"first", nth(0, lambda each: replace(each, place=replace(each.place, compartment=group_compartment(forge))))
        )(forge), MALFORMED,
    ),
    "R-6.8 a past's dot from the future": (
        lambda forge: values(b"first", nth(-1, lambda each: replace(each, dot=Stored(forge.commit.clock + 1, 1))))(forge), MALFORMED,
    ),
    "R-6.7 a past's position beyond the rows": (
        values(b"first", nth(-1, lambda each: replace(each, dot=Stored(each.dot.revision, 9)))), MALFORMED,
    ),
    "R-6.19 a value that is forgotten and still there": (
        lambda forge: forgotten_dot(forge, forge.pasts[item_id(forge, b"first")].values[0].dot), MALFORMED,
    ),
    # The keyring
    "R-5.14 a group of number 0": (keyring(lambda held: replace(held, groups={0: first_of(held.groups)} | held.groups)), MALFORMED),
    "R-5.14 two groups with one name": (
        keyring(lambda held: replace(held, groups=held.groups | {GREATEST: replace(first_of(held.groups), number=GREATEST)})),
        MALFORMED,
    ),
    "R-5.14 a compartment of no group": (compartment(lambda each: replace(each, group=12)), MALFORMED),
    "R-5.14 accessibility 0": (compartment(lambda each: replace(each, accessibility=0)), MALFORMED),
    "R-5.14 accessibility 8": (compartment(lambda each: replace(each, accessibility=8), True), MALFORMED),
    "R-5.14 a device without this device only": (compartment(lambda each: replace(each, accessibility=3), True), MALFORMED),
    "R-5.14 this device only without a device": (compartment(lambda each: replace(each, accessibility=4)), MALFORMED),
    "R-5.14 accessibility 2 in group 0": (compartment(lambda each: replace(each, group=0, accessibility=2)), MALFORMED),
    "R-6.8 a setting from the future": (keyring(lambda held: replace(held, limit_dot=Stored(GREATEST, 1))), MALFORMED),
    "R-6.8 a vault key from the future": (keyring(lambda held: replace(held, key_dot=Stored(GREATEST, 1))), MALFORMED),
    "R-1.10 a setting of position 0 above the floor": (keyring(lambda held: replace(held, limit_dot=Stored(5, 0))), MALFORMED),
    "R-6.7 a setting of a position beyond the rows": (
        keyring(lambda held: replace(held, limit_dot=Stored(held.limit_dot.revision, 3))), MALFORMED,
    ),
    "R-11.1 a setting of 51": (keyring(lambda held: replace(held, limit=51)), MALFORMED),
    "R-11.1 17 hand-overs": (keyring(lambda held: replace(held, hand_overs=overs(17))), MALFORMED),
    "R-5.31 no slots": (keyring(lambda held: replace(held, slots={})), MALFORMED),
    "R-5.31 another slot than the header's": (slotted(lambda each: replace(each, id=bytes(16))), MALFORMED),
    "R-5.31 contents before the making": (slotted(lambda each: replace(each, changed=Stored(each.made.revision - 1, 1))), MALFORMED),
    "R-5.31 a grant of a group that does not exist": (slotted(lambda each: replace(each, grants={7: each.made})), MALFORMED),
    "R-5.31 a grant to a full slot": (
        lambda forge: slotted(lambda each: replace(each, grants={first_of(forge.keyring.groups).number: each.made}))(forge), MALFORMED,
    ),
    "R-5.32 a hand-over of a key to itself": (
        keyring(lambda held: replace(held, hand_overs=[replace(overs(1)[0], following=bytes(32))])), MALFORMED,
    ),
    "R-5.32 a hand-over twice": (keyring(lambda held: replace(held, hand_overs=overs(1) * 2)), MALFORMED),
    "R-5.32 a floor of 2^63": (keyring(lambda held: replace(held, hand_overs=[replace(overs(1)[0], floor=1 << 63)])), MALFORMED),
    # The vector
    "R-5.33 no rows": (rows(lambda every: []), MALFORMED),
    "R-5.33 an id of 0": (rows(lambda every: [(0, every[0][1]), *every[1:]]), MALFORMED),
    "R-5.33 an id twice": (rows(lambda every: [every[0], (every[0][0], every[1][1])]), MALFORMED),
    "R-5.33 a row at the floor": (rows(lambda every: [(every[0][0], 0), *every[1:]]), MALFORMED),
    "R-5.34 an unknown form": (altered("vector", patch(0, b"\2")), MALFORMED),
    "R-5.35 a clock that is no row's": (rows(lambda every: [(replica, revision - 1) for replica, revision in every]), MALFORMED),
    "R-5.35 the own id without a row": (own_commit(lambda commit: replace(commit, own_id=77)), MALFORMED),
    "R-5.35 the own id is split": (lambda forge: own_commit(lambda commit: commit)(split(forge)), MALFORMED),
    "R-6.7 a dot that the state has not seen": (rows(lambda every: [(every[0][0], 1), *every[1:]]), MALFORMED),
    # The commit
    "R-5.18 the owner MAC": (altered("proof", flip(0)), FAILED),
    "R-5.21 generation 0": (core(generation=0), MALFORMED),
    "R-5.21 as new as its predecessor": (lambda forge: forge.build(core=lambda one: replace(one, before=one.generation)), MALFORMED),
    "R-5.21 no predecessor": (core(before=0), MALFORMED),
    "R-5.21 generation 1 with a predecessor": (core(generation=1, before=0), MALFORMED),
    "R-5.21 a generation of 2^63": (core(generation=1 << 63), MALFORMED),
    "R-5.22 another offset": (core(offset=512), MALFORMED),
    "R-5.22 a start in the header": (core(start=4096), MALFORMED),
    "R-5.22 a start that is no multiple of 512": (core(start=8192 + 64), MALFORMED),
    "R-5.22 more items than bytes": (core(items=1 << 40), MALFORMED),
    "R-5.22 no keyring": (core(keyring=Reference()), MALFORMED),
    "R-5.22 a level of 16": (core(level=16), MALFORMED),
    "R-5.22 a flag of 2": (core(flags=2), MALFORMED),
    "R-5.24 another header": (core(header_hash=bytes(32)), FAILED),
    "R-5.25 other items": (core(items=2), MALFORMED),
    "R-5.25 other forgotten values": (core(forgotten=0), MALFORMED),
    "R-5.25 other pasts": (core(pasts=1), MALFORMED),
    "R-5.22 more pasts than items": (core(pasts=9), MALFORMED),
    "R-5.22 no vector": (core(vector=Reference()), MALFORMED),
    "R-5.38 an own revision without an own id": (core(own_revision=1), MALFORMED),
    "R-5.38 an own revision that is not the clock": (core(own_id=1, own_revision=1), MALFORMED),
    "R-11.1 no clock": (core(clock=0), MALFORMED),
    "R-5.38 a floor beyond the clock": (core(floor=GREATEST), MALFORMED),
    # Items
    "R-6.1 a zero before another byte": (with_key(b"\x01\0\1\0\0\0\0\0\0\0"), MALFORMED),
    "R-6.1 sync of 2": (with_key(ItemKey(1, (b"", b"")).encode()[:-1] + b"\2"), MALFORMED),
    "R-6.1 a field of 4097 bytes": (with_key(ItemKey(1, (b"k" * 4097, b""), b"work").encode()), MALFORMED),
    "R-6.1 a key of 8177 bytes": (with_key(ItemKey(1, (b"k" * 4096, b"l" * 4069), b"work").encode()), MALFORMED),
    "R-6.2 17 fields": (with_key(ItemKey(6, (b"",) * 16, b"work").encode()), MALFORMED),
    "R-6.3 a sealed value in the page": (attributes(Attribute(b"a", 1, b"")), MALFORMED),
    "R-6.3 257 bytes in the page": (attributes(Attribute(b"a", 0, bytes(257))), MALFORMED),
    "R-6.3 256 bytes in the record": (record(5, lambda one: replace(one, attributes={b"a": (0x10, bytes(256))})), MALFORMED),
    "R-6.3 4097 bytes in the record": (record(5, lambda one: replace(one, attributes={b"a": (0x11, bytes(4097))})), MALFORMED),
    "R-6.3 4096 bytes in a record of its own": (
        altered("record 1", lambda _: AttributeRecord(key("first"), 0x20, b"x/file", bytes(4096)).encode()),
        MALFORMED,
    ),
    "R-6.4 attributes out of order": (attributes(Attribute(b"b", 0, b""), Attribute(b"a", 0, b"")), MALFORMED),
    "R-6.4 an attribute twice": (attributes(Attribute(b"a", 0, b""), Attribute(b"a", 0, b"")), MALFORMED),
    "section 6.2 a nameless attribute": (attributes(Attribute(b"", 0, b"")), MALFORMED),
    "section 6.2 a reserved flag": (attributes(Attribute(b"a", 8, b"")), MALFORMED),
    "section 6.2 two places": (attributes(Attribute(b"a", 0x30, b"")), MALFORMED),
    "R-6.5 an attribute that the record has not": (attributes(Attribute(b"a", 0x10)), MALFORMED),
    "R-6.5 other flags in the record": (
        record(0, lambda one: replace(one, attributes={b"notes": (0x13, b"sealed"), b"x/long": (0x10, b"l" * 300)})),
        MALFORMED,
    ),
    "R-6.5 another attribute's record": (
        altered("record 1", lambda _: AttributeRecord(key("first"), 0x20, b"x/fine", bytes(6000)).encode()),
        MALFORMED,
    ),
    "R-6.6 a compartment that does not exist": (place(lambda each: replace(each, compartment=5)), MALFORMED),
    "R-6.6 another group's compartment": (lambda forge: move_compartment(forge, b"first"), MALFORMED),
    "R-6.6 the owners' compartment": (lambda forge: move_compartment(forge, b""), MALFORMED),
    "R-6.7 a position beyond the rows": (entry(lambda each: replace(each, dot=Stored(each.dot.revision, 3))), MALFORMED),
    "R-1.10 position 0 above the floor": (entry(lambda each: replace(each, dot=Stored(each.dot.revision, 0))), MALFORMED),
    "R-6.8 revision 0": (entry(lambda each: replace(each, dot=Stored(0, 1))), MALFORMED),
    "R-6.15 a twin of no item": (lambda forge: with_key(twin(forge, b"second", key("nobody", b"work")))(forge), MALFORMED),
    "R-6.15 a twin of a greater id": (twin_of_greater, MALFORMED),
    "R-6.16 no further dots": (further(b"\0"), MALFORMED),
    "R-6.16 a further dot that is the entry's": (entry(lambda each: replace(each, further=((each.dot, (0,)),))), MALFORMED),
    "R-6.16 a dot without a field": (entry(lambda each: replace(each, further=((Stored(each.dot.revision - 1, 1), ()),))), MALFORMED),
    "R-6.16 a field with two dots": (
        entry(lambda each: replace(each, further=tuple((Stored(each.dot.revision - less, 1), (0,)) for less in (1, 2)))), MALFORMED,
    ),
    "R-6.16 further dots out of order": (
        entry(lambda each: replace(each, further=tuple((Stored(each.dot.revision - less, 1), (less,)) for less in (2, 1)))), MALFORMED,
    ),
    "R-6.16 a bit for a field that there is not": (further(b"\1\1\1\x08"), MALFORMED),
    "R-6.16 a secret that there is not has a dot": (
        entry(lambda each: replace(each, has_secret=False, further=((Stored(each.dot.revision - 1, 1), (2,)),))), MALFORMED,
    ),
    "R-6.17 something to settle without a past": (entry(lambda each: replace(each, to_settle=True)), MALFORMED),
    "R-6.17 a record that nothing needs": (entry(lambda each: replace(each, has_secret=False)), MALFORMED),
    "R-6.17 no record for the secret": (place(lambda each: Place(Reference(), 0, each.compartment)), MALFORMED),
    "R-6.18 a time beyond its limit": (entry(lambda each: replace(each, modified=1 << 61)), MALFORMED),
    "section 6.3 a reserved flag": (raw_value(lambda value: value[:-2] + bytes([value[-2] | 16]) + value[-1:]), MALFORMED),
    "R-6.8 a revision from the future": (
        lambda forge: entry(lambda each: replace(each, dot=Stored(forge.commit.clock + 1, 1)))(forge),
        MALFORMED,
    ),
    "R-6.8 a record revision of 0": (place(lambda each: replace(each, revision=0)), MALFORMED),
    "R-6.14 a short key": (forgotten(b"\x7e" + bytes(15)), MALFORMED),
    "R-6.14 a value": (page(lambda each: replace(each, values=[*each.values[:-1], b"\0"])), MALFORMED),
    "R-6.14 a kind of 2": (forgotten_key(tail=b"\2"), MALFORMED),
    "R-6.14 a secret with a name": (forgotten_key(tail=b"\0x"), MALFORMED),
    "R-6.14 an attribute without one": (forgotten_key(tail=b"\1"), MALFORMED),
    "R-6.14 a name of 256 bytes": (forgotten_key(tail=b"\1" + b"n" * 256), MALFORMED),
    "R-6.14 a name that is not UTF-8": (forgotten_key(tail=b"\1\xff"), MALFORMED),
    "R-6.14 a replica id of 0 above the floor": (forgotten_key(replica=0), MALFORMED),
    "R-6.8 a forgotten value from the future": (forgotten_key(GREATEST), MALFORMED),
    "R-6.7 a forgotten value of an id without a row": (forgotten_key(replica=5), MALFORMED),
    # The search
    "R-7.1 a forged commit after the newest": (lambda forge: forge.build({"proof": flip(0)}), FAILED),
    "section 7.1 no commit": (altered("file", lambda data: data[:-512] + bytes(512)), FAILED),
}


class Refusals(unittest.TestCase):
    def test_what_is_built_from_its_own_parts_is_read(self) -> None:
        for scoped in (None, [b"work"]):
            forge = rich(scoped).forge()
            self.assertEqual(verdict(forge.build()), "success")

    def test_one_fault_is_refused_as_what_it_is(self) -> None:
        for name, (build, expected) in CASES.items():
            with self.subTest(name):
                self.assertEqual(verdict(build(rich().forge())), expected)

    def test_what_is_no_fault_is_read(self) -> None:
        fine: dict[str, Build] = {
            "an opaque kind": slots(same, opaque(3, 1)),
            "an opaque kind with a payload of 16 bytes": slots(same, opaque(0x83, 0, payload=16, parameters=b"")),
            "opaque factors": slots(same, opaque(1, 0x20, payload=48)),
            "an expensive slot that is not tried": slots(same, stretched(1 << 31, 1 << 20, 1)),
            "a longer step": record(5, lambda one: one, step=1024),
            "extensions": slots(same, extensions=extension(b"a", b"x", 2) + extension(b"b"), extension_count=2),
        }
        for name, build in fine.items():
            with self.subTest(name):
                self.assertEqual(verdict(build(rich().forge())), "success")

    def test_an_entry_that_has_not_what_its_item_shows_is_found_by_verification_R_6_22(self) -> None:
        """Of two secrets the one that is open is shown: here the other one is in the entry."""
        data = values(b"twice", lambda every: nth(2, lambda each: replace(each, flags=4))(flagged(1, 1)(every)))(rich().forge())
        self.assertEqual(verdict(data), "success")
        with self.assertRaises(Refused):
            verify(reader(data))
