/// The protocol of an internet password.
public enum ProtocolType: Sendable, CaseIterable {
    /// The File Transfer Protocol.
    case ftp
    /// An account on an FTP server.
    case ftpAccount
    /// HTTP.
    case http
    /// IRC.
    case irc
    /// NNTP.
    case nntp
    /// POP3.
    case pop3
    /// SMTP.
    case smtp
    /// SOCKS.
    case socks
    /// IMAP.
    case imap
    /// LDAP.
    case ldap
    /// AFP over AppleTalk.
    case appleTalk
    /// AFP over TCP.
    case afp
    /// Telnet.
    case telnet
    /// SSH.
    case ssh
    /// FTP over TLS.
    case ftps
    /// HTTPS.
    case https
    /// An HTTP proxy.
    case httpProxy
    /// An HTTPS proxy.
    case httpsProxy
    /// An FTP proxy.
    case ftpProxy
    /// SMB.
    case smb
    /// RTSP.
    case rtsp
    /// An RTSP proxy.
    case rtspProxy
    /// DAAP.
    case daap
    /// Remote Apple Events.
    case eppc
    /// IPP.
    case ipp
    /// NNTP over TLS.
    case nntps
    /// LDAP over TLS.
    case ldaps
    /// Telnet over TLS.
    case telnetS
    /// IMAP over TLS.
    case imaps
    /// IRC over TLS.
    case ircs
    /// POP3 over TLS.
    case pop3S
}

extension ProtocolType: RawRepresentable, CustomStringConvertible {
    /// Creates the case that corresponds to a constant's value; returns nil for any other string.
    public init?(rawValue: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = found
    }

    /// The value of the corresponding `kSecAttrProtocol…` constant.
    public var rawValue: String { code.value }

    /// The constant's name without its prefix.
    public var description: String { code.name }

    private var code: (name: String, value: String) {
        switch self {
        case .ftp: ("FTP", "ftp ")
        case .ftpAccount: ("FTPAccount", "ftpa")
        case .http: ("HTTP", "http")
        case .irc: ("IRC", "irc ")
        case .nntp: ("NNTP", "nntp")
        case .pop3: ("POP3", "pop3")
        case .smtp: ("SMTP", "smtp")
        case .socks: ("SOCKS", "sox ")
        case .imap: ("IMAP", "imap")
        case .ldap: ("LDAP", "ldap")
        case .appleTalk: ("AppleTalk", "atlk")
        case .afp: ("AFP", "afp ")
        case .telnet: ("Telnet", "teln")
        case .ssh: ("SSH", "ssh ")
        case .ftps: ("FTPS", "ftps")
        case .https: ("HTTPS", "htps")
        case .httpProxy: ("HTTPProxy", "htpx")
        case .httpsProxy: ("HTTPSProxy", "htsx")
        case .ftpProxy: ("FTPProxy", "ftpx")
        case .smb: ("SMB", "smb ")
        case .rtsp: ("RTSP", "rtsp")
        case .rtspProxy: ("RTSPProxy", "rtsx")
        case .daap: ("DAAP", "daap")
        case .eppc: ("EPPC", "eppc")
        case .ipp: ("IPP", "ipp ")
        case .nntps: ("NNTPS", "ntps")
        case .ldaps: ("LDAPS", "ldps")
        case .telnetS: ("TelnetS", "tels")
        case .imaps: ("IMAPS", "imps")
        case .ircs: ("IRCS", "ircs")
        case .pop3S: ("POP3S", "pops")
        }
    }
}
