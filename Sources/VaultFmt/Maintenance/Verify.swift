internal import VaultBytes

/// What verifying found.
public struct VerifyReport: Sendable {
    /// Something that is not as it should be.
    public struct Problem: Sendable, CustomStringConvertible {
        /// Where in the file.
        public let offset: UInt64?
        /// What.
        public let what: String

        /// What, and where.
        public var description: String { offset.map { "\(what) (at byte \($0))" } ?? what }
    }

    /// Objects by type: record, page, keyring, history, commit.
    public internal(set) var objects: [String: Int] = [:]
    /// Items in the newest state.
    public internal(set) var items: UInt64 = 0
    /// Objects whose key is not to be had with the slot and device given: they could not be checked.
    public internal(set) var unopened = 0
    /// What is wrong; at most 1000 are listed.
    public internal(set) var problems: [Problem] = []
    /// How many problems there are in all.
    public internal(set) var problemCount = 0

    /// Whether every byte was authenticated, and nothing is wrong.
    public var isSound: Bool { problemCount == 0 && unopened == 0 }

    mutating func add(_ error: VaultError) { add(error.detail, at: error.offset) }

    mutating func add(_ what: String, at offset: UInt64?) {
        problemCount += 1
        if problems.count < 1000 { problems.append(Problem(offset: offset, what: what)) }
    }
}

extension Vault {
    /// Authenticates every byte of every object in the file, also of those that are dead, and checks the whole index of the newest state.
    ///
    /// `progress` is called with bytes done and in all. Problems are reported, not thrown; reading errors are thrown.
    public func verify(progress: ((_ done: UInt64, _ total: UInt64) -> Void)? = nil) throws(VaultError) -> VerifyReport {
        try withCore { (core) throws(VaultError) in
            guard !core.isLocked else { throw VaultError(.locked, "the vault is locked") }
            var verifier = Verifier(core)
            try verifier.checkObjects(progress)
            try verifier.checkTree()
            try verifier.checkHistory()
            return verifier.report
        }
    }
}

/// Two walks: over the file, front to back, and over the tree.
struct Verifier: ~Copyable {
    private let core: VaultCore
    private let store: Store
    private(set) var report = VerifyReport()
    private var digest = Blake2b.digest()
    private var digestStart: UInt64
    private var last: CommittedState?
    /// The generation that the file begins with, unless its commit is damaged.
    private var firstGeneration: UInt64?
    private var liveBytes: UInt64 = 0
    private var items: UInt64 = 0
    private var tombstones: UInt64 = 0
    /// Where the pages are that were gone through: one that is named twice, which no sound tree does, is gone through once.
    private var seen: Set<UInt64> = []

    init(_ core: VaultCore) {
        self.core = core
        store = core.store
        digestStart = UInt64(store.header.length)
    }

    // MARK: the file

    mutating func checkObjects(_ progress: ((UInt64, UInt64) -> Void)?) throws(VaultError) {
        let end = store.state.commit.end
        let walker = FrameWalker(file: store.file, UInt64(store.header.length)..<end)
        var count = 0
        do throws(VaultError) {
            try walker.walk { (frame, head, offset) throws(VaultError) in
                report.objects[head.type.name, default: 0] += 1
                try check(frame, head, offset)
                count += 1
                if count % 512 == 0 { progress?(offset - UInt64(store.header.length), end) }
            }
        } catch {
            guard error.code != .io else { throw error }
            report.add(error)
        }
        if last?.commit != store.state.commit { report.add("the file does not end with the newest commit", at: end) }
        switch store.tail {
        // A change that did not end, as of a process that was killed: the next writer cuts it off, and nothing is lost.
        case .clean, .writeInProgress, .damaged: break
        case .damagedCommit(let bytes):
            report.add("a commit that does not open is in the \(bytes) bytes after the newest one: the one before it is served", at: end)
        case .incomplete(let generation): report.add("generation \(generation) is incomplete: the one before is served", at: end)
        }
    }

    private mutating func check(_ frame: UnsafeRawBufferPointer, _ head: FrameHead, _ offset: UInt64) throws(VaultError) {
        do throws(VaultError) {
            switch head.type {
            case .record: try checkRecord(frame, offset)
            case .page:
                try checkIndexObject(frame, .page, offset) { (body) throws(FormatError) in _ = try PageLayout(body.span, at: offset) }
            case .keyring:
                try checkIndexObject(frame, .keyring, offset) { (body) throws(FormatError) in _ = try Keyring(body.span, at: offset) }
            case .history:
                try checkIndexObject(frame, .history, offset) { (body) throws(FormatError) in _ = try History(body.span, at: offset) }
            case .commit: try checkCommit(Array(frame), offset)
            }
        } catch {
            guard error.code != .io else { throw error }
            report.add(error)
        }
        // A commit's digest is over the frames before it.
        if head.type != .commit { digest.update(Blake2b.hash(frame)) }
    }

    private func checkIndexObject(
        _ frame: UnsafeRawBufferPointer, _ kind: Sealing.Placed, _ offset: UInt64, _ parse: ([UInt8]) throws(FormatError) -> Void
    ) throws(VaultError) {
        let body = try store.pages.open(Array(frame), kind, at: offset)
        try decoding { () throws(FormatError) in try parse(body) }
    }

