package import VaultBytes
package import VaultCrypto
internal import VaultStore

/// What went wrong while a vault was taken apart or put together.
package struct ForgeError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// All keys of one vault, as plain bytes: a forge makes vaults for tests, and its keys are no secrets.
package struct ForgeKeys {
    package let vault: Bytes16
    package var vaultKey: [UInt8]
    package var index: [UInt8]
    package var locator: [UInt8]
    package var reader: [UInt8]
    package var owner: [UInt8]
    package var slotOwner: [UInt8]
    package var keyring: [UInt8]
    /// By number.
    package var groups: [UInt32: [UInt8]] = [:]
    /// By number.
    package var compartments: [UInt32: [UInt8]] = [:]
    /// Secrets of devices, by id.
    package var devices: [Bytes16: [UInt8]] = [:]

    package init(vault: Bytes16, vaultKey: [UInt8], epoch: Bytes32) {
        self.vault = vault
        self.vaultKey = vaultKey
        let keys = VaultKeys(vaultKey: Secret(bytes: vaultKey), epoch: epoch.bytes)
        index = keys.index.plain
        locator = keys.locator.plain
        reader = keys.reader.plain
        switch keys.owner {
        case .some(let secrets): (owner, slotOwner, keyring) = (secrets.mac.plain, secrets.slotOwner.plain, secrets.keyring.plain)
        case .none: preconditionFailure("who has the vault key is an owner")
        }
    }

    /// The keys of who opens a slot of the header with these factors; it must be a full one.
    package init(_ header: Header, _ bytes: [UInt8], _ factors: borrowing FactorKeys) throws {
        var limits = ReaderLimits()
        limits.memoryKiB = .max
        let slot = try SlotOpener.open(header, bytes, factors, limits)
        guard let vaultKey = slot.keys.vaultKey() else { throw ForgeError("a forge needs a full slot") }
        self.init(vault: header.id, vaultKey: vaultKey.plain, epoch: header.epoch)
    }

    /// Opens the groups and compartments of a keyring, as far as their devices are known.
    package mutating func open(_ ring: Keyring) throws {
        for group in ring.groups {
            groups[group.number] = try AEAD.unwrap(group.wrapped, Bound.group(vault, group), key: Secret(bytes: keyring)).plain
        }
        for compartment in ring.compartments {
            guard let key = groups[compartment.group] else { throw ForgeError("a compartment without a group") }
            let outer = try AEAD.unwrap(compartment.wrapped, Bound.compartment(vault, compartment), key: Secret(bytes: key))
            guard compartment.isDeviceBound else {
                compartments[compartment.number] = outer.plain
                continue
            }
            guard let secret = devices[compartment.device] else { continue }
            let deviceKey = DeviceKey.derive(Secret(bytes: secret), vault: vault.bytes)
            compartments[compartment.number] = try AEAD.unwrap(
                outer.plain, Bound.deviceCompartment(vault, compartment), key: deviceKey
            ).plain
        }
    }
}

/// What keys and slots are bound to, put together anew from the specification (sections 3.1 and 5.3).
package enum Bound {
    package static func label(_ text: String, _ vault: Bytes16) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) + vault.bytes }

    package static func group(_ vault: Bytes16, _ group: Keyring.Group) -> [UInt8] {
        var out = label("vaultfmt-1 group", vault)
        out.append(u32: group.number)
        return out + Array(group.name.utf8)
    }

    package static func compartment(_ vault: Bytes16, _ info: Keyring.Compartment) -> [UInt8] {
        compartment("vaultfmt-1 compartment", vault, info)
    }

    package static func deviceCompartment(_ vault: Bytes16, _ info: Keyring.Compartment) -> [UInt8] {
        compartment("vaultfmt-1 device compartment", vault, info)
    }

    private static func compartment(_ text: String, _ vault: Bytes16, _ info: Keyring.Compartment) -> [UInt8] {
        var out = label(text, vault)
        out.append(u32: info.number)
        out.append(u32: info.group)
        out.append(info.accessibility)
        out.append(info.device)
        return out
    }

    package static func slot(_ vault: Bytes16, _ slot: Slot) -> [UInt8] { label("vaultfmt-1 slot", vault) + slot.clear }
    package static func slotOwner(_ vault: Bytes16, _ slot: Slot) -> [UInt8] { label("vaultfmt-1 slot owner", vault) + slot.clear }
}

/// Sealing and MACs over plain bytes, with every input given.
package enum Plain {
    /// nonce ‖ sealed.
    package static func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8], bound: [UInt8]) -> [UInt8] {
        AEAD.wrap(Secret(bytes: plain), bound, key: Secret(bytes: key), .repeating(nonce))
    }

    /// `derive(key, label, x)`.
    package static func mac(_ key: [UInt8], _ label: String, _ x: [UInt8]) -> [UInt8] {
        var mac = Blake2b(key: Secret(bytes: key))
        mac.update([UInt8(label.utf8.count)] + Array(label.utf8) + x)
        return Bytes32(words: mac.finish()).bytes
    }
}

extension Secret {
    package borrowing func plainBytes() -> [UInt8] { withUnsafeBytes { Array($0) } }
    package var plain: [UInt8] { borrowing get { plainBytes() } }
}
