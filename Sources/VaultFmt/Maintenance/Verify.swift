internal import VaultBytes

/// The result of a verification.
public struct VerifyReport: Sendable {
    /// A problem that was found.
    public struct Problem: Sendable, CustomStringConvertible {
        /// The offset of the problem in the file.
        public let offset: UInt64?
        /// A description of the problem.
        public let what: String
        /// True if the only problem is data that an interrupted change left after the newest commit; the next change
        /// removes that data.
        public let isInterruption: Bool
        /// True if the only problem is a wrong number in the newest commit; the counted objects are intact.
        let isMiscount: Bool

        /// The description, with the offset.
        public var description: String { offset.map { "\(what) (at byte \($0))" } ?? what }
    }

    /// The number of objects by type: record, page, past, keyring, vector, commit.
    public internal(set) var objects: [String: Int] = [:]
    /// The number of items in the newest state.
    public internal(set) var items: UInt64 = 0
    /// The number of items in the newest state that have earlier values, or values that are left to settle.
    public internal(set) var itemsWithPast: UInt64 = 0
    /// The number of forgotten values that the newest state lists.
    public internal(set) var forgottenValues: UInt64 = 0
    /// The number of objects that could not be checked because their keys are not available with this slot and device,
    /// or no longer exist.
    public internal(set) var unopened = 0
    /// The problems found, at most 1000.
    public internal(set) var problems: [Problem] = []
    /// The number of problems, including those not listed.
    public internal(set) var problemCount = 0

    /// True if every byte was authenticated and no problem was found.
    public var isSound: Bool { problemCount == 0 && unopened == 0 }

    mutating func add(_ error: VaultError) { add(error.detail, at: error.offset) }

    mutating func add(
        _ what: String, at offset: UInt64?, isInterruption: Bool = false, isMiscount: Bool = false
    ) {
        problemCount += 1
        if problems.count < 1000 {
            problems.append(
                Problem(offset: offset, what: what, isInterruption: isInterruption, isMiscount: isMiscount))
        }
    }
}

extension Vault {
    /// Authenticates every byte of every object in the file, including dead ones, and checks all commits with their
    /// proofs, the header's copy and the slots, and the whole index of the newest state (`Spec/vectors/README.md`,
    /// *Verification*).
    ///
    /// `progress` is called with the number of bytes done and the total. Problems are reported, not thrown; reading
    /// errors are thrown. With a scoped slot, only the parts that the slot can open are verified.
    public func verify(progress: ((_ done: UInt64, _ total: UInt64) -> Void)? = nil) throws(VaultError) -> VerifyReport
    {
        try withCore { (core) throws(VaultError) in
            guard !core.isLocked else { throw VaultError(.locked, "the vault is locked") }
            var file = FileVerifier(core)
            try file.checkHeaderAndTail()
            try file.checkCommits()
            try file.checkObjects(progress)
            try file.checkSlots()
            var state = StateVerifier(core, file.report)
            try state.check()
            return state.report
        }
    }
}

extension VaultCore {
    /// Verifies only the newest state, without dead objects and earlier commits.
    func verifyState() throws(VaultError) -> VerifyReport {
        var state = StateVerifier(self, VerifyReport())
        try state.check()
        return state.report
    }
}

/// Verifies the file apart from the newest state: the header, the commits, and everything that the commits appended.
private struct FileVerifier: ~Copyable {
    /// The bytes that one commit appended.
    private struct Region {
        let start: UInt64
        let end: UInt64
        let generation: UInt64
        /// The digest recorded in the commit; nil if no commit that opens contains the digest.
        let digest: Bytes32?
    }

    private let core: VaultCore
    private let store: Store
    private let locator: SecretBox?
    private var regions: [Region] = []
    private(set) var report = VerifyReport()

    init(_ core: VaultCore) {
        self.core = core
        store = core.store
        switch store.slot.keys.owner {
        case .some(let owner): locator = SecretBox(owner.locator.copy())
        case .none: locator = nil
        }
    }

    /// Checks the header's copy and the bytes after the newest commit.
    mutating func checkHeaderAndTail() throws(VaultError) {
        let length = store.header.length
        let (header, copy) = (try store.file.bytes(length, at: 0), try store.file.bytes(length, at: UInt64(length)))
        if header != copy {
            let first = zip(header, copy).enumerated().first { $1.0 != $1.1 }?.offset ?? 0
            report.add("the header's copy differs from the header", at: UInt64(length + first))
        }
        let end = store.state.commit.end
        switch store.tail {
        case .clean, .writeInProgress: break
        case .torn(let bytes):
            let what = "\(bytes) bytes after the newest commit do not belong to any commit: a change was interrupted"
            report.add(what, at: end, isInterruption: true)
        case .damaged(let bytes):
            report.add(
                "the \(bytes) bytes after the newest commit that opens contain commits that do not open, or too many bytes for a change",
                at: end)
        case .incomplete(let generation):
            report.add("generation \(generation) is incomplete; the previous one is used", at: end)
        }
    }

    // MARK: commits, newest first

