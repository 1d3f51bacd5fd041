import Foundation
import KeychainAccess
import SecItem
import Testing

extension KeychainTests {
    @Suite("SecItem")
    struct SecItemTests {
        private let used: Used
        private let all: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll]

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

        @Test("gives one item, all, or as many as are asked for")
        func limits() {
            let one = find([kSecClass: kSecClassGenericPassword, kSecReturnData: true])
            #expect(one.status == errSecSuccess && one.result as? Data == Data("secret B".utf8))
            #expect(find(with([kSecMatchLimit: kSecMatchLimitOne, kSecReturnData: true])).result as? Data == Data("secret B".utf8))
            #expect(find(with([kSecReturnData: true])).result as? [Data] == ["B", "a", "c"].map { Data("secret \($0)".utf8) })
            #expect(
                find(with([kSecMatchLimit: 2, kSecReturnData: true])).result as? [Data] == ["B", "a"].map { Data("secret \($0)".utf8) })
            #expect(find(with([kSecMatchLimit: 1, kSecReturnData: true])).result as? Data == Data("secret B".utf8))
            for wrong in [0, -1, "m_LimitTwo", Data()] as [Any] { #expect(find(with([kSecMatchLimit: wrong])).status == errSecParam) }
        }

        @Test("gives what the return keys say, alone or together")
        func returns() throws {
            let query: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "a"]
            func found(_ keys: String...) -> CFTypeRef? {
                find(query.merging(keys.map { ($0, kCFBooleanTrue as Any) }) { first, _ in first }).result
            }
            #expect(found() == nil && SecItemCopyMatching(query, nil) == errSecSuccess)
            #expect(found(kSecReturnData) as? Data == Data("secret a".utf8))
            let attributes = try #require(found(kSecReturnAttributes) as? [String: Any])
            #expect(attributes[kSecAttrAccount] as? String == "a" && attributes[kSecValueData] == nil)
            let reference = try #require(found(kSecReturnRef) as? Data)
            #expect(found(kSecReturnPersistentRef) as? Data == reference)
            let both = try #require(found(kSecReturnData, kSecReturnPersistentRef) as? [String: Any])
            #expect(
                both.count == 2 && both[kSecValueData] as? Data == Data("secret a".utf8)
                    && both[kSecValuePersistentRef] as? Data == reference)
            let everything = found(kSecReturnData, kSecReturnAttributes, kSecReturnRef, kSecReturnPersistentRef) as? [String: Any]
            #expect(everything?[kSecValueRef] as? Data == reference && everything?[kSecAttrLabel] as? String == "label a")
            let list = try #require(find(with([kSecReturnAttributes: true, kSecReturnData: true])).result as? [[String: Any]])
            #expect(list.map { $0[kSecAttrAccount] as? String } == ["B", "a", "c"] && list.allSatisfy { $0[kSecValueData] is Data })
            #expect(found(kSecReturnData) != nil && find(query.merging([kSecReturnData: false]) { $1 }).result == nil)
            // Adding gives back in the same way.
            var added: CFTypeRef?
            let new: [String: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "t", kSecReturnAttributes: true, kSecReturnData: true,
                kSecValueData: Data([1]),
            ]
            #expect(SecItemAdd(new as CFDictionary, &added) == errSecSuccess)
            #expect(
                (added as? [String: Any])?[kSecAttrService] as? String == "t"
                    && (added as? [String: Any])?[kSecValueData] as? Data == Data([1]))
            #expect(SecItemAdd([kSecClass: kSecClassGenericPassword, kSecAttrService: "u", kSecReturnData: true], &added) == errSecSuccess)
            #expect(added as? Data == Data())
        }

        @Test("searches by several attributes, and whatever their case if asked to")
        func matching() {
            #expect(
                find(with([kSecAttrService: "s", kSecAttrLabel: "label c", kSecReturnData: true])).result as? [Data] == [
                    Data("secret c".utf8)
                ])
            #expect(find(with([kSecAttrService: "s", kSecAttrLabel: "label d"])).status == errSecItemNotFound)
            #expect(find(with([kSecAttrAccount: "b"])).status == errSecItemNotFound)
            #expect(find(with([kSecAttrAccount: "b", kSecMatchCaseInsensitive: true])).status == errSecSuccess)
            #expect(find(with([kSecAttrService: "S", kSecMatchCaseInsensitive: false])).status == errSecItemNotFound)
            #expect(find(with([kSecAttrAccessGroup: ""])).status == errSecSuccess)
            #expect(find(with([kSecAttrAccessGroup: "g"])).status == errSecItemNotFound)
            #expect(find(with([kSecUseDataProtectionKeychain: true])).status == errSecSuccess)
        }

        @Test("searches attributes that are too long for listings")
        func longAttributes() throws {
            let long = String(repeating: "x", count: 1000)
            let query: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "c"]
            #expect(SecItemUpdate(query, [kSecAttrComment: long]) == errSecSuccess)
            let found = find(with([kSecAttrComment: long, kSecReturnAttributes: true])).result as? [[String: Any]]
            #expect(found?.count == 1 && found?.first?[kSecAttrComment] as? String == long)
            #expect(find(with([kSecAttrComment: long + "y"])).status == errSecItemNotFound)
        }

        @Test("finds synchronizable items if they are asked for")
        func synchronizable() throws {
            try Keychain(service: "s").synchronizable(true).set("cloud", key: "cloud")
            #expect((find(with([kSecReturnData: true])).result as? [Data])?.count == 3)
            #expect((find(with([kSecReturnData: true, kSecAttrSynchronizable: kSecAttrSynchronizableAny])).result as? [Data])?.count == 4)
            #expect(find(with([kSecReturnData: true, kSecAttrSynchronizable: true])).result as? [Data] == [Data("cloud".utf8)])
            #expect((find(with([kSecReturnData: true, kSecAttrSynchronizable: kCFBooleanFalse as Any])).result as? [Data])?.count == 3)
            #expect(SecItemDelete([kSecClass: kSecClassGenericPassword]) == errSecSuccess)
            #expect(find(all).status == errSecItemNotFound && find(with([kSecAttrSynchronizable: true])).status == errSecSuccess)
        }

        @Test("changes and removes all items that match, in one commit, or as many as are asked for")
        func many() throws {
            let generation = used.vault.anchor.generation
            let query: [String: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s"]
            #expect(SecItemUpdate(query, [kSecAttrComment: "c"]) == errSecSuccess)
            #expect(used.vault.anchor.generation == generation + 1)
            #expect((find(with([kSecAttrComment: "c", kSecReturnAttributes: true])).result as? [Any])?.count == 3)
            // Two cannot have the same name: nothing has changed.
            #expect(SecItemUpdate(query, [kSecAttrAccount: "same"]) == errSecDuplicateItem)
            #expect(Keychain(service: "s").allKeys() == ["B", "a", "c"])
            #expect(SecItemDelete(query.merging([kSecMatchLimit: kSecMatchLimitOne]) { $1 }) == errSecSuccess)
            #expect(Keychain(service: "s").allKeys() == ["a", "c"])
            #expect(SecItemDelete(query.merging([kSecMatchLimit: kSecMatchLimitAll]) { $1 }) == errSecSuccess)
            #expect(SecItemUpdate(query, [kSecAttrComment: "c"]) == errSecItemNotFound && SecItemDelete(query) == errSecItemNotFound)
        }

        @Test("refuses dictionaries that it does not understand, and says why")
        func wrong() {
            let item: [String: Any] = [kSecClass: kSecClassGenericPassword]
            let otherVault = "vaultfmt:genp:00000000000000000000000000000001:00000000000000000000000000000001"
            let wrong: [(more: [String: Any], OSStatus)] = [
                ([kSecClass: 3], errSecParam), ([kSecClass: "zzzz"], errSecNoSuchClass), ([kSecAttrServer: "x"], errSecNoSuchAttr),
                (["zzzz": "x"], errSecNoSuchAttr), (["unknown": "x"], errSecParam), (["m_Policy": "x"], errSecParam),
                ([kSecAttrAccount: 3], errSecParam), ([kSecAttrAccessible: "never"], errSecParam), ([kSecReturnData: "maybe"], errSecParam),
                ([kSecAttrIsInvisible: 2], errSecParam), ([kSecAttrCreationDate: "today"], errSecParam),
                ([kSecAttrSynchronizable: "x"], errSecParam), ([kSecValueData: "text"], errSecParam),
                ([kSecAttrAccessControl: "x"], errSecParam), ([kSecUseAuthenticationUI: "x"], errSecParam),
                ([kSecUseOperationPrompt: 3], errSecParam), ([kSecMatchItemList: "x"], errSecParam),
                ([kSecValuePersistentRef: Data([1, 2])], errSecInvalidItemRef), ([kSecValueRef: "x"], errSecInvalidItemRef),
                ([kSecMatchItemList: [Data()]], errSecInvalidItemRef),
                ([kSecValuePersistentRef: Data(otherVault.utf8)], errSecInvalidItemRef),
            ]
            for (more, status) in wrong {
                let query = item.merging(more) { $1 }
                #expect(SecItemCopyMatching(query, nil) == status, "\(more)")
                #expect(SecItemVault.lastFailure?.contains("(\(status))") == true)
                #expect(SecItemDelete(query) == status, "\(more)")
            }
            #expect(SecItemCopyMatching([kSecAttrAccount: "a"], nil) == errSecParam)
            #expect(SecItemCopyMatching([:], nil) == errSecParam && SecItemAdd([:], nil) == errSecParam)
            #expect(SecItemUpdate([:], [:]) == errSecParam && SecItemDelete([:]) == errSecParam)
            // What only some of the functions take.
            #expect(SecItemAdd(item.merging([kSecMatchLimit: 1]) { $1 }, nil) == errSecParam)
            #expect(SecItemAdd(item.merging([kSecAttrSynchronizable: kSecAttrSynchronizableAny]) { $1 }, nil) == errSecParam)
            #expect(SecItemCopyMatching(item.merging([kSecValueData: Data()]) { $1 }, nil) == errSecParam)
            #expect(SecItemDelete(item.merging([kSecReturnData: true]) { $1 }) == errSecParam)
            #expect(
                SecItemUpdate(item, [kSecReturnData: true]) == errSecNoSuchAttr
                    && SecItemUpdate(item, [kSecClass: kSecClassKey]) == errSecNoSuchAttr)
            #expect(SecItemUpdate(item, [kSecAttrCreationDate: Date()]) == errSecReadOnlyAttr)
            #expect(SecItemUpdate(item, [kSecAttrModificationDate: Date()]) == errSecReadOnlyAttr)
            #expect(SecItemAdd([kSecClass: kSecClassInternetPassword, kSecAttrPort: -1], nil) == errSecParam)
            #expect(SecItemAdd([kSecClass: kSecClassKey, kSecAttrKeyType: "rsa"], nil) == errSecParam)
            #expect(Keychain(service: "s").allKeys() == ["B", "a", "c"])
        }

        @Test("takes dates for new items, and values boxed as Foundation boxes them")
        func boxes() throws {
            let date = Date(timeIntervalSince1970: 1_600_000_000.5)
            let item: [String: Any] = [
                kSecClass: kSecClassInternetPassword as AnyObject, kSecAttrServer: NSString(string: "x"), kSecAttrPort: NSNumber(value: 25),
                kSecAttrAccount: Data("ann".utf8), kSecValueData: NSData(data: Data([1])), kSecAttrIsInvisible: NSNumber(value: true),
                kSecAttrCreationDate: date, kSecAttrModificationDate: date, kSecAttrCreator: UInt32(9),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            let found = find([kSecClass: kSecClassInternetPassword, kSecReturnAttributes: kCFBooleanTrue as Any, kSecAttrPort: "25"])
            let attributes = try #require(found.result as? [String: Any])
            #expect(attributes[kSecAttrPort] as? Int == 25 && attributes[kSecAttrAccount] as? String == "ann")
            #expect(attributes[kSecAttrCreationDate] as? Date == date && attributes[kSecAttrModificationDate] as? Date == date)
            #expect(attributes[kSecAttrIsInvisible] as? Bool == true && attributes[kSecAttrCreator] as? Int == 9)
        }
    }
}
