public import Foundation

// The choice values in dictionaries, with Apple's names and values.

/// A password for a service.
public nonisolated(unsafe) let kSecClassGenericPassword: CFString = "genp"
/// A password for a server.
public nonisolated(unsafe) let kSecClassInternetPassword: CFString = "inet"
/// A certificate.
public nonisolated(unsafe) let kSecClassCertificate: CFString = "cert"
/// A cryptographic key.
public nonisolated(unsafe) let kSecClassKey: CFString = "keys"
/// A certificate with its private key.
public nonisolated(unsafe) let kSecClassIdentity: CFString = "idnt"
/// Readable while the vault is unlocked.
public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
/// Readable after the vault has been unlocked once.
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
/// Always readable; in a vault, after it has been unlocked once.
public nonisolated(unsafe) let kSecAttrAccessibleAlways: CFString = "dk"
/// Readable while the vault is unlocked, only on this device.
public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
/// Readable after the vault has been unlocked once, only on this device.
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
/// Always readable, only on this device; in a vault, after it has been unlocked once.
public nonisolated(unsafe) let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"
/// The same as `kSecAttrAccessibleWhenUnlockedThisDeviceOnly`: a vault has no passcode.
public nonisolated(unsafe) let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"
/// File Transfer Protocol.
public nonisolated(unsafe) let kSecAttrProtocolFTP: CFString = "ftp "
/// An FTP account.
public nonisolated(unsafe) let kSecAttrProtocolFTPAccount: CFString = "ftpa"
/// HTTP.
public nonisolated(unsafe) let kSecAttrProtocolHTTP: CFString = "http"
/// IRC.
public nonisolated(unsafe) let kSecAttrProtocolIRC: CFString = "irc "
/// NNTP.
public nonisolated(unsafe) let kSecAttrProtocolNNTP: CFString = "nntp"
/// POP3.
public nonisolated(unsafe) let kSecAttrProtocolPOP3: CFString = "pop3"
/// SMTP.
public nonisolated(unsafe) let kSecAttrProtocolSMTP: CFString = "smtp"
/// SOCKS.
public nonisolated(unsafe) let kSecAttrProtocolSOCKS: CFString = "sox "
/// IMAP.
public nonisolated(unsafe) let kSecAttrProtocolIMAP: CFString = "imap"
/// LDAP.
public nonisolated(unsafe) let kSecAttrProtocolLDAP: CFString = "ldap"
/// AFP over AppleTalk.
public nonisolated(unsafe) let kSecAttrProtocolAppleTalk: CFString = "atlk"
/// AFP over TCP.
public nonisolated(unsafe) let kSecAttrProtocolAFP: CFString = "afp "
/// Telnet.
public nonisolated(unsafe) let kSecAttrProtocolTelnet: CFString = "teln"
/// SSH.
public nonisolated(unsafe) let kSecAttrProtocolSSH: CFString = "ssh "
/// FTP over TLS.
public nonisolated(unsafe) let kSecAttrProtocolFTPS: CFString = "ftps"
/// HTTPS.
public nonisolated(unsafe) let kSecAttrProtocolHTTPS: CFString = "htps"
/// An HTTP proxy.
public nonisolated(unsafe) let kSecAttrProtocolHTTPProxy: CFString = "htpx"
/// An HTTPS proxy.
public nonisolated(unsafe) let kSecAttrProtocolHTTPSProxy: CFString = "htsx"
/// An FTP proxy.
public nonisolated(unsafe) let kSecAttrProtocolFTPProxy: CFString = "ftpx"
/// SMB.
public nonisolated(unsafe) let kSecAttrProtocolSMB: CFString = "smb "
/// RTSP.
public nonisolated(unsafe) let kSecAttrProtocolRTSP: CFString = "rtsp"
/// An RTSP proxy.
public nonisolated(unsafe) let kSecAttrProtocolRTSPProxy: CFString = "rtsx"
/// DAAP.
public nonisolated(unsafe) let kSecAttrProtocolDAAP: CFString = "daap"
/// Remote Apple Events.
public nonisolated(unsafe) let kSecAttrProtocolEPPC: CFString = "eppc"
/// IPP.
public nonisolated(unsafe) let kSecAttrProtocolIPP: CFString = "ipp "
/// NNTP over TLS.
public nonisolated(unsafe) let kSecAttrProtocolNNTPS: CFString = "ntps"
/// LDAP over TLS.
public nonisolated(unsafe) let kSecAttrProtocolLDAPS: CFString = "ldps"
/// Telnet over TLS.
public nonisolated(unsafe) let kSecAttrProtocolTelnetS: CFString = "tels"
/// IMAP over TLS.
public nonisolated(unsafe) let kSecAttrProtocolIMAPS: CFString = "imps"
/// IRC over TLS.
public nonisolated(unsafe) let kSecAttrProtocolIRCS: CFString = "ircs"
/// POP3 over TLS.
public nonisolated(unsafe) let kSecAttrProtocolPOP3S: CFString = "pops"
/// Windows NT LAN Manager.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"
/// Microsoft Network.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeMSN: CFString = "msna"
/// Distributed Password Authentication.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeDPA: CFString = "dpaa"
/// Remote Password Authentication.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeRPA: CFString = "rpaa"
/// HTTP Basic.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeHTTPBasic: CFString = "http"
/// HTTP Digest.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeHTTPDigest: CFString = "httd"
/// A form on a page.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"
/// The default; a vault treats it as no type.
public nonisolated(unsafe) let kSecAttrAuthenticationTypeDefault: CFString = "dflt"
/// A public key.
public nonisolated(unsafe) let kSecAttrKeyClassPublic: CFString = "0"
/// A private key.
public nonisolated(unsafe) let kSecAttrKeyClassPrivate: CFString = "1"
/// A symmetric key.
public nonisolated(unsafe) let kSecAttrKeyClassSymmetric: CFString = "2"
/// RSA.
public nonisolated(unsafe) let kSecAttrKeyTypeRSA: CFString = "42"
/// Elliptic curves; another name for the next constant.
public nonisolated(unsafe) let kSecAttrKeyTypeEC: CFString = "73"
/// Elliptic curves over prime fields.
public nonisolated(unsafe) let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
/// AES.
public nonisolated(unsafe) let kSecAttrKeyTypeAES: CFString = "2147483649"
