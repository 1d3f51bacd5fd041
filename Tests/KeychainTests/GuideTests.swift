import Foundation
import SecItem
import Testing
import VaultFmt

extension KeychainTests {
    /// The guide's tables, read from the guide.
    @Suite("The guide's tables")
    struct GuideTests {
        private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent()

        private static func read(_ path: String) throws -> String {
            try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        }

        private static func guide() throws -> String {
            try read("Sources/Keychain/Access/KeychainAccess.docc/BringingKeychainCodeToLinux.md")
        }

        private static func section(_ title: String) throws -> [String] {
            let lines = try guide().components(separatedBy: "\n")
            let start = try #require(lines.firstIndex { $0.hasSuffix("# \(title)") })
            let rest = lines[(start + 1)...]
            return Array(rest[..<(rest.firstIndex { $0.hasPrefix("#") } ?? rest.endIndex)])
        }

        private static func names(_ text: String) -> [String] {
            text.matches(of: /`(kSec\w+)`/).map { String($0.output.1) }
        }

        /// A row of the first table: what a key does in each function.
        struct Row: Sendable, CustomTestStringConvertible {
            let key: String
            /// Of Add, CopyMatching, Update's query and changes, and Delete: the symbol that the cell begins with.
            let symbols: [String]

            var testDescription: String { key }
        }

        static func rows() -> [Row] {
            do {
                return try section("Keys that control the operation").flatMap { line -> [Row] in
                    let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                    guard cells.count == 7, let first = cells[0].components(separatedBy: " with ").first,
                        !names(first).isEmpty
                    else {
                        return []
                    }
                    let symbols = cells[2...].map { String($0.prefix { !" ,;:".contains($0) }) }
                    return names(first).map { Row(key: $0, symbols: symbols) }
                }
            } catch { return [] }
        }

        /// A value for each key, which the item does not have where the key is matched.
        private static func value(_ key: String, other: Data) -> (key: CFString, value: Any)? {
            let control = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAlways, [], nil) as Any
            let values: [CFString: Any] = [
                kSecClass: kSecClassKey, kSecValueData: Data([9]), kSecValueRef: other, kSecValuePersistentRef: other,
                kSecReturnData: true,
                kSecReturnAttributes: true, kSecReturnRef: true, kSecReturnPersistentRef: true,
                kSecMatchLimit: kSecMatchLimitAll,
                kSecMatchItemList: [other], kSecUseAuthenticationUI: kSecUseAuthenticationUIFail,
                kSecUseNoAuthenticationUI: true,
                kSecUseOperationPrompt: "why", kSecUseAuthenticationContext: NSObject(),
                kSecUseDataProtectionKeychain: true,
                kSecAttrAccessControl: control, kSecAttrAccessible: kSecAttrAccessibleAlways, kSecAttrAccessGroup: "g",
                kSecAttrSynchronizable: true,
                // Dates that no item has: it may be made in the same millisecond as the query.
                kSecAttrCreationDate: Date(timeIntervalSince1970: 1),
                kSecAttrModificationDate: Date(timeIntervalSince1970: 1),
                kSecMatchCaseInsensitive: true, kSecMatchDiacriticInsensitive: true, kSecMatchWidthInsensitive: true,
            ]
            let symbols = try? constants()
            guard let code = symbols?[key] else { return nil }
            if key == "kSecAttrSynchronizableAny" { return (kSecAttrSynchronizable, kSecAttrSynchronizableAny) }
            return values.first { $0.key as String == code }.map { ($0.key, $0.value) }
        }

        /// The keys that the module declares, with their values.
        private static func constants() throws -> [String: String] {
            let text = try read("Sources/Keychain/Core/SecKey.swift")
            var codes = text.matches(of: /static let (\w+) = "(.*)"/)
                .reduce(into: [String: String]()) { $0[String($1.output.1)] = String($1.output.2) }
            let fields = Dictionary(uniqueKeysWithValues: ItemKey.Field.allCases.map { ("\($0)", $0) })
            for match in text.matches(of: /static let (\w+) = ItemKey.Field.(\w+).appleCode/) {
                codes[String(match.output.1)] = fields[String(match.output.2)]?.appleCode
            }
            return try read("Sources/Keychain/SecItem/Keys.swift").matches(of: /let (kSec\w+) = SecKey\.(\w+)/)
                .reduce(into: [:]) { $0[String($1.output.1)] = codes[String($1.output.2)] }
        }

        @Test("say of each key what each function does with it", arguments: rows())
        func functions(_ row: Row) throws {
            // Where a match key is about the case of texts, the query's text is of another one.
            let isFolding = row.key.hasSuffix("Insensitive")
            for (index, symbol) in row.symbols.enumerated() {
                let used = try Used()
                add("other", service: "t")
                var reference: CFTypeRef?
                SecItemCopyMatching(
                    [kSecClass: kSecClassGenericPassword, kSecReturnPersistentRef: true] as CFDictionary, &reference)
                add("k", service: "s")
                let other = try #require(reference as? Data)
                let (name, value) = try #require(Self.value(row.key, other: other), "\(row.key)")
                let more = [name as String: value]
                var folded = more
                for other in [kSecMatchCaseInsensitive, kSecMatchDiacriticInsensitive, kSecMatchWidthInsensitive]
                where isFolding {
                    folded[other as String] = true
                }
                let query = generic(isFolding ? "\u{212A}" : "k", service: "s", folded) as CFDictionary
                let plain = generic("k", service: "s") as CFDictionary
                var result: CFTypeRef?
                let status: OSStatus
                switch index {
                case 0:
                    var item = generic("new", service: "s", more)
                    if name == kSecClass { item = [kSecClass as String: value] }
                    status = SecItemAdd(item as CFDictionary, &result)
                case 1: status = SecItemCopyMatching(query, &result)
                case 2: status = SecItemUpdate(query, [kSecAttrLabel: "l"] as CFDictionary)
                case 3: status = SecItemUpdate(plain, more as CFDictionary)
                default: status = SecItemDelete(query)
                }
                // A key that has no attributes such as these is of another class.
                let isOtherClass = name == kSecClass && [1, 2, 4].contains(index)
                let expected: OSStatus =
                    switch symbol {
                    case "r", "i": errSecSuccess
                    case "m": isFolding ? errSecSuccess : isOtherClass ? errSecNoSuchAttr : errSecItemNotFound
                    case "−50": errSecParam
                    case "`errSecNoSuchAttr`": errSecNoSuchAttr
                    case "`errSecReadOnlyAttr`": errSecReadOnlyAttr
                    default: 1
                    }
                #expect(
                    status == expected, "\(row.key), function \(index), '\(symbol)': \(SecItemVault.lastFailure ?? "")")
                withExtendedLifetime(used) {}
            }
        }

        @Test("name every key that compiles, and among those that do not, none that does")
        func complete() throws {
            let declared = Set(try Self.constants().keys)
            let named = Set(
                Self.names(
                    try Self.section("Keys that control the operation").joined()
                        + Self.section("Attributes").joined()))
            #expect(declared.count > 70 && declared.isSubset(of: named), "\(declared.subtracting(named).sorted())")
            let absent = Set(Self.names(try Self.section("What does not compile").joined(separator: "\n")))
            let sources = try ["Keys", "Values", "Random"].map { try Self.read("Sources/Keychain/SecItem/\($0).swift") }
                .joined()
            #expect(
                absent.count > 20
                    && absent.allSatisfy { !sources.contains("let \($0) ") && !sources.contains("let \($0):") })
            #expect(Self.rows().count >= 24)
        }
    }
}
