#!/usr/bin/env python3
"""Reads a vault of format 1 as Spec/vaultfmt-1.md describes it, and writes what it holds as JSON.

Written from the specification alone, and shares no code with the library: where the two differ, one of them, or the
specification, is wrong. It checks everything that the specification lets a reader check, and is simple rather than fast.
"""

import argparse
import ctypes
import hashlib
import json
import os.path
import struct
import sys
import unicodedata

sodium = ctypes.CDLL("libsodium.so.23")
argon2 = ctypes.CDLL("libargon2.so.1")
if sodium.sodium_init() < 0:
    sys.exit("libsodium could not be initialised")


class Refused(Exception):
    """The file is not what the specification says."""


def require(condition, what):
    if not condition:
        raise Refused(what)


# Section 1: conventions.


def str8(text):
    return bytes([len(text)]) + text.encode("ascii")


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value)


def hashed(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def mac(key, data):
    return hashlib.blake2b(data, key=key, digest_size=32).digest()


def derive(key, label, data=b""):
    return mac(key, str8(label) + data)


def unseal(key, nonce, bound, sealed, what):
    require(len(sealed) >= 16, what + " is too short")
    out = ctypes.create_string_buffer(len(sealed) - 16 or 1)
    length = ctypes.c_ulonglong
    failed = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        out, None, None, sealed, length(len(sealed)), bound, length(len(bound)), nonce, key)
    require(not failed, what + " does not authenticate")
    return out.raw[:len(sealed) - 16]


def masked(key, nonce, locator):
    """A record's locator from what stands in its frame (section 5.1)."""
    return bytes(a ^ b for a, b in zip(locator, derive(key, "vaultfmt-1 locator mask", nonce)))


def argon2id(password, salt, memory, passes, lanes):
    out = ctypes.create_string_buffer(32)
    number, size = ctypes.c_uint32, ctypes.c_size_t
    failed = argon2.argon2id_hash_raw(
        number(passes), number(memory), number(lanes), password, size(len(password)), salt, size(len(salt)), out, size(32))
    require(not failed, "Argon2id refused its parameters")
    return out.raw


class Cursor:
    """Reads forward through bytes, and never past the end."""

    def __init__(self, data, position=0, end=None):
        self.data, self.position, self.end = data, position, len(data) if end is None else end

    def take(self, count):
        require(0 <= count <= self.end - self.position, "something reaches past its end")
        self.position += count
        return self.data[self.position - count:self.position]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def varint(self):
        value = 0
        for index in range(9):
            byte = self.number(1)
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                require(byte or not index, "a varint is longer than it needs to be (R-1.1)")
                return value
        raise Refused("a varint has more than 9 bytes (R-1.1)")

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def text(self, count):
        try:
            return self.take(count).decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("text is not UTF-8 (R-1.4)") from None

    def zeros(self, end):
        require(not any(self.take(end - self.position)), "padding or a reserved byte is not zero (R-1.2)")

    def finish(self):
        require(self.position == self.end, "bytes are left over (R-1.3)")


def stepped(length):
    """The padded body of a page, keyring or history: its frame is 48 bytes longer, and a multiple of 256."""
    return (length + 48 + 255) // 256 * 256 - 48


def padded_record(length):
    """Section 5.1."""
    for step in (128, 256, 512, 1024):
        if length <= step:
            return step
    exponent = length.bit_length() - 1
    unit = 1 << exponent - exponent.bit_length()
    return (length + unit - 1) // unit * unit


# Section 3: the header.


def read_extensions(cursor, count):
    require(count <= 16, "more than 16 extensions")
    last = b""
    for _ in range(count):
        flags, name = cursor.number(1), cursor.take(cursor.number(1))
        require(flags <= 1, "an extension has reserved flags")
        require(1 <= len(name) <= 64 and all(33 <= byte <= 126 for byte in name), "an extension's name")
        require(name > last, "extensions are out of order")
        last = name
        length = cursor.number(2)
        require(length <= 4096, "an extension's value is too long")
        cursor.take(length)
        require(not flags, "an unknown critical extension: " + name.decode())


