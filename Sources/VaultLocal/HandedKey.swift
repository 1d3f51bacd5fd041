internal import VaultBytes
internal import VaultCrypto
package import VaultFmt
internal import VaultStore

/// The key of an opened slot, in the form in which one process of a program hands the key to another process. The other
/// process then opens the vault without deriving the key again.
package struct HandedKey: ~Copyable {
    /// The length of the encoding in bytes: it consists of the vault's id, the slot's id and the slot's wrapping key.
    package static let size = keyStart + Format.keySize
    private static let keyStart = 32

    let vault: VaultID
    let key: KeptKey

    /// Returns the encoded key of the slot that opened a vault. Throws `locked`.
    package static func encoded(_ vault: Vault) throws(VaultError) -> Secret {
        let key = try vault.keptKey()
        let ids = vault.id.bytes.bytes + key.slot.bytes
        var encoded = Secret(count: size)
        encoded.withUnsafeMutableBytes { out in
            out.copyBytes(from: ids)
            key.wrappingKey.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: out[keyStart...]).copyMemory(from: $0)
            }
        }
        return encoded
    }

    /// Decodes a key; returns nil unless there are exactly ``size`` bytes.
    package static func decoded(_ bytes: UnsafeRawBufferPointer) -> HandedKey? {
        guard bytes.count == size, let vault = Bytes16(Array(bytes[..<16])),
            let slot = Bytes16(Array(bytes[16..<keyStart]))
        else { return nil }
        let wrappingKey = Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[keyStart...]))
        return HandedKey(vault: VaultID(vault), key: KeptKey(slot: slot, wrappingKey: wrappingKey))
    }
}

extension Machine {
    /// Opens a vault with a key that another process hands over. The vault is compared with the state that this machine
    /// remembers, as in ``open(_:factors:options:)``.
    ///
    /// Throws the same errors as that function except `kdfLimit`, and `noSuchSlot` or `noSlotOpens` if the slot has
    /// since been removed or changed.
    package func open(
        _ path: String, handed key: borrowing HandedKey, options: consuming OpenOptions
    ) throws(VaultError) -> Vault {
        var options = options
        if !options.hasDevice { options.device = deviceFile.loadIfSound() }
        let vault = try Vault.open(path, kept: key.key, of: key.vault, options: options, place: watched)
        dropKeptKeyIfGone(vault, unlockedAt: vault.path)
        return vault
    }
}
