import Foundation
import SecItem
import Testing

extension KeychainTests {
    @Suite("SecItem, class by class")
    struct SecItemClassTests {
        private let used: Used

        init() throws { used = try Used() }

        /// A class, its primary key, and for each part of it another value.
        enum Class: String, CaseIterable {
            case genericPassword, internetPassword, certificate, key, identity

            var code: String {
                switch self {
                case .genericPassword: kSecClassGenericPassword
                case .internetPassword: kSecClassInternetPassword
                case .certificate: kSecClassCertificate
                case .key: kSecClassKey
                case .identity: kSecClassIdentity
                }
            }

            var primaryKey: [String: Any] {
                switch self {
                case .genericPassword:
                    [kSecAttrAccount: "a", kSecAttrService: "s", kSecAttrAccessGroup: "g", kSecAttrSynchronizable: false]
                case .internetPassword:
                    [
                        kSecAttrAccount: "a", kSecAttrSecurityDomain: "d", kSecAttrServer: "s", kSecAttrProtocol: kSecAttrProtocolHTTPS,
                        kSecAttrAuthenticationType: kSecAttrAuthenticationTypeNTLM, kSecAttrPort: 443, kSecAttrPath: "/p",
                        kSecAttrAccessGroup: "g", kSecAttrSynchronizable: false,
                    ]
                case .certificate, .identity:
                    [
                        kSecAttrCertificateType: 3, kSecAttrIssuer: Data([0x30, 0]), kSecAttrSerialNumber: Data([0, 1]),
                        kSecAttrAccessGroup: "g", kSecAttrSynchronizable: false,
                    ]
                case .key:
                    [
                        kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecAttrKeyType: kSecAttrKeyTypeRSA,
                        kSecAttrApplicationLabel: Data([1]), kSecAttrApplicationTag: Data([2]), kSecAttrKeySizeInBits: 2048,
                        kSecAttrEffectiveKeySize: 2048, kSecAttrAccessGroup: "g", kSecAttrSynchronizable: false,
                    ]
                }
            }

            var others: [String: Any] {
                switch self {
                case .genericPassword: [kSecAttrAccount: "b", kSecAttrService: "t", kSecAttrAccessGroup: "h", kSecAttrSynchronizable: true]
                case .internetPassword:
                    [
                        kSecAttrAccount: "b", kSecAttrSecurityDomain: "e", kSecAttrServer: "t", kSecAttrProtocol: kSecAttrProtocolHTTP,
                        kSecAttrAuthenticationType: kSecAttrAuthenticationTypeDefault, kSecAttrPort: 80, kSecAttrPath: "",
                        kSecAttrAccessGroup: "", kSecAttrSynchronizable: true,
                    ]
                case .certificate, .identity:
                    [
                        kSecAttrCertificateType: 1, kSecAttrIssuer: Data([0x31]), kSecAttrSerialNumber: Data(),
                        kSecAttrAccessGroup: "h", kSecAttrSynchronizable: true,
                    ]
                case .key:
                    [
                        kSecAttrKeyClass: kSecAttrKeyClassPublic, kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrApplicationLabel: Data([3]),
                        kSecAttrApplicationTag: Data(), kSecAttrKeySizeInBits: 256, kSecAttrEffectiveKeySize: 255,
                        kSecAttrAccessGroup: "h", kSecAttrSynchronizable: true,
                    ]
                }
            }

            /// Attributes that are no part of the key.
            var further: [String: Any] {
                let date = Date(timeIntervalSince1970: 1_700_000_000.125)
                let password: [String: Any] = [
                    kSecAttrLabel: "l", kSecAttrDescription: "d", kSecAttrComment: "c", kSecAttrCreator: 7, kSecAttrType: "type",
                    kSecAttrIsInvisible: true, kSecAttrIsNegative: false,
                ]
                let certificate: [String: Any] = [
                    kSecAttrLabel: "l", kSecAttrCertificateEncoding: 3, kSecAttrSubject: Data([4]), kSecAttrSubjectKeyID: Data([5]),
                    kSecAttrPublicKeyHash: Data([6]),
                ]
                let flags = [
                    kSecAttrIsPermanent, kSecAttrIsPrivate, kSecAttrIsModifiable, kSecAttrIsSensitive, kSecAttrWasAlwaysSensitive,
                    kSecAttrIsExtractable, kSecAttrWasNeverExtractable, kSecAttrCanEncrypt, kSecAttrCanDecrypt, kSecAttrCanDerive,
                    kSecAttrCanSign, kSecAttrCanVerify, kSecAttrCanSignRecover, kSecAttrCanVerifyRecover, kSecAttrCanWrap,
                    kSecAttrCanUnwrap,
                ]
                var key: [String: Any] = [kSecAttrLabel: "l", kSecAttrCreator: "me", kSecAttrStartDate: date, kSecAttrEndDate: date]
                for (index, flag) in flags.enumerated() { key[flag] = index % 2 == 0 }
                switch self {
                case .genericPassword: return password.merging([kSecAttrGeneric: Data([9])]) { first, _ in first }
                case .internetPassword: return password
                case .certificate: return certificate
                case .key: return key
                case .identity: return certificate.merging(key) { first, _ in first }
                }
            }

            func query(_ more: [String: Any] = [:]) -> [String: Any] {
                primaryKey.merging([kSecClass: code]) { first, _ in first }.merging(more) { _, new in new }
            }
        }

        private func data(_ query: [String: Any]) -> Data? {
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query.merging([kSecReturnData: true]) { first, _ in first } as CFDictionary, &result)
            #expect((status == errSecSuccess) == (result != nil))
            return result as? Data
        }

