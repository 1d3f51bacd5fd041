internal import VaultBytes
internal import VaultStore

extension Vault {
    /// Returns the slots in header order. Only owners see names, revisions and grants. Slots with kinds or factors that
    /// this version does not know are listed with unknown strength.
    public func slots() throws(VaultError) -> [SlotInfo] {
        try withCore { (core) throws(VaultError) in
            var all: [SlotInfo] = []
            for slot in core.store.header.slots { all.append(try SlotInfo(slot, core)) }
            return all
        }
    }

    /// Returns the names of all access groups, including empty ones, sorted by their bytes; "" is the default group.
    public func accessGroups() throws(VaultError) -> [String] {
        try withCore { (core) throws(VaultError) in core.store.keyring.groupNames { _ in true } }
    }

    /// Adds a full slot or, with `grantedGroups`, a scoped slot, which opens only the index and the secrets of these
    /// access groups.
    ///
    /// A scoped slot can read the vault from now on, but not the vault's earlier states: the index key and the group
    /// keys are replaced, everything sealed under the old group keys is resealed, and the file is rewritten.
    /// Records for other devices keep their keys; the affected items are returned.
    ///
    /// - Parameters:
    ///   - factors: The factors that will open the slot.
    ///   - cost: The cost of deriving a key from a passphrase.
    ///   - name: A human-readable name of at most 63 bytes.
    ///   - grantedGroups: The exact names of at most 32 access groups; "" is the default group.
    ///   - createsGroups: Whether a granted group that does not exist is created.
    ///   - allowWeak: Whether a cost below the recommended minimum is accepted.
    ///   - limits: The limit on key derivation for finding a slot that these factors already open.
    /// - Returns: The new slot, the slots that were dropped, and the items that keep their keys for other devices.
    /// - Throws: `invalidArgument` for factors that already open a slot, or for a group that does not exist;
    ///   `notPermitted` unless an owner opened the vault; `cannotReplace` if the file cannot be replaced;
    ///   `limitExceeded`, including if there are already 64 slots; `weakKDF`; `kdfLimit`, including if readers would no
    ///   longer try all slots with these kinds of factors.
    @discardableResult
    public func addSlot(
        _ factors: borrowing Factors, cost: KDFCost = .moderate, name: String = "", grantedGroups: [String]? = nil,
        createsGroups: Bool = false, allowWeak: Bool = false, limits: ReaderLimits = .init()
    ) throws(VaultError) -> SlotChange {
        try SlotMaking.checkName(name)
        if let grantedGroups { try Self.checkGrant(grantedGroups) }
        let (vault, random) = try withCore { (core) throws(VaultError) in (core.store.vault, core.store.random) }
        // This comes before acquiring the writer's lock, because a provider may wait for the user.
        let new = try NewSlot(
            factors.copy(), cost: try cost.checked(for: factors.kinds, allowWeak: allowWeak), name: name, vault: vault,
            random)
        return try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                guard store.header.slots.count < Format.Limit.slots else {
                    throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.slots) slots")
                }
                try SlotEditing.requireNew(new.factors, limits, core)
                let next = try store.nextVector()
                guard let grantedGroups else { return try Self.addFull(new, next, core) }
                var epoch = try NewEpoch(core, next)
                let groups = try epoch.grant(grantedGroups, createsGroups: createsGroups)
                let (slot, _) = try epoch.slot(new, groups)
                var change = SlotChange(id: SlotID(slot.id))
                try epoch.finish(store.header.slots + [slot], current: [slot.id], &change)
                return change
            }
        }
    }

    private static func addFull(
        _ new: borrowing NewSlot, _ next: NextVector, _ core: VaultCore
    ) throws(VaultError) -> SlotChange {
        let store = core.store
        let (slot, _) = try SlotMaking.fullSlot(store.slot.keys, new, vault: store.vault, store.random)
        let dot = next.stored(try next.tick())
        var keyring = store.keyring
        keyring.set(SlotDots(id: slot.id, made: dot, changed: dot))
        try SlotEditing.replaceHeader(store.header.slots + [slot], keyring, next, core)
        return SlotChange(id: SlotID(slot.id))
    }

    private static func checkGrant(_ names: [String]) throws(VaultError) {
        guard names.count <= Format.Limit.grantedGroups else {
            throw VaultError(.limitExceeded, "a slot can grant at most \(Format.Limit.grantedGroups) access groups")
        }
    }

    /// Replaces the access groups that a scoped slot opens. Groups that the slot gains or loses get new keys, and the
    /// file is rewritten.
    ///
    /// - Parameters:
    ///   - id: The scoped slot.
    ///   - groups: The exact names of at most 32 access groups.
    ///   - createsGroups: Whether a group that does not exist is created.
    /// - Returns: The slot, the slots that were dropped, and the items that keep their keys for other devices.
    /// - Throws: `noSuchSlot`; `invalidArgument` for a slot that is not scoped, or for a group that does not exist;
    ///   otherwise the same errors as `addSlot`.
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
                let slot = store.header.slots[index]
                guard slot.kind == .scoped else {
                    throw VaultError(.invalidArgument, "only a scoped slot has access groups")
                }
                let before = Set(try store.keyring.dots(of: slot.id).grants.map(\.group))
                var epoch = try NewEpoch(core, try store.nextVector())
                let after = try epoch.regrant(from: before, to: groups, createsGroups: createsGroups)
                try epoch.setGrants(of: slot.id, to: after)
                var slots = store.header.slots
                slots[index] = try epoch.reseal(slot)
                var change = SlotChange(id: id)
                try epoch.finish(slots, current: [id.bytes], &change)
                return change
            }
        }
    }

    /// Removes a slot. Unless the slot is a full slot, its keys are also replaced, and everything sealed under them is
    /// resealed.
    ///
    /// Anyone who copied the vault key from a full slot still has that key; only a rotation revokes it. Throws
    /// `lastSlot` for the last full slot that this version knows, or `noSuchSlot`.
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
                        .lastSlot, "the last full slot cannot be removed: the vault could no longer be opened")
                }
                var change = SlotChange(id: id)
                let next = try store.nextVector()
                // The removal is a change, which is recorded only by its dot.
                _ = try next.tick()
                guard slot.kind != .full else {
                    var keyring = store.keyring
                    keyring.removeSlot(slot.id)
                    try SlotEditing.replaceHeader(slots, keyring, next, core)
                    return change
                }
                // A slot of an unknown kind could open any group.
                let held =
                    slot.kind == .scoped
                    ? try store.keyring.dots(of: slot.id).grants.map(\.group) : store.keyring.groups.map(\.number)
                var epoch = try NewEpoch(core, next)
                try epoch.replace(Set(held))
                try epoch.finish(slots, &change)
                return change
            }
        }
    }

    /// Replaces the factors of a slot. The slot's id, its name and the access that it grants do not change.
    ///
    /// If no id is given, the slot that opened this vault is changed. If no cost is given, the current cost is kept, or
    /// the default is used. Anyone with an old copy of the file and the old factors can still open that copy and, with
    /// the keys in it, later states too: for a full slot, until the keys are rotated; for a scoped slot, until the slot
    /// is removed or its grants change.
    ///
    /// Throws `busy` if another program has replaced or removed the slot in the meantime: for the slot that opened this
    /// vault, since the vault was opened or this handle last changed the slot; for any other slot, since this handle
    /// last read the file. Otherwise, this change could bring back a factor that the other program has just replaced.
    /// `limits` applies to the cost that is kept, and to finding a slot that the new factors already open. A new cost
    /// must be within the default limits.
    /// Throws `invalidArgument` for factors that open another slot, or for a slot that this version does not know;
    /// otherwise the same errors as `addSlot`.
    @discardableResult
    public func changeFactors(
        of id: SlotID? = nil, to factors: borrowing Factors, cost: KDFCost? = nil, allowWeak: Bool = false,
        limits: ReaderLimits = .init()
    ) throws(VaultError) -> SlotChange {
        let factors = FactorsBox(factors.copy())
        return try withCore { (core) throws(VaultError) in
            let seen = core.store.header.slots
            return try core.writing { () throws(VaultError) in
                let store = core.store
                let wanted = id?.bytes ?? store.slot.id
                let before = seen.first { $0.id == wanted }
                guard let index = store.header.slots.firstIndex(where: { $0.id == wanted }) else {
                    throw before == nil ? SlotEditing.noSuchSlot : Self.replacedMeanwhile
                }
                let old = store.header.slots[index]
                guard try Self.isUnchanged(old, since: before, core) else { throw Self.replacedMeanwhile }
                guard !old.isOpaque else {
                    throw VaultError(
                        .invalidArgument, "this version does not support this slot's kind or factors")
                }
                let kept = old.known?.stretch.map { KDFCost($0.cost) } ?? .moderate
                let inSlot = try (cost ?? kept).checked(
                    for: factors.factors.kinds, allowWeak: allowWeak || cost == nil,
                    limits: cost == nil ? limits : ReaderLimits())
                try SlotEditing.requireNew(factors.factors, limits, besides: old.id, core)
                let name = try core.ownerPart(of: old).part.name
                let new = try NewSlot(
                    factors.factors.copy(), cost: inSlot, name: name, vault: store.vault, id: old.id)
                return try Self.replace(index, new, core)
            }
        }
    }

    private static let replacedMeanwhile = VaultError(
        .busy, "another program has just replaced or removed this slot: open the vault again")

    /// Returns whether a slot still has the factors that it had when this handle last saw it; for the slot that opened
    /// the vault, the factors that opened it.
    private static func isUnchanged(_ slot: Slot, since before: Slot?, _ core: VaultCore) throws(VaultError) -> Bool {
        let store = core.store
        guard slot.id == store.slot.id, store.slot.wrappingKey.count > 0 else {
            return before?.commitment == slot.commitment
        }
        do throws(VaultError) {
            _ = try SlotOpener.open(slot, store.header, wrappingKey: store.slot.wrappingKey.copy())
            return true
        } catch {
            guard error.code == .authenticationFailed else { throw error }
            return false
        }
    }

    private static func replace(
        _ index: Int, _ new: consuming NewSlot, _ core: VaultCore
    ) throws(VaultError) -> SlotChange {
        let store = core.store
        var slots = store.header.slots
        let old = slots[index]
        let made: (slot: Slot, wrappingKey: SecretBox)
        if old.kind == .scoped {
            let wrappingKey = try core.ownerPart(of: old).wrappingKey
            let grants = try SlotOpener.grants(old, store.vault, wrappingKey: wrappingKey.secret)
            made = try SlotMaking.scopedSlot(
                store.slot.keys, grants: grants, new, vault: store.vault, store.random)
        } else {
            made = try SlotMaking.fullSlot(store.slot.keys, new, vault: store.vault, store.random)
        }
        slots[index] = made.slot
        let isOpened = old.id == store.slot.id
        try change(old.id, slots, opened: isOpened ? (old.id, made.wrappingKey) : nil, core)
        return SlotChange(id: SlotID(old.id))
    }

    /// Writes a header in which the name or the factors of one slot are changed.
    private static func change(
        _ id: Bytes16, _ slots: [Slot], opened: (id: Bytes16, wrappingKey: SecretBox)? = nil, _ core: VaultCore
    ) throws(VaultError) {
        let next = try core.store.nextVector()
        var keyring = core.store.keyring
        var dots = try keyring.dots(of: id)
        dots.changed = next.stored(try next.tick())
        keyring.set(dots)
        try SlotEditing.replaceHeader(slots, keyring, next, opened: opened, core)
    }

    /// Renames a slot, even one with a kind or factors that this version does not know. The name has at most 63 bytes.
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
                try SlotEditing.sealOwner(
                    part, wrappingKey: wrappingKey.secret, into: &slots[index], store.slot.keys, core)
                try Self.change(id.bytes, slots, core)
            }
        }
    }
}

