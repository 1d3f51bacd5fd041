// Public code unwraps by force, and so does this.
// swift-format-ignore-file: NeverForceUnwrap

import Foundation
import SecItem

extension Idiom {
    /// Deleting, then adding with the same dictionary, or one much like it.
    static let storing: [Idiom] = [
        Idiom(
            "deletes and adds with one dictionary that holds the secret: the second secret is there",
            seen: "vishnusomisetty1/flowly-calendar Flowly-calendar/KeychainHelper.swift"
        ) { _ in
            for secret in ["old", "new"] {
                let item: [String: Any] = [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "k",
                    kSecValueData as String: bytes(secret),
                ]
                _ = SecItemDelete(item as CFDictionary)
                _ = SecItemAdd(item as CFDictionary, nil)
            }
            return stored("k") == "new" && count() == 1
        },
        Idiom(
            "the same through a setter and a getter that unwraps kCFBooleanTrue",
            seen: "ftlno/rn_sandkasse ios/Settings/Secure.swift"
        ) { _ in
            func get() -> String? {
                let query: [String: Any] = [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "k",
                    kSecReturnData as String: kCFBooleanTrue!,
                    kSecMatchLimit as String: kSecMatchLimitOne,
                ]
                var result: AnyObject?
                return SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess ? text(result) : nil
            }
            var seen: [String?] = [get()]
            for secret in ["1", "2", "2", ""] {
                let item = generic("k", [kSecValueData as String: bytes(secret)])
                SecItemDelete(item as CFDictionary)
                SecItemAdd(item as CFDictionary, nil)
                seen.append(get())
            }
            return seen == [nil, "1", "2", "2", ""]
        },
        Idiom(
            "the same with constants cast to String in a literal of [String : Any]",
            seen: "SergeyIGaponov/kaPetelka KaPetelka/Infrastructure/KeyChain.swift"
        ) { _ in
            func set(_ secret: String) -> OSStatus {
                let item =
                    [
                        kSecClass as String: kSecClassGenericPassword as String, kSecAttrAccount as String: "k",
                        kSecValueData as String: bytes(secret),
                    ] as [String: Any]
                SecItemDelete(item as CFDictionary)
                return SecItemAdd(item as CFDictionary, nil)
            }
            return set("1") == noErr && set("2") == noErr && stored("k") == "2"
        },
        Idiom(
            "the same, and other keys keep their secrets",
            seen: "gaoshengwinner/mBook mBook/Base/KeyChain.swift"
        ) { _ in
            func save(_ key: String, _ data: Data) -> Bool {
                let item =
                    [
                        kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: key,
                        kSecValueData as String: data,
                    ]
                    as [String: Any]
                SecItemDelete(item as CFDictionary)
                return SecItemAdd(item as CFDictionary, nil) == noErr
            }
            return save("a", bytes("1")) && save("b", bytes("2")) && save("a", bytes("3")) && stored("a") == "3"
                && stored("b") == "2"
        },
        Idiom(
            "passes one CFDictionary to both functions, its keys made with String(format:)",
            seen: "iChauster/GradeCheck GradeCheck/Keychain.swift"
        ) { _ in
            let classKey = String(format: kSecClass as String)
            let serviceKey = String(format: kSecAttrService as String)
            for secret in ["1", "2"] {
                let item =
                    [
                        classKey: String(format: kSecClassGenericPassword as String), serviceKey: "s",
                        String(format: kSecValueData as String): bytes(secret),
                    ] as CFDictionary
                SecItemDelete(item)
                guard SecItemAdd(item, nil) == errSecSuccess else { return false }
            }
            let query =
                [classKey: kSecClassGenericPassword, serviceKey: "s", kSecReturnData as String: kCFBooleanTrue!]
                as CFDictionary
            var result: AnyObject?
            return SecItemCopyMatching(query, &result) == errSecSuccess && text(result) == "2"
        },
        Idiom(
            "deletes by key, then adds with an accessibility: it is the one asked for",
            seen: "evgenyneu/keychain-swift Sources/KeychainSwift.swift"
        ) { used in
            var last = noErr
            for (secret, accessible) in [
                ("1", kSecAttrAccessibleWhenUnlocked), ("2", kSecAttrAccessibleAfterFirstUnlock),
            ] {
                _ = SecItemDelete(generic("prefix k") as CFDictionary)
                let more: [String: Any] = [
                    kSecValueData as String: bytes(secret), kSecAttrAccessible as String: accessible as String,
                ]
                last = SecItemAdd(generic("prefix k", more) as CFDictionary, nil)
            }
            used.vault.lock()
            return last == noErr && stored("prefix k") == "2"
        },
        Idiom(
            "deletes with kSecReturnData false, then adds",
            seen: "futuredapp/FTPropertyWrappers Sources/FTPropertyWrappers/KeychainStorage.swift"
        ) { _ in
            var query: [String: AnyObject] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s" as AnyObject,
                kSecAttrAccount as String: "k" as AnyObject,
            ]
            for secret in ["1", "2"] {
                query[kSecReturnData as String] = kCFBooleanFalse
                SecItemDelete(query as CFDictionary)
                query[kSecReturnData as String] = nil
                var item = query
                item[kSecValueData as String] = bytes(secret) as AnyObject
                guard SecItemAdd(item as CFDictionary, nil) == noErr else { return false }
            }
            return stored("k", service: "s") == "2"
        },
        Idiom(
            "deletes with the query that it reads with, return and limit keys included: the item has gone",
            seen: "Apple, Security (open source) SecItemServer.c: delete does not look at return keys"
        ) { _ in
            add("a", "b", service: "s")
            let query = generic(
                "a", service: "s",
                [kSecReturnData as String: true, kSecReturnAttributes as String: kCFBooleanTrue as Any])
            return SecItemDelete(query as CFDictionary) == errSecSuccess && stored("a", service: "s") == nil
                && count() == 1
        },
        Idiom(
            "deletes with kSecMatchLimitAll, as macOS needs it, then adds from [String: AnyHashable]",
            seen: "square/Valet Sources/Valet/Internal/Keychain.swift"
        ) { _ in
            let base: [String: AnyHashable] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s",
                kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked,
            ]
            for secret in ["1", "2"] {
                var query = base
                query[kSecAttrAccount as String] = "k"
                var all = query
                all[kSecMatchLimit as String] = kSecMatchLimitAll
                let status = SecItemDelete(all as CFDictionary)
                guard status == errSecSuccess || status == errSecItemNotFound else { return false }
                query[kSecValueData as String] = bytes(secret)
                var result: AnyObject?
                guard SecItemAdd(query as CFDictionary, &result) == errSecSuccess, result == nil else { return false }
            }
            return stored("k", service: "s") == "2" && count() == 1
        },
        Idiom(
            "clears a class with kSecAttrSynchronizableAny: nothing is left",
            seen: "evgenyneu/keychain-swift Sources/KeychainSwift.swift"
        ) { _ in
            add("a", "b")
            SecItemAdd(generic("c", [kSecAttrSynchronizable as String: true]) as CFDictionary, nil)
            var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword]
            query[kSecAttrSynchronizable as String] = kSecAttrSynchronizableAny
            return count() == 3 && SecItemDelete(query as CFDictionary) == noErr && count() == 0
        },
        Idiom(
            "clears with a dictionary of one constant",
            seen: "gaoshengwinner/mBook mBook/Base/KeyChain.swift"
        ) { _ in
            add("a", "b")
            let query = [kSecClass as String: kSecClassGenericPassword]
            return SecItemDelete(query as CFDictionary) == noErr && count() == 0
        },
        Idiom(
            "wipes class by class, passing the constant as AnyObject",
            seen: "jrendel/SwiftKeychainWrapper SwiftKeychainWrapper/KeychainWrapper.swift"
        ) { _ in
            add("a")
            SecItemAdd([kSecClass: kSecClassInternetPassword, kSecAttrServer: "x"] as CFDictionary, nil)
            SecItemAdd([kSecClass: kSecClassKey, kSecAttrApplicationTag: bytes("t")] as CFDictionary, nil)
            func wipe(_ itemClass: AnyObject) -> OSStatus {
                SecItemDelete([kSecClass as String: itemClass] as CFDictionary)
            }
            let statuses = [
                kSecClassGenericPassword, kSecClassInternetPassword, kSecClassCertificate, kSecClassKey,
                kSecClassIdentity,
            ].map { wipe($0) }
            return statuses == [noErr, noErr, errSecItemNotFound, noErr, errSecItemNotFound] && count() == 0
                && count(of: kSecClassKey) == 0
        },
        Idiom(
            "deletes all of a service with kSecMatchLimitAll; other services keep theirs",
            seen: "auth0/SimpleKeychain SimpleKeychain/SimpleKeychain.swift"
        ) { _ in
            add("a", "b", service: "s")
            add("a", service: "t")
            var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s"]
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            return SecItemDelete(query as CFDictionary) == errSecSuccess
                && SecItemDelete(query as CFDictionary) == errSecItemNotFound
                && count() == 1 && stored("a", service: "t") == "secret a"
        },
        Idiom(
            "deletes what need not be there: errSecItemNotFound is no failure",
            seen: "geosor/SymondsStudentApp Sources/KeychainPasswordItem.swift"
        ) { _ in
            add("a", service: "s")
            var query = [String: AnyObject]()
            query[kSecClass as String] = kSecClassGenericPassword
            query[kSecAttrService as String] = "s" as AnyObject?
            query[kSecAttrAccount as String] = "a" as AnyObject?
            let statuses = [SecItemDelete(query as CFDictionary), SecItemDelete(query as CFDictionary)]
            return statuses == [noErr, errSecItemNotFound] && count() == 0
        },
        Idiom(
            "calls through closures of the functions' types",
            seen: "matthewpalmer/Locksmith Source/Locksmith.swift"
        ) { _ in
            typealias Request = (_ reference: CFDictionary, _ result: inout AnyObject?) -> OSStatus
            let create: Request = { reference, result in
                withUnsafeMutablePointer(to: &result) { SecItemAdd(reference, $0) }
            }
            let remove: Request = { reference, _ in SecItemDelete(reference) }
            var result: AnyObject?
            let item = generic("k", service: "s", [kSecValueData as String: bytes("1")])
            guard create(item as CFDictionary, &result) == errSecSuccess, result == nil,
                stored("k", service: "s") == "1"
            else {
                return false
            }
            return remove(item as CFDictionary, &result) == errSecSuccess && count() == 0
        },
    ]
}
