package import VaultBytes
package import VaultCrypto

/// The vector of the state that a writer is creating, and the dots of its changes.
///
/// An id is claimed for the first change. If this object is deinitialized before a commit, the claim is released.
package final class NextVector {
    package private(set) var vector: Vector
    private let vault: Bytes16
    private let memory: any ReplicaMemory
    private let random: Randomness
    /// The time in milliseconds since 1970.
    private let now: Int64
    private var claim: ReplicaClaim?
    private var hasNoted = false
    /// The lower bound (exclusive) for the revisions of the changes.
    private var passed: UInt64 = 0
    /// The row of the writer's id; nil until there is a change.
    package private(set) var own: Commit.OwnRow?

    init(_ vector: Vector, vault: Bytes16, memory: any ReplicaMemory, random: Randomness, now: Int64) {
        self.vector = vector
        self.vault = vault
        self.memory = memory
        self.random = random
        self.now = now
    }

    deinit {
        if let claim, !hasNoted { memory.release(claim) }
    }

    /// Returns a dot for another change.
    package func tick() throws(VaultError) -> Dot {
        let id = try claimed().id
        let revision = if let own { try Self.next(own.revision) } else { try first() }
        vector.include(id, revision)
        own = Commit.OwnRow(id: id, revision: revision)
        return Dot(revision: revision, replica: id)
    }

    /// Returns the stored form of a dot in the new state, which must include the dot.
    package func stored(_ dot: Dot) -> StoredDot {
        guard let stored = vector.stored(dot) else {
            preconditionFailure("a writer stores only dots that its state includes")
        }
        return stored
    }

    /// Includes every change of another state that is merged. Must be called before the first change.
    package func join(_ other: Vector) {
        precondition(own == nil, "a merge comes before the changes of its commit")
        vector.join(other)
    }

    /// Ensures that the revisions of the changes exceed another revision, such as the revision of another device's
    /// record in a branch under a replaced key. Must be called before the first change.
    package func pass(_ revision: UInt64) {
        precondition(own == nil, "what is passed comes before the changes of the commit")
        passed = max(passed, revision)
    }

    /// Records that two writers used an id.
    package func split(_ id: ReplicaID) { vector.split(id) }

    /// Starts a new vector that has only the writer's row, and returns a new dot. Its revision is greater than `least`
    /// and the new floor.
    package func restart(above least: UInt64) throws(VaultError) -> Dot {
        precondition(own == nil, "the vector restarts with the first change of a commit")
        let id = try claimed().id
        let revision = try max(try first(), Self.next(least))
        guard let restarted = Vector(floor: revision - 1, rows: [Vector.Row(id, revision)]) else {
            preconditionFailure("a replica id is not 0")
        }
        vector = restarted
        own = Commit.OwnRow(id: id, revision: revision)
        return Dot(revision: revision, replica: id)
    }

    private func claimed() throws(VaultError) -> ReplicaClaim {
        if let claim { return claim }
        let new = try memory.claim(vault, vector)
        for id in new.split { vector.split(id) }
        claim = new
        return new
    }

    /// Returns the first revision of the commit.
    private func first() throws(VaultError) -> UInt64 {
        let time = UInt64(clamping: now)
        let greatest = try Self.next(max(vector.clock, claim?.greatest ?? 0, passed))
        var spread: UInt16 = 0
        withUnsafeMutableBytes(of: &spread) { random.fill($0) }
        let revision = max(Revision.first(ofMillisecond: time) ?? Format.Limit.number, greatest)
        // The sum of two numbers below 2^63 cannot overflow.
        return try Self.checked(revision + UInt64(UInt16(littleEndian: spread)) % Format.revisionSpread)
    }

    /// Returns the revision that follows another one.
    private static func next(_ revision: UInt64) throws(VaultError) -> UInt64 {
        let (next, isOver) = revision.addingReportingOverflow(1)
        return try checked(isOver ? .max : next)
    }

    private static func checked(_ revision: UInt64) throws(VaultError) -> UInt64 {
        guard revision <= Format.Limit.number else {
            throw VaultError(.limitExceeded, "the vault has no revisions left: its clock, or this machine's, is wrong")
        }
        return revision
    }

    /// Records the change in the replica memory, before its commit is written.
    func note() throws(VaultError) {
        guard let claim, let own, !hasNoted else { return }
        try memory.note(claim, revision: own.revision)
        hasNoted = true
    }
}

