internal import VaultBytes

/// Zeros that a writer keeps after the newest commit (section 7.4): a small commit then overwrites what the file has
/// already, and its sync need not bring a new length to the disk, which costs more than the bytes.
package enum Reserve {
    /// How many zeros a writer adds at a time.
    static let step = 131_072

    /// Where objects end in a file (section 7.1, step 3): its size, less a reserve of at most 262,144 zeros.
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

    /// Where objects end if all that follows is zeros: `least`, unless its last bytes are the rest of a sector.
    private static func contentEnd(before least: UInt64, _ file: any FileHandle) throws(VaultError) -> UInt64 {
        let count = min(least, Format.commitAlignment)
        let bytes = try file.bytes(Int(count), at: least - count)
        guard let last = bytes.lastIndex(where: { $0 != 0 }) else { return least }
        return Padding.commitOffset(least - count + UInt64(last) + 1)
    }
}
