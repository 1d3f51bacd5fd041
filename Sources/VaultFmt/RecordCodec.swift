internal import VaultBytes

/// Seals and opens records (specification, section 5.1).
enum RecordCodec {
    /// Puts a record together and appends it.
    static func append(
        _ key: ItemKey, _ secret: borrowing Secret, _ attributes: Attributes, _ identity: Sealing.RecordIdentity, compartmentKey: borrowing Secret,
        locatorKey: borrowing Secret, to appender: Appender, _ sealing: Sealing
    ) throws(VaultError) -> ObjectRef {
        var list: [UInt8] = []
        AttributeList.encode(attributes.inRecord, into: &list)
        let size = RecordLayout.bodySize(key: key.bytes.count, secret: secret.count, attributes: list.count)
        var body = Secret(count: size)
        body.withUnsafeMutableBytes { out in
            var position = 0
            write(varint: UInt64(key.bytes.count), to: out, &position)
            write(key.bytes, to: out, &position)
            write(varint: UInt64(secret.count), to: out, &position)
            secret.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: out[position..<position + $0.count]).copyMemory(from: $0) }
            position += secret.count
            write(list, to: out, &position)
        }
        return try append(body: body, identity, compartmentKey: compartmentKey, locatorKey: locatorKey, to: appender, sealing)
    }

    /// Seals a body that is put together already.
    static func append(
        body: borrowing Secret, _ identity: Sealing.RecordIdentity, compartmentKey: borrowing Secret, locatorKey: borrowing Secret,
        to appender: Appender, _ sealing: Sealing
    ) throws(VaultError) -> ObjectRef {
        let length = body.count + Format.recordOverhead
        guard length <= Format.Limit.recordFrame else { throw VaultError(.limitExceeded, "an item of \(length) bytes is too large") }
        return try body.withUnsafeBytes { (body) throws(VaultError) in
            try appender.append(.record, length: length) { frame, _, head in
                sealing.sealRecord(body, identity, head: head, key: compartmentKey, locatorKey: locatorKey, into: frame)
            }
        }
    }

    /// The body of a record that was read from `offset`.
    static func open(
        _ frame: UnsafeRawBufferPointer, _ identity: Sealing.RecordIdentity, key: borrowing Secret, _ sealing: Sealing, at offset: UInt64
    ) throws(VaultError) -> Secret {
        var body = Secret(count: frame.count - Format.recordOverhead)
        var failure: CryptoError?
        body.withUnsafeMutableBytes { out in
            do throws(CryptoError) { try sealing.openRecord(frame, identity, key: key, into: out) } catch { failure = error }
        }
        if let failure { throw VaultError(crypto: failure, "a record", at: offset) }
        return body
    }

    static func layout(_ body: borrowing Secret, at offset: UInt64) throws(VaultError) -> RecordLayout {
        let result: Result<RecordLayout, FormatError> = body.withSpan { bytes in
            do throws(FormatError) { return .success(try RecordLayout(bytes, at: offset)) } catch { return .failure(error) }
        }
        return try decoding { () throws(FormatError) in try result.get() }
    }

    /// The large attributes, and the key as bytes.
    static func attributes(_ body: borrowing Secret, _ layout: RecordLayout, at offset: UInt64) throws(VaultError) -> [AttributeList.Entry] {
        // One byte: an empty list.
        if layout.attributes.count == 1 { return [] }
        let result: Result<[AttributeList.Entry], FormatError> = body.withSpan { bytes in
            do throws(FormatError) {
                var cursor = Cursor(over: layout.attributes, of: Cursor(bytes, at: offset, else: .structureInvalid))
                return .success(try AttributeList.decode(bytes, &cursor, .inRecord))
            } catch { return .failure(error) }
        }
        return try decoding { () throws(FormatError) in try result.get() }
    }

    ///
    static func isKey(_ key: ItemKey, _ body: borrowing Secret, _ layout: RecordLayout) -> Bool {
        body.withUnsafeBytes { $0[layout.key].elementsEqual(key.bytes) }
    }

    static func key(_ body: borrowing Secret, _ layout: RecordLayout) -> [UInt8] {
        body.withUnsafeBytes { Array($0[layout.key]) }
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
