internal import VaultBytes
package import VaultCrypto

extension Store {
    /// Moves to the newest committed state of the file that the path names now. True if that is another than before. A state that does not come from the
    /// current one is refused, and this one kept.
    package func refresh() throws(VaultError) -> Bool {
        let before = state
        if try isReplaced() {
            adopt(try reopened())
        } else if try isOutdated() {
            let found = try finder.newest()
            try requireDescent(of: found.state, past)
            if found.state.commit.keyring != state.commit.keyring {
                keyring = try Store.readKeyring(found.state.commit.keyring, pages)
            }
            state = found.state
            commitFrame = found.frame
            tail = found.tail
            incomplete = found.incomplete
        }
        return state != before
    }

    /// Opens a slot anew, in the file that the path names now: the factors may have been changed since this handle was opened.
    package func unlock(_ factors: borrowing FactorKeys, _ limits: ReaderLimits) throws(VaultError) {
        let current = try isReplaced() ? fileSystem.open(path, writable: isWritable) : file
        let (header, bytes) = try readHeaderOfSameVault(current)
        let opened = try SlotOpener.open(header, bytes, factors, limits)
        let loaded = try Store.load(current, header, bytes, opened, place)
        try requireDescent(of: loaded.found.state, loaded.past)
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

    /// Whether the file is not as it was left: longer, shorter, with a tail, or, as after a copy over it, with another commit at its end.
    private func isOutdated() throws(VaultError) -> Bool {
        guard tail == .clean else { return true }
        return try !finder.isNewest(state.commit, commitFrame)
    }

    private func reopened() throws(VaultError) -> Loaded {
        let file = try fileSystem.open(path, writable: isWritable)
        let (header, bytes) = try readHeaderOfSameVault(file)
        let opened = try reopenedSlot(header)
        do throws(VaultError) { try HeaderSeal.check(header, bytes, opened.keys) } catch {
            throw VaultError(.noSlotOpens, "the vault's keys were replaced, or its header altered: open it again")
        }
        let loaded = try Store.load(file, header, bytes, opened, place)
        try requireDescent(of: loaded.found.state, loaded.past)
        return loaded
    }

    private func readHeaderOfSameVault(_ file: any FileHandle) throws(VaultError) -> (Header, [UInt8]) {
        let (header, bytes) = try Store.readHeader(file)
        guard header.id == self.header.id else { throw VaultError(.tampered, "\(path) is now another vault") }
        return (header, bytes)
    }

    /// The keys under the file's new header: an owner derives them, a scoped holder opens the slot again.
    private func reopenedSlot(_ header: Header) throws(VaultError) -> OpenedSlot {
        if let vaultKey = slot.keys.vaultKey() {
            let keys = VaultKeys(vaultKey: vaultKey, epoch: header.epoch.bytes)
            return OpenedSlot(id: slot.id, keys: keys, wrappingKey: slot.wrappingKey.copy(), grants: Grants())
        }
        guard let same = header.slots.first(where: { $0.id == slot.id }), slot.wrappingKey.count > 0 else {
            throw VaultError(.noSlotOpens, "the slot that opened this vault was removed")
        }
        var opened = try SlotOpener.open(same, header, wrappingKey: slot.wrappingKey.copy())
        opened.grants = try SlotOpener.grants(same, header.id, wrappingKey: opened.wrappingKey)
        return opened
    }

    /// What was served once must be in the past of what is served now.
    private func requireDescent(of new: CommittedState, _ past: StatePast) throws(VaultError) {
        guard new != state else { return }
        switch try past.ancestry(of: new, generation: state.commit.generation, chain: state.chain) {
        case .same, .descends, .unprovable: return
        case .older:
            throw VaultError(.rolledBack, "the vault went back from generation \(state.commit.generation) to \(new.commit.generation)")
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