class Slot:
    def __init__(self, cursor):
        start = cursor.position
        length = cursor.number(2)
        require(length >= 2, "a slot's length")
        own = Cursor(cursor.data, start + 2, start + 2 + len(cursor.take(length - 2)))
        self.id, self.kind, self.factors = own.take(16), own.number(1), own.number(1)
        self.memory, self.passes, self.lanes, self.salt = own.number(4), own.number(4), own.number(4), own.take(16)
        self.commitment, self.nonce = own.take(32), own.take(24)
        self.payload = own.take(own.number(4))
        self.owner_nonce, self.owner_part = own.take(24), own.take(112)
        own.finish()
        raw = cursor.data[start:start + length]
        self.parameters, self.clear = raw[2:48], raw[2:80]
        self.check()

    def check(self):
        require(self.kind in (1, 2) and self.factors in (1, 2, 3, 4, 5, 8), "a slot's kind or factors (R-3.4)")
        require(len(self.payload) in ((48,) if self.kind == 1 else (272, 528, 784, 1040, 1296)), "a slot's payload")
        if self.factors in (2, 8):
            require(not (self.memory or self.passes or self.lanes or any(self.salt)), "KDF figures without need (R-3.4)")
            return
        require(1 <= self.lanes < 1 << 24 and self.passes >= 1 and self.memory >= 8 * self.lanes, "KDF figures (R-3.4)")


class Factors:
    """Section 3.1: passphrase, key file or raw key, made ready for slots."""

    def __init__(self, passphrase, key_file, raw_key):
        self.kinds, self.passphrase, self.file_hash, self.key = 0, b"", b"", b""
        if passphrase is not None:
            self.kinds |= 1
            self.passphrase = unicodedata.normalize("NFC", passphrase.decode("utf-8")).encode("utf-8")
        if raw_key is not None:
            self.kinds, self.key = 8, raw_key
        elif key_file is not None and key_file.startswith(b"VAULTFMT-KEY-"):
            self.kinds |= 2
            self.key = bytes.fromhex(key_file[15:79].decode("ascii"))
            check = hashed(str8("vaultfmt-1 key file check") + self.key)[:4].hex()
            require(key_file == f"VAULTFMT-KEY-1-{self.key.hex()}-{check}\n".encode("ascii"), "the key file (R-3.9)")
        elif key_file is not None:
            self.kinds |= 4
            self.file_hash = hashed(str8("vaultfmt-1 key file") + key_file)

    def slot_key(self, slot, vault_id):
        stretched = b""
        if slot.factors & 5:
            password = hashed(
                str8("vaultfmt-1 stretch") + bytes([slot.factors]) + u32(len(self.passphrase)) + self.passphrase + self.file_hash)
            stretched = argon2id(password, slot.salt, slot.memory, slot.passes, slot.lanes)
        return mac(stretched + self.key, str8("vaultfmt-1 slot key") + vault_id + slot.parameters)


# Section 6: items.

CLASSES = {
    1: ("generic-password", ("service text", "account text")),
    2: ("internet-password", ("server text", "protocol text", "port n32", "path text", "account text",
                              "securityDomain text", "authenticationType text")),
    3: ("certificate", ("type n32", "issuer bytes", "serialNumber bytes")),
    4: ("key", ("keyClass n32", "keyType n32", "applicationLabel bytes", "applicationTag bytes", "sizeInBits n32",
                "effectiveSize n32")),
    5: ("identity", ("type n32", "issuer bytes", "serialNumber bytes")),
}


def read_field(cursor, kind):
    if kind == "n32":
        return int.from_bytes(cursor.take(4), "big")
    out = bytearray()
    while True:
        byte = cursor.number(1)
        if byte == 0:
            escape = cursor.number(1)
            if escape == 0:
                break
            require(escape == 0xFF, "a field is wrongly escaped")
        out.append(byte)
    require(len(out) <= 4096, "a field is too long (R-6.1)")
    return Cursor(bytes(out)).text(len(out)) if kind == "text" else out.hex()


