internal import VaultBytes

extension ItemKey {
    /// A field of a key: the classes that have it, the kind of its values, and its names (specification, section 6.1).
    ///
    /// The library, the C interface, the Keychain APIs and the command all iterate over these cases and their rows in
    /// the table below.
    public enum Field: Int, CaseIterable, Sendable {
        /// The service of a generic password.
        case service
        /// The server of an internet password.
        case server
        /// The protocol of an internet password, such as `https`.
        case `protocol`
        /// The port of an internet password; 0 if it has none.
        case port
        /// The path of an internet password.
        case path
        /// The account of a password.
        case account
        /// The security domain of an internet password.
        case securityDomain
        /// The authentication type of an internet password.
        case authenticationType
        /// The type of a certificate, as numbered by Apple.
        case type
        /// The name of a certificate's issuer, in DER.
        case issuer
        /// The serial number of a certificate.
        case serialNumber
        /// The class of a key, as numbered by Apple.
        case keyClass
        /// The type of a key, as numbered by Apple.
        case keyType
        /// The application label of a key.
        case applicationLabel
        /// The application tag of a key.
        case applicationTag
        /// The size of a key, in bits.
        case sizeInBits
        /// The effective size of a key, in bits.
        case effectiveSize
    }

    /// The kind of a field's values.
    public enum Kind: Sendable {
        /// UTF-8 text of at most 4096 bytes.
        case text
        /// A 32-bit number.
        case number
        /// Up to 4096 bytes.
        case bytes
    }

    /// The value of a field.
    public enum Value: Sendable, Hashable {
        /// The value of a field of kind `text`.
        case text(String)
        /// The value of a field of kind `number`.
        case number(UInt32)
        /// The value of a field of kind `bytes`.
        case bytes([UInt8])
    }
}

extension ItemKey.Field {
    private struct Row: Sendable {
        let field: ItemKey.Field
        let name: String
        let kind: ItemKey.Kind
        let classes: [ItemClass]
        let appleCode: String

        init(
            _ field: ItemKey.Field, _ name: String, _ kind: ItemKey.Kind, of classes: ItemClass..., apple code: String
        ) {
            self.field = field
            self.name = name
            self.kind = kind
            self.classes = classes
            appleCode = code
        }
    }

    /// One row for each field, in the order of the cases, which is also the order of a class's fields in its keys.
    private static let table = [
        Row(.service, "service", .text, of: .genericPassword, apple: "svce"),
        Row(.server, "server", .text, of: .internetPassword, apple: "srvr"),
        Row(.protocol, "protocol", .text, of: .internetPassword, apple: "ptcl"),
        Row(.port, "port", .number, of: .internetPassword, apple: "port"),
        Row(.path, "path", .text, of: .internetPassword, apple: "path"),
        Row(.account, "account", .text, of: .genericPassword, .internetPassword, apple: "acct"),
        Row(.securityDomain, "securityDomain", .text, of: .internetPassword, apple: "sdmn"),
        Row(.authenticationType, "authenticationType", .text, of: .internetPassword, apple: "atyp"),
        Row(.type, "type", .number, of: .certificate, .identity, apple: "ctyp"),
        Row(.issuer, "issuer", .bytes, of: .certificate, .identity, apple: "issr"),
        Row(.serialNumber, "serialNumber", .bytes, of: .certificate, .identity, apple: "slnr"),
        Row(.keyClass, "keyClass", .number, of: .key, apple: "kcls"),
        Row(.keyType, "keyType", .number, of: .key, apple: "type"),
        Row(.applicationLabel, "applicationLabel", .bytes, of: .key, apple: "klbl"),
        Row(.applicationTag, "applicationTag", .bytes, of: .key, apple: "atag"),
        Row(.sizeInBits, "sizeInBits", .number, of: .key, apple: "bsiz"),
        Row(.effectiveSize, "effectiveSize", .number, of: .key, apple: "esiz"),
    ]

    private var row: Row { Self.table[rawValue] }

    /// The name in JSON and CSV, such as `securityDomain`.
    public var name: String { row.name }

    /// The kind of the field's values.
    public var kind: ItemKey.Kind { row.kind }

    /// The classes whose keys have this field.
    public var classes: [ItemClass] { row.classes }

    /// The value of Apple's constant for the attribute.
    package var appleCode: String { row.appleCode }

    /// The words of the name, such as `security` and `domain`.
    package var words: [String] {
        name.reduce(into: [""]) { words, letter in
            if letter.isUppercase { words.append("") }
            words[words.count - 1] += letter.lowercased()
        }
    }

    /// The value of a field that is omitted: empty, or 0.
    var empty: ItemKey.Value {
        switch kind {
        case .text: .text("")
        case .number: .number(0)
        case .bytes: .bytes([])
        }
    }

    /// The fields of each class, by class number.
    fileprivate static let byClass: [[ItemKey.Field]] = (0...UInt8(ItemClass.allCases.count)).map { number in
        table.filter { $0.classes.contains { $0.rawValue == number } }.map(\.field)
    }

    /// The kinds of each class's fields, by class number; these are sufficient for checking a key.
    fileprivate static let kindsByClass = byClass.map { $0.map(\.kind) }
}

extension ItemClass {
    /// The fields of the class's keys, in order; empty for a class that this version does not define.
    public var fields: [ItemKey.Field] { isDefined ? ItemKey.Field.byClass[Int(rawValue)] : [] }

    /// The kinds of `fields`.
    var fieldKinds: [ItemKey.Kind] { isDefined ? ItemKey.Field.kindsByClass[Int(rawValue)] : [] }
}

extension ItemKey.Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral {
    /// Makes a text value.
    public init(stringLiteral text: String) { self = .text(text) }

    /// Makes a numeric value.
    public init(integerLiteral number: UInt32) { self = .number(number) }

    /// Makes a value of raw bytes.
    public init(arrayLiteral bytes: UInt8...) { self = .bytes(bytes) }

    /// The text; nil for a value of another kind.
    public var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The number; nil for a value of another kind.
    public var number: UInt32? { if case .number(let number) = self { number } else { nil } }

    /// The bytes; nil for a value of another kind.
    public var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// The kind of the value.
    public var kind: ItemKey.Kind {
        switch self {
        case .text: .text
        case .number: .number
        case .bytes: .bytes
        }
    }

    /// Compares text bytewise, as the format does; Swift would treat canonically equivalent strings as equal.
    public static func == (left: ItemKey.Value, right: ItemKey.Value) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.number(let left), .number(let right)): left == right
        case (.bytes(let left), .bytes(let right)): left == right
        default: false
        }
    }

    /// Hashes the same bytes that `==` compares.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .text(let text): for byte in text.utf8 { hasher.combine(byte) }
        case .number(let number): hasher.combine(number)
        case .bytes(let bytes): hasher.combine(bytes)
        }
    }

    /// Decodes a value of a given kind.
    init(_ kind: ItemKey.Kind, _ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        switch kind {
        case .text: self = .text(try KeyFields.text(bytes, &cursor))
        case .number: self = .number(try KeyFields.n32(bytes, &cursor))
        case .bytes: self = .bytes(try KeyFields.field(bytes, &cursor))
        }
    }

    /// Appends the encoded value.
    func encode(into out: inout [UInt8]) {
        switch self {
        case .text(let text): KeyFields.append(text, to: &out)
        case .number(let number): out.append(n32: number)
        case .bytes(let bytes): KeyFields.append(bytes, to: &out)
        }
    }

    /// The number of bytes that count towards the limit of a field.
    var size: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .number: 0
        case .bytes(let bytes): bytes.count
        }
    }
}
