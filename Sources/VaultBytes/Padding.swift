/// Sizes that tell less than the exact length.
package enum Padding {
    /// The padded length of a record's body (section 5.1).
    package static func record(_ length: Int) -> Int {
        for step in [128, 256, 512, 1024] where length <= step { return step }
        let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
        let kept = Int.bitWidth - 1 - exponent.leadingZeroBitCount + 1
        let mask = (1 << (exponent - kept)) - 1
        return (length + mask) & ~mask
    }

    /// The frame length of a page, keyring or history whose body has `length` bytes (section 5.2).
    package static func steppedFrame(_ length: Int) -> Int {
        (length + Format.sealOverhead + Format.pageStep - 1) / Format.pageStep * Format.pageStep
    }
}
