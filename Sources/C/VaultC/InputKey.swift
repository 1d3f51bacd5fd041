internal import CVaultFmt
internal import VaultFmt

extension Input {
    static func itemClass(_ number: UInt32) throws(VaultError) -> ItemClass {
        guard let itemClass = UInt8(exactly: number).flatMap({ ItemClass(rawValue: $0) }) else {
            throw VaultError(.invalidArgument, "there is no item class \(number)")
        }
        return itemClass
    }

    static func key(_ pointer: UnsafePointer<vaultfmt_key>?) throws(VaultError) -> ItemKey {
        let key = try given(pointer, "key").pointee
        let itemClass = try itemClass(key.item_class)
        try refuseForeignFields(key, itemClass)
        return try ItemKey(
            try fields(key, itemClass), group: try text(key.group, "group") ?? "",
            synchronizable: try flag(key.synchronizable, "synchronizable"))
    }

    private static func fields(_ key: vaultfmt_key, _ itemClass: ItemClass) throws(VaultError) -> ItemKey.Fields {
        switch itemClass {
        case .genericPassword:
            .genericPassword(
                service: try text(key.service, "service") ?? "", account: try text(key.account, "account") ?? "")
        case .internetPassword:
            .internetPassword(
                server: try text(key.server, "server") ?? "", protocol: try text(key.protocol, "protocol") ?? "",
                port: key.port,
                path: try text(key.path, "path") ?? "", account: try text(key.account, "account") ?? "",
                securityDomain: try text(key.security_domain, "security_domain") ?? "",
                authenticationType: try text(key.authentication_type, "authentication_type") ?? "")
        case .certificate:
            .certificate(type: key.type, issuer: try array(key.issuer), serialNumber: try array(key.serial_number))
        case .identity:
            .identity(type: key.type, issuer: try array(key.issuer), serialNumber: try array(key.serial_number))
        case .key:
            .key(
                keyClass: key.key_class, keyType: key.key_type, applicationLabel: try array(key.application_label),
                applicationTag: try array(key.application_tag), sizeInBits: key.size_in_bits,
                effectiveSize: key.effective_size)
        case .reserved(let number): .reserved(itemClass: number, texts: try texts(key.texts, key.text_count, "texts"))
        }
    }

    static func texts(
        _ start: UnsafePointer<vaultfmt_bytes>?, _ count: Int, _ name: StaticString
    ) throws(VaultError) -> [String] {
        var texts: [String] = []
        for bytes in try elements(start, count, name) { texts.append(try text(bytes, name) ?? "") }
        return texts
    }

    /// A field of another class would be lost without a word.
    private static func refuseForeignFields(_ key: vaultfmt_key, _ itemClass: ItemClass) throws(VaultError) {
        let isPassword = itemClass == .genericPassword || itemClass == .internetPassword
        let isInternet = itemClass == .internetPassword
        let isCertificate = itemClass == .certificate || itemClass == .identity
        let isKey = itemClass == .key
        let fields: [(isOwn: Bool, isGiven: Bool, name: StaticString)] = [
            (itemClass == .genericPassword, key.service.data != nil, "service"),
            (isPassword, key.account.data != nil, "account"),
            (isInternet, key.server.data != nil, "server"),
            (isInternet, key.protocol.data != nil, "protocol"),
            (isInternet, key.path.data != nil, "path"),
            (isInternet, key.security_domain.data != nil, "security_domain"),
            (isInternet, key.authentication_type.data != nil, "authentication_type"),
            (isInternet, key.port != 0, "port"),
            (isCertificate, key.type != 0, "type"),
            (isCertificate, key.issuer.data != nil, "issuer"),
            (isCertificate, key.serial_number.data != nil, "serial_number"),
            (isKey, key.key_class != 0, "key_class"),
            (isKey, key.key_type != 0, "key_type"),
            (isKey, key.application_label.data != nil, "application_label"),
            (isKey, key.application_tag.data != nil, "application_tag"),
            (isKey, key.size_in_bits != 0, "size_in_bits"),
            (isKey, key.effective_size != 0, "effective_size"),
            (!itemClass.isDefined, key.text_count != 0, "texts"),
        ]
        if let foreign = fields.first(where: { $0.isGiven && !$0.isOwn }) {
            throw VaultError(.invalidArgument, "an item of class \(itemClass.name) has no \(foreign.name)")
        }
    }
}
