import Foundation
import KeychainAccess
import SecItem
import Testing
import VaultFmt

extension KeychainTests {
    @Suite("What a vault protects through the Keychain's API")
    struct ProtectionTests {
        private let keychain = Keychain(service: "s")

        @Test("locking closes items that are accessible when unlocked, and no others")
        func lock() throws {
            let used = try Used(device: Device.random())
            for accessibility in KeychainAccess.Accessibility.allCases {
                try keychain.accessibility(accessibility).set(accessibility.description, key: accessibility.description)
            }
            let open: Set<KeychainAccess.Accessibility> = [
                .afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly,
            ]
            try Keychain.lock()
            #expect(keychain.allKeys().count == 7)
            for accessibility in KeychainAccess.Accessibility.allCases {
                let key = accessibility.description
                if open.contains(accessibility) {
                    #expect(try keychain.get(key) == key)
                } else {
                    fails(.interactionNotAllowed, saying: "locked") { _ = try keychain.get(key) }
                    #expect(try keychain.contains(key) && keychain[key] == nil)
                }
            }
            fails(.interactionNotAllowed, saying: "locked") { try keychain.set("1", key: "new") }
            fails(.interactionNotAllowed) { try keychain.remove("Always") }
            #expect(SecItemAdd([kSecClass as String: kSecClassKey], nil) == errSecInteractionNotAllowed)
            // The program gave the vault, so the program unlocks it.
            fails(.param, saying: "set by the program") { try Keychain.unlock() }
            #expect(SecItemVault.unlock() == errSecParam)
            try used.vault.unlock(try rawKey())
            for accessibility in KeychainAccess.Accessibility.allCases {
                #expect(keychain[accessibility.description] != nil)
            }
            #expect(SecItemVault.lock() == errSecSuccess && used.vault.isLocked)
            #expect(try Keychain.vault === used.vault)
        }

        @Test("items of this device only need the device's secret")
        func device() throws {
            let device = Device.random()
            let contents = device.fileContents()
            let used = try Used(device: device)
            let bound = keychain.accessibility(.afterFirstUnlockThisDeviceOnly)
            try bound.set("bound", key: "b")
            try keychain.set("free", key: "f")
            #expect(
                try keychain.get("b") == "bound"
                    && keychain[attributes: "b"]?.accessible == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
                        as String
            )
            for other in [try openVault(used.path), try openVault(used.path, device: Device.random())] {
                used.use(other)
                fails(.dataNotAvailable, saying: "device") { _ = try keychain.get("b") }
                #expect(try keychain.get("f") == "free" && keychain.allKeys() == ["b", "f"])
            }
            used.use(try openVault(used.path))
            fails(.dataNotAvailable, saying: "device") { try bound.set("new", key: "n") }
            used.use(try openVault(used.path, device: try Device(fileContents: contents)))
            #expect(try keychain.get("b") == "bound")
        }

