public import VaultFmt
internal import VaultStore

/// Keeps vaults unlocked for a limited time, for all processes running as the same user.
///
/// The key that opens the slot again is kept in the user's keyring in the Linux kernel (keyrings(7)). It is not stored
/// in a file or an environment variable, is never swapped out, and is wiped when it expires. Any process running as the
/// same user can read it. All of these functions throw `noKernelKeyring` if the system has no such keyring, as in most
/// containers.
extension Machine {
    /// Keeps a vault unlocked for a number of seconds from now, during which `openUnlocked` opens the vault without
    /// factors. The period ends early if the slot is found to be removed or changed.
    ///
    /// Throws `locked`, and `invalidArgument` for 0 seconds.
    public static func keepUnlocked(_ vault: Vault, seconds: UInt32) throws(VaultError) {
        guard seconds > 0 else {
            throw VaultError(.invalidArgument, "a vault must be kept unlocked for at least 1 second")
        }
        try KernelKeyring.keep(try vault.keptKey(), vault: vault.id, path: vault.path, seconds: seconds)
    }

    /// Returns the time until which a vault is kept unlocked, in seconds since 1970; nil if the vault is not kept
    /// unlocked. This does not open the vault.
    public static func unlockedUntil(_ vault: VaultID) throws(VaultError) -> UInt64? {
        try KernelKeyring.end(vault: vault)
    }

    /// Returns the time until which a vault is kept unlocked; nil also if the stored key belongs to a slot other than
    /// the one that opened the vault.
    package static func unlockedUntil(asOpened vault: Vault) throws(VaultError) -> UInt64? {
        try KernelKeyring.end(vault: vault.id, slot: try vault.keptKey().slot)
    }

    /// The result of `lock`.
    public enum Locked: Sendable, Hashable {
        /// The vault was unlocked.
        case wasUnlocked
        /// The vault was not unlocked.
        case wasNotUnlocked
        /// No key was found, which is inconclusive because a user namespace has its own keyrings.
        case unknown
    }

    /// Reverses `keepUnlocked` for the vault in this file, and for any vault that was unlocked under this path. Open
    /// handles are not affected.
    ///
    /// If no vault was unlocked under this path, errors in reading the file are thrown.
    @discardableResult
    public static func lock(_ path: String) throws(VaultError) -> Locked {
        let place = Store.Place()
        var resolved = path
        var failure: VaultError?
        var dropped = 0
        do throws(VaultError) {
            resolved = try place.fileSystem.resolve(path)
            if try KernelKeyring.drop(vault: try Vault.id(at: path, place: place)) { dropped += 1 }
        } catch {
            guard error.code != .noKernelKeyring else { throw error }
            failure = error
        }
        dropped += try KernelKeyring.drop(path: resolved)
        if dropped > 0 { return .wasUnlocked }
        if let failure { throw failure }
        return KernelKeyring.isApart ? .unknown : .wasNotUnlocked
    }

    /// Locks all vaults of this user. Returns how many were unlocked; nil if that is unknown (``Locked/unknown``).
    @discardableResult
    public static func lockAll() throws(VaultError) -> Int? {
        let count = try KernelKeyring.dropAll()
        return count == 0 && KernelKeyring.isApart ? nil : count
    }

    /// Removes the stored key if it no longer opens its slot in the vault, because the key would then open only older
    /// copies. Returns true if a key was removed.
    ///
    /// Opening the vault at the path where it was unlocked does this as well; call this after slots were changed or
    /// removed.
    @discardableResult
    public func dropKeptKeyIfGone(_ vault: Vault) -> Bool { dropKeptKeyIfGone(vault, unlockedAt: nil) }

    /// Removes an outdated key; if a path is given, only if the key was stored for this path, because a copy at another
    /// path may be older.
    @discardableResult
    func dropKeptKeyIfGone(_ vault: Vault, unlockedAt path: String?) -> Bool {
        do throws(VaultError) {
            guard let key = try KernelKeyring.find(vault: vault.id), try !vault.isOpened(by: key) else {
                return false
            }
            guard let path else { return try KernelKeyring.drop(vault: vault.id) }
            return try KernelKeyring.drop(vault: vault.id, unlockedAt: path)
        } catch {
            // Without a keyring, no key is stored.
            if error.code != .noKernelKeyring {
                announcer.warning("the key stored by 'vaultfmt unlock' could not be removed: \(error.description)")
            }
            return false
        }
    }
}
