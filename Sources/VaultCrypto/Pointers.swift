/// libsodium needs a non-null pointer even for an empty buffer, whose address may be nil.
nonisolated(unsafe) private let nowhere = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)

extension UnsafeRawBufferPointer {
    /// The address as C's `const unsigned char *`.
    var u8: UnsafePointer<UInt8> { (baseAddress ?? UnsafeRawPointer(nowhere)).assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
    /// The address as C's `unsigned char *`.
    var u8: UnsafeMutablePointer<UInt8> { (baseAddress ?? nowhere).assumingMemoryBound(to: UInt8.self) }
}
