import ArgumentParser
import VaultFmt

/// The options that name the fields of an item's key; as filters they match exactly.
struct ItemFields: ParsableArguments {
    @Option("The item's class.", name: .customLong("class"))
    var className: ClassName?

    @Option("The service of a generic password.")
    var service: String?

    @Option("The account.")
    var account: String?

    @Option("The server of an internet password.")
    var server: String?

    @Option("Its protocol, such as https.", name: .customLong("protocol"))
    var networkProtocol: String?

    @Option("Its port.")
    var port: UInt32?

    @Option("Its path.")
    var path: String?

    @Option("Its security domain.")
    var securityDomain: String?

    @Option("Its authentication type.")
    var authenticationType: String?

    @Option("The type of a certificate or identity; 3 is X.509 version 3.")
    var certificateType: UInt32?

    @Option("Its issuer: the DER bytes, as hex:… or base64:….")
    var issuer: BytesArgument?

    @Option("Its serial number, as hex:… or base64:….")
    var serialNumber: BytesArgument?

    @Option("The class of a key: public, private, symmetric, or a number.")
    var keyClass: NamedNumber?

    @Option("Its type: rsa, ec, aes, or a number.")
    var keyType: NamedNumber?

    @Option("Its application label: text, hex:… or base64:….")
    var applicationLabel: BytesArgument?

    @Option("Its application tag: text, hex:… or base64:….")
    var applicationTag: BytesArgument?

    @Option("Its size.", value: "bits")
    var keySize: UInt32?

    @Option("Its effective size.", value: "bits")
    var effectiveSize: UInt32?

    @Option("The access group.")
    var group: String?

    @Flag(inversion: .prefixedNo, help: "Whether the item may be synchronized.")
    var synchronizable: Bool?

    /// The class given, or the only one that the other options fit.
    var impliedClass: ItemClass? {
        if let className { return className.value }
        if server != nil || networkProtocol != nil || port != nil || path != nil || securityDomain != nil
            || authenticationType != nil
        {
            return .internetPassword
        }
        if issuer != nil || serialNumber != nil || certificateType != nil { return .certificate }
        if keyClass != nil || keyType != nil || applicationLabel != nil || applicationTag != nil || keySize != nil
            || effectiveSize != nil
        {
            return .key
        }
        return service != nil ? .genericPassword : nil
    }

    /// Whether any option is given.
    var isAnyGiven: Bool { impliedClass != nil || account != nil || group != nil || synchronizable != nil }

    /// What the library can look for by itself; `accepts` does the rest.
    var query: Query {
        var query = Query()
        query.itemClass = impliedClass
        query.service = service
        query.account = account
        query.server = server
        query.protocol = networkProtocol
        query.port = port
        query.path = path
        query.group = group
        query.synchronizable = synchronizable
        return query
    }

    /// Whether an item has the fields that a `Query` does not know.
    func accepts(_ item: Item) -> Bool {
        func fits<Value: Equatable>(_ wanted: Value?, _ value: Value) -> Bool { wanted.map { $0 == value } ?? true }
        // Exact means the same bytes: two strings are equal in Swift also where they are only canonically equivalent.
        func isSame(_ wanted: String?, _ value: String) -> Bool {
            wanted.map { $0.utf8.elementsEqual(value.utf8) } ?? true
        }
        switch item.key.fields {
        case .genericPassword, .reserved: return true
        case .internetPassword(_, _, _, _, _, let domain, let authentication):
            return isSame(securityDomain, domain) && isSame(authenticationType, authentication)
        case .certificate(let type, let issuer, let serial), .identity(let type, let issuer, let serial):
            return fits(certificateType, type) && fits(self.issuer?.bytes, issuer) && fits(serialNumber?.bytes, serial)
        case .key(let keyClass, let type, let label, let tag, let size, let effective):
            return fits(self.keyClass?.value, keyClass) && fits(keyType?.value, type)
                && fits(applicationLabel?.bytes, label)
                && fits(applicationTag?.bytes, tag) && fits(keySize, size) && fits(effectiveSize, effective)
        }
    }

    /// The first option given that a class has no field for.
    func misplaced(in itemClass: ItemClass) -> String? {
        let isInternet = itemClass == .internetPassword
        let isCertificate = itemClass == .certificate || itemClass == .identity
        let isKey = itemClass == .key
        let isPassword = isInternet || itemClass == .genericPassword
        let given: [(name: String, isGiven: Bool, fits: Bool)] = [
            ("--service", service != nil, itemClass == .genericPassword), ("--account", account != nil, isPassword),
            ("--server", server != nil, isInternet), ("--protocol", networkProtocol != nil, isInternet),
            ("--port", port != nil, isInternet), ("--path", path != nil, isInternet),
            ("--security-domain", securityDomain != nil, isInternet),
            ("--authentication-type", authenticationType != nil, isInternet),
            ("--certificate-type", certificateType != nil, isCertificate), ("--issuer", issuer != nil, isCertificate),
            ("--serial-number", serialNumber != nil, isCertificate), ("--key-class", keyClass != nil, isKey),
            ("--key-type", keyType != nil, isKey), ("--application-label", applicationLabel != nil, isKey),
            ("--application-tag", applicationTag != nil, isKey), ("--key-size", keySize != nil, isKey),
            ("--effective-size", effectiveSize != nil, isKey),
        ]
        return given.first { $0.isGiven && !$0.fits }?.name
    }
}
