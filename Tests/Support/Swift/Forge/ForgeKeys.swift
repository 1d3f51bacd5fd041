package import VaultBytes

/// All keys of one vault, as plain bytes (section 3.4).
package struct ForgeKeys: Sendable {
    package let vault: Bytes16
    package var vaultKey: [UInt8]
    package var index: [UInt8]
    package var locator: [UInt8]
    /// For the owner MAC.
    package var owner: [UInt8]
    package var signingSeed: [UInt8]
    package var slotOwner: [UInt8]
    package var keyring: [UInt8]
    /// Of group 0.
    package var earlier: [UInt8]
    /// Of pasts.
    package var past: [UInt8]
    /// By number; group 0 is not among them.
    package var groups: [UInt64: [UInt8]] = [:]
    /// By number.
    package var compartments: [UInt64: [UInt8]] = [:]
    /// Secrets of devices, by id.
    package var devices: [Bytes16: [UInt8]] = [:]

    package init(vault: Bytes16, vaultKey: [UInt8], epoch: Bytes32) {
        self.vault = vault
        self.vaultKey = vaultKey
        index = Plain.mac(vaultKey, "vaultfmt-1 index", epoch.bytes)
        locator = Plain.mac(vaultKey, "vaultfmt-1 locator", [])
        owner = Plain.mac(vaultKey, "vaultfmt-1 owner", [])
        signingSeed = Plain.mac(vaultKey, "vaultfmt-1 signing", [])
        slotOwner = Plain.mac(vaultKey, "vaultfmt-1 slot owner", [])
        keyring = Plain.mac(vaultKey, "vaultfmt-1 keyring", [])
        earlier = Plain.mac(vaultKey, "vaultfmt-1 earlier", [])
        past = Plain.mac(vaultKey, "vaultfmt-1 past", epoch.bytes)
    }

    /// The keys of anyone who opens a full slot of the header with these factors.
    package init(_ header: Header, _ factors: ForgeFactors) throws {
        for slot in header.slots where slot.kind == .full && slot.known != nil && slot.factors == factors.kinds {
            let key = try factors.slotKey(slot, header.id)
            guard ForgeFactors.commitment(key) == slot.commitment.bytes else { continue }
            let wrapping = ForgeFactors.wrappingKey(key)
            guard let vaultKey = Plain.open(slot.payload, key: wrapping, bound: Bindings.slot(header.id, slot)) else {
                break
            }
            self.init(vault: header.id, vaultKey: vaultKey, epoch: header.epoch)
            return
        }
        throw ForgeError("a forge needs a full slot")
    }

    package var publicKey: Bytes32 { Plain.publicKey(seed: signingSeed) }

    /// The key that seals the frames of a type, records aside.
    package func sealingKey(_ type: FrameType) -> [UInt8] { type == .past ? past : index }

    /// The key of a group, or of group 0.
    package func group(_ number: UInt64) -> [UInt8]? { number == Keyring.ownersGroup ? earlier : groups[number] }

    package func deviceKey(_ device: Bytes16) -> [UInt8]? {
        devices[device].map { Plain.mac($0, "vaultfmt-1 device", vault.bytes) }
    }

    /// Opens the groups and compartments of a keyring, as far as that is possible.
    package mutating func open(_ ring: Keyring) {
        for group in ring.groups {
            let bound = Bindings.group(vault, group.number, Array(group.name.utf8))
            if let key = Plain.open(group.wrapped, key: keyring, bound: bound) { groups[group.number] = key }
        }
        for compartment in ring.compartments {
            if let key = opened(compartment) { compartments[compartment.number] = key }
        }
    }

    private func opened(_ compartment: Keyring.Compartment) -> [UInt8]? {
        guard let key = group(compartment.group),
            let outer = Plain.open(compartment.wrapped, key: key, bound: Bindings.compartment(vault, compartment))
        else { return nil }
        guard compartment.isDeviceBound else { return outer }
        guard let deviceKey = deviceKey(compartment.device) else { return nil }
        return Plain.open(outer, key: deviceKey, bound: Bindings.deviceCompartment(vault, compartment))
    }
}
