/// The authentication type of an internet password.
public enum AuthenticationType: Sendable, CaseIterable {
    /// Windows NT LAN Manager.
    case ntlm
    /// Microsoft Network.
    case msn
    /// Distributed Password Authentication.
    case dpa
    /// Remote Password Authentication.
    case rpa
    /// HTTP Basic.
    case httpBasic
    /// HTTP Digest.
    case httpDigest
    /// A form on a page.
    case htmlForm
    /// The default, which a vault treats as the absence of a type.
    case `default`
}

extension AuthenticationType: RawRepresentable, CustomStringConvertible {
    /// Creates the case that corresponds to a constant's value; returns nil for any other string.
    public init?(rawValue: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = found
    }

    /// The value of the corresponding `kSecAttrAuthenticationType…` constant.
    public var rawValue: String { code.value }

    /// The constant's name without its prefix.
    public var description: String { code.name }

    private var code: (name: String, value: String) {
        switch self {
        case .ntlm: ("NTLM", "ntlm")
        case .msn: ("MSN", "msna")
        case .dpa: ("DPA", "dpaa")
        case .rpa: ("RPA", "rpaa")
        case .httpBasic: ("HTTPBasic", "http")
        case .httpDigest: ("HTTPDigest", "httd")
        case .htmlForm: ("HTMLForm", "form")
        case .default: ("Default", "dflt")
        }
    }
}
