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
                case .genericPassword: kSecClassGenericPassword as String
                case .internetPassword: kSecClassInternetPassword as String
                case .certificate: kSecClassCertificate as String
                case .key: kSecClassKey as String
                case .identity: kSecClassIdentity as String
                }
            }

            var primaryKey: [String: Any] {
                switch self {
                case .genericPassword:
                    [
                        kSecAttrAccount as String: "a", kSecAttrService as String: "s",
                        kSecAttrAccessGroup as String: "g",
                        kSecAttrSynchronizable as String: false,
                    ]
                case .internetPassword:
                    [
                        kSecAttrAccount as String: "a", kSecAttrSecurityDomain as String: "d",
                        kSecAttrServer as String: "s",
                        kSecAttrProtocol as String: kSecAttrProtocolHTTPS,
                        kSecAttrAuthenticationType as String: kSecAttrAuthenticationTypeNTLM,
                        kSecAttrPort as String: 443,
                        kSecAttrPath as String: "/p",
                        kSecAttrAccessGroup as String: "g", kSecAttrSynchronizable as String: false,
                    ]
                case .certificate, .identity:
                    [
                        kSecAttrCertificateType as String: 3, kSecAttrIssuer as String: Data([0x30, 0]),
                        kSecAttrSerialNumber as String: Data([0, 1]),
                        kSecAttrAccessGroup as String: "g", kSecAttrSynchronizable as String: false,
                    ]
                case .key:
                    [
                        kSecAttrKeyClass as String: kSecAttrKeyClassPrivate,
                        kSecAttrKeyType as String: kSecAttrKeyTypeRSA,
                        kSecAttrApplicationLabel as String: Data([1]), kSecAttrApplicationTag as String: Data([2]),
                        kSecAttrKeySizeInBits as String: 2048,
                        kSecAttrEffectiveKeySize as String: 2048, kSecAttrAccessGroup as String: "g",
                        kSecAttrSynchronizable as String: false,
                    ]
                }
            }

            var others: [String: Any] {
                switch self {
                case .genericPassword:
                    [
                        kSecAttrAccount as String: "b", kSecAttrService as String: "t",
                        kSecAttrAccessGroup as String: "h",
                        kSecAttrSynchronizable as String: true,
                    ]
                case .internetPassword:
                    [
                        kSecAttrAccount as String: "b", kSecAttrSecurityDomain as String: "e",
                        kSecAttrServer as String: "t",
                        kSecAttrProtocol as String: kSecAttrProtocolHTTP,
                        kSecAttrAuthenticationType as String: kSecAttrAuthenticationTypeDefault,
                        kSecAttrPort as String: 80,
                        kSecAttrPath as String: "",
                        kSecAttrAccessGroup as String: "", kSecAttrSynchronizable as String: true,
                    ]
                case .certificate, .identity:
                    [
                        kSecAttrCertificateType as String: 1, kSecAttrIssuer as String: Data([0x31]),
                        kSecAttrSerialNumber as String: Data(),
                        kSecAttrAccessGroup as String: "h", kSecAttrSynchronizable as String: true,
                    ]
                case .key:
                    [
                        kSecAttrKeyClass as String: kSecAttrKeyClassPublic,
                        kSecAttrKeyType as String: kSecAttrKeyTypeEC,
                        kSecAttrApplicationLabel as String: Data([3]),
                        kSecAttrApplicationTag as String: Data(), kSecAttrKeySizeInBits as String: 256,
                        kSecAttrEffectiveKeySize as String: 255,
                        kSecAttrAccessGroup as String: "h", kSecAttrSynchronizable as String: true,
                    ]
                }
            }

            /// Attributes that are no part of the key.
            var further: [String: Any] {
                let date = Date(timeIntervalSince1970: 1_700_000_000.125)
                let password: [String: Any] = [
                    kSecAttrLabel as String: "l", kSecAttrDescription as String: "d", kSecAttrComment as String: "c",
                    kSecAttrCreator as String: 7, kSecAttrType as String: "type",
                    kSecAttrIsInvisible as String: true, kSecAttrIsNegative as String: false,
                ]
                let certificate: [String: Any] = [
                    kSecAttrLabel as String: "l", kSecAttrCertificateEncoding as String: 3,
                    kSecAttrSubject as String: Data([4]),
                    kSecAttrSubjectKeyID as String: Data([5]),
                    kSecAttrPublicKeyHash as String: Data([6]),
                ]
                let flags = [
                    kSecAttrIsPermanent, kSecAttrIsPrivate, kSecAttrIsModifiable, kSecAttrIsSensitive,
                    kSecAttrWasAlwaysSensitive,
                    kSecAttrIsExtractable, kSecAttrWasNeverExtractable, kSecAttrCanEncrypt, kSecAttrCanDecrypt,
                    kSecAttrCanDerive,
                    kSecAttrCanSign, kSecAttrCanVerify, kSecAttrCanSignRecover, kSecAttrCanVerifyRecover,
                    kSecAttrCanWrap,
                    kSecAttrCanUnwrap,
                ]
                var key: [String: Any] = [
                    kSecAttrLabel as String: "l", kSecAttrCreator as String: "me", kSecAttrStartDate as String: date,
                    kSecAttrEndDate as String: date,
                ]
                for (index, flag) in flags.enumerated() { key[flag as String] = index % 2 == 0 }
                switch self {
                case .genericPassword:
                    return password.merging([kSecAttrGeneric as String: Data([9])]) { first, _ in first }
                case .internetPassword: return password
                case .certificate: return certificate
                case .key: return key
                case .identity: return certificate.merging(key) { first, _ in first }
                }
            }

            func query(_ more: [String: Any] = [:]) -> [String: Any] {
                primaryKey.merging([kSecClass as String: code]) { first, _ in first }.merging(more) { _, new in new }
            }
        }

        private func data(_ query: [String: Any]) -> Data? {
            var result: CFTypeRef?
            let status = SecItemCopyMatching(
                query.merging([kSecReturnData as String: true]) { first, _ in first } as CFDictionary, &result)
            #expect((status == errSecSuccess) == (result != nil))
            return result as? Data
        }

        @Test("adds items by their whole primary key, and another for every part of it", arguments: Class.allCases)
        func primaryKeys(_ itemClass: Class) throws {
            #expect(
                SecItemAdd(itemClass.query([kSecValueData as String: Data("0".utf8)]) as CFDictionary, nil)
                    == errSecSuccess)
            #expect(
                SecItemAdd(itemClass.query([kSecValueData as String: Data("x".utf8)]) as CFDictionary, nil)
                    == errSecDuplicateItem)
            #expect(
                SecItemAdd(
                    itemClass.query([kSecValueData as String: Data("x".utf8), kSecAttrLabel as String: "other"])
                        as CFDictionary, nil)
                    == errSecDuplicateItem)
            for (name, value) in itemClass.others {
                let other = itemClass.query([name: value])
                #expect(data(other) == nil, "\(name)")
                #expect(
                    SecItemAdd(
                        other.merging([kSecValueData as String: Data(name.utf8)]) { _, new in new } as CFDictionary, nil
                    )
                        == errSecSuccess, "\(name)")
            }
            #expect(data(itemClass.query()) == Data("0".utf8))
            for (name, value) in itemClass.others {
                #expect(data(itemClass.query([name: value])) == Data(name.utf8), "\(name)")
            }
            #expect(try used.vault.items().count == itemClass.others.count + 1)
        }

        @Test("renames an item by any part of its primary key, but not to one that exists", arguments: Class.allCases)
        func renaming(_ itemClass: Class) {
            for (name, value) in itemClass.others {
                #expect(
                    SecItemAdd(itemClass.query([kSecValueData as String: Data("1".utf8)]) as CFDictionary, nil)
                        == errSecSuccess)
                #expect(
                    SecItemUpdate(itemClass.query() as CFDictionary, [name: value] as CFDictionary) == errSecSuccess,
                    "\(name)")
                #expect(
                    data(itemClass.query()) == nil && data(itemClass.query([name: value])) == Data("1".utf8), "\(name)")
                #expect(
                    SecItemAdd(itemClass.query([kSecValueData as String: Data("2".utf8)]) as CFDictionary, nil)
                        == errSecSuccess)
                #expect(
                    SecItemUpdate(itemClass.query() as CFDictionary, [name: value] as CFDictionary)
                        == errSecDuplicateItem, "\(name)")
                #expect(data(itemClass.query()) == Data("2".utf8))
                #expect(
                    SecItemDelete([
                        kSecClass as String: itemClass.code,
                        kSecAttrSynchronizable as String: kSecAttrSynchronizableAny,
                    ])
                        == errSecSuccess)
            }
        }

        @Test("gives back every attribute, searches by it and changes it", arguments: Class.allCases)
        func attributes(_ itemClass: Class) throws {
            let item = itemClass.query(itemClass.further).merging([kSecValueData as String: Data("1".utf8)]) { _, new in
                new
            }
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            var result: CFTypeRef?
            #expect(
                SecItemCopyMatching(itemClass.query([kSecReturnAttributes as String: true]) as CFDictionary, &result)
                    == errSecSuccess)
            let found = try #require(result as? [String: Any])
            for (name, value) in itemClass.query(itemClass.further) {
                #expect(String(describing: found[name] ?? "nothing") == String(describing: value), "\(name)")
            }
            #expect(
                found[kSecValueData as String] == nil
                    && found[kSecAttrAccessible as String] as? String == kSecAttrAccessibleWhenUnlocked as String)
            #expect(found[kSecAttrCreationDate as String] is Date && found[kSecAttrModificationDate as String] is Date)
            for (name, value) in itemClass.further {
                #expect(data([kSecClass as String: itemClass.code, name: value]) == Data("1".utf8), "\(name)")
            }
            #expect(data([kSecClass as String: itemClass.code, kSecAttrLabel as String: "m"]) == nil)
            #expect(
                data([
                    kSecClass as String: itemClass.code, kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked,
                ]) == Data("1".utf8))
            #expect(
                data([kSecClass as String: itemClass.code, kSecAttrAccessible as String: kSecAttrAccessibleAlways])
                    == nil)
            #expect(
                SecItemUpdate(
                    itemClass.query() as CFDictionary,
                    [kSecAttrLabel as String: "m", kSecAttrAccessible as String: kSecAttrAccessibleAlways])
                    == errSecSuccess)
            #expect(
                data([
                    kSecClass as String: itemClass.code, kSecAttrLabel as String: "m",
                    kSecAttrAccessible as String: kSecAttrAccessibleAlways,
                ]) == Data("1".utf8))
            #expect(
                SecItemUpdate(itemClass.query() as CFDictionary, [kSecValueData as String: Data("2".utf8)])
                    == errSecSuccess)
            #expect(data(itemClass.query([kSecAttrLabel as String: "m"])) == Data("2".utf8))
            #expect(
                SecItemDelete(itemClass.query() as CFDictionary) == errSecSuccess
                    && SecItemDelete(itemClass.query() as CFDictionary) == errSecItemNotFound)
        }

        @Test(
            "finds the same item by its persistent reference, also renamed and in a vault opened again",
            arguments: Class.allCases)
        func references(_ itemClass: Class) throws {
            var result: CFTypeRef?
            let new = itemClass.query([
                kSecValueData as String: Data("1".utf8), kSecReturnPersistentRef as String: true,
            ])
            #expect(SecItemAdd(new as CFDictionary, &result) == errSecSuccess)
            let reference = try #require(result as? Data)
            #expect(SecItemUpdate(itemClass.query() as CFDictionary, itemClass.others as CFDictionary) == errSecSuccess)
            #expect(
                SecItemUpdate([kSecValuePersistentRef as String: reference], [kSecValueData as String: Data("2".utf8)])
                    == errSecSuccess)
            used.use(try openVault(used.path))
            #expect(data([kSecValuePersistentRef as String: reference]) == Data("2".utf8))
            #expect(data([kSecClass as String: itemClass.code, kSecValueRef as String: reference]) == Data("2".utf8))
            #expect(
                data([kSecClass as String: itemClass.code, kSecMatchItemList as String: [reference]]) == Data("2".utf8))
            #expect(data([kSecClass as String: itemClass.code, kSecMatchItemList as String: [Data]()]) == nil)
            #expect(SecItemDelete([kSecValuePersistentRef as String: reference]) == errSecSuccess)
            // Another item of the same name is another item.
            #expect(
                SecItemAdd(itemClass.query([kSecValueData as String: Data("3".utf8)]) as CFDictionary, nil)
                    == errSecSuccess)
            #expect(SecItemCopyMatching([kSecValuePersistentRef as String: reference], nil) == errSecItemNotFound)
        }
    }
}
