internal import VaultBytes
internal import VaultStore

/// The contents of a record found without a reference from a page, for salvage and verification.
enum FoundRecord {
    /// An item's record: the item's key, the range of the secret, and the attributes in the record.
    case item(ItemKey, secret: Range<Int>, attributes: [Attribute])
    /// A large attribute's record: the item's key at the time, the attribute without its value, and the range of the
    /// value.
    case attribute(ItemKey, name: String, flags: Attribute.Flags, value: Range<Int>)
}

/// Seals and opens records (specification, section 5.1).
enum RecordCodec {
    /// The parameters for sealing any record.
    struct Seal {
        let identity: Sealing.RecordIdentity
        let key: SecretBox
        let locatorKey: SecretBox
        let sealing: Sealing
    }

    // MARK: sealing

    /// Builds an item's record, seals it in place, and appends it, so memory holds only one copy of a large secret in
    /// addition to the caller's. `attributes` are the attributes whose values belong in the record.
    static func append(
        _ key: ItemKey, _ secret: borrowing Secret, _ attributes: [Attribute], _ seal: Seal, to appender: Appender
    ) throws(VaultError) -> ObjectRef {
        let heads = attributes.map {
            RecordAttributes.head(name: $0.name, flags: $0.fileFlags, valueSize: $0.size ?? 0)
        }
        let list =
            VarintSize.of(attributes.count) + zip(heads, attributes).reduce(0) { $0 + $1.0.count + ($1.1.size ?? 0) }
        let size = RecordLayout.itemBodySize(key: key.bytes.count, secret: secret.count, attributes: list)
        return try append(size, seal, to: appender) { body in
            body.write(form: .item, key: key.bytes)
            body.write(varint: secret.count)
            secret.withUnsafeBytes { body.write($0) }
            body.write(varint: attributes.count)
            for (head, attribute) in zip(heads, attributes) {
                body.write(head)
                _ = attribute.withUnsafeBytes { body.write($0) }
            }
        }
    }

    /// Builds, seals and appends the record of a large attribute whose value was read.
    static func append(
        _ attribute: Attribute, of key: ItemKey, _ seal: Seal, to appender: Appender
    ) throws(VaultError) -> ObjectRef {
        let head = RecordAttributes.head(
            name: attribute.name, flags: attribute.fileFlags, valueSize: attribute.size ?? 0)
        let size = RecordLayout.attributeBodySize(
            key: key.bytes.count, name: attribute.name.utf8.count, value: attribute.size ?? 0)
        return try append(size, seal, to: appender) { body in
            body.write(form: .attribute, key: key.bytes)
            body.write(head)
            _ = attribute.withUnsafeBytes { body.write($0) }
        }
    }

    /// Seals and appends a body that was opened elsewhere.
    static func append(body: borrowing Secret, _ seal: Seal, to appender: Appender) throws(VaultError) -> ObjectRef {
        try append(body.count, seal, to: appender) { out in body.withUnsafeBytes { out.write($0) } }
    }

    private static func append(
        _ size: Int, _ seal: Seal, to appender: Appender, _ fill: (inout BodyWriter) -> Void
    ) throws(VaultError) -> ObjectRef {
        let length = size + Format.recordOverhead
        guard length <= Format.Limit.recordFrame else {
            throw VaultError(.limitExceeded, "an item of \(length) bytes is too large")
        }
        var frame = try Secret(allocating: length)
        frame.withUnsafeMutableBytes { frame in
            let body = UnsafeMutableRawBufferPointer(
                rebasing: frame[Sealing.recordBodyStart..<Sealing.recordBodyStart + size])
            var writer = BodyWriter(out: body)
            fill(&writer)
            seal.sealing.sealRecord(
                UnsafeRawBufferPointer(body), seal.identity, head: FrameHead(.record, length: length).encoded,
                key: seal.key.secret,
                locatorKey: seal.locatorKey.secret, into: frame)
        }
        return try frame.withUnsafeBytes { (frame) throws(VaultError) in try appender.append(sealed: frame) }
    }

    /// Fills a body from its start; the rest stays zero.
    private struct BodyWriter {
        let out: UnsafeMutableRawBufferPointer
        private var position = 0

        init(out: UnsafeMutableRawBufferPointer) { self.out = out }

        mutating func write(form: RecordLayout.Form, key: [UInt8]) {
            write([form.rawValue])
            write(varint: key.count)
            write(key)
        }

        mutating func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { write($0) } }

