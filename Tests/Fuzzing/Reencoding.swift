internal import TestSupport
internal import VaultBytes
internal import VaultFmt

/// What decodes must re-encode to the same bytes (specification, section 1): for the header, and for the body of every
/// object that opens.
enum Reencoding {
    /// Checks all of a file that a full slot for this raw key opens. What does not decode is none of its business.
    static func check(_ bytes: [UInt8], rawKey: [UInt8]) throws(Mismatch) {
        guard bytes.count >= 16, let length = attempt({ () throws(FormatError) in try Header.length(bytes.span) }),
            2 * length <= bytes.count
        else { return }
        let region = Array(bytes[..<length])
        guard let header = attempt({ () throws(FormatError) in try Header(region.span) }) else { return }
        var copy = header
        let covered = region.dropLast(Format.headerProofSize)
        guard let encoded = attempt({ () throws(FormatError) in try copy.encodeWithoutProof() }),
            encoded.elementsEqual(covered)
        else { throw Mismatch("a header that decodes has another encoding") }
        let forge: Forge
        do { forge = try Forge(bytes, .rawKey(rawKey), devices: FuzzKeys.devices) } catch { return }
        for object in forge.objects where object.opaque == nil { try check(object, from: header.bodyStart) }
    }

    private static func check(_ object: ForgedObject, from bodyStart: UInt64) throws(Mismatch) {
        let (body, offset) = (object.body, object.origin ?? 0)
        switch object.type {
        case .record: try check(record: body)
        case .chunk: return
        case .page: try checkPage(body, at: offset)
        case .past:
            guard let past = attempt({ () throws(FormatError) in try Past(body.span, at: offset) }) else { return }
            let encoded = attempt { () throws(FormatError) in try past.encode() }
            try Mismatch.require(encoded == body, "a past that decodes has another encoding")
        case .keyring:
            guard let keyring = attempt({ () throws(FormatError) in try Keyring(body.span, at: offset) }) else {
                return
            }
            let encoded = attempt { () throws(FormatError) in try keyring.encode() }
            try Mismatch.require(encoded == body, "a keyring that decodes has another encoding")
        case .vector:
            guard let vector = attempt({ () throws(FormatError) in try VectorFrame(body.span, at: offset) }) else {
                return
            }
            let encoded = attempt { () throws(FormatError) in try vector.encode() }
            try Mismatch.require(encoded == body, "a vector that decodes has another encoding")
        case .commit:
            guard let commit = attempt({ () throws(FormatError) in try Commit(body.span, at: offset, from: bodyStart) })
            else { return }
            try Mismatch.require(commit.encode() == body, "a commit that decodes has another encoding")
        }
    }

    private static func checkPage(_ body: [UInt8], at offset: UInt64) throws(Mismatch) {
        guard let layout = attempt({ () throws(FormatError) in try PageLayout(body.span, at: offset) }) else { return }
        let prefix = Array(body[layout.prefix])
        var builder = PageBuilder(level: layout.level)
        for entry in layout.entries {
            let key = prefix + body[entry.rest]
            builder.append(key, Array(body[entry.value]))
            if layout.isLeaf { try checkEntry(key, Array(body[entry.value])) }
        }
        try Mismatch.require(builder.encode() == body, "a page that decodes has another encoding")
    }

    private static func checkEntry(_ key: [UInt8], _ value: [UInt8]) throws(Mismatch) {
        if let item = attempt({ () throws(VaultError) in try ItemKey(key) }) { try check(item) }
        if key.first == Format.forgottenTag {
            // Below and above a floor the key has other forms.
            for floor in [0, Format.Limit.number] {
                let value = attempt { () throws(FormatError) in
                    try ForgottenValue(key: key.span, clock: Format.Limit.number, floor: floor, at: 0)
                }
                try Mismatch.require(value == nil || value?.key == key, "a forgotten value has another encoding")
            }
        } else if let item = ForgedItem(value) {
            try Mismatch.require(item.encoded() == value, "an item's entry that decodes has another encoding")
        }
    }

    /// A key is its fields and nothing else.
    static func check(_ key: ItemKey) throws(Mismatch) {
        let again = attempt { () throws(VaultError) in
            try key.replacing(key.fields)
        }
        try Mismatch.require(again?.bytes == key.bytes, "an item key that decodes has another encoding")
    }

    /// The same for the body of a record that was opened; its length may be any step that is large enough.
    static func check(record body: [UInt8]) throws(Mismatch) {
        guard let form = RecordLayout.form(body.span),
            let layout = attempt({ () throws(FormatError) in try RecordLayout(body.span, form, at: 0) })
        else { return }
        var out: [UInt8] = [form.rawValue]
        out.append(varint: UInt64(layout.key.count))
        out += body[layout.key]
        switch layout.content {
        case .item(let secret, let attributes):
            out.append(varint: UInt64(secret.count))
            out += body[secret]
            RecordAttributes.encode(count: attributes.count, into: &out)
            for one in attributes {
                let name = String(decoding: body[one.name], as: UTF8.self)
                out += RecordAttributes.head(name: name, flags: one.flags, valueSize: one.value.count)
                out += body[one.value]
            }
        case .attribute(let name, let flags, let value):
            out += RecordAttributes.head(
                name: String(decoding: body[name], as: UTF8.self), flags: flags, valueSize: value.count)
            out += body[value]
        }
        try Mismatch.require(
            out.count <= body.count && Padding.isStep(body.count), "a record's length is no step for its content")
        out.append(zeros: body.count - out.count)
        try Mismatch.require(out == body, "a record that decodes has another encoding")
    }
}

/// The result, or nil where it throws.
func attempt<R, E: Error>(_ body: () throws(E) -> R) -> R? {
    do throws(E) { return try body() } catch { return nil }
}
