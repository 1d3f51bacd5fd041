internal import VaultBytes
internal import VaultStore

/// The keys of compartments, each unwrapped when first needed (specification, section 3.5).
final class CompartmentKeys {
    private var groups: [UInt64: SecretBox] = [:]
    private var keys: [UInt64: SecretBox] = [:]

    /// The information about the vault and the opened slot that is needed for unwrapping.
    struct Context: ~Copyable {
        let store: Store
        let device: SecretBox?
        let deviceID: Bytes16
        let isLocked: Bool
    }

    /// Returns the key of a compartment of the keyring if it was unwrapped before.
    func known(_ number: UInt64) -> SecretBox? { keys[number] }

    /// Returns the key under which the records of a compartment are sealed.
    func key(_ compartment: KeyringView.Compartment, _ context: borrowing Context) throws(VaultError) -> SecretBox {
        let number = compartment.info.number
        if let known = keys[number] { return known }
        guard !context.isLocked else { throw VaultError(.locked, "the vault is locked") }
        let groupKey = try groupKey(compartment.group, context)
        let opened = SecretBox(
            try Wrapping.compartmentKey(
                compartment.info, groupKey.secret, vault: context.store.vault, device: context.device,
                deviceID: context.deviceID))
        keys[number] = opened
        return opened
    }

    /// Returns a group's key, from the vault key or from a scoped slot's grants.
    func groupKey(_ group: Keyring.Group, _ context: borrowing Context) throws(VaultError) -> SecretBox {
        if let known = groups[group.number] { return known }
        let opened: SecretBox
        if group.number == Keyring.ownersGroup {
            opened = try Self.ownersGroupKey(context)
        } else if let granted = context.store.slot.grants.key(group.number) {
            opened = SecretBox(granted)
        } else {
            opened = SecretBox(try Wrapping.groupKey(group, context.store.slot.keys, context.store.vault))
        }
        groups[group.number] = opened
        return opened
    }

    /// Returns the key of the owners' group, which only owners may use (R-6.13).
    private static func ownersGroupKey(_ context: borrowing Context) throws(VaultError) -> SecretBox {
        guard !context.isLocked else { throw VaultError(.locked, "the vault is locked") }
        let refusal = VaultError(
            .notPermitted, "the slot that opened this vault does not grant access to earlier values")
        return try context.store.slot.keys.asOwner(else: refusal) { (owner) throws(VaultError) in
            SecretBox(owner.earlier.copy())
        }
    }

    /// Unwraps the keys that a locked vault keeps, if they can be opened, and discards all others.
    func lock(_ view: KeyringView, _ context: borrowing Context) {
        var kept: [UInt64: SecretBox] = [:]
        for info in view.keyring.compartments {
            guard let compartment = view.compartment(info.number), compartment.accessibility.survivesLock else {
                continue
            }
            // A key that cannot be opened now cannot be opened while the vault is locked either; reading from its
            // compartment reports why.
            do throws(VaultError) { kept[info.number] = try key(compartment, context) } catch { continue }
        }
        groups = [:]
        keys = kept
    }

    /// The keys that are currently in memory.
    var held: [SecretBox] { Array(keys.values) }

    func forgetAll() {
        groups = [:]
        keys = [:]
    }
}