    mutating func checkCommits() throws(VaultError) {
        var offset: UInt64? = store.state.commit.offset
        var expected = store.state.asPredecessor
        var end = store.state.commit.end
        while let at = offset {
            do throws(VaultError) {
                let commit = try check(at, expected)
                report.objects[FrameType.commit.name, default: 0] += 1
                regions.append(
                    Region(start: commit.start, end: at, generation: commit.generation, digest: commit.digest))
                end = commit.start
                offset = commit.predecessorOffset(from: store.header.bodyStart)
                if let before = commit.predecessor { expected = before }
            } catch {
                guard error.code != .io else { throw error }
                report.add(error)
                // The bytes before it are checked frame by frame.
                regions.append(
                    Region(start: store.header.bodyStart, end: end, generation: Format.Limit.number, digest: nil))
                return
            }
        }
    }

    /// Checks one commit: its successor must refer to it, and an owner must have made it.
    private mutating func check(_ offset: UInt64, _ expected: Commit.Predecessor) throws(VaultError) -> Commit {
        guard let (_, opened) = try store.finder.read(at: offset) else {
            throw VaultError(.authenticationFailed, "a commit cannot be opened: it is damaged or altered", at: offset)
        }
        guard opened.chain == expected.chain else {
            throw VaultError(.authenticationFailed, "a commit is not the one that its successor refers to", at: offset)
        }
        let commit = try decoding { () throws(FormatError) in
            try Commit(opened.core.span, at: offset, from: store.header.bodyStart)
        }
        guard commit.generation == expected.generation else {
            throw VaultError(
                .structureInvalid, "a commit's generation differs from the one that its successor records", at: offset)
        }
        do throws(VaultError) {
            try store.codec.checkProof(opened, at: offset)
            try checkSignature(opened, at: offset)
        } catch { report.add(error) }
        return commit
    }

    /// Checks a commit's signature. An earlier commit may belong to a header that did not require a
    /// signature.
    private func checkSignature(_ opened: OpenedCommit, at offset: UInt64) throws(VaultError) {
        let isThere = opened.signature.contains { $0 != 0 }
        if offset == store.state.commit.offset, isThere != store.header.isSigned {
            let what =
                isThere ? "an unnecessary signature" : "no signature, but other readers of this vault require one"
            throw VaultError(.authenticationFailed, "the newest commit has \(what)", at: offset)
        }
        guard !isThere || store.codec.isSigned(opened) else {
            throw VaultError(.authenticationFailed, "a commit was not signed by the owners", at: offset)
        }
    }

    // MARK: appended objects

    mutating func checkObjects(_ progress: ((UInt64, UInt64) -> Void)?) throws(VaultError) {
        let total = store.state.commit.end
        let workers = Workers(store.threads)
        let pastKey = core.isOwner ? try core.pastKey() : nil
        let verifier = ObjectVerifier(core, locator, pastKey: pastKey)
        for region in regions.reversed() {
            var digest = Blake2b()
            digest.update(Label.digest)
            var isWhole = true
            do throws(VaultError) {
                try FrameWalker(file: store.file, region.start..<region.end).pieces { (piece) throws(VaultError) in
                    for findings in verifier.check(piece, of: region.generation, on: workers) {
                        try add(findings, region)
                        for hash in findings.hashes { digest.update(hash) }
                    }
                    if let last = piece.frames.last { progress?(last.offset, total) }
                }
            } catch {
                guard error.code != .io else { throw error }
                report.add(error)
                isWhole = false
            }
            guard let expected = region.digest, isWhole, digest.finish() != expected else { continue }
            report.add(
                "the data appended by generation \(region.generation) does not match its commit", at: region.start)
        }
        progress?(total, total)
    }

    private mutating func add(_ findings: ObjectVerifier.Findings, _ region: Region) throws(VaultError) {
        for (type, count) in findings.objects { report.objects[type.name, default: 0] += count }
        report.unopened += findings.unopened
        for error in findings.problems {
            guard error.code != .io else { throw error }
            report.add(error)
        }
        for offset in findings.commits {
            do throws(VaultError) { try checkLooseCommit(offset, region) } catch {
                guard error.code != .io else { throw error }
                report.add(error)
            }
        }
    }

    /// Checks a commit before a broken one, or an unexpected commit.
    private func checkLooseCommit(_ offset: UInt64, _ region: Region) throws(VaultError) {
        guard region.digest == nil, let (_, opened) = try store.finder.read(at: offset) else {
            throw VaultError(.structureInvalid, "no other commit refers to this commit", at: offset)
        }
        try store.codec.checkProof(opened, at: offset)
    }

    // MARK: slots

    /// For owners: checks the owner parts of all slots and the grants of scoped slots.
    mutating func checkSlots() throws(VaultError) {
        guard store.slot.keys.isOwner else { return }
        for slot in store.header.slots {
            do throws(VaultError) {
                _ = try core.ownerPart(of: slot)
            } catch {
                guard error.code != .io else { throw error }
                report.add("the slot \(Hex.encode(Array(slot.id.bytes.prefix(4)))): \(error.detail)", at: 0)
            }
        }
    }
}
