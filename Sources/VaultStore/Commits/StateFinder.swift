internal import Glibc
package import VaultBytes
internal import VaultCrypto

/// The contents of the file after the newest committed state (section 7.1).
public enum TailState: Sendable, Equatable {
    /// Nothing, or a reserve of zeros.
    case clean
    /// Bytes that belong to no commit, left by a crash. The next writer truncates them.
    case torn(bytes: UInt64)
    /// A commit whose contents were not completely written to disk; the previous state is used instead. The next writer
    /// saves it as `FILE.incomplete-G` and truncates it.
    case incomplete(generation: UInt64)
    /// Damage or foreign data, not the result of a crash: the bytes include the head of a commit that does not open, or
    /// there are more bytes than a change can leave. Writing is refused until the tail is repaired.
    case damaged(bytes: UInt64)
    /// Another process is currently writing.
    case writeInProgress
}

/// Finds the newest committed state of a file (section 7.1, steps 3 to 8).
package struct StateFinder {
    package let file: any FileHandle
    package let codec: CommitCodec
    package let vault: Bytes16
    /// The offset of the first object.
    package let bodyStart: UInt64
    /// The header hash stored in the header.
    package let headerHash: Bytes32
    /// True if the whole file is searched, as in a repair; false if only the end of the file is searched, as in step 5.
    let searchesWholeFile: Bool

    package struct Found: Sendable {
        package let state: CommittedState
        /// The frame of the state's commit.
        package let frame: [UInt8]
        package let tail: TailState
        /// The commit that was skipped because its contents are incomplete.
        package let incomplete: CommittedState?
    }

    /// A commit that opened, and the place where it was found.
    private struct Candidate {
        let offset: UInt64
        let frame: [UInt8]
        let opened: OpenedCommit
    }

    package init(
        file: any FileHandle, codec: CommitCodec, vault: Bytes16, bodyStart: UInt64, headerHash: Bytes32,
        searchesWholeFile: Bool = false
    ) {
        self.file = file
        self.codec = codec
        self.vault = vault
        self.bodyStart = bodyStart
        self.headerHash = headerHash
        self.searchesWholeFile = searchesWholeFile
    }

    package func newest() throws(VaultError) -> Found {
        do throws(VaultError) {
            let found = try findState()
            if found.tail == .clean { return found }
        } catch {
            // A read error is not caused by a concurrent change. Any other error may be; if it is not, the second
            // search throws the same error.
            guard error.code != .io else { throw error }
        }
        // Another process that is writing, or was just writing, may have caused the tail or the error.
        let wasLocked = mayBeLocked()
        let again = try findState()
        let isLocked = mayBeLocked()
        guard again.tail != .clean, wasLocked || isLocked else { return again }
        return Found(state: again.state, frame: again.frame, tail: .writeInProgress, incomplete: again.incomplete)
    }

    /// Returns true if another process holds the writer's lock, or if this cannot be determined: on file systems
    /// without locks, the state must still be readable.
    private func mayBeLocked() -> Bool {
        do throws(VaultError) { return try file.isLockedByAnother() } catch { return true }
    }

    private func findState() throws(VaultError) -> Found {
        while true {
            let size = try file.size()
            do throws(VaultError) { return try findState(size) } catch {
                // A writer that abandons a change truncates the data that it has written, possibly while this process
                // is reading that data.
                guard try file.size() < size else { throw error }
            }
        }
    }

    private func findState(_ size: UInt64) throws(VaultError) -> Found {
        guard size <= Format.Limit.fileSize else {
            throw VaultError(.structureInvalid, "the file is larger than 2^48 bytes")
        }
        let end = try Reserve.contentEnd(of: file, size: size)
        let last = try search(end)
        let newest = try checked(last.opened, at: last.offset)
        if try isComplete(newest.commit) {
            let tail = try tail(after: newest.commit.end, to: end)
            return Found(state: newest, frame: last.frame, tail: tail, incomplete: nil)
        }
        let (before, frame) = try predecessor(ofIncomplete: newest)
        var tail = try tail(after: before.commit.end, to: end)
        if case .torn = tail { tail = .incomplete(generation: newest.commit.generation) }
        return Found(state: before, frame: frame, tail: tail, incomplete: newest)
    }

    private func tail(after served: UInt64, to end: UInt64) throws(VaultError) -> TailState {
        guard end > served else { return .clean }
        let bytes = end - served
        // A change never appends more than the search covers.
        let isDamaged = bytes > Format.searchBound ? true : try hasUnopenedHead(served..<end)
        return isDamaged ? .damaged(bytes: bytes) : .torn(bytes: bytes)
    }

    /// Returns the predecessor of a state whose contents are incomplete (step 8).
    private func predecessor(ofIncomplete newest: CommittedState) throws(VaultError) -> (CommittedState, [UInt8]) {
        let place = newest.commit.predecessorOffset(from: bodyStart)
        guard let place, let (frame, opened) = try read(at: place) else {
            throw VaultError(
                .authenticationFailed,
                "generation \(newest.commit.generation) is incomplete, and the state before it is damaged or missing",
                at: newest.commit.start)
        }
        let before = try checked(opened, at: place)
        guard before.asPredecessor == newest.commit.predecessor, try isComplete(before.commit) else {
            throw VaultError(
                .authenticationFailed,
                "generation \(newest.commit.generation) is incomplete, and so is the one before it",
                at: newest.commit.start)
        }
        return (before, frame)
    }

    /// Checks the proof, the rules in the table of section 5.6, and the header hash (step 6).
    private func checked(_ opened: OpenedCommit, at offset: UInt64) throws(VaultError) -> CommittedState {
        try codec.checkProof(opened, at: offset)
        let state = try state(opened, at: offset)
        guard state.commit.header == headerHash else {
            throw VaultError(
                .tampered,
                "the newest commit belongs to another header: the file was truncated during a change to its slots, or assembled from two files",
                at: offset
            )
        }
        return state
    }

    /// Returns the state of a commit that opened. The commit's proof is not checked.
    package func state(_ opened: OpenedCommit, at offset: UInt64) throws(VaultError) -> CommittedState {
        let commit = try decoding { () throws(FormatError) in try Commit(opened.core.span, at: offset, from: bodyStart)
        }
        return CommittedState(commit: commit, chain: opened.chain)
    }

    /// Returns whether a state's commit is still the newest, that is, its frame is unchanged and followed only by
    /// zeros.
    package func isNewest(_ commit: Commit, _ frame: [UInt8]) throws(VaultError) -> Bool {
        let more = Int(Format.commitAlignment)
        return try withUnsafeTemporaryAllocation(byteCount: frame.count + more, alignment: 8) {
            (buffer) throws(VaultError) in
            let count = try file.readAvailable(into: buffer, at: commit.offset)
            guard count >= frame.count else { return false }
            guard let read = buffer.baseAddress.map({ UnsafeRawPointer($0) }) else { return false }
            let isSame = frame.withUnsafeBytes { memcmp($0.baseAddress ?? read, read, frame.count) == 0 }
            return isSame && Self.isZero(UnsafeRawBufferPointer(rebasing: buffer[frame.count..<count]))
        }
    }

    /// Returns whether the file contains these bytes at the given offset.
    func holds(_ bytes: [UInt8], at offset: UInt64) throws(VaultError) -> Bool {
        try withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 8) { (buffer) throws(VaultError) in
            let count = try file.readAvailable(into: buffer, at: offset)
            guard count == bytes.count, let read = buffer.baseAddress.map({ UnsafeRawPointer($0) }) else {
                return false
            }
            return bytes.withUnsafeBytes { memcmp($0.baseAddress ?? read, read, bytes.count) == 0 }
        }
    }

    /// Returns whether all bytes are zero.
    static func isZero(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { isZero($0) } }

    /// Returns whether all bytes are zero, that is, the first byte is zero and each byte equals the one before it.
    private static func isZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !bytes.isEmpty, let start = bytes.baseAddress else { return true }
        return bytes[0] == 0 && memcmp(start, start + 1, bytes.count - 1) == 0
    }

    /// Returns the commit at the given offset, or nil if no commit opens there.
    package func read(at offset: UInt64) throws(VaultError) -> (frame: [UInt8], opened: OpenedCommit)? {
        let size = try file.size()
        guard offset >= bodyStart, offset % Format.commitAlignment == 0, offset <= size,
            size - offset >= UInt64(Format.commitSize)
        else { return nil }
        let frame = try file.bytes(Format.commitSize, at: offset)
        guard Self.isHead(frame, 0), let opened = codec.open(frame, at: offset) else { return nil }
        return (frame, opened)
    }

    // MARK: looking backward

    /// Finds the last head that opens among those at multiples of 512 before `end` (steps 4 and 5).
    private func search(_ end: UInt64) throws(VaultError) -> Candidate {
        let alignment = Format.commitAlignment
        guard end >= bodyStart + UInt64(Format.commitSize) else { throw Self.nothingFound(bodyStart, isBounded: false) }
        let last = (end - UInt64(Format.commitSize)) / alignment * alignment
        let isFar = !searchesWholeFile && end > Format.searchBound
        let least = max(bodyStart, isFar ? Padding.commitOffset(end - Format.searchBound) : 0)
        var tried = 0
        // The newest commit is usually the last thing in the file, so a single read finds it.
        if let (frame, opened) = try read(at: last) { return Candidate(offset: last, frame: frame, opened: opened) }
        var stop = last + alignment
        while stop > least {
            let from = max(least, stop > Self.piece ? stop - Self.piece : 0)
            let bytes = try file.bytes(Int(stop - from), at: from)
            for at in stride(from: bytes.count - Int(alignment), through: 0, by: -Int(alignment))
            where Self.isHead(bytes, at) {
                let offset = from + UInt64(at)
                if let (frame, opened) = try read(at: offset) {
                    return Candidate(offset: offset, frame: frame, opened: opened)
                }
                tried += 1
                guard searchesWholeFile || tried < Format.searchedHeads else {
                    throw Self.nothingFound(offset, isBounded: offset > bodyStart)
                }
            }
            stop = from
        }
        throw Self.nothingFound(least, isBounded: least > bodyStart)
    }

    private static let piece: UInt64 = 1 << 20

    private static func nothingFound(_ offset: UInt64, isBounded: Bool) -> VaultError {
        let what =
            isBounded
            ? "no commit of this vault was found near the end of the file, which is damaged or altered: 'vaultfmt repair' searches all of it"
            : "no commit of this vault was found in the file: it is damaged, cut off or altered"
        return VaultError(.authenticationFailed, what, at: offset)
    }

    /// Returns whether a region contains, at any offset, the head of a commit that does not open. A head at an
    /// unaligned offset results from bytes that were inserted or removed before its commit.
    private func hasUnopenedHead(_ region: Range<UInt64>) throws(VaultError) -> Bool {
        let size = UInt64(Format.frameHeadSize)
        var from = region.lowerBound
        while region.upperBound - from >= size {
            let bytes = try file.bytes(Int(min(region.upperBound - from, Self.piece)), at: from)
            var next = 0
            while let at = Self.firstHead(bytes, from: next) {
                if try read(at: from + UInt64(at)) == nil { return true }
                next = at + 1
            }
            // A head may extend into the next piece.
            from += UInt64(bytes.count) - size + 1
        }
        return false
    }

    /// Returns the index of the first head at or after `start`.
    private static func firstHead(_ bytes: [UInt8], from start: Int) -> Int? {
        let first = Int32(truncatingIfNeeded: FrameHead.commit & 0xFF)
        return bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress else { return nil }
            var next = start
            while buffer.count - next >= Format.frameHeadSize {
                let count = buffer.count - next - Format.frameHeadSize + 1
                guard let found = memchr(base + next, first, count) else { return nil }
                let at = UnsafeRawPointer(found) - base
                if isHead(bytes, at) { return at }
                next = at + 1
            }
            return nil
        }
    }

    private static func isHead(_ bytes: [UInt8], _ at: Int) -> Bool {
        bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: at, as: UInt64.self)) }
            == FrameHead.commit
    }

    // MARK: the contents of a commit

    /// Returns whether everything that a small commit appended is present (step 7). A large commit needs no check,
    /// because its contents were synced before it was written.
    private func isComplete(_ commit: Commit) throws(VaultError) -> Bool {
        if commit.wasSyncedFirst { return true }
        // At most 32 KiB, as checked during decoding.
        let bytes = try file.bytes(Int(commit.offset - commit.start), at: commit.start)
        return Self.digest(of: bytes, at: commit.start) == commit.digest
    }

    /// Returns the digest of the frames in the region before a commit. Returns nil if the region contains anything
    /// other than frames followed by fewer zeros than the alignment of commits.
    static func digest(of bytes: [UInt8], at start: UInt64) -> Bytes32? {
        var digest = Blake2b()
        digest.update(Label.digest)
        var position = 0
        while bytes.count - position >= Format.frameHeadSize {
            let rest = Array(bytes[position..<position + Format.frameHeadSize])
            guard rest.contains(where: { $0 != 0 }) else { break }
            guard let length = frameLength(rest, at: start + UInt64(position)), length <= bytes.count - position else {
                return nil
            }
            digest.update(
                bytes.withUnsafeBytes {
                    Blake2b.hash(UnsafeRawBufferPointer(rebasing: $0[position..<position + length]))
                })
            position += length
        }
        guard bytes.count - position < Int(Format.commitAlignment), bytes[position...].allSatisfy({ $0 == 0 }) else {
            return nil
        }
        return digest.finish()
    }

    private static func frameLength(_ head: [UInt8], at offset: UInt64) -> Int? {
        do throws(FormatError) {
            let head = try FrameHead(head.span, at: offset)
            return head.type == .commit ? nil : head.length
        } catch { return nil }
    }
}
