package import VaultBytes
package import VaultCrypto

/// One vault file, opened: header, keys, newest state. Not for several threads at once; its owner sees to that.
package final class Store {
    package let fileSystem: any FileSystem
    package let random: Randomness
    /// With symbolic links followed: the file that is there, and that a replacement goes to.
    package let path: String
    package let isWritable: Bool
    let cacheBytes: Int
    let process = OwnProcess()
    package let watch: StateWatch?
    private let owner: Bytes32?

    package internal(set) var file: any FileHandle { didSet { fileIdentity = nil } }
    /// Of the file, once it was asked for; it stays as long as the file is open.
    var fileIdentity: FileIdentity?
    package internal(set) var header: Header
    package internal(set) var headerHash: Bytes32
    package internal(set) var slot: OpenedSlot { didSet { knownPublicKey = nil } }
    private var knownPublicKey: Bytes32?
    package internal(set) var pages: PageSource
    package internal(set) var codec: CommitCodec
    package internal(set) var state: CommittedState
    /// The frame of the state's commit, to see whether it is still there.
    var commitFrame: [UInt8]
    package internal(set) var keyring: Keyring
    package internal(set) var tail: TailState
    /// What `tail` passed over.
    var incomplete: CommittedState?

    /// The newest commit that this handle itself brought to the disk.
    var synced: CommittedState?
    var isPoisoned = false
    /// Whether the writer's lock is kept between changes: until a file that is still being made has its name.
    var keepsLock = false
    /// Whether this handle has changed the vault before, and so is likely to do so again.
    var hasCommitted = false
    /// The file that a large change in progress goes to.
    var relocation: Relocation?
    /// Whether what a killed writer left beside the vault was removed.
    var hasSwept = false

    /// What is known of a file once its header and newest commit are.
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

    /// Where a store lives and what it is made with.
    package struct Place: Sendable {
        package let fileSystem: any FileSystem
        package let random: Randomness
        package let cacheBytes: Int
        /// Who remembers the vault's states; nil for nobody.
        package var watch: StateWatch?
        /// The owners' public key that the caller insists on.
        package var owner: Bytes32?

        package init(
            fileSystem: any FileSystem = RealFileSystem(), random: Randomness = .system, cacheBytes: Int = 8 << 20,
            watch: StateWatch? = nil, owner: Bytes32? = nil
        ) {
            self.owner = owner
            self.fileSystem = fileSystem
            self.random = random
            self.cacheBytes = cacheBytes
            self.watch = watch
        }
    }

    deinit { cutReserve() }

    init(_ loaded: consuming Loaded, path: String, isWritable: Bool, place: Place) {
        fileSystem = place.fileSystem
        random = place.random
        cacheBytes = place.cacheBytes
        watch = place.watch
        owner = place.owner
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

    /// Reads a header and checks it: at first the least it can be, then all of it.
    package static func readHeader(_ file: any FileHandle) throws(VaultError) -> (Header, [UInt8]) {
        let size = try file.size()
        guard size >= 16 else { throw VaultError(.notAVault, "not a vault: \(size) bytes") }
        let first = try file.bytes(Int(min(size, UInt64(Format.headerStep))), at: 0)
        let length = try decoding { () throws(FormatError) in try Header.length(first.span) }
        guard size >= 2 * UInt64(length) + 2 * UInt64(Format.commitSize) else {
            throw VaultError(.headerInvalid, "the file is truncated: \(size) bytes", at: size)
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
            file: file, codec: codec, vault: header.id, bodyStart: header.bodyStart, headerHash: hash)
        let found = try finder.newest()
        let keyring = try readKeyring(of: found.state.commit, pages, header)
        return Loaded(
            file: file, header: header, headerHash: hash, slot: slot, pages: pages, codec: codec, finder: finder,
            found: found,
            keyring: keyring)
    }

    /// Reads a commit's keyring, and checks it against the header and the clock.
    static func readKeyring(of commit: Commit, _ pages: PageSource, _ header: Header) throws(VaultError) -> Keyring {
        let ref = commit.keyring
        let body = try pages.open(try FrameReader.read(ref, .keyring, pages.file), .keyring, at: ref.offset)
        let keyring = try decoding { () throws(FormatError) in try Keyring(body.span, at: ref.offset) }
        let removed = Set(keyring.removedSlots.map(\.id))
        guard !header.slots.contains(where: { removed.contains($0.id) }) else {
            throw VaultError(.structureInvalid, "a slot of the header is listed as removed", at: ref.offset)
        }
        let areKnown = keyring.removedSlots.allSatisfy { $0.revision >= 1 && $0.revision <= commit.clock }
        guard areKnown, keyring.keeping.revision <= commit.clock else {
            throw VaultError(.structureInvalid, "a revision in the keyring is after the vault's clock", at: ref.offset)
        }
        return keyring
    }

    package var sealing: Sealing { pages.sealing }
    package var vault: Bytes16 { header.id }
    package var clock: UInt64 { state.commit.clock }
    package var tree: TreeReader { TreeReader(source: pages, root: state.commit.root) }
    package var finder: StateFinder {
        StateFinder(file: file, codec: codec, vault: header.id, bodyStart: header.bodyStart, headerHash: headerHash)
    }
    var place: Place {
        Place(fileSystem: fileSystem, random: random, cacheBytes: cacheBytes, watch: watch, owner: owner)
    }

    /// The key that signs the owners' commits, derived once.
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

    /// Forgets what only a full slot gives, and how to get it back: what is left reads metadata, and checks commits.
    package func dropOwner() {
        codec = codec.checkingOnly(publicKey: ownersPublicKey)
        slot.keys = slot.keys.withoutOwner()
        slot.wrappingKey = Secret(count: 0)
        slot.grants = Grants()
    }
}
