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
            keyClass: UInt32, keyType: UInt32, applicationLabel: [UInt8], applicationTag: [UInt8], sizeInBits: UInt32, effectiveSize: UInt32
        )
        /// An identity: as its certificate.
        case identity(type: UInt32, issuer: [UInt8], serialNumber: [UInt8])

        /// The class that has these fields.
        public var itemClass: ItemClass {
            switch self {
            case .genericPassword: .genericPassword
            case .internetPassword: .internetPassword
            case .certificate: .certificate
            case .key: .key
            case .identity: .identity
            }
        }

        /// Reads class and fields (specification, section 6.1).
        init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
            guard let itemClass = ItemClass(rawValue: try cursor.u8(bytes)) else { throw cursor.error("an item of an unknown class") }
            switch itemClass {
            case .genericPassword:
                self = .genericPassword(service: try KeyFields.text(bytes, &cursor), account: try KeyFields.text(bytes, &cursor))
            case .internetPassword:
                self = .internetPassword(
                    server: try KeyFields.text(bytes, &cursor), protocol: try KeyFields.text(bytes, &cursor),
                    port: try KeyFields.n32(bytes, &cursor),
                    path: try KeyFields.text(bytes, &cursor), account: try KeyFields.text(bytes, &cursor),
                    securityDomain: try KeyFields.text(bytes, &cursor), authenticationType: try KeyFields.text(bytes, &cursor))
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
                    applicationLabel: try KeyFields.field(bytes, &cursor), applicationTag: try KeyFields.field(bytes, &cursor),
                    sizeInBits: try KeyFields.n32(bytes, &cursor), effectiveSize: try KeyFields.n32(bytes, &cursor))
            }
        }

        /// Checks class and fields without keeping them.
        static func skip(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
            guard let itemClass = ItemClass(rawValue: try cursor.u8(bytes)) else { throw cursor.error("an item of an unknown class") }
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
            }
        }

        func encode(into out: inout [UInt8]) throws(VaultError) {
            switch self {
            case .genericPassword(let service, let account):
                try ItemKey.append(Array(service.utf8), "the service", to: &out)
                try ItemKey.append(Array(account.utf8), "the account", to: &out)
            case .internetPassword(let server, let `protocol`, let port, let path, let account, let securityDomain, let authenticationType):
                try ItemKey.append(Array(server.utf8), "the server", to: &out)
                try ItemKey.append(Array(`protocol`.utf8), "the protocol", to: &out)
                out.append(n32: port)
                try ItemKey.append(Array(path.utf8), "the path", to: &out)
                try ItemKey.append(Array(account.utf8), "the account", to: &out)
                try ItemKey.append(Array(securityDomain.utf8), "the security domain", to: &out)
                try ItemKey.append(Array(authenticationType.utf8), "the authentication type", to: &out)
            case .certificate(let type, let issuer, let serialNumber), .identity(let type, let issuer, let serialNumber):
                out.append(n32: type)
                try ItemKey.append(issuer, "the issuer", to: &out)
                try ItemKey.append(serialNumber, "the serial number", to: &out)
            case .key(let keyClass, let keyType, let label, let tag, let size, let effectiveSize):
                out.append(n32: keyClass)
                out.append(n32: keyType)
                try ItemKey.append(label, "the application label", to: &out)
                try ItemKey.append(tag, "the application tag", to: &out)
                out.append(n32: size)
                out.append(n32: effectiveSize)
            }
        }
    }
}
