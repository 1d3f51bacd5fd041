import Testing
import VaultBytes

@Suite("An item's key fields")
struct KeyFieldsTests {
    private func encoded(_ field: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        KeyFields.append(field, to: &out)
        return out
    }

    private func decoded(_ bytes: [UInt8]) throws(FormatError) -> [UInt8] {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        let field = try KeyFields.field(bytes.span, &cursor)
        try cursor.finish()
        return field
    }

    @Test("are read as they were written, zeros included")
    func roundTrip() throws {
        var numbers = Numbers(1)
        for field in [[], [0], [0, 0], [0, 0xFF], [0xFF], [0, 1, 0]]
            + (0..<200).map({ numbers.bytes($0 % 30).map { $0 % 3 } })
        {
            #expect(try decoded(encoded(field)) == field)
        }
    }

    @Test("stand in the order of their values, also with another field behind them")
    func order() {
        var numbers = Numbers(2)
        func small() -> [UInt8] {
            numbers.bytes(Int.random(in: 0...4, using: &numbers)).map { [0, 1, 0xFE, 0xFF][Int($0 % 4)] }
        }
        for _ in 0..<4000 {
            let left = (small(), small())
            let right = (small(), small())
            let expected = left.0 == right.0 ? ByteOrder.isLess(left.1, right.1) : ByteOrder.isLess(left.0, right.0)
            #expect(
                ByteOrder.isLess(encoded(left.0) + encoded(left.1), encoded(right.0) + encoded(right.1)) == expected)
        }
    }

    @Test("are refused if wrongly escaped or cut off (R-6.1)")
    func malformed() {
        for bad in [[0, 1], [65, 0, 2], [0, 0xFE]] as [[UInt8]] {
            refuses(.structureInvalid, "wrongly escaped") { () throws(FormatError) in _ = try decoded(bad) }
        }
        for bad in [[], [65], [65, 0], [0, 0xFF], [0, 0xFF, 0]] as [[UInt8]] {
            refuses(.structureInvalid, "missing") { () throws(FormatError) in _ = try decoded(bad) }
        }
        refuses(.structureInvalid, "unexpected bytes remain") { () throws(FormatError) in _ = try decoded([0, 0, 0]) }
    }

    @Test("have at most 4096 bytes before escaping (R-6.1)")
    func limits() throws {
        for byte in [0, 1] as [UInt8] {
            #expect(try decoded(encoded([UInt8](repeating: byte, count: 4096))).count == 4096)
            refuses(.structureInvalid, "4096") { () throws(FormatError) in
                _ = try decoded(encoded([UInt8](repeating: byte, count: 4097)))
            }
        }
    }

    @Test("are accepted alike whether they are kept or skipped")
    func skipping() {
        var numbers = Numbers(3)
        var accepted = 0
        for round in 0..<4000 {
            let bytes: [UInt8] = numbers.bytes(round % 9 + 1).map { [0, 0, 0xFF, 65, 0xC3, 0xA9][Int($0 % 6)] }
            for isText in [false, true] {
                var kept = Cursor(bytes.span, at: 0, else: .structureInvalid)
                var skipped = kept
                let isKept = succeeds { () throws(FormatError) in
                    _ =
                        isText
                        ? Array(try KeyFields.text(bytes.span, &kept).utf8) : try KeyFields.field(bytes.span, &kept)
                }
                let isSkipped = succeeds { () throws(FormatError) in
                    try KeyFields.skip(bytes.span, &skipped, isText: isText)
                }
                #expect(isKept == isSkipped && (!isKept || kept.position == skipped.position))
                accepted += isKept ? 1 : 0
            }
        }
        #expect(accepted > 100)
        let long = encoded([UInt8](repeating: 0, count: 4097))
        var cursor = Cursor(long.span, at: 0, else: .structureInvalid)
        refuses(.structureInvalid, "4096") { () throws(FormatError) in
            try KeyFields.skip(long.span, &cursor, isText: false)
        }
    }

    private func succeeds(_ body: () throws(FormatError) -> Void) -> Bool {
        do throws(FormatError) {
            try body()
            return true
        } catch { return false }
    }

    @Test("put numbers in big-endian order, so that they sort")
    func numbers() {
        var last: [UInt8] = []
        for value in [0, 1, 0xFF, 0x100, 0xFFFF, 0x1_0000, .max] as [UInt32] {
            var bytes: [UInt8] = []
            bytes.append(n32: value)
            #expect(ByteOrder.isLess(last, bytes))
            last = bytes
        }
    }
}
