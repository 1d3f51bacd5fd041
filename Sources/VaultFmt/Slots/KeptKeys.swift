package import VaultBytes

/// What opens a vault again without its factors: `VaultLocal` keeps it, in the kernel's keyring.
extension Vault {
    /// The slot that opened this vault and its wrapping key. Throws `locked`.
    package func keptKey() throws(VaultError) -> KeptKey {
        try withCore { (core) throws(VaultError) in
            guard !core.isLocked else { throw VaultError(.locked, "the vault is locked") }
            return KeptKey(slot: core.store.slot.id, wrappingKey: core.store.slot.wrappingKey.copy())
        }
    }

    /// Opens a vault with what `keptKey` returned. Throws as `open` does, and `noSuchSlot` if the slot is gone.
    package static func open(
        _ path: String, kept key: borrowing KeptKey, of vault: VaultID, options: consuming OpenOptions,
        place: Store.Place
    ) throws(VaultError) -> Vault {
        let store = try Store.open(
            path, writable: options.writable, kept: key, vault: vault.bytes, place: options.asked(at: place))
        return try Vault(opened: store, options: options)
    }

    /// The id that a file's header shows; nothing of it is authenticated.
    package static func id(at path: String, place: Store.Place = Store.Place()) throws(VaultError) -> VaultID {
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        return VaultID(try Store.readHeader(file).0.id)
    }

    /// Whether the state that is read has this slot.
    package func has(slot: Bytes16) throws(VaultError) -> Bool {
        try withCore { (core) throws(VaultError) in core.store.header.slots.contains { $0.id == slot } }
    }
}
