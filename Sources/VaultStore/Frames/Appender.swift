package import VaultBytes
package import VaultCrypto

/// Collects the frames of one commit, hashes them, and writes them after the newest committed state: at once with the
/// commit if they are few, in pieces before it if they are many.
package final class Appender {
    private var file: any FileHandle
    private let sealing: Sealing
    /// Where the first frame goes.
    package let start: UInt64
    /// The bytes not written so far; they go to `base`.
    private var buffer: [UInt8] = []
    private var base: UInt64
    private var digest = Blake2b()
    /// Whether frames are placed elsewhere than at the end.
    private var hasRoom = false
    /// Whether the file may be longer than before, also by a part of what could not be written.
    package private(set) var hasWritten = false
    /// The commit, once it is made.
    package private(set) var commitFrame: [UInt8] = []
    private let keepsReserve: Bool
    /// Whether the file is one that is put in place by renaming: it is synced as a whole.
    private var isUnnamed: Bool
    /// Gives a new file with all of this one, for a change that is too large to be appended in place.
    private let relocate: ((_ written: UInt64) throws(VaultError) -> any FileHandle)?
    private static let flushSize = 1 << 20
    /// What the commit of one change takes at most, as a rule.
    private static let usualCommit = 16_384

    /// For a file that is changed in place.
    ///
    /// - Parameter relocate: Called once, if the change is too large for that, with the end of what was written so far.
    init(
        file: any FileHandle, sealing: Sealing, start: UInt64, keepsReserve: Bool,
        relocate: @escaping (_ written: UInt64) throws(VaultError) -> any FileHandle
    ) {
        self.file = file
        self.sealing = sealing
        self.start = start
        self.keepsReserve = keepsReserve
        self.relocate = relocate
        isUnnamed = false
        base = start
        digest.update(Label.digest)
    }

    /// For a file that nobody reads before all of it is synced.
    package init(unnamed file: any FileHandle, sealing: Sealing, start: UInt64) {
        self.file = file
        self.sealing = sealing
        self.start = start
        keepsReserve = false
        relocate = nil
        isUnnamed = true
        base = start
        digest.update(Label.digest)
    }

    /// Where the next frame goes.
    package var position: UInt64 { base + UInt64(buffer.count) }

    /// Where a frame of this length goes.
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

    /// Appends a frame that `fill` writes, and says where and what it is.
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

    /// Appends a frame as it is; a large one goes to the file at once.
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

    /// Writes a frame while another thread hashes it.
    private func writeLarge(_ frame: UnsafeRawBufferPointer) throws(VaultError) -> Bytes32 {
        let lent = LentFrame(bytes: frame)
        var failure: VaultError?
        let (_, hash) = SecondThread().both({
            do throws(VaultError) { try file.write(frame, at: base) } catch { failure = error }
        }) { Bytes32(hashing: lent.bytes) }
        if let failure { throw failure }
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

    /// A frame that was appended: from the buffer, or from the file if it went there already.
    package func frame(_ ref: ObjectRef) throws(VaultError) -> [UInt8] {
        guard ref.offset >= base else { return try file.bytes(ref.length, at: ref.offset) }
        let start = Int(ref.offset - base)
        return Array(buffer[start..<start + ref.length])
    }

    // MARK: frames that do not come in their order

    /// Leaves room at the start for frames that are put there in any order. What they are is hashed at the end, from
    /// the file.
    package func leaveRoom(for bytes: UInt64) throws(VaultError) -> RecordRoom {
        precondition(position == start, "room is left before anything is appended")
        hasRoom = true
        hasWritten = true
        base = start + bytes
        return RecordRoom(file: file, range: start..<start + bytes)
    }

    /// The digest of everything from start to position, read back from the file in order.
    private func digestFromFile() throws(VaultError) -> Bytes32 {
        try flush()
        return try RegionDigest.of(file, start..<position)
    }

    /// Writes what was appended so far, so that it can be read from the file.
    package func flush() throws(VaultError) {
        hasWritten = true
        try file.write(buffer, at: base)
        base += UInt64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Completes a commit with what was appended, writes it behind that, and syncs.
    ///
    /// - Returns: The state that is durable from now on.
    package func finish(_ commit: Commit, _ codec: CommitCodec) throws(VaultError) -> CommittedState {
        var commit = commit
        commit.start = start
        commit.digest = try hasRoom ? digestFromFile() : digest.finish()
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

    /// Zeros for the commits to come, if the file has none left. Where there is no room for them, it goes on without.
    private func addReserve() {
        do throws(VaultError) {
            guard try file.size() == base else { return }
            try file.write([UInt8](repeating: 0, count: Reserve.step), at: base)
        } catch {
            // Zeros that were written in part are a shorter reserve.
        }
    }
}

/// A part of a new file whose frames do not come in their order; any thread may place them.
package struct RecordRoom: Sendable {
    private let file: any FileHandle
    private let range: Range<UInt64>

    fileprivate init(file: any FileHandle, range: Range<UInt64>) {
        self.file = file
        self.range = range
    }

    /// Writes a frame to where there is room for it.
    package func place(_ frame: [UInt8], at offset: UInt64) throws(VaultError) -> ObjectRef {
        guard range.contains(offset), range.upperBound - offset >= UInt64(frame.count) else {
            throw VaultError(.structureInvalid, "the index changed while it was read", at: offset)
        }
        try file.write(frame, at: offset)
        return ObjectRef(offset: offset, length: frame.count, hash: Bytes32(hashing: frame))
    }
}

/// Bytes that nobody changes while a second thread reads them.
private struct LentFrame: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer
}

/// The digest (section 5.6) of frames that were written just now, read back from the file in their order and hashed on
/// two threads.
enum RegionDigest {
    private static let pieceSize = 1 << 20
    private static let leastDivided = 64

    static func of(_ file: any FileHandle, _ region: Range<UInt64>) throws(VaultError) -> Bytes32 {
        var digest = Blake2b()
        digest.update(Label.digest)
        let helper = SecondThread()
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
            for hash in hashes(piece, frames, helper) { digest.update(hash) }
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

    private static func hashes(_ piece: [UInt8], _ frames: [Range<Int>], _ helper: SecondThread) -> [Bytes32] {
        guard frames.count >= leastDivided else { return hash(piece, frames[...]) }
        let middle = frames.count / 2
        let (first, second) = helper.both({ hash(piece, frames[..<middle]) }, { hash(piece, frames[middle...]) })
        return first + second
    }

    private static func hash(_ piece: [UInt8], _ frames: ArraySlice<Range<Int>>) -> [Bytes32] {
        piece.withUnsafeBytes { piece in frames.map { Bytes32(hashing: UnsafeRawBufferPointer(rebasing: piece[$0])) } }
    }
}
