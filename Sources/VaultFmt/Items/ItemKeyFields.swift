internal import VaultBytes

extension ItemKey {
    /// The primary-key attributes of each class, but for access group and synchronizable.
    public enum Fields: Sendable, Hashable {
        /// A generic password.
        case genericPassword(service: String, account: String)
        /// An internet password.
        case internetPassword(
            server: String, protocol: String, port: UInt32, path: String, account: String, securityDomain: String,
            authenticationType: String)
        /// A certificate: its type, the issuer's name in DER, and the serial number's bytes.
        case certificate(type: UInt32, issuer: [UInt8], serialNumber: [UInt8])
        /// A key: class and type as Apple numbers them; sizes in bits.
        case key(
            keyClass: UInt32, keyType: UInt32, applicationLabel: [UInt8], applicationTag: [UInt8], sizeInBits: UInt32,
            effectiveSize: UInt32
        )
        /// An identity: as its certificate.
        case identity(type: UInt32, issuer: [UInt8], serialNumber: [UInt8])
        /// An item of a class that this version does not define (6 to 63): its texts but for the last, which is the
        /// access group. Such items are never made.
        case reserved(itemClass: UInt8, texts: [String])

        /// The class that has these fields.
        public var itemClass: ItemClass {
            switch self {
            case .genericPassword: .genericPassword
            case .internetPassword: .internetPassword
            case .certificate: .certificate
            case .key: .key
            case .identity: .identity
            case .reserved(let number, _): .reserved(number)
            }
        }

        /// Compares as the format does: by bytes, where Swift would take canonically equivalent strings for one.
        public static func == (left: Fields, right: Fields) -> Bool { left.bytes == right.bytes }

        /// Hashes what is compared.
        public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

        private var bytes: [UInt8] {
            var out: [UInt8] = [itemClass.rawValue]
            encodeUnchecked(into: &out)
            return out
        }

        /// Reads class and fields (specification, section 6.1).
        init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
            guard let itemClass = ItemClass(rawValue: try cursor.u8(bytes)) else {
                throw cursor.error("an item of an unknown class")
            }
            switch itemClass {
            case .genericPassword:
                self = .genericPassword(
                    service: try KeyFields.text(bytes, &cursor), account: try KeyFields.text(bytes, &cursor))
            case .internetPassword:
                self = .internetPassword(
                    server: try KeyFields.text(bytes, &cursor), protocol: try KeyFields.text(bytes, &cursor),
                    port: try KeyFields.n32(bytes, &cursor),
                    path: try KeyFields.text(bytes, &cursor), account: try KeyFields.text(bytes, &cursor),
                    securityDomain: try KeyFields.text(bytes, &cursor),
                    authenticationType: try KeyFields.text(bytes, &cursor))
            case .certificate, .identity:
                let type = try KeyFields.n32(bytes, &cursor)
                let issuer = try KeyFields.field(bytes, &cursor)
                let serial = try KeyFields.field(bytes, &cursor)
                self =
                    itemClass == .certificate
                    ? .certificate(type: type, issuer: issuer, serialNumber: serial)
                    : .identity(type: type, issuer: issuer, serialNumber: serial)
            case .key:
                self = .key(
                    keyClass: try KeyFields.n32(bytes, &cursor), keyType: try KeyFields.n32(bytes, &cursor),
                    applicationLabel: try KeyFields.field(bytes, &cursor),
                    applicationTag: try KeyFields.field(bytes, &cursor),
                    sizeInBits: try KeyFields.n32(bytes, &cursor), effectiveSize: try KeyFields.n32(bytes, &cursor))
            case .reserved(let number):
                var texts: [String] = []
                while try Self.isBeforeLastText(bytes, cursor) { texts.append(try KeyFields.text(bytes, &cursor)) }
                guard texts.count < Format.Limit.fieldsOfReservedClass else { throw Self.tooManyTexts(cursor) }
                self = .reserved(itemClass: number, texts: texts)
            }
        }

