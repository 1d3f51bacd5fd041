package import VaultBytes
package import VaultCrypto

/// The id and wrapping key of a slot. Together with the file, they open the slot without its factors.
package struct KeptKey: ~Copyable {
    package let slot: Bytes16
    package let wrappingKey: Secret

    package init(slot: Bytes16, wrappingKey: consuming Secret) {
        self.slot = slot
        self.wrappingKey = wrappingKey
    }
}

extension Store {
    /// Opens the file at `path` with a stored key for this vault. The checks are the same as when the file is opened
    /// with factors.
    ///
    /// Throws `noSuchSlot` if the file no longer has the slot, `noSlotOpens` if the key does not belong to the slot, or
    /// any error that can occur when a file is opened.
    package static func open(
        _ path: String, writable: Bool, kept key: borrowing KeptKey, vault: Bytes16, place: Place
    ) throws(VaultError) -> Store {
        let (id, wrappingKey) = (key.slot, SecretBox(key.wrappingKey.copy()))
        return try opening(path, writable: writable, place: place) { (header, bytes) throws(VaultError) in
            guard header.id == vault else { throw VaultError(.noSlotOpens, "\(path) is now a different vault") }
            guard let slot = header.slots.first(where: { $0.id == id }) else {
                throw VaultError(.noSuchSlot, "the slot that was unlocked no longer exists")
            }
            do throws(VaultError) {
                _ = try SlotOpener.open(slot, header, wrappingKey: wrappingKey.secret.copy())
            } catch {
                throw VaultError(.noSlotOpens, "the key kept for this vault does not open its slot")
            }
            return try SlotOpener.open(slot, header, bytes, wrappingKey: wrappingKey.secret.copy())
        }
    }
}
