package import VaultBytes

/// A part of a new file in which any thread can write frames in any order.
///
/// A small part is kept in memory and written in a single call: otherwise, each record would need a separate write,
/// because records are sorted by their nonces, which are random.
package struct RecordRoom: Sendable {
    private let file: any FileHandle
    private let range: Range<UInt64>
    /// The bytes of a small part; nil for a larger one.
    private let memory: RoomMemory?
    /// The size of the largest part that is kept in memory.
    private static let mostInMemory: UInt64 = 1 << 21

    init(file: any FileHandle, range: Range<UInt64>) throws(VaultError) {
        self.file = file
        self.range = range
        let count = range.upperBound - range.lowerBound
        memory = count > 0 && count <= Self.mostInMemory ? try RoomMemory(Int(count)) : nil
    }

    /// Puts a frame at the given offset in the reserved space.
    package func place(_ frame: [UInt8], at offset: UInt64) throws(VaultError) -> ObjectRef {
        guard range.contains(offset), range.upperBound - offset >= UInt64(frame.count) else {
            throw VaultError(.structureInvalid, "the index changed while it was being read", at: offset)
        }
        if let memory {
            memory.put(frame, at: Int(offset - range.lowerBound))
        } else {
            try file.write(frame, at: offset)
        }
        return ObjectRef(offset: offset, length: frame.count, hash: Bytes32(hashing: frame))
    }

    /// Writes the data that is in memory. All frames must have been placed.
    func write() throws(VaultError) { try memory?.write(to: file, at: range.lowerBound) }
}

/// The bytes of a room, shared by the threads that fill it.
private final class RoomMemory: Sendable {
    private let bytes: Guarded<[UInt8]>

    init(_ count: Int) throws(VaultError) {
        bytes = Guarded(try Memory.allocating(count) { [UInt8](repeating: 0, count: count) })
    }

    func put(_ frame: [UInt8], at start: Int) {
        bytes.withLock { bytes in
            bytes.withUnsafeMutableBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + frame.count]).copyBytes(from: frame)
            }
        }
    }

    func write(to file: any FileHandle, at offset: UInt64) throws(VaultError) {
        try bytes.withLock { (bytes) throws(VaultError) in try file.write(bytes, at: offset) }
    }
}
