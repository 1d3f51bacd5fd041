package import VaultBytes

/// Goes through the frames of a region one after the other, in bounded memory.
package struct FrameWalker {
    private let file: any FileHandle
    private let region: Range<UInt64>
    private static let pieceSize = 1 << 20

    package init(file: any FileHandle, _ region: Range<UInt64>) {
        self.file = file
        self.region = region
    }

    /// Calls `body` with each frame, its head and its offset. Zeros before a commit are passed over and checked;
    /// anything else that is no frame is an error.
    package func walk(_ body: (UnsafeRawBufferPointer, FrameHead, UInt64) throws(VaultError) -> Void) throws(VaultError)
    {
        var buffer: [UInt8] = []
        var base = region.lowerBound
        var position = region.lowerBound
        while position < region.upperBound {
            try fill(&buffer, &base, position, Format.frameHeadSize)
            let end = position
            position = try passPadding(buffer, base, position)
            guard position < region.upperBound else { break }
            try fill(&buffer, &base, position, Format.frameHeadSize)
            let head = try head(buffer, Int(position - base), position)
            guard position == end || head.type == .commit else {
                throw VaultError(.structureInvalid, "zeros between two objects", at: end)
            }
            guard UInt64(head.length) <= region.upperBound - position else {
                throw VaultError(.structureInvalid, "a \(head.type.name) reaches past the end", at: position)
            }
            try fill(&buffer, &base, position, head.length)
            let start = Int(position - base)
            try buffer.span.bytes.withUnsafeBytes { (bytes) throws(VaultError) in
                try body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + head.length]), head, position)
            }
            position += UInt64(head.length)
        }
    }

    /// Makes sure that `count` bytes from `position` on are in the buffer, or all that is left.
    private func fill(_ buffer: inout [UInt8], _ base: inout UInt64, _ position: UInt64, _ count: Int)
        throws(VaultError)
    {
        let wanted = min(UInt64(count), region.upperBound - position)
        guard position + wanted > base + UInt64(buffer.count) else { return }
        let size = min(UInt64(max(count, Self.pieceSize)), region.upperBound - position)
        buffer = try file.bytes(Int(size), at: position)
        base = position
    }

    /// Where the next frame starts: at most 511 zeros may come before a commit, which is aligned.
    private func passPadding(_ buffer: [UInt8], _ base: UInt64, _ position: UInt64) throws(VaultError) -> UInt64 {
        let start = Int(position - base)
        guard buffer[start] == 0 else { return position }
        let stop = min(Padding.commitOffset(position), region.upperBound)
        let padding = try file.bytes(Int(stop - position), at: position)
        guard stop > position, padding.allSatisfy({ $0 == 0 }) else {
            throw VaultError(.structureInvalid, "no frame starts here", at: position)
        }
        return stop
    }

    private func head(_ buffer: [UInt8], _ start: Int, _ offset: UInt64) throws(VaultError) -> FrameHead {
        guard buffer.count - start >= Format.frameHeadSize else {
            throw VaultError(.structureInvalid, "the file ends within an object", at: offset)
        }
        let bytes = Array(buffer[start..<start + Format.frameHeadSize])
        return try decoding { () throws(FormatError) in try FrameHead(bytes.span, at: offset) }
    }
}
