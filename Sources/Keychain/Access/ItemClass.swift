internal import VaultFmt

/// Generic or internet passwords. The module `SecItem` also supports certificates, keys and identities.
public enum ItemClass: Sendable, CaseIterable {
    /// A password for a service.
    case genericPassword
    /// A password for a server.
    case internetPassword
}

extension ItemClass: RawRepresentable, CustomStringConvertible {
    /// Creates the case that corresponds to a constant's value; returns nil for any other string.
    public init?(rawValue: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = found
    }

    /// The value of the corresponding `kSecClass…` constant.
    public var rawValue: String { code.value }

    /// The constant's name without its prefix.
    public var description: String { code.name }

    private var code: (name: String, value: String) {
        switch self {
        case .genericPassword: ("GenericPassword", "genp")
        case .internetPassword: ("InternetPassword", "inet")
        }
    }
}

extension ItemClass {
    var inVault: VaultFmt.ItemClass {
        switch self {
        case .genericPassword: .genericPassword
        case .internetPassword: .internetPassword
        }
    }
}
