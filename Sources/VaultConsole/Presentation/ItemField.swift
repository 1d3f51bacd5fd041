import VaultBytes
import VaultExchange
package import VaultFmt
import VaultLocal

/// An item's fields, by the names used in JSON and options.
package enum ItemField {
    /// Returns the secret or, if a name is given, that field, attribute or attached file.
    package static func value(_ name: String?, of item: Item, in vault: Vault) throws -> Secret {
        guard let name else { return try vault.open(item).takeSecret() }
        guard let field = try resolved(name, of: item) else {
            throw missing(name, try vault.open(item).item.attributes, names(of: item))
        }
        if field == secret { return try vault.open(item).takeSecret() }
        if let value = try listed(field, of: item) { return Secret(text: value) }
        // The attribute may have any size; if it is sealed, it is read from the record.
        guard let value = try vault.attribute(field, of: item) else {
            throw missing(name, item.attributes, names(of: item))
        }
        return value
    }

    /// Returns whether a name refers to a value that is shown only on request.
    package static func isSecret(_ name: String, of item: Item) throws -> Bool {
        guard let field = try resolved(name, of: item) else { return false }
        let flags = item.attributes.attribute(field)?.flags ?? []
        return field == secret || !flags.isDisjoint(with: [.sealed, .concealed])
    }

    private static let secret = "secret"

    /// Returns the field or attribute that a name refers to; nil if the item does not have it. An attached file can be
    /// named without its prefix, and a field by the name that other programs use.
    private static func resolved(_ name: String, of item: Item) throws -> String? {
        if name == secret { return name }
        if try listed(name, of: item) != nil { return name }
        let file = AttributeName.filePrefix + name
        if let own = [name, file].first(where: { item.attributes.attribute($0) != nil }) { return own }
        guard let other = otherNames[name.lowercased()] else { return nil }
        if other == secret || item.attributes.attribute(other) != nil { return other }
        return try listed(other, of: item).flatMap { $0.isEmpty ? nil : other }
    }

    /// Other programs' names for the fields; an attribute with such a name takes precedence.
    private static let otherNames = [
        "user": "account", "username": "account", "user-name": "account", "login": "account", "password": "secret",
        "host": "server", "website": AttributeName.address, "address": AttributeName.address,
        "note": AttributeName.notes,
    ]

    /// Returns the bytes of an earlier value or, if a name is given, one of the value's times, or an attribute that the
    /// item had together with an earlier secret.
    package static func value(_ name: String?, of value: EarlierValue, in vault: Vault) throws -> Secret {
        let own = value.attribute ?? secret
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

    /// Returns the value of a field, or of an attribute in the index; nil if the item has no such field or attribute.
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
    package static func names(of item: Item) -> [String] {
        [secret, "class"] + keyFields(item.key).map(\.name)
            + ["group", "synchronizable", "accessible", "id", "created", "modified"]
            + (item.device == nil ? [] : ["device"])
    }

    /// The fields that every item has.
    private static let ofAnyClass: Set<String> = [
        secret, "class", "group", "synchronizable", "accessible", "id", "created", "modified",
    ]

    /// The fields that `vaultfmt move` changes, in items that have them.
    private static let movable: Set<String> = ["service", "account", "server", "protocol", "port", "path", "group"]

    /// Returns whether items of a class have a field with this name, which hides an attribute with the same name from
    /// `get --field`, references and templates.
    ///
    /// - `isDeviceOnly`: Whether the item is bound to a device, and thus has the field `device`.
    package static func isField(_ name: String, of itemClass: ItemClass, isDeviceOnly: Bool) -> Bool {
        ofAnyClass.contains(name) || (isDeviceOnly && name == "device")
            || itemClass.fields.contains { $0.name == name }
    }

    /// Refuses new attributes that a field with the same name would hide. Those that the item already has, from an
    /// import or an earlier version, can still be changed.
    ///
    /// - `item`: The item before the change; nil for a new item.
    /// - `accessibility`: The accessibility that the item is to have, if it is given.
    /// - Throws: A `CommandFailure` with the exit code `usage`.
    package static func requireAttributes(
        _ names: [String], of itemClass: ItemClass, _ item: Item?, accessibility: Accessibility?
    ) throws {
        let isDeviceOnly = item?.device != nil || accessibility?.isThisDeviceOnly == true
        let hidden = names.first { name in
            item?.attributes.attribute(name) == nil && isField(name, of: itemClass, isDeviceOnly: isDeviceOnly)
        }
        guard let name = hidden else { return }
        let how = movable.contains(name) ? "'vaultfmt move'" : name == "accessible" ? "--accessible" : nil
        let advice = how.map { " (\($0) changes the field)" } ?? ""
        throw CommandFailure(
            .usage,
            "\(TerminalText.quoted(name)) is a field of the item\(advice), and would hide an attribute of that name; choose another name"
        )
    }

    private static func keyFields(_ key: ItemKey) -> [(name: String, value: String)] {
        key.itemClass.fields.map { ($0.name, key[$0].map(ItemText.value) ?? "") }
            + key.texts.enumerated().map { ("field\($0 + 1)", $1) }
    }
}