extension NewEpoch {
    /// Makes new keys for the groups that a slot gains or loses, and returns the current numbers of the groups that it
    /// now opens.
    fileprivate mutating func regrant(
        from before: Set<UInt64>, to names: [String], createsGroups: Bool
    ) throws(VaultError) -> Set<UInt64> {
        // If slots were dropped with the epoch, all groups already have new numbers.
        let before = Set(before.map { rekeying.number(nowOf: $0) })
        let staying = Set(names.compactMap { rekeying.number(of: $0) }).intersection(before)
        try replace(before.subtracting(staying))
        let gained = names.filter { name in !staying.contains { rekeying.number(of: name) == $0 } }
        return try grant(gained, createsGroups: createsGroups).union(staying)
    }
}

extension Keyring {
    /// Returns the names of groups, sorted by their bytes because the numbers of groups are random.
    func groupNames(where isWanted: (UInt64) -> Bool) -> [String] {
        groups.filter { isWanted($0.number) }.map(\.name).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

extension SlotInfo {
    init(_ slot: Slot, _ core: VaultCore) throws(VaultError) {
        let store = core.store
        let isOpened = slot.id == store.slot.id
        let dots = try store.keyring.dots(of: slot.id)
        guard store.slot.keys.isOwner else {
            self.init(slot, dots: dots, openedThis: isOpened)
            return
        }
        let part = try core.ownerPart(of: slot).part
        var groups: [String]?
        if slot.kind == .scoped {
            let granted = Set(dots.grants.map(\.group))
            groups = store.keyring.groupNames { granted.contains($0) }
        }
        self.init(slot, part: part, dots: dots, groups: groups, openedThis: isOpened)
    }
}
