/// The keys that who opened a slot holds (section 3.3): all of them with a full slot, the first three with a scoped one.
package struct VaultKeys: ~Copyable, Sendable {
    package let index: Secret
    package let locator: Secret
    package let reader: Secret
    package let owner: OwnerKeys?

    /// For who holds the vault key.
    package init(vaultKey: consuming Secret, epoch: [UInt8]) {
        index = vaultKey.derive("vaultfmt-1 index", epoch)
        locator = index.derive("vaultfmt-1 locator")
        reader = vaultKey.derive("vaultfmt-1 reader", epoch)
        owner = OwnerKeys(vaultKey: vaultKey, epoch: epoch)
    }

    /// For who holds a scoped slot's payload.
    package init(index: consuming Secret, reader: consuming Secret) {
        self.index = index
        locator = self.index.derive("vaultfmt-1 locator")
        self.reader = reader
        owner = nil
    }

    /// The same without what a locked vault must not hold.
    package borrowing func withoutOwner() -> VaultKeys { VaultKeys(index: index.copy(), reader: reader.copy()) }

    /// Tells keys apart, and tells nothing else about them.
    package borrowing func fingerprint(vault: [UInt8]) -> [UInt8] {
        let output =
            switch owner {
            case .some(let owner): vault.withUnsafeBytes { owner.vault.mac("vaultfmt-1 fingerprint", $0) }
            case .none: vault.withUnsafeBytes { index.mac("vaultfmt-1 fingerprint", $0) }
            }
        return withUnsafeBytes(of: output) { Array($0[..<16]) }
    }

    package var isOwner: Bool {
        borrowing get {
            switch owner {
            case .some: true
            case .none: false
            }
        }
    }
}

/// What only a full slot gives.
package struct OwnerKeys: ~Copyable, Sendable {
    package let vault: Secret
    package let mac: Secret
    package let slotOwner: Secret
    package let keyring: Secret

    package init(vaultKey: consuming Secret, epoch: [UInt8]) {
        mac = vaultKey.derive("vaultfmt-1 owner", epoch)
        slotOwner = vaultKey.derive("vaultfmt-1 slot owner")
        keyring = vaultKey.derive("vaultfmt-1 keyring")
        vault = vaultKey
    }
}

/// The secret of one device, which is kept outside of vaults.
package enum DeviceKey {
    package static func derive(_ secret: borrowing Secret, vault: [UInt8]) -> Secret {
        secret.derive("vaultfmt-1 device", vault)
    }
}
