internal import VaultFmt

/// Private keys in the encoding that the agent protocol shares with OpenSSH's key files.
extension PrivateKey {
    /// A private key with an optional certificate.
    struct Decoded: ~Copyable {
        let key: PrivateKey
        let certificate: Certificate?
    }

    /// Reads a key's type and the key itself; the rest is left for the caller.
    static func read(_ reader: inout WireReader) throws(AgentError) -> Decoded {
        let (type, isCertificate) = try KeyType.named(try reader.text(limit: 64))
        var certificate: Certificate?
        if isCertificate {
            let read = try Certificate(blob: try reader.bytes())
            guard read.key.type == type else { throw AgentError.malformed }
            certificate = read
        }
        let key = try read(type, &reader, certified: certificate?.key)
        if let certificate, certificate.key != key.publicKey { throw AgentError.malformed }
        return Decoded(key: key, certificate: certificate)
    }

    /// - `certified`: The key of a certificate, which already provides the public numbers.
    private static func read(
        _ type: KeyType, _ reader: inout WireReader, certified: PublicKey?
    ) throws(AgentError) -> PrivateKey {
        switch type {
        case .ed25519:
            let (publicKey, both) = (try reader.string(), try reader.string())
            guard publicKey.count == 32, both.count == 64, both.suffix(32).elementsEqual(publicKey) else {
                throw PrivateKey.damaged
            }
            let key = PrivateKey(seed: Secret(copying: UnsafeRawBufferPointer(rebasing: both.prefix(32))))
            guard key.publicKey.numbers == .ed25519(Array(publicKey)) else { throw PrivateKey.damaged }
            return key
        case .rsa: return try rsa(&reader, certified: certified)
        case .p256, .p384, .p521:
            return try curve(type, &reader, certified: certified)
        }
    }

    private static func rsa(_ reader: inout WireReader, certified: PublicKey?) throws(AgentError) -> PrivateKey {
        var numbers: (modulus: [UInt8], exponent: [UInt8])
        if case .rsa(let modulus, let exponent) = certified?.numbers {
            numbers = (modulus, exponent)
        } else {
            numbers = (Array(try reader.magnitude()), Array(try reader.magnitude()))
        }
        let d = try reader.magnitude()
        // Skip 1/q mod p, which BoringSSL computes from p and q.
        _ = try reader.magnitude()
        let (p, q) = (try reader.magnitude(), try reader.magnitude())
        return try numbers.modulus.withRawBytes { (modulus) throws(AgentError) -> PrivateKey in
            try numbers.exponent.withRawBytes { (exponent) throws(AgentError) -> PrivateKey in
                try PrivateKey(modulus: modulus, exponent: exponent, d: d, p: p, q: q)
            }
        }
    }

    private static func curve(
        _ type: KeyType, _ reader: inout WireReader, certified: PublicKey?
    ) throws(AgentError) -> PrivateKey {
        let expected: PublicKey
        if let certified { expected = certified } else { expected = try PublicKey(type, &reader) }
        let key = try PrivateKey(type, number: try reader.magnitude())
        guard key.publicKey == expected else { throw PrivateKey.damaged }
        return key
    }
}

/// OpenSSH key files (PROTOCOL.key in OpenSSH's sources). They must be unencrypted, because the vault encrypts them.
enum OpenSSHFile {
    static let label = "OPENSSH PRIVATE KEY"
    private static let magic = Array("openssh-key-v1\0".utf8)

    /// Reads the decoded contents of a key file. Throws `refused` if the key is encrypted.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(AgentError) -> PrivateKey {
        var section = try section(bytes)
        let decoded = try PrivateKey.read(&section)
        _ = try section.string()
        return decoded.takeKey()
    }

    /// Returns the key in the decoded contents of a key file. The agent protocol uses the same encoding.
    static func wire(_ bytes: UnsafeRawBufferPointer) throws(AgentError) -> Secret {
        var section = try section(bytes)
        let start = section.remaining
        _ = try PrivateKey.read(&section)
        return Secret(copying: UnsafeRawBufferPointer(rebasing: start.dropLast(section.remaining.count)))
    }

    /// Returns a cursor positioned at the private key.
    private static func section(_ bytes: UnsafeRawBufferPointer) throws(AgentError) -> WireReader {
        guard bytes.starts(with: magic) else { throw PrivateKey.damaged }
        var reader = WireReader(UnsafeRawBufferPointer(rebasing: bytes[magic.count...]))
        let cipher = try reader.text()
        _ = try reader.string()
        _ = try reader.string()
        guard try reader.number() == 1 else {
            throw AgentError(.unsupported, "the key file contains several keys; only one can be read")
        }
        _ = try reader.string()
        guard cipher == "none" else {
            throw AgentError(
                .refused, "the key has its own passphrase; store it without one, because the vault encrypts it")
        }
        var section = WireReader(try reader.string())
        guard try section.number() == section.number() else { throw PrivateKey.damaged }
        return section
    }
}

extension PrivateKey.Decoded {
    consuming func takeKey() -> PrivateKey { key }
}
