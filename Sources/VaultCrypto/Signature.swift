internal import CSodium
package import VaultBytes

/// An Ed25519 key pair for signing (RFC 8032, pure).
package struct SigningKey: ~Copyable, Sendable {
    private let secretKey: Secret
    package let publicKey: Bytes32

    /// - Parameter seed: The seed, 32 bytes.
    package init(seed: consuming Secret) {
        precondition(seed.count == 32, "a seed must be 32 bytes long")
        var publicKey = Bytes32.zero
        var secretKey = Secret(count: crypto_sign_ed25519_secretkeybytes())
        secretKey.withUnsafeMutableBytes { secretKey in
            withUnsafeMutableBytes(of: &publicKey.words) { publicKey in
                seed.withUnsafeBytes { seed in _ = crypto_sign_ed25519_seed_keypair(publicKey.u8, secretKey.u8, seed.u8)
                }
            }
        }
        self.secretKey = secretKey
        self.publicKey = publicKey
    }

    /// Returns the signature of `message`, 64 bytes.
    package borrowing func sign(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Format.signatureSize) { buffer, count in
            let out = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: Format.signatureSize)
            secretKey.withUnsafeBytes { key in
                message.withUnsafeBytes { message in
                    _ = crypto_sign_ed25519_detached(out.u8, nil, message.u8, UInt64(message.count), key.u8)
                }
            }
            count = Format.signatureSize
        }
    }
}

/// Checks Ed25519 signatures.
package enum Signature {
    /// Returns whether a signature is valid as defined by.
    ///
    /// All versions of libsodium check every condition of except the last. Versions after 1.0.18 multiply the
    /// equation by the cofactor and therefore accept some signatures that refuses; with those versions, the
    /// equation is checked here as well.
    package static func isValid(_ signature: [UInt8], of message: [UInt8], under publicKey: Bytes32) -> Bool {
        isAccepted(signature, of: message, under: publicKey)
            && (isLibraryExact || satisfiesEquation(signature, of: message, under: publicKey))
    }

    private static func isAccepted(_ signature: [UInt8], of message: [UInt8], under publicKey: Bytes32) -> Bool {
        guard signature.count == Format.signatureSize else { return false }
        return withUnsafeBytes(of: publicKey.words) { key in
            signature.withUnsafeBytes { signature in
                message.withUnsafeBytes { message in
                    crypto_sign_ed25519_verify_detached(signature.u8, message.u8, UInt64(message.count), key.u8) == 0
                }
            }
        }
    }

    /// Returns whether the encoding of SB − kA equals R's bytes. libsodium must have accepted the signature, which
    /// ensures that the public key A is a point whose order is not small.
    ///
    /// libsodium multiplies only points of prime order. 8A is such a point, and kA = ⌊k/8⌋(8A) + (k mod 8)A.
    package static func satisfiesEquation(_ signature: [UInt8], of message: [UInt8], under publicKey: Bytes32) -> Bool {
        guard signature.count == Format.signatureSize else { return false }
        let point = Array(signature[..<32])
        var k = scalar(point + publicKey.bytes + message)
        var multiples: [[UInt8]?] = [publicKey.bytes]
        for _ in 0..<3 { multiples.append(Point.sum(multiples.last ?? nil, multiples.last ?? nil)) }
        let low = k[0] & 7
        for index in k.indices { k[index] = k[index] >> 3 | (index < 31 ? k[index + 1] << 5 : 0) }
        guard var product = Point.product(k, multiples[3]) else { return false }
        for bit in 0..<3 where low & (1 << UInt8(bit)) != 0 {
            guard let next = Point.sum(product, multiples[bit]) else { return false }
            product = next
        }
        return Point.difference(Point.baseProduct(Array(signature[32...])), product) == point
    }

    /// Returns the SHA-512 of `bytes` as a number modulo the group order: k of RFC 8032.
    private static func scalar(_ bytes: [UInt8]) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: 64)
        crypto_hash_sha512(&hash, bytes, UInt64(bytes.count))
        var out = [UInt8](repeating: 0, count: 32)
        crypto_core_ed25519_scalar_reduce(&out, hash)
        return out
    }

    /// True if libsodium refuses a signature that only the cofactor-multiplied equation accepts.
    private static let isLibraryExact: Bool = {
        // Created with a public key to which the point of order 2 was added.
        let publicKey = Hex.decode("85b3f2ac54bb21b92ad954b2cc4a6b845462885097801f5f6ae75a0920b57914")
        let signature = Hex.decode(
            "7767a3242dc9b58bbc68488c1265cc6cc5f26c6f3c88a5d55e901b0734dca572"
                + "916b643d21c046a9c929e8ac3d4adbe70fd06bd3e9cf4ce04896645217b74108")
        guard let publicKey, let signature, let publicKey = Bytes32(publicKey) else { return false }
        return !isAccepted(signature, of: [], under: publicKey)
    }()
}

/// Arithmetic on encoded points. The result is nil if an argument is not a point.
private enum Point {
    static func sum(_ left: [UInt8]?, _ right: [UInt8]?) -> [UInt8]? {
        guard let left, let right else { return nil }
        return made { crypto_core_ed25519_add($0, left, right) }
    }

    static func difference(_ left: [UInt8]?, _ right: [UInt8]?) -> [UInt8]? {
        guard let left, let right else { return nil }
        return made { crypto_core_ed25519_sub($0, left, right) }
    }

    /// Multiplies a point of prime order.
    static func product(_ scalar: [UInt8], _ point: [UInt8]?) -> [UInt8]? {
        guard let point else { return nil }
        return made { crypto_scalarmult_ed25519_noclamp($0, scalar, point) }
    }

    static func baseProduct(_ scalar: [UInt8]) -> [UInt8]? {
        made { crypto_scalarmult_ed25519_base_noclamp($0, scalar) }
    }

    private static func made(_ make: (UnsafeMutablePointer<UInt8>) -> Int32) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: 32)
        let result = out.withUnsafeMutableBufferPointer { out in
            guard let start = out.baseAddress else { return Int32(-1) }
            return make(start)
        }
        return result == 0 ? out : nil
    }
}