    private mutating func checkRecord(_ frame: UnsafeRawBufferPointer, _ offset: UInt64) throws(VaultError) {
        let identity = store.sealing.claimedIdentity(frame, locatorKey: store.slot.keys.locator)
        guard let compartment = core.view.compartment(identity.compartment) else {
            throw VaultError(.authenticationFailed, "a record's locator is damaged or altered", at: offset)
        }
        let key: SecretBox
        do throws(VaultError) { key = try core.compartments.key(compartment, core.context) } catch {
            guard error.code == .deviceBound || error.code == .notPermitted else { throw error }
            report.unopened += 1
            return
        }
        let body = try RecordCodec.open(frame, identity, key: key.secret, store.sealing, at: offset)
        _ = try RecordCodec.parts(body, at: offset)
    }

    private mutating func checkCommit(_ frame: [UInt8], _ offset: UInt64) throws(VaultError) {
        let expected = Bytes32(words: digest.finish())
        digest = Blake2b.digest()
        let start = digestStart
        digestStart = offset + UInt64(Format.commitSize)
        guard let (_, state) = try store.finder.read(at: offset) else {
            throw VaultError(.authenticationFailed, "a commit does not authenticate: damaged or altered", at: offset)
        }
        let before = last
        last = state
        if state.commit.previous == 0 { firstGeneration = state.commit.generation }
        try store.codec.checkMACs(frame, at: offset)
        if let before, !store.finder.precedes(before, state) {
            throw VaultError(
                .structureInvalid, "generation \(state.commit.generation) does not follow the one before it", at: offset)
        }
        guard state.commit.start == start, state.commit.digest == expected else {
            throw VaultError(
                .authenticationFailed, "what generation \(state.commit.generation) appended is not what it says", at: start)
        }
    }

    // MARK: the newest state

    /// The links from before the file's first commit.
    mutating func checkHistory() throws(VaultError) {
        do throws(VaultError) {
            guard let history = try store.past.history(of: store.state), let firstGeneration else { return }
            if history.end != firstGeneration {
                let offset = store.state.commit.history?.offset
                report.add("a history of other generations than those before the file's first commit", at: offset)
            }
        } catch {
            guard error.code != .io else { throw error }
            report.add(error)
        }
    }

    mutating func checkTree() throws(VaultError) {
        let commit = store.state.commit
        liveBytes = UInt64(store.header.length + Format.commitSize + commit.keyring.length + (commit.history?.length ?? 0))
        if let root = commit.root {
            try checkPage(root.ref, root.level, low: nil, high: nil)
        }
        report.items = items
        if items != commit.items { report.add("the newest commit counts \(commit.items) items, the index \(items)", at: commit.offset) }
        if tombstones != commit.tombstones {
            report.add("the newest commit counts \(commit.tombstones) tombstones, the index \(tombstones)", at: commit.offset)
        }
        if liveBytes != commit.liveBytes, report.problemCount == 0 {
            report.add("the newest commit counts \(commit.liveBytes) live bytes, the index \(liveBytes)", at: commit.offset)
        }
    }

    private mutating func checkPage(_ ref: ObjectRef, _ level: UInt8, low: [UInt8]?, high: [UInt8]?) throws(VaultError) {
        guard seen.insert(ref.offset).inserted else { return report.add("a page is named twice", at: ref.offset) }
        let page: Page
        do throws(VaultError) { page = try store.pages.load(ref, level: level) } catch {
            guard error.code != .io else { throw error }
            report.add(error)
            return
        }
        liveBytes += UInt64(ref.length)
        for index in 0..<page.count {
            if page.layout.isLeaf {
                let key = page.key(index)
                if low.map({ ByteOrder.isLess(key, $0) }) ?? false || high.map({ !ByteOrder.isLess(key, $0) }) ?? false {
                    report.add("a page holds a key that belongs elsewhere", at: page.offset)
                }
                try checkEntry(page, index, key)
            } else {
                let from = index == 0 ? low : page.key(index)
                let to = index + 1 < page.count ? page.key(index + 1) : high
                try checkPage(try page.child(index), level - 1, low: from, high: to)
            }
        }
    }

    private mutating func checkEntry(_ page: Page, _ index: Int, _ key: [UInt8]) throws(VaultError) {
        do throws(VaultError) {
            if key.first == Format.tombstoneTag {
                _ = try TombstoneCodec.decode(page, index, store.keyring)
                tombstones += 1
                return
            }
            let item = try ItemCodec.item(try ItemKey(key), page, index, core.view)
            items += 1
            liveBytes += UInt64(item.entry.record.length)
            try checkRecordOf(item)
        } catch {
            guard error.code != .io else { throw error }
            report.add(error)
        }
    }

    /// Where the key is to be had, that the item opens as itself; else, that its record is the one named.
    private func checkRecordOf(_ item: Item) throws(VaultError) {
        do throws(VaultError) { _ = try core.open(item) } catch {
            guard error.code == .deviceBound || error.code == .notPermitted else { throw error }
            _ = try FrameReader.read(item.entry.record, .record, store.file)
        }
    }
}

extension Blake2b {
    /// A digest of frames, begun (section 5.5).
    fileprivate static func digest() -> Blake2b {
        var digest = Blake2b()
        digest.update("vaultfmt-1 digest")
        return digest
    }
}
