internal import VaultBytes

extension Vault {
    /// The slots, in the order of the header. Names and grants are there for owners only.
    public func slots() throws(VaultError) -> [SlotInfo] {
        try withCore { (core) throws(VaultError) in
            var all: [SlotInfo] = []
            for slot in core.store.header.slots { all.append(try SlotInfo(slot, core)) }
            return all
        }
    }

    /// The names of the access groups that there are, also without items; "" is the default group.
    public func accessGroups() throws(VaultError) -> [String] {
        try withCore { (core) throws(VaultError) in core.store.keyring.groups.map(\.name) }
    }

    /// Adds a slot: a full one, or with `grantedGroups` a scoped one, which opens the index and the secrets of these access groups only.
    ///
    /// A scoped slot reads the vault as it is from now on, and nothing of what it was: index, MAC and group keys are replaced, what the groups' keys opened
    /// is resealed, and the file is rewritten. Records that are for other devices only keep their keys.
    ///
    /// - Parameters:
    ///   - name: At most 63 bytes, for people.
    ///   - grantedGroups: At most 32 access groups, by their exact names; "" is the default group.
    ///   - createsGroups: Whether a granted group that the vault does not have is made.
    ///   - limits: How much key derivation looking for a slot that these factors open already may take.
    /// - Throws: `invalidArgument` for factors that open a slot already, and for a group that the vault does not have; `notPermitted` for anyone but
    ///   an owner; `cannotReplace` where the file cannot be replaced; `limitExceeded` (also beyond 16 slots), `weakKDF`, `kdfLimit`.
    public func addSlot(
        _ factors: borrowing Factors, cost: KDFCost = .moderate, name: String = "", grantedGroups: [String]? = nil,
        createsGroups: Bool = false, allowWeak: Bool = false, limits: ReaderLimits = .init()
    ) throws(VaultError) -> SlotID {
        try SlotEditing.checkName(name)
        if let grantedGroups { try ScopedGrant.check(grantedGroups) }
        let inSlot = try cost.checked(for: factors, allowWeak: allowWeak)
        return try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                guard store.header.slots.count < Format.Limit.slots else {
                    throw VaultError(.limitExceeded, "a vault has at most \(Format.Limit.slots) slots")
                }
                try SlotEditing.requireNew(factors.keys, limits, core)
                if let grantedGroups {
                    return try ScopedGrant(grantedGroups, createsGroups: createsGroups, core).run(factors.keys, cost: inSlot, name: name)
                }
                var header = store.header
                let (slot, _) = try SlotEditing.fullSlot(
                    store.slot.keys, factors.keys, cost: inSlot, name: name, vault: store.vault, store.random)
                header.slots.append(slot)
                try SlotEditing.replaceHeader(header, slotID: store.slot.id, wrappingKey: store.slot.wrappingKey.copy(), core)
                return SlotID(slot.id)
            }
        }
    }

    /// Removes a slot. Removing a scoped one also replaces the keys that it held, and reseals what they opened.
    ///
    /// Who copied the vault key from a full slot keeps it: only rotation revokes that. Throws `lastSlot` for the last full slot, `noSuchSlot`.
    public func removeSlot(_ id: SlotID) throws(VaultError) {
        try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                guard let slot = store.header.slots.first(where: { $0.id == id.bytes }) else {
                    throw VaultError(.noSuchSlot, "no such slot")
                }
                var header = store.header
                header.slots.removeAll { $0.id == slot.id }
                guard header.slots.contains(where: { $0.kind == .full }) else {
                    throw VaultError(.lastSlot, "the last full slot cannot be removed: nobody could open the vault any more")
                }
                if slot.kind == .full {
                    try SlotEditing.replaceHeader(header, slotID: store.slot.id, wrappingKey: store.slot.wrappingKey.copy(), core)
                } else {
                    try ScopedRemoval.run(slot, header, core)
                }
            }
        }
    }

    /// Gives a slot other factors; its name and what it opens stay. Re-encrypts nothing but the slot.
    ///
    /// Without an id, the slot that opened this vault. Without a cost, the one it has, or the default. Who has an old copy of the file and the
    /// old factors can still open it, and with the vault key from it later states too: only rotation ends that. A scoped slot opens, under its new
    /// factors, what it opened under the old ones, and dead records from since it was made: for another holder, add another slot and remove this one.
    /// Throws `invalidArgument` for factors that open another slot.
    public func changeFactors(
        of id: SlotID? = nil, to factors: borrowing Factors, cost: KDFCost? = nil, allowWeak: Bool = false, limits: ReaderLimits = .init()
    ) throws(VaultError) {
        try withCore { (core) throws(VaultError) in
            let known = core.store.header.slots.map(\.id)
            try core.writing { () throws(VaultError) in
                let store = core.store
                let wanted = id?.bytes ?? store.slot.id
                guard let index = store.header.slots.firstIndex(where: { $0.id == wanted }) else {
                    guard known.contains(wanted) else { throw VaultError(.noSuchSlot, "no such slot") }
                    throw VaultError(.busy, "another program has just replaced or removed this slot: open the vault again")
                }
                let old = store.header.slots[index]
                let kept = old.cost.map { KDFCost($0) } ?? .moderate
                let inSlot = try (cost ?? kept).checked(for: factors, allowWeak: allowWeak || cost == nil)
                try SlotEditing.requireNew(factors.keys, limits, besides: old.id, core)
                let part = try SlotEditing.ownerPart(old, store)
                var header = store.header
                let made: (slot: Slot, wrappingKey: SecretBox)
                switch old.kind {
                case .full:
                    made = try SlotEditing.fullSlot(
                        store.slot.keys, factors.keys, cost: inSlot, name: part.name, vault: store.vault, store.random)
                case .scoped:
                    let grants = try SlotOpener.grants(old, store.vault, wrappingKey: part.wrappingKey.secret)
                    made = try SlotEditing.scopedSlot(
                        store.slot.keys, grants: grants, factors.keys, cost: inSlot, name: part.name, vault: store.vault, store.random)
                }
                header.slots[index] = made.slot
                if wanted == store.slot.id {
                    try SlotEditing.replaceHeader(header, slotID: made.slot.id, wrappingKey: made.wrappingKey.secret.copy(), core)
                } else {
                    try SlotEditing.replaceHeader(header, slotID: store.slot.id, wrappingKey: store.slot.wrappingKey.copy(), core)
                }
            }
        }
    }

    /// Gives a slot another name, of at most 63 bytes.
    public func renameSlot(_ id: SlotID, to name: String) throws(VaultError) {
        try SlotEditing.checkName(name)
        try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                guard let index = store.header.slots.firstIndex(where: { $0.id == id.bytes }) else {
                    throw VaultError(.noSuchSlot, "no such slot")
                }
                var header = store.header
                let part = try SlotEditing.ownerPart(header.slots[index], store)
                switch store.slot.keys.owner {
                case .some(let owner):
                    SlotSeal.sealOwner(
                        name: name, wrappingKey: part.wrappingKey.secret, into: &header.slots[index], vault: store.vault, owner: owner,
                        store.random)
                case .none: throw VaultError(.notPermitted, "only an owner can rename slots")
                }
                try SlotEditing.replaceHeader(header, slotID: store.slot.id, wrappingKey: store.slot.wrappingKey.copy(), core)
            }
        }
    }
}

extension SlotInfo {
    init(_ slot: Slot, _ core: VaultCore) throws(VaultError) {
        let store = core.store
        var name: String?
        var groups: [String]?
        if store.slot.keys.isOwner {
            let part = try SlotEditing.ownerPart(slot, store)
            name = part.name
            if slot.kind == .scoped {
                let grants = try SlotOpener.grants(slot, store.vault, wrappingKey: part.wrappingKey.secret)
                groups = store.keyring.groups.filter { grants.numbers.contains($0.number) }.map(\.name)
            }
        }
        self.init(unauthenticated: slot, name: name, groups: groups, openedThis: slot.id == store.slot.id)
    }

    init(unauthenticated slot: Slot, name: String? = nil, groups: [String]? = nil, openedThis: Bool = false) {
        self.init(
            id: SlotID(slot.id), isFull: slot.kind == .full, factors: FactorKinds(rawValue: slot.factors),
            cost: slot.cost.map { KDFCost($0) },
            name: name, groups: groups, openedThis: openedThis)
    }
}
