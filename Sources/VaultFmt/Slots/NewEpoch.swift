internal import VaultBytes
internal import VaultStore

/// A new index key, and new keys for some groups, in a rewritten file. A new epoch is required for granting groups to a
/// slot, changing a grant, and removing a slot: a holder must not be able to open data written before the
/// grant or after its end.
struct NewEpoch: ~Copyable {
    private let core: VaultCore
    private let keys: VaultKeys
    private let epoch: Bytes32
    private let next: NextVector
    private(set) var rekeying: Rekeying

    /// `next`: the vector with the dots of the change.
    init(_ core: VaultCore, _ next: NextVector) throws(VaultError) {
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
        self.next = next
        self.rekeying = rekeying
    }

    /// Gives new keys to the groups with the given names, and returns their numbers. A group that does not exist is
    /// created on request.
    mutating func grant(_ names: [String], createsGroups: Bool) throws(VaultError) -> Set<UInt64> {
        var known: Set<UInt64> = []
        var new: [String] = []
        for name in names where !new.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            if let number = rekeying.number(of: name) {
                known.insert(number)
            } else if createsGroups {
                new.append(name)
            } else {
                throw VaultError(.invalidArgument, "the vault has no access group \"\(name)\"")
            }
        }
        try replace(known)
        var numbers = Set(known.map { rekeying.number(nowOf: $0) })
        for name in new { numbers.insert(try rekeying.addGroup(name, keys)) }
        return numbers
    }

    mutating func replace(_ groups: Set<UInt64>) throws(VaultError) { try rekeying.replace(groups: groups, keys) }

    /// Makes a scoped slot for groups that already have their new keys, and grants it these groups.
    mutating func slot(_ new: borrowing NewSlot, _ groups: Set<UInt64>) throws(VaultError) -> (Slot, SecretBox) {
        let made = try SlotMaking.scopedSlot(
            keys, grants: try rekeying.grants(groups, keys), new, vault: core.store.vault, core.store.random)
        let dot = next.stored(try next.tick())
        rekeying.set(SlotDots(id: made.0.id, made: dot, changed: dot, grants: Self.grants(of: groups, dot)))
        return made
    }

    private static func grants(of groups: Set<UInt64>, _ dot: StoredDot) -> [SlotDots.Grant] {
        groups.sorted().map { SlotDots.Grant(group: $0, dot: dot) }
    }

    /// Grants a slot these groups, given by their current numbers. Groups that the slot already had keep the dots of
    /// their grants.
    mutating func setGrants(of slot: Bytes16, to groups: Set<UInt64>) throws(VaultError) {
        var dots = try rekeying.keyring.dots(of: slot)
        let stay = dots.grants.filter { groups.contains($0.group) }
        let dot = next.stored(try next.tick())
        let new = Self.grants(of: groups.subtracting(stay.map(\.group)), dot)
        dots.grants = (stay + new).sorted { $0.group < $1.group }
        rekeying.set(dots)
    }

    /// Reseals a scoped slot with the current keys of the groups that the keyring grants it, under the wrapping key in
    /// its owner part.
    func reseal(_ slot: Slot) throws(VaultError) -> Slot {
        let store = core.store
        let (part, wrappingKey) = try core.ownerPart(of: slot)
        let groups = Set(try rekeying.keyring.dots(of: slot.id).grants.map(\.group))
        var new = slot
        SlotSeal.seal(
            SlotPayload(keys, grants: try rekeying.grants(groups, keys)), into: &new, wrappingKey: wrappingKey.secret,
            vault: store.vault, store.random)
        try SlotEditing.sealOwner(part, wrappingKey: wrappingKey.secret, into: &new, keys, core)
        return new
    }

    /// Rewrites the file with these slots. `current` are the slots that already have the new keys. Of the remaining
    /// slots, scoped ones are resealed, and any others that depend on the epoch are dropped.
    consuming func finish(
        _ slots: [Slot], current: Set<Bytes16> = [], _ change: inout SlotChange
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
                change.dropped.append(try SlotInfo(slot, core))
            }
        }
        try SlotEditing.checkCosts(header.slots, insteadOf: store.header.slots)
        change.keptForDevices = try rekeying.keptItems()
        rekeying.keepSlots(of: header)
        let replacement = Store.Replacement(
            header: header, keys: keys, wrappingKey: store.slot.wrappingKey.copy(), slotID: store.slot.id)
        try Rebuild.run(
            Rebuild.Plan(replacement, keyring: rekeying.keyring, targets: rekeying.targets), core, next)
    }
}
