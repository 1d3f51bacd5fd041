internal import CVaultShim
public import VaultCrypto

// Memory whose size a file or a caller decides: where the system has none left, that is an error. Small allocations of
// Swift's own are not: where one fails, the program ends.

extension Secret {
    /// Makes a secret of `count` zero bytes. Throws `outOfMemory` where the system has no memory for it.
    public init(allocating count: Int) throws(VaultError) {
        do throws(CryptoError) { try self.init(ifPossible: count) } catch { throw Memory.isExhausted(count) }
    }

    /// Copies bytes; what they were copied from is the caller's to wipe. Throws `outOfMemory`.
    public init(allocatingCopyOf bytes: UnsafeRawBufferPointer) throws(VaultError) {
        try self.init(allocating: bytes.count)
        withUnsafeMutableBytes { $0.copyMemory(from: bytes) }
    }
}

/// Asks for memory before an array of that size is made.
package enum Memory {
    /// What is smaller comes from memory that the process has already, as a rule, and a failure there cannot be
    /// foreseen.
    private static let leastAsked = 131_072

    /// Makes an array in `count` bytes, for which `make` allocates once, or throws `outOfMemory`. One thread at a time:
    /// what was there when it was asked for is there when it is allocated, unless the rest of the program takes it in
    /// between.
    package static func allocating<R>(_ count: Int, _ make: () -> R) throws(VaultError) -> R {
        guard count >= leastAsked else { return make() }
        vault_memory_lock()
        defer { vault_memory_unlock() }
        guard vault_memory_has(count + headSize) != 0 else { throw isExhausted(count) }
        return make()
    }

    /// An array of that size, whose bytes are not set.
    package static func bytes(_ count: Int) throws(VaultError) -> [UInt8] {
        try allocating(count) { [UInt8](unsafeUninitializedCapacity: count) { $1 = count } }
    }

    /// What an array takes beside its elements, and more.
    private static let headSize = 4096

    fileprivate static func isExhausted(_ count: Int) -> VaultError {
        VaultError(.outOfMemory, "there is no memory for \(count) bytes")
    }
}

/// A secret where a copyable value is needed: shared, and wiped with its last holder.
package final class SecretBox: Sendable {
    package let secret: Secret

    package init(_ secret: consuming Secret) { self.secret = secret }
}
