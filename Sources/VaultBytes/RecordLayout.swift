/// Where the parts of an opened record body are (section 5.1). The bytes are a secret and stay in wiped memory.
package struct RecordLayout: Sendable {
    package let key: Range<Int>
    package let secret: Range<Int>
    package let attributes: Range<Int>

    package init(_ bytes: Span<UInt8>, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        let keyLength = try cursor.count(bytes, most: Format.Limit.itemKey, "an item key")
        key = try cursor.take(keyLength, "an item key")
        let secretLength = try cursor.count(bytes, most: Format.Limit.secret, "a secret")
        secret = try cursor.take(secretLength, "a secret")
        let start = cursor.position
        try AttributeList.skip(bytes, &cursor, .inRecord)
        attributes = start..<cursor.position
        guard bytes.count == Padding.record(cursor.position) else {
            throw cursor.error("a record is longer than it needs to be")
        }
        try cursor.padding(bytes, to: bytes.count)
    }

    /// The padded body's size for parts of these sizes; `attributes` is an encoded list.
    package static func bodySize(key: Int, secret: Int, attributes: Int) -> Int {
        Padding.record(VarintSize.of(key) + key + VarintSize.of(secret) + secret + attributes)
    }
}
