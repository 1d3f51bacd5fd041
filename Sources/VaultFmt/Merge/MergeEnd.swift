internal import VaultBytes
internal import VaultStore

/// Makes a merge durable: as one commit or, if slots or keys change, as a new file.
struct MergeEnd {
    private let core: VaultCore
    private let transaction: Transaction
    private let progress: ((UInt64, UInt64) -> Void)?

    init(_ core: VaultCore, _ transaction: Transaction, _ progress: ((UInt64, UInt64) -> Void)?) {
        self.core = core
        self.transaction = transaction
        self.progress = progress
    }

    /// The slots and the keyring that result from a merge.
    struct Keys {
        let slots: SlotMerge
        let keyring: KeyringMerge
        /// The slot with which this handle continues.
        let opened: (id: Bytes16, wrappingKey: SecretBox)
        let handOvers: [ProvenHandOver]
    }

    /// Commits a merge.
    func commit(_ keys: Keys, _ report: inout MergeReport) throws(VaultError) {
        if keys.keyring.needsNewEpoch { return try replaceKeys(keys, &report) }
        let slots = keys.slots.slots.map(\.slot)
        var keyring = transaction.ring.keyring
        keyring.slots = try slotDots(keys.slots.slots, in: keyring)
        guard slots != core.store.header.slots else {
            try append(keys.handOvers, to: &keyring)
            let complete = keyring
            try transaction.ring.change { (keyring) throws(VaultError) in keyring = complete }
            return try transaction.commit()
        }
        let complete = keyring
        try transaction.ring.change { (keyring) throws(VaultError) in keyring = complete }
        var header = core.store.header
        header.slots = slots
        let content = try transaction.endInReplacement()
        try Self.checkRoom(content.keyring)
        let replacement = Store.Replacement(
            header: header, keys: try Rebuild.ownKeys(core.store), wrappingKey: keys.opened.wrappingKey.secret.copy(),
            slotID: keys.opened.id)
        var plan = Rebuild.Plan(replacement, keyring: content.keyring, content: content)
        plan.handOvers = keys.handOvers
        try Rebuild.run(plan, core, content.next, progress: progress)
    }

    private static func checkRoom(_ keyring: Keyring) throws(VaultError) {
        guard keyring.groups.count <= Format.Limit.groups else {
            throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.groups) access groups")
        }
        guard keyring.compartments.count <= Format.Limit.compartments else {
            throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.compartments) compartments")
        }
    }

    /// Returns the keyring's data about slots, with that keyring's group numbers.
    private func slotDots(_ slots: [SlotMerge.Choice], in keyring: Keyring) throws(VaultError) -> [SlotDots] {
        let numbers = Dictionary(
            keyring.groups.map { (GroupName($0.name), $0.number) }, uniquingKeysWith: { first, _ in first })
        let next = transaction.next
        return slots.map { slot in
            let grants = slot.grants.compactMap { name, dot in
                numbers[name].map { SlotDots.Grant(group: $0, dot: next.stored(dot)) }
            }
            return SlotDots(
                id: slot.id, made: next.stored(slot.made), changed: next.stored(slot.changed),
                grants: grants.sorted { $0.group < $1.group })
        }.sorted { $0.id < $1.id }
    }

    /// Writes the vectors of hand-overs that our file does not have yet.
    private func append(_ handOvers: [ProvenHandOver], to keyring: inout Keyring) throws(VaultError) {
        var all: [(handOver: HandOver, vector: Vector)] = []
        for one in handOvers {
            var handOver = one.handOver
            if let known = core.store.keyring.handOvers.first(where: { $0.signature == handOver.signature }) {
                handOver.vector = known.vector
            } else {
                handOver.vector = try core.store.append(one.vector, to: transaction.appender)
            }
            all.append((handOver, one.vector))
        }
        keyring.setHandOvers(all)
        try Self.checkRoom(keyring)
    }

    // MARK: new keys

    /// Starts a new epoch, with new keys for the groups that need one.
    private func replaceKeys(_ keys: Keys, _ report: inout MergeReport) throws(VaultError) {
        let store = core.store
        guard let vaultKey = store.slot.keys.vaultKey() else { throw SlotMaking.ownersOnly }
        let epoch = store.random.bytes32()
        let newKeys = VaultKeys(vaultKey: vaultKey, epoch: epoch)
        let content = try transaction.endInReplacement()
        var rekeying = Rekeying(core, content.keyring)
        let dropped = keys.slots.slots.filter { !$0.slot.kind.isKnown && $0.slot.kind.dependsOnEpoch }
        // A slot of an unknown kind that is dropped with the epoch may hold the keys of all groups.
        let replaced =
            dropped.isEmpty ? keys.keyring.replaced : Set(content.keyring.groups.map(\.number))
        try rekeying.replace(groups: replaced, newKeys)
        let stay = keys.slots.slots.filter { slot in !dropped.contains { $0.id == slot.id } }
        for slot in dropped { report.notes.append(.slotDropped(SlotID(slot.id), name: slot.part.name)) }
        rekeying.set(slots: try slotDots(stay, in: rekeying.keyring))
        var header = store.header
        header.epoch = epoch
        header.slots = []
        for choice in stay { header.slots.append(try sealed(choice, rekeying, newKeys)) }
        try SlotEditing.checkCosts(header.slots, insteadOf: store.header.slots)
        try Self.checkRoom(rekeying.keyring)
        report.notes += try rekeying.keptItems().map { .keptForDevice($0) }
        let replacement = Store.Replacement(
            header: header, keys: newKeys, wrappingKey: keys.opened.wrappingKey.secret.copy(), slotID: keys.opened.id)
        var plan = Rebuild.Plan(
            replacement, keyring: rekeying.keyring, targets: rekeying.targets, content: content)
        plan.handOvers = keys.handOvers
        try Rebuild.run(plan, core, content.next, progress: progress)
    }

    /// Reseals a scoped slot with the current keys of the groups that it is granted, under the wrapping key in its
    /// owner part.
    private func sealed(
        _ choice: SlotMerge.Choice, _ rekeying: borrowing Rekeying, _ keys: borrowing VaultKeys
    ) throws(VaultError) -> Slot {
        guard choice.slot.kind == .scoped else { return choice.slot }
        let store = core.store
        let groups = Set(try rekeying.keyring.dots(of: choice.id).grants.map(\.group))
        var slot = choice.slot
        SlotSeal.seal(
            SlotPayload(keys, grants: try rekeying.grants(groups, keys)), into: &slot,
            wrappingKey: choice.wrappingKey.secret, vault: store.vault, store.random)
        try SlotEditing.sealOwner(choice.part, wrappingKey: choice.wrappingKey.secret, into: &slot, keys, core)
        return slot
    }
}
