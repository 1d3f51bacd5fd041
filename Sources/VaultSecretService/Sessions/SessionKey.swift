internal import Crypto
internal import FoundationEssentials
internal import VaultFmt

/// Derives a session's key from the shared secret: HKDF with SHA-256, with an empty info string and with the salt that
/// RFC 5869 uses if none is provided.
enum SessionKey {
    static let size = 16

    static func derive(from secret: borrowing Secret) -> Secret {
        let input = secret.withUnsafeBytes { SymmetricKey(data: $0) }
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: input, salt: [UInt8](repeating: 0, count: 32), info: [UInt8](), outputByteCount: size)
        var key = Secret(count: size)
        derived.withUnsafeBytes { bytes in key.withUnsafeMutableBytes { $0.copyMemory(from: bytes) } }
        return key
    }
}
