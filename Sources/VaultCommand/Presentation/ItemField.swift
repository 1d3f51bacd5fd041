import VaultBytes
import VaultFmt
import VaultLocal

/// An item's fields by the names that JSON and options give them.
enum ItemField {
    /// The secret, or with a name that field or attribute.
    static func value(_ name: String?, of item: Item, in vault: Vault) throws -> Secret {
        if let name, name != "secret", let value = try listed(name, of: item) { return Secret(text: value) }
        guard let name, name != "secret" else {
            return try vault.open(item).takeSecret()
        }
        // Of any size, and from the record where it is sealed.
        guard let value = try vault.attribute(name, of: item) else {
            throw missing(name, item.attributes, names(of: item))
        }
        return value
    }

    /// The secret of an earlier value, or with a name an attribute that the item had.
    static func value(_ name: String?, of value: EarlierValue, in vault: Vault) throws -> Secret {
        guard let name, name != "secret" else {
            return try vault.secret(of: value)
        }
        switch name {
        case "replaced": return Secret(text: Timestamp.text(value.replaced))
        case "modified": return Secret(text: Timestamp.text(value.modified))
        default: break
        }
        guard let attribute = try vault.attribute(name, of: value) else {
            throw missing(name, value.attributes, ["secret", "replaced", "modified"])
        }
        return attribute
    }

    private static func missing(_ name: String, _ attributes: Attributes, _ fields: [String]) -> CommandFailure {
        let names = (fields + attributes.names).joined(separator: ", ")
        return CommandFailure(
            .noSuchItem, "the item has no field \(TerminalText.quoted(name)); it has \(TerminalText.escaped(names))")
    }

    /// The value of a field or of an attribute that listings hold, or nil where the item has none of that name.
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
