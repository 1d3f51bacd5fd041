internal import VaultBytes

/// A new index key, and new keys for some groups, in a rewritten file. This is required for granting groups to a slot,
/// changing a grant, and removing a slot, so that a holder can open neither data that was written before the
/// grant began nor data that is written after it ends.
struct NewEpoch: ~Copyable {
    private let core: VaultCore
    private let keys: VaultKeys
    private let epoch: Bytes32
    private(set) var rekeying: Rekeying

    init(_ core: VaultCore) throws(VaultError) {
        let store = core.store
        guard let vaultKey = store.slot.keys.vaultKey() else { throw SlotMaking.ownersOnly }
        let epoch = store.random.bytes32()
        let keys = VaultKeys(vaultKey: vaultKey, epoch: epoch)
        var rekeying = Rekeying(core, store.keyring)
        // Slots of unknown kinds that depend on the epoch are dropped with the old one, because they could
        // hold the keys of all groups.
        if store.header.slots.contains(where: { !$0.kind.isKnown && $0.kind.dependsOnEpoch }) {
            try rekeying.replace(groups: Set(store.keyring.groups.map(\.number)), keys)
        }
        self.core = core
        self.epoch = epoch
        self.keys = keys
        self.rekeying = rekeying
    }

    /// Gives new keys to the groups with the given names, and returns their numbers. A group that does not exist is
    /// created on request.
    mutating func grant(_ names: [String], createsGroups: Bool) throws(VaultError) -> Set<UInt64> {
        var numbers: Set<UInt64> = []
        var new: [String] = []
        for name in names where !new.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            if let number = rekeying.number(of: name) {
                numbers.insert(number)
            } else if createsGroups {
                new.append(name)
            } else {
                throw VaultError(.invalidArgument, "the vault has no access group \"\(name)\"")
            }
        }
        try replace(numbers)
        for name in new { numbers.insert(try rekeying.addGroup(name, keys)) }
        return numbers
    }

    mutating func replace(_ groups: Set<UInt64>) throws(VaultError) { try rekeying.replace(groups: groups, keys) }

    /// Makes a scoped slot for groups that already have their new keys.
    func slot(_ new: borrowing NewSlot, _ groups: Set<UInt64>) throws(VaultError) -> (Slot, SecretBox) {
        try SlotMaking.scopedSlot(
            keys, grants: try rekeying.grants(groups, keys), new, vault: core.store.vault, revision: try core.tick(),
            device: core.deviceID,
            core.store.random)
    }

    /// Reseals a scoped slot with the new keys of its groups, or of other groups, under the wrapping key in its owner
    /// part.
    func reseal(_ slot: Slot, to groups: Set<UInt64>? = nil) throws(VaultError) -> Slot {
        let store = core.store
        var (part, wrappingKey) = try core.ownerPart(of: slot)
        let wanted: Set<UInt64>
        if let groups {
            wanted = groups
            part.revision = try core.tick()
            part.device = core.deviceID
        } else {
            wanted = Set(try SlotOpener.grants(slot, store.vault, wrappingKey: wrappingKey.secret).numbers)
        }
        var new = slot
        let grants = try rekeying.grants(wanted, keys)
        SlotSeal.seal(
            SlotPayload(keys, grants: grants), into: &new, wrappingKey: wrappingKey.secret, vault: store.vault,
            store.random)
        try SlotEditing.sealOwner(part, wrappingKey: wrappingKey.secret, into: &new, keys, core)
        return new
    }

    /// Rewrites the file with these slots. `current` are the full slots and those that already have the new keys. Of
    /// the others, scoped slots are resealed, and all others that depend on the epoch are dropped. Removed
    /// slots are recorded.
    consuming func finish(
        _ slots: [Slot], current: Set<Bytes16> = [], opened: (id: Bytes16, wrappingKey: SecretBox)? = nil,
        _ change: inout SlotChange
    ) throws(VaultError) {
        let store = core.store
        var header = store.header
        header.epoch = epoch
        header.slots = []
        for slot in slots {
            if current.contains(slot.id) || !slot.kind.dependsOnEpoch {
                header.slots.append(slot)
            } else if slot.kind == .scoped {
                header.slots.append(try reseal(slot))
            } else {
                change.dropped.append(SlotInfo(slot, part: try core.ownerPart(of: slot).part))
            }
        }
        try SlotEditing.checkCosts(header.slots)
        change.keptForDevices = try rekeying.keptItems()
        var keyring = rekeying.keyring
        try SlotEditing.noteRemovals(from: store.header.slots, to: header.slots, in: &keyring, core)
        let wrappingKey = opened?.wrappingKey.secret.copy() ?? store.slot.wrappingKey.copy()
        let replacement = Store.Replacement(
            header: header, keys: keys, wrappingKey: wrappingKey, slotID: opened?.id ?? store.slot.id)
        try Rebuild.run(Rebuild.Plan(replacement, keyring: keyring, targets: rekeying.targets), core)
    }
}
