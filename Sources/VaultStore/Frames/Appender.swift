package import VaultBytes
package import VaultCrypto

/// Collects and hashes the frames of one commit, and writes them after the newest committed state: a few frames are
/// written together with the commit in a single write, and many frames are written in pieces before it.
package final class Appender {
    private var file: any FileHandle
    private let sealing: Sealing
    /// The offset of the first frame.
    package let start: UInt64
    /// The bytes not written yet; they will be written at `base`.
    private var buffer: [UInt8] = []
    private var base: UInt64
    private var digest = Blake2b()
    /// The space for frames that are written out of order, if any.
    private var room: RecordRoom?
    /// True if the file may have grown, even by a write that succeeded only in part.
    package private(set) var hasWritten = false
    /// The commit's frame, once it is sealed.
    package private(set) var commitFrame: [UInt8] = []
    private let keepsReserve: Bool
    private let threads: Int?
    /// True if the file will be renamed into place; it is then synced as a whole.
    private var isUnnamed: Bool
    /// Creates a new file with a copy of this one, for a change that is too large to be appended in place.
    private let relocate: ((_ written: UInt64) throws(VaultError) -> any FileHandle)?
    /// Throws if the file that is changed in place contains changes made by another program.
    private let check: ((_ marks: [Mark]) throws(VaultError) -> Void)?
    /// The first and the last bytes that were written in place. They are compared later to detect writes made by a
    /// program that ignores our lock.
    private(set) var marks: [Mark] = []
    /// The first bytes of a write that may have been only partly completed.
    private(set) var attempted: Mark?
    private static let flushSize = 1 << 20
    /// The usual upper bound for the commit of a single change.
    private static let usualCommit = 16_384

    /// Bytes at an offset in the file.
    struct Mark {
        let offset: UInt64
        let bytes: [UInt8]
    }

    /// Creates an appender for a file that is changed in place.
    ///
    /// `relocate`: called once, with the end of the bytes written so far, if the change is too large to be appended in
    /// place. `check`: called before each write, with the marks of the previous writes.
    init(
        file: any FileHandle, sealing: Sealing, start: UInt64, keepsReserve: Bool, threads: Int? = nil,
        check: @escaping (_ marks: [Mark]) throws(VaultError) -> Void,
        relocate: @escaping (_ written: UInt64) throws(VaultError) -> any FileHandle
    ) {
        self.file = file
        self.sealing = sealing
        self.start = start
        self.keepsReserve = keepsReserve
        self.threads = threads
        self.check = check
        self.relocate = relocate
        isUnnamed = false
        base = start
        digest.update(Label.digest)
    }

    /// Creates an appender for a new file, which is not read until it is completely synced.
    package init(unnamed file: any FileHandle, sealing: Sealing, start: UInt64, threads: Int? = nil) {
        self.threads = threads
        self.file = file
        self.sealing = sealing
        self.start = start
        keepsReserve = false
        check = nil
        relocate = nil
        isUnnamed = true
        base = start
        digest.update(Label.digest)
    }

    /// The offset of the next frame.
    package var position: UInt64 { base + UInt64(buffer.count) }

    /// Reserves space for a frame of this length and returns its offset.
    private func place(of length: Int) throws(VaultError) -> UInt64 {
        let offset = position
        guard offset + UInt64(length) <= Format.Limit.fileSize else {
            throw VaultError(.limitExceeded, "the vault would be larger than 2^48 bytes")
        }
        if let relocate, !isUnnamed, offset + UInt64(length) - start > Format.mostAppended - Format.commitAlignment {
            try flush()
            file = try relocate(base)
            isUnnamed = true
        }
        if buffer.isEmpty { buffer.reserveCapacity(Self.usualCommit) }
        return offset
    }

    /// Appends a frame that `fill` writes, and returns a reference to it.
    package func append(
        _ type: FrameType, length: Int,
        _ fill: (UnsafeMutableRawBufferPointer, _ offset: UInt64, _ head: UInt64) -> Void
    ) throws(VaultError) -> ObjectRef {
        let offset = try place(of: length)
        let from = buffer.count
        buffer.append(zeros: length)
        let head = FrameHead(type, length: length).encoded
        let hash = buffer.withUnsafeMutableBytes { buffer in
            let frame = UnsafeMutableRawBufferPointer(rebasing: buffer[from...])
            fill(frame, offset, head)
            return Bytes32(hashing: UnsafeRawBufferPointer(frame))
        }
        digest.update(hash)
        if buffer.count >= Self.flushSize { try flush() }
        return ObjectRef(offset: offset, length: length, hash: hash)
    }

    /// Appends a sealed frame; a large one is written to the file immediately.
    package func append(sealed frame: UnsafeRawBufferPointer) throws(VaultError) -> ObjectRef {
        let offset = try place(of: frame.count)
        let hash: Bytes32
        if frame.count >= Self.flushSize {
            try flush()
            hash = try writeLarge(frame)
        } else {
            hash = Bytes32(hashing: frame)
            buffer.append(contentsOf: frame)
            if buffer.count >= Self.flushSize { try flush() }
        }
        digest.update(hash)
        return ObjectRef(offset: offset, length: frame.count, hash: hash)
    }

    /// Writes a frame, and hashes it on another thread at the same time.
    private func writeLarge(_ frame: UnsafeRawBufferPointer) throws(VaultError) -> Bytes32 {
        let lent = LentFrame(bytes: frame)
        var failure: VaultError?
        attempt(frame)
        let (_, hash) = Workers(threads).both({
            do throws(VaultError) { try file.write(frame, at: base) } catch { failure = error }
        }) { Bytes32(hashing: lent.bytes) }
        if let failure { throw failure }
        mark(frame)
        base += UInt64(frame.count)
        return hash
    }

    /// Appends an index object.
    package func append(_ body: [UInt8], as kind: Sealing.Placed, _ type: FrameType, key: borrowing Secret)
        throws(VaultError) -> ObjectRef
    {
        try append(type, length: body.count + Format.sealOverhead) { frame, offset, head in
            body.withUnsafeBytes { sealing.seal($0, as: kind, at: offset, head: head, key: key, into: frame) }
        }
    }

    /// Appends a keyring.
    package func append(_ keyring: Keyring, key: borrowing Secret) throws(VaultError) -> ObjectRef {
        let body = try decoding { () throws(FormatError) in try keyring.encode() }
        return try append(body, as: .keyring, .keyring, key: key)
    }

    /// Appends a keyring, preceded by its spare if the writer writes spares, and returns a reference to the
    /// keyring.
    package func append(
        _ keyring: Keyring, key: borrowing Secret, withSpare writesSpares: Bool
    ) throws(VaultError) -> ObjectRef {
        if writesSpares { try append(spareOf: keyring, key: key) }
        return try append(keyring, key: key)
    }

    /// Appends the spare of a keyring.
    package func append(spareOf keyring: Keyring, key: borrowing Secret) throws(VaultError) {
        var spare = keyring
        spare.handOvers = []
        _ = try append(spare, key: key)
    }

    /// Returns a frame that was appended, reading it from the buffer or, if it was already written, from the file.
    package func frame(_ ref: ObjectRef) throws(VaultError) -> [UInt8] {
        guard ref.offset >= base else { return try file.bytes(ref.length, at: ref.offset) }
        let start = Int(ref.offset - base)
        return Array(buffer[start..<start + ref.length])
    }

    // MARK: frames written out of order

    /// Reserves space at the start for frames that are written there in any order. These frames are read back from the
    /// file and hashed at the end.
    package func leaveRoom(for bytes: UInt64) throws(VaultError) -> RecordRoom {
        precondition(position == start, "room must be reserved before anything is appended")
        let room = try RecordRoom(file: file, range: start..<start + bytes)
        self.room = room
        hasWritten = true
        base = start + bytes
        return room
    }

    /// Returns the digest of everything from `start` to `position`, read back from the file in order.
    private func digestFromFile(_ room: RecordRoom) throws(VaultError) -> Bytes32 {
        try room.write()
        try flush()
        return try RegionDigest.of(file, start..<position, on: Workers(threads))
    }

    /// Writes all appended data, which can then be read from the file.
    package func flush() throws(VaultError) {
        if let check, !isUnnamed { try check(marks) }
        guard !buffer.isEmpty else { return }
        buffer.withUnsafeBytes { attempt($0) }
        try file.write(buffer, at: base)
        buffer.withUnsafeBytes { mark($0) }
        base += UInt64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Records bytes that are about to be written at `base`.
    private func attempt(_ bytes: UnsafeRawBufferPointer) {
        hasWritten = true
        guard !isUnnamed else { return }
        attempted = Mark(offset: base, bytes: Array(bytes.prefix(Int(Format.commitAlignment))))
    }

    /// Records bytes that were written at `base`.
    private func mark(_ bytes: UnsafeRawBufferPointer) {
        guard !isUnnamed else { return }
        if marks.isEmpty, let attempted { marks.append(attempted) }
        attempted = nil
        let count = min(bytes.count, Int(Format.commitAlignment))
        let last = Mark(offset: base + UInt64(bytes.count - count), bytes: Array(bytes.suffix(count)))
        if marks.count > 1 { marks[1] = last } else { marks.append(last) }
    }

    /// Completes a commit for the appended frames, writes it, and syncs the file.
    ///
    /// - Returns: The state, which is now durable.
    package func finish(_ commit: Commit, _ codec: CommitCodec) throws(VaultError) -> CommittedState {
        var commit = commit
        commit.start = start
        commit.digest = if let room { try digestFromFile(room) } else { digest.finish() }
        commit.offset = Padding.commitOffset(position)
        let isLarge = commit.offset - start > Format.smallCommit
        commit.wasSyncedFirst = isLarge || isUnnamed
        buffer.append(zeros: Int(commit.offset - position))
        let (frame, state) = codec.seal(commit)
        commitFrame = frame
        if isLarge, !isUnnamed {
            try flush()
            try file.sync()
        }
        buffer.append(contentsOf: commitFrame)
        try flush()
        if keepsReserve, !isLarge, !isUnnamed { addReserve() }
        try file.sync()
        return state
    }

    /// Appends zeros for later commits if none are left and there is room for more.
    private func addReserve() {
        do throws(VaultError) {
            guard try file.size() == base else { return }
            try file.write([UInt8](repeating: 0, count: Reserve.step), at: base)
        } catch {
            // If only part of the zeros was written, the reserve is merely shorter.
        }
    }
}

/// A buffer that does not change while another thread reads it.
private struct LentFrame: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer
}

