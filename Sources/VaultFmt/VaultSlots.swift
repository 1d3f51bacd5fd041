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

    /// Adds a slot: a full one, or with `grantedGroups` a scoped one, which opens the index and the secrets of these access groups only.
    ///
    /// At most 16 slots, names of at most 63 bytes, 32 groups. A group that has no items yet may be granted. Throws `notPermitted` for who is not an owner,
    /// `cannotReplace` where the file cannot be replaced, `limitExceeded`, `weakKDF`, `kdfLimit`.
    public func addSlot(
        _ factors: borrowing Factors, cost: KDFCost = .moderate, name: String = "", grantedGroups: [String]? = nil, allowWeak: Bool = false
    ) throws(VaultError) -> SlotID {
        try SlotEditing.checkName(name)
        let inSlot = try cost.checked(for: factors, allowWeak: allowWeak)
        if let grantedGroups { try ensure(groups: grantedGroups) }
        return try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                guard store.header.slots.count < Format.Limit.slots else {
                    throw VaultError(.limitExceeded, "a vault has at most \(Format.Limit.slots) slots")
                }
                var header = store.header
                let slot: Slot
                if let grantedGroups {
                    let grants = try SlotEditing.grants(grantedGroups, core)
                    (slot, _) = try SlotEditing.scopedSlot(
                        store.slot.keys, grants: grants, factors.keys, cost: inSlot, name: name, vault: store.vault, store.random)
                } else {
                    (slot, _) = try SlotEditing.fullSlot(
                        store.slot.keys, factors.keys, cost: inSlot, name: name, vault: store.vault, store.random)
                }
                header.slots.append(slot)
                try SlotEditing.replaceHeader(header, slotID: store.slot.id, wrappingKey: store.slot.wrappingKey.copy(), core)
                return SlotID(slot.id)
            }
        }
    }

    /// Groups that are to be granted get their keys before.
    private func ensure(groups: [String]) throws(VaultError) {
        guard groups.count <= Format.Limit.grantedGroups else {
            throw VaultError(.limitExceeded, "a slot grants at most \(Format.Limit.grantedGroups) access groups")
        }
        try transaction { (transaction) throws(VaultError) in
            for group in groups where transaction.groupNumber(group) == nil { _ = try transaction.addGroup(group) }
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
    /// old factors can still open it, and with the vault key from it later states too: only rotation ends that.
    public func changeFactors(
        of id: SlotID? = nil, to factors: borrowing Factors, cost: KDFCost? = nil, allowWeak: Bool = false
    ) throws(VaultError) {
        try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                let wanted = id?.bytes ?? store.slot.id
                guard let index = store.header.slots.firstIndex(where: { $0.id == wanted }) else {
                    throw VaultError(.noSuchSlot, "no such slot")
                }
                let old = store.header.slots[index]
                let kept = old.cost.map { KDFCost($0) } ?? .moderate
                let inSlot = try (cost ?? kept).checked(for: factors, allowWeak: allowWeak || cost == nil)
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

/// What removing a scoped slot takes: new index, MAC and group keys, and its compartments resealed under new keys (section 2.12 of the design).
enum ScopedRemoval {
    static func run(_ removed: Slot, _ header: Header, _ core: VaultCore) throws(VaultError) {
        let store = core.store
        guard let vaultKey = store.slot.keys.vaultKey() else { throw VaultError(.notPermitted, "only an owner can remove slots") }
        let part = try SlotEditing.ownerPart(removed, store)
        let held = try SlotOpener.grants(removed, store.vault, wrappingKey: part.wrappingKey.secret).numbers
        var header = header
        header.epoch = store.random.bytes32()
        let keys = VaultKeys(vaultKey: vaultKey, epoch: header.epoch.bytes)
        var rekeying = Rekeying(core)
        try rekeying.replace(groups: Set(held), keys)
        for index in header.slots.indices where header.slots[index].kind == .scoped {
            try rekeying.reseal(&header.slots[index], keys)
        }
        try Rebuild.run(
            Rebuild.Plan(
                header: header, keys: keys, slotID: store.slot.id, wrappingKey: store.slot.wrappingKey.copy(), keyring: rekeying.keyring,
                newKeys: rekeying.newKeys, hasNewIndex: true), core)
    }
}

/// New keys for groups and their compartments.
struct Rekeying {
    private let core: VaultCore
    private(set) var keyring: Keyring
    private(set) var newKeys: [UInt32: SecretBox] = [:]
    private var groupKeys: [UInt32: SecretBox] = [:]
    /// Compartments whose key is not to be had here: their inner layer is kept.
    private(set) var kept: Set<UInt32> = []

    init(_ core: VaultCore) {
        self.core = core
        keyring = core.store.keyring
    }

    /// Replaces the keys of these groups, and of all their compartments that open here.
    mutating func replace(groups: Set<UInt32>, _ keys: borrowing VaultKeys) throws(VaultError) {
        let store = core.store
        for index in keyring.groups.indices where groups.contains(keyring.groups[index].number) {
            let group = keyring.groups[index]
            let old = try core.compartments.groupKey(group, core.context)
            let new = SecretBox(store.random.secret(Format.keySize))
            groupKeys[group.number] = new
            keyring.groups[index] = try wrapped(group, new.secret, keys)
            for at in keyring.compartments.indices where keyring.compartments[at].group == group.number {
                try replace(compartment: at, old: old.secret, new: new.secret)
            }
        }
    }

    private func wrapped(_ group: Keyring.Group, _ key: borrowing Secret, _ keys: borrowing VaultKeys) throws(VaultError) -> Keyring.Group {
        switch keys.owner {
        case .some(let owner): return Wrapping.wrap(group: group.number, group.name, key, owner, core.store.vault, core.store.random)
        case .none: throw VaultError(.notPermitted, "only an owner can do this")
        }
    }

    private mutating func replace(compartment at: Int, old: borrowing Secret, new: borrowing Secret) throws(VaultError) {
        let store = core.store
        let info = keyring.compartments[at]
        if info.isDeviceBound, core.deviceID != info.device || core.device == nil {
            let inner = try Wrapping.outerOpened(info, old, store.vault)
            Wrapping.wrapOuter(&keyring.compartments[at], inner, new, store.vault, store.random)
            kept.insert(info.number)
            return
        }
        let key = SecretBox(store.random.secret(Format.keySize))
        newKeys[info.number] = key
        Wrapping.wrap(&keyring.compartments[at], key.secret, new, device: core.device, store.vault, store.random)
    }

    func newGroupKey(_ number: UInt32) -> SecretBox? { groupKeys[number] }

    /// A scoped slot's payload with the new keys in place of the old ones; its wrapping key comes from its owner part.
    func reseal(_ slot: inout Slot, _ keys: borrowing VaultKeys) throws(VaultError) {
        let store = core.store
        let part = try SlotEditing.ownerPart(slot, store)
        let old = try SlotOpener.grants(slot, store.vault, wrappingKey: part.wrappingKey.secret)
        let numbers = old.numbers
        let grants = try SlotEditing.grants(numbers, core) { (number) throws(VaultError) in
            if let new = groupKeys[number] { return new }
            guard let same = old.key(number) else { throw VaultError(.structureInvalid, "a grant has no key") }
            return SecretBox(same)
        }
        SlotSeal.seal(
            SlotPayload(keys, grants: grants), into: &slot, wrappingKey: part.wrappingKey.secret, vault: store.vault, store.random)
    }
}
