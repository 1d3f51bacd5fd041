/// Padded sizes, which hide exact lengths.
package enum Padding {
    /// Returns `pad(n)`, the smallest step of at least `length` bytes (section 5.1).
    package static func record(_ length: Int) -> Int {
        for step in [128, 256, 512, 1024] where length <= step { return step }
        let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
        let kept = Int.bitWidth - 1 - exponent.leadingZeroBitCount + 1
        let mask = (1 << (exponent - kept)) - 1
        return (length + mask) & ~mask
    }

    /// Returns whether a record's body may have this length.
    package static func isStep(_ length: Int) -> Bool { length >= 128 && record(length) == length }

    /// Returns the frame length of a page, past, keyring or vector whose body has `length` bytes.
    package static func steppedFrame(_ length: Int) -> Int {
        (length + Format.sealOverhead + Format.pageStep - 1) / Format.pageStep * Format.pageStep
    }

    /// Returns the smallest multiple of 512 that is at least `offset`, where a commit may start.
    package static func commitOffset(_ offset: UInt64) -> UInt64 {
        (offset + Format.commitAlignment - 1) & ~(Format.commitAlignment - 1)
    }
}

extension Array where Element == UInt8 {
    /// Appends zeros to complete the body of a stepped frame.
    package mutating func padSteppedBody() { append(zeros: Padding.steppedFrame(count) - Format.sealOverhead - count) }
}

extension Cursor {
    /// Checks that the rest of a stepped frame's body is padding, and no longer than necessary.
    package mutating func finishSteppedBody(_ bytes: Span<UInt8>, _ what: StaticString) throws(FormatError) {
        guard end == Padding.steppedFrame(position) - Format.sealOverhead else {
            throw error("\(what) is longer than necessary")
        }
        try padding(bytes, to: end)
    }
}
