internal import VaultBytes
package import VaultCrypto

extension Store {
    /// Moves to the newest committed state of the file that the path now names. Returns true if the state changed. A
    /// state that does not descend from the current one is refused, and the current state remains in use.
    package func refresh() throws(VaultError) -> Bool {
        // If another process records a newer state during this call, the state found here can seem outdated. Try again
        // if states are remembered.
        guard watch != nil else { return try refreshOnce() }
        for _ in 1..<Self.mostAttempts {
            do throws(VaultError) { return try refreshOnce() } catch {
                guard Self.mayBeLate(error) else { throw error }
            }
        }
        return try refreshOnce()
    }

    private func refreshOnce() throws(VaultError) -> Bool {
        let before = state
        let admit = try watch?.recall(vault, path)
        if try isReplaced() {
            adopt(try reopened(admit))
        } else if try isOutdated() {
            let found = try finder.newest()
            let ring =
                found.state.commit.keyring == state.commit.keyring
                ? keyring : try Store.readKeyring(of: found.state.commit, pages, header)
            try require(found.state == state ? watched : served(found.state, ring), admit)
            keyring = ring
            state = found.state
            commitFrame = found.frame
            tail = found.tail
            incomplete = found.incomplete
        } else {
            // The file may have been restored to this state after other processes continued from it and recorded the
            // result.
            _ = try admit?(watched)
        }
        return state != before
    }

    /// Opens a slot of the file that the path now names. Its factors may have changed since this handle was opened.
    package func unlock(
        _ factors: borrowing FactorKeys, _ limits: ReaderLimits, external: (any SlotFactor)? = nil
    ) throws(VaultError) {
        let admit = try watch?.recall(vault, path)
        let current = try isReplaced() ? fileSystem.open(path, writable: isWritable) : file
        let (header, bytes) = try readHeaderOfSameVault(current)
        let opened = try SlotOpener.open(header, bytes, factors, limits, external: external)
        try Store.requireOwner(opened, place.owner)
        let loaded = try Store.load(current, header, bytes, opened, place)
        try require(candidate(loaded), admit)
        adopt(loaded)
    }

    /// Returns whether the path now names a different file.
    func isReplaced() throws(VaultError) -> Bool {
        guard let current = try fileSystem.identity(of: path) else {
            throw VaultError(.noSuchFile, "\(path) no longer exists")
        }
        let own: FileIdentity
        if let fileIdentity { own = fileIdentity } else { own = try file.identity() }
        fileIdentity = own
        return !current.isSameFile(as: own)
    }

    /// Returns whether the path names this file, and the file ends with the current state.
    package func isInPlace() throws(VaultError) -> Bool {
        guard try fileSystem.identity(of: path) != nil, try !isReplaced() else { return false }
        return try finder.isNewest(state.commit, commitFrame)
    }

    /// Returns whether the file has changed since it was last read: its length differs, it has a tail, or it ends with
    /// a different commit because another file was copied over it.
    private func isOutdated() throws(VaultError) -> Bool {
        guard tail == .clean else { return true }
        return try !finder.isNewest(state.commit, commitFrame)
    }

    private func reopened(_ admit: StateWatch.Admission?) throws(VaultError) -> Loaded {
        let file = try fileSystem.open(path, writable: isWritable)
        let (header, bytes) = try readHeaderOfSameVault(file)
        let opened = try reopenedSlot(header)
        do throws(VaultError) { try HeaderSeal.check(bytes, opened.keys) } catch {
            throw VaultError(.noSlotOpens, "the vault's keys were replaced, or its header was altered; open it again")
        }
        let loaded = try Store.load(file, header, bytes, opened, place)
        try require(candidate(loaded), admit)
        return loaded
    }

    private func readHeaderOfSameVault(_ file: any FileHandle) throws(VaultError) -> (Header, [UInt8]) {
        let (header, bytes) = try Store.readHeader(file)
        guard header.id == self.header.id else { throw VaultError(.tampered, "\(path) is now a different vault") }
        return (header, bytes)
    }

    /// Returns the keys for a header. An owner's keys are derived, even if the slot has changed; a scoped slot is
    /// opened again.
    func reopenedSlot(_ header: Header) throws(VaultError) -> OpenedSlot {
        if let vaultKey = slot.keys.vaultKey() {
            let keys = VaultKeys(vaultKey: vaultKey, epoch: header.epoch)
            return OpenedSlot(id: slot.id, keys: keys, wrappingKey: slot.wrappingKey.copy(), grants: Grants())
        }
        guard let same = header.slots.first(where: { $0.id == slot.id }), slot.wrappingKey.count > 0 else {
            throw VaultError(.noSlotOpens, "the slot that opened this vault was removed")
        }
        return try SlotOpener.open(same, header, wrappingKey: slot.wrappingKey.copy())
    }

    /// Returns a newer state of the open file, under the current keys.
    private func served(_ new: CommittedState, _ keyring: Keyring) -> WatchedState {
        WatchedState(
            state: new, vault: vault, ownersPublicKey: ownersPublicKey, isOwner: slot.keys.isOwner, keyring: keyring,
            header: header, past: past, knownVector: nil, fileSystem: fileSystem, path: path, isSynced: false)
    }

    /// Throws unless the new state descends from the current state and from the state that the machine remembers.
    private func require(_ candidate: WatchedState, _ admit: StateWatch.Admission?) throws(VaultError) {
        let new = candidate.state
        switch new == state ? .same : try candidate.verdict(on: try watched.point()) {
        case .same, .descends: _ = try admit?(candidate)
        case .foreign:
            throw VaultError(
                .foreignOwner, "the vault now belongs to other owners, and nothing proves that it was handed over")
        case .older:
            throw VaultError(
                .rolledBack,
                "the vault was rolled back from generation \(state.commit.generation) to \(new.commit.generation)")
        case .forked:
            throw VaultError(.forked, "the vault lacks changes that this program has read, and has others instead")
        }
    }
}

extension VaultKeys {
    /// Returns a copy of the vault key, or nil if these are not an owner's keys.
    package borrowing func vaultKey() -> Secret? {
        switch owner {
        case .some(let owner): owner.vault.copy()
        case .none: nil
        }
    }
}
