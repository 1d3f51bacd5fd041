/// How an internet password is given.
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
    /// The default; in a vault the same as none.
    case `default`
}

extension AuthenticationType: RawRepresentable, CustomStringConvertible {
    /// The case of a constant's value; nil for any other text.
    public init?(rawValue: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = found
    }

    /// The value of its `kSecAttrAuthenticationType…` constant.
    public var rawValue: String { code.value }

    /// Its name, as the constant ends.
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
