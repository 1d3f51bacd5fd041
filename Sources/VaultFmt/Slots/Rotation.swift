internal import VaultBytes
internal import VaultStore

/// The result of a rotation.
public struct RotationReport: Sendable {
    /// Items of other devices, whose secrets could not be resealed and were copied unchanged.
    public let copiedDeviceBound: [ItemKey]
    /// The slots that were dropped.
    public let dropped: [SlotInfo]
}

/// Re-encrypts everything under a new vault key. Slots to keep are rebuilt under their ids, and the others are
/// dropped.
///
/// To rotate, get a `Rotation` from `Vault.rotation()`, pass it the factors of the slots to keep, examine `dropped`,
/// and call `run`.
public struct Rotation: ~Copyable {
    private let vault: Vault
    private var factors: [SlotID: FactorsBox] = [:]
    private let all: [SlotInfo]
    /// The slots as they were when the rotation was prepared.
    private let seen: [Slot]

    fileprivate init(_ vault: Vault, _ all: [SlotInfo], seen: [Slot]) {
        self.vault = vault
        self.all = all
        self.seen = seen
    }

    /// The slots that would be dropped.
    public var dropped: [SlotInfo] { all.filter { factors[$0.id] == nil } }

    /// Keeps the slot that these factors open. Throws `noSlotOpens` if there is none, or `kdfLimit`.
    @discardableResult
    public mutating func keep(_ factors: borrowing Factors, limits: ReaderLimits = .init()) throws(VaultError) -> SlotID
    {
        let id = try vault.withCore { (core) throws(VaultError) in
            let (header, bytes) = try Store.readHeader(core.store.file)
            return SlotID(try SlotOpener.open(header, bytes, factors.keys, limits, external: factors.provider).id)
        }
        guard all.contains(where: { $0.id == id }) else { throw SlotEditing.noSuchSlot }
        if self.factors[id] == nil { self.factors[id] = FactorsBox(factors.copy()) }
        return id
    }

    /// Keeps a slot with an external key without needing an identity: its provider rebuilds the slot from the data
    /// stored for owners, such as recipients. Throws `noSuchSlot`, or `invalidArgument` for a slot that needs other
    /// factors or another provider's key.
    public mutating func keep(_ id: SlotID, madeAgainBy provider: any SlotFactor) throws(VaultError) {
        guard let slot = all.first(where: { $0.id == id }) else { throw SlotEditing.noSuchSlot }
        guard slot.factors == .externalKey, slot.provider == provider.provider else {
            throw VaultError(
                .invalidArgument, "the provider \"\(provider.provider)\" cannot create this slot by itself")
        }
        if factors[id] == nil { factors[id] = FactorsBox(try Factors(external: provider)) }
    }

