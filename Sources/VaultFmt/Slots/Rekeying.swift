internal import VaultBytes

/// New numbers and keys for groups and their compartments, as needed for a grant, a revocation or a rotation.
struct Rekeying {
    /// The kind of a compartment; all compartments of one kind share a key from now on.
    private struct Kind: Hashable {
        let group: UInt64
        let accessibility: UInt8
        let device: Bytes16
    }

    private let core: VaultCore
    private let old: Keyring
    /// The keyring with the new groups and compartments.
    private(set) var keyring: Keyring
    /// The new compartments, by the number of the compartment that was replaced.
    private(set) var targets: [UInt64: RecordTarget] = [:]
    /// Compartments of other devices in replaced groups; they keep their numbers and keys.
    private(set) var kept: Set<UInt64> = []
    /// The new number of each group that was replaced, keyed by the group's old number.
    private var numbers: [UInt64: UInt64] = [:]
    /// The keys of new groups, by number.
    private var groupKeys: [UInt64: SecretBox] = [:]
    private var made: [Kind: RecordTarget] = [:]
    private var used: Set<UInt64>

    init(_ core: VaultCore, _ keyring: Keyring) {
        self.core = core
        old = keyring
        self.keyring = keyring
        // A number must never have been used for another key.
        used = Set(keyring.groups.map(\.number) + keyring.compartments.map(\.number) + [Keyring.ownersGroup])
    }

    // MARK: groups

    /// Replaces these groups and those of their compartments that can be opened here; `keys` wrap the new keys.
    mutating func replace(groups wanted: Set<UInt64>, _ keys: borrowing VaultKeys) throws(VaultError) {
        for group in old.groups where wanted.contains(group.number) && numbers[group.number] == nil {
            let before = try core.compartments.groupKey(group, core.context)
            keyring.groups.removeAll { $0.number == group.number }
            // A merge can produce two groups with the same name, which become one.
            let twin = keyring.groups.first {
                (groupKeys[$0.number] != nil || !wanted.contains($0.number))
                    && $0.name.utf8.elementsEqual(group.name.utf8)
            }
            let known = try twin.map { (twin) throws(VaultError) in try groupKey(twin.number) }
            let after = known ?? SecretBox(core.store.random.secret(Format.keySize))
            let number = twin?.number ?? newNumber()
            numbers[group.number] = number
            if known == nil {
                groupKeys[number] = after
                keyring.groups.append(try wrapped(number, group.name, after.secret, keys))
            }
            try replaceCompartments(of: group.number, to: number, before.secret, after.secret)
        }
        renumberGrants()
        sort()
    }

    /// Updates the group numbers in the grants of all slots.
    private mutating func renumberGrants() {
        for index in keyring.slots.indices {
            keyring.slots[index].grants = keyring.slots[index].grants.map { grant in
                SlotDots.Grant(group: numbers[grant.group] ?? grant.group, dot: grant.dot)
            }.sorted { $0.group < $1.group }
        }
    }

    /// Replaces the compartments of earlier values, whose group key is derived from the vault key, for a rotation.
    mutating func replaceOwnersGroup(_ keys: borrowing VaultKeys) throws(VaultError) {
        let (before, after) = (try Self.earlierKey(core.store.slot.keys), try Self.earlierKey(keys))
        try replaceCompartments(of: Keyring.ownersGroup, to: Keyring.ownersGroup, before.secret, after.secret)
        sort()
    }

    private static func earlierKey(_ keys: borrowing VaultKeys) throws(VaultError) -> SecretBox {
        try keys.asOwner(else: SlotMaking.ownersOnly) { (owner) throws(VaultError) in
            SecretBox(owner.earlier.copy())
        }
    }

    /// Returns the current number of the group with this name, compared byte for byte.
    func number(of name: String) -> UInt64? { keyring.groups.first { $0.name.utf8.elementsEqual(name.utf8) }?.number }

    /// Adds a new group. Throws `limitExceeded` for a name of more than 4096 bytes, or if there are already 1024
    /// groups.
    mutating func addGroup(_ name: String, _ keys: borrowing VaultKeys) throws(VaultError) -> UInt64 {
        try keyring.checkRoomForGroup(named: name)
        let number = newNumber()
        let key = SecretBox(core.store.random.secret(Format.keySize))
        groupKeys[number] = key
        keyring.groups.append(try wrapped(number, name, key.secret, keys))
        sort()
        return number
    }

    private func wrapped(
        _ number: UInt64, _ name: String, _ key: borrowing Secret, _ keys: borrowing VaultKeys
    ) throws(VaultError) -> Keyring.Group {
        try keys.asOwner(else: SlotMaking.ownersOnly) { (owner) throws(VaultError) in
            Wrapping.wrap(group: number, name, key, owner, core.store.vault, core.store.random)
        }
    }

    private mutating func newNumber() -> UInt64 {
        let number = core.store.random.number(besides: used)
        used.insert(number)
        return number
    }

    private mutating func sort() {
        keyring.groups.sort { $0.number < $1.number }
        keyring.compartments.sort { $0.number < $1.number }
    }

