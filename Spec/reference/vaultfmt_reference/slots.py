"""Slots: their layout, payloads and owner parts (section 3.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from .codec import Cursor, Limit, Refused, ascending, at_most, number_of, require, str8, text, u8, u16, u32, u64
from .crypto import NONCE, Keys, derive, is_same, seal, unseal
from .factors import KNOWN, Factors, Parameters, Policy, Provider, Stretching, check_new, slot_key

FULL, SCOPED, EPOCH = 0x01, 0x82, 0x80
PAYLOADS = {FULL: 48, SCOPED: 1368}
FRONT, GRANT = 32, 40


@dataclass(frozen=True)
class Slot:
    """A slot's bytes, all of them, and where its parts are. Known or opaque."""

    raw: bytes

    @property
    def id(self) -> bytes:
        return self.raw[4:20]

    @property
    def kind(self) -> int:
        return self.raw[20]

    @property
    def factors(self) -> int:
        return self.raw[21]

    @property
    def is_known(self) -> bool:
        return self.kind in PAYLOADS and self.factors in KNOWN

    @property
    def owner_length(self) -> int:
        return int.from_bytes(self.raw[28:32], "little")

    @property
    def clear(self) -> bytes:
        """Bytes 0 to 32+p, which the slot key covers."""
        return self.raw[: FRONT + int.from_bytes(self.raw[24:28], "little")]

    @property
    def commitment(self) -> bytes:
        return self.raw[len(self.clear) :][:32]

    @property
    def bound(self) -> bytes:
        """Bytes 0 to 64+p, which the payload is bound to."""
        return self.raw[: len(self.clear) + 32]

    @property
    def payload(self) -> bytes:
        """Nonce and seal."""
        return self.raw[len(self.bound) : -self.owner_length]

    @property
    def before_owner_part(self) -> bytes:
        return self.raw[: -self.owner_length]

    @property
    def owner_part(self) -> bytes:
        """Nonce and seal."""
        return self.raw[-self.owner_length :]

    @property
    def parameters(self) -> Parameters:
        return Parameters.decode(self.factors, self.clear[FRONT:])

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        """Checks what can be checked without a key (R-3.2, R-3.7)."""
        length = int.from_bytes(cursor.data[cursor.position :][:4], "little")
        require(Limit.SLOT_LEAST <= length <= Limit.SLOT, "a slot's length (R-11.1)")
        slot = cls(cursor.take(length))
        front = Cursor(slot.raw[22:32])
        front.reserved(2)
        parameters = at_most(front.number(4), Limit.PARAMETERS, "the length of a slot's parameters")
        owner = at_most(front.number(4), Limit.OWNER_PART, "the length of an owner part")
        require(owner >= Limit.OWNER_PART_LEAST, "the length of an owner part")
        payload = length - (FRONT + parameters + 32 + NONCE) - owner
        require(payload == PAYLOADS.get(slot.kind, payload) and payload >= 16, "the length of a slot's payload (R-3.7)")
        if slot.is_known:
            Parameters.decode(slot.factors, slot.clear[FRONT:])
        return slot

    # Opening

    def open_payload(self, vault: bytes, wrapping_key: bytes) -> bytes:
        bound = str8("vaultfmt-1 slot") + vault + self.bound
        return unseal(wrapping_key, self.payload[:NONCE], bound, self.payload[NONCE:], "a slot's payload")

    def open_owner_part(self, keys: Keys) -> "OwnerPart":
        bound = str8("vaultfmt-1 slot owner") + keys.vault + self.before_owner_part
        plain = unseal(keys.of_owner("slot owner"), self.owner_part[:NONCE], bound, self.owner_part[NONCE:], "an owner part")
        return OwnerPart.decode(self.kind, plain)


