internal import VaultBytes
internal import VaultStore

/// The interface through which stores use the replica ids.
extension ReplicaFiles: ReplicaMemory {
    /// Chooses and claims an id. If the current run cannot be determined, or the memory cannot be written, ids of this
    /// process are used.
    func claim(_ vault: Bytes16, _ vector: Vector) throws(VaultError) -> ReplicaClaim {
        do throws(VaultError) {
            let split = try splitIDs(vault, vector)
            if let claim = try claim(vault, row: { vector.openRow(of: $0) }) {
                return ReplicaClaim(vault: vault, id: claim.id, greatest: claim.greatest, split: split)
            }
        } catch {
            guard [.io, .noSpace].contains(error.code) else { throw error }
            announcer.warning(
                "this machine's replica ids cannot be stored, so each program that changes the vault adds a new one: "
                    + error.description)
        }
        let claim = ProcessReplicas.shared.claim(vault, vector)
        claimedByProcess.withLock { _ = $0.insert(claim.id) }
        return claim
    }

    func note(_ claim: ReplicaClaim, revision: UInt64) throws(VaultError) {
        guard !isOfProcess(claim) else { return ProcessReplicas.shared.note(claim, revision: revision) }
        try note(claim.vault, claim.id, revision: revision)
    }

    func release(_ claim: ReplicaClaim) {
        if isOfProcess(claim) { ProcessReplicas.shared.release(claim) } else { release(claim.vault, claim.id) }
    }

    func splitIDs(_ vault: Bytes16, _ vector: Vector) throws(VaultError) -> [ReplicaID] {
        try splitIDs(vault) { vector.openRow(of: $0) }
    }

    private func isOfProcess(_ claim: ReplicaClaim) -> Bool { claimedByProcess.withLock { $0.contains(claim.id) } }
}

extension Vector {
    /// Returns the revision of an id's row; 0 if there is none, nil if the id is split.
    func openRow(of id: ReplicaID) -> UInt64? {
        guard let row = row(of: id) else { return 0 }
        return row.isSplit ? nil : row.revision
    }
}
