/// Functions for writing, the counterparts of `Cursor`'s reads. They append to an array, which must not hold secrets.
extension Array where Element == UInt8 {
    package mutating func append(u16 value: UInt16) { append(number: value) }

    package mutating func append(u32 value: UInt32) { append(number: value) }

    package mutating func append(u64 value: UInt64) { append(number: value) }

    @inline(__always)
    private mutating func append(number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends a big-endian number, for use in keys, which are compared bytewise.
    package mutating func append(n32 value: UInt32) { append(u32: value.byteSwapped) }

    package mutating func append(_ value: Bytes16) { Swift.withUnsafeBytes(of: value.words) { append(contentsOf: $0) } }

    package mutating func append(_ value: Bytes32) { Swift.withUnsafeBytes(of: value.words) { append(contentsOf: $0) } }

    package mutating func append(varint value: UInt64) {
        if value < 0x80 { return append(UInt8(truncatingIfNeeded: value)) }
        if value < 1 << 56 { return append(groups: value) }
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends a varint of two to eight bytes in one step.
    private mutating func append(groups value: UInt64) {
        let count = VarintSize.of(Int(value))
        let word = Words.spread(value) | (Words.highBits & ((1 << UInt64(8 * (count - 1))) - 1))
        Swift.withUnsafeBytes(of: word.littleEndian) {
            append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<count]))
        }
    }

    package mutating func append(zigzag value: Int64) {
        append(varint: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    package mutating func append(zeros count: Int) {
        // Appending an array is a single memory copy; appending a repeated element is a loop.
        var rest = count
        // Growing the array in steps would allocate up to twice as much memory as needed.
        if count > zeroBytes.count { reserveCapacity(self.count + count) }
        while rest > 0 {
            let part = Swift.min(rest, zeroBytes.count)
            append(contentsOf: zeroBytes[..<part])
            rest -= part
        }
    }

    package mutating func append(_ bytes: Span<UInt8>) { bytes.bytes.withUnsafeBytes { append(contentsOf: $0) } }
}

/// Copies parts of a span.
package enum ByteCopy {
    package static func of(_ bytes: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        bytes.extracting(range).bytes.withUnsafeBytes { [UInt8]($0) }
    }

    /// Returns a copy of two parts, one after the other.
    package static func of(_ bytes: Span<UInt8>, _ first: Range<Int>, _ second: Range<Int>) -> [UInt8] {
        bytes.extracting(first).bytes.withUnsafeBytes { first in
            bytes.extracting(second).bytes.withUnsafeBytes { second in
                var out = [UInt8]()
                out.reserveCapacity(first.count + second.count)
                out.append(contentsOf: first)
                out.append(contentsOf: second)
                return out
            }
        }
    }
}

private let zeroBytes = [UInt8](repeating: 0, count: 4096)

/// Computes the encoded lengths of numbers.
package enum VarintSize {
    @inline(__always)
    package static func of(_ value: Int) -> Int {
        value < 0x80 ? 1 : (70 - UInt64(value).leadingZeroBitCount) / 7
    }
}

/// Compares bytes lexicographically, which is the order of the tree.
package enum ByteOrder {
    @inline(__always)
    package static func compare(_ left: Span<UInt8>, _ a: Range<Int>, _ right: Span<UInt8>, _ b: Range<Int>) -> Int {
        let common = min(a.count, b.count)
        var index = 0
        while index + 8 <= common {
            let x = Words.load(left, a.lowerBound + index)
            let y = Words.load(right, b.lowerBound + index)
            if x != y { return x.byteSwapped < y.byteSwapped ? -1 : 1 }
            index += 8
        }
        if index < common {
            let x = Words.tail(left, a.lowerBound, common)
            let y = Words.tail(right, b.lowerBound, common)
            if x != y { return x < y ? -1 : 1 }
        }
        return a.count == b.count ? 0 : (a.count < b.count ? -1 : 1)
    }

    /// Compares the concatenation of two parts with a single part.
    package static func compare(
        _ left: Span<UInt8>, _ first: Range<Int>, _ second: Range<Int>, _ right: Span<UInt8>, _ whole: Range<Int>
    ) -> Int {
        let common = min(first.count, whole.count)
        let order = compare(left, first, right, whole.lowerBound..<whole.lowerBound + common)
        return order != 0 ? order : compare(left, second, right, whole.lowerBound + common..<whole.upperBound)
    }

    @inline(__always)
    package static func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        compare(left, 0..<left.count, right, 0..<right.count)
    }

    package static func isLess(_ left: [UInt8], _ right: [UInt8]) -> Bool { compare(left.span, right.span) < 0 }

    /// Returns the length of the common prefix.
    package static func commonPrefix(_ left: [UInt8], _ right: [UInt8]) -> Int { commonPrefix(left.span, right.span) }

    /// Returns the length of the common prefix.
    package static func commonPrefix(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        let most = min(left.count, right.count)
        var index = 0
        while index + 8 <= most {
            let difference = Words.load(left, index) ^ Words.load(right, index)
            if difference != 0 { return index + difference.trailingZeroBitCount / 8 }
            index += 8
        }
        guard index < most, most >= 8 else {
            while index < most, left[index] == right[index] { index += 1 }
            return index
        }
        // Compare the last eight bytes; the first few of these are already known to be equal.
        let difference = Words.load(left, most - 8) ^ Words.load(right, most - 8)
        return difference == 0 ? most : most - 8 + difference.trailingZeroBitCount / 8
    }
}
