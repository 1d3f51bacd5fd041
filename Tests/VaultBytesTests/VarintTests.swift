import Testing
import VaultBytes

@Suite("A varint")
struct VarintTests {
    private func read(_ bytes: [UInt8]) throws(FormatError) -> UInt64 {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        let value = try cursor.varint(bytes.span)
        try cursor.finish()
        return value
    }

    @Test("is read as it was written, at both ends of each length")
    func roundTrip() throws {
        for width in 1...9 {
            let most: UInt64 = 1 << (UInt64(width) * 7) - 1
            let least: UInt64 = width == 1 ? 0 : 1 << (UInt64(width - 1) * 7)
            for value in [least, least + 1, most - 1, most] {
                #expect(varint(value).count == width)
                #expect(try read(varint(value)) == value)
                if let number = Int(exactly: value) { #expect(VarintSize.of(number) == width) }
            }
        }
    }

    @Test("has nine bytes at most (R-1.1)")
    func tooLong() {
        refuses(.structureInvalid, "more than 9") { () throws(FormatError) in
            _ = try read([UInt8](repeating: 0x80, count: 9) + [1])
        }
        refuses(.structureInvalid, "more than 9") { () throws(FormatError) in
            _ = try read([UInt8](repeating: 0xFF, count: 10))
        }
    }

    @Test("has the fewest bytes possible (R-1.1)", arguments: 1...8)
    func overlong(count: Int) {
        let bytes = [UInt8](repeating: 0x80, count: count) + [0]
        refuses(.structureInvalid, "longer than necessary") { () throws(FormatError) in _ = try read(bytes) }
        refuses(.structureInvalid, "longer than necessary") { () throws(FormatError) in
            _ = try read(patched(bytes, 0, [0xFF]))
        }
    }

    @Test("that is cut off is refused", arguments: 0...8)
    func cutOff(count: Int) {
        refuses(.structureInvalid, "missing") { () throws(FormatError) in
            _ = try read([UInt8](repeating: 0x81, count: count))
        }
    }

    @Test("has no two encodings of one value")
    func canonical() {
        // Every string of one or two bytes, and many of three.
        var seen: [UInt64: [UInt8]] = [:]
        var numbers = Numbers(1)
        var candidates: [[UInt8]] = (0...255).map { [$0] }
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max { candidates.append([first, second]) }
        }
        for _ in 0..<20_000 { candidates.append(numbers.bytes(3)) }
        for bytes in candidates {
            do throws(FormatError) {
                let value = try read(bytes)
                #expect(seen[value] ?? bytes == bytes)
                seen[value] = bytes
            } catch { continue }
        }
        #expect(seen.count > 16_000)
    }

    @Test("as a count is refused beyond its limit")
    func counts() throws {
        for (value, most) in [(11, 10), (UInt64(Int64.max), 10), (1, 0)] as [(UInt64, Int)] {
            let bytes = varint(value)
            var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
            refuses(.structureInvalid, "at most \(most)") { () throws(FormatError) in
                _ = try cursor.count(bytes.span, most: most, "things")
            }
        }
        let bytes = varint(10)
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        #expect(try cursor.count(bytes.span, most: 10, "things") == 10)
    }

    @Test("carries signed numbers as zigzag")
    func zigzag() throws {
        for value in [0, -1, 1, -2, 63, -64, 64, Int64.max >> 1, -(Int64.max >> 1) - 1] as [Int64] {
            var bytes: [UInt8] = []
            bytes.append(zigzag: value)
            var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
            #expect(try cursor.zigzag(bytes.span) == value)
        }
    }
}
