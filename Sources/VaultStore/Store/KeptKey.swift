package import VaultBytes
package import VaultCrypto

/// What opens a slot without its factors: its id and wrapping key. Worth nothing without the file.
package struct KeptKey: ~Copyable {
    package let slot: Bytes16
    package let wrappingKey: Secret

    package init(slot: Bytes16, wrappingKey: consuming Secret) {
        self.slot = slot
        self.wrappingKey = wrappingKey
    }
}

extension Store {
    /// Opens the file at `path` with a key kept for this vault. Everything is checked as with factors.
    ///
    /// Throws `noSuchSlot` where the file has no longer the slot, `noSlotOpens` where the key is not the slot's, and
    /// what opening throws.
    package static func open(
        _ path: String, writable: Bool, kept key: borrowing KeptKey, vault: Bytes16, place: Place
    ) throws(VaultError) -> Store {
        let (id, wrappingKey) = (key.slot, SecretBox(key.wrappingKey.copy()))
        return try opening(path, writable: writable, place: place) { (header, bytes) throws(VaultError) in
            guard header.id == vault else { throw VaultError(.noSlotOpens, "\(path) is now another vault") }
            guard let slot = header.slots.first(where: { $0.id == id }) else {
                throw VaultError(.noSuchSlot, "the slot that was unlocked is gone")
            }
            do throws(VaultError) {
                _ = try SlotOpener.open(slot, header, wrappingKey: wrappingKey.secret.copy())
            } catch {
                throw VaultError(.noSlotOpens, "what was kept for this vault does not open its slot")
            }
            return try SlotOpener.open(slot, header, bytes, wrappingKey: wrappingKey.secret.copy())
        }
    }
}
