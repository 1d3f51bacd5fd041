internal import VaultFmt

/// Every attribute of items: Apple's code for it, what values it takes, and where a vault keeps it.
struct AttributeTable {
    /// Where a vault keeps an attribute.
    enum Place: Sendable, Equatable {
        /// Part of the item's key.
        case key
        case group, synchronizable, accessible, accessControl, created, modified
        /// An attribute of this name.
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

    /// What items of a class can have.
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
        Row(code: SecKey.account, kind: .textOrBytes, place: .key),
        Row(code: SecKey.description, kind: .textOrBytes, place: .attribute("description")),
        Row(code: SecKey.comment, kind: .textOrBytes, place: .attribute("comment")),
        Row(code: SecKey.creator, kind: .numberOrText, place: .attribute("creator")),
        Row(code: SecKey.type, kind: .numberOrText, place: .attribute("type")),
        Row(code: SecKey.isInvisible, kind: .flag, place: .attribute("invisible")),
        Row(code: SecKey.isNegative, kind: .flag, place: .attribute("negative")),
    ]

    private static let certificateRows: [Row] = [
        Row(code: SecKey.certificateType, kind: .number, place: .key),
        Row(code: SecKey.issuer, kind: .bytes, place: .key),
        Row(code: SecKey.serialNumber, kind: .bytes, place: .key),
        Row(code: SecKey.certificateEncoding, kind: .number, place: .attribute("certificate-encoding")),
        Row(code: SecKey.subject, kind: .bytes, place: .attribute("subject")),
        Row(code: SecKey.subjectKeyID, kind: .bytes, place: .attribute("subject-key-id")),
        Row(code: SecKey.publicKeyHash, kind: .bytes, place: .attribute("public-key-hash")),
    ]

    private static func keyRows(_ place: (String) -> Place) -> [Row] {
        [
            Row(code: SecKey.keyClass, kind: .digits, place: place("key-class")),
            Row(code: SecKey.keyType, kind: .digits, place: place("key-type")),
            Row(code: SecKey.applicationLabel, kind: .bytesOrText, place: place("application-label")),
            Row(code: SecKey.applicationTag, kind: .bytesOrText, place: place("application-tag")),
            Row(code: SecKey.keySizeInBits, kind: .number, place: place("key-size")),
            Row(code: SecKey.effectiveKeySize, kind: .number, place: place("effective-key-size")),
            Row(code: SecKey.creator, kind: .numberOrText, place: .attribute("creator")),
            Row(code: SecKey.startDate, kind: .date, place: .attribute("start-date")),
            Row(code: SecKey.endDate, kind: .date, place: .attribute("end-date")),
        ] + keyFlags.map { Row(code: $0, kind: .flag, place: .attribute($1)) }
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
        common, accessControl, password,
        [
            Row(code: SecKey.service, kind: .textOrBytes, place: .key),
            Row(code: SecKey.generic, kind: .bytesOrText, place: .attribute("generic")),
        ])

    private static let internetPassword = AttributeTable(
        common, accessControl, password,
        [
            Row(code: SecKey.server, kind: .textOrBytes, place: .key),
            Row(code: SecKey.protocolType, kind: .text, place: .key),
            Row(code: SecKey.port, kind: .number, place: .key),
            Row(code: SecKey.path, kind: .textOrBytes, place: .key),
            Row(code: SecKey.securityDomain, kind: .textOrBytes, place: .key),
            Row(code: SecKey.authenticationType, kind: .text, place: .key),
        ])

    private static let certificate = AttributeTable(common, accessControl, certificateRows)
    private static let key = AttributeTable(common, accessControl, keyRows { _ in .key })
    /// A certificate's key, and the attributes of both.
    private static let identity = AttributeTable(common, accessControl, certificateRows, keyRows { .attribute($0) })
}
