internal import VaultBytes
internal import VaultStore

/// The first state that a file contains: the vault's first state, or the state that the last compaction wrote.
///
/// Contents that a compaction erases were removed, replaced or forgotten before the compaction, so a state that has
/// seen everything in the first state does not contain them either. Generations cannot show this, because diverged
/// copies count generations separately.
struct FirstState {
    private let side: MergeSide
    private let chain: Bytes32
    private let vector: Vector
    /// True if the file contains no later state.
    private let isNewest: Bool

    /// Reads the first state of a side's file; nil if that state is not known because an earlier commit is damaged.
    static func find(_ side: MergeSide) throws(VaultError) -> FirstState? {
        let store = side.store
        do throws(VaultError) {
            let state = try store.past.oldest(upTo: store.state)
            let vector = try store.pages.vector(of: state.commit).vector(of: state.commit)
            return FirstState(
                side: side, chain: state.chain, vector: vector, isNewest: state.chain == store.state.chain)
        } catch {
            guard error.code == .authenticationFailed || error.code == .structureInvalid else { throw error }
            return nil
        }
    }

    /// Returns whether this file contains nothing that was erased from the other one: each of its states has seen
    /// everything in the other file's first state. Nothing is concluded from the rows of a split id.
    func follows(_ other: FirstState) -> Bool {
        if chain == other.chain { return true }
        return other.vector.rows.allSatisfy { row in
            let dot = Dot(revision: row.revision, replica: row.id)
            return !side.isSplit(dot) && vector.hasSeen(dot)
        }
    }

    // MARK: equal contents

    /// The file that two sides with equal contents both have in the end.
    enum Kept {
        case ours, theirs
        /// Each file contains what was erased from the other, so ours has to be compacted.
        case neither
    }

    /// Chooses between the files of two sides with equal contents.
    ///
    /// Any number of copies converge to one file, unless their newest states are damaged. "Contains nothing that was
    /// erased from the other" is a transitive relation that orders the files; files that are equal in this order are
    /// ordered by their generation and chain. A copy only ever moves up in this order. A compacted file is at the top,
    /// so each copy is compacted at most once, and the number of files is limited. The file that all copies end up with
    /// contains nothing that was erased from any of their earlier files.
    static func kept(_ mine: MergeSide, _ its: MergeSide) throws(VaultError) -> Kept {
        let (own, others) = (try find(mine), try find(its))
        switch (continues(own, others), continues(others, own)) {
        case (true, false): return .ours
        case (false, true): return .theirs
        case (false, false): return .neither
        case (true, true): return isLess(mine.store.state, its.store.state) ? .theirs : .ours
        }
    }

    /// Returns whether the first of two files with equal contents contains nothing that was erased from the other. If
    /// the first file has no state but the newest, it contains only what the other file contains, too: this needs no
    /// rows, which prove nothing for a split id, and which could not be read if the other file is damaged.
    private static func continues(_ one: FirstState?, _ other: FirstState?) -> Bool {
        guard let one else { return false }
        return one.isNewest || other.map(one.follows) ?? false
    }

    private static func isLess(_ one: CommittedState, _ other: CommittedState) -> Bool {
        let (generation, others) = (one.commit.generation, other.commit.generation)
        guard generation == others else { return generation < others }
        return one.chain.bytes.lexicographicallyPrecedes(other.chain.bytes)
    }
}
