internal import VaultFmt
internal import VaultLocal

extension ItemChanges {
    /// Returns the key of a new item of a class, or the changed key of an item whose key was `old`.
    func key(of itemClass: ItemClass, changing old: ItemKey? = nil) throws(KeychainFailure) -> ItemKey {
        guard itemClass.isDefined else {
            throw KeychainFailure(.noSuchClass, "items of the class \(itemClass.name) cannot be created")
        }
        var fields: [ItemKey.Field: ItemKey.Value] = [:]
        for field in itemClass.fields { fields[field] = try value(of: field) ?? old?[field] }
        let group = text(SecKey.accessGroup) ?? old?.group ?? ""
        return try vaultCall { () throws(VaultError) in
            try ItemKey(
                itemClass, fields, group: group,
                synchronizable: flag(SecKey.synchronizable) ?? old?.synchronizable ?? false)
        }
    }

    /// Returns the value of a key's field, or nil if no value is given.
    func value(of field: ItemKey.Field) throws(KeychainFailure) -> ItemKey.Value? {
        let code = field.appleCode
        switch field.kind {
        case .text: return keyText(code).map { .text(field.codedText?.word($0) ?? $0) }
        case .number: return try number(code).map { .number($0) }
        case .bytes: return values[code]?.rawBytes.map { .bytes($0) }
        }
    }

    func text(_ code: String) -> String? { if case .text(let text) = values[code] { text } else { nil } }

    /// Returns text or bytes in the form stored in a key's field.
    func keyText(_ code: String) -> String? { values[code]?.rawBytes.map { KeyText.encode($0) } }

    func flag(_ code: String) -> Bool? { if case .flag(let flag) = values[code] { flag } else { nil } }

    func number(_ code: String) throws(KeychainFailure) -> UInt32? {
        switch values[code] {
        case .number(let number):
            guard let small = UInt32(exactly: number) else {
                throw KeychainFailure(.param, "the value of \(TerminalText.quoted(code)) is not between 0 and 2^32")
            }
            return small
        // The type of a key is a number, whereas the type of a password may be text.
        case .text: throw KeychainFailure(.param, "the value of \(TerminalText.quoted(code)) is not a number")
        default: return nil
        }
    }
}

/// The attributes that are part of an item's key, by code.
struct KeyValues {
    private var values: [String: AttributeValue] = [:]

    /// - `types`: The types for the key's item.
    init(_ key: ItemKey, _ types: OtherTypes = OtherTypes()) {
        values = Self.values(key)
        let table = AttributeTable.of(key.itemClass)
        for (code, value) in values where types.contains(code) {
            guard let kind = table[code]?.kind, let bytes = value.rawBytes else { continue }
            values[code] = AttributeValue(stored: bytes, kind, isOtherType: true)
        }
    }

    private static func values(_ key: ItemKey) -> [String: AttributeValue] {
        var values: [String: AttributeValue] = [:]
        for (field, value) in key.fields {
            values[field.appleCode] =
                switch value {
                case .text(let text): field.codedText.map { .text($0.code(text)) } ?? KeyText.decode(text)
                case .number(let number): .number(Int64(number))
                case .bytes(let bytes): .bytes(bytes)
                }
        }
        return values
    }

    subscript(code: String) -> AttributeValue? { values[code] }
}
