internal import VaultBytes
internal import VaultStore

/// Leaf values of items (specification, section 6.3).
enum ItemCodec {
    struct Decoded: Sendable {
        let entry: ItemEntry
        /// The records of large attributes.
        let largeRecords: [RecordRef]
        /// The number of attributes whose values are in the item's record.
        let inRecord: Int
        /// The range of the attributes in the page or value.
        let attributes: Range<Int>
    }

    static func encode(_ entry: ItemEntry, _ attributes: [PageAttribute]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(160)
        entry.encode(into: &out)
        PageAttributes.encode(attributes, into: &out)
        entry.encodeEnd(into: &out, attributes: attributes.count)
        return out
    }

    /// Decodes a leaf value; `offset` is the offset of the page that contains it or will contain it.
    static func decode(_ value: [UInt8], at offset: UInt64) throws(VaultError) -> Decoded {
        try decoding { () throws(FormatError) in
            try decode(value.span, Cursor(value.span, at: offset, else: .structureInvalid))
        }
    }

    static func decode(_ page: Page, _ index: Int) throws(VaultError) -> Decoded {
        let bytes = page.bytes
        do throws(FormatError) { return try decode(bytes.span, page.cursor(index)) } catch {
            throw VaultError(format: error)
        }
    }

    private static func decode(_ bytes: Span<UInt8>, _ start: Cursor) throws(FormatError) -> Decoded {
        var cursor = start
        var entry = try ItemEntry(bytes, &cursor)
        let attributes = cursor.position
        var large: [RecordRef] = []
        var (count, inRecord) = (0, 0)
        try PageAttributes.walk(bytes, &cursor) { attribute throws(FormatError) in
            try start.checkText(bytes, attribute.name)
            if let record = attribute.record { large.append(record) }
            if attribute.flags.contains(.inItemRecord) { inRecord += 1 }
            count += 1
        }
        let end = cursor.position
        try entry.finish(bytes, &cursor, attributes: count)
        //
        guard entry.hasRecord == (!entry.lacksSecret || inRecord > 0) else {
            throw cursor.error("an item has a record that it does not need, or lacks one")
        }
        return Decoded(entry: entry, largeRecords: large, inRecord: inRecord, attributes: attributes..<end)
    }

    /// Returns the item of a page's entry, given its page key.
    static func item(_ key: PageName, _ page: Page, _ index: Int, _ check: EntryCheck) throws(VaultError) -> Item {
        let decoded = try decode(page, index)
        return try item(key, decoded, .inPage(page, decoded.attributes), check, at: page.offset)
    }

    /// Returns the item with the given page key; the item's value is not in a page yet.
    static func item(_ key: PageName, _ value: [UInt8], _ check: EntryCheck, before page: UInt64) throws(VaultError)
        -> Item
    {
        let decoded = try decode(value, at: page)
        return try item(key, decoded, .encoded(Array(value[decoded.attributes])), check, at: page)
    }

    private static func item(
        _ name: PageName, _ decoded: Decoded, _ attributes: ItemAttributes, _ check: EntryCheck, at offset: UInt64
    ) throws(VaultError) -> Item {
        var check = check
        let key = name.key
        let compartment = try check.check(decoded, key.bytes.span, key.groupRange, at: offset)
        return Item(
            decoded, compartment, .apart(key, attributes), isPlain: name.second == nil, referrer: offset)
    }

    /// Returns the item of a page's entry; the entry's key was copied into `key`.
    static func item(
        _ page: Page, _ index: Int, key: Span<UInt8>, _ check: inout EntryCheck
    ) throws(VaultError) -> Item {
        let decoded = try decode(page, index)
        guard !PageKey.isSecond(key, decoded.entry.id) else {
            let name = try PageName(ByteCopy.of(key, 0..<key.count), decoded.entry.id)
            return try item(name, decoded, .inPage(page, decoded.attributes), check, at: page.offset)
        }
        let group: Range<Int>
        do throws(FormatError) { group = try ItemKey.check(key) } catch { throw VaultError(format: error) }
        let compartment = try check.check(decoded, key, group, at: page.offset)
        let place = ItemPlace(index: index, groupStart: group.lowerBound, attributes: decoded.attributes)
        return Item(decoded, compartment, .inPage(page, place), isPlain: true, referrer: page.offset)
    }
}

/// Entries of forgotten values (specification, section 6.5).
enum ForgottenCodec {
    /// Decodes the key of an entry and checks it; the entry's value is empty.
    static func decode(_ page: Page, _ index: Int, _ check: EntryCheck) throws(VaultError) -> ForgottenValue {
        let key = page.key(index)
        let value = try decoding { () throws(FormatError) in
            try page.cursor(index).finish()
            return try ForgottenValue(key: key.span, clock: check.clock, floor: check.floor, at: page.offset)
        }
        try check.check(value, at: page.offset)
        return value
    }
}
