internal import VaultFmt
internal import VaultLocal

extension ItemChanges {
    /// The key of a new item of a class, or of an item whose key was `old` and that changes so.
    func key(of itemClass: ItemClass, changing old: ItemKey? = nil) throws(KeychainFailure) -> ItemKey {
        let fields = try fields(of: itemClass, old)
        let group = text(SecKey.accessGroup) ?? old?.group ?? ""
        return try vaultCall { () throws(VaultError) in
            try ItemKey(
                fields, group: group, synchronizable: flag(SecKey.synchronizable) ?? old?.synchronizable ?? false)
        }
    }

    private func fields(of itemClass: ItemClass, _ old: ItemKey?) throws(KeychainFailure) -> ItemKey.Fields {
        let old = old.map { KeyValues($0) }
        func text(_ code: String) -> String { self.keyText(code) ?? old?.keyText(code) ?? "" }
        func bytes(_ code: String) -> [UInt8] { self.bytes(code) ?? old?.bytes(code) ?? [] }
        func number(_ code: String) throws(KeychainFailure) -> UInt32 {
            try self.number(code) ?? old?.number(code) ?? 0
        }
        switch itemClass {
        case .genericPassword: return .genericPassword(service: text(SecKey.service), account: text(SecKey.account))
        case .internetPassword:
            return .internetPassword(
                server: text(SecKey.server), protocol: CodedText.protocols.word(text(SecKey.protocolType)),
                port: try number(SecKey.port),
                path: text(SecKey.path), account: text(SecKey.account), securityDomain: text(SecKey.securityDomain),
                authenticationType: CodedText.authenticationTypes.word(text(SecKey.authenticationType)))
        case .certificate:
            return .certificate(
                type: try number(SecKey.certificateType), issuer: bytes(SecKey.issuer),
                serialNumber: bytes(SecKey.serialNumber))
        case .identity:
            return .identity(
                type: try number(SecKey.certificateType), issuer: bytes(SecKey.issuer),
                serialNumber: bytes(SecKey.serialNumber))
        case .key:
            return .key(
                keyClass: try number(SecKey.keyClass), keyType: try number(SecKey.keyType),
                applicationLabel: bytes(SecKey.applicationLabel), applicationTag: bytes(SecKey.applicationTag),
                sizeInBits: try number(SecKey.keySizeInBits), effectiveSize: try number(SecKey.effectiveKeySize))
        case .reserved: throw KeychainFailure(.noSuchClass, "items of the class \(itemClass.name) cannot be made")
        }
    }

    func text(_ code: String) -> String? { if case .text(let text) = values[code] { text } else { nil } }

    /// A text or bytes as a key's field holds them.
    func keyText(_ code: String) -> String? { values[code]?.rawBytes.map { KeyText.encode($0) } }

    func flag(_ code: String) -> Bool? { if case .flag(let flag) = values[code] { flag } else { nil } }

    private func bytes(_ code: String) -> [UInt8]? { values[code]?.rawBytes }

    func number(_ code: String) throws(KeychainFailure) -> UInt32? {
        switch values[code] {
        case .number(let number):
            guard let small = UInt32(exactly: number) else {
                throw KeychainFailure(.param, "the value of \(TerminalText.quoted(code)) is not between 0 and 2^32")
            }
            return small
        // A key's type stands where a password's may be a text.
        case .text: throw KeychainFailure(.param, "the value of \(TerminalText.quoted(code)) is no number")
        default: return nil
        }
    }
}

/// The attributes that are part of an item's key, by code.
struct KeyValues {
    private var values: [String: AttributeValue] = [:]

    /// - `types`: Of the key's item.
    init(_ key: ItemKey, _ types: OtherTypes = OtherTypes()) {
        values = Self.values(key)
        let table = AttributeTable.of(key.itemClass)
        for (code, value) in values where types.contains(code) {
            guard let kind = table[code]?.kind, let bytes = value.rawBytes else { continue }
            values[code] = AttributeValue(stored: bytes, kind, isOtherType: true)
        }
    }

    private static func values(_ key: ItemKey) -> [String: AttributeValue] {
        switch key.fields {
        case .genericPassword(let service, let account):
            [SecKey.service: KeyText.decode(service), SecKey.account: KeyText.decode(account)]
        case .internetPassword(
            let server, let `protocol`, let port, let path, let account, let securityDomain, let authenticationType):
            [
                SecKey.server: KeyText.decode(server), SecKey.protocolType: .text(CodedText.protocols.code(`protocol`)),
                SecKey.port: .number(Int64(port)),
                SecKey.path: KeyText.decode(path), SecKey.account: KeyText.decode(account),
                SecKey.securityDomain: KeyText.decode(securityDomain),
                SecKey.authenticationType: .text(CodedText.authenticationTypes.code(authenticationType)),
            ]
        case .certificate(let type, let issuer, let serialNumber), .identity(let type, let issuer, let serialNumber):
            [
                SecKey.certificateType: .number(Int64(type)), SecKey.issuer: .bytes(issuer),
                SecKey.serialNumber: .bytes(serialNumber),
            ]
        case .key(let keyClass, let keyType, let label, let tag, let size, let effectiveSize):
            [
                SecKey.keyClass: .number(Int64(keyClass)), SecKey.keyType: .number(Int64(keyType)),
                SecKey.applicationLabel: .bytes(label),
                SecKey.applicationTag: .bytes(tag), SecKey.keySizeInBits: .number(Int64(size)),
                SecKey.effectiveKeySize: .number(Int64(effectiveSize)),
            ]
        case .reserved: [:]
        }
    }

    subscript(code: String) -> AttributeValue? { values[code] }

    func keyText(_ code: String) -> String? { values[code]?.rawBytes.map { KeyText.encode($0) } }

    func bytes(_ code: String) -> [UInt8]? { values[code]?.rawBytes }

    func number(_ code: String) -> UInt32? {
        if case .number(let number) = values[code] { UInt32(exactly: number) } else { nil }
    }
}
