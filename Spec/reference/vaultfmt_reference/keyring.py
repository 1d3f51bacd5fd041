"""The keyring, and the keys that it wraps: sections 3.5, 3.6, 5.4 and 7.3."""

from dataclasses import dataclass, field, replace
from typing import Self

from .codec import (
    GREATEST,
    NO_DEVICE,
    Cursor,
    Extension,
    Limit,
    Refused,
    ascending,
    at_most,
    counted,
    number_of,
    pad_step,
    padded,
    refuse_critical,
    require,
    str8,
    text,
    u8,
    u64,
    varint,
)
from .crypto import NONCE, Keys, device_key, hashed, seal, unseal
from .dots import Bounds, Stored
from .frames import Reference
from .signature import is_valid, sign

# The least accessibility that is for one device only.
THIS_DEVICE = 4
OWNERS = 0


@dataclass(frozen=True)
class Group:
    number: int
    name: bytes
    wrapped: bytes = b""

    def bound(self, vault: bytes) -> bytes:
        return str8("vaultfmt-1 group") + vault + u64(self.number) + self.name


@dataclass(frozen=True)
class Compartment:
    number: int
    group: int
    accessibility: int
    device: bytes = NO_DEVICE
    wrapped: bytes = b""

    @property
    def is_bound(self) -> bool:
        return self.device != NO_DEVICE

    @property
    def clear(self) -> bytes:
        return u64(self.number) + u64(self.group) + u8(self.accessibility) + self.device

    def bound(self, vault: bytes) -> bytes:
        return str8("vaultfmt-1 compartment") + vault + self.clear

    def device_bound(self, vault: bytes) -> bytes:
        """A', which leaves the group out."""
        return str8("vaultfmt-1 device compartment") + vault + u64(self.number) + u8(self.accessibility) + self.device


@dataclass(frozen=True)
class Slotted:
    """What the keyring says of a slot. `grants` are dots by group number."""

    id: bytes
    made: Stored
    changed: Stored
    grants: dict[int, Stored] = field(default_factory=dict)

    @property
    def dots(self) -> list[Stored]:
        return [self.made, self.changed, *self.grants.values()]

    def encode(self) -> bytes:
        out = self.id + self.made.encode() + self.changed.encode() + varint(len(self.grants))
        return out + b"".join(u64(number) + dot.encode() for number, dot in sorted(self.grants.items()))

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        slot, made, changed = cursor.take(16), Stored.decode(cursor), Stored.decode(cursor)
        grants = [(cursor.number(8), Stored.decode(cursor)) for _ in cursor.count(Limit.GRANTS, "the grants of a slot")]
        ascending((number for number, _ in grants), "a slot's grants (R-5.31)")
        is_later = changed.revision > made.revision or changed == made
        require(is_later, "a slot's contents are older than the slot (R-5.31)")
        return cls(slot, made, changed, dict(grants))


@dataclass(frozen=True)
class HandOver:
    """A rotated key's word for the next (section 7.3): up to which vector it holds."""

    public: bytes
    following: bytes
    floor: int
    vector: Reference
    signature: bytes

    @staticmethod
    def signed(vault: bytes, rows: list[tuple[int, int]], floor: int, following: bytes) -> bytes:
        """The rows as they are encoded, with the bit that says *split*."""
        pairs = b"".join(u64(replica) + u64(revision) for replica, revision in sorted(rows))
        return str8("vaultfmt-1 hand-over") + vault + hashed(pairs) + u64(floor) + following

    @classmethod
    def make(cls, keys: Keys, rows: list[tuple[int, int]], floor: int, vector: Reference, following: bytes) -> Self:
        signature = sign(keys.of_owner("signing"), cls.signed(keys.vault, rows, floor, following))
        return cls(keys.public, following, floor, vector, signature)

    def is_valid(self, vault: bytes, rows: list[tuple[int, int]]) -> bool:
        return is_valid(self.public, self.signed(vault, rows, self.floor, self.following), self.signature)

    @property
    def order(self) -> bytes:
        return self.public + self.following + self.signature

    def encode(self) -> bytes:
        return self.public + self.following + u64(self.floor) + self.vector.narrow() + self.signature

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        public, following, floor = cursor.take(32), cursor.take(32), at_most(cursor.number(8), GREATEST, "a hand-over's floor")
        require(public != following, "a hand-over of a key to itself (R-5.32)")
        return cls(public, following, floor, Reference.from_narrow(cursor), cursor.take(64))


