import VaultBytes
import VaultFmt
import VaultLocal

/// An item's fields, by the names used in JSON and options.
enum ItemField {
    /// Returns the secret or, if a name is given, that field, attribute or attached file.
    static func value(_ name: String?, of item: Item, in vault: Vault) throws -> Secret {
        if let name, name != "secret", let value = try listed(name, of: item) { return Secret(text: value) }
        guard let name, name != "secret" else {
            return try vault.open(item).takeSecret()
        }
        // The attribute may have any size, and comes from the record if it is sealed.
        if let value = try vault.attribute(name, of: item) { return value }
        if let file = try vault.attribute(AttributeName.filePrefix + name, of: item) { return file }
        let opened = try vault.open(item)
        if let other = otherNames[name.lowercased()] {
            if other == "secret" { return opened.takeSecret() }
            if let value = try listed(other, of: item), !value.isEmpty { return Secret(text: value) }
            if let value = try vault.attribute(other, of: item) { return value }
        }
        throw missing(name, opened.item.attributes, names(of: item))
    }

    /// What other programs call the fields; an attribute of such a name comes first.
    private static let otherNames = [
        "user": "account", "username": "account", "user-name": "account", "login": "account", "password": "secret",
        "host": "server", "website": AttributeName.address, "address": AttributeName.address,
        "note": AttributeName.notes,
    ]

    /// Returns the bytes of an earlier value or, if a name is given, a time of it, or an attribute that the item had
    /// with an earlier secret.
    static func value(_ name: String?, of value: EarlierValue, in vault: Vault) throws -> Secret {
        let own = value.attribute ?? "secret"
        guard let name, ![name, AttributeName.filePrefix + name].contains(own) else {
            return try vault.secret(of: value)
        }
        switch name {
        case "replaced": return Secret(text: value.replaced == 0 ? "" : Timestamp.text(value.replaced))
        case "modified": return Secret(text: Timestamp.text(value.modified))
        default: break
        }
        if let attribute = try vault.attribute(name, of: value) { return attribute }
        guard let file = try vault.attribute(AttributeName.filePrefix + name, of: value) else {
            throw missing(name, value.attributes, [own, "replaced", "modified"])
        }
        return file
    }

    private static func missing(_ name: String, _ attributes: Attributes, _ fields: [String]) -> CommandFailure {
        let names = (fields + attributes.names).joined(separator: ", ")
        return CommandFailure(
            .noSuchItem, "the item has no field \(TerminalText.quoted(name)); it has \(TerminalText.escaped(names))")
    }

    /// Returns the value of a field, or of an attribute in the index; nil if the item has none with that name.
    static func listed(_ name: String, of item: Item) throws -> String? {
        switch name {
        case "class": return item.key.itemClass.name
        case "group": return item.key.group
        case "synchronizable": return item.key.synchronizable ? "true" : "false"
        case "accessible": return item.accessibility.name
        case "device": return item.device?.description
        case "id": return item.id.description
        case "created": return Timestamp.text(item.created)
        case "modified": return Timestamp.text(item.modified)
        default: return keyFields(item.key).first { $0.name == name }?.value ?? item.attributes.string(name)
        }
    }

    /// The names of an item's fields.
    static func names(of item: Item) -> [String] {
        ["secret", "class"] + keyFields(item.key).map(\.name)
            + ["group", "synchronizable", "accessible", "id", "created", "modified"]
            + (item.device == nil ? [] : ["device"])
    }

    private static func keyFields(_ key: ItemKey) -> [(name: String, value: String)] {
        key.itemClass.fields.map { ($0.name, key[$0].map(ItemText.value) ?? "") }
            + key.texts.enumerated().map { ("field\($0 + 1)", $1) }
    }
}
