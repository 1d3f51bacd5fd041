import Foundation
import KeychainAccess
import SecItem
import Testing
import VaultFmt

extension KeychainTests {
    @Suite("A Keychain")
    struct AccessTests {
        private let used: Used
        private let keychain = Keychain(service: "s")

        init() throws { used = try Used() }

        @Test("stores texts and bytes, replaces and removes them")
        func values() throws {
            #expect(try keychain.get("k") == nil && keychain.getString("k") == nil && keychain.getData("k") == nil)
            try keychain.set("text \u{1F511}", key: "k")
            #expect(try keychain.get("k") == "text \u{1F511}" && keychain.getString("k") == "text \u{1F511}")
            #expect(try keychain.getData("k") == Data("text \u{1F511}".utf8))
            try keychain.set("", key: "k")
            #expect(try keychain.get("k") == "")
            let bytes = Data((0...255).map { UInt8($0) })
            try keychain.set(bytes, key: "k")
            #expect(try keychain.getData("k") == bytes)
            #expect(try used.vault.get(.genericPassword(service: "s", account: "k"))?.secret.count == 256)
            try keychain.remove("k")
            try keychain.remove("k")
            #expect(try keychain.getData("k") == nil)
        }

        @Test("throws a conversion error for text that is not UTF-8")
        func conversion() throws {
            try keychain.set(Data([0x66, 0xFF]), key: "k")
            #expect(throws: Status.conversionError) { _ = try keychain.get("k") }
            #expect(throws: Status.conversionError) { _ = try keychain.getString("k") }
            #expect(keychain["k"] == nil && keychain[data: "k"] == Data([0x66, 0xFF]))
        }

        @Test("has subscripts that get, set and remove")
        func subscripts() throws {
            keychain["a"] = "1"
            keychain[string: "b"] = "2"
            keychain[data: "c"] = Data([3])
            #expect(keychain["a"] == "1" && keychain[string: "b"] == "2" && keychain[data: "c"] == Data([3]))
            #expect(keychain[string: "a"] == "1" && keychain[data: "a"] == Data("1".utf8))
            #expect(keychain[attributes: "a"]?.account == "a" && keychain[attributes: "z"] == nil)
            keychain["a"] = nil
            keychain[string: "b"] = nil
            keychain[data: "c"] = nil
            #expect(keychain.allKeys().isEmpty && keychain["a"] == nil && keychain[data: "c"] == nil)
        }

        @Test("knows what it contains, and removes all of its own only")
        func containing() throws {
            let other = Keychain(service: "other")
            try keychain.set("1", key: "a")
            try keychain.set("2", key: "b")
            try other.set("3", key: "a")
            #expect(try keychain.contains("a") && keychain.contains("a", withoutAuthenticationUI: true))
            #expect(try !keychain.contains("z") && !keychain.contains("z", withoutAuthenticationUI: true))
            try keychain.removeAll()
            #expect(try !keychain.contains("a") && !keychain.contains("b") && other.get("a") == "3")
            try keychain.removeAll()
        }

        @Test("treats items of other groups and synchronizable ones as other items")
        func otherItems() throws {
            let group = Keychain(service: "s", accessGroup: "g")
            let cloud = keychain.synchronizable(true)
            try Keychain(service: "s", accessGroup: "").set("default", key: "k")
            try group.set("group", key: "k")
            try cloud.set("cloud", key: "c", ignoringAttributeSynchronizable: false)
            try keychain.set("here", key: "c", ignoringAttributeSynchronizable: false)
            #expect(try keychain.get("k") == "default" && group.get("k") == "group")
            #expect(try cloud.get("c", ignoringAttributeSynchronizable: false) == "cloud")
            #expect(try keychain.getString("c", ignoringAttributeSynchronizable: false) == "here")
            #expect(try keychain.getData("c", ignoringAttributeSynchronizable: false) == Data("here".utf8))
            #expect(try keychain.get("c", ignoringAttributeSynchronizable: false) { $0?.synchronizable } == false)
            #expect(try cloud.get("c", ignoringAttributeSynchronizable: false) { $0?.synchronizable } == true)
            #expect(Set(keychain.allKeys()) == ["k", "c"] && keychain.allKeys().count == 4)
            // Both are there: each changes its own.
            try cloud.set("cloud 2", key: "c")
            try keychain.set("here 2", key: "c")
            #expect(try cloud.get("c", ignoringAttributeSynchronizable: false) == "cloud 2")
            #expect(try keychain.get("c", ignoringAttributeSynchronizable: false) == "here 2")
            try keychain.remove("c", ignoringAttributeSynchronizable: false)
            #expect(try cloud.get("c") == "cloud 2")
            // The other one is all there is: it becomes this one.
            try keychain.set("moved", key: "c")
            #expect(try cloud.get("c", ignoringAttributeSynchronizable: false) == nil && keychain.get("c") == "moved")
            try keychain.remove("c")
            try group.removeAll()
            #expect(try keychain.get("k") == "default")
        }

