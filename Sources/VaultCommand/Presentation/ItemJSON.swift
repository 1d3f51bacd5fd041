import VaultFmt

extension JSONWriter {
    /// The members that describe an item, names exact: `class`, the fields of its key, `group`, `synchronizable`, `accessible`,
    /// `device` (only where bound to one), `id`, `created`, `modified`, `attributes`.
    mutating func members(of item: Item) throws(CommandFailure) {
        try member("class", item.key.itemClass.name)
        try members(of: item.key.fields)
        try member("group", item.key.group)
        try member("synchronizable", item.key.synchronizable)
        try member("accessible", item.accessibility.name)
        if let device = item.device { try member("device", device.description) }
        try member("id", item.id.description)
        try member("created", Timestamp.text(item.created))
        try member("modified", Timestamp.text(item.modified))
        try name("attributes")
        try object { writer throws(CommandFailure) in
            for name in item.attributes.names {
                guard let bytes = item.attributes[name] else { continue }
                try writer.name(name)
                try writer.attribute(bytes)
            }
        }
    }

    /// The fields that make the key of an item; bytes are in base 64.
    mutating func members(of fields: ItemKey.Fields) throws(CommandFailure) {
        switch fields {
        case .genericPassword(let service, let account):
            try member("service", service)
            try member("account", account)
        case .internetPassword(let server, let proto, let port, let path, let account, let domain, let authentication):
            try member("server", server)
            try member("protocol", proto)
            try member("port", port)
            try member("path", path)
            try member("account", account)
            try member("securityDomain", domain)
            try member("authenticationType", authentication)
        case .certificate(let type, let issuer, let serial), .identity(let type, let issuer, let serial):
            try member("type", type)
            try member("issuer", base64: issuer)
            try member("serialNumber", base64: serial)
        case .key(let keyClass, let type, let label, let tag, let size, let effective):
            try member("keyClass", keyClass)
            try member("keyType", type)
            try member("applicationLabel", base64: label)
            try member("applicationTag", base64: tag)
            try member("sizeInBits", size)
            try member("effectiveSize", effective)
        }
    }

    /// An attribute's value: a string where it is UTF-8, else `{"base64": …}`.
    mutating func attribute(_ bytes: [UInt8]) throws(CommandFailure) {
        if let text = String(validating: bytes, as: UTF8.self) { return try value(text) }
        try object { writer throws(CommandFailure) in try writer.member("base64", base64: bytes) }
    }

    /// A member whose value is bytes in base 64.
    mutating func member(_ key: String, base64 bytes: [UInt8]) throws(CommandFailure) {
        try name(key)
        let failure: CommandFailure? = bytes.withUnsafeBytes { raw in
            do throws(CommandFailure) {
                try value(base64: raw)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}
