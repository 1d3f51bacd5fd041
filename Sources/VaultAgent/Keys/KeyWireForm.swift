internal import VaultExchange
internal import VaultFmt

/// Converts private keys from DER to the encoding of the agent protocol.
enum KeyWireForm {
    /// Converts a key from PKCS #8, PKCS #1 or SEC 1.
    static func ofDER(_ der: UnsafeRawBufferPointer) throws(AgentError) -> Secret {
        // This also checks the key.
        let publicKey = try PrivateKey(der: der).publicKey
        var out = SecretBuffer(capacity: 8 * der.count)
        out.append(text: publicKey.type.rawValue)
        switch publicKey.numbers {
        case .ed25519(let point):
            guard let seed = PrivateKeyDER.ed25519Seed(der) else { throw PrivateKey.damaged }
            out.append(string: point)
            out.append(number: 64)
            out.append(seed)
            out.append(contentsOf: point)
        case .rsa: try appendRSA(der, to: &out)
        case .point(let point):
            guard let curve = publicKey.type.curve, let stored = CurveKeyDER.read(der) else {
                throw PrivateKey.damaged
            }
            out.append(text: curve.name)
            out.append(string: point)
            out.append(magnitude: stored.number)
        }
        return out.secret()
    }

    /// Returns a key with its certificate. Both the given and the returned key are in the encoding of the agent
    /// protocol.
    static func certified(
        _ key: borrowing Secret, by certificate: Certificate
    ) throws(AgentError) -> Secret {
        try key.withUnsafeBytes { (bytes) throws(AgentError) -> Secret in
            var reader = WireReader(bytes)
            let (type, isCertified) = try KeyType.named(try reader.text(limit: 64))
            guard !isCertified, type == certificate.key.type else { throw PrivateKey.damaged }
            // The certificate replaces the public numbers, which are read only to skip them. Ed25519 keys keep their
            // public numbers.
            if type != .ed25519 { for _ in 0..<2 { _ = try reader.string() } }
            var out = SecretBuffer(capacity: bytes.count + certificate.blob.count + 64)
            out.append(text: type.certificateName)
            out.append(string: certificate.blob)
            out.append(contentsOf: reader.remaining)
            return out.secret()
        }
    }

    /// Appends the numbers of an RSA key in the protocol's order.
    private static func appendRSA(_ der: UnsafeRawBufferPointer, to out: inout SecretBuffer) throws(AgentError) {
        let numbers = try rsaNumbers(der)
        // n, e, d, p, q, d mod p-1, d mod q-1, 1/q mod p
        for index in [0, 1, 2, 7, 3, 4] { out.append(magnitude: numbers[index]) }
    }

    /// Returns whether this is an RSA key with fewer than 2048 bits, in PKCS #1 or PKCS #8.
    static func isSmallRSA(_ der: UnsafeRawBufferPointer) -> Bool {
        do throws(AgentError) {
            return try rsaNumbers(der)[0].drop { $0 == 0 }.count < PrivateKey.leastModulus
        } catch { return false }
    }

    /// Returns the numbers of an RSA key in PKCS #1, which may be wrapped in PKCS #8. They must not outlive the encoded
    /// bytes.
    private static func rsaNumbers(_ der: UnsafeRawBufferPointer) throws(AgentError) -> [UnsafeRawBufferPointer] {
        var outer = DERCursor(der)
        var fields = DERCursor(try outer.element(DERCursor.sequence))
        _ = try fields.element(DERCursor.integer)
        if fields.nextTag == DERCursor.sequence {
            _ = try fields.element(DERCursor.sequence)
            var inner = DERCursor(try fields.element(DERCursor.octets))
            fields = DERCursor(try inner.element(DERCursor.sequence))
            _ = try fields.element(DERCursor.integer)
        }
        var numbers: [UnsafeRawBufferPointer] = []
        for _ in 0..<8 { numbers.append(try fields.element(DERCursor.integer)) }
        return numbers
    }
}
