internal import TestSupport
internal import VaultBytes

/// An item's record, opened and compared with what refers to it.
struct SpecRecord {
    /// What a reference to a record expects of it.
    struct Use {
        let hasSecret: Bool
        /// Whether the record can hold more than what refers to it lists.
        let mayHaveMore: Bool
    }

    private(set) var secret: [UInt8] = []
    private(set) var values: [[UInt8]: [UInt8]] = [:]
    private(set) var flags: [[UInt8]: AttributeFlags] = [:]

    /// Of an item that has no record.
    init() {}

    /// Reads a record of form 0.
    init(_ body: [UInt8]) throws(Refusal) {
        let layout = try SpecRecord.layout(body, .item)
        guard case .item(let secret, let held) = layout.content else { throw Refusal(.unsupportedForm) }
        self.secret = Array(body[secret])
        for one in held {
            values[Array(body[one.name])] = Array(body[one.value])
            flags[Array(body[one.name])] = one.flags
        }
    }

    init(_ body: [UInt8], _ attributes: [PageAttribute], _ use: Use) throws(Refusal) {
        try self.init(body)
        try Refusal.unless(use.hasSecret || use.mayHaveMore || secret.isEmpty)
        let expected = attributes.filter { $0.flags.contains(.inItemRecord) }
        for one in expected { try Refusal.unless(flags[Array(one.name.utf8)] == one.flags) }
        try Refusal.unless(use.mayHaveMore || flags.count == expected.count)
    }

    /// What all records share: a known form that the reference does not call for is malformed, and a key is one (R-5.3,
    ///
    private static func layout(_ body: [UInt8], _ form: RecordLayout.Form) throws(Refusal) -> RecordLayout {
        if Padding.isStep(body.count), let other = RecordLayout.form(body.span), other != form {
            throw Refusal(.structureInvalid)
        }
        let layout = try Refusal.of { () throws(FormatError) in try RecordLayout(body.span, form, at: 0) }
        _ = try SpecKey.group(Array(body[layout.key]))
        return layout
    }

    /// The value of a large attribute.
    static func large(_ body: [UInt8], _ name: [UInt8], _ flags: AttributeFlags) throws(Refusal) -> [UInt8] {
        let layout = try SpecRecord.layout(body, .attribute)
        guard case .attribute(let held, let other, let value) = layout.content else { throw Refusal(.unsupportedForm) }
        try Refusal.unless(Array(body[held]) == name && other == flags)
        return Array(body[value])
    }
}
