import Foundation
import KeychainAccess
import SecItem
import Testing

extension KeychainTests {
    @Suite("SecItem")
    struct SecItemTests {
        private let used: Used
        private let all: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecMatchLimit as String: kSecMatchLimitAll,
        ]

        init() throws {
            used = try Used()
            for account in ["a", "B", "c"] {
                try Keychain(service: "s").label("label \(account)").set("secret \(account)", key: account)
            }
        }

        private func find(_ query: [String: Any]) -> (status: OSStatus, result: CFTypeRef?) {
            var result: CFTypeRef? = NSObject()
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            return (status, result)
        }

        private func with(_ more: [String: Any]) -> [String: Any] { all.merging(more) { _, new in new } }

        @Test("finds an internet password by the protocol that it was added with, Apple's code or the vault's word")
        func codedWords() {
            for name in ["https", "ssh", kSecAttrProtocolFTP as String, "of mine"] {
                let query: [String: Any] = [
                    kSecClass as String: kSecClassInternetPassword, kSecAttrServer as String: "h",
                    kSecAttrAccount as String: "a", kSecAttrProtocol as String: name,
                ]
                let new = query.merging([kSecValueData as String: Data("1".utf8)]) { $1 }
                #expect(SecItemAdd(new as CFDictionary, nil) == errSecSuccess)
                #expect(SecItemAdd(new as CFDictionary, nil) == errSecDuplicateItem)
                let changes = [kSecValueData as String: Data("2".utf8)]
                #expect(SecItemUpdate(query as CFDictionary, changes as CFDictionary) == errSecSuccess, "\(name)")
                let found = find(query.merging([kSecReturnData as String: true]) { $1 })
                #expect(found.result as? Data == Data("2".utf8), "\(name)")
                #expect(SecItemDelete(query as CFDictionary) == errSecSuccess, "\(name)")
            }
        }

