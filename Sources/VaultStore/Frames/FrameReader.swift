package import VaultBytes
internal import VaultCrypto

/// Frames that a reference names.
package enum FrameReader {
    /// One read; head and hash are checked before anything else is done with the bytes.
    package static func read(_ ref: ObjectRef, _ type: FrameType, _ file: any FileHandle) throws(VaultError) -> [UInt8]
    {
        let frame = try file.bytes(ref.length, at: ref.offset)
        try check(frame, ref, type)
        return frame
    }

    /// The same into a buffer that is reused.
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
                .authenticationFailed, "a \(type.name) is not the one that the index names: damaged or altered",
                at: ref.offset)
        }
        let head = FrameHead(type, length: ref.length).encoded.littleEndian
        guard withUnsafeBytes(of: head, { frame.starts(with: $0) }) else {
            throw VaultError(
                .structureInvalid, "another frame where a \(type.name) of \(ref.length) bytes should be", at: ref.offset
            )
        }
    }
}

extension Bytes32 {
    /// `H(bytes)`.
    package init(hashing bytes: UnsafeRawBufferPointer) { self = Blake2b.hash(bytes) }

    package init(hashing bytes: [UInt8]) { self = bytes.withUnsafeBytes { Bytes32(hashing: $0) } }
}
