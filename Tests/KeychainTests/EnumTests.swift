import Foundation
import KeychainAccess
import SecItem
import Testing

extension KeychainTests {
    @Suite("The types of the API")
    struct EnumTests {
        @Test("have 31 protocols with Apple's codes")
        func protocols() {
            let expected: [(ProtocolType, String, String)] = [
                (.ftp, kSecAttrProtocolFTP as String, "FTP"),
                (.ftpAccount, kSecAttrProtocolFTPAccount as String, "FTPAccount"),
                (.http, kSecAttrProtocolHTTP as String, "HTTP"), (.irc, kSecAttrProtocolIRC as String, "IRC"),
                (.nntp, kSecAttrProtocolNNTP as String, "NNTP"),
                (.pop3, kSecAttrProtocolPOP3 as String, "POP3"), (.smtp, kSecAttrProtocolSMTP as String, "SMTP"),
                (.socks, kSecAttrProtocolSOCKS as String, "SOCKS"),
                (.imap, kSecAttrProtocolIMAP as String, "IMAP"), (.ldap, kSecAttrProtocolLDAP as String, "LDAP"),
                (.appleTalk, kSecAttrProtocolAppleTalk as String, "AppleTalk"),
                (.afp, kSecAttrProtocolAFP as String, "AFP"),
                (.telnet, kSecAttrProtocolTelnet as String, "Telnet"), (.ssh, kSecAttrProtocolSSH as String, "SSH"),
                (.ftps, kSecAttrProtocolFTPS as String, "FTPS"),
                (.https, kSecAttrProtocolHTTPS as String, "HTTPS"),
                (.httpProxy, kSecAttrProtocolHTTPProxy as String, "HTTPProxy"),
                (.httpsProxy, kSecAttrProtocolHTTPSProxy as String, "HTTPSProxy"),
                (.ftpProxy, kSecAttrProtocolFTPProxy as String, "FTPProxy"),
                (.smb, kSecAttrProtocolSMB as String, "SMB"), (.rtsp, kSecAttrProtocolRTSP as String, "RTSP"),
                (.rtspProxy, kSecAttrProtocolRTSPProxy as String, "RTSPProxy"),
                (.daap, kSecAttrProtocolDAAP as String, "DAAP"),
                (.eppc, kSecAttrProtocolEPPC as String, "EPPC"), (.ipp, kSecAttrProtocolIPP as String, "IPP"),
                (.nntps, kSecAttrProtocolNNTPS as String, "NNTPS"),
                (.ldaps, kSecAttrProtocolLDAPS as String, "LDAPS"),
                (.telnetS, kSecAttrProtocolTelnetS as String, "TelnetS"),
                (.imaps, kSecAttrProtocolIMAPS as String, "IMAPS"), (.ircs, kSecAttrProtocolIRCS as String, "IRCS"),
                (.pop3S, kSecAttrProtocolPOP3S as String, "POP3S"),
            ]
            #expect(expected.count == 31 && ProtocolType.allCases == expected.map(\.0))
            for (type, code, name) in expected {
                #expect(
                    type.rawValue == code && code.utf8.count == 4 && type.description == name
                        && ProtocolType(rawValue: code) == type)
            }
            #expect(Set(expected.map(\.1)).count == 31 && ProtocolType(rawValue: "zzzz") == nil)
        }

        @Test("have every protocol and authentication type come back from the vault")
        func roundTrip() throws {
            let used = try Used()
            for type in ProtocolType.allCases {
                let keychain = Keychain(server: "x://example.org", protocolType: type)
                try keychain.set(type.description, key: "k")
                #expect(keychain[attributes: "k"]?.protocol == type.rawValue)
                #expect(keychain.allItems().map { $0["protocol"] as? String } == [type.description])
            }
            for type in AuthenticationType.allCases {
                let keychain = Keychain(server: "x://example.com", protocolType: .http, authenticationType: type)
                try keychain.set(type.description, key: "k")
                #expect(keychain[attributes: "k"]?.authenticationType == type.rawValue)
                #expect(keychain.allItems().map { $0["authenticationType"] as? String } == [type.description])
            }
            #expect(try used.vault.items().count == 31 + 8)
        }

