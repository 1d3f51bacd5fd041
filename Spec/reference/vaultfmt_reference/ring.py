"""A keyring that is being changed, with the keys that it wraps."""

from collections.abc import Callable
from dataclasses import replace

from .codec import GREATEST, NO_DEVICE, Refused
from .crypto import NONCE, Keys
from .keyring import OWNERS, Compartment, Group, Keyring, inner_layer, wrap_compartment, wrap_group

Random = Callable[[int], bytes]


class Ring:
    """What a writer does with groups and compartments (sections 3.5 and 5.4)."""

    def __init__(self, keyring: Keyring, keys: Keys, random: Random, secrets: dict[bytes, bytes]) -> None:
        self.keys, self.random, self.secrets = keys, random, secrets
        self.keyring = replace(
            keyring,
            groups=dict(keyring.groups),
            compartments=dict(keyring.compartments),
            slots=dict(keyring.slots),
            hand_overs=list(keyring.hand_overs),
        )

    def number(self) -> int:
        """R-3.26."""
        while True:
            number = int.from_bytes(self.random(8), "little") & GREATEST
            if number > 0 and number not in self.keyring.groups and number not in self.keyring.compartments:
                return number

    # Groups

    def group(self, name: bytes) -> int:
        found = self.keyring.group_named(name)
        return found.number if found else self.add_group(name)

    def add_group(self, name: bytes, key: bytes = b"", number: int = 0) -> int:
        group = Group(number or self.number(), name)
        self.keyring.groups[group.number] = wrap_group(group, self.keys, key or self.random(32), self.random(NONCE))
        return group.number

    def group_key(self, number: int) -> bytes:
        return self.keyring.group_key(self.keys, number)

    # Compartments

    def compartment(self, group: int, accessibility: int, device: bytes = NO_DEVICE) -> int:
        """The one with the least number whose key is at hand, or a new one. Of another device, the least there is: it says who can
        read an item that has no record here."""
        there = [
            number for number, each in sorted(self.keyring.compartments.items())
            if (each.group, each.accessibility, each.device) == (group, accessibility, device)
        ]  # fmt: skip
        for number in there:
            if self.can_open(number):
                return number
        if device != NO_DEVICE and device not in self.secrets:
            if not there:
                raise Refused("device-bound", "a place of another device, which has no compartment")
            return there[0]
        return self.add_compartment(Compartment(self.number(), group, accessibility, device), self.random(32))

    def owners(self, device: bytes) -> int:
        """For earlier values (section 6.4)."""
        return self.compartment(OWNERS, 1 if device == NO_DEVICE else 5, device)

    def add_compartment(self, compartment: Compartment, key: bytes) -> int:
        vault, content = self.keys.vault, key
        if compartment.is_bound:
            content = inner_layer(compartment, vault, self.secrets[compartment.device], key, self.random(NONCE))
        return self.wrap_again(compartment, content)

    def wrap_again(self, compartment: Compartment, content: bytes) -> int:
        """Under its group's key, with what the outer layer holds."""
        group_key, nonce = self.group_key(compartment.group), self.random(NONCE)
        wrapped = wrap_compartment(compartment, self.keys.vault, group_key, content, nonce)
        self.keyring.compartments[compartment.number] = wrapped
        return compartment.number

    def can_open(self, number: int) -> bool:
        return self.can_open_device(self.keyring.compartments[number])

    def can_open_device(self, compartment: Compartment) -> bool:
        return not compartment.is_bound or compartment.device in self.secrets

    def key(self, number: int) -> bytes:
        return self.keyring.compartment_key(self.keys, number, self.secrets)
