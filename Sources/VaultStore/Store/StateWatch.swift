package import VaultBytes
internal import VaultCrypto

/// The interface between a store and the machine's memory. The memory checks each state before it is used, and is
/// notified of each durable state.
///
/// `VaultLocal` creates it. It consists of closures rather than a protocol because there is only one implementation.
package struct StateWatch: Sendable {
    /// Checks a state that is about to be used, and throws an error to refuse it. Returns true if the state is trusted
    /// because of the remembered state.
    package typealias Admission = (WatchedState) throws(VaultError) -> Bool

    /// Reads the remembered state of a vault at a path. Called before the file is read: otherwise, another process
    /// could commit in between, and the file would seem older than the remembered state.
    package let recall: @Sendable (Bytes16, String) throws(VaultError) -> Admission
    /// Called when this handle has made a state durable; `isCopy` is true if the state was taken over from another file
    /// of the vault, so that this machine need not have made its changes.
    package let committed: @Sendable (WatchedState, _ isCopy: Bool) -> Void

    package init(
        recall: @escaping @Sendable (Bytes16, String) throws(VaultError) -> Admission,
        committed: @escaping @Sendable (WatchedState, _ isCopy: Bool) -> Void
    ) {
        self.recall = recall
        self.committed = committed
    }
}

/// A state that a handle uses or is about to use.
package struct WatchedState {
    package let state: CommittedState
    package let vault: Bytes16
    /// The owners' public key, derived from the keys that opened the state.
    package let ownersPublicKey: Bytes32
    /// True if the state was opened with a full slot rather than a scoped one.
    package let isOwner: Bool
    let keyring: Keyring
    let header: Header
    let past: StatePast
    /// The stored form of the vector, if it has already been read.
    let knownVector: StoredVector?
    let fileSystem: any FileSystem
    /// The path of the file, with symbolic links resolved.
    package let path: String
    /// True if this handle itself made the state durable.
    let isSynced: Bool
    /// The bytes after the state in the file.
    package var tail = TailState.clean

    package var generation: UInt64 { state.commit.generation }
    /// The offset at which the state's commit ends.
    package var end: UInt64 { state.commit.end }
    package var chain: Bytes32 { state.chain }

    /// Returns the relation of a remembered state to this one.
    package func verdict(on anchor: AnchorPoint) throws(VaultError) -> Ancestry {
        if anchor.ownersPublicKey == ownersPublicKey {
            if anchor.chain == chain { return .same }
            return Ancestry(of: anchor.vector, in: try vector())
        }
        var handOvers = handOvers
        return try handOvers.verdict(on: anchor)
    }

    /// The state's vector. Throws an error if the frame is damaged, although the state can be used without it.
    package func vector() throws(VaultError) -> Vector {
        let stored = if let knownVector { knownVector } else { try past.pages.vector(of: state.commit) }
        let vector = try stored.vector(of: state.commit)
        try keyring.check(vector, at: state.commit.keyring.offset)
        return vector
    }

    private var handOvers: HandOvers {
        HandOvers(keyring, of: state.commit, past.pages, current: ownersPublicKey)
    }

    /// Returns the vectors of the hand-overs with valid signatures.
    package func handOverVectors() throws(VaultError) -> [Vector] {
        var handOvers = handOvers
        return try handOvers.all().map(\.vector)
    }

    /// Returns the anchor that a machine remembers for this state.
    package func point() throws(VaultError) -> AnchorPoint {
        AnchorPoint(ownersPublicKey: ownersPublicKey, generation: generation, chain: chain, vector: try vector())
    }

    /// Returns whether the file has since moved on to a state that includes both this state and the anchor's state.
    package func isContinued(by anchor: AnchorPoint) throws(VaultError) -> Bool {
        let newest = try newest()
        for one in [try point(), anchor] {
            guard [.same, .descends].contains(try newest.verdict(on: one)) else { return false }
        }
        return true
    }

    /// Returns the file's newest state at this moment.
    private func newest() throws(VaultError) -> WatchedState {
        let found = try past.finder.newest().state
        return WatchedState(
            state: found, vault: vault, ownersPublicKey: ownersPublicKey, isOwner: isOwner,
            keyring: try Store.readKeyring(of: found.commit, past.pages, header), header: header, past: past,
            knownVector: nil, fileSystem: fileSystem, path: path, isSynced: false)
    }

    /// Makes the state durable unless this handle has already done so, by syncing the file and its directory. A
    /// read-only descriptor is enough.
    package func makeDurable() throws(VaultError) {
        guard !isSynced else { return }
        try past.finder.file.sync()
        try fileSystem.syncDirectory(of: path)
    }
}

