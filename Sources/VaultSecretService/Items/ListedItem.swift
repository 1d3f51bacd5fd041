internal import VaultExchange
internal import VaultFmt

/// An item as clients see it, without its secret.
struct ListedItem: Sendable {
    let id: ItemID
    /// The item's key in the vault.
    let key: ItemKey
    let label: String
    let attributes: LookupAttributes
    /// True if the item has lookup attributes of its own, or was created by a client without any. Otherwise, clients
    /// see lookup attributes derived from its name.
    let hasOwnAttributes: Bool
    /// Lookup attributes that are not shown to clients, because they are secret, binary, too long or unreadable.
    let hiddenAttributes: [String]
    /// The hidden attributes that could not be read.
    let unreadableAttributes: [String]
    let contentType: String
    /// In seconds since 1970.
    let created: UInt64
    let modified: UInt64
    /// When the secret was set, in milliseconds since 1970.
    let secretChanged: Int64
    let revision: UInt64

    var group: String { key.group }

    var path: String { ServiceObject.item(group: group, id).path }

    /// Converts an item of a listing. Values that the listing does not contain are read from the item's record.
    init(_ item: Item, in vault: Vault) throws(VaultError) {
        id = item.id
        key = item.key
        revision = item.revision
        created = UInt64(clamping: item.created) / 1000
        modified = UInt64(clamping: item.modified) / 1000
        secretChanged = item.secretChanged
        var (pairs, hidden, unreadable): ([(name: String, value: String)], [String], [String]) = ([], [], [])
        for attribute in item.attributes.all {
            guard let name = LookupNames.lookupName(of: attribute.name) else { continue }
            switch try Self.value(attribute, of: item, in: vault) {
            case .text(let value) where name.utf8.count <= BusLimits.attributeName: pairs.append((name, value))
            case .text, .hidden: hidden.append(name)
            case .unreadable: unreadable.append(name)
            }
        }
        hasOwnAttributes = !pairs.isEmpty || item.attributes.attribute(LookupNames.mark) != nil
        if !hasOwnAttributes { pairs = Self.implied(item) }
        attributes = LookupAttributes(listed: pairs)
        (hiddenAttributes, unreadableAttributes) = (hidden + unreadable, unreadable)
        label = try Self.text(AttributeName.label, of: item, in: vault) ?? Self.name(item.key)
        contentType = try Self.text(LookupNames.contentType, of: item, in: vault) ?? LookupNames.usualContentType
    }

    private static func text(_ name: String, of item: Item, in vault: Vault) throws(VaultError) -> String? {
        guard let attribute = item.attributes.attribute(name),
            case .text(let text) = try value(attribute, of: item, in: vault)
        else { return nil }
        return text
    }

    private enum Value {
        case text(String)
        /// The value is secret, not text, or too long.
        case hidden
        case unreadable
    }

    private static func value(_ attribute: Attribute, of item: Item, in vault: Vault) throws(VaultError) -> Value {
        guard attribute.flags.isDisjoint(with: [.sealed, .concealed, .binary]) else { return .hidden }
        let value: SharedSecret
        do throws(VaultError) {
            value = SharedSecret(try vault.attribute(attribute.name, of: item) ?? Secret(count: 0))
        } catch {
            // The value is in another device's record, or damaged. The other items can still be shown.
            guard unreadable.contains(error.code) else { throw error }
            return .unreadable
        }
        // A D-Bus string ends at its first zero byte.
        guard value.count <= BusLimits.attributeValue, let text = value.text, !text.utf8.contains(0) else {
            return .hidden
        }
        return .text(text)
    }

    private static let unreadable: Set<VaultError.Code> = [
        .deviceBound, .authenticationFailed, .structureInvalid, .unsupportedForm, .notPermitted,
    ]

    /// Returns the lookup attributes of an item that has none of its own.
    private static func implied(_ item: Item) -> [(name: String, value: String)] {
        [("service", item.key.service ?? ""), ("username", TwinName.userName(item) ?? "")].filter { !$0.1.isEmpty }
    }

    /// Returns whether this item has no lookup attributes of its own, and its service and account match those in the
    /// given attributes.
    func isNamed(by others: LookupAttributes) -> Bool {
        guard !hasOwnAttributes, let service = attributes["service"] else { return false }
        return others["service"]?.isSame(as: service) ?? false
            && (others["username"] ?? "").isSame(as: (attributes["username"] ?? ""))
    }

    /// Returns whether the item might have all of the given attributes, because some of its own could not be read.
    func mayMatch(_ others: LookupAttributes) -> Bool {
        guard !unreadableAttributes.isEmpty else { return false }
        return others.all.allSatisfy { (name, value) in
            attributes[name]?.isSame(as: value)
                ?? unreadableAttributes.contains { $0.isSame(as: name) }
        }
    }

    private static func name(_ key: ItemKey) -> String {
        let name = ItemText.name(key).filter { !$0.isEmpty && !$0.utf8.contains(0) }.joined(separator: " ")
        return name.isEmpty ? "untitled" : name
    }
}
