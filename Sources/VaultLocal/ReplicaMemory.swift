internal import VaultBytes
internal import VaultStore

/// What stores ask the memory of replica ids.
extension ReplicaFiles: ReplicaMemory {
    /// Chooses and claims an id. Without a memory, or if the system does not tell its run, this process has ids of its
    /// own.
    func claim(_ vault: Bytes16, _ vector: Vector) throws(VaultError) -> ReplicaClaim {
        do throws(VaultError) {
            if let claim = try claim(vault, row: { vector.openRow(of: ReplicaID($0)) }) {
                let id = ReplicaID(claim.id)
                return ReplicaClaim(id: id, isNew: vector.row(of: id) == nil, last: claim.greatest)
            }
        } catch {
            guard [.io, .noSpace].contains(error.code) else { throw error }
            warn(error)
        }
        let claim = try process.claim(vault, vector)
        claimedByProcess.withLock { _ = $0.insert(claim.id) }
        return claim
    }

    func note(_ vault: Bytes16, _ claim: ReplicaClaim, revision: UInt64) throws(VaultError) {
        guard !isOfProcess(claim) else { return try process.note(vault, claim, revision: revision) }
        try note(vault, claim.id.number, revision: revision)
    }

    func release(_ vault: Bytes16, _ claim: ReplicaClaim) {
        if isOfProcess(claim) { process.release(vault, claim) } else { release(vault, claim.id.number) }
    }

    func splitIDs(_ vault: Bytes16, _ vector: Vector) throws(VaultError) -> [ReplicaID] {
        try splitIDs(vault) { vector.openRow(of: ReplicaID($0)) }.map { ReplicaID($0) }
    }

    private func isOfProcess(_ claim: ReplicaClaim) -> Bool { claimedByProcess.withLock { $0.contains(claim.id) } }
}

extension Vector {
    /// The revision of an id's row, 0 if it has none; nil if the id is split.
    func openRow(of id: ReplicaID) -> UInt64? {
        guard let row = row(of: id) else { return 0 }
        return row.isSplit ? nil : row.revision
    }
}
