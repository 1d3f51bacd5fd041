package import VaultBytes
package import VaultCrypto

/// What opening a slot gives.
package struct OpenedSlot: ~Copyable {
    package let id: Bytes16
    package var keys: VaultKeys
    /// To open the slot again after its file was replaced, without the factors.
    package var wrappingKey: Secret
    /// The group keys that a scoped slot grants, by group number; a full slot has none, as it needs none.
    package var grants: Grants
}

/// Group keys by number.
package struct Grants: ~Copyable, Sendable {
    package private(set) var numbers: [UInt32] = []
    private var keys: Secret

    package init() { keys = Secret(count: 0) }

    package init(numbers: [UInt32], keys: consuming Secret) {
        self.numbers = numbers
        self.keys = keys
    }

    package borrowing func key(_ number: UInt32) -> Secret? {
        guard let index = numbers.firstIndex(of: number) else { return nil }
        return keys.slice(index * 32..<index * 32 + 32)
    }
}

/// Tries factors on a header's slots, and checks the header with what they open.
package enum SlotOpener {
    package static func open(
        _ header: Header, _ bytes: [UInt8], _ factors: borrowing FactorKeys, _ limits: ReaderLimits, checkingHeader: Bool = true
    ) throws(VaultError) -> OpenedSlot {
        let found = try find(header, header.slots, factors, limits)
        return try open(found.slot, header, bytes, wrappingKey: found.key.wrappingKey(), checkingHeader: checkingHeader)
    }

    /// The id of the first slot that these factors fit, but for one; opens nothing. Throws `noSlotOpens`, `kdfLimit`.
    package static func slot(
        in header: Header, besides other: Bytes16?, _ factors: borrowing FactorKeys, _ limits: ReaderLimits
    ) throws(VaultError) -> Bytes16 {
        try find(header, header.slots.filter { $0.id != other }, factors, limits).slot.id
    }

    private struct Found: ~Copyable {
        let slot: Slot
        let key: SlotKey
    }

    /// The first slot whose commitment fits.
    private static func find(
        _ header: Header, _ slots: [Slot], _ factors: borrowing FactorKeys, _ limits: ReaderLimits
    ) throws(VaultError) -> Found {
        let candidates = slots.filter { $0.factors == factors.kinds }
        for slot in candidates { if let cost = slot.cost { try limits.check(cost) } }
        var spent: UInt64 = 0
        for slot in candidates {
            if let cost = slot.cost { try limits.spend(cost, &spent) }
            let key = try slotKey(slot, header.id, factors)
            guard Bytes32(words: key.commitment()) == slot.commitment else { continue }
            return Found(slot: slot, key: key)
        }
        throw VaultError(.noSlotOpens, refusal(header, factors.kinds, tried: !candidates.isEmpty))
    }

    /// Opens a slot with its wrapping key, and checks the header with what it opens.
    package static func open(
        _ slot: Slot, _ header: Header, _ bytes: [UInt8], wrappingKey: consuming Secret, checkingHeader: Bool = true
    ) throws(VaultError) -> OpenedSlot {
        var opened = try open(slot, header, wrappingKey: wrappingKey)
        if checkingHeader { try HeaderSeal.check(header, bytes, opened.keys) }
        opened.grants = try opened.keys.isOwner ? Grants() : grants(slot, header.id, wrappingKey: opened.wrappingKey)
        return opened
    }

    /// Opens a slot with its wrapping key, and checks nothing else yet.
    package static func open(_ slot: Slot, _ header: Header, wrappingKey: consuming Secret) throws(VaultError) -> OpenedSlot {
        let payload = try payload(slot, header.id, wrappingKey)
        switch slot.kind {
        case .full:
            return OpenedSlot(
                id: slot.id, keys: VaultKeys(vaultKey: payload, epoch: header.epoch.bytes), wrappingKey: wrappingKey, grants: Grants())
        case .scoped:
            let keys = VaultKeys(index: payload.slice(0..<32), reader: payload.slice(32..<64))
            return OpenedSlot(id: slot.id, keys: keys, wrappingKey: wrappingKey, grants: Grants())
        }
    }

    package static func grants(_ slot: Slot, _ vault: Bytes16, wrappingKey: borrowing Secret) throws(VaultError) -> Grants {
        let payload = try payload(slot, vault, wrappingKey)
        var numbers: [UInt32] = []
        var keys = Secret(count: Format.Limit.grantedGroups * 32)
        let failure: FormatError? = payload.withSpan { bytes in
            do throws(FormatError) {
                numbers = try readGrants(bytes, &keys)
                return nil
            } catch { return error }
        }
        if let failure { throw VaultError(format: failure) }
        return Grants(numbers: numbers, keys: keys)
    }

    private static func readGrants(_ bytes: Span<UInt8>, _ keys: inout Secret) throws(FormatError) -> [UInt32] {
        var cursor = Cursor(bytes, at: 0, else: .structureInvalid)
        _ = try cursor.take(64, "the keys of a scoped slot")
        let count = Int(try cursor.u8(bytes))
        guard count <= Format.Limit.grantedGroups else { throw cursor.limit("\(count) groups in a slot") }
        guard bytes.count == ScopedPayload.size(groups: count) else {
            throw cursor.error("a slot's payload has another length than its groups need")
        }
        var numbers: [UInt32] = []
        for index in 0..<count {
            let number = try cursor.u32(bytes)
            guard number > (numbers.last ?? 0) else {
                throw cursor.error("a slot's groups are out of order")
            }
            numbers.append(number)
            let range = try cursor.take(32, "a group key")
            keys.withUnsafeMutableBytes { out in for at in 0..<32 { out[index * 32 + at] = bytes[range.lowerBound + at] } }
        }
        try cursor.padding(bytes, to: bytes.count)
        return numbers
    }

    private static func payload(_ slot: Slot, _ vault: Bytes16, _ wrappingKey: borrowing Secret) throws(VaultError) -> Secret {
        do throws(CryptoError) {
            return try AEAD.unwrap(slot.payload, SlotSeal.bound("vaultfmt-1 slot", vault, slot), key: wrappingKey)
        } catch { throw VaultError(crypto: error, "a slot") }
    }

    private static func slotKey(_ slot: Slot, _ vault: Bytes16, _ factors: borrowing FactorKeys) throws(VaultError) -> SlotKey {
        do throws(CryptoError) {
            return try SlotSeal.key(slot, vault, factors)
        } catch { throw VaultError(crypto: error, "a slot") }
    }

    private static func refusal(_ header: Header, _ kinds: UInt8, tried: Bool) -> String {
        if tried {
            return kinds & Slot.passphrase != 0 ? "wrong passphrase" + (kinds == 1 ? "" : " or key file") : "no slot opens with this key"
        }
        return "no slot of this vault takes these factors; it has slots for: "
            + Set(header.slots.map { FactorNames.describe($0.factors) }).sorted().joined(separator: "; ")
    }
}

/// Words for a slot's factors.
package enum FactorNames {
    package static func describe(_ factors: UInt8) -> String {
        var names: [String] = []
        if factors & Slot.passphrase != 0 { names.append("passphrase") }
        if factors & Slot.generatedKeyFile != 0 { names.append("generated key file") }
        if factors & Slot.otherKeyFile != 0 { names.append("key file") }
        if factors & Slot.rawKey != 0 { names.append("raw key") }
        return names.joined(separator: " and ")
    }
}
