/// A list of names and values (section 6.2), in a page or in a record.
package enum AttributeList {
    /// Names that start so are sealed with the secret, however short the value.
    package static let sealedPrefix = Array("sealed:".utf8)

    package enum Place: Sendable {
        case inPage
        case inRecord
    }

    package struct Entry: Equatable, Sendable {
        package let name: String
        package let value: [UInt8]

        package init(name: String, value: [UInt8]) {
            self.name = name
            self.value = value
        }

        /// whether it is sealed with the secret.
        package var isInRecord: Bool {
            value.count > Format.Limit.attributeInPage || name.utf8.starts(with: AttributeList.sealedPrefix)
        }

        /// Names are bytes: Swift's comparison of strings would take canonically equivalent ones for one.
        package static func == (left: Entry, right: Entry) -> Bool {
            left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
        }
    }

    package static func encode(_ entries: some Collection<Entry>, into out: inout [UInt8]) {
        out.append(varint: UInt64(entries.count))
        for entry in entries {
            out.append(UInt8(entry.name.utf8.count))
            out.append(contentsOf: entry.name.utf8)
            out.append(varint: UInt64(entry.value.count))
            out.append(contentsOf: entry.value)
        }
    }

    package static func decode(_ bytes: Span<UInt8>, _ cursor: inout Cursor, _ place: Place) throws(FormatError) -> [Entry] {
        var all: [Entry] = []
        let start = cursor
        _ = try walk(bytes, &cursor, place) { name, value throws(FormatError) in
            all.append(Entry(name: try start.text(bytes, name), value: start.copy(bytes, value)))
        }
        return all
    }

    /// Checks a list without keeping it; says how many it has.
    @discardableResult
    package static func skip(_ bytes: Span<UInt8>, _ cursor: inout Cursor, _ place: Place) throws(FormatError) -> Int {
        let start = cursor
        return try walk(bytes, &cursor, place) { name, _ throws(FormatError) in try start.checkText(bytes, name) }
    }

    private static func isSealed(_ bytes: Span<UInt8>, _ name: Range<Int>) -> Bool {
        guard name.count >= sealedPrefix.count else { return false }
        for index in sealedPrefix.indices where bytes[name.lowerBound + index] != sealedPrefix[index] { return false }
        return true
    }

    /// order, sizes, and that a value stands where its size and name say.
    private static func walk(
        _ bytes: Span<UInt8>, _ cursor: inout Cursor, _ place: Place, _ body: (Range<Int>, Range<Int>) throws(FormatError) -> Void
    ) throws(FormatError) -> Int {
        let count = try cursor.count(bytes, most: Format.Limit.attributes, "attributes")
        var last: Range<Int>?
        var room = Format.Limit.attributeBytes
        for _ in 0..<count {
            let length = Int(try cursor.u8(bytes))
            guard length >= 1 else { throw cursor.error("an attribute without a name") }
            let name = try cursor.take(length, "an attribute's name")
            if let last, ByteOrder.compare(bytes, last, bytes, name) >= 0 { throw cursor.error("attributes are out of order") }
            last = name
            let size = try cursor.count(bytes, most: room, "an attribute's value")
            room -= size
            let isOfRecord = size > Format.Limit.attributeInPage || isSealed(bytes, name)
            guard isOfRecord == (place == .inRecord) else {
                throw cursor.error("an attribute of \(size) bytes stands in the wrong place")
            }
            try body(name, try cursor.take(size, "an attribute's value"))
        }
        return count
    }
}