        @Test("gives one item, all, or as many as are asked for")
        func limits() {
            let one = find([kSecClass as String: kSecClassGenericPassword, kSecReturnData as String: true])
            #expect(one.status == errSecSuccess && one.result as? Data == Data("secret B".utf8))
            #expect(
                find(with([kSecMatchLimit as String: kSecMatchLimitOne, kSecReturnData as String: true])).result
                    as? Data
                    == Data("secret B".utf8))
            #expect(
                find(with([kSecReturnData as String: true])).result as? [Data]
                    == ["B", "a", "c"].map { Data("secret \($0)".utf8) })
            #expect(
                find(with([kSecMatchLimit as String: 2, kSecReturnData as String: true])).result as? [Data]
                    == ["B", "a"].map { Data("secret \($0)".utf8) })
            #expect(
                find(with([kSecMatchLimit as String: 1, kSecReturnData as String: true])).result as? Data
                    == Data("secret B".utf8))
            for wrong in [0, -1, "m_LimitTwo", Data()] as [Any] {
                #expect(find(with([kSecMatchLimit as String: wrong])).status == errSecParam)
            }
        }

        @Test("gives what the return keys say, alone or together")
        func returns() throws {
            let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "a"]
            func found(_ keys: CFString...) -> CFTypeRef? {
                find(query.merging(keys.map { ($0 as String, kCFBooleanTrue as Any) }) { first, _ in first }).result
            }
            #expect(found() == nil && SecItemCopyMatching(query as CFDictionary, nil) == errSecSuccess)
            #expect(found(kSecReturnData) as? Data == Data("secret a".utf8))
            let attributes = try #require(found(kSecReturnAttributes) as? [String: Any])
            #expect(
                attributes[kSecAttrAccount as String] as? String == "a" && attributes[kSecValueData as String] == nil)
            let reference = try #require(found(kSecReturnRef) as? Data)
            #expect(found(kSecReturnPersistentRef) as? Data == reference)
            let both = try #require(found(kSecReturnData, kSecReturnPersistentRef) as? [String: Any])
            #expect(
                both.count == 2 && both[kSecValueData as String] as? Data == Data("secret a".utf8)
                    && both[kSecValuePersistentRef as String] as? Data == reference)
            let everything =
                found(kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef) as? [String: Any]
            #expect(
                everything?[kSecValueRef as String] as? Data == reference
                    && everything?[kSecAttrLabel as String] as? String == "label a")
            let list = try #require(
                find(with([kSecReturnAttributes as String: true, kSecReturnData as String: true])).result
                    as? [[String: Any]])
            #expect(
                list.map { $0[kSecAttrAccount as String] as? String } == ["B", "a", "c"]
                    && list.allSatisfy { $0[kSecValueData as String] is Data })
            #expect(
                found(kSecReturnData) != nil
                    && find(query.merging([kSecReturnData as String: false]) { $1 }).result == nil)
            // Adding gives back in the same way.
            var added: CFTypeRef?
            let new: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "t",
                kSecReturnAttributes as String: true,
                kSecReturnData as String: true,
                kSecValueData as String: Data([1]),
            ]
            #expect(SecItemAdd(new as CFDictionary, &added) == errSecSuccess)
            #expect(
                (added as? [String: Any])?[kSecAttrService as String] as? String == "t"
                    && (added as? [String: Any])?[kSecValueData as String] as? Data == Data([1]))
            #expect(
                SecItemAdd(
                    [
                        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "u",
                        kSecReturnData as String: true,
                    ], &added)
                    == errSecSuccess)
            #expect(added as? Data == Data())
        }

        @Test("searches by several attributes, and whatever their case if asked to")
        func matching() {
            #expect(
                find(
                    with([
                        kSecAttrService as String: "s", kSecAttrLabel as String: "label c",
                        kSecReturnData as String: true,
                    ])
                ).result
                    as? [Data] == [
                        Data("secret c".utf8)
                    ])
            #expect(
                find(with([kSecAttrService as String: "s", kSecAttrLabel as String: "label d"])).status
                    == errSecItemNotFound)
            #expect(find(with([kSecAttrAccount as String: "b"])).status == errSecItemNotFound)
            #expect(
                find(with([kSecAttrAccount as String: "b", kSecMatchCaseInsensitive as String: true])).status
                    == errSecSuccess)
            #expect(
                find(with([kSecAttrService as String: "S", kSecMatchCaseInsensitive as String: false])).status
                    == errSecItemNotFound)
            #expect(find(with([kSecAttrAccessGroup as String: ""])).status == errSecSuccess)
            #expect(find(with([kSecAttrAccessGroup as String: "g"])).status == errSecItemNotFound)
            #expect(find(with([kSecUseDataProtectionKeychain as String: true])).status == errSecSuccess)
        }

        @Test("searches attributes that are too long for listings")
        func longAttributes() throws {
            let long = String(repeating: "x", count: 1000)
            let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "c"]
            #expect(SecItemUpdate(query as CFDictionary, [kSecAttrComment as String: long]) == errSecSuccess)
            let found =
                find(with([kSecAttrComment as String: long, kSecReturnAttributes as String: true])).result
                as? [[String: Any]]
            #expect(found?.count == 1 && found?.first?[kSecAttrComment as String] as? String == long)
            #expect(find(with([kSecAttrComment as String: long + "y"])).status == errSecItemNotFound)
        }

        @Test("finds synchronizable items if they are asked for")
        func synchronizable() throws {
            try Keychain(service: "s").synchronizable(true).set("cloud", key: "cloud")
            #expect((find(with([kSecReturnData as String: true])).result as? [Data])?.count == 3)
            #expect(
                (find(
                    with([kSecReturnData as String: true, kSecAttrSynchronizable as String: kSecAttrSynchronizableAny])
                ).result as? [Data])?
                .count == 4)
            #expect(
                find(with([kSecReturnData as String: true, kSecAttrSynchronizable as String: true])).result as? [Data]
                    == [
                        Data("cloud".utf8)
                    ])
            #expect(
                (find(with([kSecReturnData as String: true, kSecAttrSynchronizable as String: kCFBooleanFalse as Any]))
                    .result as? [Data])?
                    .count == 3)
            #expect(SecItemDelete([kSecClass as String: kSecClassGenericPassword]) == errSecSuccess)
            #expect(
                find(all).status == errSecItemNotFound
                    && find(with([kSecAttrSynchronizable as String: true])).status == errSecSuccess)
        }

        @Test("changes and removes all items that match, in one commit, or as many as are asked for")
        func many() throws {
            let generation = used.vault.state.generation
            let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s"]
            #expect(SecItemUpdate(query as CFDictionary, [kSecAttrComment as String: "c"]) == errSecSuccess)
            #expect(used.vault.state.generation == generation + 1)
            #expect(
                (find(with([kSecAttrComment as String: "c", kSecReturnAttributes as String: true])).result as? [Any])?
                    .count == 3)
            // Two cannot have the same name: nothing has changed.
            #expect(SecItemUpdate(query as CFDictionary, [kSecAttrAccount as String: "same"]) == errSecDuplicateItem)
            #expect(Keychain(service: "s").allKeys() == ["B", "a", "c"])
            #expect(
                SecItemDelete(query.merging([kSecMatchLimit as String: kSecMatchLimitOne]) { $1 } as CFDictionary)
                    == errSecSuccess)
            #expect(Keychain(service: "s").allKeys() == ["a", "c"])
            #expect(
                SecItemDelete(query.merging([kSecMatchLimit as String: kSecMatchLimitAll]) { $1 } as CFDictionary)
                    == errSecSuccess)
            #expect(
                SecItemUpdate(query as CFDictionary, [kSecAttrComment as String: "c"]) == errSecItemNotFound
                    && SecItemDelete(query as CFDictionary) == errSecItemNotFound)
        }

        @Test("refuses dictionaries that it does not understand, and says why")
        func wrong() {
            let item: [String: Any] = [kSecClass as String: kSecClassGenericPassword]
            let otherVault = "vaultfmt:genp:00000000000000000000000000000001:00000000000000000000000000000001"
            let wrong: [(more: [String: Any], OSStatus)] = [
                ([kSecClass as String: 3], errSecParam), ([kSecClass as String: "zzzz"], errSecNoSuchClass),
                ([kSecAttrServer as String: "x"], errSecNoSuchAttr),
                (["zzzz": "x"], errSecNoSuchAttr), (["unknown": "x"], errSecParam), (["m_Policy": "x"], errSecParam),
                ([kSecAttrAccount as String: 3], errSecParam), ([kSecAttrAccessible as String: "never"], errSecParam),
                ([kSecReturnData as String: "maybe"], errSecParam),
                ([kSecAttrIsInvisible as String: 2], errSecParam),
                ([kSecAttrCreationDate as String: "today"], errSecParam),
                ([kSecAttrSynchronizable as String: "x"], errSecParam),
                ([kSecValueData as String: "text"], errSecParam),
                ([kSecAttrAccessControl as String: "x"], errSecParam),
                ([kSecUseAuthenticationUI as String: "x"], errSecParam),
                ([kSecUseOperationPrompt as String: 3], errSecParam), ([kSecMatchItemList as String: "x"], errSecParam),
                ([kSecValuePersistentRef as String: Data([1, 2])], errSecInvalidItemRef),
                ([kSecValueRef as String: "x"], errSecInvalidItemRef),
                ([kSecMatchItemList as String: [Data()]], errSecInvalidItemRef),
                ([kSecValuePersistentRef as String: Data(otherVault.utf8)], errSecInvalidItemRef),
            ]
            for (more, status) in wrong {
                let query = item.merging(more) { $1 }
                #expect(SecItemCopyMatching(query as CFDictionary, nil) == status, "\(more)")
                #expect(SecItemVault.lastFailure?.contains("(\(status))") == true)
                #expect(SecItemDelete(query as CFDictionary) == status, "\(more)")
            }
            #expect(SecItemCopyMatching([kSecAttrAccount as String: "a"], nil) == errSecParam)
            #expect(SecItemCopyMatching([:], nil) == errSecParam && SecItemAdd([:], nil) == errSecParam)
            #expect(SecItemUpdate([:], [:]) == errSecParam && SecItemDelete([:]) == errSecParam)
            // What only some of the functions take.
            #expect(SecItemAdd(item.merging([kSecMatchLimit as String: 1]) { $1 } as CFDictionary, nil) == errSecParam)
            #expect(
                SecItemAdd(item.merging([kSecMatchCaseInsensitive as String: true]) { $1 } as CFDictionary, nil)
                    == errSecParam)
            #expect(
                SecItemAdd(item.merging([kSecAttrLabel as String: NSNull()]) { $1 } as CFDictionary, nil) == errSecParam
            )
            #expect(
                SecItemUpdate(
                    item.merging([kSecReturnData as String: true]) { $1 } as CFDictionary, [kSecAttrLabel: "x"])
                    == errSecParam)
            #expect(SecItemCopyMatching([3: kSecClassGenericPassword] as NSDictionary, nil) == errSecParam)
            #expect(
                SecItemUpdate(item as CFDictionary, [kSecReturnData as String: true]) == errSecNoSuchAttr
                    && SecItemUpdate(item as CFDictionary, [kSecClass as String: kSecClassKey]) == errSecNoSuchAttr)
            #expect(SecItemUpdate(item as CFDictionary, [kSecAttrCreationDate as String: Date()]) == errSecReadOnlyAttr)
            #expect(
                SecItemUpdate(item as CFDictionary, [kSecAttrModificationDate as String: Date()]) == errSecReadOnlyAttr)
            #expect(
                SecItemAdd([kSecClass as String: kSecClassInternetPassword, kSecAttrPort as String: -1], nil)
                    == errSecParam)
            #expect(
                SecItemAdd([kSecClass as String: kSecClassKey, kSecAttrKeyType as String: "rsa"], nil) == errSecParam)
            #expect(Keychain(service: "s").allKeys() == ["B", "a", "c"])
        }

        @Test("compiles and does what code written for Apple's documentation and wrappers expects")
        func idioms() throws {
            struct Unexpected: Error {}
            // As Apple's guide adds and finds an internet password.
            let server = "www.example.com"
            var query: [String: Any] = [
                kSecClass as String: kSecClassInternetPassword, kSecAttrAccount as String: "ann",
                kSecAttrServer as String: server,
                kSecValueData as String: Data("password".utf8),
            ]
            var status = SecItemAdd(query as CFDictionary, nil)
            guard status == errSecSuccess else { throw Unexpected() }
            query = [
                String(kSecClass): kSecClassInternetPassword, String(kSecAttrServer): server,
                String(kSecMatchLimit): kSecMatchLimitOne,
                String(kSecReturnAttributes): kCFBooleanTrue!, String(kSecReturnData): kCFBooleanTrue as Any,
            ]
            var item: CFTypeRef?
            status = SecItemCopyMatching(query as CFDictionary, &item)
            guard status != errSecItemNotFound, status == errSecSuccess, let existing = item as? [String: Any],
                let passwordData = existing[kSecValueData as String] as? Data,
                let password = String(data: passwordData, encoding: .utf8),
                let account = existing[kSecAttrAccount as String] as? String
            else { throw Unexpected() }
            #expect(password == "password" && account == "ann")
            // As wrappers pass the result on, and spell the dictionary.
            let keyed: [CFString: Any] = [kSecClass: kSecClassInternetPassword, kSecReturnData: true]
            var result: AnyObject?
            status = withUnsafeMutablePointer(to: &result) {
                SecItemCopyMatching(keyed as CFDictionary, UnsafeMutablePointer($0))
            }
            #expect(status == noErr && (result as! Data) == passwordData)
            #expect(SecItemDelete([kSecClass as String: kSecClassInternetPassword] as CFDictionary) == noErr)
        }

        @Test("takes dates for new items, and values boxed as Foundation boxes them")
        func boxes() throws {
            let date = Date(timeIntervalSince1970: 1_600_000_000.5)
            let item: [String: Any] = [
                kSecClass as String: kSecClassInternetPassword as AnyObject,
                kSecAttrServer as String: NSString(string: "x"),
                kSecAttrPort as String: NSNumber(value: 25),
                kSecAttrAccount as String: Data("ann".utf8), kSecValueData as String: NSData(data: Data([1])),
                kSecAttrIsInvisible as String: NSNumber(value: true),
                kSecAttrCreationDate as String: date, kSecAttrModificationDate as String: date,
                kSecAttrCreator as String: UInt32(9),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            let found = find([
                kSecClass as String: kSecClassInternetPassword, kSecReturnAttributes as String: kCFBooleanTrue as Any,
                kSecAttrPort as String: "25",
            ])
            let attributes = try #require(found.result as? [String: Any])
            #expect(
                attributes[kSecAttrPort as String] as? Int == 25
                    && attributes[kSecAttrAccount as String] as? Data == Data("ann".utf8))
            #expect(
                attributes[kSecAttrCreationDate as String] as? Date == date
                    && attributes[kSecAttrModificationDate as String] as? Date == date)
            #expect(
                attributes[kSecAttrIsInvisible as String] as? Bool == true
                    && attributes[kSecAttrCreator as String] as? Int == 9)
        }
    }
}
