import Crypto
import CryptoExtras
import SwiftASN1
import X509

/// The fields that an item of class `key` takes from a private key. Apple's numbers are used where they exist.
struct PrivateKeyFields {
    /// kSecAttrKeyClassPrivate.
    static let keyClass: UInt32 = 1

    /// Values of an item's key type.
    enum KeyType: UInt32 {
        /// kSecAttrKeyTypeRSA.
        case rsa = 42
        /// kSecAttrKeyTypeECSECPrimeRandom.
        case ellipticCurve = 73
        /// The type of an Ed25519 key, for which Apple publishes no number. CSSM reserves numbers from 2^31 on for
        /// vendors, and Apple's own numbers go up to 2^31 + 31 (`cssmapple.h`), so this is 2^31 + 0x25519.
        case ed25519 = 0x8002_5519
    }

    let keyType: KeyType
    let sizeInBits: UInt32
    /// The bits of the public key, which are compared with the bits of a certificate's public key.
    let publicKey: [UInt8]

    /// The SHA-1 of the public key's bits, as in kSecAttrApplicationLabel.
    var applicationLabel: [UInt8] { Array(Insecure.SHA1.hash(data: publicKey)) }

    /// A default name for a key that has none.
    var label: String {
        switch keyType {
        case .rsa: "RSA private key, \(sizeInBits) bits"
        case .ellipticCurve: "EC private key, P-\(sizeInBits)"
        case .ed25519: "Ed25519 private key"
        }
    }

    /// An RSA key with too few bits for the linked libraries.
    struct TooSmall: Error {
        let bits: UInt32
    }

    /// Reads a private key in PKCS #1, SEC 1 or PKCS #8.
    /// - Throws: ``TooSmall``; any other error means that the key is damaged or of another kind.
    init(_ document: PEMDocument) throws {
        do { self = try Self(Certificate.PrivateKey(pemDocument: document)) } catch {
            // swift-certificates rejects RSA keys of fewer than 2048 bits, but old keys must not be lost.
            guard let bits = Self.rsaBits(document.derBytes), bits < 2048 else { throw error }
            guard bits >= Self.leastRSABits else { throw TooSmall(bits: bits) }
            self = try Self(_RSA.Signing.PrivateKey(unsafeDERRepresentation: document.derBytes))
        }
    }

    private init(_ key: _RSA.Signing.PrivateKey) throws {
        keyType = .rsa
        publicKey = Array(key.publicKey.pkcs1DERRepresentation)
        sizeInBits = try Self.modulusBits(publicKey)
    }

    /// The smallest RSA key that can be read.
    static let leastRSABits: UInt32 = 1024

    private init(_ key: Certificate.PrivateKey) throws {
        publicKey = Array(key.publicKey.subjectPublicKeyInfoBytes)
        var serializer = DER.Serializer()
        try serializer.serialize(key.publicKey)
        let info = try DER.parse(serializer.serializedBytes)
        switch try Self.algorithm(info) {
        case ASN1ObjectIdentifier.AlgorithmIdentifier.rsaEncryption:
            keyType = .rsa
            sizeInBits = try Self.modulusBits(publicKey)
        case ASN1ObjectIdentifier.AlgorithmIdentifier.idEcPublicKey:
            keyType = .ellipticCurve
            // An uncompressed point is 04 followed by two coordinates; the coordinates of P-521 have 66 bytes.
            let coordinate = UInt32(clamping: publicKey.count / 2)
            sizeInBits = coordinate == 66 ? 521 : coordinate * 8
        case Self.ed25519:
            keyType = .ed25519
            sizeInBits = 256
        default: throw CertificateError.unsupportedPrivateKey(reason: "unknown kind of key")
        }
    }

    /// id-Ed25519 (RFC 8410).
    private static let ed25519: ASN1ObjectIdentifier = [1, 3, 101, 112]

    /// Returns the algorithm of a SubjectPublicKeyInfo.
    private static func algorithm(_ info: ASN1Node) throws -> ASN1ObjectIdentifier {
        try DER.sequence(info, identifier: .sequence) { nodes in
            guard let identifier = nodes.next() else { throw ASN1Error.invalidASN1Object(reason: "no algorithm") }
            while nodes.next() != nil {}
            return try DER.sequence(identifier, identifier: .sequence) { nodes in
                let algorithm = try ASN1ObjectIdentifier(derEncoded: &nodes)
                while nodes.next() != nil {}
                return algorithm
            }
        }
    }

    private static func modulusBits(_ publicKey: [UInt8]) throws -> UInt32 {
        let modulus = try DER.sequence(try DER.parse(publicKey), identifier: .sequence) { nodes in
            let modulus = try ArraySlice<UInt8>(derEncoded: &nodes)
            while nodes.next() != nil {}
            return modulus
        }
        return bits(modulus)
    }

    private static func bits(_ number: ArraySlice<UInt8>) -> UInt32 {
        let significant = number.drop { $0 == 0 }
        guard let first = significant.first else { return 0 }
        return UInt32(clamping: significant.count * 8 - first.leadingZeroBitCount)
    }

    /// Returns the size of an RSA key in PKCS #1 or PKCS #8, or nil if the key is not an RSA key.
    private static func rsaBits(_ der: [UInt8], isInner: Bool = false) -> UInt32? {
        do {
            return try DER.sequence(try DER.parse(der), identifier: .sequence) { nodes in
                _ = try Int(derEncoded: &nodes)
                guard let second = nodes.next() else { return nil }
                defer { while nodes.next() != nil {} }
                guard second.identifier != .integer else { return bits(try ArraySlice<UInt8>(derEncoded: second)) }
                let kind = try DER.sequence(second, identifier: .sequence) { nodes in
                    let kind = try ASN1ObjectIdentifier(derEncoded: &nodes)
                    while nodes.next() != nil {}
                    return kind
                }
                guard kind == .AlgorithmIdentifier.rsaEncryption, !isInner else { return nil }
                return rsaBits(Array(try ASN1OctetString(derEncoded: &nodes).bytes), isInner: true)
            }
        } catch { return nil }
    }
}
