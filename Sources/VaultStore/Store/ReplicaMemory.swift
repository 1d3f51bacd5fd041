package import VaultBytes
package import VaultCrypto

/// A claimed id, under which a writer may make one change before it records or releases the claim.
package struct ReplicaClaim: Sendable {
    package let vault: Bytes16
    package let id: ReplicaID
    /// The greatest revision in this memory for any id of the vault; 0 if there is none.
    package let greatest: UInt64
    /// The ids in this memory that another writer also uses.
    package let split: [ReplicaID]

    package init(vault: Bytes16, id: ReplicaID, greatest: UInt64, split: [ReplicaID] = []) {
        self.vault = vault
        self.id = id
        self.greatest = greatest
        self.split = split
    }
}

/// A writer's memory of the replica ids that it has used (section 7.5).
///
/// `VaultLocal` keeps this on disk for all programs of a machine. A program without such a memory uses
/// `ProcessReplicas`.
package protocol ReplicaMemory: Sendable {
    /// Chooses the id for a change to a state, and claims it. No other writer uses the id until it is recorded or
    /// released.
    func claim(_ vault: Bytes16, _ vector: Vector) throws(VaultError) -> ReplicaClaim

    /// Records the last revision of a change. Called under the vault's lock, before the commit is written.
    func note(_ claim: ReplicaClaim, revision: UInt64) throws(VaultError)

    /// Releases a claim whose change was not written.
    func release(_ claim: ReplicaClaim)

    /// Returns the ids in this memory that another writer also uses: the state has a revision for the id that this
    /// memory never recorded, or marks the id as split.
    func splitIDs(_ vault: Bytes16, _ vector: Vector) throws(VaultError) -> [ReplicaID]
}

/// The ids that this process has used, for programs without a memory on disk. A child process uses different ids.
package final class ProcessReplicas: ReplicaMemory {
    /// The memory of this process.
    package static let shared = ProcessReplicas()

    private struct Replica {
        var last: UInt64 = 0
        var made: Set<UInt64> = []
        var isClaimed = true
        var isSplit = false
    }

    private struct Known {
        var process = OwnProcess()
        var replicas: [Bytes16: [ReplicaID: Replica]] = [:]

        /// Drops the ids of a parent process.
        mutating func start() { if !process.isThis { self = Known() } }
    }

    private let random: Randomness
    private let known = Guarded(Known())

    package init() { random = .system }

    /// Creates a memory that draws ids from the given source, for generators of test vectors.
    package init(random: Randomness) { self.random = random }

    package func claim(_ vault: Bytes16, _ vector: Vector) -> ReplicaClaim {
        known.withLock { known in
            known.start()
            var replicas = known.replicas[vault] ?? [:]
            let split = Self.noteSplit(&replicas, vector)
            let greatest = replicas.values.map(\.last).max() ?? 0
            let id = replicas.first { Self.canContinue($0.value, vector.row(of: $0.key)) }?.key ?? newID(vector)
            replicas[id, default: Replica()].isClaimed = true
            known.replicas[vault] = replicas
            return ReplicaClaim(vault: vault, id: id, greatest: greatest, split: split)
        }
    }

    private static func canContinue(_ replica: Replica, _ row: Vector.Row?) -> Bool {
        guard let row, !row.isSplit, !replica.isSplit, !replica.isClaimed else { return false }
        return row.revision == replica.last && replica.made.count < Format.revisionsOfID
    }

    private func newID(_ vector: Vector) -> ReplicaID {
        while true {
            var id: ReplicaID = 0
            withUnsafeMutableBytes(of: &id) { random.fill($0) }
            if id != 0, vector.row(of: id) == nil { return ReplicaID(littleEndian: id) }
        }
    }

    package func note(_ claim: ReplicaClaim, revision: UInt64) {
        change(claim) { replica in
            replica.last = revision
            replica.made.insert(revision)
            replica.isClaimed = false
        }
    }

    package func release(_ claim: ReplicaClaim) { change(claim) { $0.isClaimed = false } }

    /// Changes an id that this process claimed; claims made by its parent are ignored.
    private func change(_ claim: ReplicaClaim, _ body: (inout Replica) -> Void) {
        known.withLock { known in
            known.start()
            guard var replica = known.replicas[claim.vault]?[claim.id] else { return }
            body(&replica)
            known.replicas[claim.vault]?[claim.id] = replica
        }
    }

    package func splitIDs(_ vault: Bytes16, _ vector: Vector) -> [ReplicaID] {
        known.withLock { known in
            known.start()
            guard var replicas = known.replicas[vault] else { return [] }
            let split = Self.noteSplit(&replicas, vector)
            known.replicas[vault] = replicas
            return split
        }
    }

    private static func noteSplit(_ replicas: inout [ReplicaID: Replica], _ vector: Vector) -> [ReplicaID] {
        var split: [ReplicaID] = []
        for (id, replica) in replicas {
            guard let row = vector.row(of: id) else { continue }
            if replica.isSplit || row.isSplit || !replica.made.contains(row.revision) {
                replicas[id]?.isSplit = true
                split.append(id)
            }
        }
        return split.sorted()
    }
}
