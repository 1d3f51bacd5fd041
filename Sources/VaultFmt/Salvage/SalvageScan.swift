internal import VaultBytes

/// Everything in a damaged file that authenticates, wherever it stands.
struct SalvageScan {
    /// A record, and what it was sealed as.
    struct Record {
        let identity: Sealing.RecordIdentity
        let offset: UInt64
        let length: Int
    }

    private let file: any FileHandle
    private let store: SalvageStore
    private(set) var commits: [CommittedState] = []
    private(set) var leaves: [ObjectRef] = []
    /// The newest record of each item.
    private(set) var records: [Bytes16: Record] = [:]
    /// The newest of each item that only an owner can have made.
    private(set) var provenRecords: [Bytes16: Record] = [:]
    private(set) var keyrings: [(offset: UInt64, keyring: Keyring)] = []
    /// Records that no key opens which is there: of other devices, as a rule.
    private(set) var unopenedRecords = 0
    private var pending: [Range<UInt64>] = []
    private var failed: [Range<UInt64>] = []
    private var soundBytes: UInt64 = 0
    /// Where objects were found, or what looked like records.
    private var known: Set<UInt64> = []
    /// Where a region was looked through that had seemed to be a record.
    private var looked: Set<UInt64> = []
    private let size: UInt64

    init(_ file: any FileHandle, _ store: SalvageStore) throws(VaultError) {
        self.file = file
        self.store = store
        size = try Reserve.contentEnd(of: file, size: try file.size(), after: UInt64(store.headerLength))
        try look(UInt64(store.headerLength)..<size)
    }

    /// The bytes after the header that are no object which authenticates.
    var damagedBytes: UInt64 { size - UInt64(store.headerLength) - soundBytes }

    /// The bytes of what was being written, or was damaged, after the newest state.
    var bytesAfterNewest: UInt64 { newest.map { size - min(size, $0.commit.end) } ?? 0 }

    /// The newest state that an owner made.
    var newest: CommittedState? { commits.max { $0.commit.generation < $1.commit.generation } }

    /// Goes through a region: frames one after the other, and where one is damaged, on to the next that authenticates.
    private mutating func look(_ region: Range<UInt64>) throws(VaultError) {
        var position = region.lowerBound
        while position < region.upperBound, size - position >= UInt64(Format.frameHeadSize) {
            let head = try readHead(position)
            if let head, UInt64(head.length) <= size - position, try note(head, position) {
                position += UInt64(head.length)
            } else {
                let next = try nextHead(after: position)
                if head == nil, try isPadding(position, next) { soundBytes += next - position }
                position = next
            }
        }
    }

    private func readHead(_ offset: UInt64) throws(VaultError) -> FrameHead? {
        let bytes = try file.bytes(Format.frameHeadSize, at: offset)
        do throws(FormatError) { return try FrameHead(bytes.span, at: offset) } catch { return nil }
    }

    private func isPadding(_ from: UInt64, _ to: UInt64) throws(VaultError) -> Bool {
        guard to - from < UInt64(Format.commitAlignment) else { return false }
        return try file.bytes(Int(to - from), at: from).allSatisfy { $0 == 0 }
    }

    /// The next place at which a frame could start.
    private func nextHead(after position: UInt64) throws(VaultError) -> UInt64 {
        var base = position + 1
        while base < size, size - base >= 4 {
            let bytes = try file.bytes(Int(min(size - base, 1 << 20)), at: base)
            for index in 0..<bytes.count - 3 where bytes[index] == 0x76 {
                let tag =
                    UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]) << 16 | UInt32(bytes[index + 3]) << 24
                if FrameType(rawValue: tag) != nil { return base + UInt64(index) }
            }
            base += UInt64(bytes.count - 3)
        }
        return size
    }

    /// Keeps what authenticates; false if it does not. Records have to wait until the keyring is known.
    private mutating func note(_ head: FrameHead, _ offset: UInt64) throws(VaultError) -> Bool {
        guard !known.contains(offset) else { return true }
        guard head.type != .record else {
            known.insert(offset)
            pending.append(offset..<offset + UInt64(head.length))
            return true
        }
        let frame = try file.bytes(head.length, at: offset)
        do throws(VaultError) {
            switch head.type {
            case .record: break
            case .page:
                let body = try store.pages.open(frame, .page, at: offset)
                let layout = try decoding { () throws(FormatError) in try PageLayout(body.span, at: offset) }
                if layout.isLeaf { leaves.append(ObjectRef(offset: offset, length: head.length, hash: Bytes32(hashing: frame))) }
            case .keyring:
                let body = try store.pages.open(frame, .keyring, at: offset)
                keyrings.append((offset, try decoding { () throws(FormatError) in try Keyring(body.span, at: offset) }))
            case .history: _ = try store.pages.open(frame, .history, at: offset)
            case .commit:
                guard let state = try store.finder.read(at: offset)?.state else { return false }
                try store.finder.codec.checkMACs(frame, at: offset)
                commits.append(state)
            }
        } catch {
            guard error.code != .io else { throw error }
            return false
        }
        known.insert(offset)
        soundBytes += UInt64(head.length)
        return true
    }

    // MARK: records

    /// The keyring of the newest state; if that is damaged, the last one in the file.
    var keyring: Keyring? {
        if let named = newest?.commit.keyring.offset, let found = keyrings.first(where: { $0.offset == named }) { return found.keyring }
        return keyrings.max { $0.offset < $1.offset }?.keyring
    }

    /// Opens the records that were found, with the keyring that is used. What looked like a record and is none may hide other objects: true if it did, and
    /// all is to be done again.
    mutating func openRecords() throws(VaultError) -> Bool {
        let all = failed + pending
        failed = []
        pending = []
        unopenedRecords = 0
        let before = (commits.count, keyrings.count, leaves.count)
        for region in all {
            do throws(VaultError) { try open(region) } catch {
                guard error.code != .io else { throw error }
                failed.append(region)
                if [.deviceBound, .notPermitted].contains(error.code) {
                    unopenedRecords += 1
                } else if looked.insert(region.lowerBound).inserted {
                    try look(region.lowerBound + 1..<region.upperBound)
                }
            }
        }
        return !pending.isEmpty || before != (commits.count, keyrings.count, leaves.count)
    }

    private static func keep(_ record: Record, _ id: Bytes16, in records: inout [Bytes16: Record]) {
        if let known = records[id], known.identity.revision >= record.identity.revision { return }
        records[id] = record
    }

    private mutating func open(_ region: Range<UInt64>) throws(VaultError) {
        let length = Int(region.upperBound - region.lowerBound)
        let frame = try file.bytes(length, at: region.lowerBound)
        let identity = frame.withUnsafeBytes { store.sealing.claimedIdentity($0, locatorKey: store.slot.keys.locator) }
        _ = try store.open(frame, identity, at: region.lowerBound)
        soundBytes += UInt64(length)
        let id = Bytes16(high: identity.item.0.bigEndian, low: identity.item.1.bigEndian)
        let record = Record(identity: identity, offset: region.lowerBound, length: length)
        Self.keep(record, id, in: &records)
        if !store.isForgeable(identity.compartment) { Self.keep(record, id, in: &provenRecords) }
    }
}
