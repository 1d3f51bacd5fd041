package import VaultBytes
package import VaultCrypto

/// An open vault file: its header, keys and newest state. Not thread-safe; its owner must serialize access.
package final class Store {
    package let fileSystem: any FileSystem
    package let random: Randomness
    /// The path of the actual file, with symbolic links resolved; a replacement is renamed over it.
    package let path: String
    package let isWritable: Bool
    let cacheBytes: Int
    /// The number of threads for work on the whole vault; nil for one per processor.
    package let threads: Int?
    let process = OwnProcess()
    package let watch: StateWatch?
    /// The memory of this writer's replica ids.
    package let replicas: any ReplicaMemory
    private let owner: Bytes32?
    private let searchesWholeFile: Bool
    /// True if each keyring is preceded by a spare.
    package let writesSpares: Bool

    package internal(set) var file: any FileHandle {
        // Data that another program has written there may not have been synced, even if the bytes are the same as
        // before.
        didSet { (fileIdentity, knownVector, synced) = (nil, nil, nil) }
    }
    /// The file's identity, determined when first needed; it does not change while the file is open.
    var fileIdentity: FileIdentity?
    package internal(set) var header: Header
    package internal(set) var headerHash: Bytes32
    package internal(set) var slot: OpenedSlot { didSet { knownPublicKey = nil } }
    private var knownPublicKey: Bytes32?
    package internal(set) var pages: PageSource
    package internal(set) var codec: CommitCodec
    package internal(set) var state: CommittedState
    /// The frame of the state's commit, used to check whether the commit is still in the file.
    var commitFrame: [UInt8]
    package internal(set) var keyring: Keyring
    /// The vector that was last read or written, which may belong to an earlier state.
    var knownVector: StoredVector?
    package internal(set) var tail: TailState
    /// The state that was skipped because of `tail`.
    var incomplete: CommittedState?

    /// The newest commit that this handle itself made durable.
    var synced: CommittedState?
    var isPoisoned = false
    /// True if the writer's lock is held between changes, until a new file has been given its name.
    var keepsLock = false
    /// True if this handle has changed the vault; it is then likely to change it again.
    var hasCommitted = false
    /// The file that receives a large change in progress.
    var relocation: Relocation?
    /// True if temporary files of killed writers have been removed.
    var hasSwept = false

    /// The result of reading a file's header and newest commit.
    struct Loaded: ~Copyable {
        let file: any FileHandle
        let header: Header
        let headerHash: Bytes32
        let slot: OpenedSlot
        let pages: PageSource
        let codec: CommitCodec
        let finder: StateFinder
        let found: StateFinder.Found
        let keyring: Keyring

        var past: StatePast { StatePast(finder: finder, pages: pages) }
    }

    /// The location of a store, and how to open it.
    package struct Place: Sendable {
        package let fileSystem: any FileSystem
        package let random: Randomness
        package let cacheBytes: Int
        /// The memory of the vault's states; nil if states are not remembered.
        package var watch: StateWatch?
        /// The memory of the replica ids that this writer has used.
        package var replicas: any ReplicaMemory
        /// The owners' public key that the caller requires.
        package var owner: Bytes32?
        /// The number of threads for work on the whole vault; nil for one per processor.
        package var threads: Int?
        /// True if the search for the newest state covers the whole file, as in a repair.
        package var searchesWholeFile = false
        /// True if each keyring is preceded by a spare. The files of the conformance vectors have none.
        package var writesSpares = true

        package init(
            fileSystem: any FileSystem = RealFileSystem(), random: Randomness = .system, cacheBytes: Int = 8 << 20,
            watch: StateWatch? = nil, replicas: any ReplicaMemory = ProcessReplicas.shared, owner: Bytes32? = nil,
            threads: Int? = nil
        ) {
            self.owner = owner
            self.threads = threads
            self.fileSystem = fileSystem
            self.random = random
            self.cacheBytes = cacheBytes
            self.watch = watch
            self.replicas = replicas
        }
    }

    deinit { cutReserve() }

    init(_ loaded: consuming Loaded, path: String, isWritable: Bool, place: Place) {
        fileSystem = place.fileSystem
        random = place.random
        cacheBytes = place.cacheBytes
        watch = place.watch
        replicas = place.replicas
        owner = place.owner
        threads = place.threads
        searchesWholeFile = place.searchesWholeFile
        writesSpares = place.writesSpares
        self.path = path
        self.isWritable = isWritable
        file = loaded.file
        header = loaded.header
        headerHash = loaded.headerHash
        pages = loaded.pages
        codec = loaded.codec
        state = loaded.found.state
        commitFrame = loaded.found.frame
        tail = loaded.found.tail
        incomplete = loaded.found.incomplete
        keyring = loaded.keyring
        slot = loaded.slot
    }

    /// Opens the file at `path` with the factors (section 7.1).
    package static func open(
        _ path: String, writable: Bool, factors: borrowing FactorKeys, limits: ReaderLimits,
        external: (any SlotFactor)? = nil,
        place: Place
    ) throws(VaultError) -> Store {
        try opening(path, writable: writable, place: place) { (header, bytes) throws(VaultError) in
            try SlotOpener.open(header, bytes, factors, limits, external: external)
        }
    }

    /// Reads a header and checks it. If the header is refused because it is from 0.1.0, the error says
    /// so.
    package static func readHeader(_ file: any FileHandle) throws(VaultError) -> (Header, [UInt8]) {
        do throws(VaultError) { return try checkedHeader(file) } catch {
            guard error.code == .headerInvalid, try isOfEarlierVersion(file) else { throw error }
            throw .earlierVersion
        }
    }

    /// Returns true if the file begins with a header of vaultfmt 0.1.0. Call this only for a file whose header is
    /// refused.
    package static func isOfEarlierVersion(_ file: any FileHandle) throws(VaultError) -> Bool {
        let bytes = try file.bytes(Int(min(try file.size(), UInt64(EarlierHeader.longest))), at: 0)
        return EarlierHeader.begins(bytes.span)
    }

    /// Checks the minimum length first, then the rest.
    private static func checkedHeader(_ file: any FileHandle) throws(VaultError) -> (Header, [UInt8]) {
        let size = try file.size()
        guard size >= 16 else { throw VaultError(.notAVault, "not a vault: the file has only \(size) bytes") }
        let first = try file.bytes(Int(min(size, UInt64(Format.headerStep))), at: 0)
        let length = try decoding { () throws(FormatError) in try Header.length(first.span) }
        guard size >= 2 * UInt64(length) + 2 * UInt64(Format.commitSize) else {
            throw VaultError(.headerInvalid, "the file is truncated: it has only \(size) bytes", at: size)
        }
        let bytes = length == first.count ? first : try file.bytes(length, at: 0)
        _ = try HeaderSeal.checkHash(bytes)
        return (try decoding { () throws(FormatError) in try Header(bytes.span) }, bytes)
    }

    static func load(
        _ file: any FileHandle, _ header: Header, _ bytes: [UInt8], _ slot: consuming OpenedSlot, _ place: Place
    ) throws(VaultError) -> Loaded {
        let sealing = Sealing(vault: header.id, random: place.random)
        let codec = CommitCodec(slot.keys, sealing: sealing, vault: header.id, isSigning: header.isSigned)
        let pages = PageSource(
            file: file, sealing: sealing, bodyStart: header.bodyStart, indexKey: slot.keys.index.copy(),
            cacheBytes: place.cacheBytes)
        let hash = try HeaderSeal.checkHash(bytes)
        let finder = StateFinder(
            file: file, codec: codec, vault: header.id, bodyStart: header.bodyStart, headerHash: hash,
            searchesWholeFile: place.searchesWholeFile)
        let found = try finder.newest()
        let keyring = try readKeyring(of: found.state.commit, pages, header)
        return Loaded(
            file: file, header: header, headerHash: hash, slot: slot, pages: pages, codec: codec, finder: finder,
            found: found,
            keyring: keyring)
    }

    /// Reads a commit's keyring, and checks it against the header and the commit.
    static func readKeyring(of commit: Commit, _ pages: PageSource, _ header: Header) throws(VaultError) -> Keyring {
        let ref = commit.keyring
        let body = try pages.open(try FrameReader.read(ref, .keyring, pages.file), .keyring, at: ref.offset)
        let keyring = try decoding { () throws(FormatError) in try Keyring(body.span, at: ref.offset) }
        let kinds = Dictionary(header.slots.map { ($0.id, $0.kind) }, uniquingKeysWith: { first, _ in first })
        guard keyring.slots.count == kinds.count, keyring.slots.allSatisfy({ kinds[$0.id] != nil }) else {
            throw VaultError(.structureInvalid, "the slots in the keyring are not those in the header", at: ref.offset)
        }
        guard keyring.slots.allSatisfy({ $0.grants.isEmpty || kinds[$0.id] != .full }) else {
            throw VaultError(.structureInvalid, "a slot that opens everything is granted a group", at: ref.offset)
        }
        guard keyring.dots.allSatisfy({ $0.isPossible(clock: commit.clock, floor: commit.floor) }) else {
            throw VaultError(
                .structureInvalid, "a dot in the keyring is later than the vault's clock, or wrongly encoded",
                at: ref.offset)
        }
        return keyring
    }

    package var sealing: Sealing { pages.sealing }
    package var vault: Bytes16 { header.id }
    package var clock: UInt64 { state.commit.clock }
    package var tree: TreeReader { TreeReader(source: pages, root: state.commit.root) }
    package var finder: StateFinder {
        StateFinder(
            file: file, codec: codec, vault: header.id, bodyStart: header.bodyStart, headerHash: headerHash,
            searchesWholeFile: searchesWholeFile)
    }
    var place: Place {
        var place = Place(
            fileSystem: fileSystem, random: random, cacheBytes: cacheBytes, watch: watch, replicas: replicas,
            owner: owner, threads: threads
        )
        place.searchesWholeFile = searchesWholeFile
        place.writesSpares = writesSpares
        return place
    }

    /// The key that verifies the owners' commits, derived only once.
    package var ownersPublicKey: Bytes32 {
        if let knownPublicKey { return knownPublicKey }
        let key = slot.keys.ownersPublicKey()
        knownPublicKey = key
        return key
    }

    func adopt(_ loaded: consuming Loaded) {
        file = loaded.file
        header = loaded.header
        headerHash = loaded.headerHash
        pages = loaded.pages
        codec = loaded.codec
        state = loaded.found.state
        commitFrame = loaded.found.frame
        tail = loaded.found.tail
        incomplete = loaded.found.incomplete
        keyring = loaded.keyring
        slot = loaded.slot
    }

    /// Wipes the keys that only a full slot grants, and the key that reopens the slot. The remaining keys can read
    /// metadata and check commits.
    package func dropOwner() {
        codec = codec.checkingOnly(publicKey: ownersPublicKey)
        slot.keys = slot.keys.withoutOwner()
        slot.wrappingKey = Secret(count: 0)
        slot.grants = Grants()
    }
}
