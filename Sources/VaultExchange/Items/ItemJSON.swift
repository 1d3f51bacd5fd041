package import VaultFmt

extension JSONWriter {
    /// Writes the members that describe an item, with these exact names: `class`, the fields of its key, `group`,
    /// `synchronizable`, `accessible`, `device` (only if the item is bound to a device), `id`, `created`, `modified`,
    /// `attributes`.
    ///
    /// - `hidden`: The attributes to omit.
    /// - `read`: Reads an attribute whose value is not in the item; without it, such an attribute is omitted.
    package mutating func members(
        of item: Item, without hidden: [String] = [], _ read: ((String) throws(VaultError) -> Secret?)? = nil
    ) throws {
        try member("class", item.key.itemClass.name)
        try members(ofKey: item.key)
        try member("group", item.key.group)
        try member("synchronizable", item.key.synchronizable)
        try member("accessible", item.accessibility.name)
        if let device = item.device { try member("device", device.description) }
        try member("id", item.id.description)
        try member("created", Timestamp.text(item.created))
        try member("modified", Timestamp.text(item.modified))
        try attributes(Attributes(item.attributes.all.filter { !hidden.contains($0.name) }), read)
    }

    /// Writes the member `attributes`: an object of names and values.
    package mutating func attributes(
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

    /// Returns an attribute's value; nil if the value has not been read and cannot be read.
    package static func value(
        of attribute: Attribute, _ read: ((String) throws(VaultError) -> Secret?)?
    ) throws -> Secret? {
        if let value = attribute.secret { return value }
        guard let read else { return nil }
        return try read(attribute.name)
    }

    /// Writes the fields that form the key of an item; bytes are in Base64.
    package mutating func members(ofKey key: ItemKey) throws {
        for field in key.itemClass.fields {
            switch key[field] {
            case .text(let text)?: try member(field.name, text)
            case .number(let number)?: try member(field.name, number)
            case .bytes(let bytes)?: try member(field.name, base64: bytes)
            case nil: continue
            }
        }
        guard !key.itemClass.isDefined else { return }
        try name("fields")
        try array { writer in
            for text in key.texts { try writer.value(text) }
        }
    }
}
