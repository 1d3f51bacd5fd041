internal import CSodium
internal import Crypto
internal import VaultCrypto

/// HKDF with SHA-256 (RFC 5869) and 32 bytes of output. It comes from swift-crypto, because libsodium 1.0.18 does not
/// provide it.
enum KeyDerivation {
    static func derive(_ secret: borrowing Secret, salt: [UInt8], info: StaticString) -> Secret {
        let key = secret.withUnsafeBytes { SymmetricKey(data: $0) }
        let info = UnsafeRawBufferPointer(start: info.utf8Start, count: info.utf8CodeUnitCount)
        // swift-crypto wipes its keys.
        let derived = HKDF<SHA256>.deriveKey(inputKeyMaterial: key, salt: salt, info: info, outputByteCount: 32)
        var out = Secret(count: 32)
        derived.withUnsafeBytes { derived in out.withUnsafeMutableBytes { $0.copyMemory(from: derived) } }
        return out
    }
}

/// Encryption of a file key with ChaCha20-Poly1305 (RFC 8439). Each wrapping key is used only once, so the nonce can be
/// all zeros.
enum KeyWrap {
    /// The length of an encrypted file key and its tag.
    static let size = FileKey.size + Int(crypto_aead_chacha20poly1305_ietf_ABYTES)

    private static let nonce = [UInt8](repeating: 0, count: Int(crypto_aead_chacha20poly1305_ietf_NPUBBYTES))

    static func seal(_ fileKey: borrowing FileKey, _ key: borrowing Secret) -> [UInt8] {
        var body = [UInt8](repeating: 0, count: size)
        fileKey.secret.withUnsafeBytes { plain in
            key.withUnsafeBytes { key in
                _ = crypto_aead_chacha20poly1305_ietf_encrypt(
                    &body, nil, plain.u8, UInt64(plain.count), nil, 0, nil, nonce, key.u8)
            }
        }
        return body
    }

    /// Returns nil if the body does not authenticate. Throws `malformedStanza` for a body of any other length before
    /// opening it, because a longer body could be constructed to open under many keys.
    static func open(_ body: [UInt8], _ key: borrowing Secret) throws(AgeError) -> FileKey? {
        guard body.count == size else {
            throw AgeError(.malformedStanza, "a stanza's body has \(body.count) bytes, not \(size)")
        }
        var plain = Secret(count: FileKey.size)
        let isOpened = plain.withUnsafeMutableBytes { plain in
            key.withUnsafeBytes { key in
                crypto_aead_chacha20poly1305_ietf_decrypt(
                    plain.u8, nil, nil, body, UInt64(body.count), nil, 0, nonce, key.u8) == 0
            }
        }
        return isOpened ? try FileKey(plain) : nil
    }
}

/// X25519 (RFC 7748), provided by libsodium.
enum KeyAgreement {
    static let size = Int(crypto_scalarmult_curve25519_BYTES)

    /// Returns the public key for a 32-byte private key.
    static func publicKey(_ privateKey: borrowing Secret) -> [UInt8] {
        precondition(privateKey.count == size, "a private key must be 32 bytes long")
        var out = [UInt8](repeating: 0, count: size)
        privateKey.withUnsafeBytes { _ = crypto_scalarmult_curve25519_base(&out, $0.u8) }
        return out
    }

    /// Returns the shared secret, or nil if it is all zeros.
    static func shared(_ privateKey: borrowing Secret, _ publicKey: [UInt8]) -> Secret? {
        shared(privateKey, point: Secret(bytes: publicKey))
    }

    /// Returns the shared secret for a point that is itself secret.
    static func shared(_ privateKey: borrowing Secret, point: borrowing Secret) -> Secret? {
        precondition(privateKey.count == size && point.count == size, "keys must be 32 bytes long")
        var out = Secret(count: size)
        let isDone = out.withUnsafeMutableBytes { out in
            privateKey.withUnsafeBytes { privateKey in
                point.withUnsafeBytes { crypto_scalarmult_curve25519(out.u8, privateKey.u8, $0.u8) == 0 }
            }
        }
        guard isDone else { return nil }
        return out
    }
}

/// libsodium needs a non-null pointer even for empty input.
nonisolated(unsafe) private let nowhere = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)

extension UnsafeRawBufferPointer {
    /// The address as C's `const unsigned char *`.
    var u8: UnsafePointer<UInt8> { (baseAddress ?? UnsafeRawPointer(nowhere)).assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
    /// The address as C's `unsigned char *`.
    var u8: UnsafeMutablePointer<UInt8> { (baseAddress ?? nowhere).assumingMemoryBound(to: UInt8.self) }
}
