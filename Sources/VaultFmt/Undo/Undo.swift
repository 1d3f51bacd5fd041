internal import VaultBytes
internal import VaultStore

extension Vault {
    /// Returns the changes that `undo(to:from:)` would make, from the newest state to an earlier one in the file.
    ///
    /// - Parameter earlier: The earlier state.
    /// - Returns: The differences, in which the newest state counts as the state before the change.
    /// - Throws: `invalidArgument` for a state that is not in the file: a compaction leaves only the newest one.
    public func changes(undoingTo earlier: Anchor) throws(VaultError) -> VaultChanges {
        try withCore { (core) throws(VaultError) in
            let state = core.store.state
            let past = try core.earlierState(earlier)
            return try Comparing(core).changes(
                from: (state.commit, core.store.keyring), to: (past.commit, core.keyring(of: past.commit)))
        }
    }

    /// Restores all items of an earlier state of the file, and the number of earlier values that an item keeps, in one
    /// new commit.
    ///
    /// Items that have since been removed are restored under their own ids, with their earlier values; items that have
    /// since been added are removed. An item's current value becomes an earlier value if its secret or a sealed
    /// attribute differs. Access groups and slots do not change.
    ///
    /// - Parameters:
    ///   - earlier: The state whose items are restored.
    ///   - expected: The newest state that the caller has seen.
    /// - Throws: `busy` if another process has changed the vault in the meantime; `invalidArgument` for a state that is
    ///   not in the file; `deviceBound` if a changed item belongs to another device; and the errors of `transaction`.
    public func undo(to earlier: Anchor, from expected: Anchor) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in
            let core = transaction.core
            let state = core.store.state
            guard expected.generation == state.commit.generation, expected.value == state.chain else {
                throw VaultError(.busy, "another process has changed the vault in the meantime")
            }
            let past = try core.earlierState(earlier)
            let writer = UndoWriter(transaction, then: Branch(core, root: past.commit.root), now: Branch(core))
            try writer.write()
            let kept = try core.keyring(of: past.commit).keeping.count
            if kept != transaction.ring.kept { try transaction.ring.keep(kept) }
        }
    }

    /// Restores removed items with their earlier values and under their own ids, in one new commit; an item that exists
    /// again is left unchanged.
    ///
    /// - Parameter items: The items, from `removedItems`.
    /// - Returns: The number of items that were restored.
    /// - Throws: `duplicateItem` if another item now has the name of one of them; `invalidArgument` if the file no
    ///   longer contains one of them; and the same errors as `transaction`.
    @discardableResult
    public func bringBack(_ items: [RemovedItem]) throws(VaultError) -> Int {
        try transaction { (transaction) throws(VaultError) in
            let core = transaction.core
            var count = 0
            for removed in items {
                let past = try core.earlierState(removed.state)
                let writer = UndoWriter(transaction, then: Branch(core, root: past.commit.root), now: Branch(core))
                if try writer.revive(removed.item.key) { count += 1 }
            }
            return count
        }
    }
}

extension VaultCore {
    /// Returns a state of this file, which may be the newest.
    fileprivate func earlierState(_ anchor: Anchor) throws(VaultError) -> CommittedState {
        guard anchor.vault == VaultID(store.vault) else {
            throw VaultError(.invalidArgument, "the anchor belongs to another vault (\(anchor.vault))")
        }
        let state = store.state
        if anchor.generation == state.commit.generation, anchor.value == state.chain { return state }
        let wanted = Ancestor(generation: anchor.generation, clock: 0, chain: anchor.value)
        guard let earlier = try store.past.state(wanted, before: state) else {
            throw VaultError(
                .invalidArgument, "the file no longer contains the state of generation \(anchor.generation)")
        }
        return earlier
    }
}
