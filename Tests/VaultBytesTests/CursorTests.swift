import Testing
import VaultBytes

@Suite("A cursor")
struct CursorTests {
    private func cursor(_ bytes: [UInt8]) -> Cursor { Cursor(bytes.span, at: 1000, else: .structureInvalid) }

    @Test("reads numbers of fixed width in little-endian order")
    func numbers() throws {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
        var cursor = cursor(bytes)
        #expect(try cursor.u8(bytes.span) == 1)
        #expect(try cursor.u16(bytes.span) == 0x0302)
        #expect(try cursor.u32(bytes.span) == 0x0706_0504)
        #expect(try cursor.u64(bytes.span) == 0x0F0E_0D0C_0B0A_0908)
        #expect(cursor.isAtEnd)
    }

    @Test("reads ids and hashes in the order of the file")
    func fixedBytes() throws {
        let bytes = (0..<48).map { UInt8($0) }
        var cursor = cursor(bytes)
        #expect(try cursor.bytes16(bytes.span).bytes == Array(bytes[..<16]))
        #expect(try cursor.bytes32(bytes.span).bytes == Array(bytes[16...]))
    }

    @Test("never reads past its end, whatever the width", arguments: 0..<32)
    func ends(length: Int) {
        let bytes = [UInt8](repeating: 0x7F, count: length)
        var tooShort = 0
        func check(_ width: Int, _ read: (inout Cursor) throws(FormatError) -> Void) {
            var cursor = cursor(bytes)
            do throws(FormatError) {
                try read(&cursor)
                #expect(width <= length && cursor.position == width)
            } catch {
                tooShort += 1
                #expect(width > length && error.code == .structureInvalid && error.offset >= 1000)
            }
        }
        check(1) { cursor throws(FormatError) in _ = try cursor.u8(bytes.span) }
        check(2) { cursor throws(FormatError) in _ = try cursor.u16(bytes.span) }
        check(4) { cursor throws(FormatError) in _ = try cursor.u32(bytes.span) }
        check(8) { cursor throws(FormatError) in _ = try cursor.u64(bytes.span) }
        check(16) { cursor throws(FormatError) in _ = try cursor.bytes16(bytes.span) }
        check(32) { cursor throws(FormatError) in _ = try cursor.bytes32(bytes.span) }
        #expect(tooShort == [1, 2, 4, 8, 16, 32].count { $0 > length })
    }

    @Test("refuses lengths that no span has")
    func hostileLengths() {
        let bytes: [UInt8] = [1, 2, 3]
        for length in [4, Int.max, -1, Int.min] {
            var cursor = cursor(bytes)
            refuses(.structureInvalid, "extends past the end") { () throws(FormatError) in
                _ = try cursor.slice(length, "a thing")
            }
            #expect(cursor.position == 0)
        }
    }

    @Test("over a part does not reach beyond it")
    func parts() throws {
        let bytes: [UInt8] = [1, 2, 3, 4]
        var part = Cursor(over: 1..<3, of: cursor(bytes))
        #expect(try part.u16(bytes.span) == 0x0302)
        refuses(.structureInvalid, "missing") { () throws(FormatError) in _ = try part.u8(bytes.span) }
    }

    @Test("refuses padding that is not zero, at each place (R-1.2)", arguments: 0..<8)
    func padding(place: Int) throws {
        let zeros = [UInt8](repeating: 0, count: 8)
        var good = cursor(zeros)
        try good.padding(zeros.span, to: 8)
        let bytes = patched(zeros, place, [1])
        var bad = cursor(bytes)
        refuses(.structureInvalid, "not zero") { () throws(FormatError) in try bad.padding(bytes.span, to: 8) }
        #expect(bad.error("").offset == UInt64(1000 + place))
        var reserved = cursor(bytes)
        refuses(.structureInvalid, "not zero") { () throws(FormatError) in try reserved.reserved(bytes.span, 8) }
        var beyond = cursor(zeros)
        refuses(.structureInvalid, "past the end") { () throws(FormatError) in try beyond.padding(zeros.span, to: 9) }
        var missing = cursor(zeros)
        refuses(.structureInvalid, "past the end") { () throws(FormatError) in try missing.reserved(zeros.span, 9) }
    }

    @Test("refuses bytes that are left over (R-1.3)")
    func leftOver() throws {
        let bytes: [UInt8] = [1, 2]
        var cursor = cursor(bytes)
        _ = try cursor.u8(bytes.span)
        refuses(.structureInvalid, "unexpected bytes remain") { () throws(FormatError) in try cursor.finish() }
        _ = try cursor.u8(bytes.span)
        try cursor.finish()
    }

    @Test(
        "refuses text that is not UTF-8 (R-1.4)",
        arguments: [
            [0xFF], [0xC3], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            [0x61, 0x80],
        ] as [[UInt8]])
    func text(bytes: [UInt8]) {
        let cursor = cursor(bytes)
        refuses(.structureInvalid, "UTF-8") { () throws(FormatError) in _ = try cursor.text(bytes.span, 0..<bytes.count)
        }
    }

    @Test("keeps every byte of text that is UTF-8")
    func goodText() throws {
        for text in ["", "a", "\0", "e\u{301}", "é", "\u{202E}abc", "👩‍👧"] {
            let bytes = Array(text.utf8)
            #expect(Array(try cursor(bytes).text(bytes.span, 0..<bytes.count).utf8) == bytes)
        }
    }
}
