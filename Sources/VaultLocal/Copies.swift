package import VaultFmt

extension Machine {
    /// Opens another copy of an open vault with the key that opened the vault. The user is not asked for a passphrase
    /// and no key is derived, regardless of the copy's header.
    ///
    /// If `isWatched` is true, the copy is compared with the state that this machine remembers, and is then remembered
    /// itself; a diverged copy would be refused. Throws the same errors as `open`, and `noSuchSlot` or `noSlotOpens` if
    /// that key does not open the copy.
    package func openCopy(
        _ path: String, of vault: Vault, options: consuming OpenOptions, isWatched: Bool
    ) throws(VaultError) -> Vault {
        var options = options
        if !options.hasDevice { options.device = deviceFile.loadIfSound() }
        return try Vault.open(
            path, kept: try vault.keptKey(), of: vault.id, options: options, place: isWatched ? watched : unwatched)
    }

    /// Compares a backup with the state that this machine remembers for the place where the backup will be restored.
    /// The state remembered for the backup's own place is ignored, because it may be from before a rotation. The backup
    /// may be older or from another branch.
    ///
    /// Throws `foreignOwner` if the place contained another vault, or a vault with other owners; `memoryDamaged`, `io`.
    package func checkBackup(_ backup: Vault, for path: String) throws(VaultError) {
        let path = try place.fileSystem.resolve(path)
        let (known, isFirst) = try seen(backup.id, at: path)
        if isFirst, let other = try memory.remembered.other(than: backup.id, at: path) {
            throw VaultError(
                .foreignOwner,
                "this is another vault (\(backup.id)), not the one that this machine has seen there (\(other.vault))")
        }
        for state in known {
            do throws(VaultError) {
                try backup.withStore { (store) throws(VaultError) in _ = try state.judge(store.watched) }
            } catch {
                guard [.rolledBack, .forked].contains(error.code) else { throw error }
            }
        }
    }

    /// Returns the remembered states of a vault for a place or, if there are none, its newest state for any place.
    private func seen(
        _ vault: VaultID, at path: String
    ) throws(VaultError) -> (states: [RememberedState], isFirst: Bool) {
        var (here, newest): ([RememberedState], [RememberedState]) = ([], [])
        for isOwner in [true, false] {
            if let state = try memory.state(of: vault, at: path, isOwner: isOwner) { here.append(state) }
            if let state = try memory.remembered.newest(vault, isOwner: isOwner) { newest.append(state) }
        }
        return here.isEmpty ? (newest, true) : (here, false)
    }
}
