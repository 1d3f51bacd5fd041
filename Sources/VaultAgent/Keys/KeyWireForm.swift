internal import VaultExchange
internal import VaultFmt

/// Private keys in DER, converted to the encoding of the agent protocol.
enum KeyWireForm {
    /// Converts a key in PKCS #8, PKCS #1 or SEC 1.
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

    /// Appends the numbers of PKCS #1, perhaps within PKCS #8, in the order of the protocol.
    private static func appendRSA(_ der: UnsafeRawBufferPointer, to out: inout SecretBuffer) throws(AgentError) {
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
        // n, e, d, p, q, d mod p-1, d mod q-1, 1/q mod p
        for index in [0, 1, 2, 7, 3, 4] { out.append(magnitude: numbers[index]) }
    }
}
