/// Reads a file's bytes at a position that moves forward through a span and never passes its end.
///
/// The span is passed to each call because storing it in a type would require an experimental feature. Use a cursor
/// only with the span that it was created for.
package struct Cursor: Sendable {
    /// The index of the next byte to be read.
    package private(set) var position: Int
    /// The index after the last byte that may be read.
    package let end: Int
    /// The file offset of the span's first byte, used in errors.
    private let base: UInt64
    private let code: FormatError.Code

    package init(_ bytes: Span<UInt8>, at base: UInt64, else code: FormatError.Code) {
        self.position = 0
        self.end = bytes.count
        self.base = base
        self.code = code
    }

    /// Creates a cursor over a part of the same span.
    package init(over part: Range<Int>, of parent: Cursor) {
        self.position = part.lowerBound
        self.end = part.upperBound
        self.base = parent.base
        self.code = parent.code
    }

    package var remaining: Int { end - position }
    package var isAtEnd: Bool { position == end }

    package func error(_ what: String) -> FormatError {
        FormatError(code, what, at: base &+ UInt64(truncatingIfNeeded: position))
    }

    /// Skips `count` bytes and returns their range.
    @inline(__always)
    package mutating func slice(_ count: Int, _ what: StaticString) throws(FormatError) -> Range<Int> {
        guard count >= 0, count <= end - position else { throw error("\(what) extends past the end") }
        let start = position
        position = start + count
        return start..<position
    }

    @inline(__always)
    package mutating func u8(_ bytes: Span<UInt8>) throws(FormatError) -> UInt8 {
        guard position < end else { throw error("a byte is missing") }
        let value = bytes[position]
        position += 1
        return value
    }

    @inline(__always)
    package mutating func u16(_ bytes: Span<UInt8>) throws(FormatError) -> UInt16 { try number(bytes) }

    @inline(__always)
    package mutating func u32(_ bytes: Span<UInt8>) throws(FormatError) -> UInt32 { try number(bytes) }

    @inline(__always)
    package mutating func u64(_ bytes: Span<UInt8>) throws(FormatError) -> UInt64 { try number(bytes) }

    /// Reads the number with a single load; the span also checks the bounds.
    @inline(__always)
    private mutating func number<N: FixedWidthInteger & BitwiseCopyable>(_ bytes: Span<UInt8>) throws(FormatError) -> N
    {
        let at = try slice(MemoryLayout<N>.size, "a number").lowerBound
        return N(littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: at, as: N.self))
    }

    /// Reads a number from 1 to 2^63 − 1: a generation, revision, group or compartment.
    package mutating func number(_ bytes: Span<UInt8>, _ what: StaticString) throws(FormatError) -> UInt64 {
        let value = try u64(bytes)
        guard value >= 1, value <= Format.Limit.number else { throw error("\(what) is out of range") }
        return value
    }

    @inline(__always)
    package mutating func bytes16(_ bytes: Span<UInt8>) throws(FormatError) -> Bytes16 {
        let at = try slice(16, "an id").lowerBound
        return Bytes16(high: Words.load(bytes, at).byteSwapped, low: Words.load(bytes, at + 8).byteSwapped)
    }

    @inline(__always)
    package mutating func bytes32(_ bytes: Span<UInt8>) throws(FormatError) -> Bytes32 {
        let at = try slice(32, "a hash").lowerBound
        return Bytes32(
            words: (
                Words.load(bytes, at).littleEndian, Words.load(bytes, at + 8).littleEndian,
                Words.load(bytes, at + 16).littleEndian,
                Words.load(bytes, at + 24).littleEndian
            ))
    }

    /// Skips nonzero bytes, eight at a time, and returns the OR of their high bits.
    @inline(__always)
    mutating func skipNonzero(_ bytes: Span<UInt8>) -> UInt64 {
        var seen: UInt64 = 0
        while end - position >= 8 {
            let word = Words.load(bytes, position)
            let zeros = Words.zeros(word)
            guard zeros == 0 else {
                let before = zeros.trailingZeroBitCount & ~7
                seen |= word & ((1 << UInt64(before)) &- 1)
                position += before / 8
                break
            }
            seen |= word
            position += 8
        }
        return seen & Words.highBits
    }

    /// Reads a varint.
    @inline(__always)
    package mutating func varint(_ bytes: Span<UInt8>) throws(FormatError) -> UInt64 {
        guard end - position >= 8 else { return try bytewiseVarint(bytes) }
        let word = Words.load(bytes, position)
        if word & 0x80 == 0 {
            position += 1
            return word & 0x7F
        }
        // Read eight bytes at once if the number ends within them.
        let stops = ~word & Words.highBits
        guard stops != 0 else { return try bytewiseVarint(bytes) }
        let count = (stops.trailingZeroBitCount + 1) / 8
        position += count
        guard word >> UInt64(8 * (count - 1)) & 0x7F != 0 else { throw tooLong }
        return Words.groups(word, count)
    }

    private var tooLong: FormatError { error("a varint is longer than necessary") }

    private mutating func bytewiseVarint(_ bytes: Span<UInt8>) throws(FormatError) -> UInt64 {
        let first = try u8(bytes)
        if first < 0x80 { return UInt64(first) }
        var value = UInt64(first & 0x7F)
        for shift in stride(from: UInt64(7), through: 56, by: 7) {
            let byte = try u8(bytes)
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 {
                guard byte != 0 else { throw tooLong }
                return value
            }
        }
        throw error("a varint has more than 9 bytes")
    }

    /// Reads a varint that must be at most `most`, such as a count or length.
    @inline(__always)
    package mutating func count(_ bytes: Span<UInt8>, most: Int, _ what: StaticString) throws(FormatError) -> Int {
        let value = try varint(bytes)
        guard value <= UInt64(clamping: most) else {
            throw error("\(what): \(value) (at most \(most) allowed)")
        }
        return Int(value)
    }

    @inline(__always)
    package mutating func zigzag(_ bytes: Span<UInt8>) throws(FormatError) -> Int64 {
        let value = try varint(bytes)
        return Int64(bitPattern: value >> 1) ^ -Int64(value & 1)
    }

    /// Checks that the remaining bytes are zeros.
    package mutating func padding(_ bytes: Span<UInt8>, to stop: Int) throws(FormatError) {
        guard stop <= end else { throw error("padding extends past the end") }
        while stop - position >= 8, Words.load(bytes, position) == 0 { position += 8 }
        while position < stop {
            guard bytes[position] == 0 else {
                throw error("padding or a reserved byte is not zero")
            }
            position += 1
        }
    }

    package mutating func reserved(_ bytes: Span<UInt8>, _ count: Int) throws(FormatError) {
        let stop = try slice(count, "a reserved field").upperBound
        position = stop - count
        try padding(bytes, to: stop)
    }

    /// Checks that no bytes remain.
    package func finish() throws(FormatError) {
        guard isAtEnd else { throw error("unexpected bytes remain") }
    }

    /// Reads text.
    package func text(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(FormatError) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes.extracting(range)))
        } catch {
            throw self.error("text is not valid UTF-8")
        }
    }

    /// Checks text without storing it.
    package func checkText(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(FormatError) {
        var index = range.lowerBound
        while index + 8 <= range.upperBound, Words.load(bytes, index) & Words.highBits == 0 { index += 8 }
        while index < range.upperBound, bytes[index] < 0x80 { index += 1 }
        if index < range.upperBound { _ = try text(bytes, range) }
    }

    package func copy(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [UInt8] { ByteCopy.of(bytes, range) }
}

/// Operations on eight bytes at a time: byte-by-byte loops would dominate the run time.
enum Words {
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    static func load(_ bytes: Span<UInt8>, _ at: Int) -> UInt64 {
        UInt64(littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self))
    }

    /// Returns the last eight of the `count` bytes that begin at `start`, or all of them if there are fewer, as a
    /// number that preserves their order. Some bytes may be included twice, because two overlapping loads are faster
    /// than a loop over bytes.
    @inline(__always)
    static func tail(_ bytes: Span<UInt8>, _ start: Int, _ count: Int) -> UInt64 {
        let end = start + count
        if count >= 8 { return load(bytes, end - 8).byteSwapped }
        if count >= 4 { return half(bytes, start) << 32 | half(bytes, end - 4) }
        let middle = start + count / 2
        return UInt64(bytes[start]) << 16 | UInt64(bytes[middle]) << 8 | UInt64(bytes[end - 1])
    }

    /// Reads four bytes as a big-endian number.
    @inline(__always)
    private static func half(_ bytes: Span<UInt8>, _ at: Int) -> UInt64 {
        UInt64(UInt32(bigEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: at, as: UInt32.self)))
    }

    /// Combines the groups of seven bits in the first `count` bytes.
    @inline(__always)
    static func groups(_ word: UInt64, _ count: Int) -> UInt64 {
        let bits = count == 8 ? word : word & ((1 << UInt64(8 * count)) - 1)
        let pairs = (bits & 0x007F_007F_007F_007F) | (bits & 0x7F00_7F00_7F00_7F00) >> 1
        let fours = (pairs & 0x0000_3FFF_0000_3FFF) | (pairs & 0x3FFF_0000_3FFF_0000) >> 2
        return (fours & 0x0FFF_FFFF) | (fours & 0x0FFF_FFFF_0000_0000) >> 4
    }

    /// Splits a number into groups of seven bits, one per byte: the inverse of `groups`.
    @inline(__always)
    static func spread(_ value: UInt64) -> UInt64 {
        let fours = (value & 0x0FFF_FFFF) | (value & 0x00FF_FFFF_F000_0000) << 4
        let pairs = (fours & 0x0000_3FFF_0000_3FFF) | (fours & 0x0FFF_C000_0FFF_C000) << 2
        return (pairs & 0x007F_007F_007F_007F) | (pairs & 0x3F80_3F80_3F80_3F80) << 1
    }

    /// Returns the high bit of the first zero byte, and possibly of later bytes, or 0 if there is no zero byte.
    @inline(__always)
    static func zeros(_ word: UInt64) -> UInt64 { (word &- 0x0101_0101_0101_0101) & ~word & highBits }
}
