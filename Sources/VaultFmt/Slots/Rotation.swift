internal import VaultBytes

/// What a rotation did.
public struct RotationReport: Sendable {
    /// Items of other devices: their secrets could not be resealed, and were copied as they are.
    public let copiedDeviceBound: [ItemKey]
}

/// Re-encrypts everything under a new vault key. Slots whose factors are given are kept, the others go.
///
/// Get one from `Vault.rotation()`, give it the factors to keep, look at `dropped`, and `run` it.
public struct Rotation: ~Copyable {
    private let vault: Vault
    private var factors: [FactorsBox] = []
    private var kept: [SlotInfo] = []
    private let all: [SlotInfo]

    fileprivate init(_ vault: Vault, _ all: [SlotInfo]) {
        self.vault = vault
        self.all = all
    }

    /// The slots that would go.
    public var dropped: [SlotInfo] { all.filter { slot in !kept.contains { $0.id == slot.id } } }

    /// Keeps the slot that these factors open. Throws `noSlotOpens` if there is none, `kdfLimit`.
    public mutating func keep(_ factors: borrowing Factors, limits: ReaderLimits = .init()) throws(VaultError) -> SlotID {
        let id = try vault.withCore { (core) throws(VaultError) in
            let (header, bytes) = try Store.readHeader(core.store.file)
            return try SlotOpener.open(header, bytes, factors.keys, limits).id
        }
        guard let slot = all.first(where: { $0.id.bytes == id }) else { throw VaultError(.noSuchSlot, "no such slot") }
        if !kept.contains(slot) {
            kept.append(slot)
            self.factors.append(FactorsBox(factors.copy()))
        }
        return slot.id
    }

    /// Writes the vault anew. At least one full slot must be kept (`lastSlot`). The handle goes on with the new file.
    public consuming func run(progress: ((_ done: UInt64, _ total: UInt64) -> Void)? = nil) throws(VaultError) -> RotationReport {
        guard kept.contains(where: \.isFull) else {
            throw VaultError(.lastSlot, "a rotation keeps the slots whose factors are given: give those of a full slot")
        }
        let factors = Dictionary(zip(kept.map(\.id), factors)) { first, _ in first }
        let all = all.map(\.id)
        return try vault.withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                // Whoever was not named before must not be dropped.
                guard core.store.header.slots.map({ SlotID($0.id) }) == all else {
                    throw VaultError(.busy, "the vault's slots have changed since the rotation was prepared: prepare it again")
                }
                return try Self.run(core, factors, progress)
            }
        }
    }

    private static func run(
        _ core: VaultCore, _ factors: [SlotID: FactorsBox], _ progress: ((UInt64, UInt64) -> Void)?
    ) throws(VaultError) -> RotationReport {
        let store = core.store
        let epoch = store.random.bytes32()
        let keys = VaultKeys(vaultKey: store.random.secret(Format.keySize), epoch: epoch.bytes)
        var rekeying = Rekeying(core)
        try rekeying.replace(groups: Set(store.keyring.groups.map(\.number)), keys)
        var header = Header(id: store.vault, epoch: epoch, slots: [], extensions: store.header.extensions, length: Format.headerStep)
        var opened: (id: Bytes16, wrappingKey: SecretBox)?
        for old in store.header.slots {
            guard let box = factors[SlotID(old.id)] else { continue }
            let (slot, wrappingKey) = try slot(like: old, box, keys, rekeying, core)
            header.slots.append(slot)
            if slot.kind == .full, opened == nil || old.id == store.slot.id { opened = (slot.id, wrappingKey) }
        }
        guard let opened else { throw VaultError(.lastSlot, "a rotation keeps at least one full slot") }
        let copied = try deviceBound(core, rekeying.kept)
        // A crash right after the new file has its name must not leave this machine with a key that it does not know.
        try store.watch?.rekeying(store.vault, keys.fingerprint(vault: store.vault.bytes))
        try Rebuild.run(
            Rebuild.Plan(
                header: header, keys: keys, slotID: opened.id, wrappingKey: opened.wrappingKey.secret.copy(), keyring: rekeying.keyring,
                newKeys: rekeying.newKeys, hasNewIndex: true), core, progress: progress)
        return RotationReport(copiedDeviceBound: copied)
    }

    /// A new slot with the same factors, cost, name and grants as an old one.
    private static func slot(
        like old: Slot, _ factors: FactorsBox, _ keys: borrowing VaultKeys, _ rekeying: borrowing Rekeying, _ core: VaultCore
    ) throws(VaultError) -> (Slot, SecretBox) {
        let store = core.store
        let part = try SlotEditing.ownerPart(old, store)
        if old.kind == .full {
            return try SlotEditing.fullSlot(
                keys, factors.factors.keys, cost: old.cost, name: part.name, vault: store.vault, store.random)
        }
        let numbers = try SlotOpener.grants(old, store.vault, wrappingKey: part.wrappingKey.secret).numbers
        let grants = try SlotEditing.grants(numbers, core) { (number) throws(VaultError) in try rekeying.groupKey(number) }
        return try SlotEditing.scopedSlot(
            keys, grants: grants, factors.factors.keys, cost: old.cost, name: part.name, vault: store.vault, store.random)
    }

    private static func deviceBound(_ core: VaultCore, _ compartments: Set<UInt32>) throws(VaultError) -> [ItemKey] {
        guard !compartments.isEmpty else { return [] }
        var found: [ItemKey] = []
        var cursor = ItemCursor(core, Query())
        while let item = try cursor.next() {
            if compartments.contains(item.entry.compartment) { found.append(item.key) }
        }
        return found
    }
}

/// Factors where a copyable value is needed.
private final class FactorsBox: Sendable {
    let factors: Factors

    init(_ factors: consuming Factors) { self.factors = factors }
}

extension Vault {
    /// Prepares a rotation. Throws `notPermitted` for who is not an owner.
    public func rotation() throws(VaultError) -> Rotation {
        try withCore { (core) throws(VaultError) in try core.requireOwner() }
        return Rotation(self, try slots())
    }
}
