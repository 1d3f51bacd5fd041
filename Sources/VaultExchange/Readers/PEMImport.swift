import Crypto
import SwiftASN1
import VaultFmt
import VaultLocal
import X509

/// Reads certificates and private keys in PEM, and OpenSSH's private keys. A key gets the name of its certificate in
/// the same source, and the two also form an identity.
struct PEMImport: ~Copyable, ImportSource {
    private var blocks: PEMBlocks
    private let name: String
    private let access: SourceAccess

    init(_ reader: consuming SourceReader, _ access: SourceAccess) throws {
        name = reader.name
        self.access = access
        blocks = try PEMBlocks(reader)
    }

    mutating func read(_ take: (consuming ImportRecord) throws -> Void) throws -> [Omission] {
        var contents = PEMContents(opener: OpenSSHOpener(name: name, access: access))
        try blocks.forEach { block in try contents.sort(block) }
        if blocks.remarks > 0 {
            contents.losses.append(.intended("text outside the PEM blocks (\(blocks.remarks) lines)"))
        }
        for certificate in contents.certificates { try take(certificate.record()) }
        // Certificates and keys are matched by public key: there may be a hundred thousand of each.
        var labels: [[UInt8]: String] = [:]
        for certificate in contents.certificates where labels[certificate.fields.publicKey] == nil {
            labels[certificate.fields.publicKey] = certificate.fields.label
        }
        for key in contents.keys { try take(key.record(label: labels[key.fields.publicKey])) }
        let keys = Dictionary(contents.keys.map { ($0.fields.publicKey, $0) }) { first, _ in first }
        for certificate in contents.certificates {
            if let key = keys[certificate.fields.publicKey] { try take(certificate.identity(with: key)) }
        }
        return contents.losses
    }
}

/// The blocks of a PEM text, by category.
private struct PEMContents {
    private(set) var certificates: [CertificateBlock] = []
    private(set) var keys: [KeyBlock] = []
    var losses: [Omission] = []
    /// Opens encrypted OpenSSH keys.
    private let opener: OpenSSHOpener
    /// The line on which each encoding first occurs. Encodings are identified by their hashes, because some are private
    /// keys.
    private var lines: [SHA256Digest: Int] = [:]

    init(opener: OpenSSHOpener) { self.opener = opener }

    /// Adds a block to its category.
    mutating func sort(_ block: consuming PEMBlock) throws {
        switch block.label {
        case "CERTIFICATE", "X509 CERTIFICATE", "X.509 CERTIFICATE":
            let document = try block.document()
            if isNew(document, block.line) { certificates.append(try CertificateBlock(block, document)) }
        case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY":
            if let cipher = block.cipher { throw Self.encrypted(block.place, "OpenSSL's old form, \(cipher)") }
            let document = try block.document()
            if isNew(document, block.line) { keys.append(try KeyBlock(block, document)) }
        case OpenSSHKey.label: try sort(openSSH: block)
        case "ENCRYPTED PRIVATE KEY": throw Self.encrypted(block.place, "PKCS #8")
        case let label where label.hasSuffix("PRIVATE KEY"):
            throw ExchangeError.damaged(
                block.place,
                "a key in the format \(TerminalText.quoted(label)) cannot be read; convert it to PKCS #8 first, for example with openssl"
            )
        case let label:
            // Curve parameters are an example: a key that needs such parameters also contains them.
            losses.append(
                .intended(
                    "\(block.place): \(TerminalText.quoted(label)) is neither a certificate nor a private key",
                    entries: 1))
        }
    }

    private mutating func sort(openSSH block: borrowing PEMBlock) throws {
        let key = try OpenSSHKey.read(block, opener)
        let document = key.document()
        if isNew(document, block.line) { keys.append(try KeyBlock(key, document, block.place)) }
    }

