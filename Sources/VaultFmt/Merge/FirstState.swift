internal import VaultBytes
internal import VaultStore

/// The first state that a file contains: the first of all, or what the last compaction left (specification, R-8.12).
///
/// What a compaction erases was removed, replaced or forgotten before it, so a state that has seen everything in the
/// first one does not contain it either. Generations do not tell this: diverged copies count them independently.
struct FirstState {
    private let side: MergeSide
    private let chain: Bytes32
    private let vector: Vector

    /// Reads the first state of a side's file; nil if an earlier commit is damaged, so that it is not known.
    static func find(_ side: MergeSide) throws(VaultError) -> FirstState? {
        let store = side.store
        do throws(VaultError) {
            let state = try store.past.oldest(upTo: store.state)
            let vector = try store.pages.vector(of: state.commit).vector(of: state.commit)
            return FirstState(side: side, chain: state.chain, vector: vector)
        } catch {
            guard error.code == .authenticationFailed || error.code == .structureInvalid else { throw error }
            return nil
        }
    }

    /// Whether this file contains nothing that was erased from the other one: each of its states has seen everything in
    /// the other's first one. Nothing is concluded from the rows of a split id.
    func follows(_ other: FirstState) -> Bool {
        if chain == other.chain { return true }
        return other.vector.rows.allSatisfy { row in
            let dot = Dot(revision: row.revision, replica: row.id)
            return !side.isSplit(dot) && vector.hasSeen(dot)
        }
    }
}
