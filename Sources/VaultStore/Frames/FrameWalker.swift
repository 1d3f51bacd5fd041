package import VaultBytes

/// Walks over the consecutive frames of a region in bounded memory.
package struct FrameWalker {
    private let file: any FileHandle
    private let region: Range<UInt64>
    private static let pieceSize = 1 << 20

    package init(file: any FileHandle, _ region: Range<UInt64>) {
        self.file = file
        self.region = region
    }

    /// Consecutive frames, and the bytes that contain them.
    package struct Piece: Sendable {
        package struct Frame: Sendable {
            /// The frame's position in the piece's bytes.
            package let range: Range<Int>
            package let head: FrameHead
            package let offset: UInt64
        }

        package fileprivate(set) var bytes: [UInt8] = []
        package fileprivate(set) var frames: [Frame] = []
        /// The position in the file of the piece's first byte.
        fileprivate var base: UInt64

        fileprivate init(at base: UInt64) { self.base = base }
    }

    /// Calls `body` with each frame, its head and its offset. Zeros before a commit are checked and skipped; anything
    /// else that is not a frame is an error.
    package func walk(_ body: (UnsafeRawBufferPointer, FrameHead, UInt64) throws(VaultError) -> Void) throws(VaultError)
    {
        try pieces { (piece) throws(VaultError) in
            try piece.bytes.span.bytes.withUnsafeBytes { (bytes) throws(VaultError) in
                for frame in piece.frames {
                    try body(UnsafeRawBufferPointer(rebasing: bytes[frame.range]), frame.head, frame.offset)
                }
            }
        }
    }

    /// Calls `body` with pieces, which can be divided among threads; each piece contains the frames of one read. Frames
    /// that precede an error are passed on before the error is thrown.
    package func pieces(_ body: (Piece) throws(VaultError) -> Void) throws(VaultError) {
        var piece = Piece(at: region.lowerBound)
        var position = region.lowerBound
        var failure: VaultError?
        do throws(VaultError) {
            while try step(&piece, &position, body) {}
        } catch { failure = error }
        if !piece.frames.isEmpty { try body(piece) }
        if let failure { throw failure }
    }

    /// Adds the next frame; returns false at the end.
    private func step(_ piece: inout Piece, _ position: inout UInt64, _ body: (Piece) throws(VaultError) -> Void)
        throws(VaultError) -> Bool
    {
        guard position < region.upperBound else { return false }
        try fill(&piece, position, Format.frameHeadSize, body)
        let end = position
        position = try passPadding(piece, position)
        guard position < region.upperBound else { return false }
        try fill(&piece, position, Format.frameHeadSize, body)
        let head = try head(piece.bytes, Int(position - piece.base), position)
        guard position == end || head.type == .commit else {
            throw VaultError(.structureInvalid, "unexpected zeros between two objects", at: end)
        }
        guard UInt64(head.length) <= region.upperBound - position else {
            throw VaultError(.structureInvalid, "a \(head.type.name) extends past the end", at: position)
        }
        try fill(&piece, position, head.length, body)
        let start = Int(position - piece.base)
        piece.frames.append(Piece.Frame(range: start..<start + head.length, head: head, offset: position))
        position += UInt64(head.length)
        return true
    }

    /// Ensures that the piece contains `count` bytes from `position`, or all remaining bytes. Otherwise, the piece is
    /// passed on and another is started.
    private func fill(
        _ piece: inout Piece, _ position: UInt64, _ count: Int, _ body: (Piece) throws(VaultError) -> Void
    ) throws(VaultError) {
        let wanted = min(UInt64(count), region.upperBound - position)
        guard position + wanted > piece.base + UInt64(piece.bytes.count) else { return }
        if !piece.frames.isEmpty {
            // The piece is moved out first: `body` must receive each frame only once, even if it throws.
            let full = piece
            piece = Piece(at: position)
            try body(full)
        }
        piece = Piece(at: position)
        let size = min(UInt64(max(count, Self.pieceSize)), region.upperBound - position)
        piece.bytes = try file.bytes(Int(size), at: position)
    }

    /// Returns the start of the next frame: at most 511 zeros may precede a commit, which is aligned.
    private func passPadding(_ piece: Piece, _ position: UInt64) throws(VaultError) -> UInt64 {
        guard piece.bytes[Int(position - piece.base)] == 0 else { return position }
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
