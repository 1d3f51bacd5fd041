internal import VaultBytes

/// Everything in a damaged file that authenticates, wherever it is.
struct SalvageScan {
    /// A record, and what it was sealed as.
    struct Record {
        let identity: Sealing.RecordIdentity
        let offset: UInt64
        let length: Int
    }

    /// What records of one item there are: its newest own, the newest of each large attribute, and those of earlier
    /// values.
    struct Records {
        /// The item's own record.
        var own: Record?
        /// Those of its large attributes, by the bytes of their names.
        var attributes: [[UInt8]: Record] = [:]
        /// All records that were its own until they were replaced, and are kept for owners.
        var earlier: [Record] = []
    }

    private let file: any FileHandle
    private let store: SalvageStore
    private(set) var commits: [CommittedState] = []
    private(set) var leaves: [ObjectRef] = []
    /// By item.
    private(set) var records: [Bytes16: Records] = [:]
    /// Those that only an owner can have made.
    private(set) var provenRecords: [Bytes16: Records] = [:]
    private(set) var keyrings: [(ref: ObjectRef, keyring: Keyring)] = []
    /// Records that no key at hand opens: of other devices, as a rule.
    private(set) var unopenedRecords = 0
    /// Frames and records in forms that this version does not know.
    var unknownForms: Int { unknownFrames + unknownRecords }
    private var unknownFrames = 0
    private var unknownRecords = 0
    private var pending: [Range<UInt64>] = []
    private var opened: [Range<UInt64>] = []
    private var failed: [Range<UInt64>] = []
    private var soundBytes: UInt64 = 0
    /// Where objects were found, or what looked like records, or the zeros before a commit: each is counted once,
    /// however often its region is gone through.
    private var known: Set<UInt64> = []
    /// Where a region was looked through that had seemed to be a record.
    private var searched: Set<UInt64> = []
    /// The bytes of all that was read and did not authenticate.
    private var wasted: UInt64 = 0
    /// Whether something was left unread that claimed to be an object, since there was too much of its kind.
    private(set) var hasGivenUp = false
    /// What the records that were gone through were opened with.
    private var usedKeyring: (keyring: Keyring, isProven: Bool)?
    private let start: UInt64
    private let size: UInt64

    init(_ file: any FileHandle, _ store: SalvageStore) throws(VaultError) {
        self.file = file
        self.store = store
        start = store.header.bodyStart
        size = max(start, try Reserve.contentEnd(of: file, size: try file.size()))
        try search(start..<size)
    }

    /// The bytes after the header's copy that are not part of an object which authenticates. Objects that somebody
    /// forged can lie one within another.
    var damagedBytes: UInt64 { size - start - min(soundBytes, size - start) }

    /// The bytes of what was being written, or was damaged, after the newest state.
    var bytesAfterNewest: UInt64 { newest.map { size - min(size, $0.commit.end) } ?? 0 }

    /// The newest state that an owner made.
    var newest: CommittedState? { commits.max { $0.commit.generation < $1.commit.generation } }

    /// How many commits did not append what is there now: what damage has left no other trace of.
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

    /// Whether an owner's commit states the header that was used.
    var provesHeader: Bool { commits.contains { $0.commit.header == store.finder.headerHash } }

    /// Goes through a region: frames one after the other, and after a damaged one, on to the next that authenticates.
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

    /// Whether nothing but the zeros before a commit is between two places.
    private func isPadding(_ from: UInt64, _ to: UInt64) throws(VaultError) -> Bool {
        guard to - from < Format.commitAlignment, to % Format.commitAlignment == 0 else { return false }
        return try file.bytes(Int(to - from), at: from).allSatisfy { $0 == 0 }
    }

    /// The next place at which a frame could start.
    private func nextHead(after position: UInt64) throws(VaultError) -> UInt64 {
        var base = position + 1
        // Where there are many heads, the next one is near.
        var piece: UInt64 = 512
        while base < size, size - base >= 4 {
            let bytes = try file.bytes(Int(min(size - base, piece)), at: base)
            if let index = Self.firstHead(bytes) { return base + UInt64(index) }
            base += UInt64(bytes.count - 3)
            piece = min(4 * piece, 1 << 20)
        }
        return size
    }

    /// Where a frame's type is in the bytes. Holes in a file are skipped a word at a time.
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

