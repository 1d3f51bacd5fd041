internal import VaultBytes
internal import VaultStore

/// One state of a vault, and what it changed.
public struct LogEntry: Sendable, Equatable {
    /// The state, which `Vault.changes(since:)` takes.
    public let state: Anchor
    /// When it was made: milliseconds since 1970-01-01T00:00:00Z by the clock of the machine that made it, or later
    /// where another machine's clock was ahead.
    public let time: Int64
    /// The devices that made its changes, as far as they have names.
    public let devices: [DeviceID]
    /// Whether it brought in another branch.
    public let isMerge: Bool
    /// What it changed; nil for the oldest state in the file, if that is not the vault's first.
    public let changes: VaultChanges?
}

extension Vault {
    /// The states in the file, the newest first: all since it was last compacted or rewritten.
    ///
    /// - Parameter limit: At most so many.
    /// - Throws: `authenticationFailed` where an earlier commit is damaged; what comes before it cannot be told.
    public func log(limit: Int = .max) throws(VaultError) -> [LogEntry] {
        try withCore { (core) throws(VaultError) in
            let store = core.store
            guard limit > 0 else { return [] }
            var states = [store.state]
            // One more, to compare the last one with.
            states += try store.past.states(before: store.state, most: limit)
            var out: [LogEntry] = []
            for (index, state) in states.prefix(limit).enumerated() {
                out.append(try core.entry(state, after: index + 1 < states.count ? states[index + 1] : nil))
            }
            return out
        }
    }
}

extension VaultCore {
    fileprivate func entry(_ state: CommittedState, after before: CommittedState?) throws(VaultError) -> LogEntry {
        var changes: VaultChanges?
        if let before {
            changes = try Comparing(self).changes(
                from: (before.commit, keyring(of: before.commit)), to: (state.commit, keyring(of: state.commit)))
        } else if state.commit.predecessor == nil {
            changes = try Comparing(self).first(state.commit, keyring(of: state.commit))
        }
        var devices: [DeviceID] = []
        for device in changes?.items.compactMap(\.device) ?? [] where !devices.contains(device) {
            devices.append(device)
        }
        let broughtHistory = before.map { $0.commit.history != state.commit.history } ?? false
        return LogEntry(
            state: Anchor(
                vault: VaultID(store.vault), generation: state.commit.generation, chain: state.chain,
                owners: OwnersPublicKey(store.ownersPublicKey)),
            time: Int64(clamping: state.commit.clock >> 16), devices: devices,
            isMerge: broughtHistory && state.commit.history != nil, changes: changes)
    }
}

extension Comparing {
    /// What the first state of a vault has.
    func first(_ commit: Commit, _ keyring: Keyring) throws(VaultError) -> VaultChanges {
        var empty = commit
        empty.root = nil
        return try changes(from: (empty, Keyring()), to: (commit, keyring))
    }
}
