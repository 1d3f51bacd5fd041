internal import VaultBytes

/// An item that is being rewritten: each of its records once, and the earlier values that are kept.
struct LiveItem: Sendable {
    let decoded: ItemCodec.Decoded
    /// The records of its large attributes, followed by those of its earlier values; most items have neither.
    let others: [RecordRef]
    let versions: Versions?

    init(_ decoded: ItemCodec.Decoded, _ versions: Versions?) {
        self.decoded = decoded
        self.versions = versions
        guard versions != nil || !decoded.largeRecords.isEmpty else {
            others = []
            return
        }
        var known: Set<RecordRef> = [decoded.entry.own]
        let earlier = versions?.versions.flatMap { [$0.own] + $0.largeRecords } ?? []
        others = (decoded.largeRecords + earlier).filter { known.insert($0).inserted }
    }

    var own: RecordRef { decoded.entry.own }

    /// The number of records.
    var recordCount: Int { 1 + others.count }

    /// The places of all records, starting with the item's own.
    var places: [RecordRef] { [own] + others }

    /// The records that its earlier values refer to, in the order in which their frame lists them, as indices into
    /// `places`.
    var versionPlaces: [Int] {
        guard let versions else { return [] }
        let positions = Dictionary(places.enumerated().map { ($1, $0) }) { first, _ in first }
        return versions.versions.flatMap { [$0.own] + $0.largeRecords }.map {
            positions[$0] ?? 0
        }
    }
}

/// An entry of a leaf that is being rewritten.
struct LeafEntry: Sendable {
    let page: Page
    let index: Int
    /// Nil for a tombstone.
    let item: LiveItem?

    /// Encodes the value of an item whose records have moved to `places`, which are in the same order as the item's
    /// own.
    func value(_ item: LiveItem, _ places: ArraySlice<RecordRef>, _ versions: ItemEntry.Versions?) throws(VaultError)
        -> [UInt8]
    {
        var entry = item.decoded.entry
        guard let own = places.first else { throw RebuildLayout.changed }
        entry.own = own
        entry.versions = versions
        let bytes = page.bytes
        var out: [UInt8] = []
        out.reserveCapacity(page.layout.entries[index].value.count + 16)
        entry.encode(into: &out)
        if item.decoded.largeRecords.isEmpty {
            // The attributes are copied byte for byte.
            out.append(bytes.span.extracting(item.decoded.attributes))
        } else {
            let moved = Dictionary(zip(item.places, places)) { first, _ in first }
            var cursor = Cursor(
                over: item.decoded.attributes, of: Cursor(bytes.span, at: page.offset, else: .structureInvalid))
            let attributes = try decoding { () throws(FormatError) in try PageAttributes.decode(bytes.span, &cursor) }
            PageAttributes.encode(attributes.map { $0.moved(moved) }, into: &out)
        }
        return out
    }
}

extension PageAttribute {
    /// Returns a copy that refers to the records' new places.
    func moved(_ places: [RecordRef: RecordRef]) -> PageAttribute {
        guard let record, let place = places[record] else { return self }
        return PageAttribute(name: name, flags: flags, value: .inOwnRecord(place))
    }
}

extension Versions {
    /// Returns a copy that refers to the records' new places.
    func moved(_ places: [RecordRef: RecordRef]) -> Versions {
        var new = self
        for index in new.versions.indices {
            let version = new.versions[index]
            if let place = places[version.own] { new.versions[index].own = place }
            new.versions[index].attributes = version.attributes.map { $0.moved(places) }
        }
        return new
    }

    /// The unpadded size of the body, not counting the offsets and lengths of records.
    var sizeWithoutPlaces: Int {
        versions.reduce(Format.idSize + 1) { size, version in
            let numbers = VarintSize.of(version.device) + version.replaced.zigzagSize + version.modified.zigzagSize
            let attributes = version.attributes.reduce(VarintSize.of(version.attributes.count)) {
                $0 + $1.sizeWithoutPlace
            }
            return size + 24 + numbers + Format.hashSize + attributes
        }
    }
}

