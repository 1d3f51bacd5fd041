internal import VaultBytes
package import VaultCrypto

extension Store {
    /// Moves to the newest committed state of the file that the path names now. True if that is another than before. A
    /// state that does not come from the current one is refused, and this one kept.
    package func refresh() throws(VaultError) -> Bool {
        // What another process remembers while this one looks can make it seem late: with a memory, it looks again.
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
        let admit = try watch?.recall(vault)
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
            // The file may be at a state that others went on from, and remembered, before it was put back.
            _ = try admit?(watched)
        }
        return state != before
    }

    /// Opens a slot again, in the file that the path names now: the factors may have been changed since this handle was
    /// opened.
    package func unlock(
        _ factors: borrowing FactorKeys, _ limits: ReaderLimits, external: (any SlotFactor)? = nil
    ) throws(VaultError) {
        let admit = try watch?.recall(vault)
        let current = try isReplaced() ? fileSystem.open(path, writable: isWritable) : file
        let (header, bytes) = try readHeaderOfSameVault(current)
        let opened = try SlotOpener.open(header, bytes, factors, limits, external: external)
        try Store.requireOwner(opened, place.owner)
        let loaded = try Store.load(current, header, bytes, opened, place)
        try require(candidate(loaded), admit)
        adopt(loaded)
    }

    /// Whether another file stands at the path.
    func isReplaced() throws(VaultError) -> Bool {
        guard let current = try fileSystem.identity(of: path) else {
            throw VaultError(.noSuchFile, "\(path) is no longer there")
        }
        let own: FileIdentity
        if let fileIdentity { own = fileIdentity } else { own = try file.identity() }
        fileIdentity = own
        return !current.isSameFile(as: own)
    }

    /// Whether the file is not as it was left: longer, shorter, with a tail, or, as after a copy over it, with another
    /// commit at its end.
    private func isOutdated() throws(VaultError) -> Bool {
        guard tail == .clean else { return true }
        return try !finder.isNewest(state.commit, commitFrame)
    }

    private func reopened(_ admit: StateWatch.Admission?) throws(VaultError) -> Loaded {
        let file = try fileSystem.open(path, writable: isWritable)
        let (header, bytes) = try readHeaderOfSameVault(file)
        let opened = try reopenedSlot(header)
        do throws(VaultError) { try HeaderSeal.check(bytes, opened.keys) } catch {
            throw VaultError(.noSlotOpens, "the vault's keys were replaced, or its header altered: open it again")
        }
        let loaded = try Store.load(file, header, bytes, opened, place)
        try require(candidate(loaded), admit)
        return loaded
    }

    private func readHeaderOfSameVault(_ file: any FileHandle) throws(VaultError) -> (Header, [UInt8]) {
        let (header, bytes) = try Store.readHeader(file)
        guard header.id == self.header.id else { throw VaultError(.tampered, "\(path) is now another vault") }
        return (header, bytes)
    }

    /// The keys under a header: an owner derives them, whatever became of its slot; a scoped holder opens the slot again.
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

    /// A newer state of the file that is open, under the keys that are held.
    private func served(_ new: CommittedState, _ keyring: Keyring) -> WatchedState {
        WatchedState(
            state: new, vault: vault, ownersPublicKey: ownersPublicKey, isOwner: slot.keys.isOwner, keyring: keyring,
            past: past,
            fileSystem: fileSystem, path: path, isSynced: false)
    }

    /// What was served once must be in the past of what is served now, and so must what the machine remembers.
    private func require(_ candidate: WatchedState, _ admit: StateWatch.Admission?) throws(VaultError) {
        let new = candidate.state
        let own = AnchorPoint(generation: state.commit.generation, chain: state.chain, ownersPublicKey: ownersPublicKey)
        switch new == state ? .same : try candidate.verdict(on: own) {
        case .same, .descends: _ = try admit?(candidate)
        case .unprovable:
            // The machine remembers a state between the two, which others of its programs have followed the vault to.
            guard let admit, try admit(candidate) else {
                throw VaultError(
                    .ancestryUnprovable,
                    "the vault went on by so much since generation \(state.commit.generation) that it no longer proves to continue it: open it again"
                )
            }
        case .foreign:
            throw VaultError(
                .foreignOwner, "the vault now belongs to other owners, and nothing shows that it was handed over")
        case .older:
            throw VaultError(
                .rolledBack,
                "the vault went back from generation \(state.commit.generation) to \(new.commit.generation)")
        case .forked:
            throw VaultError(.forked, "the vault's past is no longer the one that this program has read")
        }
    }
}

extension VaultKeys {
    /// A second holder of the vault key, for who has it.
    package borrowing func vaultKey() -> Secret? {
        switch owner {
        case .some(let owner): owner.vault.copy()
        case .none: nil
        }
    }
}
