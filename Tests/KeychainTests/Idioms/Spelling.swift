// Public code unwraps by force, and so does this.
// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import KeychainAccess
import SecItem
import VaultFmt

extension Idiom {
    /// Types, constants and functions around the calls: they compile, and mean what they mean at Apple.
    static let spelling: [Idiom] = [
        Idiom(
            "builds a query in an NSMutableDictionary",
            seen: "jkolb/midnightbacon MidnightBacon/Keychain.swift"
        ) { _ in
            let item = NSMutableDictionary()
            item[kSecClass as String] = kSecClassGenericPassword
            item.setObject("k", forKey: kSecAttrAccount)
            item[kSecValueData] = bytes("1")
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess, SecItemAdd(item, nil) == errSecDuplicateItem
            else { return false }
            item.removeObject(forKey: kSecValueData)
            item[kSecReturnData as NSString] = kCFBooleanTrue
            var result: AnyObject?
            return SecItemCopyMatching(item, &result) == errSecSuccess && text(result) == "1"
        },
        Idiom(
            "makes keys with NSString(format:), deletes and adds with one NSDictionary, and passes it without a cast",
            seen: "apphud/ApphudSDK ApphudSDK/ApphudKeychain.swift"
        ) { _ in
            let classKey = NSString(format: kSecClass)
            let serviceKey = NSString(format: kSecAttrService)
            let accountKey = NSString(format: kSecAttrAccount)
            let service: NSString = "id"
            for secret in ["1", "2"] {
                let item: NSDictionary = [
                    classKey: NSString(format: kSecClassGenericPassword), serviceKey: service, accountKey: "k",
                    NSString(format: kSecValueData): bytes(secret),
                    NSString(format: kSecAttrAccessible): NSString(format: kSecAttrAccessibleAfterFirstUnlock),
                ]
                SecItemDelete(item as CFDictionary)
                SecItemAdd(item as CFDictionary, nil)
            }
            let query: NSDictionary = [
                classKey: NSString(format: kSecClassGenericPassword), serviceKey: service, accountKey: "k",
                NSString(format: kSecReturnData): kCFBooleanTrue!,
                NSString(format: kSecMatchLimit): NSString(format: kSecMatchLimitOne),
            ]
            var result: AnyObject?
            return SecItemCopyMatching(query, &result) == errSecSuccess && text(result) == "2"
        },
        Idiom(
            "makes a dictionary of objects and keys",
            seen: "Apple, NSDictionary(objects:forKeys:)"
        ) { _ in
            let item = NSMutableDictionary(
                objects: [kSecClassGenericPassword, "k", bytes("1")],
                forKeys: [kSecClass, kSecAttrAccount, kSecValueData])
            return SecItemAdd(item as CFDictionary, nil) == noErr && stored("k") == "1"
        },
        Idiom(
            "passes an NSDictionary literal, as NSDictionary and without a cast",
            seen: "Apple, SecItemCopyMatching"
        ) { _ in
            let query =
                [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "k", kSecAttrService: "s"] as NSDictionary
            guard SecItemCopyMatching(query, nil) == errSecItemNotFound else { return false }
            add("k", service: "s")
            return SecItemUpdate(query, [kSecValueData: bytes("2")] as NSDictionary) == errSecSuccess
                && stored("k", service: "s") == "2"
        },
        Idiom(
            "gives Optionals as Any: some is the value, nil is errSecParam",
            seen: "dkoster95/PelicanSwift Sources/KeyValue/Keychain/KeychainStore.swift"
        ) { _ in
            let group: String? = "g"
            let label: String? = nil
            return SecItemAdd(generic("k", [kSecAttrAccessGroup as String: group as Any]) as CFDictionary, nil)
                == errSecSuccess
                && Keychain(service: "", accessGroup: "g")[data: "k"] == Data()
                && SecItemAdd(generic("l", [kSecAttrLabel as String: label as Any]) as CFDictionary, nil) == errSecParam
        },
        Idiom(
            "fills a Data with random bytes, in a closure that returns the status",
            seen: "suho/ios-clean-architecture CleanArchitecture/Common/Realm/EncryptionConfig+Realm.swift"
        ) { _ in
            var key = Data(count: 5000)
            let status = key.withUnsafeMutableBytes { SecRandomCopyBytes(kSecRandomDefault, 5000, $0.baseAddress!) }
            var array = [UInt8](repeating: 0, count: 24)
            let second = SecRandomCopyBytes(kSecRandomDefault, array.count, &array)
            // Each part of it is filled.
            let parts = stride(from: 0, to: 5000, by: 25).map { key[$0..<$0 + 25] }
            return status == errSecSuccess && second == errSecSuccess && array != [UInt8](repeating: 0, count: 24)
                && parts.allSatisfy { $0.contains { $0 != 0 } } && Set(parts).count == parts.count
                && SecRandomCopyBytes(nil, 0, &array) == errSecSuccess
                && SecRandomCopyBytes(kSecRandomDefault, -1, &array) == errSecParam
        },
        Idiom(
            "fills NSMutableData through its bound memory",
            seen: "NghiaTranUIT/Titan TitanCore/TitanCore/RealmKeys.swift"
        ) { _ in
            let data = NSMutableData(length: 64)!
            let status = SecRandomCopyBytes(
                kSecRandomDefault, 64, data.mutableBytes.bindMemory(to: UInt8.self, capacity: 64))
            return status == 0 && data as Data != Data(count: 64)
        },
        Idiom(
            "describes a status with SecCopyErrorMessageString, cast to NSString? or String?",
            seen: "2FAuth/OneTimePassword Sources/KeychainWrapper.swift"
        ) { _ in
            guard let sentence = SecCopyErrorMessageString(errSecDuplicateItem, nil) as NSString? else { return false }
            let same = SecCopyErrorMessageString(errSecDuplicateItem, nil) as String? ?? "Unknown"
            let other = (SecCopyErrorMessageString(12345, nil) ?? "Unknown" as CFString) as String
            return sentence as String == same && same.hasSuffix(".") && other == "Unknown"
        },
        Idiom(
            "makes an enum of constants by CFString",
            seen: "futuredapp/FTPropertyWrappers Sources/FTPropertyWrappers/KeychainStorage.swift"
        ) { _ in
            enum Option: CaseIterable, RawRepresentable {
                case whenUnlocked, afterFirstUnlock

                var rawValue: CFString {
                    switch self {
                    case .whenUnlocked: return kSecAttrAccessibleWhenUnlocked
                    case .afterFirstUnlock: return kSecAttrAccessibleAfterFirstUnlock
                    }
                }

                init?(rawValue: CFString) {
                    guard let found = Option.allCases.first(where: { rawValue == $0.rawValue }) else { return nil }
                    self = found
                }
            }
            add("k")
            var result: CFTypeRef?
            SecItemCopyMatching(generic("k", [kSecReturnAttributes as String: true]) as CFDictionary, &result)
            let value = (result as? [String: Any])?[kSecAttrAccessible as String] as? String
            return value.flatMap { Option(rawValue: $0 as CFString) } == .whenUnlocked
                && Option(rawValue: "ak") == .whenUnlocked
        },
        Idiom(
            "reports errSecInvalidEncoding for what is not UTF-8",
            seen: "itenfay/DYFStore DYFStoreKit/DYFSwiftKeychain.swift"
        ) { _ in
            SecItemAdd(generic("k", [kSecValueData as String: Data([0xFF])]) as CFDictionary, nil)
            var result: AnyObject?
            SecItemCopyMatching(generic("k", [kSecReturnData as String: true]) as CFDictionary, &result)
            let isText = (result as? Data).flatMap { String(data: $0, encoding: .utf8) } != nil
            return (isText ? errSecSuccess : errSecInvalidEncoding) == -67853
        },
        Idiom(
            "uses accounts of bytes that are not UTF-8: found, listed and returned as they were given",
            seen: "Apple, Security (open source) SecDbQuery.c: an account is stored as it was given"
        ) { used in
            let accounts: [Data] = [
                Data([0xFF, 0x00, 0x80]), Data([0xFF, 0x00]), Data(), bytes("text"), Data([0xEF, 0xB7, 0x90]),
            ]
            for (index, account) in accounts.enumerated() {
                let item: [CFString: Any] = [
                    kSecClass: kSecClassGenericPassword, kSecAttrAccount: account, kSecValueData: bytes("\(index)"),
                ]
                guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess,
                    SecItemAdd(item as CFDictionary, nil) == errSecDuplicateItem
                else { return false }
            }
            for (index, account) in accounts.enumerated() {
                var result: CFTypeRef?
                let query =
                    [
                        kSecClass: kSecClassGenericPassword, kSecAttrAccount: account, kSecReturnData: true,
                        kSecReturnAttributes: true,
                    ] as CFDictionary
                guard SecItemCopyMatching(query, &result) == errSecSuccess, let found = result as? [String: Any],
                    found[kSecAttrAccount as String] as? Data == account,
                    found[kSecValueData as String] as? Data == bytes("\(index)")
                else { return false }
            }
            // A text is the bytes of its UTF-8, and is returned as what was stored.
            var result: CFTypeRef?
            SecItemCopyMatching(generic("text", [kSecReturnAttributes as String: true]) as CFDictionary, &result)
            return (result as? [String: Any])?[kSecAttrAccount as String] as? Data == bytes("text")
                && count() == accounts.count
                && SecItemAdd(generic("text") as CFDictionary, nil) == errSecDuplicateItem
        },
        Idiom(
            "tells String from Data for every text attribute, and keeps the type until another is given",
            seen: "Apple, Security (open source) SecDbQuery.c: attributes are stored as they were given"
        ) { _ in
            let names = [
                kSecAttrAccount, kSecAttrService, kSecAttrLabel, kSecAttrDescription, kSecAttrComment, kSecAttrGeneric,
            ]
            func attributes() -> [CFString: Any] {
                var result: CFTypeRef?
                let query = [kSecClass: kSecClassGenericPassword, kSecReturnAttributes: true] as CFDictionary
                return SecItemCopyMatching(query, &result) == errSecSuccess ? result as? [CFString: Any] ?? [:] : [:]
            }
            var item: [CFString: Any] = [kSecClass: kSecClassGenericPassword]
            for name in names { item[name] = bytes("bytes") }
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess else { return false }
            guard names.allSatisfy({ attributes()[$0] as? Data == bytes("bytes") }) else { return false }
            let all = [kSecClass: kSecClassGenericPassword] as CFDictionary
            for name in names {
                guard SecItemUpdate(all, [name: "text"] as CFDictionary) == errSecSuccess else { return false }
                SecItemUpdate(all, [kSecValueData: bytes("2")] as CFDictionary)
                guard attributes()[name] as? String == "text", attributes()[name] as? Data == nil else { return false }
            }
            return SecItemUpdate(all, [kSecAttrLabel: Data([0xFF])] as CFDictionary) == errSecSuccess
                && attributes()[kSecAttrLabel] as? Data == Data([0xFF])
        },
    ]
}
