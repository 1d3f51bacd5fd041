internal import VaultBytes

/// Seals and opens records (specification, section 5.1).
enum RecordCodec {
    /// Puts a record together, seals it where it is, and appends it: a large secret is in memory once more than its owner has it.
    static func append(
        _ key: ItemKey, _ secret: borrowing Secret, _ attributes: Attributes, _ identity: Sealing.RecordIdentity,
        compartmentKey: borrowing Secret,
        locatorKey: borrowing Secret, to appender: Appender, _ sealing: Sealing
    ) throws(VaultError) -> ObjectRef {
        var list: [UInt8] = []
        AttributeList.encode(attributes.inRecord, into: &list)
        let size = RecordLayout.bodySize(key: key.bytes.count, secret: secret.count, attributes: list.count)
        let length = size + Format.recordOverhead
        guard length <= Format.Limit.recordFrame else { throw VaultError(.limitExceeded, "an item of \(length) bytes is too large") }
        var frame = try Secret(allocating: length)
        frame.withUnsafeMutableBytes { frame in
            let body = UnsafeMutableRawBufferPointer(rebasing: frame[Sealing.recordBodyStart..<Sealing.recordBodyStart + size])
            var position = 0
            write(varint: UInt64(key.bytes.count), to: body, &position)
            write(key.bytes, to: body, &position)
            write(varint: UInt64(secret.count), to: body, &position)
            secret.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: body[position..<position + $0.count]).copyMemory(from: $0) }
            position += secret.count
            write(list, to: body, &position)
            let head = FrameHead(.record, length: length).encoded
            sealing.sealRecord(UnsafeRawBufferPointer(body), identity, head: head, key: compartmentKey, locatorKey: locatorKey, into: frame)
        }
        return try frame.withUnsafeBytes { (frame) throws(VaultError) in try appender.append(sealed: frame) }
    }

    /// The body of a record that was read from `offset`.
    static func open(
        _ frame: UnsafeRawBufferPointer, _ identity: Sealing.RecordIdentity, key: borrowing Secret, _ sealing: Sealing, at offset: UInt64
    ) throws(VaultError) -> Secret {
        var body = try Secret(allocating: frame.count - Format.recordOverhead)
        try body.withUnsafeMutableBytes { (out) throws(VaultError) in try open(frame, identity, key: key, sealing, at: offset, into: out) }
        return body
    }

    /// The same into memory that the caller wipes.
    static func open(
        _ frame: UnsafeRawBufferPointer, _ identity: Sealing.RecordIdentity, key: borrowing Secret, _ sealing: Sealing, at offset: UInt64,
        into out: UnsafeMutableRawBufferPointer
    ) throws(VaultError) {
        do throws(CryptoError) { try sealing.openRecord(frame, identity, key: key, into: out) } catch {
            throw VaultError(crypto: error, "a record", at: offset)
        }
    }

    /// Where an item's secret is in its body, and the item with all its attributes; checks that the body belongs to the item.
    static func take(_ body: Span<UInt8>, _ item: Item) throws(VaultError) -> (secret: Range<Int>, item: Item) {
        let (secret, large) = try parts(body, item)
        return (secret, try Item(item, adding: large))
    }

    /// Where an item's secret is in its body, and its large attributes; checks that the body belongs to the item.
    static func parts(
        _ body: Span<UInt8>, _ item: Item
    ) throws(VaultError) -> (secret: Range<Int>, attributes: [AttributeList.Entry]) {
        let offset = item.entry.record.offset
        let layout: RecordLayout
        let large: [AttributeList.Entry]
        do throws(FormatError) {
            layout = try RecordLayout(body, at: offset)
            large = try attributes(body, layout, at: offset)
        } catch { throw VaultError(format: error) }
        guard item.hasKey(body, layout.key) else {
            throw VaultError(.structureInvalid, "a record belongs to another item than the index says", at: offset)
        }
        guard large.count == item.largeAttributes else {
            throw VaultError(
                .structureInvalid, "a record holds \(large.count) attributes; the index says \(item.largeAttributes)", at: offset)
        }
        return (layout.secret, large)
    }

    /// The large attributes.
    static func attributes(_ body: Span<UInt8>, _ layout: RecordLayout, at offset: UInt64) throws(FormatError) -> [AttributeList.Entry] {
        // One byte: an empty list.
        if layout.attributes.count == 1 { return [] }
        var cursor = Cursor(over: layout.attributes, of: Cursor(body, at: offset, else: .structureInvalid))
        return try AttributeList.decode(body, &cursor, .inRecord)
    }

    /// A body that no page names: its key, large attributes, and where its secret is.
    static func parts(
        _ body: borrowing Secret, at offset: UInt64
    ) throws(VaultError) -> (key: ItemKey, secret: Range<Int>, attributes: [AttributeList.Entry]) {
        let (layout, large) = try body.withSpan { (bytes) throws(VaultError) in
            try decoding { () throws(FormatError) in
                let layout = try RecordLayout(bytes, at: offset)
                return (layout, try attributes(bytes, layout, at: offset))
            }
        }
        return (try ItemKey(body.withUnsafeBytes { Array($0[layout.key]) }), layout.secret, large)
    }

    private static func write(_ bytes: [UInt8], to out: UnsafeMutableRawBufferPointer, _ position: inout Int) {
        UnsafeMutableRawBufferPointer(rebasing: out[position..<position + bytes.count]).copyBytes(from: bytes)
        position += bytes.count
    }

    private static func write(varint value: UInt64, to out: UnsafeMutableRawBufferPointer, _ position: inout Int) {
        var rest = value
        while rest >= 0x80 {
            out[position] = UInt8(truncatingIfNeeded: rest) | 0x80
            position += 1
            rest >>= 7
        }
        out[position] = UInt8(truncatingIfNeeded: rest)
        position += 1
    }
}

extension ItemEntry {
    /// What the item's record is bound to.
    var identity: Sealing.RecordIdentity {
        Sealing.RecordIdentity(item: id.words, revision: recordRevision, compartment: compartment)
    }
}
