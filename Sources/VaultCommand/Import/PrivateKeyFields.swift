import Crypto
import SwiftASN1
import X509

/// The fields that an item of class `key` takes from a private key. The numbers are Apple's where Apple defines one.
struct PrivateKeyFields {
    /// kSecAttrKeyClassPrivate.
    static let keyClass: UInt32 = 1

    /// Values of an item's key type.
    enum KeyType: UInt32 {
        /// kSecAttrKeyTypeRSA.
        case rsa = 42
        /// kSecAttrKeyTypeECSECPrimeRandom.
        case ellipticCurve = 73
        /// Apple publishes no number for it. CSSM reserves numbers from 2^31 on for vendors, and Apple's own go up to
        /// 2^31 + 31 (`cssmapple.h`), so this is 2^31 + 0x25519.
        case ed25519 = 0x8002_5519
    }

    let keyType: KeyType
    let sizeInBits: UInt32
    /// The bits of the public key, which are compared with a certificate's.
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

    init(_ key: Certificate.PrivateKey) throws {
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
            // An uncompressed point is 04 followed by two coordinates; those of P-521 have 66 bytes.
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
        let significant = modulus.drop { $0 == 0 }
        guard let first = significant.first else { return 0 }
        return UInt32(clamping: significant.count * 8 - first.leadingZeroBitCount)
    }
}
