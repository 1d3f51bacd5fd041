internal import CVaultShim
public import VaultCrypto

// Allocations whose size is determined by a file or a caller. If one of them fails, an error is thrown; if one of
// Swift's own small allocations fails, the program is terminated.

extension Secret {
    /// Makes a secret of `count` zero bytes. Throws `outOfMemory` if there is not enough memory.
    public init(allocating count: Int) throws(VaultError) {
        do throws(CryptoError) { try self.init(ifPossible: count) } catch { throw Memory.isExhausted(count) }
    }

    /// Copies bytes; the caller is responsible for wiping the original. Throws `outOfMemory` if there is not enough
    /// memory.
    public init(allocatingCopyOf bytes: UnsafeRawBufferPointer) throws(VaultError) {
        try self.init(allocating: bytes.count)
        withUnsafeMutableBytes { $0.copyMemory(from: bytes) }
    }
}

/// Checks that there is enough memory before an array is allocated.
package enum Memory {
    /// Smaller allocations usually come from memory that the process already has, and their failure cannot be
    /// predicted.
    private static let leastAsked = 131_072

    /// Makes an array of `count` bytes with `make`, which must allocate only once, or throws `outOfMemory`. Only one
    /// thread at a time runs this function, so memory that was found available is still available for the allocation,
    /// unless another part of the program uses that memory in between.
    package static func allocating<R>(_ count: Int, _ make: () -> R) throws(VaultError) -> R {
        guard count >= leastAsked else { return make() }
        vault_memory_lock()
        defer { vault_memory_unlock() }
        guard vault_memory_has(count + headSize) != 0 else { throw isExhausted(count) }
        return make()
    }

    /// Returns an array of `count` uninitialized bytes.
    package static func bytes(_ count: Int) throws(VaultError) -> [UInt8] {
        try allocating(count) { [UInt8](unsafeUninitializedCapacity: count) { $1 = count } }
    }

    /// An upper bound for the memory that an array uses in addition to its elements.
    private static let headSize = 4096

    fileprivate static func isExhausted(_ count: Int) -> VaultError {
        VaultError(.outOfMemory, "not enough memory for \(count) bytes")
    }
}

/// A secret for uses that require a copyable value: it is shared, and wiped when its last user releases it.
package final class SecretBox: Sendable {
    package let secret: Secret

    package init(_ secret: consuming Secret) { self.secret = secret }
}
