import SwiftASN1
import VaultFmt
import VaultLocal

/// A private key in OpenSSH's format (PROTOCOL.key in OpenSSH's sources), converted to the form that other programs
/// read: PKCS #1 for RSA, SEC 1 for ECDSA, PKCS #8 for Ed25519.
final class OpenSSHKey {
    /// The label of the key's PEM block.
    static let label = "OPENSSH PRIVATE KEY"

    /// The key's comment, as in `authorized_keys`.
    let comment: String
    private let type: String
    private let der: SharedSecret

    private init(type: String, der: SharedSecret, comment: String) {
        self.type = type
        self.der = der
        self.comment = comment
    }

    /// The key as a PEM document. swift-asn1 keeps it in memory that is not wiped.
    func document() -> PEMDocument { PEMDocument(type: type, derBytes: der.withBytes { Array($0) }) }

    /// Reads a block; `opener` decrypts the block first if it is encrypted.
    static func read(_ block: borrowing PEMBlock, _ opener: OpenSSHOpener) throws -> OpenSSHKey {
        if let key = try unencrypted(block, opener) { return key }
        let decrypted = try opener.decrypted(block.text, block.place)
        var key: OpenSSHKey?
        var blocks = try PEMBlocks(SourceReader(decrypted, at: 0))
        try blocks.forEach { key = try unencrypted($0, opener) }
        guard let key else { throw damaged(block.place) }
        return key
    }

    /// Reads a block; returns nil if it is encrypted in a way that `opener` supports.
    private static func unencrypted(_ block: borrowing PEMBlock, _ opener: OpenSSHOpener) throws -> OpenSSHKey? {
        let place = block.place
        guard let bytes = block.decoded() else { throw ExchangeError.damaged(place, "the block is not Base64") }
        return try bytes.withUnsafeBytes { bytes in
            let magic = Array("openssh-key-v1\0".utf8)
            guard bytes.starts(with: magic) else { throw damaged(place) }
            var reader = SSHReader(UnsafeRawBufferPointer(rebasing: bytes[magic.count...]), place)
            let (cipher, derivation) = (try reader.text(), try reader.text())
            let options = try reader.string()
            guard try reader.number() == 1 else {
                throw ExchangeError.damaged(place, "this OpenSSH key file contains several keys; only one can be read")
            }
            // The public key is not encrypted, so an unsupported key is reported before a passphrase is requested.
            try requireKnown(SSHReader(try reader.string(), place))
            let section = try reader.string()
            guard cipher == "none" else {
                var options = SSHReader(options, place)
                guard derivation == "bcrypt" else {
                    throw unknown(place, "a key derivation", derivation, "only bcrypt can be used")
                }
                guard ciphers.contains(cipher) else {
                    throw unknown(
                        place, "a cipher", cipher, "encrypt the key with another cipher: 'ssh-keygen -p -Z aes256-ctr'")
                }
                guard try !options.string().isEmpty else { throw damaged(place) }
                try opener.check(rounds: try options.number(), place)
                return nil
            }
            guard reader.isAtEnd else { throw damaged(place) }
            return try key(SSHReader(section, place))
        }
    }

    /// The ciphers of OpenSSH 6.5 and later.
    private static let ciphers: Set<String> = [
        "3des-cbc", "aes128-cbc", "aes192-cbc", "aes256-cbc", "aes128-ctr", "aes192-ctr", "aes256-ctr",
        "aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com",
    ]

    private static func unknown(_ place: String, _ what: String, _ name: String, _ advice: String) -> ExchangeError {
        .damaged(place, "this OpenSSH key uses \(what) that is not known, \(TerminalText.quoted(name)); \(advice)")
    }

    /// Throws an error for a public key of an unsupported type, or of a size that no linked library can read.
    private static func requireKnown(_ publicKey: SSHReader) throws {
        var reader = publicKey
        let type = try reader.text()
        guard types.contains(type) else { throw cannotRead(type, reader.place) }
        guard type == rsa else { return }
        _ = try reader.magnitude()
        let modulus = try reader.magnitude()
        guard modulus.count >= Int(PrivateKeyFields.leastRSABits) / 8 else {
            throw ExchangeError.damaged(
                reader.place,
                "an RSA key of \(modulus.count * 8) bits is too small to be imported; "
                    + "replace it with one of at least 2048 bits")
        }
    }