def open_slot(vault: bytes, slots: list[Slot], factors: Factors, policy: Policy) -> tuple[Slot, bytes]:
    """The slot that opens, and its payload (R-3.10 to R-3.13)."""
    named = {slot.id: slot for slot in slots if slot.is_known and slot.factors == factors.kinds}
    providers = {slot: named[slot].parameters.provider for slot in named}
    asked = {
        slot: provider.parameters if provider else b""
        for slot, provider in providers.items()
        if factors.unwrap is None or (provider is not None and provider.name == factors.provider)
    }
    tried = [(named[slot], keys) for slot, keys in factors.candidates(asked).items() if keys]
    for slot, _ in tried:
        kdf = slot.parameters.stretching
        require(kdf is None or policy.allows(kdf), "a slot's KDF cost (R-3.11)", "kdf-limit")
    spent = 0
    for slot, keys in tried:
        kdf = slot.parameters.stretching
        spent += kdf.cost if kdf else 0
        require(spent <= policy.total, "the KDF cost of all attempts (R-3.11)", "kdf-limit")
        stretched = factors.stretched(kdf)
        for key in keys:
            derived = slot_key(stretched + key, vault, slot.clear)
            if is_same(derive(derived, "slot commitment"), slot.commitment):
                return slot, slot.open_payload(vault, derive(derived, "slot wrap"))
    raise Refused("no-slot-opens", "no slot opens with these factors")


# Payloads


def keys_of(slot: Slot, vault: bytes, epoch: bytes, payload: bytes) -> Keys:
    if slot.kind == FULL:
        return Keys.owners(vault, epoch, payload)
    index, public, grants = decode_grants(payload)
    return Keys(vault, index, public, grants=grants)


def encode_grants(index: bytes, public: bytes, grants: dict[int, bytes]) -> bytes:
    out = index + public + u8(len(grants)) + bytes(7)
    out += b"".join(u64(number) + key for number, key in sorted(grants.items()))
    return out.ljust(PAYLOADS[SCOPED] - 16, b"\0")


def decode_grants(payload: bytes) -> tuple[bytes, bytes, dict[int, bytes]]:
    """Index key, owners' public key, and group keys by number (R-3.14)."""
    cursor = Cursor(payload)
    index, public = cursor.take(32), cursor.take(32)
    count = at_most(cursor.number(1), Limit.GRANTS, "the groups granted to a slot")
    cursor.reserved(7)
    grants = [(cursor.number(8), cursor.take(32)) for _ in range(count)]
    cursor.reserved(cursor.rest)
    for number, _ in grants:
        number_of(number, "the number of a granted group")
    ascending((number for number, _ in grants), "a slot's groups")
    return index, public, dict(grants)


# Owner parts


@dataclass(frozen=True)
class OwnerPart:
    name: bytes = b""
    wrapping_key: bytes = bytes(32)
    data: bytes = b""

    @property
    def length(self) -> int:
        """Of nonce and seal."""
        return NONCE + len(self.encode()) + 16

    def encode(self) -> bytes:
        out = u8(len(self.name)) + self.name.ljust(63, b"\0") + self.wrapping_key + bytes(24)
        out += u16(len(self.data)) + self.data
        return out + bytes(-len(out) % 128)

    @classmethod
    def decode(cls, kind: int, plain: bytes) -> Self:
        """R-3.15."""
        cursor = Cursor(plain)
        name = text(cursor.short(Limit.SLOT_NAME, "a slot's name"))
        cursor.reserved(64 - cursor.position)
        wrapping_key = cursor.take(32)
        require(kind & EPOCH != 0 or not any(wrapping_key), "a wrapping key in a slot that has none")
        cursor.reserved(24)
        data = cursor.take(at_most(cursor.number(2), Limit.PROVIDER_DATA, "a provider's data"))
        require(len(plain) == cursor.position + -cursor.position % 128, "the length of an owner part")
        cursor.reserved(cursor.rest)
        return cls(name, wrapping_key, data)


# Making


