internal import VaultBytes

extension Vault {
    /// The slots, in the order of the header. Names, revisions and grants are there for owners only. Slots of kinds or
    /// factors that this version does not know are listed, of unknown strength.
    public func slots() throws(VaultError) -> [SlotInfo] {
        try withCore { (core) throws(VaultError) in
            var all: [SlotInfo] = []
            for slot in core.store.header.slots { all.append(try SlotInfo(slot, core)) }
            return all
        }
    }

    /// The names of the access groups that there are, also without items, sorted by their bytes; "" is the default
    /// group.
    public func accessGroups() throws(VaultError) -> [String] {
        try withCore { (core) throws(VaultError) in core.store.keyring.groupNames { _ in true } }
    }

    /// Adds a slot: a full one, or with `grantedGroups` a scoped one, which opens the index and the secrets of these
    /// access groups only.
    ///
    /// A scoped slot reads the vault as it is from now on, and nothing of what it was: index key and group keys are
    /// replaced, what the groups' keys opened is resealed, and the file is rewritten. Records for other
    /// devices only keep their keys, and are named.
    ///
    /// - Parameters:
    ///   - factors: What will open the slot.
    ///   - cost: How costly deriving a key from a passphrase is.
    ///   - name: At most 63 bytes, for people.
    ///   - grantedGroups: At most 32 access groups, by their exact names; "" is the default group.
    ///   - createsGroups: Whether a granted group that the vault does not have is made.
    ///   - allowWeak: Whether a cost below the recommended least is taken.
    ///   - limits: How much key derivation looking for a slot that these factors open already may cost.
    /// - Returns: The new slot, what had to go with it, and the items that keep their keys for other devices.
    /// - Throws: `invalidArgument` for factors that open a slot already, and for a group that the vault does not have;
    ///   `notPermitted` for anyone but an owner; `cannotReplace` if the file cannot be replaced; `limitExceeded` (also
    ///   beyond 64 slots); `weakKDF`; `kdfLimit`, also if readers would no longer try all slots with these kinds of
    ///   factors.
    @discardableResult
    public func addSlot(
        _ factors: borrowing Factors, cost: KDFCost = .moderate, name: String = "", grantedGroups: [String]? = nil,
        createsGroups: Bool = false, allowWeak: Bool = false, limits: ReaderLimits = .init()
    ) throws(VaultError) -> SlotChange {
        try SlotMaking.checkName(name)
        if let grantedGroups { try Self.checkGrant(grantedGroups) }
        let new = try NewSlot(
            factors.copy(), cost: try cost.checked(for: factors.kinds, allowWeak: allowWeak), name: name)
        return try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                guard store.header.slots.count < Format.Limit.slots else {
                    throw VaultError(.limitExceeded, "a vault has at most \(Format.Limit.slots) slots")
                }
                try SlotEditing.requireNew(new.factors, limits, core)
                guard let grantedGroups else { return try Self.addFull(new, core) }
                var epoch = try NewEpoch(core)
                let groups = try epoch.grant(grantedGroups, createsGroups: createsGroups)
                let (slot, _) = try epoch.slot(new, groups)
                var change = SlotChange(id: SlotID(slot.id))
                try epoch.finish(store.header.slots + [slot], current: [slot.id], &change)
                return change
            }
        }
    }

    private static func addFull(_ new: borrowing NewSlot, _ core: VaultCore) throws(VaultError) -> SlotChange {
        let store = core.store
        let (slot, _) = try SlotMaking.fullSlot(
            store.slot.keys, new, vault: store.vault, revision: try core.tick(), device: core.deviceID, store.random)
        try SlotEditing.replaceHeader(store.header.slots + [slot], core)
        return SlotChange(id: SlotID(slot.id))
    }

    private static func checkGrant(_ names: [String]) throws(VaultError) {
        guard names.count <= Format.Limit.grantedGroups else {
            throw VaultError(.limitExceeded, "a slot grants at most \(Format.Limit.grantedGroups) access groups")
        }
    }

    /// Replaces the access groups that a scoped slot opens. Groups that it gains or loses get new keys, and the file is
    /// rewritten.
    ///
    /// - Parameters:
    ///   - id: The scoped slot.
    ///   - groups: At most 32, by their exact names.
    ///   - createsGroups: Whether a group that the vault does not have is made.
    /// - Returns: The slot, what had to go with the change, and the items that keep their keys for other devices.
    /// - Throws: `noSuchSlot`; `invalidArgument` for a slot that is not scoped, and for a group that the vault does not
    ///   have; else as `addSlot`.
    @discardableResult
    public func setGrants(
        of id: SlotID, to groups: [String], createsGroups: Bool = false
    ) throws(VaultError) -> SlotChange {
        try Self.checkGrant(groups)
        return try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                guard let index = store.header.slots.firstIndex(where: { $0.id == id.bytes }) else {
                    throw SlotEditing.noSuchSlot
                }
                guard let before = try core.grantedGroups(of: store.header.slots[index]) else {
                    throw VaultError(.invalidArgument, "only a scoped slot has access groups")
                }
                var epoch = try NewEpoch(core)
                let after = try epoch.regrant(from: before, to: groups, createsGroups: createsGroups)
                var slots = store.header.slots
                slots[index] = try epoch.reseal(slots[index], to: after)
                var change = SlotChange(id: id)
                try epoch.finish(slots, current: [id.bytes], &change)
                return change
            }
        }
    }

    /// Removes a slot. Removing any but a full one also replaces the keys that it held, and reseals what they opened
    ///
    ///
    /// Anyone who copied the vault key from a full slot keeps it: only rotation revokes that. Throws `lastSlot` for the
    /// last full slot that this version knows, `noSuchSlot`.
    @discardableResult
    public func removeSlot(_ id: SlotID) throws(VaultError) -> SlotChange {
        try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                guard let slot = store.header.slots.first(where: { $0.id == id.bytes }) else {
                    throw SlotEditing.noSuchSlot
                }
                let slots = store.header.slots.filter { $0.id != slot.id }
                guard slots.contains(where: { $0.kind == .full && !$0.isOpaque }) else {
                    throw VaultError(
                        .lastSlot, "the last full slot cannot be removed: nobody could open the vault any more")
                }
                var change = SlotChange(id: id)
                guard slot.kind != .full else {
                    try SlotEditing.replaceHeader(slots, core)
                    return change
                }
                // What a slot of an unknown kind opens is not known: it could be all groups.
                let held = try core.grantedGroups(of: slot) ?? Set(store.keyring.groups.map(\.number))
                var epoch = try NewEpoch(core)
                try epoch.replace(held)
                try epoch.finish(slots, &change)
                return change
            }
        }
    }

    /// Gives a slot other factors, and with them another id; its name and what it opens stay.
    ///
    /// Without an id, the slot that opened this vault. Without a cost, the one that it has, or the default. Anyone who
    /// has an old copy of the file and the old factors can still open that, and with the vault key from it later states
    /// too: only rotation ends that. A scoped slot is replaced as if it were removed and added: its groups get new
    /// keys, and the file is rewritten.
    ///
    /// Throws `invalidArgument` for factors that open another slot, and for a slot that this version does not know;
    /// else as `addSlot`.
    @discardableResult
    public func changeFactors(
        of id: SlotID? = nil, to factors: borrowing Factors, cost: KDFCost? = nil, allowWeak: Bool = false,
        limits: ReaderLimits = .init()
    ) throws(VaultError) -> SlotChange {
        let factors = FactorsBox(factors.copy())
        return try withCore { (core) throws(VaultError) in
            let known = core.store.header.slots.map(\.id)
            return try core.writing { () throws(VaultError) in
                let store = core.store
                let wanted = id?.bytes ?? store.slot.id
                guard let index = store.header.slots.firstIndex(where: { $0.id == wanted }) else {
                    guard known.contains(wanted) else { throw SlotEditing.noSuchSlot }
                    throw VaultError(
                        .busy, "another program has just replaced or removed this slot: open the vault again")
                }
                let old = store.header.slots[index]
                guard !old.isOpaque else {
                    throw VaultError(
                        .invalidArgument, "this version does not know the kind or the factors of this slot")
                }
                let kept = old.known?.stretch.map { KDFCost($0.cost) } ?? .moderate
                let inSlot = try (cost ?? kept).checked(for: factors.factors.kinds, allowWeak: allowWeak || cost == nil)
                try SlotEditing.requireNew(factors.factors, limits, besides: old.id, core)
                let name = try core.ownerPart(of: old).part.name
                return try Self.replace(index, try NewSlot(factors.factors.copy(), cost: inSlot, name: name), core)
            }
        }
    }

    private static func replace(_ index: Int, _ new: consuming NewSlot, _ core: VaultCore) throws(VaultError)
        -> SlotChange
    {
        let store = core.store
        var slots = store.header.slots
        let old = slots[index]
        guard let groups = try core.grantedGroups(of: old) else {
            let (slot, wrappingKey) = try SlotMaking.fullSlot(
                store.slot.keys, new, vault: store.vault, revision: try core.tick(), device: core.deviceID, store.random
            )
            slots[index] = slot
            try SlotEditing.replaceHeader(slots, opened: old.id == store.slot.id ? (slot.id, wrappingKey) : nil, core)
            return SlotChange(id: SlotID(slot.id))
        }
        var epoch = try NewEpoch(core)
        try epoch.replace(groups)
        let (slot, _) = try epoch.slot(new, groups)
        slots[index] = slot
        var change = SlotChange(id: SlotID(slot.id))
        try epoch.finish(slots, current: [slot.id], &change)
        return change
    }

    /// Gives a slot another name, of at most 63 bytes; also one of a kind or factors that this version does not know.
    public func renameSlot(_ id: SlotID, to name: String) throws(VaultError) {
        try SlotMaking.checkName(name)
        try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                guard let index = store.header.slots.firstIndex(where: { $0.id == id.bytes }) else {
                    throw SlotEditing.noSuchSlot
                }
                var slots = store.header.slots
                var (part, wrappingKey) = try core.ownerPart(of: slots[index])
                part.name = name
                part.revision = try core.tick()
                part.device = core.deviceID
                try SlotEditing.sealOwner(
                    part, wrappingKey: wrappingKey.secret, into: &slots[index], store.slot.keys, core)
                try SlotEditing.replaceHeader(slots, core)
            }
        }
    }
}

