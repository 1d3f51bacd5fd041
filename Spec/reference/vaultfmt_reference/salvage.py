"""What can be read of a damaged file: R-3.4 and R-5.2. It asks for no whole state, and says what is proven."""

from collections.abc import Iterator

from .codec import SECTOR, Refused
from .factors import Factors, Policy
from .frames import LENGTHS, RECORD
from .header import Header, headers
from .items import FORGOTTEN, Entry
from .keyring import Keyring
from .reader import Reader, open_record
from .slots import keys_of, open_slot
from .state import Found, Opened, find_state
from .verify import decode_any, located

SCAN = 8


class Salvage(Reader):
    """A reader of the newest commit with a valid proof, wherever it is."""

    def __init__(self, data: bytes, header: Header, factors: Factors, devices: dict[bytes, bytes]) -> None:
        self.slot, payload = open_slot(header.vault, header.slots, factors, Policy())
        super(Reader, self).__init__(data, header, keys_of(self.slot, header.vault, header.epoch, payload))
        self.devices, self.reached = devices, {}
        header.check_mac(self.keys.index)
        found = self.newest_proven()
        self.opened, self.commit, self.tail, self.state = found.opened, found.commit, found.tail, found.opened.state
        self.keyring = Keyring.decode(
            self.keys.unseal_at("keyring", self.commit.keyring.offset, self.frame(self.commit.keyring, b"vKEY"))
        )

    def newest_proven(self) -> Found:
        try:
            return find_state(self)
        except Refused:
            pass
        best: Opened | None = None
        for offset in range(self.header.body, len(self.data), SECTOR):
            opened = self.open_at(offset) if self.head_at(offset) else None
            if opened is None or (best is not None and opened.generation <= best.generation):
                continue
            try:
                self.check_served(opened)
            except Refused:
                continue
            best = opened
        if best is None:
            raise Refused("authentication-failed", "no commit with a valid proof belongs to this header")
        return Found(best, best.commit, "damaged")


def salvage(data: bytes, factors: Factors, devices: dict[bytes, bytes]) -> Iterator[str]:
    """Lines: the header that was used, what the newest proven state holds, then what nothing proves."""
    failure = Refused("header-invalid", "neither the header nor its copy can be read")
    for header in headers(data):
        try:
            reader = Salvage(data, header, factors, devices)
        except Refused as refused:
            failure = refused
            continue
        where = "header" if data[: header.length] == header.raw else "copy"
        yield f"header {where}"
        yield f"generation {reader.commit.generation}"
        yield from proven(reader)
        yield from unproven(reader)
        return
    raise failure


def proven(reader: Salvage) -> Iterator[str]:
    """Each entry that the tree reaches; a page that cannot be read is named."""
    pages = [(reader.commit.root, reader.commit.level)] if not reader.commit.root.is_absent else []
    while pages:
        reference, level = pages.pop(0)
        try:
            page = reader.page(reference, level)
        except Refused as refused:
            yield f"lost page {reference.offset} {refused.verdict}"
            continue
        pages += [(child, level - 1) for child in page.children]
        for key, value in zip(page.keys, page.values, strict=False):
            if key[0] == FORGOTTEN:
                continue
            try:
                item = reader.item(key, Entry.decode(key, value, reader.keyring, reader.commit.bounds), reference.offset)
            except Refused as refused:
                yield f"lost item {key.hex()} {refused.verdict}"
                continue
            reason = next(item.live.reasons, "")
            yield f"lost item {key.hex()} {reason}" if reason else f"item {key.hex()}"


def unproven(reader: Salvage) -> Iterator[str]:
    """Records that no page of the state refers to, wherever they are; their seals prove a holder of the key, not an owner."""
    data, at = reader.data, reader.header.body
    while (at := data.find(RECORD, at)) >= 0:
        length = int.from_bytes(data[at + 4 : at + SCAN], "little")
        if at not in reader.reached and LENGTHS[RECORD][0] <= length <= len(data) - at and reader.keys.is_owner:
            item, place = located(reader, at, data[at : at + length])
            try:
                key = reader.keyring.compartment_key(reader.keys, place.compartment, reader.devices)
                record = decode_any(open_record(reader.keys.vault, key, item, place, data[at : at + length]))
                yield f"unproven {item.hex()} {record.key.hex()}"
                at += length
                continue
            except (Refused, KeyError):
                pass
        at += 1
