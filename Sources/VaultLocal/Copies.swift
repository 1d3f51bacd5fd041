package import VaultFmt

extension Machine {
    /// Opens another copy of a vault that is open, with the key that opened that one: nothing is asked for, and no key
    /// is derived, whatever the copy's header says.
    ///
    /// - Parameter isWatched: Whether it is compared with what this machine remembers, and remembered. Of two copies
    ///   that went apart, one would be refused.
    /// - Throws: As `open` does; `noSuchSlot` and `noSlotOpens` if that key does not open it.
    package func openCopy(
        _ path: String, of vault: Vault, options: consuming OpenOptions, isWatched: Bool
    ) throws(VaultError) -> Vault {
        var options = options
        if !options.hasDevice { options.device = deviceFile.loadIfSound() }
        return try Vault.open(
            path, kept: try vault.keptKey(), of: vault.id, options: options, place: isWatched ? watched : place)
    }
}