extension Store {
    /// The current state.
    package var watched: WatchedState {
        WatchedState(
            state: state, vault: vault, ownersPublicKey: ownersPublicKey, isOwner: slot.keys.isOwner, keyring: keyring,
            header: header, past: past, knownVector: knownVector?.ref == state.commit.vector ? knownVector : nil,
            fileSystem: fileSystem, path: path, isSynced: synced == state, tail: tail)
    }

    /// Returns a state of a file that was just read and is not in use yet.
    func candidate(_ loaded: borrowing Loaded) -> WatchedState {
        WatchedState(
            state: loaded.found.state, vault: loaded.header.id, ownersPublicKey: loaded.slot.keys.ownersPublicKey(),
            isOwner: loaded.slot.keys.isOwner, keyring: loaded.keyring, header: loaded.header, past: loaded.past,
            knownVector: nil, fileSystem: fileSystem, path: path,
            isSynced: false, tail: loaded.found.tail)
    }

    /// The number of attempts to make if the remembered state is newer than the file. Since the memory is read first,
    /// the file can still seem older only if other processes replace it during every attempt.
    static let mostAttempts = 10

    /// Returns whether this error may mean that other processes have continued from the refused state, with or without
    /// a rotation.
    static func mayBeLate(_ error: VaultError) -> Bool { error.code == .rolledBack || error.code == .foreignOwner }

    /// Opens the file at `path` and one of its slots, using `open`. Tries again if the remembered state is newer
    /// because the file was replaced after it had been opened.
    static func opening(
        _ path: String, writable: Bool, place: Place, _ open: (Header, [UInt8]) throws(VaultError) -> OpenedSlot
    ) throws(VaultError) -> Store {
        let resolved = try place.fileSystem.resolve(path)
        var recalled: (vault: Bytes16, admit: StateWatch.Admission)?
        var attempts = 0
        while true {
            attempts += 1
            let file = try place.fileSystem.open(resolved, writable: writable)
            let (header, bytes) = try readHeader(file)
            let slot = try open(header, bytes)
            try requireOwner(slot, place.owner)
            if recalled?.vault != header.id, let watch = place.watch {
                recalled = (header.id, try watch.recall(header.id, resolved))
            }
            let store = Store(
                try load(file, header, bytes, slot, place), path: resolved, isWritable: writable, place: place)
            do throws(VaultError) {
                _ = try recalled?.admit(store.watched)
                return store
            } catch {
                guard attempts < mostAttempts, mayBeLate(error), let watch = place.watch,
                    try place.fileSystem.identity(of: resolved)?.isSameFile(as: try file.identity()) != true
                else { throw error }
                recalled = (header.id, try watch.recall(header.id, resolved))
            }
        }
    }

    /// Refuses a vault whose owners' public key differs from the one that the caller requires (section 7.2).
    package static func requireOwner(_ slot: borrowing OpenedSlot, _ owner: Bytes32?) throws(VaultError) {
        guard let owner, slot.keys.ownersPublicKey() != owner else { return }
        throw VaultError(.foreignOwner, "the vault belongs to owners other than those specified")
    }
}

extension Store {
    /// The past states recorded in the current file.
    package var past: StatePast { StatePast(finder: finder, pages: pages) }

    /// Returns the relation of a remembered state to the current one.
    package func verdict(on anchor: AnchorPoint) throws(VaultError) -> Ancestry {
        try watched.verdict(on: anchor)
    }
}