        @Test("sees at once what somebody else changes in the vault")
        func otherHandle() throws {
            try keychain.set("1", key: "k")
            let other = try openVault(used.path)
            try other.set(.genericPassword(service: "s", account: "k"), secret: Secret(text: "2"))
            #expect(try keychain.get("k") == "2")
            try other.remove(.genericPassword(service: "s", account: "k"))
            #expect(try keychain.get("k") == nil && keychain.allKeys().isEmpty)
        }

        @Test("tells keys apart by their bytes, where Swift takes equivalent texts for one")
        func bytes() throws {
            keychain["\u{E9}"] = "composed"
            keychain["e\u{301}"] = "decomposed"
            #expect(
                keychain.allKeys().count == 2 && keychain["\u{E9}"] == "composed"
                    && keychain["e\u{301}"] == "decomposed")
            try keychain.label("\u{E9}").set("1", key: "k")
            #expect(
                SecItemCopyMatching(
                    [kSecClass as String: kSecClassGenericPassword, kSecAttrLabel as String: "\u{E9}"], nil)
                    == errSecSuccess)
            #expect(
                SecItemCopyMatching(
                    [kSecClass as String: kSecClassGenericPassword, kSecAttrLabel as String: "e\u{301}"], nil)
                    == errSecItemNotFound)
        }

        @Test("keeps the attributes that a new value does not name")
        func upsert() throws {
            try keychain.label("label").comment("comment").attributes([kSecAttrDescription as String: "description"])
                .set("1", key: "k")
            let made = try #require(keychain[attributes: "k"])
            try keychain.comment("another").set("2", key: "k")
            let attributes = try #require(keychain[attributes: "k"])
            #expect(
                attributes.label == "label" && attributes.comment == "another"
                    && attributes.attributeDescription == "description")
            #expect(attributes.creationDate == made.creationDate && attributes.persistentRef == made.persistentRef)
            #expect(keychain["k"] == "2" && keychain.allKeys() == ["k"])
        }

        @Test("gives every attribute of a generic password")
        func genericAttributes() throws {
            let before = Date(timeIntervalSinceNow: -1)
            try Keychain(service: "s", accessGroup: "g").accessibility(.whenUnlocked).label("l").comment("c")
                .attributes([
                    kSecAttrDescription as String: "d", kSecAttrCreator as String: "crea",
                    kSecAttrType as String: 0x7479_7065,
                    kSecAttrIsInvisible as String: true,
                    kSecAttrIsNegative as String: false, kSecAttrGeneric as String: Data([1, 2]),
                ]).set("secret", key: "k")
            let result = try keychain.get("k") { $0 }
            let all = try #require(result)
            #expect(
                all.class == kSecClassGenericPassword as String && all.data == Data("secret".utf8)
                    && all.ref == all.persistentRef)
            #expect(
                all.accessible == kSecAttrAccessibleWhenUnlocked as String && all.accessGroup == "g"
                    && all.synchronizable == false)
            #expect(
                all.accessControl?.protection == kSecAttrAccessibleWhenUnlocked as String
                    && all.accessControl?.flags == 0)
            #expect(all.attributeDescription == "d" && all.comment == "c" && all.label == "l" && all.creator == "crea")
            #expect(
                all.type == String(0x7479_7065) && all.isInvisible == true && all.isNegative == false
                    && all.generic == Data([1, 2]))
            #expect(
                all.account == "k" && all.service == "s" && all.server == nil && all.port == nil && all.protocol == nil)
            let now = Date(timeIntervalSinceNow: 1)
            for date in [all.creationDate, all.modificationDate] {
                #expect(try #require(date) > before && #require(date) < now)
            }
            #expect(
                all[kSecAttrAccount as String] as? String == "k"
                    && all[kSecValueData as String] as? Data == Data("secret".utf8)
                    && all["zzzz"] == nil)
            #expect(
                !all.description.contains("secret") && all.debugDescription == all.description
                    && all.description.contains("acct"))
            #expect(try keychain.get("z") { $0 == nil })
        }

        @Test("gives every attribute of an internet password")
        func internetAttributes() throws {
            let keychain = Keychain(
                server: "https://github.com:8443", protocolType: .https, authenticationType: .htmlForm)
            try keychain.attributes([kSecAttrSecurityDomain as String: "domain", kSecAttrPath as String: "/path"]).set(
                "secret", key: "ann")
            let all = try #require(keychain[attributes: "ann"])
            #expect(
                all.class == kSecClassInternetPassword as String && all.account == "ann" && all.server == "github.com"
                    && all.port == 8443)
            #expect(
                all.protocol == kSecAttrProtocolHTTPS as String
                    && all.authenticationType == kSecAttrAuthenticationTypeHTMLForm as String)
            #expect(all.securityDomain == "domain" && all.path == "/path" && all.service == nil)
            // Other servers, ports, protocols and kinds of authentication are other places.
            for other in [
                Keychain(server: "https://github.org:8443", protocolType: .https, authenticationType: .htmlForm),
                Keychain(server: "https://github.com:443", protocolType: .https, authenticationType: .htmlForm),
                Keychain(server: "https://github.com:8443", protocolType: .http, authenticationType: .htmlForm),
                Keychain(server: "https://github.com:8443", protocolType: .https),
            ] { #expect(try other.get("ann") == nil) }
            // Without a port, of any port.
            #expect(
                try Keychain(server: "https://github.com", protocolType: .https, authenticationType: .htmlForm).get(
                    "ann") == "secret")
        }

        @Test("stores internet passwords by the words that the command and other programs use")
        func words() throws {
            // A text without a scheme is a server, and not all of them.
            for server in ["one.example", "two.example"] {
                try Keychain(server: server, protocolType: .https).set(server, key: "eve")
            }
            #expect(try Keychain(server: "one.example", protocolType: .https).get("eve") == "one.example")
            #expect(try Keychain(server: "https://two.example", protocolType: .https).get("eve") == "two.example")
            for server in ["one.example", "two.example"] {
                try Keychain(server: server, protocolType: .https).removeAll()
            }
            try Keychain(server: "https://example.org", protocolType: .https).set("1", key: "ann")
            let key = try ItemKey.internetPassword(server: "example.org", account: "ann", protocol: "https")
            #expect(try used.vault.item(key) != nil)
            let imported = try ItemKey.internetPassword(
                server: "example.org", account: "bob", protocol: "smtp", port: 25)
            try used.vault.add(imported, secret: Secret(text: "2"))
            #expect(try Keychain(server: "smtp://example.org:25", protocolType: .smtp).get("bob") == "2")
        }

        @Test("refuses attributes that it cannot store, when it stores")
        func wrongAttributes() throws {
            fails(.noSuchAttr, saying: "zzzz") { try keychain.attributes(["zzzz": 1]).set("1", key: "k") }
            fails(.noSuchAttr) {
                try keychain.attributes([kSecAttrServer as String: "x"]).label("l").set("1", key: "k")
            }
            fails(.param) { try keychain.attributes([kSecAttrLabel as String: 3.5]).set("1", key: "k") }
            #expect(try keychain.attributes(["zzzz": 1]).get("k") == nil)
            // What comes later wins, over all others.
            try keychain.label("a").attributes([kSecAttrLabel as String: "b"]).attributes([kSecAttrLabel as String: "c"]
            ).label("d").set(
                "1", key: "k")
            #expect(keychain[attributes: "k"]?.label == "c")
        }

        @Test("makes passwords of twelve characters that are not confused")
        func generate() {
            let sets = ["abcdefghkmnopqrstuvwxy", "ABCDEFGHJKLMNPQRSTUVWXYZ", "3456789"]
            var seen: Set<String> = []
            var used: Set<Character> = []
            for _ in 0..<500 {
                let password = Keychain.generatePassword()
                #expect(password.wholeMatch(of: /[A-Za-z3-9]{3}(-[A-Za-z3-9]{3}){3}/) != nil)
                let characters = password.filter { $0 != "-" }
                for set in sets { #expect(characters.contains { set.contains($0) }) }
                #expect(characters.allSatisfy { sets.joined().contains($0) })
                seen.insert(password)
                used.formUnion(characters)
            }
            #expect(seen.count == 500 && used == Set(sets.joined()))
        }
    }
}
