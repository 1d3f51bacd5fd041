// Public code unwraps by force, and so does this.
// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import KeychainAccess
import SecItem

extension Idiom {
    /// Adding, and updating what is there.
    static let replacing: [Idiom] = [
        Idiom(
            "adds; errSecDuplicateItem leads to an update with literals that mix types",
            seen: "ming1016/SwiftPamphletApp SwiftPamphletApp/Resource/Guide/Features/Secure/129.md"
        ) { _ in
            for secret in ["1", "2"] {
                let item =
                    [
                        kSecValueData: bytes(secret), kSecClass: kSecClassGenericPassword, kSecAttrService: "s",
                        kSecAttrAccount: "k",
                    ] as CFDictionary
                let status = SecItemAdd(item, nil)
                if status == errSecDuplicateItem {
                    let query =
                        [kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: "k"]
                        as CFDictionary
                    SecItemUpdate(query, [kSecValueData: bytes(secret)] as CFDictionary)
                }
            }
            return stored("k", service: "s") == "2"
        },
        Idiom(
            "looks with a nil result; updates or adds",
            seen: "square/Valet Sources/Valet/Internal/Keychain.swift"
        ) { _ in
            let query: [String: AnyHashable] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s",
                kSecAttrAccount as String: "k",
            ]
            for secret in ["1", "2"] {
                var statuses = [SecItemCopyMatching(query as CFDictionary, nil)]
                if statuses[0] == errSecSuccess {
                    statuses.append(
                        SecItemUpdate(query as CFDictionary, [kSecValueData as String: bytes(secret)] as CFDictionary))
                } else {
                    var item = query
                    item[kSecValueData as String] = bytes(secret)
                    statuses.append(SecItemAdd(item as CFDictionary, nil))
                }
                guard statuses.last == errSecSuccess else { return false }
            }
            return stored("k", service: "s") == "2"
        },
        Idiom(
            "stores a canary once, and reads it back with the same attributes",
            seen: "square/Valet Sources/Valet/Internal/Keychain.swift"
        ) { _ in
            let attributes: [String: AnyHashable] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "canary",
                kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlock,
            ]
            func isThere() -> Bool {
                var query = attributes
                query[kSecAttrAccount as String] = "c"
                query[kSecMatchLimit as String] = kSecMatchLimitOne
                query[kSecReturnData as String] = true
                var result: AnyObject?
                return SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess && text(result) == "value"
            }
            guard !isThere() else { return false }
            var item = attributes
            item[kSecAttrAccount as String] = "c"
            item[kSecValueData as String] = bytes("value")
            return SecItemAdd(item as CFDictionary, nil) == errSecSuccess && isThere()
        },
        Idiom(
            "adds under an account of bytes, and updates it as a duplicate",
            seen: "jrendel/SwiftKeychainWrapper SwiftKeychainWrapper/KeychainWrapper.swift"
        ) { _ in
            func set(_ secret: String) -> Bool {
                var item = [String: AnyObject]()
                item[kSecClass as String] = kSecClassGenericPassword
                item[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlocked
                item[kSecAttrService as String] = "s" as AnyObject
                let identifier = "k".data(using: .utf8) as AnyObject
                item[kSecAttrGeneric as String] = identifier
                item[kSecAttrAccount as String] = identifier
                let query = item
                item[kSecValueData as String] = bytes(secret) as AnyObject
                let status = SecItemAdd(item as CFDictionary, nil)
                guard status == errSecDuplicateItem else { return status == errSecSuccess }
                return SecItemUpdate(query as CFDictionary, [kSecValueData as String: bytes(secret)] as CFDictionary)
                    == errSecSuccess
            }
            return set("1") && set("2") && stored("k", service: "s") == "2" && count() == 1
        },
        Idiom(
            "saves with accessibility, account and generic of bytes, and falls back to an update with the same query",
            seen: "dkoster95/PelicanSwift Sources/KeyValue/Keychain/KeychainStore.swift"
        ) { used in
            func save(_ data: Data, _ key: String) -> Bool {
                guard let key = key.data(using: .utf8) else { return false }
                let query: [String: Any] = [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: key,
                    kSecAttrGeneric as String: key,
                    kSecAttrService as String: "s", kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlock,
                ]
                var item = query
                item[kSecValueData as String] = data
                let status = SecItemAdd(item as CFDictionary, nil)
                guard status == errSecDuplicateItem else { return status == noErr }
                return SecItemUpdate(query as CFDictionary, [kSecValueData as String: data] as CFDictionary) == noErr
            }
            guard save(bytes("1"), "k"), save(bytes("2"), "k") else { return false }
            used.vault.lock()
            return stored("k", service: "s") == "2" && !save(bytes("3"), "k")
        },
        Idiom(
            "updates with a query that holds the new secret: the query's secret is not looked for",
            seen: "matthewpalmer/Locksmith Source/Locksmith.swift"
        ) { _ in
            add("k", service: "s")
            let query = generic("k", service: "s", [kSecValueData as String: bytes("new")])
            var attributes = query
            attributes[kSecClass as String] = nil
            return SecItemUpdate(query as CFDictionary, attributes as CFDictionary) == errSecSuccess
                && stored("k", service: "s") == "new"
        },
        Idiom(
            "reads, then updates in [String: AnyObject], or adds where nothing was",
            seen: "geosor/SymondsStudentApp Sources/KeychainPasswordItem.swift"
        ) { _ in
            func query() -> [String: AnyObject] {
                var query = [String: AnyObject]()
                query[kSecClass as String] = kSecClassGenericPassword
                query[kSecAttrService as String] = "s" as AnyObject?
                query[kSecAttrAccount as String] = "k" as AnyObject?
                return query
            }
            for secret in ["1", "2"] {
                var changes = [String: AnyObject]()
                changes[kSecValueData as String] = secret.data(using: .utf8)! as AnyObject?
                var status = SecItemUpdate(query() as CFDictionary, changes as CFDictionary)
                if status == errSecItemNotFound {
                    var item = query()
                    item[kSecValueData as String] = secret.data(using: .utf8)! as AnyObject?
                    status = SecItemAdd(item as CFDictionary, nil)
                }
                guard status == noErr else { return false }
            }
            return stored("k", service: "s") == "2"
        },
        Idiom(
            "renames the account: the secret is under the new one, and only there",
            seen: "geosor/SymondsStudentApp Sources/KeychainPasswordItem.swift"
        ) { _ in
            add("old", service: "s")
            var changes = [String: AnyObject]()
            changes[kSecAttrAccount as String] = "new" as AnyObject?
            let status = SecItemUpdate(generic("old", service: "s") as CFDictionary, changes as CFDictionary)
            return status == noErr && stored("new", service: "s") == "secret old" && stored("old", service: "s") == nil
                && count() == 1
        },
        Idiom(
            "keeps the functions in properties and calls those",
            seen: "auth0/SimpleKeychain SimpleKeychain/SimpleKeychain.swift"
        ) { _ in
            struct Store {
                var retrieve: (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus = SecItemCopyMatching
                var remove: (CFDictionary) -> OSStatus = SecItemDelete
            }
            let store = Store()
            add("k")
            var result: AnyObject?
            let query = generic(
                "k", [kSecReturnData as String: kCFBooleanTrue as Any, kSecMatchLimit as String: kSecMatchLimitOne])
            return store.retrieve(query as CFDictionary, &result) == errSecSuccess && text(result) == "secret k"
                && store.remove(generic("k") as CFDictionary) == errSecSuccess
                && store.retrieve(query as CFDictionary, nil) == errSecItemNotFound
        },
        Idiom(
            "adds or updates with values that are NSString, the accessibility among them",
            seen: "2FAuth/OneTimePassword Sources/KeychainWrapper.swift"
        ) { _ in
            let secrets: [[String: AnyObject]] = ["1", "2"].map { [kSecValueData as String: bytes($0) as NSData] }
            for attributes in secrets {
                var item = attributes
                item[kSecClass as String] = kSecClassGenericPassword
                item[kSecAttrAccount as String] = "k" as NSString
                item[kSecAttrService as String] = "s" as NSString
                item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlock as NSString
                var status = SecItemAdd(item as CFDictionary, nil)
                if status == errSecDuplicateItem {
                    let query: [String: AnyObject] = [
                        kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "k" as NSString,
                        kSecAttrService as String: "s" as NSString,
                        kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlock as NSString,
                    ]
                    status = SecItemUpdate(query as CFDictionary, attributes as CFDictionary)
                }
                guard status == errSecSuccess else { return false }
            }
            return stored("k", service: "s") == "2"
        },
        Idiom(
            "adds with kSecAttrSynchronizableAny, chosen by a ternary: the item is there, and not synchronizable",
            seen: "itenfay/DYFStore DYFStoreKit/DYFSwiftKeychain.swift"
        ) { _ in
            func supply(_ isNew: Bool) -> [String: Any] {
                var query = generic("k")
                query[kSecAttrSynchronizable as String] = isNew ? kCFBooleanTrue : kSecAttrSynchronizableAny
                return query
            }
            var item = supply(false)
            item[kSecValueData as String] = bytes("1")
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess, stored("k") == "1" else { return false }
            return SecItemCopyMatching(generic("k") as CFDictionary, nil) == errSecSuccess
                && SecItemCopyMatching(supply(true) as CFDictionary, nil) == errSecItemNotFound
                && SecItemUpdate(supply(false) as CFDictionary, [kSecValueData as String: bytes("2")] as CFDictionary)
                    == errSecSuccess
                && stored("k") == "2"
        },
        Idiom(
            "moves an item to another access group: it is found there, and no longer in the old one",
            seen: "Apple, Sharing access to keychain items among a collection of apps"
        ) { _ in
            add("k", service: "s")
            let query = generic("k", service: "s", [kSecAttrAccessGroup as String: ""])
            guard
                SecItemUpdate(query as CFDictionary, [kSecAttrAccessGroup: "TEAM.shared"] as CFDictionary)
                    == errSecSuccess
            else {
                return false
            }
            return Keychain(service: "s", accessGroup: "TEAM.shared")["k"] == "secret k"
                && SecItemCopyMatching(query as CFDictionary, nil) == errSecItemNotFound && count() == 1
        },
        Idiom(
            "moves all items of a service to another accessibility: they are readable when it says",
            seen: "Apple, Restricting keychain item accessibility"
        ) { used in
            add("a", "b", service: "s")
            let status = SecItemUpdate(
                [kSecAttrService: "s" as CFString, kSecClass: kSecClassGenericPassword] as CFDictionary,
                [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock] as CFDictionary)
            guard [errSecSuccess, errSecItemNotFound].contains(status) else { return false }
            used.vault.lock()
            return status == errSecSuccess && stored("a", service: "s") == "secret a"
                && stored("b", service: "s") == "secret b"
        },
        Idiom(
            "removes what matches, where nothing matching is no failure, and leaves the rest",
            seen: "kishikawakatsumi/KeychainAccess Lib/KeychainAccess/Keychain.swift"
        ) { _ in
            add("a", service: "s")
            add("a", service: "t")
            var query: [String: Any] = [String(kSecClass): kSecClassGenericPassword, String(kSecAttrService): "s"]
            query[String(kSecAttrSynchronizable)] = kSecAttrSynchronizableAny
            let first = SecItemDelete(query as CFDictionary)
            let second = SecItemDelete(query as CFDictionary)
            return first == errSecSuccess && second == errSecItemNotFound && count() == 1
        },
    ]
}
