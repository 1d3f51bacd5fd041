internal import VaultBytes

/// What salvaging a damaged vault gave.
public struct SalvageReport: Sendable {
    /// How many items are in the new vault.
    public internal(set) var recovered = 0
    /// Items whose index entry was lost: their names and secrets are recovered, their short attributes and dates are not, and one or another may have been removed
    /// before the damage.
    public internal(set) var withoutIndex: [ItemKey] = []
    /// Items of which only an older secret authenticates.
    public internal(set) var older: [ItemKey] = []
    /// Items that could not be recovered, with the reason.
    public internal(set) var lost: [(key: ItemKey, reason: String)] = []
    /// What else was found.
    public internal(set) var notes: [String] = []
}

extension Vault {
    /// Recovers what still authenticates of a damaged vault into a new file, with new factors; the damaged one is only read.
    ///
    /// Needs a header whose slot opens. Throws what opening the header throws, `authenticationFailed` if no keyring is left, and what creating throws.
    public static func salvage(
        _ path: String, factors: borrowing Factors, to newPath: String, newFactors: borrowing Factors,
        options: consuming CreateOptions = .init(),
        limits: ReaderLimits = .init(), device: consuming Device? = nil
    ) throws(VaultError) -> SalvageReport {
        var report = SalvageReport()
        let place = Store.Place()
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        var source = try SalvageSource(file, factors.keys, limits, device, &report)
        let items = try source.collect(&report)
        let vault = try create(at: newPath, factors: newFactors, options: options)
        try vault.transaction { (transaction) throws(VaultError) in
            for found in items { try source.copy(found, into: transaction, &report) }
        }
        return report
    }
}

/// A damaged vault, as far as it opens.
struct SalvageSource: ~Copyable {
    /// An item that the index names, or a record that only names itself.
    struct Found {
        let key: ItemKey
        let item: Item?
        let orphan: Orphan?
    }

    struct Orphan {
        let identity: Sealing.RecordIdentity
        let offset: UInt64
        let length: Int
    }

    private struct Scan {
        var commits: [CommittedState] = []
        var leaves: [ObjectRef] = []
        var keyrings: [(offset: UInt64, keyring: Keyring)] = []
        /// The newest record of each item that authenticates.
        var records: [Bytes16: Orphan] = [:]
        var recordOffsets: [(offset: UInt64, length: Int)] = []
        var damagedBytes: UInt64 = 0
    }

    private let file: any FileHandle
    private let store: SalvageStore
    private var scan = Scan()

    init(
        _ file: any FileHandle, _ factors: borrowing FactorKeys, _ limits: ReaderLimits, _ device: consuming Device?,
        _ report: inout SalvageReport
    ) throws(VaultError) {
        self.file = file
        store = try SalvageStore(file, factors, limits, device, &report)
    }

    // MARK: finding

    /// Everything that can be named, the newest state of each.
    mutating func collect(_ report: inout SalvageReport) throws(VaultError) -> [Found] {
        try scanFile()
        if scan.damagedBytes > 0 { report.notes.append("\(scan.damagedBytes) bytes of the file are no object that authenticates") }
        guard let keyring = scan.keyrings.last?.keyring else {
            throw VaultError(.authenticationFailed, "no keyring of the vault is left: no secret can be opened")
        }
        store.use(keyring)
        openRecords()
        var items: [ItemKey: Found] = [:]
        var gaps = Gaps()
        if let newest = scan.commits.max(by: { $0.commit.generation < $1.commit.generation }) {
            if let root = newest.commit.root { walk(root.ref, root.level, low: [], high: nil, &items, &gaps) }
        } else {
            report.notes.append("no commit of the vault is left: all states of it were looked through")
            gaps.add(low: [], high: nil)
        }
        if !gaps.isEmpty {
            report.notes.append("parts of the index are lost: older pages and the records themselves were used instead")
            fillFromOlderPages(gaps, &items)
            fillFromRecords(gaps, &items)
        }
        return items.values.sorted { $0.key < $1.key }
    }

