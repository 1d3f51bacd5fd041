public import VaultFmt
internal import VaultStore

/// Vaults that were opened once and stay open to every process of the same user, for a while.
///
/// What opens the slot again is kept in the user's keyring in the Linux kernel (keyrings(7)): in no file and no
/// environment variable, never swapped out, and wiped when its time is up. Any process of the same user can take it
/// from there. All of these throw `noKernelKeyring` where the system has none, as in most containers.
extension Machine {
    /// Keeps a vault unlocked for so many seconds, from now on: `openUnlocked` opens it without factors. It ends early
    /// when its slot is seen to be removed or changed.
    ///
    /// Throws `locked`, `invalidArgument` for 0 seconds.
    public static func keepUnlocked(_ vault: Vault, seconds: UInt32) throws(VaultError) {
        guard seconds > 0 else { throw VaultError(.invalidArgument, "a key is kept for 1 second at least") }
        try KernelKeyring.keep(try vault.keptKey(), vault: vault.id, path: vault.path, seconds: seconds)
    }

    /// What `lock` found.
    public enum Locked: Sendable, Hashable {
        /// It was unlocked until now.
        case wasUnlocked
        /// It was not.
        case wasNotUnlocked
        /// Nothing is kept here, which says little: a user namespace has keyrings of its own.
        case unknown
    }

    /// Ends what `keepUnlocked` began: for the vault in this file, and for the one that was unlocked in it, whatever is
    /// there now. Handles that are open stay so.
    ///
    /// Throws what reading the file throws where nothing was unlocked under this name.
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

    /// Ends it for all vaults of this user; returns how many were unlocked, nil where that says little
    /// (``Locked/unknown``).
    @discardableResult
    public static func lockAll() throws(VaultError) -> Int? {
        let count = try KernelKeyring.dropAll()
        return count == 0 && KernelKeyring.isApart ? nil : count
    }

    /// Takes a key away whose slot the vault has no longer: it opens nothing but older copies. True if there was one.
    ///
    /// Opening does this; call it after slots were changed or removed.
    @discardableResult
    public func dropKeptKeyIfGone(_ vault: Vault) -> Bool {
        do throws(VaultError) {
            guard let key = try KernelKeyring.find(vault: vault.id), try !vault.has(slot: key.slot) else {
                return false
            }
            return try KernelKeyring.drop(vault: vault.id)
        } catch {
            // Without a keyring nothing is kept.
            if error.code != .noKernelKeyring {
                announcer.warning("what 'vaultfmt unlock' keeps could not be taken away: \(error.description)")
            }
            return false
        }
    }
}
