package import VaultBytes
internal import VaultCrypto

/// What a machine's memory asks of a store: to look at each state before it is served, and to hear of each that was
/// made durable.
///
/// `VaultLocal` makes one. It is closures rather than a protocol, since there is one kind of it.
package struct StateWatch: Sendable {
    /// Judges a state that is about to be served or written upon; throws to refuse it. True if what is remembered
    /// vouches for it.
    package typealias Admission = (WatchedState) throws(VaultError) -> Bool

    /// Reads what is remembered of a vault. It is called before the file is looked at, so that no commit of another
    /// process can come between and make the file seem older than what is remembered.
    package let recall: @Sendable (Bytes16) throws(VaultError) -> Admission
    /// This handle has made a state durable.
    package let committed: @Sendable (WatchedState) -> Void

    package init(
        recall: @escaping @Sendable (Bytes16) throws(VaultError) -> Admission,
        committed: @escaping @Sendable (WatchedState) -> Void
    ) {
        self.recall = recall
        self.committed = committed
    }
}

/// A state that a handle serves or is about to.
package struct WatchedState {
    package let state: CommittedState
    package let vault: Bytes16
    /// That of the keys which opened it.
    package let ownersPublicKey: Bytes32
    /// Whether it was opened with a full slot, and not with a scoped one.
    package let isOwner: Bool
    let keyring: Keyring
    let past: StatePast
    let fileSystem: any FileSystem
    let path: String
    /// Whether the handle itself brought the state to the disk.
    let isSynced: Bool

    package var generation: UInt64 { state.commit.generation }
    package var chain: Bytes32 { state.chain }

    /// How a remembered state stands to this one.
    package func verdict(on anchor: AnchorPoint) throws(VaultError) -> Ancestry {
        try past.verdict(on: anchor, state: state, keyring: keyring, ownersPublicKey: ownersPublicKey)
    }

    /// What a machine remembers of this state.
    package var anchor: AnchorPoint {
        AnchorPoint(generation: generation, chain: chain, ownersPublicKey: ownersPublicKey)
    }

    /// Whether the file has gone on from this state to that one meanwhile, or beyond it.
    package func isContinued(by generation: UInt64, _ chain: Bytes32) throws(VaultError) -> Bool {
        let newest = try past.finder.newest().state
        let fromThis = try past.membership(generation: self.generation, chain: self.chain, of: newest)
        let fromThat = try past.membership(generation: generation, chain: chain, of: newest)
        return [fromThis, fromThat].allSatisfy { [.same, .ancestor].contains($0) }
    }

    /// Brings the state to the disk, if this handle has not: the file, for which a descriptor for reading will do, and
    /// the name of it.
    package func makeDurable() throws(VaultError) {
        guard !isSynced else { return }
        try past.finder.file.sync()
        try fileSystem.syncDirectory(of: path)
    }
}

extension Store {
    /// The state that is being served.
    package var watched: WatchedState {
        WatchedState(
            state: state, vault: vault, ownersPublicKey: ownersPublicKey, isOwner: slot.keys.isOwner, keyring: keyring,
            past: past,
            fileSystem: fileSystem, path: path, isSynced: synced == state)
    }

    /// A state of a file that was just read, before it is served.
    func candidate(_ loaded: borrowing Loaded) -> WatchedState {
        WatchedState(
            state: loaded.found.state, vault: loaded.header.id, ownersPublicKey: loaded.slot.keys.ownersPublicKey(),
            isOwner: loaded.slot.keys.isOwner, keyring: loaded.keyring, past: loaded.past, fileSystem: fileSystem,
            path: path,
            isSynced: false)
    }

    /// How often a file is looked at where what is remembered is newer: with what is remembered asked for first, only a
    /// file that others replace each time in between can still seem older than it is.
    static let mostAttempts = 10

    /// What a state is refused with that others have gone on from meanwhile, with a rotation or without.
    static func mayBeLate(_ error: VaultError) -> Bool { error.code == .rolledBack || error.code == .foreignOwner }

    /// Opens the file at `path`, and what `open` opens of it. Where what is remembered is newer, and the file was
    /// replaced after it was opened and before it was compared, this is done again.
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
                recalled = (header.id, try watch.recall(header.id))
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
                recalled = (header.id, try watch.recall(header.id))
            }
        }
    }

    /// Section 7.2: a caller that insists on an owners' public key gets no vault of another.
    package static func requireOwner(_ slot: borrowing OpenedSlot, _ owner: Bytes32?) throws(VaultError) {
        guard let owner, slot.keys.ownersPublicKey() != owner else { return }
        throw VaultError(.foreignOwner, "the vault belongs to other owners than the ones asked for")
    }
}

extension Store {
    /// What the current file shows of its past.
    package var past: StatePast { StatePast(finder: finder, pages: pages) }

    /// How a remembered state stands to the current one.
    package func verdict(on anchor: AnchorPoint) throws(VaultError) -> Ancestry {
        try past.verdict(on: anchor, state: state, keyring: keyring, ownersPublicKey: ownersPublicKey)
    }
}
