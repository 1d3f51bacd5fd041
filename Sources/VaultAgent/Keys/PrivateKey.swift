internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials
internal import VaultBytes
internal import VaultCrypto
package import VaultFmt

/// A private key for signing. It exists only during one request. Its numbers are held in memory that is wiped, which is
/// either ours or BoringSSL's.
package struct PrivateKey: ~Copyable {
    package let publicKey: PublicKey
    private let numbers: Numbers

    private enum Numbers: ~Copyable {
        case ed25519(SigningKey)
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)
        case p521(P521.Signing.PrivateKey)
    }

    /// Makes an Ed25519 key from a 32-byte seed.
    package init(seed: consuming Secret) {
        let key = SigningKey(seed: seed)
        publicKey = PublicKey(.ed25519, .ed25519(key.publicKey.bytes))
        numbers = .ed25519(key)
    }

    private init(_ key: _RSA.Signing.PrivateKey) throws(AgentError) {
        let (modulus, exponent) = try Self.publicNumbers(of: key)
        publicKey = PublicKey(.rsa, .rsa(modulus: modulus, exponent: exponent))
        numbers = .rsa(key)
    }

    /// Makes a key on a curve from its scalar, which has exactly the length of a coordinate.
    private init(_ type: KeyType, scalar: UnsafeRawBufferPointer) throws(AgentError) {
        do {
            switch type {
            case .p256: self.init(try P256.Signing.PrivateKey(rawRepresentation: scalar))
            case .p384: self.init(try P384.Signing.PrivateKey(rawRepresentation: scalar))
            case .p521: self.init(try P521.Signing.PrivateKey(rawRepresentation: scalar))
            case .ed25519, .rsa: throw Self.damaged
            }
        } catch { throw Self.damaged }
    }

    /// Makes a key on a curve from its scalar, which may lack leading zeros.
    init(_ type: KeyType, number: UnsafeRawBufferPointer) throws(AgentError) {
        guard let size = type.curve?.size, number.count <= size else { throw Self.damaged }
        var scalar = Secret(count: size)
        scalar.withUnsafeMutableBytes { scalar in
            UnsafeMutableRawBufferPointer(rebasing: scalar[(size - number.count)...]).copyMemory(from: number)
        }
        self = try scalar.withUnsafeBytes { (scalar) throws(AgentError) in try PrivateKey(type, scalar: scalar) }
    }

    private init(_ key: P256.Signing.PrivateKey) {
        publicKey = PublicKey(.p256, .point(Array(key.publicKey.x963Representation)))
        numbers = .p256(key)
    }

    private init(_ key: P384.Signing.PrivateKey) {
        publicKey = PublicKey(.p384, .point(Array(key.publicKey.x963Representation)))
        numbers = .p384(key)
    }

    private init(_ key: P521.Signing.PrivateKey) {
        publicKey = PublicKey(.p521, .point(Array(key.publicKey.x963Representation)))
        numbers = .p521(key)
    }

    /// Makes an RSA key from its numbers. BoringSSL checks that they belong together.
    init(
        modulus: UnsafeRawBufferPointer, exponent: UnsafeRawBufferPointer, d: UnsafeRawBufferPointer,
        p: UnsafeRawBufferPointer, q: UnsafeRawBufferPointer
    ) throws(AgentError) {
        try PublicKey.check(modulus: Array(modulus), exponent: Array(exponent))
        guard modulus.count >= Self.leastModulus else { throw Self.small }
        // BoringSSL computes with these numbers before it checks the key as a whole.
        guard d.count <= modulus.count,
            [p, q].allSatisfy({ $0.count < modulus.count && $0.count > 16 && ($0.last ?? 0) & 1 == 1 })
        else { throw Self.damaged }
        let key: _RSA.Signing.PrivateKey
        do { key = try _RSA.Signing.PrivateKey(n: modulus, e: exponent, d: d, p: p, q: q) } catch { throw Self.damaged }
        try self.init(key)
    }

    /// Reads a key in DER: PKCS #8, PKCS #1 or SEC 1.
    init(der: UnsafeRawBufferPointer) throws(AgentError) {
        if let seed = PrivateKeyDER.ed25519Seed(der) {
            self.init(seed: Secret(copying: seed))
            return
        }
        if let stored = CurveKeyDER.read(der) {
            self = try stored.key()
            return
        }
        // BoringSSL wipes its copies.
        let key: _RSA.Signing.PrivateKey
        do { key = try _RSA.Signing.PrivateKey(derRepresentation: der) } catch {
            throw KeyWireForm.isSmallRSA(der) ? Self.small : Self.damaged
        }
        try self.init(key)
    }

    /// The minimum length of an RSA modulus, in bytes.
    static let leastModulus = 2048 / 8
    private static let small = AgentError(
        .unsupported, "this RSA key has less than 2048 bits, which is too weak to be used; make a new key")

    static let damaged = AgentError(
        .malformed, "this private key is damaged, or not an Ed25519, ECDSA or RSA key of at least 2048 bits")

    private static func publicNumbers(
        of key: _RSA.Signing.PrivateKey
    ) throws(AgentError) -> (modulus: [UInt8], exponent: [UInt8]) {
        do {
            let numbers = try key.publicKey.getKeyPrimitives()
            return (Array(numbers.modulus.drop { $0 == 0 }), Array(numbers.publicExponent.drop { $0 == 0 }))
        } catch { throw damaged }
    }

    // MARK: signing

    /// Signs data, and returns the signature in the encoding of the SSH protocol.
    ///
    /// - `flags`: The request's flags, which choose the hash of an RSA signature. A client that sets no flag expects
    ///   SHA-1 but gets SHA-256, as the signature states. 'ssh-add -T' accepts that; a client that does not support
    ///   SHA-256 rejects the signature.
    package borrowing func sign(_ data: UnsafeRawBufferPointer, flags: UInt32) throws(AgentError) -> [UInt8] {
        switch numbers {
        case .ed25519(let key):
            return Self.signature(publicKey.type.rawValue, key.sign(Array(data)))
        case .rsa(let key): return try Self.sign(data, with: key, flags: flags)
        case .p256(let key):
            return try ecdsa { Array(try key.signature(for: SHA256.hash(data: data)).rawRepresentation) }
        case .p384(let key):
            return try ecdsa { Array(try key.signature(for: SHA384.hash(data: data)).rawRepresentation) }
        case .p521(let key):
            return try ecdsa { Array(try key.signature(for: SHA512.hash(data: data)).rawRepresentation) }
        }
    }

    private static func sign(
        _ data: UnsafeRawBufferPointer, with key: _RSA.Signing.PrivateKey, flags: UInt32
    ) throws(AgentError) -> [UInt8] {
        do {
            if flags & AgentMessage.rsaSHA512 != 0 {
                let value = try key.signature(for: SHA512.hash(data: data), padding: .insecurePKCS1v1_5)
                return signature("rsa-sha2-512", Array(value.rawRepresentation))
            }
            let value = try key.signature(for: SHA256.hash(data: data), padding: .insecurePKCS1v1_5)
            return signature("rsa-sha2-256", Array(value.rawRepresentation))
        } catch { throw cannotSign }
    }

    private borrowing func ecdsa(_ sign: () throws -> [UInt8]) throws(AgentError) -> [UInt8] {
        let both: [UInt8]
        do { both = try sign() } catch { throw Self.cannotSign }
        var value: [UInt8] = []
        value.append(magnitude: both.prefix(both.count / 2))
        value.append(magnitude: both.suffix(both.count / 2))
        return Self.signature(publicKey.type.rawValue, value)
    }

    private static func signature(_ algorithm: String, _ value: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.append(text: algorithm)
        out.append(string: value)
        return out
    }

    private static let cannotSign = AgentError(.malformed, "the key cannot sign")
}

/// Ed25519 keys in PKCS #8, which swift-crypto does not read.
package enum PrivateKeyDER {
    /// Version 0 or 1, followed by the algorithm identifier (RFC 8410 and 5958).
    private static let ed25519: [[UInt8]] = [0, 1].map { [0x02, 0x01, $0, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70] }

    /// Returns the 32-byte seed of an Ed25519 key, within the given bytes; nil for anything else.
    package static func ed25519Seed(_ der: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var rest = der[...]
        guard rest.popFirst() == 0x30, let length = rest.popFirst(), length < 0x80, Int(length) == rest.count,
            ed25519.contains(where: { rest.starts(with: $0) })
        else { return nil }
        rest = rest.dropFirst(10)
        let wrapping: [UInt8] = [0x04, 0x22, 0x04, 0x20]
        guard rest.starts(with: wrapping), rest.count >= 36 else { return nil }
        return UnsafeRawBufferPointer(rebasing: rest.dropFirst(4).prefix(32))
    }
}