    private mutating func isNew(_ document: PEMDocument, _ line: Int) -> Bool {
        let digest = SHA256.hash(data: document.derBytes)
        if let first = lines[digest] {
            losses.append(.intended("line \(line): a duplicate of line \(first)", entries: 1))
            return false
        }
        lines[digest] = line
        return true
    }

    private static func encrypted(_ place: String, _ form: String) -> ExchangeError {
        ExchangeError(
            .unavailable,
            "\(place): the private key is encrypted (\(TerminalText.singleLine(form))); decrypt it into an in-memory file system first: "
                + "'openssl pkey -in FILE -out /dev/shm/key.pem'")
    }
}

/// A certificate from the source.
private struct CertificateBlock {
    let place: String
    let fields: CertificateFields
    let document: PEMDocument

    init(_ block: borrowing PEMBlock, _ document: PEMDocument) throws {
        place = block.place
        self.document = PEMDocument(type: "CERTIFICATE", derBytes: document.derBytes)
        do {
            fields = try CertificateFields(der: document.derBytes)
        } catch {
            throw ExchangeError.damaged(place, "this is not an X.509 certificate")
        }
    }

    func record() throws -> ImportRecord {
        let key = try importing(place) {
            try ItemKey.certificate(type: fields.type, issuer: fields.issuer, serialNumber: fields.serialNumber)
        }
        return ImportRecord(
            place: place, key: key, secret: Secret(copying: document.derBytes), attributes: attributes,
            mayHaveTwins: false)
    }

    /// The certificate followed by its private key, both in PEM.
    func identity(with privateKey: KeyBlock) throws -> ImportRecord {
        let key = try importing(place) {
            try ItemKey.identity(type: fields.type, issuer: fields.issuer, serialNumber: fields.serialNumber)
        }
        var both = SecretBuffer()
        both.append(contentsOf: (document.pemString + "\n").utf8)
        both.append(privateKey.text)
        return ImportRecord(place: place, key: key, secret: both.secret(), attributes: attributes, mayHaveTwins: false)
    }

    private var attributes: Attributes {
        var attributes = Attributes()
        attributes.label = fields.label
        return attributes
    }
}

/// A private key from the source.
private final class KeyBlock {
    let place: String
    let fields: PrivateKeyFields
    let text: Secret
    /// The key's comment from OpenSSH.
    private let comment: String
    private let der: Secret

    convenience init(_ block: consuming PEMBlock, _ document: PEMDocument) throws {
        try self.init(document, text: block.text.copy(), comment: "", block.place)
    }

    convenience init(_ key: OpenSSHKey, _ document: PEMDocument, _ place: String) throws {
        try self.init(document, text: Secret(text: document.pemString + "\n"), comment: key.comment, place)
    }

    private init(_ document: PEMDocument, text: consuming Secret, comment: String, _ place: String) throws {
        self.place = place
        self.text = text
        self.comment = comment
        der = Secret(copying: document.derBytes)
        do { fields = try PrivateKeyFields(document) } catch let refused as PrivateKeyFields.TooSmall {
            throw ExchangeError.damaged(
                place,
                "an RSA key of \(refused.bits) bits is too small to be imported; replace it with one of at least 2048 bits"
            )
        } catch {
            throw ExchangeError.damaged(
                place, "this private key is damaged, or not an RSA, P-256, P-384, P-521 or Ed25519 key")
        }
    }

    /// `label`: the name from the key's certificate.
    func record(label: String?) throws -> ImportRecord {
        let key = try importing(place) {
            try ItemKey.key(
                keyClass: PrivateKeyFields.keyClass, keyType: fields.keyType.rawValue,
                applicationLabel: fields.applicationLabel,
                applicationTag: [], sizeInBits: fields.sizeInBits, effectiveSize: fields.sizeInBits)
        }
        var attributes = Attributes()
        attributes.label = label ?? (comment.isEmpty ? fields.label : comment)
        return ImportRecord(place: place, key: key, secret: der.copy(), attributes: attributes, mayHaveTwins: false)
    }
}
