import Crypto
package import VaultFmt

/// Private keys in OpenSSH's own form (PROTOCOL.key in OpenSSH's sources), unencrypted. OpenSSH before 9.6 reads
/// Ed25519 keys only in this form; it reads RSA and ECDSA keys in PEM.
package enum OpenSSHText {
    private static let type: StaticString = "ssh-ed25519"

    /// Returns the text of an Ed25519 key, given its seed of 32 bytes; nil if the seed has another size.
    package static func text(seed: borrowing Secret, comment: String) -> Secret? {
        let publicKey: [UInt8]
        do {
            publicKey = try seed.withUnsafeBytes { seed in
                Array(try Curve25519.Signing.PrivateKey(rawRepresentation: seed).publicKey.rawRepresentation)
            }
        } catch {
            return nil
        }
        var out = SecretBuffer(capacity: 512)
        out.append("openssh-key-v1\0")
        // The file has no cipher, no key derivation, no derivation options, and one key.
        for word in ["none", "none", ""] as [StaticString] { append(word, to: &out) }
        append(number: 1, to: &out)
        append(publicPart(publicKey), to: &out)
        append(privatePart(seed, publicKey, comment: comment), to: &out)
        let bytes = out.secret()
        return bytes.withUnsafeBytes { PEMText.block("OPENSSH PRIVATE KEY", $0) }
    }

    private static func publicPart(_ publicKey: [UInt8]) -> Secret {
        var out = SecretBuffer(capacity: 64)
        append(type, to: &out)
        append(Secret(copying: publicKey), to: &out)
        return out.secret()
    }

    private static func privatePart(_ seed: borrowing Secret, _ publicKey: [UInt8], comment: String) -> Secret {
        var out = SecretBuffer(capacity: 256)
        // OpenSSH compares these two numbers to determine whether a passphrase was correct.
        for _ in 0..<2 { append(number: 0x7661_756C, to: &out) }
        append(type, to: &out)
        append(Secret(copying: publicKey), to: &out)
        var both = SecretBuffer(capacity: 64)
        both.append(seed)
        both.append(contentsOf: publicKey)
        append(both.secret(), to: &out)
        append(Secret(text: comment), to: &out)
        var padded = out.secret()
        var padding = SecretBuffer(capacity: padded.count + 8)
        padding.append(padded)
        var next: UInt8 = 1
        while (padded.count + Int(next) - 1) % 8 != 0 {
            padding.append(next)
            next += 1
        }
        padded = padding.secret()
        return padded
    }

    private static func append(number: UInt32, to out: inout SecretBuffer) {
        for shift in [24, 16, 8, 0] as [UInt32] { out.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private static func append(_ word: StaticString, to out: inout SecretBuffer) {
        append(number: UInt32(word.utf8CodeUnitCount), to: &out)
        out.append(word)
    }

    private static func append(_ part: borrowing Secret, to out: inout SecretBuffer) {
        append(number: UInt32(clamping: part.count), to: &out)
        out.append(part)
    }
}
