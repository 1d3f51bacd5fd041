internal import CSodium
internal import VaultCrypto

/// An unencrypted private key in OpenSSH's format (PROTOCOL.key in its sources).
enum OpenSSHPrivateKey {
    static let begin = Array("-----BEGIN OPENSSH PRIVATE KEY-----".utf8)
    private static let end = Array("-----END OPENSSH PRIVATE KEY-----".utf8)
    private static let magic = Array("openssh-key-v1\0".utf8)
    private static let largest = 65_536

    /// Reads a key; returns nil if the key is encrypted. Throws `invalidIdentity` or `unsupportedIdentity`.
    static func read(_ content: borrowing Secret) throws(AgeError) -> (any NativeIdentity)? {
        guard content.count <= largest else { throw malformed }
        let key = try decoded(content)
        return try key.withUnsafeBytes { (key) throws(AgeError) in try identity(key) }
    }

    /// Decodes the Base64 between the two markers into memory that is wiped after use.
    private static func decoded(_ content: borrowing Secret) throws(AgeError) -> Secret {
        var key = Secret(count: content.count)
        var count = 0
        let isDecoded = content.withUnsafeBytes { content in
            let text = content.dropFirst(begin.count)
            guard let dash = text.firstIndex(of: UInt8(ascii: "-")), text[dash...].starts(with: end) else {
                return false
            }
            let body = UnsafeRawBufferPointer(rebasing: text[..<dash])
            // libsodium 1.0.18 mistakes the byte 255 for a character of the alphabet.
            guard body.allSatisfy({ $0 < 0x80 }) else { return false }
            return key.withUnsafeMutableBytes { key in
                body.withMemoryRebound(to: CChar.self) { body in
                    sodium_base642bin(
                        key.u8, key.count, body.baseAddress, body.count, " \t\r\n", &count, nil,
                        Int32(sodium_base64_VARIANT_ORIGINAL)) == 0
                }
            }
        }
        guard isDecoded else { throw malformed }
        return key.prefix(count)
    }

    private static func identity(_ key: UnsafeRawBufferPointer) throws(AgeError) -> (any NativeIdentity)? {
        guard key.starts(with: magic) else { throw malformed }
        var reader = SSHReader(UnsafeRawBufferPointer(rebasing: key.dropFirst(magic.count)))
        let cipher = try reader.string()
        _ = try reader.string()
        _ = try reader.string()
        guard try reader.number() == 1 else { throw malformed }
        _ = try reader.string()
        guard cipher.elementsEqual("none".utf8) else { return nil }
        var block = SSHReader(try reader.string())
        guard reader.isAtEnd, try block.number() == block.number() else { throw malformed }
        guard try block.string().elementsEqual(SSHEd25519Recipient.type.utf8) else {
            throw AgeError(
                .unsupportedIdentity,
                "SSH keys of this type are not supported as identities; use an ssh-ed25519 key")
        }
        let publicKey = try block.string()
        let pair = try block.string()
        let comment = String(decoding: try block.string(), as: UTF8.self)
        guard publicKey.count == 32, pair.count == 64, pair.dropFirst(32).elementsEqual(publicKey) else {
            throw malformed
        }
        let seed = Secret(copying: UnsafeRawBufferPointer(rebasing: pair.prefix(32)))
        let identity = try SSHEd25519Identity(seed: seed, comment: SSHRecipientLine.kept(comment))
        guard identity.publicKey == Array(publicKey) else { throw malformed }
        return identity
    }

    fileprivate static var malformed: AgeError {
        AgeError(.invalidIdentity, "the OpenSSH private key is damaged or truncated")
    }
}

/// Reads the fields of SSH's wire format; every length is checked against the remaining bytes.
private struct SSHReader {
    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func number() throws(AgeError) -> UInt32 {
        guard rest.count >= 4 else { throw OpenSSHPrivateKey.malformed }
        let value = rest.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(4))
        return value
    }

    mutating func string() throws(AgeError) -> UnsafeRawBufferPointer {
        let length = try number()
        guard let count = Int(exactly: length), count <= rest.count else { throw OpenSSHPrivateKey.malformed }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count)) }
        return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    }
}