extension NewEpoch {
    /// New keys for the groups that a slot gains or loses; what it opens from now on.
    fileprivate mutating func regrant(
        from before: Set<UInt64>, to names: [String], createsGroups: Bool
    ) throws(VaultError) -> Set<UInt64> {
        let staying = Set(names.compactMap { rekeying.number(of: $0) }).intersection(before)
        try replace(before.subtracting(staying))
        let gained = names.filter { name in !staying.contains { rekeying.number(of: name) == $0 } }
        return try grant(gained, createsGroups: createsGroups).union(staying)
    }
}

extension Keyring {
    /// The names of groups, sorted by their bytes: their numbers are random.
    func groupNames(where isWanted: (UInt64) -> Bool) -> [String] {
        groups.filter { isWanted($0.number) }.map(\.name).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

extension SlotInfo {
    init(_ slot: Slot, _ core: VaultCore) throws(VaultError) {
        let store = core.store
        guard store.slot.keys.isOwner else {
            self.init(slot, openedThis: slot.id == store.slot.id)
            return
        }
        let part = try core.ownerPart(of: slot).part
        let granted = try core.grantedGroups(of: slot)
        let groups = granted.map { granted in store.keyring.groupNames { granted.contains($0) } }
        self.init(slot, part: part, groups: groups, openedThis: slot.id == store.slot.id)
    }
}