def read_item_key(key):
    require(8 <= len(key) <= 8192, "an item key's length (R-6.1)")
    cursor = Cursor(key)
    number = cursor.number(1)
    require(number in CLASSES, "an item of an unknown class (R-5.13)")
    name, fields = CLASSES[number]
    item = {"class": name}
    for field in fields + ("group text",):
        field_name, kind = field.split()
        item[field_name] = read_field(cursor, kind)
    synchronizable = cursor.number(1)
    require(synchronizable <= 1, "an item key's last byte")
    item["synchronizable"] = synchronizable == 1
    cursor.finish()
    return item


def read_attributes(cursor, in_page):
    """Section 6.2."""
    out, last = {}, b""
    for _ in range(cursor.varint()):
        name = cursor.take(cursor.number(1))
        value = cursor.take(cursor.varint())
        require(name > last, "attributes are out of order")
        sealed = len(value) > 256 or name.startswith(b"sealed:")
        require(sealed != in_page, "an attribute stands in the wrong place (R-6.2)")
        last = name
        out[Cursor(name).text(len(name))] = value
    return out


class Commit:
    """Section 5.5."""

    def __init__(self, vault, offset, frame, body):
        self.offset, self.end, self.frame = offset, offset + 448, frame
        cursor = Cursor(body)
        self.generation, own, self.start, self.previous, self.clock = (cursor.number(8) for _ in range(5))
        self.flags = cursor.number(4)
        require(self.flags <= 1, "a commit has reserved flags")
        cursor.zeros(48)
        root_offset, root_length, self.level = cursor.number(8), cursor.number(4), cursor.number(1)
        cursor.zeros(64)
        self.root = (root_offset, root_length, cursor.take(32))
        self.keyring = self.reference(cursor)
        self.history = self.reference(cursor)
        self.header_hash, self.previous_chain, self.digest = cursor.take(32), cursor.take(32), cursor.take(32)
        self.items, self.tombstones, self.live_bytes = cursor.number(8), cursor.number(8), cursor.number(8)
        cursor.zeros(336)
        require(own == offset and 1 <= self.generation < 1 << 63, "a commit's offset or generation (R-5.10)")
        require(self.start == (self.previous + 448 if self.previous else vault.header_length), "a commit's start (R-5.10)")
        require(self.start <= offset, "a commit's start (R-5.10)")
        for reference in (self.root, self.keyring, self.history):
            require(reference[0] + reference[1] <= offset, "a commit names something after it (R-5.10)")
        self.link = hashed(str8("vaultfmt-1 link") + body)
        self.chain = chained(vault.id, self.generation, self.previous_chain, self.link)

    @staticmethod
    def reference(cursor):
        offset, length = cursor.number(8), cursor.number(4)
        require(cursor.number(4) == 0, "a reserved field is not zero (R-1.2)")
        return offset, length, cursor.take(32)

    def follows(self, before):
        return (before.generation + 1 == self.generation and before.chain == self.previous_chain and before.end == self.start)


def chained(vault_id, generation, previous, link):
    """Section 7.2."""
    return hashed(str8("vaultfmt-1 chain") + vault_id + u64(generation) + previous + link)


def is_absent(reference):
    return reference == (0, 0, bytes(32))


