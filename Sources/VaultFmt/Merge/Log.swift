internal import VaultBytes
internal import VaultStore

/// One state of a vault, and the change that led to it.
public struct LogEntry: Sendable, Equatable {
    /// The state, for `Vault.changes(since:)`.
    public let state: Anchor
    /// When the state was made, in milliseconds since 1970-01-01T00:00:00Z, by the clock of the machine that made it;
    /// the time is later if another machine's clock was ahead.
    public let time: Int64
    /// The devices that made the changes, if known.
    public let devices: [DeviceID]
    /// Whether the state merged another branch.
    public let isMerge: Bool
    /// The changes; nil for the oldest state in the file, unless it is the vault's first.
    public let changes: VaultChanges?
}

extension Vault {
    /// Returns the states in the file, newest first: all since the file was last compacted or rewritten.
    ///
    /// - Parameter limit: The maximum number of states to return.
    /// - Returns: One entry for each state, newest first.
    /// - Throws: `authenticationFailed` if an earlier commit is damaged, since the states before it are then unknown.
    public func log(limit: Int = .max) throws(VaultError) -> [LogEntry] {
        try withCore { (core) throws(VaultError) in
            let store = core.store
            guard limit > 0 else { return [] }
            var states = [store.state]
            // Reads one additional state, with which the last one is compared.
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
    /// Returns the contents of a vault's first state.
    func first(_ commit: Commit, _ keyring: Keyring) throws(VaultError) -> VaultChanges {
        var empty = commit
        empty.root = nil
        return try changes(from: (empty, Keyring()), to: (commit, keyring))
    }
}
