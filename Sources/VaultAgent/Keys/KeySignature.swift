internal import Crypto
internal import CryptoExtras
internal import FoundationEssentials
internal import VaultBytes
internal import VaultCrypto

/// Verifies signatures in the encoding of the SSH protocol. Hosts use signatures to prove possession of their keys, and
/// authorities use them to certify keys.
extension PublicKey {
    /// Returns whether a signature of `data` was made with this key. RSA signatures are accepted only with SHA-2.
    func isValid(_ signature: [UInt8], of data: [UInt8]) -> Bool {
        do throws(AgentError) {
            return try signature.withRawBytes { (bytes) throws(AgentError) -> Bool in
                var reader = WireReader(bytes)
                let algorithm = try reader.text(limit: 64)
                let value = try reader.bytes()
                try reader.end()
                return isValid(algorithm, value, of: data)
            }
        } catch { return false }
    }

    private func isValid(_ algorithm: String, _ value: [UInt8], of data: [UInt8]) -> Bool {
        switch numbers {
        case .ed25519(let key):
            guard algorithm == type.rawValue, let key = Bytes32(key) else { return false }
            return Signature.isValid(value, of: data, under: key)
        case .rsa(let modulus, let exponent):
            return isValidRSA(algorithm, value, of: data, modulus: modulus, exponent: exponent)
        case .point(let point):
            guard algorithm == type.rawValue, let curve = type.curve else { return false }
            guard let both = Self.coordinates(value, size: curve.size) else { return false }
            return isValidECDSA(both, of: data, point: point)
        }
    }

    private func isValidRSA(
        _ algorithm: String, _ value: [UInt8], of data: [UInt8], modulus: [UInt8], exponent: [UInt8]
    ) -> Bool {
        // The signature may lack leading zeros.
        guard value.count <= modulus.count else { return false }
        let padded = [UInt8](repeating: 0, count: modulus.count - value.count) + value
        do {
            let key = try _RSA.Signing.PublicKey(n: modulus, e: exponent)
            let signature = _RSA.Signing.RSASignature(rawRepresentation: padded)
            switch algorithm {
            case "rsa-sha2-256":
                return key.isValidSignature(
                    signature, for: SHA256.hash(data: data), padding: .insecurePKCS1v1_5)
            case "rsa-sha2-512":
                return key.isValidSignature(
                    signature, for: SHA512.hash(data: data), padding: .insecurePKCS1v1_5)
            default: return false
            }
        } catch { return false }
    }

    private func isValidECDSA(_ both: [UInt8], of data: [UInt8], point: [UInt8]) -> Bool {
        do {
            switch type {
            case .p256:
                return try P256.Signing.PublicKey(x963Representation: point).isValidSignature(
                    P256.Signing.ECDSASignature(rawRepresentation: both), for: SHA256.hash(data: data))
            case .p384:
                return try P384.Signing.PublicKey(x963Representation: point).isValidSignature(
                    P384.Signing.ECDSASignature(rawRepresentation: both), for: SHA384.hash(data: data))
            case .p521:
                return try P521.Signing.PublicKey(x963Representation: point).isValidSignature(
                    P521.Signing.ECDSASignature(rawRepresentation: both), for: SHA512.hash(data: data))
            case .ed25519, .rsa: return false
            }
        } catch { return false }
    }

    /// Returns the two numbers of an ECDSA signature, each in `size` bytes.
    private static func coordinates(_ value: [UInt8], size: Int) -> [UInt8]? {
        do throws(AgentError) {
            return try value.withRawBytes { (bytes) throws(AgentError) -> [UInt8] in
                var reader = WireReader(bytes)
                var both: [UInt8] = []
                for _ in 0..<2 {
                    let number = try reader.magnitude()
                    guard number.count <= size else { throw .malformed }
                    both += [UInt8](repeating: 0, count: size - number.count) + Array(number)
                }
                try reader.end()
                return both
            }
        } catch { return nil }
    }
}
