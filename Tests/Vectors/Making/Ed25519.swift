internal import CSodium
internal import TestSupport

/// Signatures as nobody makes them, put together from libsodium's arithmetic.
enum Ed25519 {
    /// A point of order 8, canonically encoded.
    static let order8: [UInt8] = [
        0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5, 0xDF,
        0xAC, 0x05, 0xD3, 0xC6,
        0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
    ]
    static let identity: [UInt8] = [1] + [UInt8](repeating: 0, count: 31)
    /// y = p + 1: the identity in another encoding.
    static let identityNonCanonical: [UInt8] = [0xEE] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
    /// x = 0 with the sign of a negative one.
    static let identityNegative: [UInt8] = [1] + [UInt8](repeating: 0, count: 30) + [0x80]
    static let order2: [UInt8] = [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
    static let order4: [UInt8] = [UInt8](repeating: 0, count: 32)
    /// The group's order.
    private static let order: [UInt8] = [
        0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE, 0xF9, 0xDE, 0x14, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0,
        0, 0,
        0, 0x10,
    ]

    /// The secret scalar of a seed.
    static func scalar(_ seed: [UInt8]) -> [UInt8] {
        var hash = Array(sha512(seed)[..<32])
        hash[0] &= 248
        hash[31] = hash[31] & 127 | 64
        return reduced(hash + [UInt8](repeating: 0, count: 32))
    }

    /// A signature with this point as R, whose discrete logarithm is r, under the public key aB.
    static func signature(_ message: [UInt8], point: [UInt8], r: [UInt8], a: [UInt8], publicKey: [UInt8]) -> [UInt8] {
        point + add(r, multiply(challenge(message, point: point, publicKey: publicKey), a))
    }

    /// H(R ‖ A ‖ M) modulo the group's order.
    static func challenge(_ message: [UInt8], point: [UInt8], publicKey: [UInt8]) -> [UInt8] {
        reduced(sha512(point + publicKey + message))
    }

    /// A scalar that a number stands for.
    static func small(_ number: UInt64) -> [UInt8] {
        reduced(sha512([UInt8](repeating: 7, count: 8) + (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }))
    }

    static let zero = [UInt8](repeating: 0, count: 32)

    static func base(_ scalar: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        _ = crypto_scalarmult_ed25519_base_noclamp(&out, scalar)
        return out
    }

    static func sum(_ p: [UInt8], _ q: [UInt8]) throws -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        guard crypto_core_ed25519_add(&out, p, q) == 0 else { throw ForgeError("no sum of points") }
        return out
    }

    /// S + the order: the same scalar, not reduced.
    static func unreduced(_ signature: [UInt8]) -> [UInt8] {
        var carry = 0
        let sum = zip(signature[32...], order).map { x, y -> UInt8 in
            let value = Int(x) + Int(y) + carry
            carry = value >> 8
            return UInt8(value & 255)
        }
        return signature[..<32] + sum
    }

    private static func add(_ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        crypto_core_ed25519_scalar_add(&out, x, y)
        return out
    }

    private static func multiply(_ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        crypto_core_ed25519_scalar_mul(&out, x, y)
        return out
    }

    private static func reduced(_ wide: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        crypto_core_ed25519_scalar_reduce(&out, wide)
        return out
    }

    private static func sha512(_ bytes: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 64)
        crypto_hash_sha512(&out, bytes, UInt64(bytes.count))
        return out
    }
}