class Vault:
    def __init__(self, data, factors, device):
        self.data, self.device = data, device
        self.read_header()
        self.open_slot(factors)
        self.check_header()
        self.find_state()
        self.read_keyring()

    # Section 3.

    def read_header(self):
        data = self.data
        require(len(data) >= 16 and data[:8] == b"\x89VAULT\r\n", "not a vault (R-3.1)")
        require(data[8:10] == b"\x01\x00", "another version (R-3.1)")
        self.header_length = length = int.from_bytes(data[12:16], "little")
        require(data[10:12] == b"\0\0" and length % 4096 == 0 and 4096 <= length <= 65536, "the header's length")
        require(len(data) >= length, "the header is cut off")
        cursor = Cursor(data, 16, length - 64)
        self.id, self.epoch = cursor.take(16), cursor.take(32)
        slots, extensions = cursor.number(1), cursor.number(1)
        require(1 <= slots <= 16 and cursor.number(2) == 0, "the number of slots")
        self.slots = [Slot(cursor) for _ in range(slots)]
        require(len({slot.id for slot in self.slots}) == slots, "two slots have one id (R-3.5)")
        read_extensions(cursor, extensions)
        cursor.zeros(length - 64)

    def open_slot(self, factors):
        for slot in self.slots:
            if slot.factors != factors.kinds:
                continue
            key = factors.slot_key(slot, self.id)
            if derive(key, "vaultfmt-1 slot commitment") != slot.commitment:
                continue
            bound = str8("vaultfmt-1 slot") + self.id + slot.clear
            payload = unseal(derive(key, "vaultfmt-1 slot wrap"), slot.nonce, bound, slot.payload, "a slot")
            self.slot, self.slot_key = slot, key
            return self.take_vault_key(payload) if slot.kind == 1 else self.take_grants(payload)
        raise Refused("no slot opens")

    def take_vault_key(self, vault_key):
        self.vault_key, self.grants = vault_key, {}
        self.index_key = derive(vault_key, "vaultfmt-1 index", self.epoch)
        self.reader_key = derive(vault_key, "vaultfmt-1 reader", self.epoch)
        self.owner_key = derive(vault_key, "vaultfmt-1 owner", self.epoch)

    def take_grants(self, payload):
        self.vault_key = self.owner_key = None
        cursor = Cursor(payload)
        self.index_key, self.reader_key, self.grants = cursor.take(32), cursor.take(32), {}
        for _ in range(cursor.number(1)):
            number = cursor.number(4)
            require(number > max(self.grants, default=0), "groups of a slot are out of order")
            self.grants[number] = cursor.take(32)
        require(len(payload) == (cursor.position + 255) // 256 * 256, "a slot's payload is longer than it needs to be")
        cursor.zeros(len(payload))

    def check_header(self):
        covered, stored = self.data[:self.header_length - 64], self.data[self.header_length - 64:self.header_length]
        require(derive(self.reader_key, "vaultfmt-1 header reader", covered) == stored[:32], "the reader MAC (R-3.3)")
        if self.owner_key:
            require(derive(self.owner_key, "vaultfmt-1 header owner", covered) == stored[32:], "the owner MAC (R-3.3)")

    def slot_names(self):
        """The owner parts; None for who cannot read them."""
        if not self.vault_key:
            return None
        key, names = derive(self.vault_key, "vaultfmt-1 slot owner"), []
        for slot in self.slots:
            bound = str8("vaultfmt-1 slot owner") + self.id + slot.clear
            plain = unseal(key, slot.owner_nonce, bound, slot.owner_part, "an owner part")
            cursor = Cursor(plain)
            names.append(cursor.text(cursor.number(1)))
            cursor.zeros(64)
            require(any(plain[64:]) == (slot.kind == 2), "a slot's wrapping key")
        return names

    # Sections 2 and 4: frames.

    def unseal_placed(self, kind, offset, frame):
        bound = str8("vaultfmt-1 " + kind) + self.id + u64(offset) + frame[:8]
        return unseal(self.index_key, frame[8:32], bound, frame[32:], f"the {kind} at {offset}")

    def referred(self, reference, tag):
        offset, length, digest = reference
        frame = self.data[offset:offset + length]
        require(hashed(frame) == digest, f"what is at {offset} is not what is named")
        require(frame[:8] == tag + u32(length), f"no {tag.decode()} at {offset}")
        return frame

    def frames(self, start, end):
        """What a commit appended (R-2.1)."""
        while start < end and any(self.data[start:min(start + 64, end)]):
            length = int.from_bytes(self.data[start + 4:start + 8], "little")
            require(self.data[start:start + 4] in (b"vREC", b"vPAG", b"vKEY", b"vHIS"), f"no object at {start}")
            require(204 <= length <= end - start, f"a frame's length at {start} (R-2.2)")
            yield self.data[start:start + length]
            start += length
        require(end - start < 64 and not any(self.data[start:end]), f"a gap at {start} (R-2.1)")

    # Section 7: the state.

    def commit_at(self, offset):
        frame = self.data[offset:offset + 448]
        if len(frame) < 448 or frame[:8] != b"vCMT" + u32(448):
            return None
        try:
            body = self.unseal_placed("commit", offset, frame[:384])
        except Refused:
            return None
        if derive(self.reader_key, "vaultfmt-1 commit reader", self.id + frame[:384]) != frame[384:416]:
            return None
        return Commit(self, offset, frame, body)

    def check_owner(self, commit):
        if self.owner_key:
            mac = derive(self.owner_key, "vaultfmt-1 commit owner", self.id + commit.frame[:384])
            require(mac == commit.frame[416:], "an owner MAC (R-5.9)")

    def has_digest(self, commit):
        try:
            hashes = b"".join(hashed(frame) for frame in self.frames(commit.start, commit.offset))
        except Refused:
            return False
        return hashed(str8("vaultfmt-1 digest") + hashes) == commit.digest

    def is_complete(self, commit):
        require(commit.flags or commit.offset - commit.start <= 32768 + 64, "a large commit was not synced first (R-5.12)")
        return bool(commit.flags) or self.has_digest(commit)

    def find_state(self):
        newest = None
        content = (len(self.data.rstrip(b"\0")) + 63) // 64 * 64
        end = content if len(self.data) - 262_144 <= content <= len(self.data) else len(self.data)
        offset = (end - 448) // 64 * 64
        while newest is None:
            require(offset >= self.header_length, "no commit is left")
            newest = self.commit_at(offset)
            offset -= 64
        self.incomplete = None
        self.commit = newest
        if not self.is_complete(newest):
            before = self.commit_at(newest.previous) if newest.previous else None
            require(before and newest.follows(before) and self.is_complete(before), "two incomplete generations")
            self.commit, self.incomplete = before, newest.generation
        self.tail = 0 if end == newest.end else len(self.data) - newest.end
        self.check_owner(self.commit)
        require(self.commit.header_hash == hashed(self.data[:self.header_length]), "another header (R-5.11)")

    def check_past(self):
        """Every commit in the file, what each appended, and the history before the first."""
        commit, count = self.commit, 1
        while True:
            self.check_owner(commit)
            require(self.has_digest(commit), f"what generation {commit.generation} appended")
            if not commit.previous:
                break
            before = self.commit_at(commit.previous)
            require(before and commit.follows(before), f"generation {commit.generation} does not follow the one before")
            commit, count = before, count + 1
        if is_absent(self.commit.history):
            require(commit.generation == 1 and commit.previous_chain == bytes(32), "the first generation")
            return count
        body = self.unseal_placed("history", self.commit.history[0], self.referred(self.commit.history, b"vHIS"))
        cursor = Cursor(body)
        first, links = cursor.number(8), cursor.number(4)
        require(1 <= links <= 126 and first + links == commit.generation, "a history's generations")
        chain = bytes(32)
        for generation in range(first, first + links):
            chain = chained(self.id, generation, chain, cursor.take(32))
        require(first > 1 or chain == commit.previous_chain, "a history's links")
        require(len(body) == stepped(cursor.position), "a history is longer than it needs to be")
        cursor.zeros(len(body))
        return count

    # Section 5.3: the keyring.

    def read_keyring(self):
        body = self.unseal_placed("keyring", self.commit.keyring[0], self.referred(self.commit.keyring, b"vKEY"))
        cursor = Cursor(body)
        next_compartment, next_group = cursor.number(4), cursor.number(4)
        self.devices = [cursor.take(16) for _ in range(cursor.varint())]
        require(len(set(self.devices)) == len(self.devices) and bytes(16) not in self.devices, "devices (R-5.8)")
        self.groups, self.compartments = {}, {}
        for _ in range(cursor.varint()):
            number, name = cursor.number(4), cursor.take(cursor.varint())
            require(max(self.groups, default=0) < number < next_group, "a group's number (R-5.8)")
            self.groups[number] = (name, cursor.take(24), cursor.take(48))
        require(len({group[0] for group in self.groups.values()}) == len(self.groups), "group names (R-5.8)")
        for _ in range(cursor.varint()):
            number, group, accessibility, device = cursor.number(4), cursor.number(4), cursor.number(1), cursor.take(16)
            require(max(self.compartments, default=0) < number < next_compartment, "a compartment's number (R-5.8)")
            require(group in self.groups and 1 <= accessibility <= 7, "a compartment (R-5.8)")
            require((accessibility >= 4) == any(device), "a compartment's device (R-5.8)")
            wrapped = cursor.take(24), cursor.take(88 if any(device) else 48)
            self.compartments[number] = (group, accessibility, device) + wrapped
        require(len({c[:3] for c in self.compartments.values()}) == len(self.compartments), "compartments (R-5.8)")
        read_extensions(cursor, cursor.varint())
        require(len(body) == stepped(cursor.position), "a keyring is longer than it needs to be")
        cursor.zeros(len(body))

    def group_key(self, number):
        if number in self.grants:
            return self.grants[number]
        if not self.vault_key:
            return None
        name, nonce, wrapped = self.groups[number]
        bound = str8("vaultfmt-1 group") + self.id + u32(number) + name
        return unseal(derive(self.vault_key, "vaultfmt-1 keyring"), nonce, bound, wrapped, "a group's key")

    def compartment_key(self, number):
        """None where the slot does not grant it, or another device has it."""
        group, accessibility, device, nonce, wrapped = self.compartments[number]
        group_key = self.group_key(group)
        if group_key is None:
            return None
        bound = self.id + u32(number) + u32(group) + bytes([accessibility]) + device
        key = unseal(group_key, nonce, str8("vaultfmt-1 compartment") + bound, wrapped, "a compartment's key")
        if not any(device):
            return key
        if self.device is None or self.device[:16] != device:
            return None
        device_key = derive(self.device[16:], "vaultfmt-1 device", self.id)
        return unseal(device_key, key[:24], str8("vaultfmt-1 device compartment") + bound, key[24:], "a device's key")

    # Sections 5.2 and 6: the tree, and the items in it.

    def read_page(self, reference, level, parent):
        require(reference[0] + reference[1] <= parent, "a page after its parent (R-5.5)")
        require(reference[1] % 256 == 0 and 256 <= reference[1] <= 65536, "a page's length (R-5.5)")
        body = self.unseal_placed("page", reference[0], self.referred(reference, b"vPAG"))
        self.live_bytes += reference[1]
        cursor = Cursor(body)
        require(cursor.number(1) == level, "a page's level (R-5.5)")
        count, prefix = cursor.varint(), cursor.take(cursor.varint())
        require(count <= 4096 and (level or count), "a page's number of entries")
        keys, values = [], []
        if level:
            values.append((cursor.varint(), cursor.varint(), cursor.take(32)))
        for _ in range(count):
            keys.append(prefix + cursor.take(cursor.varint()))
            values.append((cursor.varint(), cursor.varint(), cursor.take(32)) if level else cursor.take(cursor.varint()))
        require(all(a < b for a, b in zip(keys, keys[1:])), "keys are out of order")
        require(prefix == os.path.commonprefix(keys) if keys else not prefix, "a page's prefix (R-5.4)")
        require(len(body) == stepped(cursor.position), "a page is longer than it needs to be")
        cursor.zeros(len(body))
        return keys, values

    def entries(self, reference, level, parent, low, high):
        keys, values = self.read_page(reference, level, parent)
        require(all(key >= low and (high is None or key < high) for key in keys), "a key belongs elsewhere (R-5.6)")
        if level == 0:
            for key, value in zip(keys, values):
                yield key, value, reference[0]
            return
        for child, first, last in zip(values, [low] + keys, keys + [high]):
            yield from self.entries(child, level - 1, reference[0], first, last)

    def read_items(self):
        self.live_bytes = self.header_length + 448 + self.commit.keyring[1] + self.commit.history[1]
        items, tombstones = [], 0
        if not is_absent(self.commit.root):
            for key, value, page in self.entries(self.commit.root, self.commit.level, self.commit.offset, b"", None):
                if key[0] == 0x7E:
                    self.check_tombstone(key, value)
                    tombstones += 1
                else:
                    items.append(self.read_item(key, value, page))
        counts = (len(items), tombstones, self.live_bytes)
        require(counts == (self.commit.items, self.commit.tombstones, self.commit.live_bytes), f"the commit's counts: {counts}")
        return items

    def check_tombstone(self, key, value):
        cursor = Cursor(value)
        cursor.number(8)
        require(len(key) == 17 and cursor.varint() <= len(self.devices), "a tombstone")
        cursor.finish()

    def read_item(self, key, value, page):
        item = read_item_key(key)
        cursor = Cursor(value)
        reference = cursor.varint(), cursor.varint(), cursor.take(32)
        item_id, revision, device = cursor.take(16), cursor.number(8), cursor.varint()
        record_revision, compartment = cursor.number(8), cursor.varint()
        created, modified, large = cursor.zigzag(), cursor.zigzag(), cursor.varint()
        attributes = read_attributes(cursor, in_page=True)
        cursor.finish()
        require(reference[0] + reference[1] <= page, "a record after its page (R-6.5)")
        require(device <= len(self.devices) and revision <= self.commit.clock, "an item's device or revision")
        require(compartment in self.compartments, "an item's compartment (R-6.4)")
        group, accessibility = self.compartments[compartment][:2]
        require(self.groups[group][0] == item["group"].encode("utf-8"), "an item's group (R-6.4)")
        self.live_bytes += reference[1]
        identity = (item_id, compartment, record_revision)
        secret = self.read_record(reference, identity, key, large, attributes)
        item.update(id=item_id.hex(), revision=revision, accessibility=accessibility, created=created, modified=modified)
        item["attributes"] = {name: data.hex() for name, data in attributes.items()}
        item["secret"] = secret
        return item

    def read_record(self, reference, identity, key, large, attributes):
        """Section 5.1: the secret in hexadecimal, None where its key is not to be had; adds the large attributes."""
        item_id, compartment, revision = identity
        frame = self.referred(reference, b"vREC")
        nonce = frame[8:32]
        locator = masked(derive(self.index_key, "vaultfmt-1 locator"), nonce, frame[32:60])
        require(locator == item_id + u64(revision) + u32(compartment), "a record's locator")
        record_key = self.compartment_key(compartment)
        if record_key is None:
            return None
        bound = str8("vaultfmt-1 record") + self.id + item_id + u32(compartment) + u64(revision) + frame[:8]
        body = unseal(record_key, nonce, bound, frame[60:], f"the record at {reference[0]}")
        cursor = Cursor(body)
        require(cursor.take(cursor.varint()) == key, "a record of another item (R-5.3)")
        secret = cursor.take(cursor.varint())
        more = read_attributes(cursor, in_page=False)
        require(len(more) == large and not set(more) & set(attributes), "attributes (R-6.2, R-6.6)")
        require(len(body) == padded_record(cursor.position), "a record's padding (R-5.1)")
        cursor.zeros(len(body))
        attributes.update(more)
        return secret.hex()

    def values(self):
        """Keys and hashes, by the specification's names."""
        return {
            "slot key": self.slot_key, "commitment": self.slot.commitment, "vault key": self.vault_key, "index key": self.index_key,
            "locator key": derive(self.index_key, "vaultfmt-1 locator"), "reader key": self.reader_key, "owner key": self.owner_key,
            "keyring key": derive(self.vault_key, "vaultfmt-1 keyring"), "group key 1": self.group_key(1),
            "compartment key 1": self.compartment_key(1), "header hash": self.commit.header_hash, "digest": self.commit.digest,
            "link": self.commit.link, "chain": self.commit.chain,
        }

    def opened(self, offset, frame):
        """An object's body; its identity is the locator's word, which the seal proves (section 5.1)."""
        kinds = {b"vPAG": "page", b"vKEY": "keyring", b"vHIS": "history", b"vCMT": "commit"}
        if frame[:4] in kinds:
            return self.unseal_placed(kinds[frame[:4]], offset, frame[:384] if frame[:4] == b"vCMT" else frame)
        locator = masked(derive(self.index_key, "vaultfmt-1 locator"), frame[8:32], frame[32:60])
        bound = str8("vaultfmt-1 record") + self.id + locator[:16] + locator[24:] + locator[16:24] + frame[:8]
        return unseal(self.compartment_key(int.from_bytes(locator[24:], "little")), frame[8:32], bound, frame[60:], "a record")

    def example(self):
        """Every byte that is not zero, what it opens to, keys and hashes: as Spec/example.md has them."""
        slots_end = 68 + sum(244 + len(slot.payload) for slot in self.slots)
        show("Header, up to its zero padding", 0, self.data[:slots_end])
        show("Header, MACs", self.header_length - 64, self.data[self.header_length - 64:self.header_length])
        names = {b"vREC": "Record", b"vPAG": "Page", b"vKEY": "Keyring", b"vHIS": "History", b"vCMT": "Commit"}
        offset = self.header_length
        while offset < len(self.data):
            if self.data[offset] == 0:
                offset = (offset + 63) // 64 * 64
            frame = self.data[offset:offset + int.from_bytes(self.data[offset + 4:offset + 8], "little")]
            show(names[frame[:4]], offset, frame)
            show(f"{names[frame[:4]]}, opened, without the zeros at its end", 0, self.opened(offset, frame).rstrip(b"\0"))
            offset += len(frame)
        print("Keys and hashes:\n\n```")
        for name, value in self.values().items():
            print(f"{name:<18}{value.hex()}")
        print("```")


def show(name, offset, data):
    print(f"{name}, {len(data)} bytes:\n\n```")
    for at in range(0, len(data), 32):
        print(f"{offset + at:04x}  {data[at:at + 32].hex(' ', -2)}")
    print("```\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vault")
    for name in ("passphrase-file", "key-file", "raw-key-file", "device-file"):
        parser.add_argument("--" + name)
    parser.add_argument("--example", action="store_true", help="write bytes, keys and hashes as section 11 of the specification has them")
    options = parser.parse_args()

    def content(path):
        if path is None:
            return None
        with open(path, "rb") as file:
            return file.read()

    factors = Factors(content(options.passphrase_file), content(options.key_file), content(options.raw_key_file))
    try:
        vault = Vault(content(options.vault), factors, content(options.device_file))
        out = {"id": vault.id.hex(), "generation": vault.commit.generation, "chain": vault.commit.chain.hex()}
        out.update(commits=vault.check_past(), tail=vault.tail, incomplete=vault.incomplete, levels=vault.commit.level)
        out.update(slots=vault.slot_names(), items=vault.read_items())
        if options.example:
            return vault.example()
    except Refused as refused:
        sys.exit(f"read_vault.py: {refused}")
    json.dump(out, sys.stdout)
    print()


if __name__ == "__main__":
    main()
