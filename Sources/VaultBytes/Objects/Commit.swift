/// The part of a core that is needed to walk over past commits (section 7.2). The rest of the core is not checked,
/// because the chain value authenticates it.
package struct CommitLink: Equatable, Sendable {
    package let generation: UInt64
    package let predecessor: Commit.Predecessor
    package let clock: UInt64
    package let start: UInt64

    package init(_ bytes: Span<UInt8>, at found: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: found, else: .structureInvalid)
        generation = try cursor.u64(bytes)
        predecessor = Commit.Predecessor(generation: try cursor.u64(bytes), chain: try cursor.bytes32(bytes))
        _ = try cursor.u64(bytes)
        start = try cursor.u64(bytes)
        clock = try cursor.u64(bytes)
    }
}

/// A commit's core, which describes the whole state of the vault at one generation (section 5.6).
package struct Commit: Equatable, Sendable {
    package struct Root: Equatable, Sendable {
        package let ref: ObjectRef
        package let level: UInt8

        package init(ref: ObjectRef, level: UInt8) {
            self.ref = ref
            self.level = level
        }
    }

    /// The predecessor of a commit; nil in generation 1.
    package struct Predecessor: Equatable, Sendable {
        package let generation: UInt64
        package let chain: Bytes32

        package init(generation: UInt64, chain: Bytes32) {
            self.generation = generation
            self.chain = chain
        }
    }

    /// The vector row that the commit's change raised.
    package struct OwnRow: Hashable, Sendable {
        package let id: ReplicaID
        package let revision: UInt64

        package init(id: ReplicaID, revision: UInt64) {
            self.id = id
            self.revision = revision
        }
    }

    package var generation: UInt64
    package var predecessor: Predecessor?
    package var offset: UInt64
    package var start: UInt64
    /// The maximum of the floor and all revisions of the vector.
    package var clock: UInt64
    /// The revision up to which the state includes all changes, under any id; 0 until a rotation restarts the vector.
    package var floor: UInt64
    /// True if the appended data was synced before the commit was written (flag 1).
    package var wasSyncedFirst: Bool
    package var root: Root?
    package var keyring: ObjectRef
    /// The frame that contains the vector; `own` replaces one of its rows.
    package var vector: ObjectRef
    /// The header hash stored in the header.
    package var header: Bytes32
    package var digest: Bytes32
    package var items: UInt64
    package var forgotten: UInt64
    /// The number of items with a past frame.
    package var pasts: UInt64
    package var liveBytes: UInt64
    /// The row of the id under which the commit was made; nil for a merge or compaction.
    package var own: OwnRow?

    package init(
        generation: UInt64, predecessor: Predecessor?, offset: UInt64, start: UInt64, clock: UInt64, floor: UInt64,
        wasSyncedFirst: Bool, root: Root?, keyring: ObjectRef, vector: ObjectRef, header: Bytes32, digest: Bytes32,
        items: UInt64, forgotten: UInt64, pasts: UInt64, liveBytes: UInt64, own: OwnRow?
    ) {
        self.generation = generation
        self.predecessor = predecessor
        self.offset = offset
        self.start = start
        self.clock = clock
        self.floor = floor
        self.wasSyncedFirst = wasSyncedFirst
        self.root = root
        self.keyring = keyring
        self.vector = vector
        self.header = header
        self.digest = digest
        self.items = items
        self.forgotten = forgotten
        self.pasts = pasts
        self.liveBytes = liveBytes
        self.own = own
    }

    /// The offset after the commit's last byte: the length of the file in this state.
    package var end: UInt64 { offset + UInt64(Format.commitSize) }

    /// Returns the offset of the predecessor's commit, if it is in the file. The file's first object starts at
    /// `bodyStart`.
    package func predecessorOffset(from bodyStart: UInt64) -> UInt64? {
        start > bodyStart ? start - UInt64(Format.commitSize) : nil
    }

    /// Reads a core at the given offset in a file whose first object starts at `bodyStart` (R-5.21 to, and the
    /// table in section 5.6).
    package init(_ bytes: Span<UInt8>, at found: UInt64, from bodyStart: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: found, else: .structureInvalid)
        generation = try cursor.number(bytes, "a commit's generation")
        predecessor = try Commit.predecessor(bytes, &cursor, of: generation)
        offset = try cursor.u64(bytes)
        start = try cursor.u64(bytes)
        guard offset == found, start % Format.commitAlignment == 0, start >= bodyStart, start <= offset else {
            throw cursor.error("a commit's own offset or start is wrong")
        }
        guard predecessor != nil || start == bodyStart else {
            throw cursor.error("generation 1 does not start the file")
        }
        clock = try cursor.number(bytes, "a commit's clock")
        floor = try cursor.u64(bytes)
        guard floor <= clock else { throw cursor.error("a commit's floor is greater than its clock") }
        let flags = try cursor.u32(bytes)
        guard flags <= 1 else { throw cursor.error("a commit has unknown flags") }
        wasSyncedFirst = flags == 1
        guard wasSyncedFirst || offset - start <= Format.smallCommit else {
            throw cursor.error("a commit without flag 1 is too large")
        }
        try cursor.reserved(bytes, 4)
        root = try Commit.root(bytes, &cursor, from: bodyStart, before: offset)
        keyring = try Commit.ref(bytes, &cursor, .keyring, from: bodyStart, before: offset)
        vector = try Commit.ref(bytes, &cursor, .vector, from: bodyStart, before: offset)
        header = try cursor.bytes32(bytes)
        digest = try cursor.bytes32(bytes)
        items = try cursor.u64(bytes)
        forgotten = try cursor.u64(bytes)
        pasts = try cursor.u64(bytes)
        liveBytes = try cursor.u64(bytes)
        let most = offset + UInt64(Format.commitSize)
        guard items <= most, forgotten <= most, pasts <= items, liveBytes <= most else {
            throw cursor.error("a commit's counts are larger than the file allows")
        }
        own = try Commit.own(bytes, &cursor, clock: clock)
        try cursor.reserved(bytes, 24)
        try cursor.finish()
    }

    private static func own(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, clock: UInt64
    ) throws(FormatError) -> OwnRow? {
        let (id, revision) = (try cursor.u64(bytes), try cursor.u64(bytes))
        guard revision == (id == 0 ? 0 : clock) else {
            throw cursor.error("a commit's own revision does not match its clock or its own id")
        }
        return id == 0 ? nil : OwnRow(id: id, revision: revision)
    }

    private static func predecessor(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, of generation: UInt64
    ) throws(FormatError) -> Predecessor? {
        let before = try cursor.u64(bytes)
        let chain = try cursor.bytes32(bytes)
        guard before < generation, (before == 0) == (generation == 1) else {
            throw cursor.error("a commit's generation does not follow its predecessor's")
        }
        guard generation == 1 else { return Predecessor(generation: before, chain: chain) }
        guard chain == .zero else { throw cursor.error("the first generation has a predecessor") }
        return nil
    }

    private static func root(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, from bodyStart: UInt64, before: UInt64
    ) throws(FormatError) -> Root? {
        let offset = try cursor.u64(bytes)
        let length = try cursor.u32(bytes)
        let level = try cursor.u8(bytes)
        try cursor.reserved(bytes, 3)
        guard let ref = try checked(offset, length, try cursor.bytes32(bytes), .page, from: bodyStart, before: before)
        else {
            guard level == 0 else { throw cursor.error("an empty tree has a level") }
            return nil
        }
        guard level <= Format.Limit.level else { throw cursor.error("a root page has the invalid level \(level)") }
        return Root(ref: ref, level: level)
    }

    private static func ref(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ type: FrameType, from bodyStart: UInt64, before: UInt64
    ) throws(FormatError) -> ObjectRef {
        let offset = try cursor.u64(bytes)
        let length = try cursor.u32(bytes)
        try cursor.reserved(bytes, 4)
        let hash = try cursor.bytes32(bytes)
        guard let ref = try checked(offset, length, hash, type, from: bodyStart, before: before) else {
            throw cursor.error("a commit has no \(type.name)")
        }
        return ref
    }

    private static func checked(
        _ offset: UInt64, _ length: UInt32, _ hash: Bytes32, _ type: FrameType, from bodyStart: UInt64, before: UInt64
    ) throws(FormatError) -> ObjectRef? {
        if offset == 0, length == 0, hash == .zero { return nil }
        let ref = ObjectRef(offset: offset, length: Int(length), hash: hash)
        try ref.check(type, from: bodyStart, before: before)
        return ref
    }

    /// Encodes the core, 368 bytes.
    package func encode() -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(Format.commitBodySize)
        out.append(u64: generation)
        out.append(u64: predecessor?.generation ?? 0)
        out.append(predecessor?.chain ?? .zero)
        for value in [offset, start, clock, floor] { out.append(u64: value) }
        out.append(u32: wasSyncedFirst ? 1 : 0)
        out.append(u32: 0)
        out.append(u64: root?.ref.offset ?? 0)
        out.append(u32: UInt32(root?.ref.length ?? 0))
        out.append(root?.level ?? 0)
        out.append(zeros: 3)
        out.append(root?.ref.hash ?? .zero)
        for ref in [keyring, vector] {
            out.append(u64: ref.offset)
            out.append(u32: UInt32(ref.length))
            out.append(u32: 0)
            out.append(ref.hash)
        }
        for hash in [header, digest] { out.append(hash) }
        for value in [items, forgotten, pasts, liveBytes, own?.id ?? 0, own?.revision ?? 0] { out.append(u64: value) }
        out.append(zeros: Format.commitCoreSize - out.count)
        return out
    }
}
