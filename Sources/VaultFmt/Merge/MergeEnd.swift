internal import VaultBytes
internal import VaultStore

/// Makes a merge durable, as one commit, or as a new file if slots or groups change.
struct MergeEnd {
    private let core: VaultCore
    private let transaction: Transaction
    private let progress: ((UInt64, UInt64) -> Void)?

    init(_ core: VaultCore, _ transaction: Transaction, _ progress: ((UInt64, UInt64) -> Void)?) {
        self.core = core
        self.transaction = transaction
        self.progress = progress
    }

    /// Commits the merge. `slots` are all slots of the result; `opened` is the slot with which this handle continues.
    func commit(
        _ slots: [SlotUnion.Choice], opened: (id: Bytes16, wrappingKey: SecretBox), needsNewGroups: Bool,
        _ report: inout MergeReport
    ) throws(VaultError) {
        guard needsNewGroups || slots.map(\.slot) != core.store.header.slots else {
            try Self.checkRoom(transaction.ring.keyring)
            return try transaction.commit()
        }
        if needsNewGroups { try replaceGroups(slots, opened, &report) } else { try replaceHeader(slots, opened) }
    }

    private static func checkRoom(_ keyring: Keyring) throws(VaultError) {
        guard keyring.groups.count <= Format.Limit.groups else {
            throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.groups) access groups")
        }
        guard keyring.compartments.count <= Format.Limit.compartments else {
            throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.compartments) compartments")
        }
    }

    /// Changes the slots, but not the keys.
    private func replaceHeader(
        _ slots: [SlotUnion.Choice], _ opened: (id: Bytes16, wrappingKey: SecretBox)
    ) throws(VaultError) {
        let store = core.store
        var header = store.header
        header.slots = slots.map(\.slot)
        let keys = try Rebuild.ownKeys(store)
        let content = try transaction.endInReplacement()
        try Self.checkRoom(content.keyring)
        let replacement = Store.Replacement(
            header: header, keys: keys, wrappingKey: opened.wrappingKey.secret.copy(), slotID: opened.id)
        try Rebuild.run(
            Rebuild.Plan(replacement, keyring: content.keyring, content: content), core, progress: progress)
    }

    /// Starts a new epoch with new keys for all groups.
    private func replaceGroups(
        _ slots: [SlotUnion.Choice], _ opened: (id: Bytes16, wrappingKey: SecretBox), _ report: inout MergeReport
    ) throws(VaultError) {
        let store = core.store
        guard let vaultKey = store.slot.keys.vaultKey() else { throw SlotMaking.ownersOnly }
        let epoch = store.random.bytes32()
        let keys = VaultKeys(vaultKey: vaultKey, epoch: epoch)
        let content = try transaction.endInReplacement()
        var rekeying = Rekeying(core, content.keyring)
        try rekeying.replace(groups: Set(content.keyring.groups.map(\.number)), keys)
        var header = store.header
        header.epoch = epoch
        header.slots = []
        var keyring = rekeying.keyring
        for choice in slots {
            if let groups = choice.groups {
                header.slots.append(try reseal(choice, groups, rekeying, keys))
            } else if choice.slot.kind.dependsOnEpoch {
                keyring.noteRemoval(of: choice.slot.id, try core.tick())
                report.notes.append(.slotDropped(SlotID(choice.slot.id), name: choice.part.name))
            } else {
                header.slots.append(choice.slot)
            }
        }
        try Self.checkRoom(keyring)
        report.notes += try rekeying.keptItems().map { .keptForDevice($0) }
        let replacement = Store.Replacement(
            header: header, keys: keys, wrappingKey: opened.wrappingKey.secret.copy(), slotID: opened.id)
        try Rebuild.run(
            Rebuild.Plan(replacement, keyring: keyring, targets: rekeying.targets, content: content), core,
            progress: progress)
    }

    /// Reseals a scoped slot with the new keys of its groups, under the wrapping key in its owner part.
    private func reseal(
        _ choice: SlotUnion.Choice, _ groups: [String], _ rekeying: borrowing Rekeying, _ keys: borrowing VaultKeys
    ) throws(VaultError) -> Slot {
        let store = core.store
        var numbers: Set<UInt64> = []
        for name in groups { if let number = rekeying.number(of: name) { numbers.insert(number) } }
        var slot = choice.slot
        SlotSeal.seal(
            SlotPayload(keys, grants: try rekeying.grants(numbers, keys)), into: &slot,
            wrappingKey: choice.wrappingKey.secret, vault: store.vault, store.random)
        try SlotEditing.sealOwner(choice.part, wrappingKey: choice.wrappingKey.secret, into: &slot, keys, core)
        return slot
    }
}