@dataclass(frozen=True)
class Keyring:
    limit: int = 0
    limit_dot: Stored = Stored(1, 1)
    # Of the rotation that made the vault key, or of the vault's creation.
    key_dot: Stored = Stored(1, 1)
    groups: dict[int, Group] = field(default_factory=dict)
    compartments: dict[int, Compartment] = field(default_factory=dict)
    slots: dict[bytes, Slotted] = field(default_factory=dict)
    hand_overs: list[HandOver] = field(default_factory=list)
    extensions: list[Extension] = field(default_factory=list)

    def encode(self) -> bytes:
        groups = [u64(each.number) + counted(each.name) + each.wrapped for _, each in sorted(self.groups.items())]
        compartments = [each.clear + each.wrapped for _, each in sorted(self.compartments.items())]
        slots = [each.encode() for _, each in sorted(self.slots.items())]
        hand_overs = [each.encode() for each in sorted(self.hand_overs, key=lambda each: each.order)]
        extensions = [each.encode() for each in self.extensions]
        out = u8(self.limit) + self.limit_dot.encode() + self.key_dot.encode()
        for pieces in (groups, compartments, slots, hand_overs, extensions):
            out += varint(len(pieces)) + b"".join(pieces)
        return padded(out)

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """With all that the keyring alone shows; what takes the header and the commit to check is `check_against`."""
        cursor = Cursor(body)
        setting = at_most(cursor.number(1), Limit.EARLIER, "the earlier values to keep"), Stored.decode(cursor), Stored.decode(cursor)
        groups = []
        for _ in cursor.count(Limit.GROUPS, "the number of groups"):
            number, name = cursor.number(8), text(cursor.counted(Limit.FIELD, "a group's name"))
            groups.append(Group(number, name, cursor.take(72)))
        compartments = []
        for _ in cursor.count(Limit.COMPARTMENTS, "the number of compartments"):
            number, group, accessibility, device = cursor.number(8), cursor.number(8), cursor.number(1), cursor.take(16)
            wrapped = cursor.take(112 if device != NO_DEVICE else 72)
            compartments.append(Compartment(number, group, accessibility, device, wrapped))
        slots = [Slotted.decode(cursor) for _ in cursor.count(Limit.SLOTS, "the number of slots")]
        hand_overs = [HandOver.decode(cursor) for _ in cursor.count(Limit.HAND_OVERS, "the hand-overs")]
        extensions = [Extension.decode(cursor) for _ in cursor.count(Limit.EXTENSIONS, "the number of extensions")]
        cursor.padding(pad_step(cursor.position))
        ascending((each.number for each in groups), "groups (R-5.14)")
        ascending((each.number for each in compartments), "compartments (R-5.14)")
        ascending((each.id for each in slots), "slots (R-5.31)")
        ascending((each.order for each in hand_overs), "hand-overs (R-5.32)")
        ascending((each.name for each in extensions), "extensions (R-3.22)")
        keyring = cls(
            *setting,
            {each.number: each for each in groups},
            {each.number: each for each in compartments},
            {each.id: each for each in slots},
            hand_overs,
            extensions,
        )
        keyring.check()
        refuse_critical(extensions)
        return keyring

    def check(self) -> None:
        """R-5.14 and R-5.31, but for what concerns the header and the commit."""
        require(len({each.name for each in self.groups.values()}) == len(self.groups), "two groups have one name (R-5.14)")
        require(self.slots != {}, "a keyring without slots (R-5.31)")
        for number in (*self.groups, *self.compartments):
            number_of(number, "the number of a group or compartment")
        for each in self.compartments.values():
            require(each.group in self.groups or each.group == OWNERS, "a compartment's group does not exist (R-5.14)")
            require(1 <= each.accessibility <= 7, "a compartment's accessibility (R-5.14)")
            require(each.is_bound == (each.accessibility >= THIS_DEVICE), "a compartment's device (R-5.14)")
            is_usual = each.group != OWNERS or each.accessibility in (1, 5)
            require(is_usual, "the accessibility of a compartment of group 0 (R-5.14)")
        for slot in self.slots.values():
            require(slot.grants.keys() <= self.groups.keys(), "a grant of a group that does not exist (R-5.31)")

    @property
    def dots(self) -> list[Stored]:
        return [self.limit_dot, self.key_dot, *(dot for slot in self.slots.values() for dot in slot.dots)]

    def check_against(self, kinds: dict[bytes, int], bounds: Bounds) -> None:
        """`kinds` are those of the header's slots, by id: R-5.31, R-1.10, R-6.8."""
        require(self.slots.keys() == kinds.keys(), "the keyring's slots are not the header's (R-5.31)")
        is_plain = all(kinds[slot] != 1 or not each.grants for slot, each in self.slots.items())
        require(is_plain, "a grant to a full slot (R-5.31)")
        bounds.check(self.dots)

    # Looking up

    def group_name(self, compartment: int) -> bytes | None:
        """None for a compartment that does not exist, or of group 0."""
        found = self.compartments.get(compartment)
        return self.groups[found.group].name if found and found.group != OWNERS else None

    def group_named(self, name: bytes) -> Group | None:
        return next((each for each in self.groups.values() if each.name == name), None)

    def is_for_owners(self, compartment: int) -> bool:
        """Whether a past may have a record in it (R-6.6)."""
        found = self.compartments.get(compartment)
        return found is not None and (found.group == OWNERS or found.is_bound)

    # Keys

    def group_key(self, keys: Keys, number: int) -> bytes:
        if number == OWNERS and keys.is_owner:
            return keys.of_owner("earlier")
        if not keys.is_owner:
            if number not in keys.grants:
                raise Refused("no-key", "a group that the slot does not grant")
            return keys.grants[number]
        group = self.groups[number]
        return unseal(keys.of_owner("keyring"), group.wrapped[:NONCE], group.bound(keys.vault), group.wrapped[NONCE:], "a group's key")

    def outer(self, keys: Keys, number: int) -> bytes:
        """What a compartment's group opens: its key, or what the device opens."""
        each = self.compartments[number]
        group_key = self.group_key(keys, each.group)
        return unseal(group_key, each.wrapped[:NONCE], each.bound(keys.vault), each.wrapped[NONCE:], "a compartment's key")

    def compartment_key(self, keys: Keys, number: int, secrets: dict[bytes, bytes]) -> bytes:
        """`secrets` are those of devices, by id (section 3.6)."""
        each, outer = self.compartments[number], self.outer(keys, number)
        if not each.is_bound:
            return outer
        if each.device not in secrets:
            raise Refused("device-bound", "a secret of another device")
        own = device_key(secrets[each.device], keys.vault)
        try:
            return unseal(own, outer[:NONCE], each.device_bound(keys.vault), outer[NONCE:], "the inner layer")
        except Refused:
            raise Refused("device-bound", "a secret of this device under another secret of it") from None


def wrap_group(group: Group, keys: Keys, key: bytes, nonce: bytes) -> Group:
    return replace(group, wrapped=nonce + seal(keys.of_owner("keyring"), nonce, group.bound(keys.vault), key))


def wrap_compartment(compartment: Compartment, vault: bytes, group_key: bytes, content: bytes, nonce: bytes) -> Compartment:
    """The content is the compartment's key, or the inner layer with its nonce."""
    return replace(compartment, wrapped=nonce + seal(group_key, nonce, compartment.bound(vault), content))


def inner_layer(compartment: Compartment, vault: bytes, secret: bytes, key: bytes, nonce: bytes) -> bytes:
    return nonce + seal(device_key(secret, vault), nonce, compartment.device_bound(vault), key)
