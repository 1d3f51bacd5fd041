/// What an attribute is, and where its value is (section 6.2).
package struct AttributeFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// As secret as the item's secret.
    package static let sealed = AttributeFlags(rawValue: 0x01)
    /// Shown only when asked for.
    package static let concealed = AttributeFlags(rawValue: 0x02)
    /// Not text.
    package static let binary = AttributeFlags(rawValue: 0x04)
    /// The value is in the item's record.
    package static let inItemRecord = AttributeFlags(rawValue: 0x10)
    /// The value is in a record of its own.
    package static let inOwnRecord = AttributeFlags(rawValue: 0x20)

    private static let places: AttributeFlags = [.inItemRecord, .inOwnRecord]

    /// What it is, without where it is.
    package var meaning: AttributeFlags { intersection([.sealed, .concealed, .binary]) }

    /// The flags of a value of `size` bytes: leaves no choice of place.
    package func placed(size: Int) -> AttributeFlags {
        if size > Format.Limit.attributeInItemRecord { return meaning.union(.inOwnRecord) }
        return contains(.sealed) || size > Format.Limit.attributeInPage ? meaning.union(.inItemRecord) : meaning
    }

    fileprivate var isPossible: Bool {
        isSubset(of: [.sealed, .concealed, .binary, .inItemRecord, .inOwnRecord])
            && !isSuperset(of: AttributeFlags.places)
    }
}

/// An attribute as a page or a versions frame has it.
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

    /// The record of the value, if it is large.
    package var record: RecordRef? {
        if case .inOwnRecord(let record) = value { record } else { nil }
    }

    /// Names are bytes: Swift compares strings by canonical equivalence.
    package static func == (left: PageAttribute, right: PageAttribute) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.flags == right.flags && left.value == right.value
    }
}

/// An attribute with a value at hand: in an item's record, or of a caller.
package struct AttributeValue: Equatable, Sendable {
    package let name: String
    package let flags: AttributeFlags
    package let value: [UInt8]

    package init(name: String, flags: AttributeFlags, value: [UInt8]) {
        self.name = name
        self.flags = flags
        self.value = value
    }

    /// Names are bytes: Swift compares strings by canonical equivalence.
    package static func == (left: AttributeValue, right: AttributeValue) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.flags == right.flags && left.value == right.value
    }
}

/// The list of attributes in a page or a versions frame.
package enum PageAttributes {
    /// One attribute, by where its parts are.
    package struct Entry: Sendable {
        package let name: Range<Int>
        package let flags: AttributeFlags
        /// The value of an attribute in the page; empty otherwise.
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
            case .inOwnRecord(let own):
                own.record.encode(into: &out)
                out.append(u64: own.revision)
                out.append(u64: own.compartment)
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

    /// Checks a list without keeping it; the cursor is behind it then.
    package static func skip(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let start = cursor
        try walk(bytes, &cursor) { entry throws(FormatError) in try start.checkText(bytes, entry.name) }
    }

    /// Checks R-6.3 (as far as a page shows it) and, and that revisions and compartments are in range.
    package static func walk(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ body: (Entry) throws(FormatError) -> Void
    ) throws(FormatError) {
        let count = try cursor.count(bytes, most: Format.Limit.attributes, "attributes")
        var last: Range<Int>?
        for _ in 0..<count {
            let flags = AttributeFlags(rawValue: try cursor.u8(bytes))
            guard flags.isPossible else { throw cursor.error("an attribute has unknown flags") }
            let name = try attributeName(bytes, &cursor, after: last)
            last = name
            var value = 0..<0
            var record: RecordRef?
            if flags.contains(.inOwnRecord) {
                record = RecordRef(
                    record: try ObjectRef(bytes, &cursor), revision: try cursor.number(bytes, "a record's revision"),
                    compartment: try cursor.number(bytes, "a compartment's number"))
            } else if !flags.contains(.inItemRecord) {
                guard !flags.contains(.sealed) else { throw cursor.error("a sealed attribute in a page") }
                let size = try cursor.count(bytes, most: Format.Limit.attributeInPage, "an attribute's value")
                value = try cursor.slice(size, "an attribute's value")
            }
            try body(Entry(name: name, flags: flags, value: value, record: record))
        }
    }
}

/// The list of attributes in an item's record. The bytes are a secret and stay in wiped memory.
package enum RecordAttributes {
    /// One attribute, by where its parts are.
    package struct Entry: Sendable {
        package let name: Range<Int>
        package let flags: AttributeFlags
        package let value: Range<Int>
    }

    /// Appends the count, before the attributes.
    package static func encode(count: Int, into out: inout [UInt8]) { out.append(varint: UInt64(count)) }

    /// What comes before an attribute's value.
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
            let name = try attributeName(bytes, &cursor, after: all.last?.name)
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

/// A name, which comes after the one before it.
private func attributeName(
    _ bytes: Span<UInt8>, _ cursor: inout Cursor, after last: Range<Int>?
) throws(FormatError) -> Range<Int> {
    let length = Int(try cursor.u8(bytes))
    guard length >= 1 else { throw cursor.error("an attribute without a name") }
    let name = try cursor.slice(length, "an attribute's name")
    if let last, ByteOrder.compare(bytes, last, bytes, name) >= 0 { throw cursor.error("attributes are out of order") }
    return name
}
