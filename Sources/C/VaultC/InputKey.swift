internal import CVaultFmt
internal import VaultFmt

extension Input {
    static func itemClass(_ number: UInt32) throws(VaultError) -> ItemClass {
        guard let itemClass = UInt8(exactly: number).flatMap({ ItemClass(rawValue: $0) }) else {
            throw VaultError(.invalidArgument, "unknown item class \(number)")
        }
        return itemClass
    }

    static func key(_ pointer: UnsafePointer<vaultfmt_key>?) throws(VaultError) -> ItemKey {
        let key = try given(pointer, "key").pointee
        let itemClass = try itemClass(key.item_class)
        if let foreign = foreignMember(key, itemClass) {
            // Otherwise, the member would be silently ignored.
            throw VaultError(.invalidArgument, "an item of class \(itemClass.name) has no \(foreign)")
        }
        let group = try text(key.group, "group") ?? ""
        let synchronizable = try flag(key.synchronizable, "synchronizable")
        if case .reserved(let number) = itemClass {
            let texts = try texts(key.texts, key.text_count, "texts")
            return try ItemKey(reserved: number, texts: texts, group: group, synchronizable: synchronizable)
        }
        var fields: [ItemKey.Field: ItemKey.Value] = [:]
        for field in itemClass.fields { fields[field] = try value(key, field) }
        return try ItemKey(itemClass, fields, group: group, synchronizable: synchronizable)
    }

    private static func value(_ key: vaultfmt_key, _ field: ItemKey.Field) throws(VaultError) -> ItemKey.Value? {
        switch field.member {
        case .number(let path): return .number(key[keyPath: path])
        case .bytes(let path):
            let bytes = key[keyPath: path]
            if field.kind == .bytes { return .bytes(try array(bytes)) }
            return try text(bytes, field.cName).map { .text($0) }
        }
    }

    /// Returns the first member that is set but does not belong to keys of the class.
    private static func foreignMember(_ key: vaultfmt_key, _ itemClass: ItemClass) -> String? {
        if itemClass.isDefined, key.text_count != 0 { return "texts" }
        return ItemKey.Field.allCases.first { field in
            guard !field.classes.contains(itemClass) else { return false }
            return switch field.member {
            case .number(let path): key[keyPath: path] != 0
            case .bytes(let path): key[keyPath: path].data != nil
            }
        }?.cName
    }

    static func texts(
        _ start: UnsafePointer<vaultfmt_bytes>?, _ count: Int, _ name: StaticString
    ) throws(VaultError) -> [String] {
        var texts: [String] = []
        for bytes in try elements(start, count, name) { texts.append(try text(bytes, name) ?? "") }
        return texts
    }
}

extension ItemKey.Field {
    /// The member of `vaultfmt_key` that holds a field.
    enum Member {
        case bytes(WritableKeyPath<vaultfmt_key, vaultfmt_bytes>)
        case number(WritableKeyPath<vaultfmt_key, UInt32>)
    }

    /// The name of the member, such as `security_domain`.
    var cName: String { words.joined(separator: "_") }

    var member: Member {
        switch self {
        case .service: .bytes(\.service)
        case .server: .bytes(\.server)
        case .protocol: .bytes(\.protocol)
        case .port: .number(\.port)
        case .path: .bytes(\.path)
        case .account: .bytes(\.account)
        case .securityDomain: .bytes(\.security_domain)
        case .authenticationType: .bytes(\.authentication_type)
        case .type: .number(\.type)
        case .issuer: .bytes(\.issuer)
        case .serialNumber: .bytes(\.serial_number)
        case .keyClass: .number(\.key_class)
        case .keyType: .number(\.key_type)
        case .applicationLabel: .bytes(\.application_label)
        case .applicationTag: .bytes(\.application_tag)
        case .sizeInBits: .number(\.size_in_bits)
        case .effectiveSize: .number(\.effective_size)
        }
    }
}
