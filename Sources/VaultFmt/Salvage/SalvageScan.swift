internal import VaultBytes
internal import VaultStore

/// Everything in a damaged file that authenticates, wherever it is stored.
struct SalvageScan {
    /// A record and the identity under which it was sealed.
    struct Record {
        let identity: Sealing.RecordIdentity
        let offset: UInt64
        let length: Int
    }

    /// The records found for one item: its newest record, the newest record of each large attribute, and the records of
    /// earlier values.
    struct Records {
        /// The item's own record.
        var own: Record?
        /// The records of the item's large attributes, by the bytes of their names.
        var attributes: [[UInt8]: Record] = [:]
        /// Former records of the item that were replaced and are kept for owners.
        var earlier: [Record] = []
    }

    private let file: any FileHandle
    private let store: SalvageStore
    private(set) var commits: [CommittedState] = []
    private(set) var leaves: [ObjectRef] = []
    /// The records of each item.
    private(set) var records: [Bytes16: Records] = [:]
    /// The records that only an owner can have made.
    private(set) var provenRecords: [Bytes16: Records] = [:]
    private(set) var keyrings: [(ref: ObjectRef, keyring: Keyring)] = []
    /// The number of records that no available key opens, usually because they belong to other devices.
    private(set) var unopenedRecords = 0
    /// The number of frames and records in forms that this version does not know.
    var unknownForms: Int { unknownFrames + unknownRecords }
    private var unknownFrames = 0
    private var unknownRecords = 0
    private var pending: [Range<UInt64>] = []
    private var opened: [Range<UInt64>] = []
    private var failed: [Range<UInt64>] = []
    private var soundBytes: UInt64 = 0
    /// The offsets of objects, of regions that look like records, and of the zeros before commits. Each offset is
    /// counted once, even if its region is searched several times.
    private var known: Set<UInt64> = []
    /// The offsets of regions that were searched after they turned out not to be records.
    private var searched: Set<UInt64> = []
    /// The total size of everything that was read but did not authenticate.
    private var wasted: UInt64 = 0
    /// True if some apparent objects were left unread because there were too many of them.
    private(set) var hasGivenUp = false
    /// The keyring with which the records were opened.
    private var usedKeyring: (keyring: Keyring, isProven: Bool)?
    private let start: UInt64
    private let size: UInt64
    private let workers: Workers

    init(_ file: any FileHandle, _ store: SalvageStore, _ workers: Workers) throws(VaultError) {
        self.file = file
        self.store = store
        self.workers = workers
        start = store.header.bodyStart
        size = max(start, try Reserve.contentEnd(of: file, size: try file.size()))
        try search(start..<size)
    }

    /// The number of bytes after the header's copy that are not part of an object that authenticates. Forged objects
    /// may be nested in one another.
    var damagedBytes: UInt64 { size - start - min(soundBytes, size - start) }

    /// The number of bytes after the newest state, which were being written or are damaged.
    var bytesAfterNewest: UInt64 { newest.map { size - min(size, $0.commit.end) } ?? 0 }

    /// The newest state that an owner made.
    var newest: CommittedState? { commits.max { $0.commit.generation < $1.commit.generation } }

    /// Returns the number of commits whose appended bytes have changed, which may be the only trace of some damage.
    func damagedCommits() throws(VaultError) -> Int {
        var count = 0
        for state in commits {
            var digest = Blake2b()
            digest.update(Label.digest)
            do throws(VaultError) {
                try FrameWalker(file: file, state.commit.start..<state.commit.offset).walk {
                    (frame, _, _) throws(VaultError) in
                    digest.update(Blake2b.hash(frame))
                }
                if digest.finish() != state.commit.digest { count += 1 }
            } catch {
                guard error.code != .io else { throw error }
                count += 1
            }
        }
        return count
    }

    /// True if the header that was used is recorded in an owner's commit.
    var provesHeader: Bool { commits.contains { $0.commit.header == store.finder.headerHash } }

    /// Searches a region frame by frame; after a damaged frame, continues with the next frame that authenticates.
    private mutating func search(_ region: Range<UInt64>) throws(VaultError) {
        var position = region.lowerBound
        while position < region.upperBound, size - position >= UInt64(Format.frameHeadSize) {
            let head = try readHead(position)
            if let head, UInt64(head.length) <= size - position, try note(head, position) {
                position += UInt64(head.length)
            } else {
                let next = try nextHead(after: position)
                if head == nil, try isPadding(position, next), known.insert(position).inserted {
                    soundBytes += next - position
                }
                position = next
            }
        }
    }