extension PageAttribute {
    fileprivate var sizeWithoutPlace: Int {
        let value =
            switch value {
            case .inPage(let value): VarintSize.of(value.count) + value.count
            case .inItemRecord: 0
            case .inOwnRecord: Format.hashSize + 16
            }
        return 2 + name.utf8.count + value
    }
}

extension Int64 {
    fileprivate var zigzagSize: Int { VarintSize.of(Int((self << 1) ^ (self >> 63))) }
}

/// Reads the leaves of a tree that is being rewritten, with the earlier values of their items. Any number of threads
/// may use it at the same time.
struct RebuildReader: Sendable {
    let source: PageSource
    let check: EntryCheck
    /// The number of earlier values that an item keeps; a compaction drops any excess (section 6.4).
    let kept: Int

    /// Calls `measure` with each item of a leaf, in the form in which `read` will find it. Checks that do not require
    /// reading earlier values are left to `read`.
    func measure(_ leaf: PageRef, _ measure: (LiveItem) throws(VaultError) -> Void) throws(VaultError) {
        let page = try source.load(leaf)
        for index in 0..<page.count where !page.isTombstone(index) {
            let decoded = try ItemCodec.decode(page, index)
            if decoded.largeRecords.isEmpty, decoded.entry.versions == nil || kept == 0 {
                try page.check(decoded.entry.record, .record)
                try measure(LiveItem(decoded, nil))
            } else {
                var check = check
                try measure(try item(page, index, page.key(index).span, &check))
            }
        }
    }

    /// Appends a leaf's entries, bypassing the page cache.
    func read(_ leaf: PageRef, into entries: inout [LeafEntry]) throws(VaultError) {
        let page = try source.load(leaf)
        var (check, key) = (check, page.prefix)
        entries.reserveCapacity(entries.count + page.count)
        for index in 0..<page.count {
            var item: LiveItem?
            if !page.isTombstone(index) {
                page.key(index, after: &key)
                item = try self.item(page, index, key.span, &check)
            }
            entries.append(LeafEntry(page: page, index: index, item: item))
        }
    }

    private func item(
        _ page: Page, _ index: Int, _ key: Span<UInt8>, _ check: inout EntryCheck
    ) throws(VaultError) -> LiveItem {
        let decoded = try ItemCodec.decode(page, index)
        let group: Range<Int>
        do throws(FormatError) { group = try ItemKey.check(key) } catch { throw VaultError(format: error) }
        _ = try check.check(decoded, key, group, at: page.offset)
        try page.check(decoded.entry.record, .record)
        for record in decoded.largeRecords { try page.check(record.record, .record) }
        guard let ref = decoded.entry.versions?.frame, kept > 0 else { return LiveItem(decoded, nil) }
        try page.check(ref, .versions)
        var versions: Versions
        do throws(VaultError) { versions = try source.versions(ref, of: decoded, check) } catch {
            throw error.naming(.earlierValues, of: try ItemKey((0..<key.count).map { key[$0] }))
        }
        versions.versions = versions.versions.suffix(kept)
        return LiveItem(decoded, versions)
    }
}

extension PageSource {
    /// Reads the earlier values of an item, checked against its entry and the keyring, with the places of their
    /// records. The reference to the frame must have been checked.
    func versions(_ ref: ObjectRef, of item: ItemCodec.Decoded, _ check: EntryCheck) throws(VaultError) -> Versions {
        let frame = try FrameReader.read(ref, .versions, file)
        let versions = try VersionsReader.read(frame, ref, item.entry, item.largeRecords, self, check)
        for version in versions.versions {
            for record in [version.record] + version.largeRecords.map(\.record) {
                try decoding { () throws(FormatError) in try record.check(.record, from: bodyStart, before: ref.offset)
                }
            }
        }
        return versions
    }
}
