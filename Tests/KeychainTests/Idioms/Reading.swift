// Public code unwraps by force, and so does this.
// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import KeychainAccess
import SecItem

extension Idiom {
    /// Reading one item, and what its result is cast to.
    static let reading: [Idiom] = [
        Idiom(
            "reads bytes through withUnsafeMutablePointer",
            seen: "evgenyneu/keychain-swift Sources/KeychainSwift.swift"
        ) { _ in
            add("k")
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "k",
                kSecMatchLimit as String: kSecMatchLimitOne,
            ]
            query[kSecReturnData as String] = kCFBooleanTrue
            var result: AnyObject?
            let status = withUnsafeMutablePointer(to: &result) {
                SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
            }
            return status == noErr && (result as? Data).flatMap { String(data: $0, encoding: .utf8) } == "secret k"
        },
        Idiom(
            "reads a persistent reference, which finds the item after it was renamed",
            seen: "evgenyneu/keychain-swift Sources/KeychainSwift.swift"
        ) { _ in
            add("k")
            let query = generic(
                "k",
                [kSecMatchLimit as String: kSecMatchLimitOne, kSecReturnPersistentRef as String: kCFBooleanTrue as Any])
            var result: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &result) == noErr, let reference = result as? Data else {
                return false
            }
            SecItemUpdate(generic("k") as CFDictionary, [kSecAttrAccount: "renamed"] as CFDictionary)
            let found: [String: Any] = [kSecValuePersistentRef as String: reference, kSecReturnData as String: true]
            return SecItemCopyMatching(found as CFDictionary, &result) == errSecSuccess && text(result) == "secret k"
        },
        Idiom(
            "looks for a placeholder and adds it with the same [CFString: Any], casting to [CFString: AnyHashable]",
            seen: "square/Valet Sources/Valet/Internal/SecItem.swift"
        ) { _ in
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrAccount: "Placeholder", kSecReturnAttributes: true,
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            query[kSecUseDataProtectionKeychain] = true
            for expected in [errSecItemNotFound, errSecSuccess] {
                var result: AnyObject?
                let first = SecItemCopyMatching(query as CFDictionary, &result)
                if first == errSecItemNotFound, SecItemAdd(query as CFDictionary, &result) != errSecSuccess {
                    return false
                }
                guard first == expected, let attributes = result as? [CFString: AnyHashable],
                    attributes[kSecAttrAccessGroup] as? String != nil,
                    attributes[kSecAttrAccount] as? String == "Placeholder"
                else { return false }
            }
            return count() == 1
        },
        Idiom(
            "finds by a persistent reference alone, without a class, and casts to a type of its choice",
            seen: "square/Valet Sources/Valet/Internal/Keychain.swift"
        ) { _ in
            func copy<Wanted>(_ query: [String: AnyHashable]) -> Wanted? {
                var result: AnyObject?
                return SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess ? result as? Wanted : nil
            }
            add("k")
            let attributes: [String: AnyHashable]? = copy([
                kSecClass as String: kSecClassGenericPassword, kSecReturnAttributes as String: true,
                kSecReturnData as String: false,
                kSecReturnRef as String: false, kSecReturnPersistentRef as String: true,
            ])
            guard let reference = attributes?[kSecValuePersistentRef as String] else { return false }
            let data: Data? = copy([kSecValuePersistentRef as String: reference, kSecReturnData as String: true])
            return data == bytes("secret k") && attributes?[kSecValueData as String] == nil
        },
        Idiom(
            "compares what a dictionary holds with constants as CFString?",
            seen: "square/Valet Sources/Valet/Internal/Keychain.swift"
        ) { _ in
            let query: [String: AnyHashable] = [
                kSecClass as String: kSecClassGenericPassword, kSecMatchLimit as String: kSecMatchLimitAll,
                kSecReturnData as String: kCFBooleanFalse,
            ]
            return query[kSecMatchLimit as String] as? String as CFString? != kSecMatchLimitOne
                && query[kSecClass as String] as? String as CFString? == kSecClassGenericPassword
                && query[kSecReturnData as String] as? Bool == false
        },
        Idiom(
            "reads an account of bytes as NSData",
            seen: "jrendel/SwiftKeychainWrapper SwiftKeychainWrapper/KeychainWrapper.swift"
        ) { _ in
            var query = [String: AnyObject]()
            query[kSecClass as String] = kSecClassGenericPassword
            query[kSecAttrAccount as String] = "k".data(using: .utf8) as AnyObject
            query[kSecAttrGeneric as String] = "k".data(using: .utf8) as AnyObject
            var item = query
            item[kSecValueData as String] = bytes("1") as AnyObject
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess else { return false }
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            query[kSecReturnData as String] = kCFBooleanTrue
            var result: AnyObject?
            let status = withUnsafeMutablePointer(to: &result) {
                SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
            }
            return status == noErr && (result as? NSData).map { $0 as Data } == bytes("1")
        },
        Idiom(
            "reads a persistent reference as NSData, which finds the item",
            seen: "jrendel/SwiftKeychainWrapper SwiftKeychainWrapper/KeychainWrapper.swift"
        ) { _ in
            add("k")
            var query = generic("k")
            query[kSecReturnPersistentRef as String] = kCFBooleanTrue
            var result: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &result) == noErr, let reference = result as? NSData else {
                return false
            }
            let found =
                [kSecClass: kSecClassGenericPassword, kSecValuePersistentRef: reference, kSecReturnData: true]
                as CFDictionary
            return SecItemCopyMatching(found, &result) == noErr && text(result) == "secret k"
        },
        Idiom(
            "casts data and attributes to NSDictionary, NSData and numbers, with keys made by String(…)",
            seen: "matthewpalmer/Locksmith Source/Locksmith.swift"
        ) { _ in
            var item: [String: Any] = generic("k", service: "s", [String(kSecValueData): bytes("1")])
            item[String(kSecAttrCreator)] = UInt(7)
            item[String(kSecAttrIsInvisible)] = true
            item[String(kSecAttrComment)] = "c"
            item[String(kSecAttrGeneric)] = NSData(data: bytes("g"))
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess else { return false }
            var query = generic("k", service: "s")
            query[String(kSecReturnData)] = kCFBooleanTrue
            query[String(kSecMatchLimit)] = kSecMatchLimitOne
            query[String(kSecReturnAttributes)] = kCFBooleanTrue
            var result: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
                let found = result as? NSDictionary,
                found[String(kSecValueData)] as? NSData != nil, let all = result as? [String: Any]
            else { return false }
            return all[String(kSecAttrCreator)] as? UInt == 7 && all[String(kSecAttrIsInvisible)] as? Bool == true
                && all[String(kSecAttrComment)] as? String == "c"
                && all[String(kSecAttrGeneric)] as? NSData == bytes("g") as NSData
                && all[String(kSecAttrService)] as? String == "s"
        },
        Idiom(
            "reads the attributes of an internet password by their types",
            seen: "matthewpalmer/Locksmith Source/Locksmith.swift"
        ) { _ in
            let item: [String: Any] = [
                String(kSecClass): kSecClassInternetPassword, String(kSecAttrServer): "example.org",
                String(kSecAttrPort): 8080,
                String(kSecAttrProtocol): kSecAttrProtocolHTTP, String(kSecAttrPath): "/p",
                String(kSecAttrAccount): "k",
                String(kSecAttrAuthenticationType): kSecAttrAuthenticationTypeHTTPBasic,
                String(kSecValueData): bytes("1"),
            ]
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess else { return false }
            var query = item
            query[String(kSecValueData)] = nil
            query[String(kSecReturnAttributes)] = kCFBooleanTrue
            var result: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
                let all = result as? [String: Any]
            else {
                return false
            }
            return all[String(kSecAttrPort)] as? Int == 8080
                && all[String(kSecAttrProtocol)] as? String == String(kSecAttrProtocolHTTP)
                && all[String(kSecAttrAuthenticationType)] as? String == String(kSecAttrAuthenticationTypeHTTPBasic)
        },
        Idiom(
            "stores and finds an internet password by its server",
            seen: "efitr/UserAuthKit UserAuthKit/Keychain.swift"
        ) { _ in
            let item: [String: Any] = [
                kSecClass as String: kSecClassInternetPassword, kSecAttrAccount as String: "ann",
                kSecAttrServer as String: "www.example.com",
                kSecValueData as String: "password".data(using: String.Encoding.utf8)!,
            ]
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess else { return false }
            let query: [String: Any] = [
                kSecClass as String: kSecClassInternetPassword, kSecAttrServer as String: "www.example.com",
                kSecMatchLimit as String: kSecMatchLimitOne, kSecReturnAttributes as String: true,
                kSecReturnData as String: true,
            ]
            var found: CFTypeRef?
            guard SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess, let all = found as? [String: Any]
            else {
                return false
            }
            return all[kSecAttrAccount as String] as? String == "ann"
                && all[kSecValueData as String] as? Data == bytes("password")
        },
        Idiom(
            "casts to [String : AnyObject] and takes the secret out of it",
            seen: "geosor/SymondsStudentApp Sources/KeychainPasswordItem.swift"
        ) { _ in
            add("k", service: "s")
            var query = [String: AnyObject]()
            query[kSecClass as String] = kSecClassGenericPassword
            query[kSecAttrService as String] = "s" as AnyObject?
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            query[kSecReturnAttributes as String] = kCFBooleanTrue
            query[kSecReturnData as String] = kCFBooleanTrue
            var result: AnyObject?
            let status = withUnsafeMutablePointer(to: &result) {
                SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
            }
            guard status == noErr, let item = result as? [String: AnyObject],
                let data = item[kSecValueData as String] as? Data
            else {
                return false
            }
            return String(data: data, encoding: String.Encoding.utf8) == "secret k"
        },
        Idiom(
            "asks with a nil result whether there is an item",
            seen: "auth0/SimpleKeychain SimpleKeychain/SimpleKeychain.swift"
        ) { _ in
            add("k", service: "s")
            return SecItemCopyMatching(generic("k", service: "s") as CFDictionary, nil) == errSecSuccess
                && SecItemCopyMatching(generic("z", service: "s") as CFDictionary, nil) == errSecItemNotFound
        },
        Idiom(
            "forces the cast of the result to Data?",
            seen: "gaoshengwinner/mBook mBook/Base/KeyChain.swift"
        ) { _ in
            add("k")
            let query = generic(
                "k", [kSecReturnData as String: kCFBooleanTrue as Any, kSecMatchLimit as String: kSecMatchLimitOne])
            var result: AnyObject?
            let status = withUnsafeMutablePointer(to: &result) {
                SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
            }
            return status == errSecSuccess && (result as! Data?) == bytes("secret k")
        },
        Idiom(
            "reads what a literal of mixed types asks for",
            seen: "ming1016/SwiftPamphletApp SwiftPamphletApp/Resource/Guide/Features/Secure/129.md"
        ) { _ in
            add("k", service: "s")
            var result: AnyObject?
            SecItemCopyMatching(
                [kSecAttrService: "s", kSecAttrAccount: "k", kSecClass: kSecClassGenericPassword, kSecReturnData: true]
                    as CFDictionary,
                &result)
            return text(result) == "secret k"
        },
        Idiom(
            "takes a persistent reference from KeychainAccess's attributes to SecItem",
            seen: "jurajhilje/DOHIKEv2Demo DOHIKEv2Demo/KeyChain.swift"
        ) { _ in
            let keychain = Keychain(service: "com.example.vpn", accessGroup: "TEAM.com.example.vpn")
            keychain["vpn_password"] = "1"
            guard let reference = keychain[attributes: "vpn_password"]?.persistentRef else { return false }
            var result: CFTypeRef?
            let query = [kSecValuePersistentRef: reference, kSecReturnData: kCFBooleanTrue!] as CFDictionary
            return SecItemCopyMatching(query, &result) == errSecSuccess && text(result) == "1"
        },
        Idiom(
            "gets a reference when it adds, reads, updates and deletes by it",
            seen: "2FAuth/OneTimePassword Sources/Keychain.swift"
        ) { _ in
            let attributes: [String: AnyObject] = [
                kSecAttrGeneric as String: bytes("otpauth://1") as NSData,
                kSecValueData as String: bytes("1") as NSData,
                kSecAttrService as String: "tokens" as NSString,
            ]
            var item = attributes
            item[kSecClass as String] = kSecClassGenericPassword
            item[kSecReturnPersistentRef as String] = kCFBooleanTrue
            item[kSecAttrAccount as String] = UUID().uuidString as NSString
            var result: AnyObject?
            let status: OSStatus = withUnsafeMutablePointer(to: &result) { SecItemAdd(item as CFDictionary, $0) }
            guard status == errSecSuccess, let reference = result as? Data else { return false }
            let query: [String: AnyObject] = [
                kSecClass as String: kSecClassGenericPassword, kSecValuePersistentRef as String: reference as NSData,
            ]
            let changes: [String: AnyObject] = [
                kSecAttrGeneric as String: bytes("otpauth://2") as NSData,
                kSecValueData as String: bytes("2") as NSData,
                kSecAttrService as String: "tokens" as NSString,
            ]
            guard SecItemUpdate(query as CFDictionary, changes as CFDictionary) == errSecSuccess else { return false }
            var full = query
            for key in [kSecReturnPersistentRef, kSecReturnAttributes, kSecReturnData] {
                full[key as String] = kCFBooleanTrue
            }
            guard
                withUnsafeMutablePointer(to: &result, { SecItemCopyMatching(full as CFDictionary, $0) })
                    == errSecSuccess,
                let found = result as? NSDictionary
            else { return false }
            return found[kSecAttrGeneric as String] as? Data == bytes("otpauth://2")
                && found[kSecValueData as String] as? Data == bytes("2")
                && found[kSecValuePersistentRef as String] as? Data == reference
                && SecItemDelete(query as CFDictionary) == errSecSuccess && count() == 0
        },
        Idiom(
            "keeps a key of random bytes under an application tag, in [NSString: AnyObject]",
            seen: "thepsych0/CollegeApp College/Extensions/Realm+Encryption.swift"
        ) { _ in
            let tag = "io.example.key".data(using: String.Encoding.utf8, allowLossyConversion: false)!
            func key() -> Data? {
                var query: [NSString: AnyObject] = [
                    kSecClass: kSecClassKey, kSecAttrApplicationTag: tag as AnyObject,
                    kSecAttrKeySizeInBits: 512 as AnyObject,
                    kSecReturnData: true as AnyObject,
                ]
                var result: AnyObject?
                let status = withUnsafeMutablePointer(to: &result) {
                    SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
                }
                if status == errSecSuccess { return result as? Data }
                var key = Data(count: 64)
                let filled = key.withUnsafeMutableBytes { (pointer: UnsafeMutableRawBufferPointer) in
                    SecRandomCopyBytes(kSecRandomDefault, 64, pointer.baseAddress!)
                }
                guard filled == 0 else { return nil }
                query = [
                    kSecClass: kSecClassKey, kSecAttrApplicationTag: tag as AnyObject,
                    kSecAttrKeySizeInBits: 512 as AnyObject,
                    kSecValueData: key as AnyObject,
                ]
                return SecItemAdd(query as CFDictionary, nil) == errSecSuccess ? key : nil
            }
            let first = key()
            return first?.count == 64 && first != Data(count: 64) && key() == first && count(of: kSecClassKey) == 1
        },
    ]
}