    /// Reads the whole file: frames one after the other, and where one is damaged, on to the next that authenticates.
    private mutating func scanFile() throws(VaultError) {
        let size = try file.size()
        var position = UInt64(store.headerLength)
        while position < size, size - position >= UInt64(Format.frameHeadSize) {
            let head = try readHead(position)
            if let head, UInt64(head.length) <= size - position, try note(head, position) {
                position += UInt64(head.length)
            } else {
                let next = try nextHead(after: position, size)
                let isPadding = try isPadding(position, next)
                if head != nil || !isPadding { scan.damagedBytes += next - position }
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
    private func nextHead(after position: UInt64, _ size: UInt64) throws(VaultError) -> UInt64 {
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

    /// Keeps what authenticates; false if it does not. Records are only looked at once the keyring is known.
    private mutating func note(_ head: FrameHead, _ offset: UInt64) throws(VaultError) -> Bool {
        let frame = try file.bytes(head.length, at: offset)
        do throws(VaultError) {
            switch head.type {
            case .record: scan.recordOffsets.append((offset, head.length))
            case .page:
                let body = try store.pages.open(frame, .page, at: offset)
                let layout = try decoding { () throws(FormatError) in try PageLayout(body.span, at: offset) }
                if layout.isLeaf { scan.leaves.append(ObjectRef(offset: offset, length: head.length, hash: Bytes32(hashing: frame))) }
            case .keyring:
                let body = try store.pages.open(frame, .keyring, at: offset)
                scan.keyrings.append((offset, try decoding { () throws(FormatError) in try Keyring(body.span, at: offset) }))
            case .history: _ = try store.pages.open(frame, .history, at: offset)
            case .commit:
                guard let state = try store.finder.read(at: offset)?.state else { return false }
                scan.commits.append(state)
            }
            return true
        } catch {
            guard error.code != .io else { throw error }
            return false
        }
    }

    private mutating func openRecords() {
        for (offset, length) in scan.recordOffsets {
            do throws(VaultError) {
                let frame = try file.bytes(length, at: offset)
                let identity = frame.withUnsafeBytes { store.sealing.claimedIdentity($0, locatorKey: store.slot.keys.locator) }
                _ = try store.open(frame, identity, at: offset)
                let id = Bytes16(high: identity.item.0.bigEndian, low: identity.item.1.bigEndian)
                if let known = scan.records[id], known.identity.revision >= identity.revision { continue }
                scan.records[id] = Orphan(identity: identity, offset: offset, length: length)
            } catch { continue }
        }
    }

    // MARK: the index

    /// Ranges of keys whose pages are lost.
    private struct Gaps {
        private var ranges: [(low: [UInt8], high: [UInt8]?)] = []

        var isEmpty: Bool { ranges.isEmpty }

        mutating func add(low: [UInt8], high: [UInt8]?) { ranges.append((low, high)) }

        func contains(_ key: [UInt8]) -> Bool {
            ranges.contains { range in !ByteOrder.isLess(key, range.low) && range.high.map { ByteOrder.isLess(key, $0) } ?? true }
        }
    }

    private func walk(
        _ ref: ObjectRef, _ level: UInt8, low: [UInt8], high: [UInt8]?, _ items: inout [ItemKey: Found], _ gaps: inout Gaps
    ) {
        do throws(VaultError) {
            let page = try store.pages.load(ref, level: level)
            if page.layout.isLeaf { return take(page, nil, &items) }
            for index in 0..<page.count {
                let from = index == 0 ? low : page.key(index)
                let to = index + 1 < page.count ? page.key(index + 1) : high
                walk(try page.child(index), level - 1, low: from, high: to, &items, &gaps)
            }
        } catch { gaps.add(low: low, high: high) }
    }

    /// Takes a leaf's items; within gaps only, and only what is newer than known, where it is not of the newest state.
    private func take(_ page: Page, _ gaps: Gaps?, _ items: inout [ItemKey: Found]) {
        for index in 0..<page.count {
            let bytes = page.key(index)
            guard let first = bytes.first, first < Format.tombstoneTag, gaps?.contains(bytes) ?? true else { continue }
            do throws(VaultError) {
                let key = try ItemKey(bytes)
                let item = try ItemCodec.item(key, try ItemCodec.decode(page, index), store.view, at: page.offset)
                if let known = items[key]?.item, known.revision >= item.revision { continue }
                items[key] = Found(key: key, item: item, orphan: scan.records[item.id.bytes])
            } catch { continue }
        }
    }

    private func fillFromOlderPages(_ gaps: Gaps, _ items: inout [ItemKey: Found]) {
        for ref in scan.leaves {
            do throws(VaultError) { take(try store.pages.load(ref, level: 0), gaps, &items) } catch { continue }
        }
    }

    private func fillFromRecords(_ gaps: Gaps, _ items: inout [ItemKey: Found]) {
        let named = Set(items.values.compactMap { $0.item?.id.bytes })
        for (id, orphan) in scan.records where !named.contains(id) {
            do throws(VaultError) {
                let body = try store.open(try file.bytes(orphan.length, at: orphan.offset), orphan.identity, at: orphan.offset)
                let key = try RecordCodec.parts(body, at: orphan.offset).key
                guard gaps.contains(key.bytes), items[key] == nil else { continue }
                items[key] = Found(key: key, item: nil, orphan: orphan)
            } catch { continue }
        }
    }

    // MARK: copying

    /// Puts an item into the new vault, from its record or, if that is damaged, from an older one.
    func copy(_ found: Found, into transaction: Transaction, _ report: inout SalvageReport) throws(VaultError) {
        var reason = "its record is damaged"
        if let item = found.item {
            let entry = item.entry
            do throws(VaultError) {
                let frame = try FrameReader.read(entry.record, .record, file)
                try put(found, frame, entry.identity, entry.record.offset, into: transaction)
                report.recovered += 1
                return
            } catch {
                guard [.authenticationFailed, .structureInvalid, .deviceBound, .notPermitted, .limitExceeded].contains(error.code) else {
                    throw error
                }
                reason = error.detail
            }
        }
        guard let orphan = found.orphan else {
            report.lost.append((found.key, reason))
            return
        }
        try put(found, try file.bytes(orphan.length, at: orphan.offset), orphan.identity, orphan.offset, into: transaction)
        report.recovered += 1
        if found.item == nil { report.withoutIndex.append(found.key) } else { report.older.append(found.key) }
    }

    private func put(
        _ found: Found, _ frame: [UInt8], _ identity: Sealing.RecordIdentity, _ offset: UInt64, into transaction: Transaction
    ) throws(VaultError) {
        var body = try store.open(frame, identity, at: offset)
        let parts = try RecordCodec.parts(body, at: offset)
        guard parts.key == found.key else {
            throw VaultError(.structureInvalid, "a record belongs to another item than the index says", at: offset)
        }
        var attributes = found.item?.attributes ?? Attributes()
        for entry in parts.attributes { attributes[entry.name] = entry.value }
        let accessibility = found.item?.accessibility ?? store.view.compartment(identity.compartment)?.accessibility ?? .whenUnlocked
        body.keep(parts.secret)
        // What was for one device is, in the new vault, for this one; without a device it is for any.
        let isPossible = !accessibility.isThisDeviceOnly || transaction.hasDevice
        try transaction.add(
            found.key, secret: body, attributes: attributes, accessibility: isPossible ? accessibility : .whenUnlocked,
            created: found.item?.created, modified: found.item?.modified)
    }
}
