package import VaultBytes
package import VaultStore

/// Leaf values of items.
enum ItemCodec {
    struct Decoded {
        let entry: ItemEntry
        let largeAttributes: Int
        /// How many bytes the entry takes, before its attributes.
        let entrySize: Int
        /// Where the attributes that stand in the page are in it, or in the value.
        let attributes: Range<Int>
    }

    static func encode(_ entry: ItemEntry, _ attributes: Attributes) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(160)
        entry.encode(into: &out)
        out.append(varint: UInt64(attributes.inRecord.count))
        AttributeList.encode(attributes.inPage, into: &out)
        return out
    }

    /// `page` is the offset of the page that holds the value.
    static func decode(_ value: [UInt8], page: UInt64) throws(VaultError) -> Decoded {
        try decoding { () throws(FormatError) in try decode(value.span, Cursor(value.span, at: page, else: .structureInvalid), page: page) }
    }

    static func decode(_ page: Page, _ index: Int) throws(VaultError) -> Decoded {
        let bytes = page.bytes
        do throws(FormatError) { return try decode(bytes.span, page.cursor(index), page: page.offset) } catch {
            throw VaultError(format: error)
        }
    }

    private static func decode(_ bytes: Span<UInt8>, _ start: Cursor, page: UInt64) throws(FormatError) -> Decoded {
        var cursor = start
        let entry = try ItemEntry(bytes, &cursor, page: page)
        let size = cursor.position - start.position
        let large = try cursor.count(bytes, most: Format.Limit.attributes, "large attributes")
        let attributes = cursor.position
        let count = try AttributeList.skip(bytes, &cursor, .inPage)
        guard count + large <= Format.Limit.attributes else { throw cursor.limit("an item's attributes") }
        try cursor.finish()
        return Decoded(entry: entry, largeAttributes: large, entrySize: size, attributes: attributes..<cursor.position)
    }

    /// The item of a key that the caller has, whose value is a page's.
    static func item(_ key: ItemKey, _ page: Page, _ index: Int, _ view: KeyringView) throws(VaultError) -> Item {
        let decoded = try decode(page, index)
        return try item(key, decoded, .inPage(page, decoded.attributes), view, at: page.offset)
    }

    /// The item of a key that the caller has, whose value is in no page yet.
    static func item(_ key: ItemKey, _ value: [UInt8], _ view: KeyringView, before page: UInt64) throws(VaultError) -> Item {
        let decoded = try decode(value, page: page)
        return try item(key, decoded, .encoded(Array(value[decoded.attributes])), view, at: page)
    }

    private static func item(
        _ key: ItemKey, _ decoded: Decoded, _ attributes: ItemAttributes, _ view: KeyringView, at offset: UInt64
    ) throws(VaultError) -> Item {
        var lookup = CompartmentLookup(view)
        let compartment = try lookup.compartment(of: decoded.entry, key.bytes.span, key.groupRange, at: offset)
        try checkDevice(decoded.entry, view, at: offset)
        return Item(decoded, compartment, .apart(key, attributes))
    }

    /// The item of a page's entry, whose key was copied into `key`.
    static func item(
        _ page: Page, _ index: Int, key: Span<UInt8>, _ lookup: inout CompartmentLookup
    ) throws(VaultError) -> Item {
        let group: Range<Int>
        do throws(FormatError) { group = try ItemKey.check(key) } catch { throw VaultError(format: error) }
        let decoded = try decode(page, index)
        let compartment = try lookup.compartment(of: decoded.entry, key, group, at: page.offset)
        try checkDevice(decoded.entry, lookup.view, at: page.offset)
        let place = ItemPlace(index: index, groupStart: group.lowerBound, attributes: decoded.attributes)
        return Item(decoded, compartment, .inPage(page, place))
    }

    private static func checkDevice(_ entry: ItemEntry, _ view: KeyringView, at offset: UInt64) throws(VaultError) {
        guard entry.device <= view.keyring.devices.count else {
            throw VaultError(.structureInvalid, "an item's device does not exist", at: offset)
        }
    }
}

/// Leaf values of removed items (specification, section 6.4).
package enum TombstoneCodec {
    ///
    package static func decode(_ page: Page, _ index: Int, _ keyring: Keyring) throws(VaultError) -> TombstoneEntry {
        let bytes = page.bytes
        let entry = try decoding { () throws(FormatError) in
            var cursor = page.cursor(index)
            return try TombstoneEntry(bytes.span, &cursor)
        }
        let key = page.key(index)
        guard key.first == Format.tombstoneTag, key.count == 1 + Format.idSize, entry.device <= keyring.devices.count else {
            throw VaultError(.structureInvalid, "a tombstone's key or device is not possible", at: page.offset)
        }
        return entry
    }
}
