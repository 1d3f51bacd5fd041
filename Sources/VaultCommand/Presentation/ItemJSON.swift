import VaultFmt

extension JSONWriter {
    /// The members that describe an item, names exact: `class`, the fields of its key, `group`, `synchronizable`,
    /// `accessible`, `device` (only where bound to one), `id`, `created`, `modified`, `attributes`.
    ///
    /// - `read`: Reads an attribute whose value is not in the item; without it such an attribute is left out.
    mutating func members(
        of item: Item, _ read: ((String) throws(VaultError) -> Secret?)? = nil
    ) throws {
        try member("class", item.key.itemClass.name)
        try members(of: item.key.fields)
        try member("group", item.key.group)
        try member("synchronizable", item.key.synchronizable)
        try member("accessible", item.accessibility.name)
        if let device = item.device { try member("device", device.description) }
        try member("id", item.id.description)
        try member("created", Timestamp.text(item.created))
        try member("modified", Timestamp.text(item.modified))
        try attributes(item.attributes, read)
    }

    /// The member `attributes`: an object of names and values.
    mutating func attributes(
        _ attributes: Attributes, _ read: ((String) throws(VaultError) -> Secret?)? = nil
    ) throws {
        try object("attributes") { writer in
            for attribute in attributes.all {
                guard let value = try Self.value(of: attribute, read) else { continue }
                try writer.name(attribute.name)
                try writer.value(value)
            }
        }
    }

    /// An attribute's value; nil if it was not read and cannot be.
    static func value(
        of attribute: Attribute, _ read: ((String) throws(VaultError) -> Secret?)?
    ) throws -> Secret? {
        if let value = attribute.secret { return value }
        guard let read else { return nil }
        return try read(attribute.name)
    }

    /// The fields that make the key of an item; bytes are in base 64.
    mutating func members(of fields: ItemKey.Fields) throws {
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
        case .reserved(_, let texts):
            try array("fields") { writer in
                for text in texts { try writer.value(text) }
            }
        }
    }

    /// A member whose value is bytes in base 64.
    mutating func member(_ key: String, base64 bytes: [UInt8]) throws {
        try name(key)
        try bytes.withUnsafeBytes { try value(base64: $0) }
    }

    /// The same for bytes in memory that is wiped.
    mutating func member(_ key: String, base64 bytes: UnsafeRawBufferPointer) throws {
        try name(key)
        try value(base64: bytes)
    }
}
