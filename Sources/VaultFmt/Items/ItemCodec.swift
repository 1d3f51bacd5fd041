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
        /// The number of bytes in the entry before its attributes.
        let entrySize: Int
        /// The range of the attributes in the page or value.
        let attributes: Range<Int>

        /// The number of the item's earlier values.
        var versions: Int { entry.versions?.count ?? 0 }
    }

    static func encode(_ entry: ItemEntry, _ attributes: [PageAttribute]) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(160)
        entry.encode(into: &out)
        PageAttributes.encode(attributes, into: &out)
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
        let entry = try ItemEntry(bytes, &cursor)
        let size = cursor.position - start.position
        let attributes = cursor.position
        var large: [RecordRef] = []
        var inRecord = 0
        try PageAttributes.walk(bytes, &cursor) { attribute throws(FormatError) in
            try start.checkText(bytes, attribute.name)
            if let record = attribute.record { large.append(record) }
            if attribute.flags.contains(.inItemRecord) { inRecord += 1 }
        }
        try cursor.finish()
        return Decoded(
            entry: entry, largeRecords: large, inRecord: inRecord, entrySize: size,
            attributes: attributes..<cursor.position)
    }

    /// Returns the item with a key that the caller supplies; its value is in a page.
    static func item(_ key: ItemKey, _ page: Page, _ index: Int, _ check: EntryCheck) throws(VaultError) -> Item {
        let decoded = try decode(page, index)
        return try item(key, decoded, .inPage(page, decoded.attributes), check, at: page.offset)
    }

    /// Returns the item with a key that the caller supplies; its value is not in a page yet.
    static func item(_ key: ItemKey, _ value: [UInt8], _ check: EntryCheck, before page: UInt64) throws(VaultError)
        -> Item
    {
        let decoded = try decode(value, at: page)
        return try item(key, decoded, .encoded(Array(value[decoded.attributes])), check, at: page)
    }

    private static func item(
        _ key: ItemKey, _ decoded: Decoded, _ attributes: ItemAttributes, _ check: EntryCheck, at offset: UInt64
    ) throws(VaultError) -> Item {
        var check = check
        let compartment = try check.check(decoded, key.bytes.span, key.groupRange, at: offset)
        return Item(decoded, compartment, .apart(key, attributes), referrer: offset)
    }

    /// Returns the item of a page's entry; the entry's key was copied into `key`.
    static func item(
        _ page: Page, _ index: Int, key: Span<UInt8>, _ check: inout EntryCheck
    ) throws(VaultError) -> Item {
        let group: Range<Int>
        do throws(FormatError) { group = try ItemKey.check(key) } catch { throw VaultError(format: error) }
        let decoded = try decode(page, index)
        let compartment = try check.check(decoded, key, group, at: page.offset)
        let place = ItemPlace(index: index, groupStart: group.lowerBound, attributes: decoded.attributes)
        return Item(decoded, compartment, .inPage(page, place), referrer: page.offset)
    }
}

/// Leaf values of removed items (specification, section 6.5).
enum TombstoneCodec {
    /// Decodes a tombstone and checks it.
    static func decode(_ page: Page, _ index: Int, _ check: EntryCheck) throws(VaultError) -> (
        item: Bytes16, entry: TombstoneEntry
    ) {
        let bytes = page.bytes
        let entry = try decoding { () throws(FormatError) in
            var cursor = page.cursor(index)
            return try TombstoneEntry(bytes.span, &cursor)
        }
        let key = page.key(index)
        guard key.first == Format.tombstoneTag, let item = Bytes16(Array(key.dropFirst())) else {
            throw VaultError(.structureInvalid, "a tombstone's key is not an id", at: page.offset)
        }
        try check.check(entry, at: page.offset)
        return (item, entry)
    }
}