/// Computes the digest (section 5.6) of frames that were just written, by reading them back from the file in order and
/// hashing them on several threads.
enum RegionDigest {
    private static let pieceSize = 1 << 20
    private static let leastDivided = 64

    static func of(_ file: any FileHandle, _ region: Range<UInt64>, on workers: Workers) throws(VaultError) -> Bytes32 {
        var digest = Blake2b()
        digest.update(Label.digest)
        var position = region.lowerBound
        while position < region.upperBound {
            var piece = try file.bytes(Int(min(UInt64(pieceSize), region.upperBound - position)), at: position)
            var frames = try wholeFrames(piece, at: position)
            if frames.isEmpty {
                let length = try head(piece, 0, at: position).length
                guard UInt64(length) <= region.upperBound - position else { throw cutOff(position) }
                piece = try file.bytes(length, at: position)
                frames = [0..<length]
            }
            for hash in hashes(piece, frames, workers) { digest.update(hash) }
            position += UInt64(frames[frames.count - 1].upperBound)
        }
        return digest.finish()
    }

    private static func wholeFrames(_ piece: [UInt8], at offset: UInt64) throws(VaultError) -> [Range<Int>] {
        var frames: [Range<Int>] = []
        var start = 0
        while piece.count - start >= Format.frameHeadSize {
            let length = try head(piece, start, at: offset).length
            guard length <= piece.count - start else { break }
            frames.append(start..<start + length)
            start += length
        }
        return frames
    }

