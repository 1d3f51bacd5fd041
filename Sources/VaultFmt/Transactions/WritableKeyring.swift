internal import VaultBytes
internal import VaultStore

/// The keyring within a transaction, with the groups and compartments that its items need.
struct WritableKeyring {
    private let core: VaultCore
    private(set) var keyring: Keyring
    private(set) var view: KeyringView
    private var newKeys: [UInt64: SecretBox] = [:]
    private var newGroups: [UInt64: SecretBox] = [:]

    init(_ core: VaultCore) {
        self.core = core
        keyring = core.store.keyring
        view = core.view
    }

    /// True if the keyring differs from the keyring of the state in which the transaction began.
    var isChanged: Bool { keyring != core.store.keyring }

    /// Returns the compartment with the given number, if it exists.
    func compartment(_ number: UInt64) -> KeyringView.Compartment? { view.compartment(number) }

    // MARK: keys

    /// Returns the key of a compartment.
    func key(_ number: UInt64) throws(VaultError) -> SecretBox {
        if let new = newKeys[number] { return new }
        guard let compartment = view.compartment(number) else {
            throw VaultError(.structureInvalid, "a compartment does not exist")
        }
        return try core.compartments.key(compartment, core.context)
    }

    private func groupKey(_ number: UInt64) throws(VaultError) -> SecretBox {
        if let new = newGroups[number] { return new }
        let owners = Keyring.Group(number: Keyring.ownersGroup, name: "", wrapped: [])
        guard let group = (keyring.groups + [owners]).first(where: { $0.number == number }) else {
            throw VaultError(.structureInvalid, "an access group does not exist")
        }
        return try core.compartments.groupKey(group, core.context)
    }

    // MARK: compartments

    /// Returns the compartment for an item of this group, adding it if necessary.
    mutating func compartment(_ group: String, _ accessibility: Accessibility) throws(VaultError) -> UInt64 {
        let device = accessibility.isThisDeviceOnly ? core.deviceID : .zero
        if accessibility.isThisDeviceOnly, device == .zero { throw ItemLimits.noDevice }
        let name = Array(group.utf8)
        if let known = keyring.groups.first(where: { $0.name.utf8.elementsEqual(name) }) {
            return try compartment(known.number, accessibility, device)
        }
        return try compartment(try addGroup(group), accessibility, device)
    }

    /// Returns the compartment for values that items do not show, for this device or for any device.
    mutating func owners(_ device: Bytes16) throws(VaultError) -> UInt64 {
        try compartment(Keyring.ownersGroup, device == .zero ? .whenUnlocked : .whenUnlockedThisDeviceOnly, device)
    }

    /// Returns the compartment with the smallest number whose key is available here (section 5.4).
    private mutating func compartment(
        _ group: UInt64, _ accessibility: Accessibility, _ device: Bytes16
    ) throws(VaultError) -> UInt64 {
        for info in keyring.compartments
        where info.group == group && info.accessibility == accessibility.rawValue && info.device == device {
            do throws(VaultError) {
                _ = try key(info.number)
                return info.number
            } catch {
                // The compartment belongs to another device with the same id, or is damaged.
                guard error.code == .deviceBound || error.code == .authenticationFailed else { throw error }
            }
        }
        return try addCompartment(group, accessibility, device)
    }

    private mutating func addGroup(_ name: String) throws(VaultError) -> UInt64 {
        guard name.utf8.count <= Format.Limit.field else { throw ItemLimits.groupTooLong }
        guard keyring.groups.count < Format.Limit.groups else {
            throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.groups) access groups")
        }
        let number = core.store.random.number(besides: Set(keyring.groups.map(\.number)))
        let key = core.store.random.secret(Format.keySize)
        let group = try Rebuild.wrappedGroup(number, name, key, core.store)
        keyring.groups.insert(group, at: keyring.groups.firstIndex { $0.number > number } ?? keyring.groups.count)
        newGroups[number] = SecretBox(key)
        view = KeyringView(keyring)
        return number
    }

    private mutating func addCompartment(
        _ group: UInt64, _ accessibility: Accessibility, _ device: Bytes16
    ) throws(VaultError) -> UInt64 {
        guard device == .zero || device == core.deviceID else {
            throw VaultError(.deviceBound, "this secret is bound to another device (\(Hex.encode(device.bytes)))")
        }
        guard keyring.compartments.count < Format.Limit.compartments else {
            throw VaultError(.limitExceeded, "a vault can have at most \(Format.Limit.compartments) compartments")
        }
        let number = core.store.random.number(besides: Set(keyring.compartments.map(\.number)))
        var info = Keyring.Compartment(
            number: number, group: group, accessibility: accessibility.rawValue, device: device, wrapped: [])
        let key = core.store.random.secret(Format.keySize)
        Wrapping.wrap(&info, key, try groupKey(group).secret, device: core.device, core.store.vault, core.store.random)
        keyring.compartments.insert(
            info, at: keyring.compartments.firstIndex { $0.number > number } ?? keyring.compartments.count)
        newKeys[number] = SecretBox(key)
        view = KeyringView(keyring)
        return number
    }

    // MARK: settings

    /// Changes the keyring, for a merge or a change to a slot.
    mutating func change<R>(_ body: (inout Keyring) throws(VaultError) -> R) throws(VaultError) -> R {
        defer { view = KeyringView(keyring) }
        return try body(&keyring)
    }

    /// The number of earlier values that each field of an item keeps.
    var kept: Int { keyring.keeping.count }

    mutating func keep(_ count: Int, _ dot: StoredDot) {
        keyring.keeping = Keyring.Keeping(count: count, dot: dot)
        view = KeyringView(keyring)
    }
}
