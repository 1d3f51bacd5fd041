internal import CArgon2

/// Argon2id, version 1.3 (RFC 9106), using libargon2, which wipes its memory.
package enum Argon2 {
    /// Stretches 32 bytes to 32 bytes, using `lanes` threads. The caller has checked the cost against its policy.
    package static func stretch(
        _ input: borrowing Secret, salt: [UInt8], memoryKiB: UInt32, passes: UInt32, lanes: UInt32
    ) throws(CryptoError) -> Secret {
        var out = Secret(count: 32)
        let result = out.withUnsafeMutableBytes { out in
            input.withUnsafeBytes { input in
                salt.withUnsafeBytes { salt in
                    argon2id_hash_raw(
                        passes, memoryKiB, lanes, input.baseAddress, input.count, salt.baseAddress, salt.count,
                        out.baseAddress, out.count)
                }
            }
        }
        switch argon2_error_codes(rawValue: result) {
        case ARGON2_OK: return out
        case ARGON2_MEMORY_ALLOCATION_ERROR: throw .outOfMemory
        default: throw .kdfFailed
        }
    }
}
