internal import CSodium
internal import CVaultShim
package import VaultBytes

/// BLAKE2b with a 32-byte output, computed incrementally, with or without a key. Its state is wiped after use.
package struct Blake2b: ~Copyable {
    /// The C type is opaque to Swift; this memory has that type's size and alignment.
    private let memory: UnsafeMutableRawPointer
    private static let size = crypto_generichash_blake2b_statebytes()
    private var state: OpaquePointer { OpaquePointer(memory) }

    package init() {
        memory = .allocate(byteCount: Self.size, alignment: 64)
        crypto_generichash_blake2b_init(state, nil, 0, 32)
    }

    package init(key: borrowing Secret) {
        memory = .allocate(byteCount: Self.size, alignment: 64)
        key.withUnsafeBytes { bytes in
            _ = crypto_generichash_blake2b_init(state, bytes.u8, bytes.count, 32)
        }
    }

    deinit {
        sodium_memzero(memory, Self.size)
        memory.deallocate()
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        crypto_generichash_blake2b_update(state, bytes.u8, UInt64(bytes.count))
    }

    package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    package mutating func update(_ label: StaticString) {
        var length = UInt8(label.utf8CodeUnitCount)
        crypto_generichash_blake2b_update(state, &length, 1)
        crypto_generichash_blake2b_update(state, label.utf8Start, UInt64(length))
    }

    package mutating func update(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { update($0) }
    }

    package mutating func update(_ value: UInt32) {
        withUnsafeBytes(of: value.littleEndian) { update($0) }
    }

    package mutating func update(_ value: Bytes16) {
        withUnsafeBytes(of: value.words) { update($0) }
    }

    package mutating func update(_ value: Bytes32) {
        withUnsafeBytes(of: value.words) { update($0) }
    }

    package mutating func finish() -> Bytes32 {
        var out = Bytes32.zero
        withUnsafeMutableBytes(of: &out.words) { buffer in
            _ = crypto_generichash_blake2b_final(state, buffer.u8, 32)
        }
        return out
    }

    package mutating func finishSecret() -> Secret {
        var out = Secret(count: 32)
        out.withUnsafeMutableBytes { buffer in
            _ = crypto_generichash_blake2b_final(state, buffer.u8, 32)
        }
        // libsodium 1.0.18 leaves the hash on the stack.
        vault_wipe_stack()
        return out
    }

    /// Returns `H(bytes)` for a single buffer.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> Bytes32 {
        var out = Bytes32.zero
        withUnsafeMutableBytes(of: &out.words) { buffer in
            _ = crypto_generichash_blake2b(
                buffer.u8, 32, bytes.u8,
                UInt64(bytes.count), nil, 0)
        }
        return out
    }
}

extension Secret {
    /// Returns `derive(self, label, x)` as a key (section 1).
    package borrowing func derive(_ label: StaticString, _ x: [UInt8] = []) -> Secret {
        var mac = Blake2b(key: self)
        mac.update(label)
        mac.update(x)
        return mac.finishSecret()
    }

    /// Returns `derive(self, label, x)` as a MAC, which is compared in constant time.
    package borrowing func mac(_ label: StaticString, _ x: UnsafeRawBufferPointer) -> Bytes32 {
        let size = 1 + label.utf8CodeUnitCount + x.count
        // Hash everything as one message: maintaining a state would take as long as hashing a small message.
        return withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { message in
            message[0] = UInt8(label.utf8CodeUnitCount)
            let end = message.copy(
                UnsafeRawBufferPointer(start: label.utf8Start, count: label.utf8CodeUnitCount), at: 1)
            _ = message.copy(x, at: end)
            return hash(UnsafeRawBufferPointer(message))
        }
    }

    /// Returns `derive(self, label, x)` as a MAC, for an `x` of 32 bytes.
    package borrowing func mac(_ label: StaticString, _ x: Bytes32) -> Bytes32 {
        Swift.withUnsafeBytes(of: x.words) { mac(label, $0) }
    }

    /// Returns the keyed hash of a single buffer.
    private borrowing func hash(_ message: UnsafeRawBufferPointer) -> Bytes32 {
        var out = Bytes32.zero
        withUnsafeBytes { key in
            Swift.withUnsafeMutableBytes(of: &out.words) { buffer in
                _ = crypto_generichash_blake2b(buffer.u8, 32, message.u8, UInt64(message.count), key.u8, key.count)
            }
        }
        return out
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Copies bytes to a position with enough room after it, and returns the end of the copy.
    fileprivate func copy(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Int {
        UnsafeMutableRawBufferPointer(rebasing: self[start..<start + bytes.count]).copyMemory(from: bytes)
        return start + bytes.count
    }
}
