/// A named value that this version of the format does not define (section 3.2).
package struct Extension: Equatable, Sendable {
    package let name: String
    package let isCritical: Bool
    package let value: [UInt8]

    package init(name: String, isCritical: Bool, value: [UInt8]) {
        self.name = name
        self.isCritical = isCritical
        self.value = value
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let flags = try cursor.u8(bytes)
        guard flags <= 1 else { throw cursor.error("an extension has unknown flags") }
        let length = Int(try cursor.u8(bytes))
        guard length >= 1 else { throw cursor.error("an extension without a name") }
        guard length <= Format.Limit.extensionName else { throw cursor.limit("an extension's name has \(length) bytes") }
        let range = try cursor.take(length, "an extension's name")
        for index in range {
            guard (33...126).contains(bytes[index]) else {
                throw cursor.error("an extension's name has a byte that is not printable ASCII")
            }
        }
        name = try cursor.text(bytes, range)
        isCritical = flags == 1
        let size = Int(try cursor.u16(bytes))
        guard size <= Format.Limit.extensionValue else { throw cursor.limit("an extension's value has \(size) bytes") }
        value = cursor.copy(bytes, try cursor.take(size, "an extension's value"))
    }

    package func encode(into out: inout [UInt8]) {
        out.append(isCritical ? 1 : 0)
        out.append(UInt8(name.utf8.count))
        out.append(contentsOf: name.utf8)
        out.append(u16: UInt16(value.count))
        out.append(contentsOf: value)
    }

    /// A list of `count` in strictly ascending order of names; a critical one is refused, as none is known.
    package static func list(_ bytes: Span<UInt8>, _ cursor: inout Cursor, count: Int) throws(FormatError) -> [Extension] {
        var all: [Extension] = []
        for _ in 0..<count {
            let start = cursor
            let one = try Extension(bytes, &cursor)
            if let last = all.last, Array(last.name.utf8).span.order(Array(one.name.utf8).span) >= 0 {
                throw start.error("extensions are out of order")
            }
            all.append(one)
        }
        if let unknown = all.first(where: \.isCritical) {
            let at = cursor.error("").offset
            throw FormatError(.unsupportedCritical, "needs the extension \"\(unknown.name)\", which this version does not know", at: at)
        }
        return all
    }
}

extension Span where Element == UInt8 {
    /// Negative, zero or positive, as the bytes compare.
    package func order(_ other: Span<UInt8>) -> Int { ByteOrder.compare(self, other) }
}