        @Test("adds items by their whole primary key, and another for every part of it", arguments: Class.allCases)
        func primaryKeys(_ itemClass: Class) throws {
            #expect(SecItemAdd(itemClass.query([kSecValueData: Data("0".utf8)]), nil) == errSecSuccess)
            #expect(SecItemAdd(itemClass.query([kSecValueData: Data("x".utf8)]), nil) == errSecDuplicateItem)
            #expect(SecItemAdd(itemClass.query([kSecValueData: Data("x".utf8), kSecAttrLabel: "other"]), nil) == errSecDuplicateItem)
            for (name, value) in itemClass.others {
                let other = itemClass.query([name: value])
                #expect(data(other) == nil, "\(name)")
                #expect(SecItemAdd(other.merging([kSecValueData: Data(name.utf8)]) { _, new in new }, nil) == errSecSuccess, "\(name)")
            }
            #expect(data(itemClass.query()) == Data("0".utf8))
            for (name, value) in itemClass.others { #expect(data(itemClass.query([name: value])) == Data(name.utf8), "\(name)") }
            #expect(try used.vault.items().count == itemClass.others.count + 1)
        }

        @Test("renames an item by any part of its primary key, but not to one that exists", arguments: Class.allCases)
        func renaming(_ itemClass: Class) {
            for (name, value) in itemClass.others {
                #expect(SecItemAdd(itemClass.query([kSecValueData: Data("1".utf8)]), nil) == errSecSuccess)
                #expect(SecItemUpdate(itemClass.query(), [name: value]) == errSecSuccess, "\(name)")
                #expect(data(itemClass.query()) == nil && data(itemClass.query([name: value])) == Data("1".utf8), "\(name)")
                #expect(SecItemAdd(itemClass.query([kSecValueData: Data("2".utf8)]), nil) == errSecSuccess)
                #expect(SecItemUpdate(itemClass.query(), [name: value]) == errSecDuplicateItem, "\(name)")
                #expect(data(itemClass.query()) == Data("2".utf8))
                #expect(SecItemDelete([kSecClass: itemClass.code, kSecAttrSynchronizable: kSecAttrSynchronizableAny]) == errSecSuccess)
            }
        }

        @Test("gives back every attribute, searches by it and changes it", arguments: Class.allCases)
        func attributes(_ itemClass: Class) throws {
            let item = itemClass.query(itemClass.further).merging([kSecValueData: Data("1".utf8)]) { _, new in new }
            #expect(SecItemAdd(item, nil) == errSecSuccess)
            var result: CFTypeRef?
            #expect(SecItemCopyMatching(itemClass.query([kSecReturnAttributes: true]), &result) == errSecSuccess)
            let found = try #require(result as? [String: Any])
            for (name, value) in itemClass.query(itemClass.further) {
                #expect(String(describing: found[name] ?? "nothing") == String(describing: value), "\(name)")
            }
            #expect(found[kSecValueData] == nil && found[kSecAttrAccessible] as? String == kSecAttrAccessibleWhenUnlocked)
            #expect(found[kSecAttrCreationDate] is Date && found[kSecAttrModificationDate] is Date)
            for (name, value) in itemClass.further {
                #expect(data([kSecClass: itemClass.code, name: value]) == Data("1".utf8), "\(name)")
            }
            #expect(data([kSecClass: itemClass.code, kSecAttrLabel: "m"]) == nil)
            #expect(data([kSecClass: itemClass.code, kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked]) == Data("1".utf8))
            #expect(data([kSecClass: itemClass.code, kSecAttrAccessible: kSecAttrAccessibleAlways]) == nil)
            #expect(SecItemUpdate(itemClass.query(), [kSecAttrLabel: "m", kSecAttrAccessible: kSecAttrAccessibleAlways]) == errSecSuccess)
            #expect(
                data([kSecClass: itemClass.code, kSecAttrLabel: "m", kSecAttrAccessible: kSecAttrAccessibleAlways]) == Data("1".utf8))
            #expect(SecItemUpdate(itemClass.query(), [kSecValueData: Data("2".utf8)]) == errSecSuccess)
            #expect(data(itemClass.query([kSecAttrLabel: "m"])) == Data("2".utf8))
            #expect(SecItemDelete(itemClass.query()) == errSecSuccess && SecItemDelete(itemClass.query()) == errSecItemNotFound)
        }

        @Test("finds the same item by its persistent reference, also renamed and in a vault opened again", arguments: Class.allCases)
        func references(_ itemClass: Class) throws {
            var result: CFTypeRef?
            let new = itemClass.query([kSecValueData: Data("1".utf8), kSecReturnPersistentRef: true])
            #expect(SecItemAdd(new, &result) == errSecSuccess)
            let reference = try #require(result as? Data)
            #expect(SecItemUpdate(itemClass.query(), itemClass.others) == errSecSuccess)
            #expect(SecItemUpdate([kSecValuePersistentRef: reference], [kSecValueData: Data("2".utf8)]) == errSecSuccess)
            used.use(try openVault(used.path))
            #expect(data([kSecValuePersistentRef: reference]) == Data("2".utf8))
            #expect(data([kSecClass: itemClass.code, kSecValueRef: reference]) == Data("2".utf8))
            #expect(data([kSecClass: itemClass.code, kSecMatchItemList: [reference]]) == Data("2".utf8))
            #expect(data([kSecClass: itemClass.code, kSecMatchItemList: [Data]()]) == nil)
            #expect(SecItemDelete([kSecValuePersistentRef: reference]) == errSecSuccess)
            // Another item of the same name is another item.
            #expect(SecItemAdd(itemClass.query([kSecValueData: Data("3".utf8)]), nil) == errSecSuccess)
            #expect(SecItemCopyMatching([kSecValuePersistentRef: reference], nil) == errSecItemNotFound)
        }
    }
}
