import Foundation
import KeychainAccess
import SecItem
import Testing

extension KeychainTests {
    @Suite("The lists of a Keychain")
    struct ListTests {
        private let used: Used
        private let generic = Keychain(service: "s")
        private let internet = Keychain(server: "https://github.com", protocolType: .https)

        init() throws { used = try Used() }

        private func text(_ items: [[String: Any]]) -> [[String: String]] {
            items.map { $0.compactMapValues { $0 as? String } }
        }

        @Test("are empty for an empty vault")
        func empty() {
            #expect(
                generic.allKeys().isEmpty && generic.allItems().isEmpty && Keychain.allKeys(.genericPassword).isEmpty)
            #expect(
                Keychain.allItems(.internetPassword).isEmpty && generic.description == "[]"
                    && generic.debugDescription == "[]")
        }

        @Test("name its items, by words for people and without secrets")
        func items() throws {
            try generic.set("s3cret", key: "b")
            try Keychain(service: "s", accessGroup: "g").accessibility(.whenUnlocked).synchronizable(true).set(
                "s3cret", key: "a")
            try Keychain(service: "t").set("s3cret", key: "c")
            try internet.set("s3cret", key: "ann")
            #expect(generic.allKeys() == ["a", "b"] && internet.allKeys() == ["ann"])
            #expect(
                text(generic.allItems()) == [
                    [
                        "class": "GenericPassword", "service": "s", "key": "a", "accessGroup": "g",
                        "accessibility": "WhenUnlocked",
                        "synchronizable": "true",
                    ],
                    [
                        "class": "GenericPassword", "service": "s", "key": "b", "accessGroup": "",
                        "accessibility": "AfterFirstUnlock",
                        "synchronizable": "false",
                    ],
                ])
            #expect(
                text(internet.allItems()) == [
                    [
                        "class": "InternetPassword", "server": "github.com", "key": "ann", "accessGroup": "",
                        "protocol": "HTTPS",
                        "authenticationType": "Default", "accessibility": "AfterFirstUnlock", "synchronizable": "false",
                    ]
                ])
            #expect(Keychain.allKeys(.genericPassword).map { "\($0.0)/\($0.1)" } == ["s/a", "s/b", "t/c"])
            #expect(Keychain.allKeys(.internetPassword).map { "\($0.0)/\($0.1)" } == ["github.com/ann"])
            #expect(Keychain.allItems(.genericPassword).count == 3 && Keychain.allItems(.internetPassword).count == 1)
            for printed in [generic.description, generic.debugDescription] {
                #expect(
                    printed.contains("\"a\"") && printed.contains("\"b\"") && !printed.contains("\"c\"")
                        && !printed.contains("s3cret"))
            }
            #expect(generic.description.hasPrefix("[\n  [") && generic.description.hasSuffix("\n]"))
            #expect(generic.debugDescription.contains("svce"))
        }

        @Test("are empty where they cannot be read, and it is said why")
        func unreadable() throws {
            try generic.set("1", key: "a")
            try FileManager.default.removeItem(atPath: used.path)
            #expect(
                generic.allKeys().isEmpty && generic.allItems().isEmpty && Keychain.allItems(.genericPassword).isEmpty)
            #expect(Keychain.lastFailure?.contains("no longer exists") == true)
            #expect(
                used.said.all.allSatisfy { $0.contains(used.path) && $0.contains("(-25294)") }
                    && used.said.all.count == 3)
        }
    }
}
