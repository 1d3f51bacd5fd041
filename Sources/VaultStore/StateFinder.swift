internal import Glibc
package import VaultBytes
internal import VaultCrypto

/// A committed state: a commit, and where in the chain it stands.
package struct CommittedState: Sendable, Equatable {
    package let commit: Commit
    package let link: Bytes32
    package let chain: Bytes32

    package init(commit: Commit, body: [UInt8], vault: Bytes16) {
        self.commit = commit
        link = Chain.link(body)
        chain = Chain.value(vault: vault, generation: commit.generation, previous: commit.previousChain, link: link)
    }
}

/// What stands after the newest committed state.
public enum TailState: Sendable, Equatable {
    /// Nothing, or a reserve of zeros.
    case clean
    /// So many bytes that belong to no commit; the next writer cuts them off.
    case damaged(bytes: UInt64)
    /// So many bytes with a whole commit that does not open: the newest generation was damaged, or somebody else wrote them. The state before is served; the next
    /// writer keeps them aside, in `FILE.damaged-G`, and cuts them off.
    case damagedCommit(bytes: UInt64)
    /// A commit whose contents did not all reach the disk; the state before it is served.
    case incomplete(generation: UInt64)
    /// Another process is writing just now.
    case writeInProgress
}

/// Finds the newest committed state of a file (section 7.1).
package struct StateFinder {
    package let file: any FileHandle
    package let codec: CommitCodec
    package let vault: Bytes16
    package let headerLength: UInt64
    package let headerHash: Bytes32

    package struct Found: Sendable {
        package let state: CommittedState
        /// The frame of its commit.
        package let frame: [UInt8]
        package let tail: TailState
        /// The commit that was passed over since its contents are incomplete.
        package let incomplete: CommittedState?
    }

    package init(file: any FileHandle, codec: CommitCodec, vault: Bytes16, headerLength: UInt64, headerHash: Bytes32) {
        self.file = file
        self.codec = codec
        self.vault = vault
        self.headerLength = headerLength
        self.headerHash = headerHash
    }

    package func newest() throws(VaultError) -> Found {
        let found = try look()
        if found.tail == .clean { return found }
        // somebody is writing, or was a moment ago.
        let wasLocked = try file.isLockedByAnother()
        let again = try look()
        let isLocked = try file.isLockedByAnother()
        guard again.tail != .clean, wasLocked || isLocked else { return again }
        return Found(state: again.state, frame: again.frame, tail: .writeInProgress, incomplete: again.incomplete)
    }

    private func look() throws(VaultError) -> Found {
        while true {
            let size = try file.size()
            do throws(VaultError) { return try look(size) } catch {
                // A writer that gives up a change cuts off what it has written: perhaps while that was read.
                guard try file.size() < size else { throw error }
            }
        }
    }

    private func look(_ size: UInt64) throws(VaultError) -> Found {
        guard size <= Format.Limit.fileSize else { throw VaultError(.limitExceeded, "the file is larger than 2^48 bytes") }
        let end = try Reserve.contentEnd(of: file, size: size, after: headerLength)
        guard let (frame, last, hasUnopened) = try scan(end) else {
            throw VaultError(.authenticationFailed, "no commit of this vault is left in the file: damaged or altered", at: headerLength)
        }
        try checkServed(frame, last.commit)
        if try isComplete(last.commit) {
            let bytes = size - last.commit.end
            let tail: TailState = last.commit.end == end ? .clean : hasUnopened ? .damagedCommit(bytes: bytes) : .damaged(bytes: bytes)
            return Found(state: last, frame: frame, tail: tail, incomplete: nil)
        }
        guard last.commit.previous != 0, let (frame, before) = try read(at: last.commit.previous), precedes(before, last),
            try isComplete(before.commit)
        else {
            throw VaultError(
                .authenticationFailed, "generation \(last.commit.generation) is incomplete, and so is what was before it",
                at: last.commit.start)
        }
        try checkServed(frame, before.commit)
        return Found(state: before, frame: frame, tail: .incomplete(generation: last.commit.generation), incomplete: last)
    }

    /// Whether one state is the direct predecessor of another.
    package func precedes(_ before: CommittedState, _ after: CommittedState) -> Bool {
        before.commit.generation + 1 == after.commit.generation && before.chain == after.commit.previousChain
            && before.commit.end <= after.commit.start
    }

    ///
    private func checkServed(_ frame: [UInt8], _ commit: Commit) throws(VaultError) {
        try codec.checkMACs(frame, at: commit.offset)
        guard commit.header == headerHash else {
            throw VaultError(
                .tampered, "the newest commit belongs to another header: the file was put together from two", at: commit.offset)
        }
    }

    /// Whether a state's commit is still the newest: its frame is there as it was, and nothing after it but zeros.
    package func isNewest(_ commit: Commit, _ frame: [UInt8]) throws(VaultError) -> Bool {
        try withUnsafeTemporaryAllocation(byteCount: frame.count + Format.commitAlignment, alignment: 8) { (buffer) throws(VaultError) in
            let count = try file.readAvailable(into: buffer, at: commit.offset)
            guard count >= frame.count else { return false }
            guard let read = buffer.baseAddress.map({ UnsafeRawPointer($0) }) else { return false }
            let isSame = frame.withUnsafeBytes { memcmp($0.baseAddress ?? read, read, frame.count) == 0 }
            return isSame && buffer[frame.count..<count].allSatisfy { $0 == 0 }
        }
    }

    /// The commit at an offset, if one opens there.
    package func read(at offset: UInt64) throws(VaultError) -> (frame: [UInt8], state: CommittedState)? {
        let size = try file.size()
        guard offset >= headerLength, offset % UInt64(Format.commitAlignment) == 0, offset <= size,
            size - offset >= UInt64(Format.commitSize)
        else { return nil }
        let frame = try file.bytes(Format.commitSize, at: offset)
        guard frame.starts(with: Self.head), let body = codec.openBody(frame, at: offset), codec.isWhole(frame) else { return nil }
        let commit = try decoding { () throws(FormatError) in try Commit(body.span, at: offset) }
        guard commit.previous != 0 || commit.start == headerLength else {
            throw VaultError(.structureInvalid, "the first commit does not begin after the header", at: offset)
        }
        let refs = [commit.root?.ref, commit.keyring, commit.history]
        guard commit.start >= headerLength, commit.previous == 0 || commit.previous >= headerLength,
            refs.allSatisfy({ $0.map { $0.offset >= headerLength } ?? true })
        else {
            throw VaultError(.structureInvalid, "a commit refers to what is in the header", at: offset)
        }
        return (frame, CommittedState(commit: commit, body: body, vault: vault))
    }

    private static let head = withUnsafeBytes(of: FrameHead(.commit, length: Format.commitSize).encoded.littleEndian, Array.init)

    // MARK: looking backward

    /// The last commit that opens: at the end as a rule, else backward over aligned offsets, in pieces. And whether a whole one that does not open is after it.
    private func scan(_ size: UInt64) throws(VaultError) -> (frame: [UInt8], state: CommittedState, hasUnopened: Bool)? {
        let commitSize = UInt64(Format.commitSize)
        guard size >= headerLength + commitSize else { return nil }
        let alignment = UInt64(Format.commitAlignment)
        var stop = (size - commitSize) / alignment * alignment
        if let found = try read(at: stop) { return (found.frame, found.state, false) }
        var hasUnopened = isWholeCommit(try file.bytes(Format.commitSize, at: stop), 0, at: stop)
        let piece: UInt64 = 1 << 20
        while stop > headerLength {
            let from = max(headerLength, stop > piece ? stop - piece : 0) / alignment * alignment
            let bytes = try file.bytes(Int(stop - from), at: from)
            for at in stride(from: bytes.count - Int(alignment), through: 0, by: -Int(alignment)) {
                let offset = from + UInt64(at)
                if isHead(bytes, at), let found = try read(at: offset) { return (found.frame, found.state, hasUnopened) }
                if !hasUnopened, isLikeHead(bytes, at) {
                    hasUnopened = isWholeCommit(try file.bytes(Format.commitSize, at: offset), 0, at: offset)
                }
            }
            stop = from
        }
        return nil
    }

    private func isHead(_ bytes: [UInt8], _ at: Int) -> Bool {
        for index in 0..<8 where bytes[at + index] != Self.head[index] { return false }
        return true
    }

    /// Whether some bits at most keep the bytes from being the head of a commit: a damaged commit is not less of one if the damage is there.
    private func isLikeHead(_ bytes: [UInt8], _ at: Int) -> Bool {
        var different = 0
        for index in 0..<8 { different += (bytes[at + index] ^ Self.head[index]).nonzeroBitCount }
        return different <= 4
    }

    /// Whether these bytes are a commit, opening or not. One that was torn when the power went lacks a sector: that is a commit that never was.
    private func isWholeCommit(_ bytes: [UInt8], _ at: Int, at offset: UInt64) -> Bool {
        guard isLikeHead(bytes, at) else { return false }
        let sector = 512 - Int(offset % 512)
        return sector == 512 || !bytes[(at + sector)..<(at + Format.commitSize)].allSatisfy { $0 == 0 }
    }

    // MARK: what a commit appended

    /// Whether what a small commit appended is all there; a large one was synced before it was written.
    private func isComplete(_ commit: Commit) throws(VaultError) -> Bool {
        if commit.wasSyncedFirst { return true }
        let most = UInt64(Format.smallCommit) + UInt64(Format.commitAlignment)
        guard commit.offset - commit.start <= most else {
            throw VaultError(.structureInvalid, "a commit of this size must be synced first, and does not say so", at: commit.offset)
        }
        let bytes = try file.bytes(Int(commit.offset - commit.start), at: commit.start)
        return Self.digest(of: bytes, at: commit.start) == commit.digest
    }

    /// The digest of frames that fill a region, up to the zeros before a commit; nil if they do not.
    static func digest(of bytes: [UInt8], at start: UInt64) -> Bytes32? {
        var digest = Blake2b()
        digest.update("vaultfmt-1 digest")
        var position = 0
        while bytes.count - position >= Format.frameHeadSize {
            let rest = Array(bytes[position..<position + Format.frameHeadSize])
            guard rest.contains(where: { $0 != 0 }) else { break }
            guard let length = frameLength(rest, at: start + UInt64(position)), length <= bytes.count - position else { return nil }
            let hash = bytes.withUnsafeBytes { Bytes32(hashing: UnsafeRawBufferPointer(rebasing: $0[position..<position + length])) }
            digest.update(hash.words)
            position += length
        }
        guard bytes.count - position < Format.commitAlignment, bytes[position...].allSatisfy({ $0 == 0 }) else { return nil }
        return Bytes32(words: digest.finish())
    }

    private static func frameLength(_ head: [UInt8], at offset: UInt64) -> Int? {
        do throws(FormatError) { return try FrameHead(head.span, at: offset).length } catch { return nil }
    }
}
