import Foundation
import KeychainAccess
import SecItem
import TestSupport
import Testing
import VaultFmt

extension KeychainTests {
    @Suite("Names given as bytes (K2)")
    struct ByteNameTests {
        private let used: Used
        /// U+FDD0, which begins the text of bytes that are not UTF-8.
        private let mark = String(decoding: [0xEF, 0xB7, 0x90] as [UInt8], as: UTF8.self)

        init() throws { used = try Used() }

        private func accounts() -> [Any] {
            var result: CFTypeRef?
            let query =
                [
                    kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
                ] as CFDictionary
            guard SecItemCopyMatching(query, &result) == errSecSuccess else { return [] }
            return (result as? [[String: Any]])?.compactMap { $0[kSecAttrAccount as String] } ?? []
        }

        private func add(_ account: Any) -> OSStatus {
            SecItemAdd([kSecClass: kSecClassGenericPassword, kSecAttrAccount: account] as CFDictionary, nil)
        }

        @Test("keeps any two apart, and returns each as it was given")
        func random() {
            var generator = Numbers(Numbers.seed)
            var given: Set<Data> = [
                Data(), Data([0]), Data([0xEF, 0xB7, 0x90]), Data(mark.utf8) + Data("ff".utf8), Data([0xFF]),
            ]
            while given.count < 200 {
                // Bytes in which UTF-8, its fragments, the mark and hexadecimal digits are frequent.
                let pieces: [[UInt8]] = [
                    [0xEF, 0xB7, 0x90], [0xEF], [0xC3, 0xA9], [0xFF], [0], Array("f0".utf8), Array("a".utf8),
                ]
                given.insert(
                    Data(
                        (0..<Int.random(in: 0...6, using: &generator)).flatMap { _ in
                            pieces.randomElement(using: &generator)!
                        }))
            }
            let seed: Comment = "VAULTFMT_SEED=\(Numbers.seed)"
            for account in given { #expect(add(account) == errSecSuccess && add(account) == errSecDuplicateItem, seed) }
            #expect(accounts().count == given.count && Set(accounts().compactMap { $0 as? Data }) == given, seed)
            for account in given {
                let query = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: account] as CFDictionary
                #expect(SecItemDelete(query) == errSecSuccess && SecItemDelete(query) == errSecItemNotFound, seed)
            }
            #expect(accounts().isEmpty, seed)
        }

        @Test("are text in the vault, as the guide says")
        func stored() throws {
            let expected: [(Any, String)] = [
                (Data("ann".utf8), "ann"), (Data([0xFF, 0, 0x80]), mark + "ff0080"), (mark, mark + "efb790"),
                (mark + "ff", mark + "efb7906666"),
                (Data(), ""),
            ]
            for (account, name) in expected {
                #expect(add(account) == errSecSuccess)
                #expect(try used.vault.item(.genericPassword(service: "", account: name)) != nil, "\(name)")
            }
            // A text that begins with the mark is returned as a text.
            #expect(accounts().compactMap { $0 as? String }.sorted() == [mark, mark + "ff"])
            #expect(Keychain(service: "").allKeys().contains("ann"))
        }

        @Test("of other programs stay what they are, also where they begin as bytes of this API do")
        func foreign() throws {
            for name in [mark + "no digits", mark + "f", mark + "FF", mark + "6f6b"] {
                try used.vault.add(.genericPassword(service: "", account: name), secret: Secret(text: name))
            }
            #expect(
                accounts().compactMap { $0 as? String }.sorted()
                    == [mark + "6f6b", mark + "FF", mark + "f", mark + "no digits"].sorted())
        }

        @Test("have at most 2046 bytes where they are not UTF-8, and 4096 where they are")
        func limits() {
            #expect(
                add(Data(repeating: 0xFF, count: 2046)) == errSecSuccess
                    && add(Data(repeating: 0xFF, count: 2047)) == errSecDataTooLarge)
            #expect(
                add(Data(repeating: 0x61, count: 4096)) == errSecSuccess
                    && add(Data(repeating: 0x61, count: 4097)) == errSecDataTooLarge)
        }

        @Test("match a text of the same bytes, in searches, updates and other attributes")
        func sameBytes() throws {
            let item: [CFString: Any] = [
                kSecClass: kSecClassInternetPassword, kSecAttrServer: Data("example.org".utf8),
                kSecAttrPath: Data([0xFF]),
                kSecAttrAccount: "ann", kSecAttrLabel: Data("label".utf8), kSecAttrProtocol: kSecAttrProtocolHTTPS,
                kSecValueData: Data([1]),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            let query: [CFString: Any] = [
                kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.org", kSecAttrPath: Data([0xFF]),
                kSecAttrAccount: Data("ann".utf8), kSecAttrLabel: "label", kSecReturnAttributes: true,
            ]
            var result: CFTypeRef?
            #expect(SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess)
            let found = try #require(result as? [CFString: Any])
            #expect(
                found[kSecAttrServer] as? Data == Data("example.org".utf8)
                    && found[kSecAttrPath] as? Data == Data([0xFF]))
            #expect(found[kSecAttrAccount] as? String == "ann" && found[kSecAttrLabel] as? Data == Data("label".utf8))
            // The command and other programs find it by its text.
            #expect(Keychain(server: "https://example.org", protocolType: .https).allKeys() == ["ann"])
        }
    }
}
