internal import VaultAgent
internal import VaultExchange
internal import VaultFmt

/// The names under which the vault stores an item's lookup attributes (Docs/agent.md). Lookup attributes keep their own
/// names, except for names that mean something to the vault or its commands. Those names get the prefix `field:`, as in
/// an import, so that a client cannot turn an item into, say, an SSH key.
enum LookupNames {
    /// The attribute for the content type of the secret; without it, the type is `text/plain`.
    static let contentType = "content-type"
    static let usualContentType = "text/plain"
    /// The attribute that libsecret uses for an item's schema.
    static let schema = "xdg:schema"

    /// Marks an item that a client created without lookup attributes, so that it is not found by its name.
    static let mark = "secret-service"

    private static let reserved = AttributeName.meaningful.union([
        contentType, SSHAttribute.use, SSHAttribute.publicKey, SSHAttribute.certificate, "docker-server-url",
        "git-authtype", "git-password-expiry-utc", "expiration", mark,
        // Used by the Keychain API; the first one is a policy that clients must not be able to remove.
        "authentication-policy", "keychain-types", "invisible", "negative", "generic",
        // Fields of an item: commands would show them twice, and could take an attribute in the index for the secret.
        "class", "id", "secret", "password", "group", "accessible", "created", "modified",
    ])
    private static let reservedPrefixes = [AttributeName.fieldPrefix, AttributeName.filePrefix, "sealed:"]

    private static func isReserved(_ name: String) -> Bool {
        reserved.contains(name) || reservedPrefixes.contains { name.utf8.starts(with: $0.utf8) }
    }

    /// Returns the name under which the vault stores a lookup attribute.
    static func storedName(of name: String) -> String { isReserved(name) ? AttributeName.fieldPrefix + name : name }

    /// Returns the lookup attribute stored under a name in the vault; nil if the name does not belong to a lookup
    /// attribute.
    static func lookupName(of stored: String) -> String? {
        if stored.utf8.starts(with: AttributeName.fieldPrefix.utf8) {
            let name = String(decoding: stored.utf8.dropFirst(AttributeName.fieldPrefix.utf8.count), as: UTF8.self)
            return name.isEmpty ? nil : name
        }
        return isReserved(stored) ? nil : stored
    }

    /// Returns the vault's attributes for the given lookup attributes.
    static func stored(_ attributes: LookupAttributes) -> Attributes {
        Attributes(attributes.all.map { Attribute(storedName(of: $0.name), Array($0.value.utf8)) })
    }
}

/// The service and account of a new item, by which `vaultfmt get` finds it.
struct ItemName {
    let service: String
    let account: String

    private static let services = ["service", "server", "host", "domain", "application"]
    private static let accounts = ["username", "user", "account", "login"]
    private static let longest = 255

    /// Derives the service and account from attributes that clients use for such names, or otherwise from the label.
    init(_ attributes: LookupAttributes, label: String) {
        service = Self.first(Self.services, attributes) ?? Self.shortened(label.isEmpty ? "secret" : label)
        account = Self.first(Self.accounts, attributes) ?? ""
    }

    /// Returns the key for the nth item with the same name, with the suffix that an import would add. The
    /// account without the suffix is stored as an attribute, where exports find it.
    func key(_ number: Int, group: String, _ attributes: inout Attributes) throws(VaultError) -> ItemKey {
        let key = try ItemKey.genericPassword(service: service, account: account, group: group)
        guard number > 1 else { return key }
        guard let twin = try TwinName.key(key, "\(number)") else {
            throw VaultError(.limitExceeded, "the account is too long")
        }
        TwinName.note(key, twin, in: &attributes)
        return twin
    }

    private static func first(_ names: [String], _ attributes: LookupAttributes) -> String? {
        for name in names { if let value = attributes[name], !value.isEmpty { return shortened(value) } }
        return nil
    }

    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > longest else { return text }
        var short = ""
        for scalar in text.unicodeScalars {
            guard short.utf8.count + scalar.utf8.count <= longest else { break }
            short.unicodeScalars.append(scalar)
        }
        return short
    }
}
