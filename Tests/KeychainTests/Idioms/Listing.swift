// Public code unwraps by force, and so does this.
// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import KeychainAccess
import SecItem

extension Idiom {
    /// Reading several items: the list is complete.
    static let listing: [Idiom] = [
        Idiom(
            "lists keys from one dictionary or several, cast to AnyHashable values",
            seen: "square/Valet Sources/Valet/Internal/Keychain.swift"
        ) { _ in
            func keys() -> Set<String>? {
                let query: [String: AnyHashable] = [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s",
                    kSecMatchLimit as String: kSecMatchLimitAll, kSecReturnAttributes as String: true,
                ]
                var result: AnyObject?
                guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess else { return nil }
                if let one = result as? [String: AnyHashable], let key = one[kSecAttrAccount as String] as? String {
                    return [key]
                }
                let several = result as? [[String: AnyHashable]]
                return several.map { Set($0.compactMap { $0[kSecAttrAccount as String] as? String }) }
            }
            add("a", service: "s")
            guard keys() == ["a"] else { return false }
            add("b", "c", service: "s")
            return keys() == ["a", "b", "c"]
        },
        Idiom(
            "lists as [[String : AnyObject]] with kSecReturnData false: every account, no secret",
            seen: "geosor/SymondsStudentApp Sources/KeychainPasswordItem.swift"
        ) { _ in
            add("a", "b", "c", service: "s")
            add("other", service: "t")
            var query = [String: AnyObject]()
            query[kSecClass as String] = kSecClassGenericPassword
            query[kSecAttrService as String] = "s" as AnyObject?
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            query[kSecReturnAttributes as String] = kCFBooleanTrue
            query[kSecReturnData as String] = kCFBooleanFalse
            var result: AnyObject?
            let status = withUnsafeMutablePointer(to: &result) {
                SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
            }
            guard status == noErr, let items = result as? [[String: AnyObject]] else { return false }
            return items.compactMap { $0[kSecAttrAccount as String] as? String } == ["a", "b", "c"]
                && items.allSatisfy { $0[kSecValueData as String] == nil }
        },
        Idiom(
            "lists keys as [[String: Any]]; none is errSecItemNotFound",
            seen: "auth0/SimpleKeychain SimpleKeychain/SimpleKeychain.swift"
        ) { _ in
            var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s"]
            query[kSecReturnAttributes as String] = kCFBooleanTrue
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            var result: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecItemNotFound, result == nil else {
                return false
            }
            add("a", "b", service: "s")
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
                let items = result as? [[String: Any]]
            else {
                return false
            }
            return items.compactMap { $0[kSecAttrAccount as String] as? String } == ["a", "b"]
        },
        Idiom(
            "lists secrets, attributes and references as [NSDictionary]",
            seen: "2FAuth/OneTimePassword Sources/Keychain.swift"
        ) { _ in
            add("a", "b")
            let query: [String: AnyObject] = [
                kSecClass as String: kSecClassGenericPassword, kSecMatchLimit as String: kSecMatchLimitAll,
                kSecReturnPersistentRef as String: kCFBooleanTrue, kSecReturnAttributes as String: kCFBooleanTrue,
                kSecReturnData as String: kCFBooleanTrue,
            ]
            var result: AnyObject?
            guard
                withUnsafeMutablePointer(to: &result, { SecItemCopyMatching(query as CFDictionary, $0) })
                    == errSecSuccess,
                let items = result as? [NSDictionary]
            else { return false }
            return items.map { $0[kSecValueData as String] as? Data } == [bytes("secret a"), bytes("secret b")]
                && Set(items.compactMap { $0[kSecValuePersistentRef as String] as? Data }).count == 2
        },
        Idiom(
            "lists a service's items as [NSDictionary], with uncast constants in [String: AnyObject]",
            seen: "2FAuth/OneTimePassword Sources/KeychainWrapper.swift"
        ) { _ in
            add("a", "b", service: "s")
            add("c", service: "t")
            let query: [String: AnyObject] = [
                kSecClass as String: kSecClassGenericPassword, kSecMatchLimit as String: kSecMatchLimitAll,
                kSecReturnAttributes as String: kCFBooleanTrue, kSecReturnData as String: kCFBooleanTrue,
                kSecAttrService as String: "s" as NSString,
            ]
            var result: AnyObject?
            let status = withUnsafeMutablePointer(to: &result) { SecItemCopyMatching(query as CFDictionary, $0) }
            return status == errSecSuccess && (result as? [NSDictionary])?.count == 2
        },
        Idiom(
            "chooses the limit by a ternary, and casts to its own alias of [String: AnyObject]",
            seen: "futuredapp/FTPropertyWrappers Sources/FTPropertyWrappers/KeychainStorage.swift"
        ) { _ in
            typealias KeychainQuery = [String: AnyObject]
            add("a", "b", service: "s")
            func find(single: Bool) -> AnyObject? {
                var query: KeychainQuery = [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s" as AnyObject,
                ]
                query[kSecMatchLimit as String] = single ? kSecMatchLimitOne : kSecMatchLimitAll
                query[kSecReturnAttributes as String] = kCFBooleanTrue
                query[kSecReturnData as String] = kCFBooleanTrue
                var result: AnyObject?
                let status = withUnsafeMutablePointer(to: &result) {
                    SecItemCopyMatching(query as CFDictionary, UnsafeMutablePointer($0))
                }
                return status == noErr ? result : nil
            }
            let one = find(single: true) as? KeychainQuery
            let all = find(single: false) as? [[String: Any]]
            return one?[kSecValueData as String] as? Data == bytes("secret a")
                && all?.compactMap { $0[kSecValueData as String] as? Data } == [bytes("secret a"), bytes("secret b")]
        },
        Idiom(
            "lists a class with kSecAttrSynchronizableAny: items of every service, synchronizable or not",
            seen: "kishikawakatsumi/KeychainAccess Lib/KeychainAccess/Keychain.swift"
        ) { _ in
            add("a", service: "s")
            SecItemAdd(generic("b", service: "t", [kSecAttrSynchronizable as String: true]) as CFDictionary, nil)
            var query = [String: Any]()
            query[String(kSecClass)] = String(kSecClassGenericPassword)
            query[String(kSecAttrSynchronizable)] = kSecAttrSynchronizableAny
            query[String(kSecMatchLimit)] = kSecMatchLimitAll
            query[String(kSecReturnAttributes)] = kCFBooleanTrue
            var result: AnyObject?
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
                let items = result as? [[String: Any]]
            else {
                return false
            }
            let names = items.map { [$0[String(kSecAttrService)] as? String, $0[String(kSecAttrAccount)] as? String] }
            return names == [["s", "a"], ["t", "b"]]
        },
        Idiom(
            "limits by a number: an array of as many, and of all where there are fewer",
            seen: "Apple, kSecMatchLimit"
        ) { _ in
            add("a", "b", "c")
            func find(_ limit: Any) -> [Data]? {
                let query: [String: Any] = [
                    kSecClass as String: kSecClassGenericPassword, kSecMatchLimit as String: limit,
                    kSecReturnData as String: true,
                ]
                var result: CFTypeRef?
                return SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess ? result as? [Data] : nil
            }
            return find(2)?.count == 2 && find(NSNumber(value: 3))?.count == 3 && find(10 as CFNumber)?.count == 3
        },
        Idiom(
            "asks for references only: an array of Data, each of which finds its item",
            seen: "Apple, kSecReturnPersistentRef"
        ) { _ in
            add("a", "b")
            var result: CFTypeRef?
            let query =
                [kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnPersistentRef: true]
                as [CFString: Any]
            guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess,
                let references = result as? [Data]
            else {
                return false
            }
            let secrets = references.map { reference -> String? in
                SecItemCopyMatching([kSecValuePersistentRef: reference, kSecReturnData: true] as CFDictionary, &result)
                    == errSecSuccess
                    ? text(result) : nil
            }
            guard secrets == ["secret a", "secret b"] else { return false }
            let listed =
                [
                    kSecClass: kSecClassGenericPassword, kSecMatchItemList: references,
                    kSecMatchLimit: kSecMatchLimitAll,
                    kSecReturnData: true,
                ] as [CFString: Any]
            return SecItemCopyMatching(listed as CFDictionary, &result) == errSecSuccess
                && (result as? NSArray)?.count == 2
        },
        Idiom(
            "matches texts whatever their case, accents and width",
            seen: "futuredapp/FTPropertyWrappers Sources/FTPropertyWrappers/KeychainStorage.swift"
        ) { _ in
            add("Ren\u{E9}", "\u{FF32}ene", "Rena")
            func find(_ keys: CFString...) -> Int {
                var query = generic(
                    "rene", [kSecMatchLimit as String: kSecMatchLimitAll, kSecReturnAttributes as String: true])
                for key in keys { query[key as String] = true }
                var result: CFTypeRef?
                return SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess
                    ? (result as? [Any])?.count ?? -1 : 0
            }
            return find(kSecMatchCaseInsensitive) == 0
                && find(kSecMatchCaseInsensitive, kSecMatchDiacriticInsensitive) == 1
                && find(kSecMatchCaseInsensitive, kSecMatchDiacriticInsensitive, kSecMatchWidthInsensitive) == 2
        },
    ]
}