        @Test("a scoped slot reads its groups, lists the others, and is refused their secrets and every change")
        func scoped() throws {
            let used = try Used()
            let ci = Keychain(service: "s", accessGroup: "ci")
            let home = Keychain(service: "s", accessGroup: "home")
            try ci.set("ci secret", key: "k")
            try home.set("home secret", key: "h")
            _ = try used.vault.addSlot(try rawKey(9), name: "ci", grantedGroups: ["ci"])
            used.use(try openVault(used.path, key: 9))
            #expect(try ci.get("k") == "ci secret" && ci[attributes: "k"]?.data == Data("ci secret".utf8))
            #expect(Set(keychain.allKeys()) == ["k", "h"] && home.allItems().count == 1)
            #expect(try home.contains("h") && home.get("h", handler: { _ in 1 }, orStatus: .authFailed) == nil)
            fails(.authFailed, saying: "home") { _ = try home.get("h") }
            #expect(home["h"] == nil && home[data: "h"] == nil && home[attributes: "h"] == nil)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: used.path))
            fails(.authFailed, saying: "'ci'") { try ci.set("changed", key: "k") }
            fails(.authFailed, saying: used.path) { try home.set("new", key: "n") }
            fails(.authFailed) { try ci.remove("k") }
            fails(.authFailed) { try home.removeAll() }
            try ci.remove("nothing")
            ci["k"] = "changed"
            ci["k"] = nil
            let group: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrAccessGroup as String: "home",
            ]
            #expect(
                SecItemCopyMatching(group.merging([kSecReturnData as String: true]) { $1 } as CFDictionary, nil)
                    == errSecAuthFailed)
            #expect(
                SecItemCopyMatching(group.merging([kSecReturnAttributes as String: true]) { $1 } as CFDictionary, nil)
                    == errSecSuccess)
            #expect(
                SecItemAdd(group as CFDictionary, nil) == errSecAuthFailed
                    && SecItemUpdate(group as CFDictionary, [kSecAttrLabel as String: "x"]) == errSecAuthFailed)
            #expect(SecItemDelete(group as CFDictionary) == errSecAuthFailed)
            #expect(try Data(contentsOf: URL(fileURLWithPath: used.path)) == bytes)
            #expect(
                used.said.all.allSatisfy { $0.contains("'\(used.path)'") }
                    && !used.said.all.joined().contains("secret\""))
            // Opened for reading only, as a file of somebody else's is, it is refused in the same words.
            used.use(try openVault(used.path, key: 9, writable: false))
            fails(.authFailed, saying: "'ci'") { try ci.set("changed", key: "k") }
        }

        @Test("says why in one line, whatever stands in names that other people wrote")
        func names() throws {
            let used = try Used()
            let group = Keychain(service: "s", accessGroup: "a\n\u{1B}[2Jb\u{202E}")
            try group.set("1", key: "k")
            _ = try used.vault.addSlot(try rawKey(9), grantedGroups: [])
            used.use(try openVault(used.path, key: 9))
            fails(.authFailed, saying: "a\\n\\u{1b}[2Jb\\u{202e}") { _ = try group.get("k") }
            #expect(used.said.all.count == 1 && used.said.all[0] == Keychain.lastFailure)
        }

        @Test("attributes that are sealed with the secret are not seen without its key")
        func sealedAttributes() throws {
            let used = try Used()
            let home = Keychain(service: "s", accessGroup: "home").comment(String(repeating: "x", count: 300)).label(
                "label")
            try home.set("1", key: "k")
            _ = try used.vault.addSlot(try rawKey(9), grantedGroups: [])
            #expect((home.debugDescription.contains("xxx")))
            used.use(try openVault(used.path, key: 9))
            #expect(home.debugDescription.contains("label") && !home.debugDescription.contains("xxx"))
        }

        @Test("an attribute of any size is stored, found by and returned, and is not seen without its secret's key")
        func largeAttributes() throws {
            let used = try Used()
            let long = String(repeating: "x", count: 50_000)
            try Keychain(service: "s").comment(long).set("1", key: "k")
            try Keychain(service: "s").set("2", key: "l")
            let query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrComment as String: long]
            let both: [String: Any] = [kSecReturnAttributes as String: true, kSecReturnData as String: true]
            var result: CFTypeRef?
            #expect(SecItemCopyMatching(query.merging(both) { $1 } as CFDictionary, &result) == errSecSuccess)
            let found = result as? [String: Any]
            #expect(found?[kSecAttrComment as String] as? String == long)
            #expect(found?[kSecValueData as String] as? Data == Data("1".utf8))
            #expect(try Keychain(service: "s").get("k") { $0?.comment } == long)
            let change: [String: Any] = [kSecAttrComment as String: "short"]
            #expect(SecItemUpdate(query as CFDictionary, change as CFDictionary) == errSecSuccess)
            #expect(try Keychain(service: "s").get("k") { $0?.comment } == "short")
            try Keychain(service: "s").comment(long).set("1", key: "k")
            _ = try used.vault.addSlot(try rawKey(9), grantedGroups: [])
            used.use(try openVault(used.path, key: 9))
            #expect(!Keychain(service: "s").debugDescription.contains("xxx"))
        }
    }
}

extension Keychain {
    /// Nil where `get` throws this status.
    fileprivate func get<T>(_ key: String, handler: (KeychainAccess.Attributes?) -> T, orStatus status: Status) throws
        -> T?
    {
        do { return try get(key, handler: handler) } catch let thrown as Status where thrown == status { return nil }
    }
}