        /// Checks class and fields without keeping them.
        static func skip(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
            guard let itemClass = ItemClass(rawValue: try cursor.u8(bytes)) else {
                throw cursor.error("an item of an unknown class")
            }
            switch itemClass {
            case .genericPassword:
                for _ in 0..<2 { try KeyFields.skip(bytes, &cursor, isText: true) }
            case .internetPassword:
                for _ in 0..<2 { try KeyFields.skip(bytes, &cursor, isText: true) }
                _ = try KeyFields.n32(bytes, &cursor)
                for _ in 0..<4 { try KeyFields.skip(bytes, &cursor, isText: true) }
            case .certificate, .identity:
                _ = try KeyFields.n32(bytes, &cursor)
                for _ in 0..<2 { try KeyFields.skip(bytes, &cursor, isText: false) }
            case .key:
                for _ in 0..<2 { _ = try KeyFields.n32(bytes, &cursor) }
                for _ in 0..<2 { try KeyFields.skip(bytes, &cursor, isText: false) }
                for _ in 0..<2 { _ = try KeyFields.n32(bytes, &cursor) }
            case .reserved:
                var texts = 0
                while try Self.isBeforeLastText(bytes, cursor) {
                    try KeyFields.skip(bytes, &cursor, isText: true)
                    texts += 1
                }
                guard texts < Format.Limit.fieldsOfReservedClass else { throw Self.tooManyTexts(cursor) }
            }
        }

        /// Whether a text is followed by another one, in a key of a class whose number of texts is not known: the last
        /// one is followed by one byte only.
        private static func isBeforeLastText(_ bytes: Span<UInt8>, _ cursor: Cursor) throws(FormatError) -> Bool {
            var after = cursor
            try KeyFields.skip(bytes, &after, isText: false)
            return after.remaining > 1
        }

        private static func tooManyTexts(_ cursor: Cursor) -> FormatError {
            cursor.error("an item key has more than \(Format.Limit.fieldsOfReservedClass) fields")
        }

        func encode(into out: inout [UInt8]) throws(VaultError) {
            let start = out.count
            encodeUnchecked(into: &out)
            // A field that is too long makes all of them together too long.
            guard out.count - start > Format.Limit.field else { return }
            for (name, count) in sizes where count > Format.Limit.field {
                throw VaultError(
                    .limitExceeded, "\(name) has \(count) bytes; at most \(Format.Limit.field) are possible")
            }
        }

        /// The fields that have a limit, with their sizes.
        private var sizes: [(name: StaticString, count: Int)] {
            switch self {
            case .genericPassword(let service, let account):
                [("the service", service.utf8.count), ("the account", account.utf8.count)]
            case .internetPassword(
                let server, let `protocol`, _, let path, let account, let securityDomain, let authenticationType):
                [
                    ("the server", server.utf8.count), ("the protocol", `protocol`.utf8.count),
                    ("the path", path.utf8.count),
                    ("the account", account.utf8.count), ("the security domain", securityDomain.utf8.count),
                    ("the authentication type", authenticationType.utf8.count),
                ]
            case .certificate(_, let issuer, let serialNumber), .identity(_, let issuer, let serialNumber):
                [("the issuer", issuer.count), ("the serial number", serialNumber.count)]
            case .key(_, _, let label, let tag, _, _):
                [("the application label", label.count), ("the application tag", tag.count)]
            case .reserved(_, let texts): texts.map { ("a text", $0.utf8.count) }
            }
        }

        private func encodeUnchecked(into out: inout [UInt8]) {
            switch self {
            case .genericPassword(let service, let account):
                KeyFields.append(service, to: &out)
                KeyFields.append(account, to: &out)
            case .internetPassword(
                let server, let `protocol`, let port, let path, let account, let securityDomain, let authenticationType):
                KeyFields.append(server, to: &out)
                KeyFields.append(`protocol`, to: &out)
                out.append(n32: port)
                for text in [path, account, securityDomain, authenticationType] { KeyFields.append(text, to: &out) }
            case .certificate(let type, let issuer, let serialNumber),
                .identity(let type, let issuer, let serialNumber):
                out.append(n32: type)
                KeyFields.append(issuer, to: &out)
                KeyFields.append(serialNumber, to: &out)
            case .key(let keyClass, let keyType, let label, let tag, let size, let effectiveSize):
                out.append(n32: keyClass)
                out.append(n32: keyType)
                KeyFields.append(label, to: &out)
                KeyFields.append(tag, to: &out)
                out.append(n32: size)
                out.append(n32: effectiveSize)
            case .reserved(_, let texts): for text in texts { KeyFields.append(text, to: &out) }
            }
        }
    }
}
