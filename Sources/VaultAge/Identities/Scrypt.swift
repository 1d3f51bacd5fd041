internal import CSodium
internal import VaultCrypto

/// A stanza that wraps a file key with a passphrase (C2SP age.md, *The scrypt recipient type*).
struct ScryptStanza: Sendable {
    static let type = "scrypt"
    private static let label = Array("age-encryption.org/v1/scrypt".utf8)
    private static let saltSize = 16
    private static let blockSize: UInt32 = 8

    let workFactor: Int
    private let salt: [UInt8]
    private let body: [UInt8]

    /// Throws `malformedStanza`, or `excessiveWork` before any work is done.
    init(_ stanza: Stanza) throws(AgeError) {
        salt = try stanza.share(at: 0, of: 2, size: Self.saltSize)
        let digits = stanza.arguments[1].utf8
        // Only decimal digits without leading zeros are accepted, so that each number has one encoding.
        guard digits.allSatisfy({ (48...57).contains($0) }), digits.first != UInt8(ascii: "0"), digits.count <= 3,
            let factor = Int(stanza.arguments[1])
        else { throw AgeError(.malformedStanza, "a scrypt stanza's work factor is not a number") }
        guard stanza.body.count == KeyWrap.size else {
            throw AgeError(.malformedStanza, "a scrypt stanza's body has the wrong length: \(stanza.body.count) bytes")
        }
        guard factor <= AgeLimit.workFactor else {
            throw AgeError(
                .excessiveWork,
                "the file asks for more key derivation than allowed: scrypt work factor 2^\(factor), "
                    + "limit 2^\(AgeLimit.workFactor)")
        }
        workFactor = factor
        body = stanza.body
    }

    /// Returns the file key, or nil if the passphrase is wrong.
    func unwrap(_ passphrase: borrowing Secret) throws(AgeError) -> FileKey? {
        var key = Secret(count: 32)
        let salt = Self.label + salt
        let result = key.withUnsafeMutableBytes { key in
            passphrase.withUnsafeBytes { passphrase in
                crypto_pwhash_scryptsalsa208sha256_ll(
                    passphrase.u8, passphrase.count, salt, salt.count, 1 << UInt64(workFactor), Self.blockSize, 1,
                    key.u8, key.count)
            }
        }
        guard result == 0 else {
            throw AgeError(.outOfMemory, "not enough memory for scrypt, which needs \(1 << workFactor) KiB")
        }
        return try KeyWrap.open(body, key)
    }
}
