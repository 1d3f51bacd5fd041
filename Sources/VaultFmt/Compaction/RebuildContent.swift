internal import VaultBytes

/// An item that is being rewritten: its records without duplicates, and its past.
struct LiveItem: Sendable {
    let decoded: ItemCodec.Decoded
    /// The records of the item's large attributes, followed by those of its past; most items have neither.
    let others: [RecordRef]
    let past: Past?

    init(_ decoded: ItemCodec.Decoded, _ past: Past?) {
        self.decoded = decoded
        self.past = past
        guard past != nil || !decoded.largeRecords.isEmpty else {
            others = []
            return
        }
        var known: Set<RecordRef> = decoded.entry.hasRecord ? [decoded.entry.own] : []
        let kept = past?.values.flatMap(\.records) ?? []
        others = (decoded.largeRecords + kept).filter { known.insert($0).inserted }
    }

    /// The item's own record; nil if the item has none.
    var own: RecordRef? { decoded.entry.hasRecord ? decoded.entry.own : nil }

    /// The number of records.
    var recordCount: Int { (decoded.entry.hasRecord ? 1 : 0) + others.count }

    /// The places of all records, starting with the item's own.
    var places: [RecordRef] { own.map { [$0] + others } ?? others }

    /// The records that the item's past refers to, in the order in which the past lists them, as indices into `places`.
    var pastPlaces: [Int] {
        guard let past else { return [] }
        let positions = Dictionary(places.enumerated().map { ($1, $0) }) { first, _ in first }
        return past.values.flatMap(\.records).map { positions[$0] ?? 0 }
    }
}

/// An entry of a leaf that is being rewritten.
struct LeafEntry: Sendable {
    let page: Page
    let index: Int
    /// Nil for a forgotten value.
    let item: LiveItem?

    /// Encodes the value of an item whose records have moved to `places`, which are in the same order as the item's own
    /// places. The compartment of an item without a record may also have been replaced.
    func value(
        _ item: LiveItem, _ places: ArraySlice<RecordRef>, _ past: ObjectRef?, _ targets: [UInt64: RecordTarget]
    ) throws(VaultError) -> [UInt8] {
        var entry = item.decoded.entry
        if entry.hasRecord {
            guard let own = places.first else { throw RebuildLayout.changed }
            entry.own = own
        } else if let target = targets[entry.compartment] {
            entry.compartment = target.number
        }
        entry.past = past
        let bytes = page.bytes
        let attributes = item.decoded.attributes
        var out: [UInt8] = []
        out.reserveCapacity(page.layout.entries[index].value.count + 16)
        entry.encode(into: &out)
        if item.decoded.largeRecords.isEmpty {
            // The attributes are copied byte for byte.
            out.append(bytes.span.extracting(attributes))
        } else {
            let moved = Dictionary(zip(item.places, places)) { first, _ in first }
            let attributes = try item.decoded.listed(in: page)
            PageAttributes.encode(attributes.map { $0.moved(moved) }, into: &out)
        }
        // The number of attributes takes one byte.
        entry.encodeEnd(into: &out, attributes: attributes.isEmpty ? 0 : Int(bytes[attributes.lowerBound]))
        return out
    }
}

extension ItemCodec.Decoded {
    /// Decodes the attributes of an entry of a page.
    func listed(in page: Page) throws(VaultError) -> [PageAttribute] {
        let bytes = page.bytes
        var cursor = Cursor(over: attributes, of: Cursor(bytes.span, at: page.offset, else: .structureInvalid))
        return try decoding { () throws(FormatError) in try PageAttributes.decode(bytes.span, &cursor) }
    }
}

extension PageAttribute {
    /// Returns a copy that refers to the records' new places.
    func moved(_ places: [RecordRef: RecordRef]) -> PageAttribute {
        guard let record, let place = places[record] else { return self }
        return PageAttribute(name: name, flags: flags, value: .inOwnRecord(place))
    }
}

