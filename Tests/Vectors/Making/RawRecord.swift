internal import TestSupport
internal import VaultBytes

/// The body of an item's record, in parts that can be changed one by one (section 5.1).
struct RawRecord {
    var form: UInt8 = 0
    var key: [UInt8]
    var secret: [UInt8]
    /// The encoded list of attributes.
    var attributes: [UInt8]
    /// The padded length; nil for the least step.
    var step: Int?

    init(_ body: [UInt8]) throws {
        let layout = try RecordLayout(body.span, .item, at: 0)
        guard case .item(let secret, let attributes) = layout.content else { throw ForgeError("not an item's record") }
        key = Array(body[layout.key])
        self.secret = Array(body[secret])
        let end = attributes.last?.value.upperBound ?? secret.upperBound + 1
        self.attributes = Array(body[secret.upperBound..<end])
    }

    func encoded() -> [UInt8] {
        var out: [UInt8] = [form]
        out.append(varint: UInt64(key.count))
        out += key
        out.append(varint: UInt64(secret.count))
        out += secret + attributes
        out.append(zeros: max((step ?? Padding.record(out.count)) - out.count, 0))
        return out
    }
}

extension Forge {
    /// Changes an item's record, which then has the least step.
    mutating func onRecord(_ id: ForgedObject.ID, _ edit: @escaping (inout RawRecord) throws -> Void) throws {
        onBody(id) { body, _ in
            var record = try RawRecord(body)
            try edit(&record)
            body = record.encoded()
        }
    }
}
