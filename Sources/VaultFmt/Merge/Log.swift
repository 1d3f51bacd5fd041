internal import VaultBytes
internal import VaultStore

/// One state of a vault, and the change that led to it.
public struct LogEntry: Sendable, Equatable {
    /// The state, for `Vault.changes(since:)`.
    public let state: StateID
    /// The time of the newest change in the state, in milliseconds since 1970-01-01T00:00:00Z, by the clock of the
    /// machine that made the change. The time is later if another machine's clock was ahead.
    public let time: Int64
    /// True if the state includes changes from another copy that the previous state did not include, even if they were
    /// made under keys that this copy had replaced.
    public let isMerge: Bool
    /// The changes; nil for the oldest state in the file, unless it is the vault's first.
    public let changes: VaultChanges?
}

extension Vault {
    /// Returns the states in the file, newest first: all states since the file was last compacted or rewritten.
    ///
    /// - Parameter limit: The maximum number of states to return.
    /// - Returns: One entry for each state, newest first.
    /// - Throws: `authenticationFailed` if an earlier commit is damaged, since the states before it are then unknown.
    public func log(limit: Int = .max) throws(VaultError) -> [LogEntry] {
        try withCore { (core) throws(VaultError) in
            let store = core.store
            guard limit > 0 else { return [] }
            var states = [store.state]
            // One additional state is read for comparison with the last state to return.
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
            changes = try Comparing(try StateReader(self, before.commit), try StateReader(self, state.commit)).changes()
        } else if state.commit.predecessor == nil {
            changes = try Comparing(StateReader(before: self), try StateReader(self, state.commit)).changes()
        }
        return LogEntry(
            state: StateID(
                vault: VaultID(store.vault), generation: state.commit.generation, chainValue: state.chain),
            time: Revision.time(state.commit.clock), isMerge: try isMerge(state.commit, after: before?.commit),
            changes: changes)
    }

    /// Returns whether a commit includes changes that its writer did not make.
    private func isMerge(_ commit: Commit, after before: Commit?) throws(VaultError) -> Bool {
        guard let before else { return false }
        if try addsRows(commit, after: before) { return true }
        return try addsHandOver(commit, after: before)
    }

    /// Returns whether a commit includes changes under other replica ids that the state before it does not.
    private func addsRows(_ commit: Commit, after before: Commit) throws(VaultError) -> Bool {
        guard commit.vector != before.vector else { return false }
        let old = try pages.vector(of: before).vector(of: before)
        let new = try pages.vector(of: commit).vector(of: commit)
        return new.rows.contains { row in
            row.id != commit.own?.id && row.revision > old.row(of: row.id)?.revision ?? 0
        }
    }

    /// Returns whether a commit adds a hand-over, as a merge of a branch under a replaced key does: the branch's values
    /// come in under dots of the writer, so the vector does not show the merge. A rotation leaves no earlier
    /// state.
    private func addsHandOver(_ commit: Commit, after before: Commit) throws(VaultError) -> Bool {
        guard commit.keyring != before.keyring else { return false }
        let known = Set(try keyring(of: before).handOvers.map(\.signature))
        return try keyring(of: commit).handOvers.contains { !known.contains($0.signature) }
    }
}
