import Crypto
import SwiftASN1
import X509

/// The fields that an item of class `certificate` or `identity` takes from an X.509 certificate. They are parsed from
/// the certificate's structure, so that certificates with key types unknown to our libraries can be imported as well.
struct CertificateFields {
    /// Apple's CSSM_CERT_TYPE: 1, 2 or 3 for X.509 versions 1, 2 and 3.
    let type: UInt32
    /// The issuer's name in DER, exactly as in the certificate.
    let issuer: [UInt8]
    /// The serial number: the contents of its INTEGER, exactly as in the certificate.
    let serialNumber: [UInt8]
    /// The subject's common name, or the closest equivalent.
    let label: String?
    /// The bits of the public key.
    let publicKey: [UInt8]

    init(der: [UInt8]) throws {
        let certificate = try DER.parse(der)
        self = try DER.sequence(certificate, identifier: .sequence) { nodes in
            let body = try Self.next(&nodes)
            _ = try Self.next(&nodes)
            _ = try ASN1BitString(derEncoded: &nodes)
            return try DER.sequence(body, identifier: .sequence) { try Self(body: &$0) }
        }
    }

    private init(body nodes: inout ASN1NodeCollection.Iterator) throws {
        let version =
            try DER.optionalExplicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) {
                try Int(derEncoded: $0)
            } ?? 0
        guard let type = UInt32(exactly: version), type <= 2 else { throw Malformed() }
        self.type = type + 1
        guard case .primitive(let serial) = try Self.next(&nodes, .integer).content else { throw Malformed() }
        serialNumber = Array(serial)
        _ = try Self.next(&nodes, .sequence)
        issuer = Array(try Self.next(&nodes, .sequence).encodedBytes)
        _ = try Self.next(&nodes, .sequence)
        label = Self.label(try Self.next(&nodes, .sequence))
        publicKey = try DER.sequence(Self.next(&nodes, .sequence), identifier: .sequence) { nodes in
            _ = try Self.next(&nodes, .sequence)
            return Array(try ASN1BitString(derEncoded: &nodes).bytes)
        }
        while nodes.next() != nil {}
    }

    private struct Malformed: Error {}

    private static func next(_ nodes: inout ASN1NodeCollection.Iterator, _ kind: ASN1Identifier? = nil) throws
        -> ASN1Node
    {
        guard let node = nodes.next(), kind == nil || node.identifier == kind else { throw Malformed() }
        return node
    }

    /// Returns the last common name of a subject or, failing that, its last organizational unit or organization.
    private static func label(_ subject: ASN1Node) -> String? {
        let names: [RelativeDistinguishedName]
        do {
            names = try DER.sequence(of: RelativeDistinguishedName.self, identifier: .sequence, rootNode: subject)
        } catch {
            // If the name cannot be read, the certificate has no label.
            return nil
        }
        let kinds: [ASN1ObjectIdentifier] = [
            .NameAttributes.commonName, .NameAttributes.organizationalUnitName, .NameAttributes.organizationName,
        ]
        let attributes = names.flatMap { Array($0) }
        for kind in kinds {
            if let name = attributes.last(where: { $0.type == kind }), let text = String(name.value), !text.isEmpty {
                return text
            }
        }
        return nil
    }
}