        @Test("have 8 kinds of authentication, 7 accessibilities and 2 classes with Apple's codes")
        func others() {
            let types: [(AuthenticationType, String, String)] = [
                (.ntlm, kSecAttrAuthenticationTypeNTLM as String, "NTLM"),
                (.msn, kSecAttrAuthenticationTypeMSN as String, "MSN"),
                (.dpa, kSecAttrAuthenticationTypeDPA as String, "DPA"),
                (.rpa, kSecAttrAuthenticationTypeRPA as String, "RPA"),
                (.httpBasic, kSecAttrAuthenticationTypeHTTPBasic as String, "HTTPBasic"),
                (.httpDigest, kSecAttrAuthenticationTypeHTTPDigest as String, "HTTPDigest"),
                (.htmlForm, kSecAttrAuthenticationTypeHTMLForm as String, "HTMLForm"),
                (.default, kSecAttrAuthenticationTypeDefault as String, "Default"),
            ]
            #expect(AuthenticationType.allCases == types.map(\.0))
            for (type, code, name) in types {
                #expect(type.rawValue == code && type.description == name && AuthenticationType(rawValue: code) == type)
            }
            let accessibilities: [(Accessibility, String, String)] = [
                (.whenUnlocked, kSecAttrAccessibleWhenUnlocked as String, "WhenUnlocked"),
                (.afterFirstUnlock, kSecAttrAccessibleAfterFirstUnlock as String, "AfterFirstUnlock"),
                (.always, kSecAttrAccessibleAlways as String, "Always"),
                (
                    .whenPasscodeSetThisDeviceOnly, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly as String,
                    "WhenPasscodeSetThisDeviceOnly"
                ),
                (
                    .whenUnlockedThisDeviceOnly, kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String,
                    "WhenUnlockedThisDeviceOnly"
                ),
                (
                    .afterFirstUnlockThisDeviceOnly, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String,
                    "AfterFirstUnlockThisDeviceOnly"
                ),
                (.alwaysThisDeviceOnly, kSecAttrAccessibleAlwaysThisDeviceOnly as String, "AlwaysThisDeviceOnly"),
            ]
            #expect(Accessibility.allCases == accessibilities.map(\.0))
            for (accessibility, code, name) in accessibilities {
                #expect(
                    accessibility.rawValue == code && accessibility.description == name
                        && Accessibility(rawValue: code) == accessibility)
            }
            #expect(
                ItemClass(rawValue: kSecClassGenericPassword as String) == .genericPassword
                    && ItemClass(rawValue: kSecClassKey as String) == nil)
            #expect(ItemClass(rawValue: kSecClassInternetPassword as String) == .internetPassword)
            #expect(
                ItemClass.genericPassword.description == "GenericPassword"
                    && ItemClass.internetPassword.description == "InternetPassword")
            #expect(
                AuthenticationUI.allow.rawValue == kSecUseAuthenticationUIAllow as String
                    && AuthenticationUI.allow.description == "allow")
            #expect(
                AuthenticationUI.fail.rawValue == kSecUseAuthenticationUIFail as String
                    && AuthenticationUI.fail.description == "fail")
            #expect(
                AuthenticationUI.skip.rawValue == kSecUseAuthenticationUISkip as String
                    && AuthenticationUI.skip.description == "skip")
        }

        @Test("have policies with the values of Apple's access control flags")
        func policies() {
            let policies: [(AuthenticationPolicy, SecAccessControlCreateFlags, Int)] = [
                (.userPresence, .userPresence, 0), (.biometryAny, .biometryAny, 1), (.touchIDAny, .biometryAny, 1),
                (.biometryCurrentSet, .biometryCurrentSet, 3), (.touchIDCurrentSet, .biometryCurrentSet, 3),
                (.devicePasscode, .devicePasscode, 4), (.watch, .watch, 5), (.or, .or, 14), (.and, .and, 15),
                (.privateKeyUsage, .privateKeyUsage, 30), (.applicationPassword, .applicationPassword, 31),
            ]
            for (policy, flags, bit) in policies {
                #expect(policy.rawValue == 1 << bit && flags.rawValue == policy.rawValue)
            }
        }

        @Test("have Apple's status codes, a sentence for each, and are errors of their domain")
        func statuses() {
            #expect(Status.allCases.count == 403)
            #expect(Set(Status.allCases.map(\.rawValue)).count == Status.allCases.count)
            #expect(Status.allCases.allSatisfy { $0.description.hasSuffix(".") && Status(status: $0.rawValue) == $0 })
            #expect(
                Status(status: 12345) == .unexpectedError && Status(rawValue: 12345) == nil
                    && Status.unexpectedError.rawValue == -99999)
            let known: [(Status, OSStatus, OSStatus)] = [
                (.success, errSecSuccess, 0), (.unimplemented, errSecUnimplemented, -4), (.io, errSecIO, -36),
                (.param, errSecParam, -50),
                (.allocate, errSecAllocate, -108), (.userCanceled, errSecUserCanceled, -128),
                (.notAvailable, errSecNotAvailable, -25291),
                (.readOnly, errSecReadOnly, -25292), (.authFailed, errSecAuthFailed, -25293),
                (.noSuchKeychain, errSecNoSuchKeychain, -25294), (.invalidKeychain, errSecInvalidKeychain, -25295),
                (.duplicateItem, errSecDuplicateItem, -25299), (.itemNotFound, errSecItemNotFound, -25300),
                (.dataTooLarge, errSecDataTooLarge, -25302), (.noSuchAttr, errSecNoSuchAttr, -25303),
                (.interactionNotAllowed, errSecInteractionNotAllowed, -25308),
                (.dataNotAvailable, errSecDataNotAvailable, -25316),
                (.decode, errSecDecode, -26275), (.missingEntitlement, errSecMissingEntitlement, -34018),
                (.conversionError, errSecConversionError, -67594), (.verifyFailed, -67808, -67808),
                (.timestampRevocationNotification, -67898, -67898), (.invalidAttributeKey, -67748, -67748),
            ]
            for (status, constant, code) in known { #expect(status.rawValue == code && constant == code) }
            let error: any Error = Status.authFailed
            let bridged = error as NSError
            #expect(bridged.domain == KeychainAccessErrorDomain && Status.errorDomain == KeychainAccessErrorDomain)
            #expect(KeychainAccessErrorDomain == "com.kishikawakatsumi.KeychainAccess.error" && bridged.code == -25293)
            #expect(
                error.localizedDescription == Status.authFailed.description && Status.authFailed.errorCode == -25293)
            #expect(
                Status.authFailed.errorUserInfo[NSLocalizedDescriptionKey] as? String == Status.authFailed.description)
            #expect(SecCopyErrorMessageString(errSecAuthFailed, nil) as String? == Status.authFailed.description)
            #expect(SecCopyErrorMessageString(12345, nil) == nil)
        }
    }
}
