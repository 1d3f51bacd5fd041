/// Sixteen bytes in file order: vault, item, slot and device ids.
package struct Bytes16: Hashable, Comparable, Sendable {
    /// The bytes as two big-endian numbers, which sort in the same order as the bytes.
    private let high: UInt64
    private let low: UInt64

    package static let zero = Bytes16(high: 0, low: 0)

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static func < (left: Bytes16, right: Bytes16) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }

    package var bytes: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(16)
        out.append(u64: high.byteSwapped)
        out.append(u64: low.byteSwapped)
        return out
    }

    /// The two halves as stored in memory and in the file.
    package var words: (UInt64, UInt64) { (high.bigEndian, low.bigEndian) }
}

/// Thirty-two bytes in file order: hashes, chain values, commitments and MACs.
package struct Bytes32: Hashable, Sendable {
    /// The bytes as stored in memory and in the file.
    package var words: (UInt64, UInt64, UInt64, UInt64)

    package static let zero = Bytes32(words: (0, 0, 0, 0))

    package init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

    package static func == (left: Bytes32, right: Bytes32) -> Bool {
        // This must not branch on the contents, because MACs are also compared here.
        (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1) | (left.words.2 ^ right.words.2)
            | (left.words.3 ^ right.words.3) == 0
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }

    package var bytes: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(32)
        out.append(self)
        return out
    }
}

/// Encodes and decodes hexadecimal digits; the encoding is lower-case.
package enum Hex {
    package static func encode(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            out.append(digits[Int(byte >> 4)])
            out.append(digits[Int(byte & 15)])
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Returns nil unless the text consists of an even number of hexadecimal digits.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var out: [UInt8] = []
        out.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            out.append(high << 4 | low)
        }
        return out
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 48...57: digit - 48
        case 97...102: digit - 87
        case 65...70: digit - 55
        default: nil
        }
    }
}

extension Bytes16 {
    /// Returns nil unless there are sixteen bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        do throws(FormatError) { self = try cursor.bytes16(bytes.span) } catch { return nil }
    }
}

extension Bytes32 {
    /// Returns nil unless there are thirty-two bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        do throws(FormatError) { self = try cursor.bytes32(bytes.span) } catch { return nil }
    }
}