extension Past {
    /// Returns a copy that refers to the records' new places.
    func moved(_ places: [RecordRef: RecordRef]) -> Past {
        var new = self
        for index in new.values.indices {
            switch new.values[index].content {
            case .secret(let own, let attributes):
                new.values[index].content = .secret(places[own] ?? own, attributes.map { $0.moved(places) })
            case .attributeInRecord(let record):
                new.values[index].content = .attributeInRecord(places[record] ?? record)
            case .absent, .attribute, .key, .place: break
            }
        }
        return new
    }

    /// The unpadded size of the body, not counting the offsets and lengths of records.
    var sizeWithoutPlaces: Int {
        values.flatMap(\.records).reduce(unpaddedSize) { size, place in
            size + Format.hashSize - ObjectRef.size(offset: place.record.offset, length: place.record.length)
        }
    }
}

/// Reads the leaves of a tree that is being rewritten, with the pasts of their items. Any number of threads may use it
/// at the same time.
struct RebuildReader: Sendable {
    let source: PageSource
    let check: EntryCheck
    let pastKey: SecretBox

    /// Calls `measure` with the items of a leaf that `read` would append. Checks that do not need an item's past are
    /// left to `read`.
    func measure(_ leaf: PageRef, _ measure: (LiveItem) throws(VaultError) -> Void) throws(VaultError) {
        let page = try source.load(leaf)
        for index in 0..<page.count where !page.isForgotten(index) {
            let decoded = try ItemCodec.decode(page, index)
            if decoded.largeRecords.isEmpty, decoded.entry.past == nil {
                if decoded.entry.hasRecord { try page.check(decoded.entry.record, .record) }
                try measure(LiveItem(decoded, nil))
            } else {
                var check = check
                try measure(try item(page, index, page.key(index), &check))
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
            if page.isForgotten(index) {
                _ = try ForgottenCodec.decode(page, index, check)
            } else {
                page.key(index, after: &key)
                item = try self.item(page, index, key, &check)
            }
            entries.append(LeafEntry(page: page, index: index, item: item))
        }
    }

    private func item(
        _ page: Page, _ index: Int, _ key: [UInt8], _ check: inout EntryCheck
    ) throws(VaultError) -> LiveItem {
        let decoded = try ItemCodec.decode(page, index)
        let key = PageKey.itemKey(key, decoded.entry.id)
        let group: Range<Int>
        do throws(FormatError) { group = try ItemKey.check(key.span) } catch { throw VaultError(format: error) }
        _ = try check.check(decoded, key.span, group, at: page.offset)
        if decoded.entry.hasRecord { try page.check(decoded.entry.record, .record) }
        for record in decoded.largeRecords { try page.check(record.record, .record) }
        guard let ref = decoded.entry.past else { return LiveItem(decoded, nil) }
        try page.check(ref, .past)
        let past: Past
        do throws(VaultError) {
            past = try source.past(ref, of: decoded, try decoded.listed(in: page), check, key: pastKey.secret)
        } catch { throw error.naming(.past, of: try ItemKey(key)) }
        return LiveItem(decoded, past)
    }
}

extension PageSource {
    /// Reads an item's past, checked against the item's entry and the keyring, with the places of the past's records.
    /// The reference to the frame must have been checked.
    func past(
        _ ref: ObjectRef, of item: ItemCodec.Decoded, _ attributes: [PageAttribute], _ check: EntryCheck,
        key: borrowing Secret
    ) throws(VaultError) -> Past {
        let body = try open(try FrameReader.read(ref, .past, file), .past, at: ref.offset, key: key)
        let past = try decoding { () throws(FormatError) in
            let past = try Past(body.span, at: ref.offset)
            try past.check(item.entry, attributes, at: ref.offset)
            return past
        }
        try check.check(past, item.largeRecords, at: ref.offset)
        for value in past.values {
            for record in value.records {
                // A record that the entry refers to may end after the past.
                guard record != item.entry.own, !item.largeRecords.contains(record) else { continue }
                try decoding { () throws(FormatError) in
                    try record.record.check(.record, from: bodyStart, before: ref.offset)
                }
            }
        }
        return past
    }
}
