/// Encodes the fields of an item key. The encoding preserves order, and each field has exactly one encoding (section
/// 6.1).
package enum KeyFields {
    /// Appends a field. Each `00` becomes `00 FF`; `00 00` ends the field.
    package static func append(_ field: [UInt8], to out: inout [UInt8]) {
        field.withUnsafeBufferPointer { append($0, to: &out) }
    }

    package static func append(_ text: String, to out: inout [UInt8]) {
        var text = text
        text.withUTF8 { append($0, to: &out) }
    }

    private static func append(_ field: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]) {
        if field.contains(0) {
            for byte in field {
                out.append(byte)
                if byte == 0 { out.append(0xFF) }
            }
        } else {
            out.append(contentsOf: field)
        }
        out.append(u16: 0)
    }

    /// Reads a field of at most 4096 bytes.
    package static func field(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> [UInt8] {
        var out: [UInt8] = []
        while true {
            let byte = try cursor.u8(bytes)
            if byte == 0 {
                switch try cursor.u8(bytes) {
                case 0: return out
                case 0xFF: break
                default: throw cursor.error("an item key's field is wrongly escaped")
                }
            }
            out.append(byte)
            guard out.count <= Format.Limit.field else {
                throw cursor.error("an item key's field has more than \(Format.Limit.field) bytes")
            }
        }
    }

    /// Checks a field without storing it; if `isText` is true, the field must also be valid UTF-8.
    package static func skip(_ bytes: Span<UInt8>, _ cursor: inout Cursor, isText: Bool) throws(FormatError) {
        let start = cursor
        var escapes = 0
        var seen: UInt64 = 0
        while true {
            seen |= cursor.skipNonzero(bytes)
            let byte = try cursor.u8(bytes)
            seen |= UInt64(byte & 0x80)
            if byte != 0 { continue }
            let next = try cursor.u8(bytes)
            if next == 0 { break }
            guard next == 0xFF else { throw cursor.error("an item key's field is wrongly escaped") }
            escapes += 1
        }
        guard cursor.position - start.position - 2 - escapes <= Format.Limit.field else {
            throw cursor.error("an item key's field has more than \(Format.Limit.field) bytes")
        }
        guard isText, seen != 0 || escapes > 0 else { return }
        if escapes == 0 { return try cursor.checkText(bytes, start.position..<cursor.position - 2) }
        var again = start
        _ = try text(bytes, &again)
    }

    package static func text(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> String {
        let field = try field(bytes, &cursor)
        return try cursor.text(field.span, 0..<field.count)
    }

    package static func n32(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) -> UInt32 {
        try cursor.u32(bytes).byteSwapped
    }
}