    /// Rewrites the vault. At least one full slot must be kept (`lastSlot`). The handle continues with the new file.
    ///
    /// Throws `busy` if a slot has been added, changed or removed since the rotation was prepared: otherwise, factors
    /// that have since been replaced could open the vault again.
    public consuming func run(progress: ((_ done: UInt64, _ total: UInt64) -> Void)? = nil) throws(VaultError)
        -> RotationReport
    {
        let (factors, seen) = (factors, seen)
        guard all.contains(where: { $0.isFull && factors[$0.id] != nil }) else { throw Self.noFullSlot }
        return try vault.withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                // A slot that the caller has not seen must not be dropped, and a slot must not be recreated with
                // replaced factors or recipients.
                guard core.store.header.slots == seen else {
                    throw VaultError(
                        .busy, "the vault's slots have changed since the rotation was prepared: prepare it again")
                }
                return try Self.run(core, factors, progress)
            }
        }
    }

    private static var noFullSlot: VaultError {
        VaultError(
            .lastSlot, "a rotation keeps only the slots whose factors are given: specify the factors of a full slot")
    }

    private static func run(
        _ core: VaultCore, _ factors: [SlotID: FactorsBox], _ progress: ((UInt64, UInt64) -> Void)?
    ) throws(VaultError) -> RotationReport {
        let store = core.store
        let epoch = store.random.bytes32()
        let keys = VaultKeys(vaultKey: store.random.secret(Format.keySize), epoch: epoch)
        let handedOver = try store.vector()
        let next = try store.nextVector()
        let dot = next.stored(try next.tick())
        var rekeying = Rekeying(core, store.keyring)
        try rekeying.replace(groups: Set(store.keyring.groups.map(\.number)), keys)
        try rekeying.replaceOwnersGroup(keys)
        let made = try slots(core, factors, keys, rekeying)
        var header = Header(id: store.vault, epoch: epoch, slots: made.slots, extensions: store.header.extensions)
        header.length = Format.headerStep
        try SlotEditing.checkCosts(header.slots, insteadOf: store.header.slots)
        let copied = try rekeying.keptItems()
        rekeying.keepSlots(of: header)
        for slot in header.slots {
            var dots = try rekeying.keyring.dots(of: slot.id)
            dots.changed = dot
            rekeying.set(dots)
        }
        rekeying.set(vaultKey: dot)
        let nextKey = keys.ownersPublicKey()
        let replacement = Store.Replacement(
            header: header, keys: keys, wrappingKey: made.opened.wrappingKey.secret.copy(), slotID: made.opened.id)
        var plan = Rebuild.Plan(
            replacement, keyring: rekeying.keyring, targets: rekeying.targets, hasNewLocator: true)
        // The hand-over from the owners' key to the new key (section 7.3).
        plan.handsOver = Rebuild.NewHandOver(vector: handedOver, next: nextKey, from: store)
        try Rebuild.run(plan, core, next, progress: progress)
        return RotationReport(copiedDeviceBound: copied, dropped: made.dropped)
    }

    // MARK: slots

    private struct Made {
        var slots: [Slot] = []
        var dropped: [SlotInfo] = []
        /// The slot with which the handle continues.
        var opened: (id: Bytes16, wrappingKey: SecretBox)
    }

    private static func slots(
        _ core: VaultCore, _ factors: [SlotID: FactorsBox], _ keys: borrowing VaultKeys, _ rekeying: borrowing Rekeying
    ) throws(VaultError) -> Made {
        let store = core.store
        var slots: [Slot] = []
        var dropped: [SlotInfo] = []
        var opened: (id: Bytes16, wrappingKey: SecretBox)?
        for old in store.header.slots {
            guard let box = factors[SlotID(old.id)],
                let (slot, wrappingKey) = try slot(like: old, box, keys, rekeying, core)
            else {
                dropped.append(try SlotInfo(old, core))
                continue
            }
            slots.append(slot)
            if slot.kind == .full, opened == nil || old.id == store.slot.id { opened = (slot.id, wrappingKey) }
        }
        guard let opened else { throw noFullSlot }
        return Made(slots: slots, dropped: dropped, opened: opened)
    }

    /// Returns a new slot with the id, factors, cost, name and grants of an old slot; nil if its provider cannot
    /// rebuild it.
    private static func slot(
        like old: Slot, _ box: FactorsBox, _ keys: borrowing VaultKeys, _ rekeying: borrowing Rekeying,
        _ core: VaultCore
    ) throws(VaultError) -> (Slot, SecretBox)? {
        let store = core.store
        let part = try core.ownerPart(of: old).part
        let cost = old.known?.stretch?.cost
        var external: ExternalKey?
        if let provider = box.factors.provider {
            let place = SlotPlace(vault: store.vault, slot: old.id)
            guard let wrapped = try provider.rewrap(ownersData: part.providerData, for: place) else { return nil }
            external = ExternalKey(provider: provider.provider, wrapped: wrapped)
        }
        let new = NewSlot(box.factors.copy(), cost: cost, name: part.name, id: old.id, external: external)
        guard old.kind == .scoped else {
            return try SlotMaking.fullSlot(keys, new, vault: store.vault, store.random)
        }
        let groups = Set(try rekeying.keyring.dots(of: old.id).grants.map(\.group))
        return try SlotMaking.scopedSlot(
            keys, grants: try rekeying.grants(groups, keys), new, vault: store.vault, store.random)
    }
}

extension Vault {
    /// Prepares a rotation. Throws `notPermitted` unless an owner opened the vault.
    public func rotation() throws(VaultError) -> Rotation {
        let seen = try withCore { (core) throws(VaultError) in
            try core.requireOwner()
            return core.store.header.slots
        }
        return Rotation(self, try slots(), seen: seen)
    }
}
