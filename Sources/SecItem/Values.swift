// The values of dictionaries that stand for a choice, by Apple's names and with Apple's values.

/// A password for a service.
public let kSecClassGenericPassword: CFString = "genp"
/// A password for a server.
public let kSecClassInternetPassword: CFString = "inet"
/// A certificate.
public let kSecClassCertificate: CFString = "cert"
/// A cryptographic key.
public let kSecClassKey: CFString = "keys"
/// A certificate with its private key.
public let kSecClassIdentity: CFString = "idnt"
/// While the vault is unlocked.
public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
/// From the first unlocking on.
public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
/// Always; in a vault, from the first unlocking on.
public let kSecAttrAccessibleAlways: CFString = "dk"
/// While the vault is unlocked, on this device.
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
/// From the first unlocking on, on this device.
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
/// Always, on this device; in a vault, from the first unlocking on.
public let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"
/// As `kSecAttrAccessibleWhenUnlockedThisDeviceOnly`: a vault has no passcode.
public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"
/// File Transfer Protocol.
public let kSecAttrProtocolFTP: CFString = "ftp "
/// An FTP account.
public let kSecAttrProtocolFTPAccount: CFString = "ftpa"
/// HTTP.
public let kSecAttrProtocolHTTP: CFString = "http"
/// IRC.
public let kSecAttrProtocolIRC: CFString = "irc "
/// NNTP.
public let kSecAttrProtocolNNTP: CFString = "nntp"
/// POP3.
public let kSecAttrProtocolPOP3: CFString = "pop3"
/// SMTP.
public let kSecAttrProtocolSMTP: CFString = "smtp"
/// SOCKS.
public let kSecAttrProtocolSOCKS: CFString = "sox "
/// IMAP.
public let kSecAttrProtocolIMAP: CFString = "imap"
/// LDAP.
public let kSecAttrProtocolLDAP: CFString = "ldap"
/// AFP over AppleTalk.
public let kSecAttrProtocolAppleTalk: CFString = "atlk"
/// AFP over TCP.
public let kSecAttrProtocolAFP: CFString = "afp "
/// Telnet.
public let kSecAttrProtocolTelnet: CFString = "teln"
/// SSH.
public let kSecAttrProtocolSSH: CFString = "ssh "
/// FTP over TLS.
public let kSecAttrProtocolFTPS: CFString = "ftps"
/// HTTPS.
public let kSecAttrProtocolHTTPS: CFString = "htps"
/// An HTTP proxy.
public let kSecAttrProtocolHTTPProxy: CFString = "htpx"
/// An HTTPS proxy.
public let kSecAttrProtocolHTTPSProxy: CFString = "htsx"
/// An FTP proxy.
public let kSecAttrProtocolFTPProxy: CFString = "ftpx"
/// SMB.
public let kSecAttrProtocolSMB: CFString = "smb "
/// RTSP.
public let kSecAttrProtocolRTSP: CFString = "rtsp"
/// An RTSP proxy.
public let kSecAttrProtocolRTSPProxy: CFString = "rtsx"
/// DAAP.
public let kSecAttrProtocolDAAP: CFString = "daap"
/// Remote Apple Events.
public let kSecAttrProtocolEPPC: CFString = "eppc"
/// IPP.
public let kSecAttrProtocolIPP: CFString = "ipp "
/// NNTP over TLS.
public let kSecAttrProtocolNNTPS: CFString = "ntps"
/// LDAP over TLS.
public let kSecAttrProtocolLDAPS: CFString = "ldps"
/// Telnet over TLS.
public let kSecAttrProtocolTelnetS: CFString = "tels"
/// IMAP over TLS.
public let kSecAttrProtocolIMAPS: CFString = "imps"
/// IRC over TLS.
public let kSecAttrProtocolIRCS: CFString = "ircs"
/// POP3 over TLS.
public let kSecAttrProtocolPOP3S: CFString = "pops"
/// Windows NT LAN Manager.
public let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"
/// Microsoft Network.
public let kSecAttrAuthenticationTypeMSN: CFString = "msna"
/// Distributed Password Authentication.
public let kSecAttrAuthenticationTypeDPA: CFString = "dpaa"
/// Remote Password Authentication.
public let kSecAttrAuthenticationTypeRPA: CFString = "rpaa"
/// HTTP Basic.
public let kSecAttrAuthenticationTypeHTTPBasic: CFString = "http"
/// HTTP Digest.
public let kSecAttrAuthenticationTypeHTTPDigest: CFString = "httd"
/// A form on a page.
public let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"
/// The default; in a vault the same as none.
public let kSecAttrAuthenticationTypeDefault: CFString = "dflt"
/// A public key.
public let kSecAttrKeyClassPublic: CFString = "0"
/// A private key.
public let kSecAttrKeyClassPrivate: CFString = "1"
/// A symmetric key.
public let kSecAttrKeyClassSymmetric: CFString = "2"
/// RSA.
public let kSecAttrKeyTypeRSA: CFString = "42"
/// Elliptic curves; another name of the next.
public let kSecAttrKeyTypeEC: CFString = "73"
/// Elliptic curves over prime fields.
public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
/// AES.
public let kSecAttrKeyTypeAES: CFString = "2147483649"
