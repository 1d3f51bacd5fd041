internal import VaultBytes

/// The zeros that a writer leaves after the newest commit (section 7.4). A small commit then overwrites space that the
/// file already has, so its sync need not write a new file length, which takes longer than writing the bytes.
package enum Reserve {
    /// The number of zeros that a writer adds at a time.
    static let step = 131_072

    /// Returns the offset at which the objects in a file end (section 7.1, step 3): the file's size, minus a reserve of
    /// at most 262,144 zeros.
    package static func contentEnd(of file: any FileHandle, size: UInt64) throws(VaultError) -> UInt64 {
        let least = size > Format.Limit.reserve ? size - Format.Limit.reserve : 0
        var end = size
        var piece = Format.commitAlignment
        while end > least {
            let from = end - min(piece, end - least)
            let bytes = try file.bytes(Int(end - from), at: from)
            if let last = bytes.lastIndex(where: { $0 != 0 }) {
                return min(Padding.commitOffset(from + UInt64(last) + 1), size)
            }
            end = from
            piece = 16_384
        }
        return min(max(try contentEnd(before: least, file), least), size)
    }

    /// Returns the offset at which the objects end if the file contains only zeros from `least` on: the end of the
    /// sector that contains the last nonzero byte.
    private static func contentEnd(before least: UInt64, _ file: any FileHandle) throws(VaultError) -> UInt64 {
        let count = min(least, Format.commitAlignment)
        let bytes = try file.bytes(Int(count), at: least - count)
        guard let last = bytes.lastIndex(where: { $0 != 0 }) else { return least }
        return Padding.commitOffset(least - count + UInt64(last) + 1)
    }
}
