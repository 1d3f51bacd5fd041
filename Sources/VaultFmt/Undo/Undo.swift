internal import VaultBytes
internal import VaultStore

extension Vault {
    /// Returns the changes that `undo(to:from:)` would make, from the newest state to an earlier one in the file.
    ///
    /// - Parameter earlier: The earlier state.
    /// - Returns: The differences, in which the newest state counts as the state before the change.
    /// - Throws: `invalidArgument` for a state that is not in the file: a compaction leaves only the newest one.
    public func changes(undoingTo earlier: StateID) throws(VaultError) -> VaultChanges {
        try withCore { (core) throws(VaultError) in
            let past = try core.earlierState(earlier)
            return try Comparing(StateReader(core), try StateReader(core, past.commit)).changes()
        }
    }

    /// Restores all items of an earlier state of the file, and the number of earlier values that they keep, in one new
    /// commit.
    ///
    /// Items that have since been removed are restored under their own ids, with their earlier values; items that have
    /// since been added are removed. A secret or sealed attribute that differs, now or when the item was removed,
    /// becomes an earlier value, and an item that showed no secret shows none again. Earlier values that have since
    /// been forgotten or dropped do not return, and an item that already has as many earlier values as the vault keeps
    /// drops its oldest ones. The conflicts of the earlier state are restored too. Access groups and slots do not
    /// change.
    ///
    /// - Parameters:
    ///   - earlier: The state whose items are restored.
    ///   - expected: The newest state that the caller has seen.
    /// - Throws: `busy` if another process has changed the vault in the meantime; `invalidArgument` for a state that is
    ///   not in the file, or if an item would show a value that has since been forgotten; `deviceBound` if a changed
    ///   item belongs to another device; and the errors of `transaction`.
    public func undo(to earlier: StateID, from expected: StateID) throws(VaultError) {
        try undo(to: earlier, from: expected, settles: false)
    }

    /// Restores an earlier state like `undo(to:from:)`.
    ///
    /// `settles`: Whether conflicts that did not exist in the earlier state are settled, as when a settlement is redone
    /// or a merge is undone.
    ///
    /// Returns the earlier values that were dropped although the items then list fewer than the vault keeps.
    @discardableResult
    package func undo(
        to earlier: StateID, from expected: StateID, settles: Bool
    ) throws(VaultError) -> [DroppedValue] {
        try transaction { (transaction) throws(VaultError) in
            let core = transaction.core
            guard expected == core.state else {
                throw VaultError(.busy, "another process has changed the vault in the meantime")
            }
            let past = try core.earlierState(earlier)
            // Replaced values are kept up to the greater of the two limits.
            let kept = try core.keyring(of: past.commit).keeping.count
            if kept > transaction.ring.kept { try transaction.keepVersions(kept) }
            try UndoWriter(transaction, then: past, settles: settles).write()
            if kept < transaction.ring.kept { try transaction.keepVersions(kept) }
            return transaction.crowdedOut
        }
    }

    /// Restores removed items with their earlier values and under their own ids, in one new commit; an item that
    /// already exists again is left unchanged.
    ///
    /// - Parameter items: The items, from `removedItems`.
    /// - Returns: The number of items that were restored.
    /// - Throws: `duplicateItem` if another item now has the name of an item to restore; `invalidArgument` if the file
    ///   no longer contains one of the items; and the same errors as `transaction`.
    @discardableResult
    public func bringBack(_ items: [RemovedItem]) throws(VaultError) -> Int {
        try transaction { (transaction) throws(VaultError) in
            let core = transaction.core
            var count = 0
            for removed in items {
                let writer = UndoWriter(transaction, then: try core.earlierState(removed.state))
                if try writer.revive(removed.item.key) { count += 1 }
            }
            return count
        }
    }
}

extension VaultCore {
    /// Returns a state of this file, which may be the newest.
    fileprivate func earlierState(_ wanted: StateID) throws(VaultError) -> CommittedState {
        guard wanted.vault == VaultID(store.vault) else {
            throw VaultError(.invalidArgument, "the state belongs to another vault (\(wanted.vault))")
        }
        if wanted == state { return store.state }
        let found = try store.past.state(
            generation: wanted.generation, chain: wanted.chainValue, before: store.state)
        guard let found else {
            throw VaultError(
                .invalidArgument, "the file no longer contains the state of generation \(wanted.generation)")
        }
        return found
    }
}
