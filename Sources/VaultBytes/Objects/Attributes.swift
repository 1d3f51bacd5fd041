/// The properties of an attribute and the storage location of its value (section 6.2).
package struct AttributeFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value is protected in the same way as the item's secret.
    package static let sealed = AttributeFlags(rawValue: 0x01)
    /// The value is shown only on request.
    package static let concealed = AttributeFlags(rawValue: 0x02)
    /// The value is not text.
    package static let binary = AttributeFlags(rawValue: 0x04)
    /// The value is stored in the item's record.
    package static let inItemRecord = AttributeFlags(rawValue: 0x10)
    /// The value is stored in a separate record.
    package static let inOwnRecord = AttributeFlags(rawValue: 0x20)

    private static let places: AttributeFlags = [.inItemRecord, .inOwnRecord]

    /// The attribute's properties, without the storage location.
    package var meaning: AttributeFlags { intersection([.sealed, .concealed, .binary]) }

    /// Returns the flags for a value of `size` bytes. determines the location.
    package func placed(size: Int) -> AttributeFlags {
        if size > Format.Limit.attributeInItemRecord { return meaning.union(.inOwnRecord) }
        return contains(.sealed) || size > Format.Limit.attributeInPage ? meaning.union(.inItemRecord) : meaning
    }

    var isPossible: Bool {
        isSubset(of: [.sealed, .concealed, .binary, .inItemRecord, .inOwnRecord])
            && !isSuperset(of: AttributeFlags.places)
    }
}

/// An attribute as stored in a page or a past frame.
package struct PageAttribute: Equatable, Sendable {
    package enum Value: Equatable, Sendable {
        case inPage([UInt8])
        case inItemRecord
        case inOwnRecord(RecordRef)
    }

    package let name: String
    package let flags: AttributeFlags
    package let value: Value

    package init(name: String, flags: AttributeFlags, value: Value) {
        self.name = name
        self.flags = flags
        self.value = value
    }

    /// The record that contains the value, if the value is large.
    package var record: RecordRef? {
        if case .inOwnRecord(let record) = value { record } else { nil }
    }

    /// Names are compared as bytes, because Swift compares strings by canonical equivalence.
    package static func == (left: PageAttribute, right: PageAttribute) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.flags == right.flags && left.value == right.value
    }
}

/// An attribute with its value, either from an item's record or from a caller.
package struct AttributeValue: Equatable, Sendable {
    package let name: String
    package let flags: AttributeFlags
    package let value: [UInt8]

    package init(name: String, flags: AttributeFlags, value: [UInt8]) {
        self.name = name
        self.flags = flags
        self.value = value
    }

    /// Names are compared as bytes, because Swift compares strings by canonical equivalence.
    package static func == (left: AttributeValue, right: AttributeValue) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.flags == right.flags && left.value == right.value
    }
}

