/// Recognizes headers of vaultfmt 0.1.0, which have the same magic and version as headers of format 1.
///
/// This check is made only for a header that format 1 refuses, so that the refusal can name the cause. Nothing else in
/// such a file is read.
package enum EarlierHeader {
    /// The greatest length of such a header.
    package static let longest = 65_536

    /// Returns true if the bytes begin with a 0.1.0 header: its lengths and counts, every slot and extension, and all
    /// padding must fit. A damaged format 1 header is not mistaken for a 0.1.0 header: its slots have different
    /// lengths, and they contain random bytes where a 0.1.0 slot states its kind, its factors and the length of its
    /// payload.
    package static func begins(_ bytes: Span<UInt8>) -> Bool {
        do throws(FormatError) { try check(bytes) } catch { return false }
        return true
    }

    private static func check(_ bytes: Span<UInt8>) throws(FormatError) {
        let length = try Header.length(bytes)
        let whole = Cursor(bytes, at: 0, else: .headerInvalid)
        guard length <= longest, length <= bytes.count else { throw whole.error("not a header of 0.1.0") }
        // The vault's id and the epoch are random.
        var cursor = Cursor(over: 64..<length - Format.headerProofSize, of: whole)
        let slots = try cursor.u8(bytes)
        let extensions = try cursor.u8(bytes)
        guard (1...16).contains(slots), extensions <= 16 else { throw cursor.error("not the counts of 0.1.0") }
        try cursor.reserved(bytes, 2)
        for _ in 0..<slots { try checkSlot(bytes, &cursor) }
        _ = try Extension.list(bytes, &cursor, count: Int(extensions))
        try cursor.padding(bytes, to: length - Format.headerProofSize)
    }

    private static func checkSlot(_ bytes: Span<UInt8>, _ parent: inout Cursor) throws(FormatError) {
        let length = Int(try parent.u16(bytes))
        let slot = try parent.slice(length - 2, "a slot")
        var cursor = Cursor(over: slot, of: parent)
        _ = try cursor.bytes16(bytes)
        let kind = try cursor.u8(bytes)
        let factors = try cursor.u8(bytes)
        switch factors {
        case 1, 3, 4, 5:
            let memory = try cursor.u32(bytes)
            let passes = try cursor.u32(bytes)
            let lanes = try cursor.u32(bytes)
            guard passes >= 1, (1...0xFF_FFFF).contains(lanes), memory / 8 >= lanes else {
                throw cursor.error("not a cost of 0.1.0")
            }
            _ = try cursor.slice(16, "a salt")
        case 2, 8: try cursor.reserved(bytes, 28)
        default: throw cursor.error("not factors of 0.1.0")
        }
        _ = try cursor.slice(32 + 24, "a commitment and a nonce")
        let payload = Int(try cursor.u32(bytes))
        switch (kind, payload) {
        case (1, 48), (2, 272), (2, 528), (2, 784), (2, 1040), (2, 1296): break
        default: throw cursor.error("not a payload of 0.1.0")
        }
        _ = try cursor.slice(payload + 24 + 112, "a slot's sealed parts")
        try cursor.finish()
    }
}
