import Foundation
import SecItem
import Testing
import VaultFmt
import Wrappers

extension KeychainTests {
    @Suite("Wrappers of others")
    struct WrapperTests {
        private let used: Used

        init() throws { used = try Used(device: .random()) }

        @Test("that delete and add keep, replace, list and clear")
        func simpleStore() {
            let store = SimpleStore(keyPrefix: "app_")
            #expect(store.get("token") == nil && store.lastResultCode == errSecItemNotFound)
            #expect(store.set("1", forKey: "token") && store.set("2", forKey: "token") && store.get("token") == "2")
            #expect(store.set(true, forKey: "seen") && store.getBool("seen") == true && store.getBool("other") == nil)
            #expect(
                store.set(Data([0xFF]), forKey: "bytes") && store.get("bytes") == nil && store.lastResultCode == -67853)
            #expect(store.set("open", forKey: "later", withAccess: .afterFirstUnlock))
            #expect(store.allKeys.sorted() == ["app_bytes", "app_later", "app_seen", "app_token"])
            used.vault.lock()
            #expect(
                store.get("later") == "open" && store.get("token") == nil
                    && store.lastResultCode == errSecInteractionNotAllowed)
            #expect(!store.set("3", forKey: "token"))
        }

        @Test("that delete and add take references, groups and synchronizable items")
        func simpleStoreFurther() throws {
            let store = SimpleStore()
            store.set("1", forKey: "vpn")
            let reference = try #require(store.getData("vpn", asReference: true))
            var result: AnyObject?
            let query = [kSecValuePersistentRef: reference, kSecReturnData: true] as CFDictionary
            #expect(SecItemCopyMatching(query, &result) == noErr && result as? Data == Data("1".utf8))
            let group = SimpleStore()
            group.accessGroup = "TEAM.shared"
            #expect(group.get("vpn") == nil && group.set("2", forKey: "vpn") && group.get("vpn") == "2")
            let cloud = SimpleStore()
            cloud.synchronizable = true
            #expect(cloud.set("3", forKey: "cloud") && store.get("cloud") == nil && cloud.get("cloud") == "3")
            #expect(
                group.clear() && store.get("vpn") == "1" && cloud.clear() && cloud.allKeys.isEmpty && !store.clear())
        }

        @Test("that query with AnyHashable update, list and migrate")
        func safeBox() throws {
            let box = SafeBox(identifier: "app")
            #expect(box.canAccessKeychain() && box.canAccessKeychain())
            #expect(try box.allKeys().isEmpty && !box.containsObject(forKey: "k"))
            try box.setString("1", forKey: "k")
            try box.setString("2", forKey: "k")
            try box.setString("3", forKey: "l")
            #expect(
                try box.string(forKey: "k") == "2" && box.allKeys() == ["k", "l"] && box.containsObject(forKey: "l"))
            #expect(throws: SafeBoxError.itemNotFound) { try box.string(forKey: "m") }
            #expect(throws: SafeBoxError.emptyKey) { try box.setString("1", forKey: "") }
            // Another accessibility is another box.
            let later = SafeBox(identifier: "app", accessibility: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly)
            #expect(try later.allKeys().isEmpty)
            try box.removeObject(forKey: "l")
            try box.removeObject(forKey: "l")
            let old: [String: AnyHashable] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "legacy",
            ]
            for account in ["a", "b"] {
                var item = old
                item[kSecAttrAccount as String] = account
                item[kSecValueData as String] = Data(account.utf8)
                #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            }
            try later.migrateObjects(matching: old)
            #expect(try later.allKeys() == ["a", "b"] && later.string(forKey: "b") == "b")
            #expect(SecItemCopyMatching(old as CFDictionary, nil) == errSecItemNotFound)
            try box.removeAllObjects()
            used.vault.lock()
            #expect(try later.string(forKey: "a") == "a" && box.allKeys().isEmpty)
        }

        @Test("that query with an access control ask, and take no for an answer")
        func guardedBox() throws {
            let prompts = Lines()
            SecItemVault.setAuthentication { request in
                prompts.add(request.prompt ?? "none")
                return request.prompt != "no"
            }
            defer { SecItemVault.setAuthentication(nil) }
            let box = SafeBox(guarded: "app", by: .userPresence)
            try box.setString("1", forKey: "k")
            try box.setString("2", forKey: "k")
            #expect(try box.string(forKey: "k", withPrompt: "Unlock") == "2" && prompts.all == ["Unlock"])
            #expect(throws: SafeBoxError.userCancelled) { try box.string(forKey: "k", withPrompt: "no") }
            #expect(try box.containsObject(forKey: "k") && box.allKeys() == ["k"])
        }

        private struct Account: CreatableStorable, ReadableStorable, DeletableStorable {
            let service = "example"
            let account: String
            var data: [String: String] = [:]
            var label: String? = "Example"
            var creator: UInt? = 42
            var isInvisible: Bool? = true
            var generic: NSData? = NSData(data: Data([0, 255]))
            var accessible: CFString? = kSecAttrAccessibleAfterFirstUnlock
        }

        @Test("that are made of protocols create, read, update with the secret in the query, and delete")
        func storable() throws {
            var account = Account(account: "ann", data: ["token": "1"])
            #expect(account.read() == nil)
            #expect(throws: StorableError.notFound) { try account.delete() }
            try account.create()
            #expect(throws: StorableError.duplicate) { try account.create() }
            let first = try #require(account.read())
            #expect(
                first.data == ["token": "1"] && first.account == "ann" && first.label == "Example"
                    && first.creator == 42)
            #expect(first.isInvisible == true && first.generic == NSData(data: Data([0, 255])) && first.created != nil)
            account.data["token"] = "2"
            try account.update()
            #expect(account.read()?.data == ["token": "2"])
            used.vault.lock()
            #expect(account.read()?.data == ["token": "2"])
            try used.vault.unlock(try rawKey())
            try account.delete()
            #expect(account.read() == nil)
            // An update makes what is not there.
            try Account(account: "bob", data: ["token": "3"]).update()
            #expect(Account(account: "bob").read()?.data == ["token": "3"])
        }
    }
}