def check_costs(slots: list[Slot], before: Sequence[Slot]) -> None:
    """R-3.12, for writers: `slots` instead of those that the vault has had, of which a new one has none."""
    for factors in {slot.factors for slot in slots if slot.is_known}:
        allowed = max(Policy().total, total_cost(before, factors))
        require(total_cost(slots, factors) <= allowed, "slots that no reader would try all of (R-3.12)", "limit")


def total_cost(slots: Sequence[Slot], factors: int) -> int:
    """Of all slots with these factors (R-3.11)."""
    costs = [slot.parameters.stretching for slot in slots if slot.is_known and slot.factors == factors]
    return sum(kdf.cost for kdf in costs if kdf)


@dataclass(frozen=True)
class NewSlot:
    """A slot to be made. `grants` are group numbers, None in a full slot."""

    factors: Factors
    stretching: Stretching | None = None
    provider: Provider | None = None
    # The external key, as its provider made it.
    external_key: bytes = b""
    name: bytes = b""
    data: bytes = b""
    grants: list[int] | None = None
    # Of a slot that is made anew.
    id: bytes = b""

    @property
    def kind(self) -> int:
        return FULL if self.grants is None else SCOPED

    def seal(self, keys: Keys, grants: dict[int, bytes], random: Callable[[int], bytes]) -> Slot:
        if not self.id:
            check_new(self.factors.passphrase)
        parameters = Parameters(replace(self.stretching, salt=random(32)) if self.stretching else None, self.provider)
        owner = OwnerPart(self.name, bytes(32), self.data)
        clear = front(self.id or random(16), self.kind, self.factors.kinds, parameters.encode(), PAYLOADS[self.kind], owner.length)
        material = self.factors.stretched(parameters.stretching) + (self.external_key or self.factors.key)
        key = slot_key(material, keys.vault, clear)
        wrapping_key = derive(key, "slot wrap")
        if self.kind == FULL:
            payload = keys.vault_key
        else:
            payload, owner = encode_grants(keys.index, keys.public, grants), replace(owner, wrapping_key=wrapping_key)
        return seal_slot(keys, clear + derive(key, "slot commitment"), wrapping_key, payload, owner, random)


def front(slot: bytes, kind: int, factors: int, parameters: bytes, payload: int, owner: int) -> bytes:
    """Bytes 0 to 32+p; the lengths are those of what is sealed, an owner part's with its nonce."""
    length = FRONT + len(parameters) + 32 + NONCE + payload + owner
    return u32(length) + slot + u8(kind) + u8(factors) + bytes(2) + u32(len(parameters)) + u32(owner) + parameters


def seal_slot(
    keys: Keys, bound: bytes, wrapping_key: bytes, payload: bytes, owner: OwnerPart, random: Callable[[int], bytes]
) -> Slot:
    """From bytes 0 to 64+p on."""
    nonce = random(NONCE)
    before = bound + nonce + seal(wrapping_key, nonce, str8("vaultfmt-1 slot") + keys.vault + bound, payload)
    return Slot(before + seal_owner_part(keys, before, owner, random(NONCE)))


def seal_owner_part(keys: Keys, before: bytes, owner: OwnerPart, nonce: bytes) -> bytes:
    return nonce + seal(keys.of_owner("slot owner"), nonce, str8("vaultfmt-1 slot owner") + keys.vault + before, owner.encode())


def reseal_owner_part(keys: Keys, slot: Slot, owner: OwnerPart, nonce: bytes) -> Slot:
    """Another name or revision; what the slot key covers stays."""
    require(owner.length == slot.owner_length, "an owner part of another length needs a new slot (R-3.15)")
    return Slot(slot.before_owner_part + seal_owner_part(keys, slot.before_owner_part, owner, nonce))


def regrant(keys: Keys, slot: Slot, owner: OwnerPart, grants: dict[int, bytes], random: Callable[[int], bytes]) -> Slot:
    """Another payload in a scoped slot, under the wrapping key in its owner part (R-3.15)."""
    payload = encode_grants(keys.index, keys.public, grants)
    return seal_slot(keys, slot.bound, owner.wrapping_key, payload, owner, random)
