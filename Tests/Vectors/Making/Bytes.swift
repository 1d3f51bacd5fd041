/// Small changes to bytes, at offsets that a vector's comment explains.
internal import VaultBytes

extension [UInt8] {
    mutating func flip(_ at: Int) { self[at] ^= 1 }

    mutating func put(u16 value: UInt16, at offset: Int) {
        put(Swift.withUnsafeBytes(of: value.littleEndian, Array.init), at: offset)
    }
    mutating func put(u32 value: UInt32, at offset: Int) {
        put(Swift.withUnsafeBytes(of: value.littleEndian, Array.init), at: offset)
    }
    mutating func put(u64 value: UInt64, at offset: Int) {
        put(Swift.withUnsafeBytes(of: value.littleEndian, Array.init), at: offset)
    }
    mutating func put(_ bytes: [UInt8], at offset: Int) { replaceSubrange(offset..<offset + bytes.count, with: bytes) }

    /// The same bytes `count` times.
    func times(_ count: Int) -> [UInt8] { (0..<count).flatMap { _ in self } }
}

extension [UInt8] {
    /// Puts other bytes in place of `count`; what that makes longer is taken from the end, which is padding.
    mutating func exchange(_ at: Int, _ count: Int, _ bytes: [UInt8]) {
        replaceSubrange(at..<at + count, with: bytes)
        if bytes.count > count { removeLast(bytes.count - count) }
    }
}