    private func readHead(_ offset: UInt64) throws(VaultError) -> FrameHead? {
        let bytes = try file.bytes(Format.frameHeadSize, at: offset)
        do throws(FormatError) { return try FrameHead(bytes.span, at: offset) } catch { return nil }
    }

    /// Returns whether the bytes between two offsets are only the zeros before a commit.
    private func isPadding(_ from: UInt64, _ to: UInt64) throws(VaultError) -> Bool {
        guard to - from < Format.commitAlignment, to % Format.commitAlignment == 0 else { return false }
        return try file.bytes(Int(to - from), at: from).allSatisfy { $0 == 0 }
    }

    /// Returns the next offset at which a frame could start.
    private func nextHead(after position: UInt64) throws(VaultError) -> UInt64 {
        var base = position + 1
        // If there are many heads, the next one is nearby.
        var piece: UInt64 = 512
        while base < size, size - base >= 4 {
            let bytes = try file.bytes(Int(min(size - base, piece)), at: base)
            if let index = Self.firstHead(bytes) { return base + UInt64(index) }
            base += UInt64(bytes.count - 3)
            piece = min(4 * piece, 1 << 20)
        }
        return size
    }

    /// Returns the index of the first frame type in the bytes. Holes in a file are skipped a word at a time.
    private static func firstHead(_ bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBytes { bytes in
            var index = 0
            while index + 4 <= bytes.count {
                if index + 8 <= bytes.count, bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) == 0 {
                    index += 8
                    continue
                }
                if bytes[index] == 0x76 {
                    let tag = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
                    if FrameType(rawValue: tag) != nil { return index }
                }
                index += 1
            }
            return nil
        }
    }

    /// Keeps an object if it authenticates; returns false if it does not. Records are opened later, when the keyring is
    /// known.
    private mutating func note(_ head: FrameHead, _ offset: UInt64) throws(VaultError) -> Bool {
        guard !known.contains(offset) else { return true }
        guard head.type != .record else {
            known.insert(offset)
            pending.append(offset..<offset + UInt64(head.length))
            return true
        }
        guard mayRead(head.length, at: offset) else { return false }
        do throws(VaultError) {
            guard try open(head, offset) else {
                wasted += UInt64(head.length)
                return false
            }
        } catch {
            guard error.code != .io else { throw error }
            wasted += UInt64(head.length)
            return false
        }
        known.insert(offset)
        soundBytes += UInt64(head.length)
        return true
    }

    /// Returns whether a frame may be read. Anyone who can write to the file can fill it with eight-byte heads, each of
    /// which claims megabytes. Frames larger than most pages are therefore read only until the failed reads add up to
    /// 64 times the bytes already searched.
    private mutating func mayRead(_ length: Int, at offset: UInt64) -> Bool {
        let free: UInt64 = 256 << 20
        guard length > 4096, wasted + UInt64(length) > free + 64 * (offset - start) else { return true }
        hasGivenUp = true
        return false
    }

    private mutating func open(_ head: FrameHead, _ offset: UInt64) throws(VaultError) -> Bool {
        let frame = try file.bytes(head.length, at: offset)
        switch head.type {
        case .record: return false
        case .chunk:
            // The frame cannot be authenticated by any method known to this version.
            unknownFrames += 1
            return false
        case .page:
            let body = try store.pages.open(frame, .page, at: offset)
            let layout = try decoding { () throws(FormatError) in try PageLayout(body.span, at: offset) }
            if layout.isLeaf {
                leaves.append(ObjectRef(offset: offset, length: head.length, hash: Bytes32(hashing: frame)))
            }
        case .past: _ = try store.pages.open(frame, .past, at: offset, key: try store.pastKey().secret)
        case .keyring:
            let body = try store.pages.open(frame, .keyring, at: offset)
            let keyring = try decoding { () throws(FormatError) in try Keyring(body.span, at: offset) }
            keyrings.append((ObjectRef(offset: offset, length: head.length, hash: Bytes32(hashing: frame)), keyring))
        case .vector: _ = try store.pages.open(frame, .vector, at: offset)
        case .commit:
            guard let (_, opened) = try store.finder.read(at: offset) else { return false }
            try store.finder.codec.checkProof(opened, at: offset)
            let commit = try decoding { () throws(FormatError) in
                try Commit(opened.core.span, at: offset, from: store.header.bodyStart)
            }
            commits.append(CommittedState(commit: commit, chain: opened.chain))
        }
        return true
    }

    // MARK: records

    /// The keyring of the newest state, if it still exists exactly as an owner's commit refers to it. Otherwise, if
    /// only owners have the index key, the last keyring in the file, which is usually the spare of the damaged one
    /// if others have it too, the keyring of an earlier state, or, failing that, the last one in the file,
    /// which any of them could have made.
    var keyring: (keyring: Keyring, isProven: Bool)? {
        let last = keyrings.max { $0.ref.offset < $1.ref.offset }.map { ($0.keyring, false) }
        for state in commits.sorted(by: { $0.commit.generation > $1.commit.generation }) {
            if let found = keyrings.first(where: { $0.ref == state.commit.keyring }) { return (found.keyring, true) }
            if let last, !store.forgeable.hasIndex { return last }
        }
        return last
    }

    /// Opens the records that were found, using the current keyring. A region that only looks like a record may contain
    /// other objects.
    ///
    /// - Returns: True if such a region contained an object; everything must then be read again.
    mutating func openRecords() throws(VaultError) -> Bool {
        let before = (commits.count, keyrings.count, leaves.count)
        if usedKeyring?.keyring != store.view.keyring || usedKeyring?.isProven != store.isKeyringProven { startOver() }
        // Records found inside such bytes are also opened here.
        while !pending.isEmpty {
            let all = pending
            pending = []
            var rest = all[...]
            while !rest.isEmpty {
                let batch = rest.prefix(RecordTrial.batch(rest))
                rest = rest.dropFirst(batch.count)
                for (region, outcome) in zip(batch, store.recordTrial.outcomes(batch, on: workers)) {
                    try keepOrSearch(region, outcome)
                }
            }
        }
        return before != (commits.count, keyrings.count, leaves.count)
    }

    /// Discards the results, because a different keyring opens different records and changes which records only an
    /// owner can have made.
    private mutating func startOver() {
        usedKeyring = (store.view.keyring, store.isKeyringProven)
        soundBytes -= opened.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
        pending = opened + failed + pending
        (opened, failed, records, provenRecords) = ([], [], [:], [:])
        (unopenedRecords, unknownRecords) = (0, 0)
    }

    private mutating func keepOrSearch(_ region: Range<UInt64>, _ outcome: RecordTrial.Outcome) throws(VaultError) {
        do throws(VaultError) { try keep(region, outcome) } catch {
            guard error.code != .io else { throw error }
            failed.append(region)
            if [.deviceBound, .notPermitted].contains(error.code) {
                unopenedRecords += 1
            } else if searched.insert(region.lowerBound).inserted {
                try search(region.lowerBound + 1..<region.upperBound)
            }
        }
    }

    private mutating func keep(_ region: Range<UInt64>, _ outcome: RecordTrial.Outcome) throws(VaultError) {
        switch outcome {
        case .keyNeeded(let identity):
            try store.requireKey(of: identity, at: region.lowerBound)
            for outcome in store.recordTrial.outcomes([region], on: workers) { try keep(region, outcome) }
        case .failed(let error): throw error
        case .unreadable(let error):
            markOpened(region)
            if error.code == .unsupportedForm { unknownRecords += 1 }
        case .record(let identity, let found):
            markOpened(region)
            let record = Record(identity: identity, offset: region.lowerBound, length: region.count)
            let isEarlier = store.isOwners(identity.compartment)
            keep(record, found, isEarlier: isEarlier, in: &records)
            if !store.isForgeable(identity.compartment) {
                keep(record, found, isEarlier: isEarlier, in: &provenRecords)
            }
        }
    }

    private mutating func markOpened(_ region: Range<UInt64>) {
        soundBytes += region.upperBound - region.lowerBound
        opened.append(region)
    }

    private func keep(_ record: Record, _ found: FoundRecord, isEarlier: Bool, in all: inout [Bytes16: Records]) {
        func isNewer(than known: Record?) -> Bool { record.identity.revision > known?.identity.revision ?? 0 }
        let item = record.identity.item
        switch found {
        case .item:
            if isEarlier {
                all[item, default: Records()].earlier.append(record)
            } else if isNewer(than: all[item]?.own) {
                all[item, default: Records()].own = record
            }
        case .attribute(_, let name, _, _):
            let name = Array(name.utf8)
            guard !isEarlier, isNewer(than: all[item]?.attributes[name]) else { return }
            all[item, default: Records()].attributes[name] = record
        }
    }
}