    private static let rsa = "ssh-rsa"
    private static let types: Set<String> = [
        "ssh-ed25519", rsa, "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
    ]

    private static func cannotRead(_ type: String, _ place: String) -> ExchangeError {
        .damaged(
            place,
            "an OpenSSH key of the type \(TerminalText.quoted(type)) cannot be imported; only RSA, ECDSA and Ed25519 keys can"
        )
    }

    /// Reads the part that is encrypted if the file has a passphrase.
    private static func key(_ section: SSHReader) throws -> OpenSSHKey {
        var reader = section
        let checks = (try reader.number(), try reader.number())
        guard checks.0 == checks.1 else { throw damaged(reader.place) }
        let type = try reader.text()
        let (label, der) = try self.der(type, &reader)
        let comment = try reader.text()
        // The padding bytes are 1, 2, 3 and so on, up to a whole number of blocks.
        guard reader.rest.enumerated().allSatisfy({ $0.offset + 1 == Int($0.element) }), reader.rest.count < 16 else {
            throw damaged(reader.place)
        }
        return OpenSSHKey(type: label, der: der, comment: comment)
    }

    private static func der(_ type: String, _ reader: inout SSHReader) throws -> (String, SharedSecret) {
        switch type {
        case "ssh-ed25519":
            let (publicKey, both) = (try reader.string(), try reader.string())
            guard publicKey.count == 32, both.count == 64, both.suffix(32).elementsEqual(publicKey) else {
                throw damaged(reader.place)
            }
            let seed = UnsafeRawBufferPointer(rebasing: both.prefix(32))
            return ("PRIVATE KEY", SharedSecret(DERText.ed25519(seed)))
        case rsa:
            let (n, e, d) = (try reader.magnitude(), try reader.magnitude(), try reader.magnitude())
            let (coefficient, p, q) = (try reader.magnitude(), try reader.magnitude(), try reader.magnitude())
            // OpenSSH allows at most 16,384 bits. p and q must be odd, so that subtracting one only clears a bit.
            let parts = [d, p, q, coefficient]
            guard n.count <= 2048, parts.allSatisfy({ $0.count <= n.count }), let last = p.last, let other = q.last,
                last & 1 == 1,
                other & 1 == 1
            else { throw damaged(reader.place) }
            let der = DERText.rsa(n: n, e: e, d: d, p: p, q: q, coefficient: coefficient)
            return ("RSA PRIVATE KEY", SharedSecret(der))
        case "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521":
            let (name, point, d) = (try reader.text(), try reader.string(), try reader.magnitude())
            guard let curve = DERText.Curve(rawValue: name), type.hasSuffix(name), d.count <= curve.size,
                point.count == 1 + 2 * curve.size
            else { throw damaged(reader.place) }
            return ("EC PRIVATE KEY", SharedSecret(DERText.curve(curve, d: d, point: point)))
        case let other: throw cannotRead(other, reader.place)
        }
    }

    fileprivate static func damaged(_ place: String) -> ExchangeError {
        .damaged(place, "this OpenSSH private key is damaged")
    }
}

/// A cursor over the encodings of the SSH protocol.
private struct SSHReader {
    private(set) var rest: UnsafeRawBufferPointer
    let place: String

    init(_ bytes: UnsafeRawBufferPointer, _ place: String) {
        rest = bytes
        self.place = place
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func number() throws -> UInt32 {
        try take(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func string() throws -> UnsafeRawBufferPointer { try take(Int(try number())) }

    mutating func text() throws -> String {
        guard let text = String(validating: try string().bindMemory(to: UInt8.self), as: UTF8.self) else {
            throw OpenSSHKey.damaged(place)
        }
        return text
    }

    /// Reads a number that is greater than zero, without its leading zeros.
    mutating func magnitude() throws -> UnsafeRawBufferPointer {
        let bytes = try string()
        guard let first = bytes.first, first < 0x80 else { throw OpenSSHKey.damaged(place) }
        let significant = bytes.drop { $0 == 0 }
        guard !significant.isEmpty else { throw OpenSSHKey.damaged(place) }
        return UnsafeRawBufferPointer(rebasing: significant)
    }

    private mutating func take(_ count: Int) throws -> UnsafeRawBufferPointer {
        guard count <= rest.count else { throw OpenSSHKey.damaged(place) }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }
        return UnsafeRawBufferPointer(rebasing: rest[..<count])
    }
}