    /// Keeps what authenticates; false if it does not. Records have to wait until the keyring is known.
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

    /// Whoever can write to the file can fill it with heads of eight bytes that each claim megabytes. Larger frames are
    /// read as long as those that were none do not exceed 64 times what was gone through; most pages are smaller.
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
            // It does not authenticate by anything that is known here.
            unknownFrames += 1
            return false
        case .page:
            let body = try store.pages.open(frame, .page, at: offset)
            let layout = try decoding { () throws(FormatError) in try PageLayout(body.span, at: offset) }
            if layout.isLeaf {
                leaves.append(ObjectRef(offset: offset, length: head.length, hash: Bytes32(hashing: frame)))
            }
        case .versions: _ = try store.pages.open(frame, .versions, at: offset)
        case .keyring:
            let body = try store.pages.open(frame, .keyring, at: offset)
            let keyring = try decoding { () throws(FormatError) in try Keyring(body.span, at: offset) }
            keyrings.append((ObjectRef(offset: offset, length: head.length, hash: Bytes32(hashing: frame)), keyring))
        case .history: _ = try store.pages.open(frame, .history, at: offset)
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

    /// The keyring of the newest state whose keyring is left, byte for byte the one that an owner's commit names; if
    /// none is, the last one in the file, which whoever has the index key can have made.
    var keyring: (keyring: Keyring, isProven: Bool)? {
        let states = commits.sorted { $0.commit.generation > $1.commit.generation }
        for state in states {
            if let found = keyrings.first(where: { $0.ref == state.commit.keyring }) { return (found.keyring, true) }
        }
        return keyrings.max { $0.ref.offset < $1.ref.offset }.map { ($0.keyring, false) }
    }

    /// Opens the records that were found, with the keyring that is used. Bytes that look like a record and are not one
    /// may hide other objects.
    ///
    /// - Returns: Whether they did, so that everything has to be read again.
    mutating func openRecords() throws(VaultError) -> Bool {
        let before = (commits.count, keyrings.count, leaves.count)
        if usedKeyring?.keyring != store.view.keyring || usedKeyring?.isProven != store.isKeyringProven { startOver() }
        // Records found inside such bytes are opened here, too.
        while !pending.isEmpty {
            let all = pending
            pending = []
            for region in all { try openOrSearch(region) }
        }
        return before != (commits.count, keyrings.count, leaves.count)
    }

    /// Another keyring opens others, and tells otherwise what only an owner can have made.
    private mutating func startOver() {
        usedKeyring = (store.view.keyring, store.isKeyringProven)
        soundBytes -= opened.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
        pending = opened + failed + pending
        (opened, failed, records, provenRecords) = ([], [], [:], [:])
        (unopenedRecords, unknownRecords) = (0, 0)
    }

    private mutating func openOrSearch(_ region: Range<UInt64>) throws(VaultError) {
        do throws(VaultError) { try open(region) } catch {
            guard error.code != .io else { throw error }
            failed.append(region)
            if [.deviceBound, .notPermitted].contains(error.code) {
                unopenedRecords += 1
            } else if searched.insert(region.lowerBound).inserted {
                try search(region.lowerBound + 1..<region.upperBound)
            }
        }
    }

    private mutating func open(_ region: Range<UInt64>) throws(VaultError) {
        let length = Int(region.upperBound - region.lowerBound)
        // Only an owner can have made a locator that names a compartment of this vault.
        let identity = store.claimedIdentity(try file.bytes(Sealing.recordBodyStart, at: region.lowerBound))
        try store.requireKey(of: identity, at: region.lowerBound)
        let frame = try file.bytes(length, at: region.lowerBound)
        let body = try store.open(frame, identity, at: region.lowerBound)
        soundBytes += UInt64(length)
        opened.append(region)
        let record = Record(identity: identity, offset: region.lowerBound, length: length)
        let found: FoundRecord
        do throws(VaultError) {
            found = try body.withSpan { (bytes) throws(VaultError) in
                try RecordCodec.found(bytes, at: region.lowerBound)
            }
        } catch {
            if error.code == .unsupportedForm { unknownRecords += 1 }
            return
        }
        let isEarlier = store.isOwners(identity.compartment)
        keep(record, found, isEarlier: isEarlier, in: &records)
        if !store.isForgeable(identity.compartment) { keep(record, found, isEarlier: isEarlier, in: &provenRecords) }
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
