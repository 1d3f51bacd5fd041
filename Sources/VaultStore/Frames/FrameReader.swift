package import VaultBytes
internal import VaultCrypto

/// Reads the frames that references point to.
package enum FrameReader {
    /// Reads a frame with a single read; its head and hash are checked before the bytes are used.
    package static func read(_ ref: ObjectRef, _ type: FrameType, _ file: any FileHandle) throws(VaultError) -> [UInt8]
    {
        let frame = try file.bytes(ref.length, at: ref.offset)
        try check(frame, ref, type)
        return frame
    }

    /// Reads a frame as the function above does, but into a reusable buffer.
    package static func read(_ ref: ObjectRef, _ type: FrameType, _ file: any FileHandle, into frame: inout [UInt8])
        throws(VaultError)
    {
        if frame.count > ref.length { frame.removeLast(frame.count - ref.length) }
        if frame.count < ref.length {
            if frame.capacity < ref.length {
                frame = try Memory.bytes(ref.length)
            } else {
                frame.append(zeros: ref.length - frame.count)
            }
        }
        var span = frame.mutableSpan
        try span.withUnsafeMutableBytes { (buffer) throws(VaultError) in try file.read(into: buffer, at: ref.offset) }
        try check(frame, ref, type)
    }

    package static func check(_ frame: [UInt8], _ ref: ObjectRef, _ type: FrameType) throws(VaultError) {
        guard Bytes32(hashing: frame) == ref.hash else {
            throw VaultError(
                .authenticationFailed,
                "a \(type.name) is not the one that the index refers to: it is damaged or altered",
                at: ref.offset)
        }
        let head = FrameHead(type, length: ref.length).encoded.littleEndian
        guard withUnsafeBytes(of: head, { frame.starts(with: $0) }) else {
            throw VaultError(
                .structureInvalid, "a different frame was found instead of a \(type.name) of \(ref.length) bytes",
                at: ref.offset
            )
        }
    }
}

extension Bytes32 {
    /// Computes `H(bytes)`.
    package init(hashing bytes: UnsafeRawBufferPointer) { self = Blake2b.hash(bytes) }

    package init(hashing bytes: [UInt8]) { self = bytes.withUnsafeBytes { Bytes32(hashing: $0) } }
}
