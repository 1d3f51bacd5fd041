internal import VaultBytes

extension Store {
    /// Returns a store that begins with this store's state, and keeps changes in memory as long as it exists. The
    /// returned store does not wait for other writers, records no change in this machine's memory, and never writes to
    /// the file, which it continues to read.
    ///
    /// The caller has moved to the newest state. A change takes as much memory as it would take space in the file. The
    /// change fails with `outOfMemory` if the system refuses that memory; by default, Linux grants the memory even if
    /// there is too little, and may end the process when the memory is used.
    package func rehearsal() throws(VaultError) -> Store {
        let end: UInt64
        switch tail {
        // Another program may be writing its next change there, and an unfinished change would be cut off.
        case .clean, .writeInProgress, .torn: end = state.commit.end
        case .incomplete, .damaged: end = max(try file.size(), state.commit.end)
        }
        let files = try RehearsalFiles(over: file, at: path, end: end, fileSystem)
        var place = Place(
            fileSystem: files, random: random, cacheBytes: cacheBytes, replicas: RehearsalReplicas(known: replicas),
            owner: self.place.owner, threads: threads)
        place.searchesWholeFile = self.place.searchesWholeFile
        let copy = try files.open(path, writable: true)
        let (header, bytes) = try Store.readHeader(copy)
        let loaded = try Store.load(copy, header, bytes, try reopenedSlot(header), place)
        return Store(loaded, path: path, isWritable: true, place: place)
    }
}

/// The replica ids of a rehearsal. Its changes have ids of their own, because this machine's memory must not record
/// changes that are never made.
private struct RehearsalReplicas: ReplicaMemory {
    let known: any ReplicaMemory
    private let own = ProcessReplicas()

    init(known: any ReplicaMemory) { self.known = known }

    func claim(_ vault: Bytes16, _ vector: Vector) throws(VaultError) -> ReplicaClaim {
        let split = try known.splitIDs(vault, vector)
        let new = own.claim(vault, vector)
        return ReplicaClaim(vault: new.vault, id: new.id, greatest: new.greatest, split: split)
    }

    func note(_ claim: ReplicaClaim, revision: UInt64) throws(VaultError) { own.note(claim, revision: revision) }

    func release(_ claim: ReplicaClaim) { own.release(claim) }

    func splitIDs(_ vault: Bytes16, _ vector: Vector) throws(VaultError) -> [ReplicaID] {
        try known.splitIDs(vault, vector)
    }
}
