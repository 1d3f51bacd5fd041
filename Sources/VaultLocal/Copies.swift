package import VaultFmt

extension Machine {
    /// Opens another copy of an open vault with the key that opened the vault. The user is not asked for a passphrase
    /// and no key is derived, whatever the copy's header contains.
    ///
    /// `isWatched` determines whether the copy is compared with the state that this machine remembers, and is then
    /// remembered itself; if two copies have diverged, one of them would be refused. Throws the same errors as `open`,
    /// and `noSuchSlot` or `noSlotOpens` if that key does not open the copy.
    package func openCopy(
        _ path: String, of vault: Vault, options: consuming OpenOptions, isWatched: Bool
    ) throws(VaultError) -> Vault {
        var options = options
        if !options.hasDevice { options.device = deviceFile.loadIfSound() }
        return try Vault.open(
            path, kept: try vault.keptKey(), of: vault.id, options: options, place: isWatched ? watched : unwatched)
    }
}
