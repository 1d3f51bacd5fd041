internal import VaultBytes

/// What an operation on slots did.
public struct SlotChange: Sendable {
    /// The slot that was added or changed; it has another id than before if its factors changed. For a removal, the one
    /// that is gone.
    public let id: SlotID
    /// Slots that had to go with it: they are of kinds that this version does not know, and nobody here can give them
    /// the new keys.
    public var dropped: [SlotInfo] = []
    /// Items of other devices, whose secrets could not be resealed: a former holder of their group who also has that
    /// device's secret still opens them, until a program on that device replaces their key.
    public var keptForDevices: [ItemKey] = []
}

/// Making and changing slots: shared by creating, adding, changing and rotating.
enum SlotEditing {
    static let noSuchSlot = VaultError(.noSuchSlot, "no such slot")

    /// Throws `invalidArgument` if these factors open a slot, except for `other`: readers take the first that they fit
    /// so a second one would never be opened, or hide the first.
    static func requireNew(
        _ factors: borrowing Factors, _ limits: ReaderLimits, besides other: Bytes16? = nil, _ core: VaultCore
    ) throws(VaultError) {
        let store = core.store
        let opened: Bytes16
        do throws(VaultError) {
            opened = try SlotOpener.slot(
                in: store.header, besides: other, factors.keys, limits, external: factors.provider)
        } catch {
            guard error.code == .noSlotOpens else { throw error }
            return
        }
        guard let slot = store.header.slots.first(where: { $0.id == opened }) else { return }
        let name = try core.ownerPart(of: slot).part.name
        let kind = slot.kind == .full ? "full" : "scoped"
        let described =
            name.isEmpty
            ? "the \(kind) slot \(Hex.encode(Array(opened.bytes.prefix(4))))" : "the \(kind) slot \"\(name)\""
        throw VaultError(.invalidArgument, "these factors open \(described) already; another slot takes other factors")
    }

    /// throws `kdfLimit` for slots of which readers would not try the last.
    static func checkCosts(_ slots: [Slot]) throws(VaultError) {
        var spent: [SlotFactors: UInt64] = [:]
        let limits = ReaderLimits()
        for slot in slots {
            guard let cost = slot.known?.stretch?.cost else { continue }
            do throws(VaultError) { try limits.spend(cost, &spent[slot.factors, default: 0]) } catch {
                let kinds = FactorKinds(slot.factors)
                throw VaultError(
                    .kdfLimit,
                    "with this slot, trying all slots with a \(kinds) would cost more than readers allow: choose a lower cost, or remove one"
                )
            }
        }
    }

    /// Seals an owner part again, after its text or the slot's payload changed; its length must not change.
    static func sealOwner(
        _ part: OwnerPart, wrappingKey: borrowing Secret, into slot: inout Slot, _ keys: borrowing VaultKeys,
        _ core: VaultCore
    ) throws(VaultError) {
        try keys.asOwner(else: SlotMaking.ownersOnly) { (owner) throws(VaultError) in
            SlotSeal.sealOwner(
                part, wrappingKey: wrappingKey, into: &slot, vault: core.store.vault, keys: owner, core.store.random)
        }
    }

    // MARK: replacing the header

    /// Records the slots that are gone.
    static func noteRemovals(
        from old: [Slot], to new: [Slot], in keyring: inout Keyring, _ core: VaultCore
    ) throws(VaultError) {
        for slot in old where !new.contains(where: { $0.id == slot.id }) {
            keyring.noteRemoval(of: slot.id, try core.tick())
        }
    }

    /// Puts a header with other slots in the place of the current one: before the same body if it fits, else with a
    /// compaction.
    /// `opened` is the slot that this handle goes on with, if that is another one than before.
    static func replaceHeader(
        _ slots: [Slot], opened: (id: Bytes16, wrappingKey: SecretBox)? = nil, _ core: VaultCore
    ) throws(VaultError) {
        let store = core.store
        try checkCosts(slots)
        var keyring = store.keyring
        try noteRemovals(from: store.header.slots, to: slots, in: &keyring, core)
        var header = store.header
        header.slots = slots
        _ = try decoding { () throws(FormatError) in try header.encodeWithoutProof() }
        let replacement = Store.Replacement(
            header: header, keys: try Rebuild.ownKeys(store),
            wrappingKey: opened?.wrappingKey.secret.copy() ?? store.slot.wrappingKey.copy(),
            slotID: opened?.id ?? store.slot.id)
        if header.length == store.header.length {
            let changed = keyring == store.keyring ? nil : keyring
            try store.replaceHeader(replacement, keyring: changed, clock: core.lastTick)
            core.stateChanged()
        } else {
            try Rebuild.run(Rebuild.Plan(replacement, keyring: keyring), core)
        }
    }
}