extension Store {
    /// The vector of the current state.
    package func vector() throws(VaultError) -> Vector { try storedVector().vector(of: state.commit) }

    /// The stored form of the current state's vector.
    func storedVector() throws(VaultError) -> StoredVector {
        if let knownVector, knownVector.ref == state.commit.vector { return knownVector }
        let stored = try pages.vector(of: state.commit)
        knownVector = stored
        return stored
    }

    /// The hand-overs of the current state.
    package var handOvers: HandOvers { HandOvers(keyring, of: state.commit, pages, current: ownersPublicKey) }

    /// Returns the beginning of the next state's vector. The caller holds the lock.
    package func nextVector() throws(VaultError) -> NextVector {
        let vector = try vector()
        try keyring.check(vector, at: state.commit.keyring.offset)
        return NextVector(vector, vault: vault, memory: replicas, random: random, now: fileSystem.now())
    }

    /// Writes a vector that a hand-over of the next keyring refers to.
    package func append(_ vector: Vector, to appender: Appender) throws(VaultError) -> ObjectRef {
        try Store.append(vector, to: appender, key: slot.keys.index)
    }

    /// Writes a vector that a hand-over of a new file's keyring refers to, under the new file's index key.
    package static func append(
        _ vector: Vector, to appender: Appender, key: borrowing Secret
    ) throws(VaultError) -> ObjectRef {
        try VectorWriter.writeWhole(vector, appender, key: key).ref
    }

    /// Fills in the parts of a commit that depend on the vector, and writes the vector unless the file already contains
    /// it.
    func complete(
        _ commit: inout Commit, _ next: NextVector, _ appender: Appender, keyring new: Keyring, key: borrowing Secret
    ) throws(VaultError) -> StoredVector {
        let before = try storedVector()
        let stored = try VectorWriter.write(next.vector, own: next.own?.id, after: before, appender, key: key)
        if stored.ref != before.ref || new.handOvers != keyring.handOvers {
            let old = try bytes(of: before, keyring, state.commit.keyring.offset)
            try commit.countLive(adding: try bytes(of: stored, new, commit.keyring.offset, appender), removing: old)
        }
        commit.take(next.vector, next.own, stored)
        return stored
    }

    /// Returns the total length of the frames in which the vector of the current state and its hand-overs are stored.
    package func vectorBytes() throws(VaultError) -> UInt64 {
        try bytes(of: try storedVector(), keyring, state.commit.keyring.offset)
    }

    /// Returns the total length of the frames in which a state's vector and its hand-overs are stored, each counted
    /// once.
    private func bytes(
        of stored: StoredVector, _ keyring: Keyring, _ referrer: UInt64, _ appender: Appender? = nil
    ) throws(VaultError) -> UInt64 {
        var frames = Set(stored.frames)
        for one in keyring.handOvers {
            let isNew = one.vector.offset >= appender?.start ?? .max
            frames.formUnion(isNew ? [one.vector] : try pages.vector(of: one, before: referrer).frames)
        }
        return frames.reduce(0) { $0 + UInt64($1.length) }
    }
}

extension Commit {
    /// Fills in the parts that depend on the vector.
    mutating func take(_ vector: Vector, _ own: OwnRow?, _ stored: StoredVector) {
        (self.vector, self.own) = (stored.ref, own)
        (clock, floor) = (vector.clock, vector.floor)
    }

    /// Updates the number of live bytes. Throws if the previous commit's number is smaller than the number of bytes
    /// removed.
    mutating func countLive(adding new: UInt64, removing old: UInt64) throws(VaultError) {
        let (sum, isOver) = liveBytes.addingReportingOverflow(new)
        guard !isOver, sum >= old else {
            throw VaultError(
                .structureInvalid, "the newest commit's count of live bytes is wrong; compact the vault", at: offset)
        }
        liveBytes = sum - old
    }
}

extension Keyring {
    /// Checks that the state includes every dot of its keyring.
    package func check(_ vector: Vector, at offset: UInt64) throws(VaultError) {
        guard dots.allSatisfy({ vector.dot($0) != nil }) else {
            throw VaultError(.structureInvalid, "a keyring has a change that the state does not include", at: offset)
        }
    }
}
