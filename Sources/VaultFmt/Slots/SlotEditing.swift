internal import VaultBytes

/// Making and changing slots: shared by creating, adding, changing and rotating.
enum SlotEditing {
    static func checkName(_ name: String) throws(VaultError) {
        guard name.utf8.count <= Format.Limit.slotName else {
            throw VaultError(.limitExceeded, "a slot's name has at most \(Format.Limit.slotName) bytes, not \(name.utf8.count)")
        }
    }

    /// Throws `invalidArgument` if these factors open a slot, but for `other`: readers take the first one that they fit, so a second one would
    /// never be opened, or hide the first.
    static func requireNew(
        _ factors: borrowing FactorKeys, _ limits: ReaderLimits, besides other: Bytes16? = nil, _ core: VaultCore
    ) throws(VaultError) {
        let store = core.store
        let opened: Bytes16
        do throws(VaultError) {
            opened = try SlotOpener.slot(in: store.header, besides: other, factors, limits)
        } catch {
            guard error.code == .noSlotOpens else { throw error }
            return
        }
        guard let slot = store.header.slots.first(where: { $0.id == opened }) else { return }
        let name = try ownerPart(slot, store).name
        let kind = slot.kind == .full ? "full" : "scoped"
        let described = name.isEmpty ? "the \(kind) slot \(Hex.encode(Array(opened.bytes.prefix(4))))" : "the \(kind) slot \"\(name)\""
        throw VaultError(.invalidArgument, "these factors open \(described) already; another slot takes other factors")
    }

    /// A full slot, and its wrapping key.
    static func fullSlot(
        _ keys: borrowing VaultKeys, _ factors: borrowing FactorKeys, cost: Slot.Cost?, name: String, vault: Bytes16, _ random: Randomness
    ) throws(VaultError) -> (Slot, SecretBox) {
        switch keys.owner {
        case .some(let owner):
            let made = try SlotSeal.make(
                SlotPayload(vaultKey: owner.vault), factors, cost: cost, name: name, vault: vault, owner: owner, random)
            return (made.slot, made.wrappingKey)
        case .none: throw VaultError(.notPermitted, "only an owner can make slots")
        }
    }

    static func scopedSlot(
        _ keys: borrowing VaultKeys, grants: borrowing Grants, _ factors: borrowing FactorKeys, cost: Slot.Cost?, name: String,
        vault: Bytes16,
        _ random: Randomness
    ) throws(VaultError) -> (Slot, SecretBox) {
        switch keys.owner {
        case .some(let owner):
            let made = try SlotSeal.make(
                SlotPayload(keys, grants: grants), factors, cost: cost, name: name, vault: vault, owner: owner, random)
            return (made.slot, made.wrappingKey)
        case .none: throw VaultError(.notPermitted, "only an owner can make slots")
        }
    }

    /// Name and, for a scoped slot, wrapping key.
    static func ownerPart(_ slot: Slot, _ store: Store) throws(VaultError) -> (name: String, wrappingKey: SecretBox) {
        switch store.slot.keys.owner {
        case .some(let owner): return try SlotSeal.openOwner(slot, vault: store.vault, owner: owner)
        case .none: throw VaultError(.notPermitted, "only an owner can read the names of slots")
        }
    }

    /// Puts a header with other slots in the place of the current one: before the same body if it fits, else with a compaction.
    /// The wrapping key is taken, not borrowed: the store's own is replaced meanwhile.
    static func replaceHeader(_ header: Header, slotID: Bytes16, wrappingKey: consuming Secret, _ core: VaultCore) throws(VaultError) {
        let store = core.store
        var measured = header
        _ = try decoding { () throws(FormatError) in try measured.encodeWithoutMACs() }
        if measured.length == store.header.length {
            try store.replaceHeader(
                Store.Replacement(header: measured, keys: try Rebuild.ownKeys(store), wrappingKey: wrappingKey, slotID: slotID))
            core.stateChanged()
        } else {
            try Rebuild.run(
                Rebuild.Plan(
                    header: measured, keys: try Rebuild.ownKeys(store), slotID: slotID, wrappingKey: wrappingKey, keyring: store.keyring,
                    hasNewIndex: false), core)
        }
    }

    /// The keys of groups, packed for a scoped slot.
    static func grants(_ numbers: [UInt32], _ core: VaultCore, _ key: (UInt32) throws(VaultError) -> SecretBox) throws(VaultError) -> Grants
    {
        var keys = Secret(count: numbers.count * Format.keySize)
        for (index, number) in numbers.enumerated() {
            let key = try key(number)
            keys.withUnsafeMutableBytes { out in
                key.secret.withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(rebasing: out[index * 32..<index * 32 + 32]).copyMemory(from: bytes)
                }
            }
        }
        return Grants(numbers: numbers, keys: keys)
    }
}
