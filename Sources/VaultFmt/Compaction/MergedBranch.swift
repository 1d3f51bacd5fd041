package import VaultBytes
internal import VaultStore

/// The part of a branch's history that a merge needs (section 8).
package struct BranchPast: Sendable {
    /// A number greater than the generation of every ancestor that is no longer recorded in the file.
    package let floor: UInt64
    /// The states in the order in which they became ancestors; the branch's newest state is last.
    package let states: [Ancestor]
    package let tombstoneHorizon: UInt64

    init(_ store: Store) throws(VaultError) {
        let state = store.state
        let past = try store.past.ancestors(of: state)
        floor = past.floor
        states =
            past.ancestors + [
                Ancestor(generation: state.commit.generation, clock: state.commit.clock, chain: state.chain)
            ]
        tombstoneHorizon = state.commit.tombstoneHorizon
    }
}

/// The information that a merge commit records about the merged branch.
package struct MergedBranch: Sendable {
    /// The generation of the branch's newest state.
    let generation: UInt64
    let clock: UInt64
    let tombstoneHorizon: UInt64
    let floor: UInt64
    /// The branch's states since the common base; the newest is last.
    var states: [Ancestor]

    /// Collects the states that `theirs` has and `ours` lacks. The result is nil if there are none, because `ours` is
    /// the same state or a newer state of the same branch.
    package init?(_ theirs: BranchPast, since ours: BranchPast) {
        let known = Set(ours.states)
        states = theirs.states.filter { !known.contains($0) }
        guard let newest = theirs.states.last, known.contains(newest) == false else { return nil }
        generation = newest.generation
        clock = newest.clock
        tombstoneHorizon = theirs.tombstoneHorizon
        floor = theirs.floor
    }

    /// Returns the generation of the merge commit.
    func generation(after ours: UInt64) -> UInt64 { max(ours, generation) + 1 }

    /// Returns a history that also lists the branch's states: all of them if they fit alongside our own
    /// states, and at least 364 in any case.
    func added(to floor: UInt64, _ own: [Ancestor]) -> History {
        let known = Set(own)
        let new = states.filter { !known.contains($0) }
        let room = Format.Limit.ancestors - min(own.count, Format.keptAncestors)
        let left = new.dropLast(room).map(\.generation).max() ?? 0
        return History.folded(floor: max(floor, self.floor, left + 1), own, with: Array(new.suffix(room)))
    }
}

extension History {
    /// Returns the history of a file that starts after the newest state, including a branch that its only commit
    /// merges.
    static func after(_ store: Store, merging branch: MergedBranch?) throws(VaultError) -> History {
        let own = try store.past.historyForCompaction(after: store.state)
        guard let branch else { return own }
        var history = branch.added(to: own.floor, own.ancestors)
        history.newest = min(history.newest + 1, history.ancestors.count)
        return history
    }

    /// Returns the history for a merge commit that is appended to the file: our own predecessors are in the file or in
    /// its existing history.
    static func appended(_ store: Store, merging branch: MergedBranch) throws(VaultError) -> History {
        let before = try store.past.history(of: store.state)
        return branch.added(to: before?.floor ?? 1, before?.ancestors ?? [])
    }
}

extension Vault {
    /// Returns the states that led to the current one. Throws `authenticationFailed` if an earlier commit is damaged.
    package func branchPast() throws(VaultError) -> BranchPast {
        try withCore { (core) throws(VaultError) in try BranchPast(core.store) }
    }
}
