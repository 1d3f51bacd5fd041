internal import VaultBytes

/// New index and MAC keys, and new keys of some groups, in a rewritten file: what granting groups to a slot takes, and
/// removing one that had them. So the slot's holder opens neither what was written before, nor what comes
/// after.
private struct NewEpoch: ~Copyable {
    private let core: VaultCore
    var header: Header
    let keys: VaultKeys

    init(_ header: Header, _ core: VaultCore) throws(VaultError) {
        let store = core.store
        guard let vaultKey = store.slot.keys.vaultKey() else {
            throw VaultError(.notPermitted, "only an owner can change who opens a vault")
        }
        self.core = core
        self.header = header
        self.header.epoch = store.random.bytes32()
        keys = VaultKeys(vaultKey: vaultKey, epoch: self.header.epoch.bytes)
    }

    /// Gives the scoped slots that there were the new keys, and rewrites the file. `new` has them already.
    consuming func finish(_ rekeying: Rekeying, adding new: Slot? = nil) throws(VaultError) {
        let store = core.store
        var header = header
        for index in header.slots.indices where header.slots[index].kind == .scoped {
            try rekeying.reseal(&header.slots[index], keys)
        }
        if let new { header.slots.append(new) }
        try Rebuild.run(
            Rebuild.Plan(
                header: header, keys: keys, slotID: store.slot.id, wrappingKey: store.slot.wrappingKey.copy(),
                keyring: rekeying.keyring,
                newKeys: rekeying.newKeys, hasNewIndex: true), core)
    }
}

/// Removing a scoped slot: the keys that it held are replaced.
enum ScopedRemoval {
    /// `header` is without the slot.
    static func run(_ removed: Slot, _ header: Header, _ core: VaultCore) throws(VaultError) {
        let epoch = try NewEpoch(header, core)
        let part = try SlotEditing.ownerPart(removed, core.store)
        let held = try SlotOpener.grants(removed, core.store.vault, wrappingKey: part.wrappingKey.secret).numbers
        var rekeying = Rekeying(core)
        try rekeying.replace(groups: Set(held), epoch.keys)
        try epoch.finish(rekeying)
    }
}

/// Adding a scoped slot: what it is granted gets new keys first, so that it opens nothing that was moved out, replaced
/// or removed before.
struct ScopedGrant {
    private let core: VaultCore
    private let names: [String]
    private let createsGroups: Bool

    /// Checks what can be checked without the vault.
    static func check(_ names: [String]) throws(VaultError) {
        guard names.count <= Format.Limit.grantedGroups else {
            throw VaultError(.limitExceeded, "a slot grants at most \(Format.Limit.grantedGroups) access groups")
        }
    }

    init(_ names: [String], createsGroups: Bool, _ core: VaultCore) {
        self.core = core
        self.names = names
        self.createsGroups = createsGroups
    }

    func run(_ factors: borrowing FactorKeys, cost: Slot.Cost?, name: String) throws(VaultError) -> SlotID {
        let store = core.store
        let epoch = try NewEpoch(store.header, core)
        var rekeying = Rekeying(core)
        var numbers: Set<UInt32> = []
        for name in names {
            if let number = rekeying.number(of: name) {
                numbers.insert(number)
                continue
            }
            guard createsGroups else { throw VaultError(.invalidArgument, "the vault has no access group \"\(name)\"") }
            numbers.insert(try rekeying.addGroup(name, epoch.keys))
        }
        try rekeying.replace(groups: numbers, epoch.keys)
        let grants = try SlotEditing.grants(numbers.sorted(), core) { (number) throws(VaultError) in
            try rekeying.groupKey(number)
        }
        let (slot, _) = try SlotEditing.scopedSlot(
            epoch.keys, grants: grants, factors, cost: cost, name: name, vault: store.vault, store.random)
        try epoch.finish(rekeying, adding: slot)
        return SlotID(slot.id)
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
        for index in keyring.groups.indices {
            let group = keyring.groups[index]
            // One that was added just now has a new key.
            guard groups.contains(group.number), groupKeys[group.number] == nil else { continue }
            let old = try core.compartments.groupKey(group, core.context)
            let new = SecretBox(store.random.secret(Format.keySize))
            groupKeys[group.number] = new
            keyring.groups[index] = try wrapped(group.number, group.name, new.secret, keys)
            for at in keyring.compartments.indices where keyring.compartments[at].group == group.number {
                try replace(compartment: at, old: old.secret, new: new.secret)
            }
        }
    }

    private func wrapped(
        _ number: UInt32, _ name: String, _ key: borrowing Secret, _ keys: borrowing VaultKeys
    ) throws(VaultError) -> Keyring.Group {
        switch keys.owner {
        case .some(let owner):
            return Wrapping.wrap(group: number, name, key, owner, core.store.vault, core.store.random)
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

    /// The group with this name, byte for byte.
    func number(of name: String) -> UInt32? { keyring.groups.first { $0.name.utf8.elementsEqual(name.utf8) }?.number }

    /// A group that the vault did not have.
    mutating func addGroup(_ name: String, _ keys: borrowing VaultKeys) throws(VaultError) -> UInt32 {
        let number = try keyring.numberForGroup(named: name)
        let key = SecretBox(core.store.random.secret(Format.keySize))
        groupKeys[number] = key
        keyring.groups.append(try wrapped(number, name, key.secret, keys))
        return number
    }

    /// The new key of a group that got one.
    func groupKey(_ number: UInt32) throws(VaultError) -> SecretBox {
        guard let key = groupKeys[number] else { throw VaultError(.structureInvalid, "an access group has no new key") }
        return key
    }

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
            SlotPayload(keys, grants: grants), into: &slot, wrappingKey: part.wrappingKey.secret, vault: store.vault,
            store.random)
    }
}

extension Keyring {
    /// Takes the number for a new group. Throws `limitExceeded` for a name of more than 4096 bytes, and beyond 1024
    /// groups.
    mutating func numberForGroup(named name: String) throws(VaultError) -> UInt32 {
        guard name.utf8.count <= Format.Limit.field else {
            throw VaultError(.limitExceeded, "an access group's name has at most \(Format.Limit.field) bytes")
        }
        guard groups.count < Format.Limit.groups, nextGroup < .max else {
            throw VaultError(.limitExceeded, "a vault has at most \(Format.Limit.groups) access groups")
        }
        defer { nextGroup += 1 }
        return nextGroup
    }
}