/// The list of attributes in a page or a past frame.
package enum PageAttributes {
    /// One attribute, described by the ranges of its parts.
    package struct Entry: Sendable {
        package let name: Range<Int>
        package let flags: AttributeFlags
        /// The value of an attribute stored in the page; empty otherwise.
        package let value: Range<Int>
        package let record: RecordRef?
    }

    package static func encode(_ attributes: some Collection<PageAttribute>, into out: inout [UInt8]) {
        out.append(varint: UInt64(attributes.count))
        for attribute in attributes {
            out.append(attribute.flags.rawValue)
            out.append(UInt8(attribute.name.utf8.count))
            out.append(contentsOf: attribute.name.utf8)
            switch attribute.value {
            case .inPage(let value):
                out.append(varint: UInt64(value.count))
                out.append(contentsOf: value)
            case .inItemRecord: break
            case .inOwnRecord(let own): own.encode(into: &out)
            }
        }
    }

    package static func decode(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> [PageAttribute] {
        var all: [PageAttribute] = []
        let start = cursor
        try walk(bytes, &cursor) { entry throws(FormatError) in
            let value: PageAttribute.Value =
                if let record = entry.record {
                    .inOwnRecord(record)
                } else if entry.flags.contains(.inItemRecord) {
                    .inItemRecord
                } else {
                    .inPage(start.copy(bytes, entry.value))
                }
            all.append(PageAttribute(name: try start.text(bytes, entry.name), flags: entry.flags, value: value))
        }
        return all
    }

    /// Checks a list without storing it, and moves the cursor past the list.
    package static func skip(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let start = cursor
        try walk(bytes, &cursor) { entry throws(FormatError) in try start.checkText(bytes, entry.name) }
    }

    /// Checks, the part of that needs only the page, and the ranges of revisions and compartments.
    package static func walk(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ body: (Entry) throws(FormatError) -> Void
    ) throws(FormatError) {
        let count = try cursor.count(bytes, most: Format.Limit.attributes, "attributes")
        var last: Range<Int>?
        for _ in 0..<count {
            let flags = AttributeFlags(rawValue: try cursor.u8(bytes))
            guard flags.isPossible else { throw cursor.error("an attribute has unknown flags") }
            let name = try readAttributeName(bytes, &cursor, after: last)
            last = name
            var value = 0..<0
            var record: RecordRef?
            if flags.contains(.inOwnRecord) {
                record = try RecordRef(bytes, &cursor)
            } else if !flags.contains(.inItemRecord) {
                guard !flags.contains(.sealed) else { throw cursor.error("a page contains a sealed attribute") }
                let size = try cursor.count(bytes, most: Format.Limit.attributeInPage, "an attribute's value")
                value = try cursor.slice(size, "an attribute's value")
            }
            try body(Entry(name: name, flags: flags, value: value, record: record))
        }
    }
}

/// The list of attributes in an item's record. The bytes are secret and are kept in memory that is wiped after use.
package enum RecordAttributes {
    /// One attribute, described by the ranges of its parts.
    package struct Entry: Sendable {
        package let name: Range<Int>
        package let flags: AttributeFlags
        package let value: Range<Int>
    }

    /// Appends the count that precedes the attributes.
    package static func encode(count: Int, into out: inout [UInt8]) { out.append(varint: UInt64(count)) }

    /// Encodes the part of an attribute before its value.
    package static func head(name: String, flags: AttributeFlags, valueSize: Int) -> [UInt8] {
        var out: [UInt8] = [flags.rawValue, UInt8(name.utf8.count)]
        out.append(contentsOf: name.utf8)
        out.append(varint: UInt64(valueSize))
        return out
    }

    /// Checks.
    package static func decode(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> [Entry] {
        let count = try cursor.count(bytes, most: Format.Limit.attributes, "attributes")
        var all: [Entry] = []
        for _ in 0..<count {
            let flags = AttributeFlags(rawValue: try cursor.u8(bytes))
            guard flags.isPossible, flags.contains(.inItemRecord) else {
                throw cursor.error("an attribute in a record has unknown flags")
            }
            let name = try readAttributeName(bytes, &cursor, after: all.last?.name)
            try cursor.checkText(bytes, name)
            let size = try cursor.count(bytes, most: Format.Limit.attributeInItemRecord, "an attribute's value")
            guard flags.contains(.sealed) || size > Format.Limit.attributeInPage else {
                throw cursor.error("an attribute of \(size) bytes is in the wrong place")
            }
            all.append(Entry(name: name, flags: flags, value: try cursor.slice(size, "an attribute's value")))
        }
        return all
    }
}

/// Reads a name, which must be greater than the preceding name.
func readAttributeName(
    _ bytes: Span<UInt8>, _ cursor: inout Cursor, after last: Range<Int>?
) throws(FormatError) -> Range<Int> {
    let length = Int(try cursor.u8(bytes))
    guard length >= 1 else { throw cursor.error("an attribute has no name") }
    let name = try cursor.slice(length, "an attribute's name")
    if let last, ByteOrder.compare(bytes, last, bytes, name) >= 0 { throw cursor.error("attributes are out of order") }
    return name
}
