internal import CSodium
package import VaultBytes

/// An Ed25519 key pair that signs (RFC 8032, pure).
package struct SigningKey: ~Copyable, Sendable {
    private let secretKey: Secret
    package let publicKey: Bytes32

    /// - Parameter seed: 32 bytes.
    package init(seed: consuming Secret) {
        precondition(seed.count == 32, "a seed has 32 bytes")
        var publicKey = Bytes32.zero
        var secretKey = Secret(count: crypto_sign_ed25519_secretkeybytes())
        secretKey.withUnsafeMutableBytes { secretKey in
            withUnsafeMutableBytes(of: &publicKey.words) { publicKey in
                seed.withUnsafeBytes { seed in _ = crypto_sign_ed25519_seed_keypair(publicKey.u8, secretKey.u8, seed.u8) }
            }
        }
        self.secretKey = secretKey
        self.publicKey = publicKey
    }

    /// The signature of `message`, 64 bytes.
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
    /// Whether a signature is valid as defines it, which is what libsodium checks since 1.0.16.
    package static func isValid(_ signature: [UInt8], of message: [UInt8], under publicKey: Bytes32) -> Bool {
        guard signature.count == Format.signatureSize else { return false }
        return withUnsafeBytes(of: publicKey.words) { key in
            signature.withUnsafeBytes { signature in
                message.withUnsafeBytes { message in
                    crypto_sign_ed25519_verify_detached(signature.u8, message.u8, UInt64(message.count), key.u8) == 0
                }
            }
        }
    }
}
