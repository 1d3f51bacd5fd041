internal import VaultBytes

/// Vaults that were opened once and stay open to every process of the same user, for a while.
///
/// What opens the slot again is kept in the user's keyring in the Linux kernel (keyrings(7)): in no file and no environment variable, never swapped out,
/// and wiped when its time is up. Any process of the same user can take it from there. All of these throw `noKernelKeyring` where the system has none, as
/// in most containers.
extension Vault {
    /// Keeps this vault open for so many seconds, from now on: `openKept` opens it without factors. It ends early if its slot is removed or changed.
    ///
    /// Throws `locked`, `invalidArgument` for 0 seconds.
    public func keepOpen(seconds: UInt32) throws(VaultError) {
        guard seconds > 0 else { throw VaultError(.invalidArgument, "a key is kept for 1 second at least") }
        try withCore { (core) throws(VaultError) in
            guard !core.isLocked else { throw VaultError(.locked, "the vault is locked") }
            let slot = KeptKey(slot: core.store.slot.id, wrappingKey: core.store.slot.wrappingKey.copy())
            try KernelKeyring.keep(slot, vault: core.store.vault, seconds: seconds)
        }
    }

    /// Opens a vault that is kept open; nil if it is not. Everything is authenticated as when it is opened with factors; what it grants is what its
    /// slot grants.
    ///
    /// Throws as `open` does, but for `noSlotOpens` and `kdfLimit`.
    public static func openKept(_ path: String, options: consuming OpenOptions = .init()) throws(VaultError) -> Vault? {
        guard let store = try Store.openKept(path, writable: options.writable, place: Store.Place()) else { return nil }
        return try Vault(opened: store, options: options)
    }

    /// Ends what `keepOpen` began, for the vault in this file; false if it is not kept open. Handles that are open stay so.
    @discardableResult
    public static func endKeeping(_ path: String) throws(VaultError) -> Bool {
        let place = Store.Place()
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        return try KernelKeyring.drop(vault: try Store.readHeader(file).0.id)
    }

    /// Ends it for all vaults of this user; returns how many were kept open.
    @discardableResult
    public static func endAllKeeping() throws(VaultError) -> Int { try KernelKeyring.dropAll() }
}
