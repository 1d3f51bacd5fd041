internal import CInterchange
internal import VaultExchange
internal import VaultFmt

/// Agrees on a session key: Diffie-Hellman in the second group of RFC 2409, followed by HKDF with SHA-256 (Secret
/// Service, section 5.2). libgcrypt does the modular exponentiation and wipes its intermediate values.
///
/// This protects secrets from passive observers of the bus; it does not authenticate clients.
enum KeyAgreement {
    /// The size of a group element, in bytes.
    static let size = 128
    static let prime: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC9, 0x0F, 0xDA, 0xA2, 0x21, 0x68, 0xC2, 0x34,
        0xC4, 0xC6, 0x62, 0x8B, 0x80, 0xDC, 0x1C, 0xD1, 0x29, 0x02, 0x4E, 0x08, 0x8A, 0x67, 0xCC, 0x74,
        0x02, 0x0B, 0xBE, 0xA6, 0x3B, 0x13, 0x9B, 0x22, 0x51, 0x4A, 0x08, 0x79, 0x8E, 0x34, 0x04, 0xDD,
        0xEF, 0x95, 0x19, 0xB3, 0xCD, 0x3A, 0x43, 0x1B, 0x30, 0x2B, 0x0A, 0x6D, 0xF2, 0x5F, 0x14, 0x37,
        0x4F, 0xE1, 0x35, 0x6D, 0x6D, 0x51, 0xC2, 0x45, 0xE4, 0x85, 0xB5, 0x76, 0x62, 0x5E, 0x7E, 0xC6,
        0xF4, 0x4C, 0x42, 0xE9, 0xA6, 0x37, 0xED, 0x6B, 0x0B, 0xFF, 0x5C, 0xB6, 0xF4, 0x06, 0xB7, 0xED,
        0xEE, 0x38, 0x6B, 0xFB, 0x5A, 0x89, 0x9F, 0xA5, 0xAE, 0x9F, 0x24, 0x11, 0x7C, 0x4B, 0x1F, 0xE6,
        0x49, 0x28, 0x66, 0x51, 0xEC, 0xE6, 0x53, 0x81, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    ]

    /// Returns whether libgcrypt is available; without it, sessions are not encrypted.
    static func isPossible() -> Bool {
        var reason = [CChar](repeating: 0, count: 256)
        return interchange_load(INTERCHANGE_GCRYPT, &reason, reason.count) == INTERCHANGE_LOADED
    }

    /// Agrees on a key with a client. Each agreement uses a new private number, which is discarded afterwards.
    ///
    /// - `theirs`: The client's public number, big-endian.
    /// - Returns: The public number to send to the client, and the key.
    static func agree(with theirs: SharedSecret) throws(BusError) -> (publicNumber: [UInt8], key: SharedSecret) {
        let base = try checked(theirs)
        let exponent = Secret.random(count: size)
        var generator = Secret(count: size)
        generator.withUnsafeMutableBytes { $0[size - 1] = 2 }
        let publicNumber = try power(generator, exponent).withUnsafeBytes { Array($0) }
        return (publicNumber, SharedSecret(SessionKey.derive(from: try power(base, exponent))))
    }

    /// Returns the number, padded with leading zeros. Throws for numbers that would make the key predictable (0, 1 and
    /// the prime minus 1), and for numbers that are not less than the prime.
    private static func checked(_ number: SharedSecret) throws(BusError) -> Secret {
        let refused = BusError.arguments("the session's public number is not acceptable")
        guard number.count <= size * 2 else { throw refused }
        let bytes = number.withBytes { Array($0.drop { $0 == 0 }) }
        // The prime is odd, so the prime minus 1 differs from it only in the last byte.
        let greatest = prime.dropLast() + [0xFE]
        guard bytes.count < size || bytes.count == size && bytes.lexicographicallyPrecedes(greatest),
            bytes.count > 1 || bytes.first.map({ $0 > 1 }) ?? false
        else { throw refused }
        return Secret(copying: [UInt8](repeating: 0, count: size - bytes.count) + bytes)
    }

    static func power(_ base: borrowing Secret, _ exponent: borrowing Secret) throws(BusError) -> Secret {
        var result = Secret(count: size)
        let failure = base.withUnsafeBytes { base in
            exponent.withUnsafeBytes { exponent in
                result.withUnsafeMutableBytes {
                    interchange_modular_power(base.baseAddress, exponent.baseAddress, prime, size, $0.baseAddress)
                }
            }
        }
        guard failure == 0 else { throw .failed("libgcrypt cannot compute the session's key") }
        return result
    }
}
