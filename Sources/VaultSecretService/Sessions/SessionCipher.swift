internal import CInterchange
internal import VaultCrypto
internal import VaultExchange
internal import VaultFmt

/// How a session's secrets are encrypted on the bus.
enum SessionCipher: Sendable {
    /// The secrets are not encrypted: any program that can monitor the bus can read them.
    case plain
    /// The secrets are encrypted with AES-128 in CBC mode, with PKCS #7 padding.
    case encrypted(SharedSecret)

    private static let blockSize = 16

    /// Encrypts a secret for the client, with a random initialization vector.
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

    /// Decrypts a secret from the client. Throws `InvalidArgs` if the secret is not encrypted as the session requires.
    func opened(_ secret: ServiceSecret) throws(BusError) -> Secret {
        let refused = BusError.arguments("the secret is not encrypted as its session requires")
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

    /// Encrypts or decrypts in place, so that no other copy is left in memory.
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
