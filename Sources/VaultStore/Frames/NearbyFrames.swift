package import VaultBytes

/// Reads frames sorted by offset; frames that are close together in the file are read with one call.
///
/// A call costs as much as copying a few kilobytes of unneeded data. In a vault of a few thousand items, the records of
/// a batch of items are close enough together.
package struct NearbyFrames: Sendable {
    private let file: any FileHandle
    private var refs: [ObjectRef] = []
    /// A buffer for pieces of the file, allocated when the first frames are found close together.
    private var buffer: [UInt8] = []
    /// The range of the file that the buffer contains.
    private var piece: Range<UInt64> = 0..<0

    /// The size of the largest piece.
    private static let mostBytes = 1 << 15
    /// The maximum number of bytes between two frames of a piece.
    private static let mostBetween: UInt64 = 4096

    package init(_ file: any FileHandle) { self.file = file }

    /// Sets the frames to read, sorted by offset. Their references must have been checked.
    package mutating func begin(_ refs: [ObjectRef]) {
        self.refs = refs
        piece = 0..<0
    }

    /// Reads a frame as `FrameReader.read` does; this is fastest if frames are read in order.
    package mutating func read(
        _ index: Int, _ type: FrameType, into frame: inout [UInt8]
    ) throws(VaultError) {
        let ref = refs[index]
        if !hasPiece(with: ref) { try readPiece(from: index) }
        guard hasPiece(with: ref) else { return try FrameReader.read(ref, type, file, into: &frame) }
        let start = Int(ref.offset - piece.lowerBound)
        frame.removeAll(keepingCapacity: true)
        frame.append(buffer.span.extracting(start..<start + ref.length))
        try FrameReader.check(frame, ref, type)
    }

    private func hasPiece(with ref: ObjectRef) -> Bool { piece.lowerBound <= ref.offset && ref.end <= piece.upperBound }

    /// Reads a piece that starts with a frame and contains at least one more; reads nothing if no other frame is
    /// nearby.
    private mutating func readPiece(from index: Int) throws(VaultError) {
        let start = refs[index].offset
        var end = refs[index].end
        var isAlone = true
        for ref in refs[(index + 1)...] {
            guard ref.offset <= end + Self.mostBetween, ref.end <= start + UInt64(Self.mostBytes) else { break }
            end = max(end, ref.end)
            isAlone = false
        }
        guard !isAlone, end - start <= UInt64(Self.mostBytes) else { return }
        if buffer.isEmpty { buffer = try Memory.bytes(Self.mostBytes) }
        piece = 0..<0
        do throws(VaultError) { try fill(start, Int(end - start)) } catch {
            // If the file ends within the piece, each frame is read by itself, to find the one that is incomplete.
            guard error.code == .structureInvalid else { throw error }
            return
        }
        piece = start..<end
    }

    private mutating func fill(_ offset: UInt64, _ count: Int) throws(VaultError) {
        let file = file
        var span = buffer.mutableSpan
        try span.withUnsafeMutableBytes { (bytes) throws(VaultError) in
            try file.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]), at: offset)
        }
    }
}
