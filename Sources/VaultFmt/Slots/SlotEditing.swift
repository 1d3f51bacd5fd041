internal import VaultBytes
internal import VaultStore

/// The result of an operation on slots.
public struct SlotChange: Sendable {
    /// The slot that was added, changed or removed. A slot keeps its id when its factors change.
    public let id: SlotID
    /// Slots that were dropped because this version does not know their kinds and cannot seal the new keys for them
    ///
    public var dropped: [SlotInfo] = []
    /// Items of other devices, whose secrets could not be resealed. A former holder of the key of an item's group who
    /// also has that device's secret can still open the item, until a program on that device replaces the key.
    public var keptForDevices: [ItemKey] = []
}

/// Functions for making and changing slots, shared by creation, addition, change and rotation.
enum SlotEditing {
    static let noSuchSlot = VaultError(.noSuchSlot, "no such slot")

    /// Throws `invalidArgument` if these factors open a slot other than `other`. Readers use the first slot that the
    /// factors open, so a second slot would never be opened, or would hide the first.
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
        throw VaultError(
            .invalidArgument, "these factors already open \(described); use different factors for another slot")
    }

    /// Throws `kdfLimit` if the slots are too costly for readers to try all of them, unless they cost no more than those
    /// before.
    static func checkCosts(_ slots: [Slot], insteadOf before: [Slot] = []) throws(VaultError) {
        let most = ReaderLimits().totalKiBPasses
        let old = costs(before)
        for (factors, cost) in costs(slots) where cost > most && cost > old[factors, default: 0] {
            throw VaultError(
                .kdfLimit,
                "with this slot, trying all slots with a \(FactorKinds(factors)) would cost more than readers allow: choose a lower cost, or remove a slot"
            )
        }
    }

    /// Returns the cost of trying all slots with the same factors, in KiB times passes.
    private static func costs(_ slots: [Slot]) -> [SlotFactors: UInt64] {
        var costs: [SlotFactors: UInt64] = [:]
        for slot in slots {
            guard let cost = slot.known?.stretch?.cost else { continue }
            // Both factors are 32-bit numbers, so the product cannot overflow.
            let (sum, overflow) = costs[slot.factors, default: 0].addingReportingOverflow(
                UInt64(cost.memoryKiB) * UInt64(cost.passes))
            costs[slot.factors] = overflow ? .max : sum
        }
        return costs
    }

    /// Reseals an owner part after its text or the slot's payload has changed; the part's length must not change
    ///
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

    /// Replaces the header with one that has different slots. If the new header does not fit in front of the same body,
    /// the file is compacted.
    ///
    /// - Parameters:
    ///   - slots: All slots of the new header.
    ///   - keyring: The keyring, which lists exactly these slots.
    ///   - next: The vector with the dots of the change.
    ///   - opened: The slot with which this handle continues, if its wrapping key changes.
    ///   - core: The vault, locked for writing.
    /// - Throws: `limitExceeded` if the slots need too much room or take too long to open; or an error in reading or
    ///   writing the file.
    static func replaceHeader(
        _ slots: [Slot], _ keyring: Keyring, _ next: NextVector,
        opened: (id: Bytes16, wrappingKey: SecretBox)? = nil, _ core: VaultCore
    ) throws(VaultError) {
        let store = core.store
        try checkCosts(slots, insteadOf: store.header.slots)
        var header = store.header
        header.slots = slots
        _ = try decoding { () throws(FormatError) in try header.encodeWithoutProof() }
        let replacement = Store.Replacement(
            header: header, keys: try Rebuild.ownKeys(store),
            wrappingKey: opened?.wrappingKey.secret.copy() ?? store.slot.wrappingKey.copy(),
            slotID: opened?.id ?? store.slot.id)
        if header.length == store.header.length {
            try store.replaceHeader(replacement, keyring: keyring, next)
            core.stateChanged()
        } else {
            try Rebuild.run(Rebuild.Plan(replacement, keyring: keyring), core, next)
        }
    }
}

extension Keyring {
    /// Returns the keyring's data about a slot of the header.
    func dots(of slot: Bytes16) throws(VaultError) -> SlotDots {
        guard let found = slots.first(where: { $0.id == slot }) else {
            throw VaultError(.structureInvalid, "a slot in the header is not listed in the keyring")
        }
        return found
    }

    /// Adds a slot, or replaces the data about an existing one.
    mutating func set(_ slot: SlotDots) {
        removeSlot(slot.id)
        slots.insert(slot, at: slots.firstIndex { $0.id > slot.id } ?? slots.count)
    }

    mutating func removeSlot(_ id: Bytes16) { slots.removeAll { $0.id == id } }

    /// Removes every slot that is not in a header.
    mutating func keepSlots(of header: Header) {
        let ids = Set(header.slots.map(\.id))
        slots.removeAll { !ids.contains($0.id) }
    }
}

extension NewSlot {
    /// Checks a passphrase, and asks the provider, if there is one, for a key for the slot with this id.
    init(
        _ factors: consuming Factors, cost: SlotParameters.Cost?, name: String, vault: Bytes16, id: Bytes16
    ) throws(VaultError) {
        try factors.checkNew()
        guard let provider = factors.provider else {
            self.init(factors, cost: cost, name: name, id: id, external: nil)
            return
        }
        let wrapped = try provider.wrap(for: SlotPlace(vault: vault, slot: id))
        let external = ExternalKey(provider: provider.provider, wrapped: wrapped)
        self.init(factors, cost: cost, name: name, id: id, external: external)
    }
}
