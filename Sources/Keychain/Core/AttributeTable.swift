internal import VaultFmt

/// The attributes of items: for each attribute, Apple's code, the accepted values, and the place where a vault stores
/// it.
struct AttributeTable {
    /// The place where a vault stores an attribute.
    enum Place: Sendable, Equatable {
        /// A field of the item's key.
        case key(ItemKey.Field)
        case group, synchronizable, accessible, accessControl, created, modified
        /// An attribute with this name.
        case attribute(String)
    }

    struct Row: Sendable {
        let code: String
        let kind: AttributeValue.Kind
        let place: Place
    }

    /// The rows of one class, by code.
    private let rows: [String: Row]

    subscript(code: String) -> Row? { rows[code] }

    var all: some Collection<Row> { rows.values }

    /// Returns the attributes that items of a class can have.
    static func of(_ itemClass: ItemClass) -> AttributeTable {
        switch itemClass {
        case .genericPassword: genericPassword
        case .internetPassword: internetPassword
        case .certificate: certificate
        case .key: key
        case .identity: identity
        case .reserved: AttributeTable(common)
        }
    }

    private init(_ itemClass: ItemClass, _ rows: [Row]...) {
        let fields = itemClass.fields.map { Row(code: $0.appleCode, kind: $0.appleKind, place: .key($0)) }
        self.init(fields, Self.common, Self.accessControl, rows.flatMap(\.self))
    }

    private init(_ rows: [Row]...) {
        self.rows = Dictionary(rows.joined().map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static let common: [Row] = [
        Row(code: SecKey.accessGroup, kind: .text, place: .group),
        Row(code: SecKey.synchronizable, kind: .flag, place: .synchronizable),
        Row(code: SecKey.accessible, kind: .text, place: .accessible),
        Row(code: SecKey.creationDate, kind: .date, place: .created),
        Row(code: SecKey.modificationDate, kind: .date, place: .modified),
        Row(code: SecKey.label, kind: .textOrBytes, place: .attribute("label")),
    ]

    private static let password: [Row] = [
        Row(code: SecKey.description, kind: .textOrBytes, place: .attribute("description")),
        Row(code: SecKey.comment, kind: .textOrBytes, place: .attribute("comment")),
        Row(code: SecKey.creator, kind: .numberOrText, place: .attribute("creator")),
        Row(code: SecKey.type, kind: .numberOrText, place: .attribute("type")),
        Row(code: SecKey.isInvisible, kind: .flag, place: .attribute("invisible")),
        Row(code: SecKey.isNegative, kind: .flag, place: .attribute("negative")),
    ]

    private static let certificateRows: [Row] = [
        Row(code: SecKey.certificateEncoding, kind: .number, place: .attribute("certificate-encoding")),
        Row(code: SecKey.subject, kind: .bytes, place: .attribute("subject")),
        Row(code: SecKey.subjectKeyID, kind: .bytes, place: .attribute("subject-key-id")),
        Row(code: SecKey.publicKeyHash, kind: .bytes, place: .attribute("public-key-hash")),
    ]

    private static let keyRows: [Row] =
        [
            Row(code: SecKey.creator, kind: .numberOrText, place: .attribute("creator")),
            Row(code: SecKey.startDate, kind: .date, place: .attribute("start-date")),
            Row(code: SecKey.endDate, kind: .date, place: .attribute("end-date")),
        ] + keyFlags.map { Row(code: $0, kind: .flag, place: .attribute($1)) }

    /// The fields of a key, which an identity stores as attributes.
    private static let identityKeyRows: [Row] = ItemClass.key.fields.map { field in
        let name = field == .sizeInBits ? "key-size" : field == .effectiveSize ? "effective-key-size" : nil
        return Row(
            code: field.appleCode, kind: field.appleKind,
            place: .attribute(name ?? field.words.joined(separator: "-")))
    }

    private static let keyFlags = [
        (SecKey.isPermanent, "permanent"), (SecKey.isPrivate, "private"), (SecKey.isModifiable, "modifiable"),
        (SecKey.isSensitive, "sensitive"), (SecKey.wasAlwaysSensitive, "always-sensitive"),
        (SecKey.isExtractable, "extractable"),
        (SecKey.wasNeverExtractable, "never-extractable"), (SecKey.canEncrypt, "can-encrypt"),
        (SecKey.canDecrypt, "can-decrypt"),
        (SecKey.canDerive, "can-derive"), (SecKey.canSign, "can-sign"), (SecKey.canVerify, "can-verify"),
        (SecKey.canSignRecover, "can-sign-recover"), (SecKey.canVerifyRecover, "can-verify-recover"),
        (SecKey.canWrap, "can-wrap"),
        (SecKey.canUnwrap, "can-unwrap"),
    ]

    private static let accessControl = [Row(code: SecKey.accessControl, kind: .number, place: .accessControl)]

    private static let genericPassword = AttributeTable(
        .genericPassword, password,
        [Row(code: SecKey.generic, kind: .bytesOrText, place: .attribute("generic"))])
    private static let internetPassword = AttributeTable(.internetPassword, password)
    private static let certificate = AttributeTable(.certificate, certificateRows)
    private static let key = AttributeTable(.key, keyRows)
    /// A certificate's fields, and the attributes of both the certificate and its key.
    private static let identity = AttributeTable(.identity, certificateRows, identityKeyRows, keyRows)
}

extension ItemKey.Field {
    /// The kind of value that Apple's attribute accepts.
    var appleKind: AttributeValue.Kind {
        switch self {
        case .protocol, .authenticationType: .text
        case .keyClass, .keyType: .digits
        case .applicationLabel, .applicationTag: .bytesOrText
        default:
            switch kind {
            case .text: .textOrBytes
            case .number: .number
            case .bytes: .bytes
            }
        }
    }

    /// The mapping of four-character codes, for a field whose Apple constants are such codes.
    var codedText: CodedText? {
        switch self {
        case .protocol: .protocols
        case .authenticationType: .authenticationTypes
        default: nil
        }
    }
}