    private static func head(_ piece: [UInt8], _ start: Int, at offset: UInt64) throws(VaultError) -> FrameHead {
        guard piece.count - start >= Format.frameHeadSize else { throw cutOff(offset + UInt64(start)) }
        return try decoding { () throws(FormatError) in
            try FrameHead(piece.span.extracting(start..<start + Format.frameHeadSize), at: offset + UInt64(start))
        }
    }

    private static func cutOff(_ offset: UInt64) -> VaultError {
        VaultError(.structureInvalid, "the file ends within an object", at: offset)
    }

    private static func hashes(_ piece: [UInt8], _ frames: [Range<Int>], _ workers: Workers) -> [Bytes32] {
        guard frames.count >= leastDivided, workers.count > 1 else { return hash(piece, frames[...]) }
        let size = max(leastDivided / 2, frames.count / (workers.count * 4))
        return workers.map((frames.count + size - 1) / size) { part, _ in
            hash(piece, frames[part * size..<min((part + 1) * size, frames.count)])
        }.flatMap { $0 }
    }

    private static func hash(_ piece: [UInt8], _ frames: ArraySlice<Range<Int>>) -> [Bytes32] {
        piece.withUnsafeBytes { piece in frames.map { Bytes32(hashing: UnsafeRawBufferPointer(rebasing: piece[$0])) } }
    }
}