        mutating func write(_ bytes: UnsafeRawBufferPointer) {
            UnsafeMutableRawBufferPointer(rebasing: out[position..<position + bytes.count]).copyMemory(from: bytes)
            position += bytes.count
        }

        mutating func write(varint value: Int) {
            var bytes: [UInt8] = []
            bytes.append(varint: UInt64(value))
            write(bytes)
        }
    }

    // MARK: opening

    /// Returns the body of a record that was read from `offset`.
    static func open(
        _ frame: UnsafeRawBufferPointer, _ identity: Sealing.RecordIdentity, key: borrowing Secret, _ sealing: Sealing,
        at offset: UInt64
    ) throws(VaultError) -> Secret {
        var body = try Secret(allocating: frame.count - Format.recordOverhead)
        try body.withUnsafeMutableBytes { (out) throws(VaultError) in
            try open(frame, identity, key: key, sealing, at: offset, into: out)
        }
        return body
    }

    /// Opens a record into memory that the caller wipes.
    static func open(
        _ frame: UnsafeRawBufferPointer, _ identity: Sealing.RecordIdentity, key: borrowing Secret, _ sealing: Sealing,
        at offset: UInt64,
        into out: UnsafeMutableRawBufferPointer
    ) throws(VaultError) {
        do throws(CryptoError) { try sealing.openRecord(frame, identity, key: key, into: out) } catch {
            throw VaultError(crypto: error, "a record", at: offset)
        }
    }

    // MARK: bodies

    /// Returns the range of an item's secret in the record's body, and all attributes of the item if the record
    /// contains any. Checks that the key and the attributes match the entry.
    static func read(
        _ body: Span<UInt8>, _ item: borrowing Item
    ) throws(VaultError) -> (secret: Range<Int>, attributes: Attributes?) {
        let offset = item.entry.record.offset
        let (key, secret, found) = try itemParts(body, at: offset)
        // The key differs from the entry's, which has been checked, only if the item was renamed.
        if !item.hasKey(body, key) {
            do throws(FormatError) { _ = try ItemKey.check(body.extracting(key)) } catch {
                throw VaultError(format: error)
            }
        }
        let mayHoldMore = item.device != nil
        guard !item.lacksSecret || secret.isEmpty || mayHoldMore else {
            throw VaultError(.structureInvalid, "a record has a secret that its item lacks", at: offset)
        }
        guard item.hasAttributesInRecord || !found.isEmpty else { return (secret, nil) }
        let whole = try whole(item.attributes, found, mayHoldMore: mayHoldMore, at: offset)
        return (secret, item.hasAttributesInRecord ? whole : nil)
    }

    /// Returns the range of an earlier secret in the record's body, the item's key at the time of sealing, and the
    /// attributes, including those in the record.
    static func readEarlier(
        _ body: Span<UInt8>, _ attributes: Attributes, at offset: UInt64
    ) throws(VaultError) -> (secret: Range<Int>, key: ItemKey, attributes: Attributes) {
        let (key, secret, found) = try itemParts(body, at: offset)
        return (secret, try itemKey(body, key), try whole(attributes, found, mayHoldMore: true, at: offset))
    }

    /// Returns the range of an attribute's value among those in an item's record, and the item's key at the time of
    /// sealing.
    static func readAttribute(
        _ body: Span<UInt8>, _ name: [UInt8], _ flags: AttributeFlags, at offset: UInt64
    ) throws(VaultError) -> (value: Range<Int>, key: ItemKey) {
        let layout = try layout(body, .item, at: offset)
        guard case .item(_, let entries) = layout.content,
            let found = entries.first(where: {
                ByteOrder.compare(body, $0.name, name.span, 0..<name.count) == 0 && $0.flags == flags
            })
        else { throw otherAttributes(offset) }
        return (found.value, try itemKey(body, layout.key))
    }

    /// Returns the range of a large attribute's value in the record's body. Checks that the body belongs to this
    /// attribute.
    static func readLarge(
        _ body: Span<UInt8>, _ attribute: Attribute, at offset: UInt64
    ) throws(VaultError) -> Range<Int> {
        try readLarge(body, Array(attribute.name.utf8), attribute.fileFlags, at: offset).value
    }

    /// Returns the range of a large attribute's value, and the item's key at the time of sealing.
    static func readLarge(
        _ body: Span<UInt8>, _ wanted: [UInt8], _ wantedFlags: AttributeFlags, at offset: UInt64
    ) throws(VaultError) -> (value: Range<Int>, key: ItemKey) {
        let layout = try layout(body, .attribute, at: offset)
        guard case .attribute(let name, let flags, let value) = layout.content else { throw otherAttributes(offset) }
        let key = try itemKey(body, layout.key)
        guard ByteOrder.compare(body, name, wanted.span, 0..<wanted.count) == 0, flags == wantedFlags else {
            throw VaultError(.structureInvalid, "a record does not belong to the attribute in the index", at: offset)
        }
        return (value, key)
    }

    /// Decodes the body of a record found without a reference.
    static func found(_ body: Span<UInt8>, at offset: UInt64) throws(VaultError) -> FoundRecord {
        guard RecordLayout.form(body) == .attribute else {
            let (key, secret, attributes) = try itemParts(body, at: offset)
            return .item(try itemKey(body, key), secret: secret, attributes: attributes)
        }
        let layout = try layout(body, .attribute, at: offset)
        guard case .attribute(let name, let flags, let value) = layout.content else { throw otherAttributes(offset) }
        return .attribute(
            try itemKey(body, layout.key), name: try text(body, name, at: offset),
            flags: Attribute.Flags(rawValue: flags.meaning.rawValue),
            value: value)
    }

    private static func itemParts(
        _ body: Span<UInt8>, at offset: UInt64
    ) throws(VaultError) -> (key: Range<Int>, secret: Range<Int>, attributes: [Attribute]) {
        let layout = try layout(body, .item, at: offset)
        guard case .item(let secret, let entries) = layout.content else { throw otherAttributes(offset) }
        var attributes: [Attribute] = []
        for entry in entries {
            let value = body.extracting(entry.value).bytes
            let content: Attribute.Content =
                entry.flags.contains(.sealed)
                ? .secret(
                    SecretBox(
                        try value.withUnsafeBytes { (bytes) throws(VaultError) in try Secret(allocatingCopyOf: bytes) })
                )
                : .bytes(value.withUnsafeBytes { Array($0) })
            let flags = Attribute.Flags(rawValue: entry.flags.meaning.rawValue)
            attributes.append(Attribute(try text(body, entry.name, at: offset), content, flags: flags))
        }
        return (layout.key, secret, attributes)
    }

    /// Decodes a record's layout. A known form other than the one the reference requires means that the record is
    /// malformed, not that it comes from a later version of the format.
    private static func layout(_ body: Span<UInt8>, _ form: RecordLayout.Form, at offset: UInt64) throws(VaultError)
        -> RecordLayout
    {
        if let other = RecordLayout.form(body), other != form {
            throw VaultError(.structureInvalid, "a record's form does not match its reference", at: offset)
        }
        return try decoding { () throws(FormatError) in try RecordLayout(body, form, at: offset) }
    }

    /// Adds the values in a record to the attributes of a page or past. The record must contain at least the values
    /// that belong in it; any others are ignored.
    private static func whole(
        _ listed: Attributes, _ found: [Attribute], mayHoldMore: Bool, at offset: UInt64
    ) throws(VaultError) -> Attributes {
        var found = found[...]
        var all: [Attribute] = []
        for attribute in listed.all {
            guard attribute.fileFlags.contains(.inItemRecord) else {
                all.append(attribute)
                continue
            }
            if mayHoldMore { found = found.drop { !$0.name.utf8.elementsEqual(attribute.name.utf8) } }
            guard let value = found.popFirst(), value.name.utf8.elementsEqual(attribute.name.utf8),
                value.flags == attribute.flags
            else {
                throw otherAttributes(offset)
            }
            all.append(value)
        }
        guard found.isEmpty || mayHoldMore else { throw otherAttributes(offset) }
        return Attributes(sorted: all)
    }

    private static func otherAttributes(_ offset: UInt64) -> VaultError {
        VaultError(.structureInvalid, "a record's attributes differ from those in the index", at: offset)
    }

    private static func itemKey(_ body: Span<UInt8>, _ range: Range<Int>) throws(VaultError) -> ItemKey {
        try ItemKey(ByteCopy.of(body, range))
    }

    private static func text(_ body: Span<UInt8>, _ range: Range<Int>, at offset: UInt64) throws(VaultError) -> String {
        try decoding { () throws(FormatError) in
            try Cursor(body, at: offset, else: .structureInvalid).text(body, range)
        }
    }
}

extension ItemEntry {
    /// The identity that the item's record is bound to.
    var identity: Sealing.RecordIdentity { own.identity(of: id) }
}
