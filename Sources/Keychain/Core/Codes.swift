package import VaultFmt

extension ItemClass {
    /// Creates a class from one of the `kSecClass…` constants; returns nil for any other string.
    package init?(code: String) {
        guard let found = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = found
    }

    /// The value of this class's `kSecClass…` constant. A class that Apple does not have, which cannot be requested,
    /// has its own name.
    package var code: String {
        switch self {
        case .genericPassword: "genp"
        case .internetPassword: "inet"
        case .certificate: "cert"
        case .key: "keys"
        case .identity: "idnt"
        case .reserved: name
        }
    }
}

extension Accessibility {
    /// Creates an accessibility from one of the `kSecAttrAccessible…` constants; returns nil for any other string.
    package init?(code: String) {
        guard let found = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = found
    }

    /// The value of its `kSecAttrAccessible…` constant.
    package var code: String {
        switch self {
        case .whenUnlocked: "ak"
        case .afterFirstUnlock: "ck"
        case .always: "dk"
        case .whenPasscodeSetThisDeviceOnly: "akpu"
        case .whenUnlockedThisDeviceOnly: "aku"
        case .afterFirstUnlockThisDeviceOnly: "cku"
        case .alwaysThisDeviceOnly: "dku"
        }
    }
}

/// Values that Apple's constants represent as four characters, and that vaults represent as the words that people and
/// other programs use.
struct CodedText {
    private let words: [String: String]
    private let codes: [String: String]

    private init(_ words: [String: String]) {
        self.words = words
        codes = Dictionary(words.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the vault's word for a constant's value; any other text is returned unchanged.
    func word(_ code: String) -> String { words[code] ?? code }

    /// Returns the constant's value for a vault's word; any other text is returned unchanged.
    func code(_ word: String) -> String { codes[word] ?? word }

    /// URL schemes, for the protocols that have one.
    static let protocols = CodedText([
        "ftp ": "ftp", "ftpa": "ftp-account", "http": "http", "irc ": "irc", "nntp": "nntp", "pop3": "pop3",
        "smtp": "smtp",
        "sox ": "socks", "imap": "imap", "ldap": "ldap", "atlk": "appletalk", "afp ": "afp", "teln": "telnet",
        "ssh ": "ssh",
        "ftps": "ftps", "htps": "https", "htpx": "http-proxy", "htsx": "https-proxy", "ftpx": "ftp-proxy",
        "smb ": "smb",
        "rtsp": "rtsp", "rtsx": "rtsp-proxy", "daap": "daap", "eppc": "eppc", "ipp ": "ipp", "ntps": "nntps",
        "ldps": "ldaps",
        "tels": "telnets", "imps": "imaps", "ircs": "ircs", "pops": "pop3s",
    ])

    /// The default type is stored as an empty text.
    static let authenticationTypes = CodedText([
        "ntlm": "ntlm", "msna": "msn", "dpaa": "dpa", "rpaa": "rpa", "http": "http-basic", "httd": "http-digest",
        "form": "html-form",
        "dflt": "",
    ])
}
