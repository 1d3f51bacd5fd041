internal import CArgon2
internal import CVaultShim

/// Argon2id, version 1.3 (RFC 9106), using libargon2, which wipes its memory.
package enum Argon2 {
    /// Stretches 32 bytes to 32 bytes on `lanes` threads, or on one thread if the system cannot start the others; the
    /// result is the same. The caller has checked the cost against its policy.
    package static func stretch(
        _ input: borrowing Secret, salt: [UInt8], memoryKiB: UInt32, passes: UInt32, lanes: UInt32
    ) throws(CryptoError) -> Secret {
        var out = Secret(count: 32)
        var salt = salt
        let result = out.withUnsafeMutableBytes { out in
            input.withUnsafeBytes { input in
                salt.withUnsafeMutableBytes { salt in
                    var context = argon2_context()
                    context.out = out.assumingMemoryBound(to: UInt8.self).baseAddress
                    context.outlen = UInt32(clamping: out.count)
                    // libargon2 does not change these bytes, because its flags are 0 (no clearing).
                    context.pwd = UnsafeMutablePointer(mutating: input.assumingMemoryBound(to: UInt8.self).baseAddress)
                    context.pwdlen = UInt32(clamping: input.count)
                    context.salt = salt.assumingMemoryBound(to: UInt8.self).baseAddress
                    context.saltlen = UInt32(clamping: salt.count)
                    (context.t_cost, context.m_cost, context.lanes) = (passes, memoryKiB, lanes)
                    context.threads = vault_possible_threads(lanes)
                    context.version = UInt32(ARGON2_VERSION_13.rawValue)
                    return argon2_ctx(&context, Argon2_id)
                }
            }
        }
        switch argon2_error_codes(rawValue: result) {
        case ARGON2_OK: return out
        case ARGON2_MEMORY_ALLOCATION_ERROR, ARGON2_THREAD_FAIL: throw .outOfMemory
        default: throw .kdfFailed
        }
    }
}
