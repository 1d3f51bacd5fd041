package import VaultBytes
internal import VaultStore

/// A branch of a vault, as far as a merge needs to know its past (section 8).
package struct BranchPast: Sendable {
    /// Greater than the generation of every ancestor that the file no longer shows.
    package let floor: UInt64
    /// In the order in which they became ancestors; the branch's newest state last.
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

/// What a merge commit says of the branch that was merged.
package struct MergedBranch: Sendable {
    /// That of the branch's newest state.
    let generation: UInt64
    let clock: UInt64
    let tombstoneHorizon: UInt64
    let floor: UInt64
    /// The branch's states since the common base, its newest one last.
    var states: [Ancestor]

    /// What `theirs` has that `ours` has not. Nil if that is nothing: ours is the newer state of one branch, or the
    /// same.
    package init?(_ theirs: BranchPast, since ours: BranchPast) {
        let known = Set(ours.states)
        states = theirs.states.filter { !known.contains($0) }
        guard let newest = theirs.states.last, known.contains(newest) == false else { return nil }
        generation = newest.generation
        clock = newest.clock
        tombstoneHorizon = theirs.tombstoneHorizon
        floor = theirs.floor
    }

    /// The merge commit's.
    func generation(after ours: UInt64) -> UInt64 { max(ours, generation) + 1 }

    /// A history that names the branch's states too: all of them if there is room next to ours, at least 364.
    func added(to floor: UInt64, _ own: [Ancestor]) -> History {
        let known = Set(own)
        let new = states.filter { !known.contains($0) }
        let room = Format.Limit.ancestors - min(own.count, Format.keptAncestors)
        let left = new.dropLast(room).map(\.generation).max() ?? 0
        return History.folded(floor: max(floor, self.floor, left + 1), own, with: Array(new.suffix(room)))
    }
}

extension History {
    /// That of a file which starts after the newest state: also with a branch that is merged by its only commit.
    static func after(_ store: Store, merging branch: MergedBranch?) throws(VaultError) -> History {
        let own = try store.past.historyForCompaction(after: store.state)
        guard let branch else { return own }
        var history = branch.added(to: own.floor, own.ancestors)
        history.newest = min(history.newest + 1, history.ancestors.count)
        return history
    }

    /// That of a merge commit which is appended to the file: our own predecessors are in it, or in the history that
    /// there is.
    static func appended(_ store: Store, merging branch: MergedBranch) throws(VaultError) -> History {
        let before = try store.past.history(of: store.state)
        return branch.added(to: before?.floor ?? 1, before?.ancestors ?? [])
    }
}

extension Vault {
    /// The states that led to the one that is read. Throws `authenticationFailed` if an earlier commit is damaged.
    package func branchPast() throws(VaultError) -> BranchPast {
        try withCore { (core) throws(VaultError) in try BranchPast(core.store) }
    }
}
