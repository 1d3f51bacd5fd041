"""The keyring, and the keys that it wraps: sections 3.5, 3.6, 5.4 and 7.3."""

from dataclasses import dataclass, field, replace
from typing import Self

from .codec import (
    GREATEST, NO_DEVICE, Cursor, Extension, Limit, Refused, ascending, at_most, counted, number_of, padded, pad_step, refuse_critical,
    require, str8, text, u8, u64, varint,
)
from .crypto import NONCE, Keys, device_key, seal, unseal
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
class HandOver:
    """A rotated key's word for the next (section 7.3)."""

    public: bytes
    generation: int
    chain: bytes
    signature: bytes

    @staticmethod
    def signed(vault: bytes, generation: int, chain: bytes, following: bytes) -> bytes:
        return str8("vaultfmt-1 hand-over") + vault + u64(generation) + chain + following

    @classmethod
    def make(cls, keys: Keys, generation: int, chain: bytes, following: bytes) -> Self:
        seed = keys.of_owner("signing")
        return cls(keys.public, generation, chain, sign(seed, cls.signed(keys.vault, generation, chain, following)))

    def is_valid(self, vault: bytes, following: bytes) -> bool:
        return is_valid(self.public, self.signed(vault, self.generation, self.chain, following), self.signature)

    def encode(self) -> bytes:
        return self.public + u64(self.generation) + self.chain + self.signature

    @classmethod
    def decode(cls, cursor: Cursor) -> Self:
        return cls(cursor.take(32), cursor.number(8), cursor.take(32), cursor.take(64))


@dataclass(frozen=True)
class Keyring:
    keep: int = 0
    keep_revision: int = 0
    keep_device: bytes = NO_DEVICE
    devices: list[bytes] = field(default_factory=list)
    groups: dict[int, Group] = field(default_factory=dict)
    compartments: dict[int, Compartment] = field(default_factory=dict)
    # The revision of the removal, by slot id.
    removed: dict[bytes, int] = field(default_factory=dict)
    hand_overs: list[HandOver] = field(default_factory=list)
    extensions: list[Extension] = field(default_factory=list)

    def encode(self) -> bytes:
        groups = [u64(each.number) + counted(each.name) + each.wrapped for _, each in sorted(self.groups.items())]
        compartments = [each.clear + each.wrapped for _, each in sorted(self.compartments.items())]
        removed = [slot + u64(revision) for slot, revision in sorted(self.removed.items())]
        hand_overs = [each.encode() for each in self.hand_overs]
        extensions = [each.encode() for each in self.extensions]
        out = u8(self.keep) + u64(self.keep_revision) + self.keep_device
        for pieces in (self.devices, groups, compartments, removed, hand_overs, extensions):
            out += varint(len(pieces)) + b"".join(pieces)
        return padded(out)

    @classmethod
    def decode(cls, body: bytes) -> Self:
        cursor = Cursor(body)
        setting = at_most(cursor.number(1), Limit.VERSIONS, "the earlier values to keep"), cursor.number(8), cursor.take(16)
        devices = [cursor.take(16) for _ in cursor.count(Limit.DEVICES, "the number of devices")]
        groups = []
        for _ in cursor.count(Limit.GROUPS, "the number of groups"):
            number, name = cursor.number(8), text(cursor.counted(Limit.FIELD, "a group's name"))
            groups.append(Group(number, name, cursor.take(72)))
        compartments = []
        for _ in cursor.count(Limit.COMPARTMENTS, "the number of compartments"):
            number, group, accessibility, device = cursor.number(8), cursor.number(8), cursor.number(1), cursor.take(16)
            wrapped = cursor.take(112 if device != NO_DEVICE else 72)
            compartments.append(Compartment(number, group, accessibility, device, wrapped))
        removed = [(cursor.take(16), cursor.number(8)) for _ in cursor.count(Limit.REMOVED_SLOTS, "the removed slots")]
        hand_overs = [HandOver.decode(cursor) for _ in cursor.count(Limit.HAND_OVERS, "the hand-overs")]
        extensions = [Extension.decode(cursor) for _ in cursor.count(Limit.EXTENSIONS, "the number of extensions")]
        cursor.padding(pad_step(cursor.position))
        ascending((each.number for each in groups), "groups (R-5.14)")
        ascending((each.number for each in compartments), "compartments (R-5.14)")
        ascending((slot for slot, _ in removed), "removed slots (R-5.14)")
        ascending((each.name for each in extensions), "extensions (R-3.22)")
        keyring = cls(
            *setting,
            devices,
            {each.number: each for each in groups},
            {each.number: each for each in compartments},
            dict(removed),
            hand_overs,
            extensions,
        )
        keyring.check()
        refuse_critical(extensions)
        return keyring

    def check(self) -> None:
        """R-5.14, but for what concerns the header and the clock."""
        require(len({each.name for each in self.groups.values()}) == len(self.groups), "two groups have one name")
        require(len(set(self.devices)) == len(self.devices) and NO_DEVICE not in self.devices, "a device appears twice, or is zero")
        for number in (*self.groups, *self.compartments):
            number_of(number, "the number of a group or compartment")
        for each in self.compartments.values():
            require(each.group in self.groups or each.group == OWNERS, "a compartment's group does not exist")
            require(1 <= each.accessibility <= 7, "a compartment's accessibility")
            require(each.is_bound == (each.accessibility >= THIS_DEVICE), "a compartment's device")
            require(each.group != OWNERS or each.accessibility in (1, 5), "the accessibility of a compartment of group 0")
        at_most(self.keep_revision, GREATEST, "the revision of a setting")
        for revision in self.removed.values():
            number_of(revision, "the revision of a removal")
        for hand_over in self.hand_overs:
            number_of(hand_over.generation, "the generation of a hand-over")

    def check_against(self, slots: set[bytes], clock: int) -> None:
        """What takes the header and the commit to check."""
        require(not slots & self.removed.keys(), "a removed slot is in the header (R-5.14)")
        require(max(self.keep_revision, *self.removed.values(), 0) <= clock, "a revision from the future (R-6.8)")

    # Looking up

    def group_name(self, compartment: int) -> bytes | None:
        """None for a compartment that does not exist, or of group 0."""
        found = self.compartments.get(compartment)
        return self.groups[found.group].name if found and found.group != OWNERS else None

    def group_named(self, name: bytes) -> Group | None:
        return next((each for each in self.groups.values() if each.name == name), None)

    def is_for_owners(self, compartment: int) -> bool:
        """Whether a version's record may be in it (R-6.6)."""
        found = self.compartments.get(compartment)
        return found is not None and (found.group == OWNERS or found.is_bound)

    def device_id(self, position: int) -> bytes:
        return self.devices[position - 1] if position else NO_DEVICE

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