/// Wraps and unwraps group and compartment keys.
enum Wrapping {
    static func groupKey(_ group: Keyring.Group, _ keys: borrowing VaultKeys, _ vault: Bytes16) throws(VaultError)
        -> Secret
    {
        let refusal = VaultError(
            .notPermitted,
            "the slot that opened this vault does not grant access to \(group.name.isEmpty ? "the default group" : "the group \"\(group.name)\"")"
        )
        return try keys.asOwner(else: refusal) { (owner) throws(VaultError) in
            try opening("the key of an access group") { () throws(CryptoError) in
                try AEAD.unwrap(group.wrapped, groupData(vault, group.number, group.name), key: owner.keyring)
            }
        }
    }

    static func wrap(
        group number: UInt64, _ name: String, _ key: borrowing Secret, _ owner: borrowing OwnerKeys, _ vault: Bytes16,
        _ random: Randomness
    ) -> Keyring.Group {
        Keyring.Group(
            number: number, name: name,
            wrapped: AEAD.wrap(key, groupData(vault, number, name), key: owner.keyring, random))
    }

    static func compartmentKey(
        _ info: Keyring.Compartment, _ groupKey: borrowing Secret, vault: Bytes16, device: SecretBox?, deviceID: Bytes16
    ) throws(VaultError) -> Secret {
        let outer = try outerOpened(info, groupKey, vault)
        guard info.isDeviceBound else { return outer }
        guard let device, deviceID == info.device else {
            throw VaultError(.deviceBound, "this secret is bound to another device (\(Hex.encode(info.device.bytes)))")
        }
        let inner = outer.withUnsafeBytes { Array($0) }
        let deviceKey = DeviceKey.derive(device.secret, vault: vault)
        do throws(CryptoError) {
            return try AEAD.unwrap(inner, innerData(vault, info), key: deviceKey)
        } catch {
            throw VaultError(
                .deviceBound, "this secret can be read only with its device's secret, but a different one was given")
        }
    }

    /// Opens the outer layer: returns the compartment key or, for a device-bound compartment, the inner layer, which is
    /// not secret by itself.
    static func outerOpened(_ info: Keyring.Compartment, _ groupKey: borrowing Secret, _ vault: Bytes16)
        throws(VaultError) -> Secret
    {
        try opening("the key of a compartment") { () throws(CryptoError) in
            try AEAD.unwrap(info.wrapped, outerData(vault, info), key: groupKey)
        }
    }

    /// Wraps a compartment key or an inner layer in the outer layer.
    static func wrapOuter(
        _ info: inout Keyring.Compartment, _ content: borrowing Secret, _ groupKey: borrowing Secret, _ vault: Bytes16,
        _ random: Randomness
    ) {
        info.wrapped = AEAD.wrap(content, outerData(vault, info), key: groupKey, random)
    }

    /// Wraps a compartment key in the layers that the compartment requires.
    static func wrap(
        _ info: inout Keyring.Compartment, _ key: borrowing Secret, _ groupKey: borrowing Secret, device: SecretBox?,
        _ vault: Bytes16,
        _ random: Randomness
    ) {
        guard info.isDeviceBound, let device else {
            wrapOuter(&info, key, groupKey, vault, random)
            return
        }
        let deviceKey = DeviceKey.derive(device.secret, vault: vault)
        let inner = AEAD.wrap(key, innerData(vault, info), key: deviceKey, random)
        wrapOuter(&info, Secret(bytes: inner), groupKey, vault, random)
    }

    private static func groupData(_ vault: Bytes16, _ number: UInt64, _ name: String) -> [UInt8] {
        var out = Bound.bytes(Label.group, vault.bytes)
        out.append(u64: number)
        out.append(contentsOf: name.utf8)
        return out
    }

    /// Returns the data that the outer layer is bound to: `A` of section 5.4.
    private static func outerData(_ vault: Bytes16, _ info: Keyring.Compartment) -> [UInt8] {
        var out = Bound.bytes(Label.compartment, vault.bytes)
        out.append(u64: info.number)
        out.append(u64: info.group)
        out.append(info.accessibility)
        out.append(info.device)
        return out
    }

    /// Returns the data that the inner layer is bound to: `A'` of section 5.4, without the group.
    private static func innerData(_ vault: Bytes16, _ info: Keyring.Compartment) -> [UInt8] {
        var out = Bound.bytes(Label.deviceCompartment, vault.bytes)
        out.append(u64: info.number)
        out.append(info.accessibility)
        out.append(info.device)
        return out
    }
}
