package import VaultFmt

/// A growable byte buffer that may hold secrets. Outgrown storage is wiped at once, and the remaining storage when the
/// buffer is destroyed.
package struct SecretBuffer: ~Copyable {
    private var storage: Secret
    package private(set) var count = 0

    package init(capacity: Int = 4096) {
        storage = Secret(count: max(capacity, 1))
    }

    package var isEmpty: Bool { count == 0 }

    package mutating func append(_ byte: UInt8) {
        reserve(1)
        let at = count
        storage.withUnsafeMutableBytes { $0[at] = byte }
        count += 1
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count)
        let at = count
        storage.withUnsafeMutableBytes { buffer in
            UnsafeMutableRawBufferPointer(rebasing: buffer[at...]).copyMemory(from: bytes)
        }
        count += bytes.count
    }

    package mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(contentsOf bytes: some Collection<UInt8>) {
        reserve(bytes.count)
        let at = count
        storage.withUnsafeMutableBytes { buffer in
            UnsafeMutableRawBufferPointer(rebasing: buffer[at...]).copyBytes(from: bytes)
        }
        count += bytes.count
    }

    package mutating func append(_ secret: borrowing Secret) {
        reserve(secret.count)
        let at = count
        secret.withUnsafeBytes { bytes in
            storage.withUnsafeMutableBytes { buffer in
                UnsafeMutableRawBufferPointer(rebasing: buffer[at...]).copyMemory(from: bytes)
            }
        }
        count += secret.count
    }

    package borrowing func withUnsafeBytes<R: ~Copyable, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R)
        throws(E)
        -> R
    {
        let used = count
        return try storage.withUnsafeBytes { buffer throws(E) -> R in
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<used]))
        }
    }

    /// Discards the contents; the bytes are wiped at the latest when the buffer is destroyed.
    package mutating func removeAll() {
        count = 0
    }

    /// Returns a copy of the contents.
    package borrowing func secret() -> Secret {
        withUnsafeBytes { Secret(copying: $0) }
    }

    private mutating func reserve(_ space: Int) {
        guard storage.count - count < space else { return }
        var larger = Secret(count: max(storage.count * 2, count + space))
        let used = count
        storage.withUnsafeBytes { old in
            larger.withUnsafeMutableBytes { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: old[..<used])) }
        }
        storage = larger
    }
}

extension Secret {
    /// Copies bytes; wiping the original is up to the caller.
    package init(copying bytes: some Collection<UInt8>) {
        self.init(count: bytes.count)
        withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }
}
