internal import CInterchange
internal import VaultCrypto
internal import VaultExchange
internal import VaultFmt

/// How the secrets of a session are transferred.
enum SessionCipher: Sendable {
    /// In the clear: whoever may listen to the bus reads them.
    case plain
    /// By AES-128 in CBC mode with the padding of PKCS #7.
    case encrypted(SharedSecret)

    private static let blockSize = 16

    /// Returns a secret for the client; its initialisation vector is random.
    func sealed(_ secret: borrowing Secret) throws(BusError) -> (parameters: SharedSecret, value: SharedSecret) {
        guard case .encrypted(let key) = self else {
            return (SharedSecret(Secret(count: 0)), SharedSecret(secret.copy()))
        }
        let padding = Self.blockSize - secret.count % Self.blockSize
        var padded = Secret(count: secret.count + padding)
        let count = secret.count
        secret.withUnsafeBytes { plain in
            padded.withUnsafeMutableBytes { bytes in
                bytes.copyBytes(from: plain)
                for index in count..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: padding) }
            }
        }
        let vector = SharedSecret(Randomness.system.secret(Self.blockSize))
        try Self.run(key, vector, &padded) { interchange_cipher_encrypt($0, $1, $2) }
        return (vector, SharedSecret(padded))
    }

    /// Returns the secret that a client has sent. Throws `InvalidArgs` if it is not encrypted for the session.
    func opened(_ secret: ServiceSecret) throws(BusError) -> Secret {
        let refused = BusError.arguments("the secret is not encrypted as its session demands")
        guard case .encrypted(let key) = self else {
            guard secret.parameters.count == 0 else { throw refused }
            return secret.value.secret.copy()
        }
        let count = secret.value.count
        guard secret.parameters.count == Self.blockSize, count > 0, count.isMultiple(of: Self.blockSize) else {
            throw refused
        }
        var plain = secret.value.secret.copy()
        try Self.run(key, secret.parameters, &plain) { interchange_cipher_decrypt($0, $1, $2) }
        let padding = plain.withUnsafeBytes { bytes -> Int? in
            guard let last = bytes.last, (1...Self.blockSize).contains(Int(last)),
                bytes.suffix(Int(last)).allSatisfy({ $0 == last })
            else { return nil }
            return Int(last)
        }
        guard let padding else { throw refused }
        plain.narrow(to: 0..<count - padding)
        return plain
    }

    /// Encrypts or decrypts in place, so that no copy is left elsewhere.
    private static func run(
        _ key: SharedSecret, _ vector: SharedSecret, _ bytes: inout Secret,
        _ change: (UnsafeMutableRawPointer, UnsafeMutableRawPointer?, Int) -> Int32
    ) throws(BusError) {
        var handle: UnsafeMutableRawPointer?
        let failure = key.withBytes { key in
            vector.withBytes { vector in
                interchange_cipher_open(
                    INTERCHANGE_AES128_CBC, key.baseAddress, vector.baseAddress, vector.count, &handle)
            }
        }
        guard failure == 0, let handle else { throw .failed("libgcrypt cannot use the session's cipher") }
        defer { interchange_cipher_close(handle) }
        let result = bytes.withUnsafeMutableBytes { change(handle, $0.baseAddress, $0.count) }
        guard result == 0 else { throw .failed("libgcrypt cannot use the session's cipher") }
    }
}
