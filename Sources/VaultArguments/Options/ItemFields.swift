package import ArgumentParser
import VaultConsole
package import VaultFmt

/// The options that name the fields of an item's key; as filters, they match exactly.
package struct ItemFields: ParsableArguments {
    @Option("The item's class.", name: .customLong("class"))
    package var className: ClassName?

    @Option("The service of a generic password.")
    package var service: String?

    @Option("The account.")
    package var account: String?

    @Option("The server of an internet password.")
    var server: String?

    @Option("The protocol, such as https.", name: .customLong("protocol"))
    var networkProtocol: String?

    @Option("The port.")
    var port: UInt32?

    @Option("The path.")
    var path: String?

    @Option("The security domain.")
    var securityDomain: String?

    @Option("The authentication type.")
    var authenticationType: String?

    @Option("The type of a certificate or identity; 3 is X.509 version 3.")
    var certificateType: UInt32?

    @Option("The issuer: the DER bytes, as hex:… or base64:….")
    var issuer: BytesArgument?

    @Option("The serial number, as hex:… or base64:….")
    var serialNumber: BytesArgument?

    @Option("The class of a key: public, private, symmetric, or a number.")
    var keyClass: NamedNumber?

    @Option("The type of a key: rsa, ec, aes, or a number.")
    var keyType: NamedNumber?

    @Option("The application label: text, hex:… or base64:….")
    var applicationLabel: BytesArgument?

    @Option("The application tag: text, hex:… or base64:….")
    var applicationTag: BytesArgument?

    @Option("The size of a key.", value: "bits")
    var keySize: UInt32?

    @Option("The effective size of a key.", value: "bits")
    var effectiveSize: UInt32?

    @Option("The access group.", completion: .custom(VaultCompletion.groups))
    package var group: String?

    @Flag(inversion: .prefixedNo, help: "Whether the item may be synchronized.")
    var synchronizable: Bool?

    package init() {}

    /// The values of the fields that are given.
    var given: [ItemKey.Field: ItemKey.Value] {
        var given: [ItemKey.Field: ItemKey.Value] = [:]
        for field in ItemKey.Field.allCases { given[field] = value(field) }
        return given
    }

    private func value(_ field: ItemKey.Field) -> ItemKey.Value? {
        switch field {
        case .service: service.map { .text($0) }
        case .server: server.map { .text($0) }
        case .protocol: networkProtocol.map { .text($0) }
        case .port: port.map { .number($0) }
        case .path: path.map { .text($0) }
        case .account: account.map { .text($0) }
        case .securityDomain: securityDomain.map { .text($0) }
        case .authenticationType: authenticationType.map { .text($0) }
        case .type: certificateType.map { .number($0) }
        case .issuer: (issuer?.bytes).map { .bytes($0) }
        case .serialNumber: (serialNumber?.bytes).map { .bytes($0) }
        case .keyClass: (keyClass?.value).map { .number($0) }
        case .keyType: (keyType?.value).map { .number($0) }
        case .applicationLabel: (applicationLabel?.bytes).map { .bytes($0) }
        case .applicationTag: (applicationTag?.bytes).map { .bytes($0) }
        case .sizeInBits: keySize.map { .number($0) }
        case .effectiveSize: effectiveSize.map { .number($0) }
        }
    }

    /// The given class, or the class implied by the other options; an account does not imply a class.
    var impliedClass: ItemClass? {
        if let className { return className.value }
        let classes = given.keys.filter { $0 != .account }.map { $0.classes[0] }
        return [.internetPassword, .certificate, .key, .genericPassword].first { classes.contains($0) }
    }

    /// True if any option is given.
    package var isAnyGiven: Bool { className != nil || !given.isEmpty || group != nil || synchronizable != nil }

    /// The items that match all options.
    package var query: Query { Query(itemClass: impliedClass, given, group: group, synchronizable: synchronizable) }

    /// Returns the first given option for which a class has no field.
    func misplaced(in itemClass: ItemClass) -> String? {
        ItemKey.Field.allCases.first { !$0.classes.contains(itemClass) && value($0) != nil }?.option
    }
}

extension ItemFields {
    /// Refuses, in an item's new name, a port that no server can have. An item stored by another program may have such
    /// a port in its name; such an item is found and changed like any other.
    ///
    /// - Throws: A `CommandFailure` with the exit code `usage`.
    package static func requirePort(_ port: UInt32?) throws {
        guard let port, port > UInt32(UInt16.max) else { return }
        throw CommandFailure(.usage, "\(port) is not a port; a port is a number up to \(UInt16.max)")
    }
}

extension ItemKey.Field {
    /// The option that names the field.
    fileprivate var option: String {
        switch self {
        case .type: "--certificate-type"
        case .sizeInBits: "--key-size"
        default: "--" + words.joined(separator: "-")
        }
    }
}
