/// A commit's body: the whole state of the vault at one generation (section 5.5).
package struct Commit: Equatable, Sendable {
    package struct Root: Equatable, Sendable {
        package let ref: ObjectRef
        package let level: UInt8

        package init(ref: ObjectRef, level: UInt8) {
            self.ref = ref
            self.level = level
        }
    }

    package var generation: UInt64
    package var offset: UInt64
    package var start: UInt64
    package var previous: UInt64
    package var clock: UInt64
    /// Flag 1: what it appended was synced before it was written.
    package var wasSyncedFirst: Bool
    package var root: Root?
    package var keyring: ObjectRef
    package var history: ObjectRef?
    package var header: Bytes32
    package var previousChain: Bytes32
    package var digest: Bytes32
    package var items: UInt64
    package var tombstones: UInt64
    package var liveBytes: UInt64

    package init(
        generation: UInt64, offset: UInt64, start: UInt64, previous: UInt64, clock: UInt64, wasSyncedFirst: Bool, root: Root?,
        keyring: ObjectRef, history: ObjectRef?, header: Bytes32, previousChain: Bytes32, digest: Bytes32, items: UInt64,
        tombstones: UInt64, liveBytes: UInt64
    ) {
        self.generation = generation
        self.offset = offset
        self.start = start
        self.previous = previous
        self.clock = clock
        self.wasSyncedFirst = wasSyncedFirst
        self.root = root
        self.keyring = keyring
        self.history = history
        self.header = header
        self.previousChain = previousChain
        self.digest = digest
        self.items = items
        self.tombstones = tombstones
        self.liveBytes = liveBytes
    }

    /// One past the commit's last byte: the length of the file in this state.
    package var end: UInt64 { offset + UInt64(Format.commitSize) }

    /// Reads a body found at `found`.
    package init(_ bytes: Span<UInt8>, at found: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: found, else: .structureInvalid)
        generation = try cursor.u64(bytes)
        guard generation >= 1 else { throw cursor.error("generation 0") }
        guard generation <= Format.Limit.generation else { throw cursor.limit("generation \(generation)") }
        offset = try cursor.u64(bytes)
        start = try cursor.u64(bytes)
        previous = try cursor.u64(bytes)
        guard offset == found, start <= offset, start >= UInt64(Format.headerStep) else {
            throw cursor.error("a commit's own offset or start is wrong")
        }
        guard previous == 0 || (previous >= UInt64(Format.headerStep) && previous <= start && start - previous == UInt64(Format.commitSize))
        else {
            throw cursor.error("a commit does not begin where its predecessor ends")
        }
        clock = try cursor.u64(bytes)
        let flags = try cursor.u32(bytes)
        guard flags <= 1 else { throw cursor.error("a commit has unknown flags") }
        wasSyncedFirst = flags == 1
        try cursor.reserved(bytes, 4)
        root = try Commit.root(bytes, &cursor, before: offset)
        guard let ring = try Commit.ref(bytes, &cursor, .keyring, before: offset) else { throw cursor.error("a commit without a keyring") }
        keyring = ring
        history = try Commit.ref(bytes, &cursor, .history, before: offset)
        header = try cursor.bytes32(bytes)
        previousChain = try cursor.bytes32(bytes)
        guard generation > 1 || (previousChain == .zero && previous == 0) else {
            throw cursor.error("the first generation has a predecessor")
        }
        digest = try cursor.bytes32(bytes)
        items = try cursor.u64(bytes)
        tombstones = try cursor.u64(bytes)
        liveBytes = try cursor.u64(bytes)
        let most = offset + UInt64(Format.commitSize)
        guard items <= most, tombstones <= most, liveBytes <= most else {
            throw cursor.error("a commit counts more than the file can hold")
        }
        try cursor.reserved(bytes, 24)
        try cursor.finish()
    }

    private static func root(_ bytes: Span<UInt8>, _ cursor: inout Cursor, before: UInt64) throws(FormatError) -> Root? {
        let offset = try cursor.u64(bytes)
        let length = try cursor.u32(bytes)
        let level = try cursor.u8(bytes)
        try cursor.reserved(bytes, 3)
        let ref = try checked(offset, length, try cursor.bytes32(bytes), .page, before: before, cursor)
        guard let ref else {
            guard level == 0 else { throw cursor.error("an empty tree has a level") }
            return nil
        }
        guard level <= Format.Limit.level else { throw cursor.limit("a root page of level \(level)") }
        return Root(ref: ref, level: level)
    }

    private static func ref(_ bytes: Span<UInt8>, _ cursor: inout Cursor, _ type: FrameType, before: UInt64) throws(FormatError)
        -> ObjectRef?
    {
        let offset = try cursor.u64(bytes)
        let length = try cursor.u32(bytes)
        try cursor.reserved(bytes, 4)
        return try checked(offset, length, try cursor.bytes32(bytes), type, before: before, cursor)
    }

    private static func checked(
        _ offset: UInt64, _ length: UInt32, _ hash: Bytes32, _ type: FrameType, before: UInt64, _ cursor: Cursor
    ) throws(FormatError) -> ObjectRef? {
        if offset == 0, length == 0, hash == .zero { return nil }
        guard length <= UInt32(type.lengths.upperBound) else { throw cursor.limit("a \(type.name) of \(length) bytes") }
        guard type.lengths.contains(Int(length)), Int(length) % Format.pageStep == 0,
            offset >= UInt64(Format.headerStep), offset <= before, before - offset >= UInt64(length)
        else { throw cursor.error("a commit's \(type.name) is not before it") }
        return ObjectRef(offset: offset, length: Int(length), hash: hash)
    }

    package func encode() -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(Format.commitBodySize)
        for value in [generation, offset, start, previous, clock] { out.append(u64: value) }
        out.append(u32: wasSyncedFirst ? 1 : 0)
        out.append(u32: 0)
        out.append(u64: root?.ref.offset ?? 0)
        out.append(u32: UInt32(root?.ref.length ?? 0))
        out.append(root?.level ?? 0)
        out.append(zeros: 3)
        out.append(root?.ref.hash ?? .zero)
        for ref in [keyring, history] {
            out.append(u64: ref?.offset ?? 0)
            out.append(u32: UInt32(ref?.length ?? 0))
            out.append(u32: 0)
            out.append(ref?.hash ?? .zero)
        }
        for hash in [header, previousChain, digest] { out.append(hash) }
        for value in [items, tombstones, liveBytes] { out.append(u64: value) }
        out.append(zeros: Format.commitBodySize - out.count)
        return out
    }
}
