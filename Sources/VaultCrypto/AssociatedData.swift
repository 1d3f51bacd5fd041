package import VaultBytes

/// The associated data of a sealed object: label, vault id and identity, assembled without allocating (section 4).
package struct AssociatedData: Sendable {
    private var storage = InlineArray<128, UInt8>(repeating: 0)
    private var count = 0

    package init(_ label: StaticString, vault: Bytes16) {
        append(UInt8(label.utf8CodeUnitCount))
        append(UnsafeRawBufferPointer(start: label.utf8Start, count: label.utf8CodeUnitCount))
        append(vault)
    }

    package mutating func append(_ byte: UInt8) {
        storage[count] = byte
        count += 1
    }

    package mutating func append(_ value: UInt64) { append(number: value.littleEndian) }

    package mutating func append(_ id: Bytes16) {
        append(number: id.words.0)
        append(number: id.words.1)
    }

    @inline(__always)
    private mutating func append<N: FixedWidthInteger & BitwiseCopyable>(number: N) {
        precondition(MemoryLayout<N>.size <= 128 - count, "associated data must not exceed 128 bytes")
        Swift.withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: number, toByteOffset: count, as: N.self) }
        count += MemoryLayout<N>.size
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= 128 - count, "associated data must not exceed 128 bytes")
        Swift.withUnsafeMutableBytes(of: &storage) {
            UnsafeMutableRawBufferPointer(rebasing: $0[count...]).copyMemory(from: bytes)
        }
        count += bytes.count
    }

    package func withUnsafeBytes<R: ~Copyable>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        Swift.withUnsafeBytes(of: storage) { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
}
