/// The layout of an opened record's body (section 5.1). The bytes are secret and are kept in memory that is wiped after
/// use.
package struct RecordLayout: Sendable {
    package enum Form: UInt8, Sendable {
        case item = 0
        case attribute = 1
    }

    package enum Content: Sendable {
        case item(secret: Range<Int>, attributes: [RecordAttributes.Entry])
        case attribute(name: Range<Int>, flags: AttributeFlags, value: Range<Int>)
    }

    package let key: Range<Int>
    package let content: Content

    /// Checks the form, the content and the padding.
    package init(_ bytes: Span<UInt8>, _ form: Form, at offset: UInt64) throws(FormatError) {
        var cursor = Cursor(bytes, at: offset, else: .structureInvalid)
        guard Padding.isStep(bytes.count) else { throw cursor.error("a record's length is not an allowed size") }
        guard try cursor.u8(bytes) == form.rawValue else {
            throw FormatError(.unsupportedForm, "a record's form does not match its reference", at: offset)
        }
        key = try cursor.slice(try cursor.count(bytes, most: Format.Limit.itemKey, "an item key"), "an item key")
        content =
            switch form {
            case .item: try RecordLayout.item(bytes, &cursor)
            case .attribute: try RecordLayout.attribute(bytes, &cursor)
            }
        try cursor.padding(bytes, to: bytes.count)
    }

    /// Returns the form stated in a body, or nil if the form is unknown or the body is empty.
    package static func form(_ bytes: Span<UInt8>) -> Form? { bytes.isEmpty ? nil : Form(rawValue: bytes[0]) }

    private static func item(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Content {
        let size = try cursor.count(bytes, most: Format.Limit.secret, "a secret")
        let secret = try cursor.slice(size, "a secret")
        return .item(secret: secret, attributes: try RecordAttributes.decode(bytes, &cursor))
    }

    private static func attribute(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> Content {
        let flags = AttributeFlags(rawValue: try cursor.u8(bytes))
        guard flags == flags.meaning.union(.inOwnRecord) else {
            throw cursor.error("an attribute's record has unknown flags")
        }
        let length = Int(try cursor.u8(bytes))
        guard length >= 1 else { throw cursor.error("an attribute has no name") }
        let name = try cursor.slice(length, "an attribute's name")
        try cursor.checkText(bytes, name)
        let size = try cursor.count(bytes, most: Format.Limit.attributeValue, "an attribute's value")
        guard size > Format.Limit.attributeInItemRecord else {
            throw cursor.error("an attribute of \(size) bytes is in the wrong place")
        }
        return .attribute(name: name, flags: flags, value: try cursor.slice(size, "an attribute's value"))
    }

    /// Returns the padded size of an item record's body; `attributes` is the size of the record's encoded attribute
    /// list.
    package static func itemBodySize(key: Int, secret: Int, attributes: Int) -> Int {
        Padding.record(1 + VarintSize.of(key) + key + VarintSize.of(secret) + secret + attributes)
    }

    /// Returns the padded size of an attribute record's body.
    package static func attributeBodySize(key: Int, name: Int, value: Int) -> Int {
        Padding.record(1 + VarintSize.of(key) + key + 2 + name + VarintSize.of(value) + value)
    }
}