    // MARK: compartments

    private mutating func replaceCompartments(
        of group: UInt64, to number: UInt64, _ before: borrowing Secret, _ after: borrowing Secret
    ) throws(VaultError) {
        for info in old.compartments where info.group == group {
            keyring.compartments.removeAll { $0.number == info.number }
            if try isOpenHere(info, before) {
                try replace(info, to: number, after)
            } else {
                try keep(info, to: number, before, after)
            }
        }
    }

    /// Returns whether a compartment's key is available, because the compartment is for any device or for this one.
    private func isOpenHere(_ info: Keyring.Compartment, _ groupKey: borrowing Secret) throws(VaultError) -> Bool {
        guard info.isDeviceBound else { return true }
        do throws(VaultError) {
            _ = try Wrapping.compartmentKey(
                info, groupKey, vault: core.store.vault, device: core.device, deviceID: core.deviceID)
            return true
        } catch {
            guard error.code == .deviceBound else { throw error }
            return false
        }
    }

    private mutating func replace(_ info: Keyring.Compartment, to group: UInt64, _ groupKey: borrowing Secret)
        throws(VaultError)
    {
        let kind = Kind(group: group, accessibility: info.accessibility, device: info.device)
        if let known = made[kind] {
            targets[info.number] = known
            return
        }
        let target = RecordTarget(number: newNumber(), key: SecretBox(core.store.random.secret(Format.keySize)))
        var new = Keyring.Compartment(
            number: target.number, group: group, accessibility: info.accessibility, device: info.device, wrapped: [])
        Wrapping.wrap(&new, target.key.secret, groupKey, device: core.device, core.store.vault, core.store.random)
        keyring.compartments.append(new)
        made[kind] = target
        targets[info.number] = target
    }

    /// Wraps the inner layer, which can be opened only on the compartment's device, under the new key.
    private mutating func keep(
        _ info: Keyring.Compartment, to group: UInt64, _ before: borrowing Secret, _ after: borrowing Secret
    ) throws(VaultError) {
        let inner = try Wrapping.outerOpened(info, before, core.store.vault)
        var same = Keyring.Compartment(
            number: info.number, group: group, accessibility: info.accessibility, device: info.device, wrapped: [])
        Wrapping.wrapOuter(&same, inner, after, core.store.vault, core.store.random)
        keyring.compartments.append(same)
        kept.insert(info.number)
    }

    // MARK: grants of scoped slots

    /// Sets the keyring's data about a slot, whose grants use the current group numbers.
    mutating func set(_ slot: SlotDots) { keyring.set(slot) }

    /// Sets the keyring's data about all slots.
    mutating func set(slots: [SlotDots]) { keyring.slots = slots }

    mutating func keepSlots(of header: Header) { keyring.keepSlots(of: header) }

    mutating func set(vaultKey: StoredDot) { keyring.vaultKey = vaultKey }

    /// Returns the current number of a group, given its old number.
    func number(nowOf group: UInt64) -> UInt64 { numbers[group] ?? group }

    /// Returns the keys of these groups, given by their old or new numbers, for a slot; groups that no longer exist are
    /// omitted.
    func grants(_ wanted: Set<UInt64>, _ keys: borrowing VaultKeys) throws(VaultError) -> Grants {
        let known = Set(keyring.groups.map(\.number))
        let numbers = Set(wanted.map { self.numbers[$0] ?? $0 }).intersection(known).sorted()
        var out = Secret(count: numbers.count * Format.keySize)
        for (index, number) in numbers.enumerated() {
            let key = try groupKey(number)
            out.withUnsafeMutableBytes { out in
                key.secret.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: out[index * Format.keySize..<(index + 1) * Format.keySize])
                        .copyMemory(from: $0)
                }
            }
        }
        return Grants(numbers: numbers, keys: out)
    }

    private func groupKey(_ number: UInt64) throws(VaultError) -> SecretBox {
        if let new = groupKeys[number] { return new }
        guard let group = keyring.groups.first(where: { $0.number == number }) else {
            throw VaultError(.structureInvalid, "an access group does not exist")
        }
        return try core.compartments.groupKey(group, core.context)
    }

    /// Returns the items whose secrets remain under the keys of other devices.
    func keptItems() throws(VaultError) -> [ItemKey] {
        guard !kept.isEmpty else { return [] }
        var found: [ItemKey] = []
        var cursor = ItemCursor(core, Query())
        while let item = try cursor.next() {
            if kept.contains(item.entry.compartment) { found.append(item.key) }
        }
        return found
    }
}

extension Keyring {
    /// Throws `limitExceeded` for a name of more than 4096 bytes, or if there are already 1024 groups.
    func checkRoomForGroup(named name: String) throws(VaultError) {
        guard name.utf8.count <= Format.Limit.field else {
            throw VaultError(.limitExceeded, "an access group's name can be at most \(Format.Limit.field) bytes long")
        }
        guard groups.count < Format.Limit.groups else {
            throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.groups) access groups")
        }
    }
}
