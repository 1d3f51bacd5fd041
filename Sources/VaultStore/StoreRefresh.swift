package import VaultBytes
package import VaultCrypto

extension Store {
    /// Moves to the newest committed state of the file that the path names now. True if that is another than before.
    package func refresh() throws(VaultError) -> Bool {
        let before = state
        if try isReplaced() {
            try reopen()
        } else {
            guard try file.size() != state.commit.end || tail != .clean else { return false }
            let found = try finder.newest()
            if found.state.commit.keyring != state.commit.keyring { keyring = try Store.readKeyring(found.state.commit.keyring, pages) }
            state = found.state
            tail = found.tail
            incomplete = found.incomplete
        }
        guard state != before else { return false }
        try requireDescent(from: before)
        return true
    }

    /// Whether another file stands at the path.
    func isReplaced() throws(VaultError) -> Bool {
        guard let current = try fileSystem.identity(of: path) else {
            throw VaultError(.noSuchFile, "\(path) is no longer there")
        }
        return !current.isSameFile(as: try file.identity())
    }

    private func reopen() throws(VaultError) {
        let file = try fileSystem.open(path, writable: isWritable)
        let (header, bytes) = try Store.readHeader(file)
        guard header.id == self.header.id else { throw VaultError(.tampered, "\(path) is now another vault") }
        let opened = try reopenedSlot(header)
        do throws(VaultError) { try HeaderSeal.check(header, bytes, opened.keys) } catch {
            throw VaultError(.noSlotOpens, "the vault's keys were replaced, or its header altered: open it again")
        }
        adopt(try Store.load(file, header, bytes, opened, place))
    }

    /// Opens a slot anew, in the file that the path names now: the factors may have been changed since this handle was opened.
    package func unlock(_ factors: borrowing FactorKeys, _ limits: ReaderLimits) throws(VaultError) {
        let before = state
        let current = try isReplaced() ? fileSystem.open(path, writable: isWritable) : file
        let (header, bytes) = try Store.readHeader(current)
        guard header.id == self.header.id else { throw VaultError(.tampered, "\(path) is now another vault") }
        let opened = try SlotOpener.open(header, bytes, factors, limits)
        adopt(try Store.load(current, header, bytes, opened, place))
        if state != before { try requireDescent(from: before) }
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
    private func requireDescent(from before: CommittedState) throws(VaultError) {
        switch try ancestry(generation: before.commit.generation, chain: before.chain) {
        case .same, .descends, .unprovable: return
        case .older:
            throw VaultError(.rolledBack, "the vault went back from generation \(before.commit.generation) to \(state.commit.generation)")
        case .forked:
            throw VaultError(.forked, "the vault's past is no longer the one that this program has read")
        }
    }
}

/// How a remembered state stands to the current one (section 7.2).
package enum Ancestry: Sendable, Equatable {
    case same
    case descends
    case older
    case forked
    case unprovable
}

extension Store {
    /// Walks back from the current state to a generation, through the file and then its history.
    package func ancestry(generation: UInt64, chain: Bytes32) throws(VaultError) -> Ancestry {
        guard generation <= state.commit.generation else { return .older }
        var current = state
        while current.commit.generation > generation {
            guard current.commit.previous != 0 else { return try ancestryInHistory(generation, chain, before: current) }
            current = try predecessor(of: current)
        }
        if current.chain != chain { return .forked }
        return current == state ? .same : .descends
    }

    /// The commit before another one in the file.
    package func predecessor(of current: CommittedState) throws(VaultError) -> CommittedState {
        guard let before = try finder.read(at: current.commit.previous)?.state, finder.precedes(before, current) else {
            throw VaultError(
                .authenticationFailed, "the commit before generation \(current.commit.generation) is damaged", at: current.commit.previous)
        }
        return before
    }

    private func ancestryInHistory(_ generation: UInt64, _ chain: Bytes32, before first: CommittedState) throws(VaultError) -> Ancestry {
        var value = chain
        var next = generation + 1
        if next < first.commit.generation {
            guard let history = try history(), history.first <= next, history.end == first.commit.generation else { return .unprovable }
            while next < first.commit.generation {
                value = Chain.value(vault: vault, generation: next, previous: value, link: history.links[Int(next - history.first)])
                next += 1
            }
        }
        return value == first.commit.previousChain ? .descends : .forked
    }

    /// The links from before the file's first commit.
    package func history() throws(VaultError) -> History? {
        guard let ref = state.commit.history else { return nil }
        let body = try pages.open(try FrameReader.read(ref, .history, file), .history, at: ref.offset)
        return try decoding { () throws(FormatError) in try History(body.span, at: ref.offset) }
    }

    /// The links to be kept by a file that starts after the current state.
    package func historyForCompaction() throws(VaultError) -> History {
        var links: [Bytes32] = [state.link]
        var current = state
        while current.commit.previous != 0, links.count < Format.Limit.links {
            current = try predecessor(of: current)
            links.append(current.link)
        }
        if links.count < Format.Limit.links, let history = try history(), history.end == current.commit.generation {
            links += history.links.suffix(Format.Limit.links - links.count).reversed()
        }
        return History(first: state.commit.generation + 1 - UInt64(links.count), links: links.reversed())
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
