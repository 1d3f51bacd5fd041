/// A named value that this version of the format does not define (section 3.3).
package struct Extension: Equatable, Sendable {
    package let name: String
    /// True if a reader that does not know the extension must refuse the file.
    package let isCritical: Bool
    /// True if a writer that does not know the extension must not change the file.
    package let isReadOnly: Bool
    package let value: [UInt8]

    package init(name: String, isCritical: Bool, isReadOnly: Bool = false, value: [UInt8]) {
        self.name = name
        self.isCritical = isCritical
        self.isReadOnly = isReadOnly
        self.value = value
    }

    package var flags: UInt8 { (isCritical ? 1 : 0) | (isReadOnly ? 2 : 0) }

    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let flags = try cursor.u8(bytes)
        guard flags <= 3 else { throw cursor.error("an extension has unknown flags") }
        let length = Int(try cursor.u8(bytes))
        guard (1...Format.Limit.extensionName).contains(length) else {
            throw cursor.error("an extension's name has \(length) bytes")
        }
        let range = try cursor.slice(length, "an extension's name")
        for index in range {
            guard (33...126).contains(bytes[index]) else {
                throw cursor.error("an extension's name contains a byte that is not printable ASCII")
            }
        }
        name = try cursor.text(bytes, range)
        isCritical = flags & 1 != 0
        isReadOnly = flags & 2 != 0
        let size = Int(try cursor.u16(bytes))
        guard size <= Format.Limit.extensionValue else { throw cursor.error("an extension's value has \(size) bytes") }
        value = cursor.copy(bytes, try cursor.slice(size, "an extension's value"))
    }

    package func encode(into out: inout [UInt8]) {
        out.append(flags)
        out.append(UInt8(name.utf8.count))
        out.append(contentsOf: name.utf8)
        out.append(u16: UInt16(value.count))
        out.append(contentsOf: value)
    }

    /// Reads `count` extensions in strictly ascending order of name.
    package static func list(_ bytes: Span<UInt8>, _ cursor: inout Cursor, count: Int) throws(FormatError)
        -> [Extension]
    {
        var all: [Extension] = []
        for _ in 0..<count {
            let start = cursor
            let one = try Extension(bytes, &cursor)
            if let last = all.last, Array(last.name.utf8).span.order(Array(one.name.utf8).span) >= 0 {
                throw start.error("extensions are out of order")
            }
            all.append(one)
        }
        return all
    }

    /// Refuses any critical extension, because this version does not support any. This is called after all
    /// other checks of the structure have passed.
    package static func refuseUnknownCritical(_ extensions: [Extension], at offset: UInt64) throws(FormatError) {
        guard let unknown = extensions.first(where: \.isCritical) else { return }
        throw FormatError(
            .unsupportedCritical,
            "the vault needs the extension \"\(unknown.name)\", which this version does not support",
            at: offset)
    }
}

extension Span where Element == UInt8 {
    /// Compares the bytes lexicographically: the result is negative, zero or positive.
    package func order(_ other: Span<UInt8>) -> Int { ByteOrder.compare(self, other) }
}
