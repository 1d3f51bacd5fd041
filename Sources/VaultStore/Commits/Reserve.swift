internal import VaultBytes

/// Zeros that a writer keeps after the newest commit (section 7.3): a small commit then overwrites what the file has already, and its sync need not
/// bring a new length to the disk, which costs more than the bytes.
package enum Reserve {
    /// How many zeros a writer adds at a time.
    static let step = 131_072

    /// Where objects end in a file (section 7.1): its size, less a reserve. Zeros that reach to `start`, where objects begin, are none: no commit is
    /// before them.
    package static func contentEnd(of file: any FileHandle, size: UInt64, after start: UInt64) throws(VaultError) -> UInt64 {
        let alignment = Format.commitAlignment
        let longest = Format.Limit.reserve
        let most = longest + alignment
        let least = size > most ? size - most : 0
        var end = size
        var piece = alignment
        while end > least {
            let from = end - min(piece, end - least)
            let bytes = try file.bytes(Int(end - from), at: from)
            if let last = bytes.lastIndex(where: { $0 != 0 }) {
                let content = (from + UInt64(last) + alignment) / alignment * alignment
                let isReserve = content > start && content < size && size - content <= longest
                return isReserve ? content : size
            }
            end = from
            piece = 16_384
        }
        return size
    }
}
