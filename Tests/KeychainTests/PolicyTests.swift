import Foundation
import KeychainAccess
import SecItem
import Synchronization
import Testing

extension KeychainTests {
    @Suite("An item that somebody must agree to have read")
    struct PolicyTests {
        private let used: Used
        private let plain = Keychain(service: "s")
        private let guarded = Keychain(service: "s").accessibility(
            .whenUnlocked, authenticationPolicy: [.biometryAny, .or, .devicePasscode])

        init() throws { used = try Used() }

        /// What was asked, and how to answer.
        private final class Asked: Sendable {
            let answer: Atomic<Bool>
            let questions = Lines()

            init(answer: Bool = true) { self.answer = Atomic(answer) }

            func ask(_ request: AuthenticationRequest) -> Bool {
                let context = request.context as? String ?? "-"
                questions.add(
                    "\(request.place) \(request.key) \(request.policy.rawValue) \(request.prompt ?? "-") \(context)")
                return answer.load(ordering: .sequentiallyConsistent)
            }
        }

        @Test("cannot be stored where nobody can be asked")
        func nobody() throws {
            fails(.unimplemented, saying: "authentication") { try guarded.set("1", key: "k") }
            #expect(try !plain.contains("k"))
            try plain.set("1", key: "k")
            fails(.unimplemented) { try guarded.set("2", key: "k") }
            #expect(try plain.get("k") == "1")
            // No constraint at all asks nobody.
            try Keychain(service: "s").accessibility(.always, authenticationPolicy: []).set("3", key: "k")
            #expect(plain[attributes: "k"]?.accessible == kSecAttrAccessibleAlways as String && plain["k"] == "3")
        }

        @Test("is asked for by each reading of its secret, and by nothing else")
        func asking() throws {
            let asked = Asked()
            Keychain.authenticate = { asked.ask($0) }
            try guarded.set("secret", key: "k")
            try guarded.set("secret 2", key: "k")
            #expect(try plain.contains("k") && plain.allKeys() == ["k"] && plain.allItems().count == 1)
            #expect(asked.questions.all.isEmpty)
            #expect(try plain.get("k") == "secret 2")
            #expect(
                try plain.authenticationPrompt("Why?").authenticationContext("context" as AnyObject).getData("k") != nil
            )
            let policy = plain[attributes: "k"]?.accessControl
            #expect(
                policy?.flags == guarded.authenticationPolicy?.rawValue
                    && policy?.protection == kSecAttrAccessibleWhenUnlocked as String)
            let bits = (1 << 1) | (1 << 14) | (1 << 4)
            #expect(asked.questions.all == ["s k \(bits) - -", "s k \(bits) Why? context", "s k \(bits) - -"])
            #expect(Keychain.authenticate?(AuthenticationRequest.sample) == true && asked.questions.all.count == 4)
            asked.answer.store(false, ordering: .sequentiallyConsistent)
            fails(.authFailed, saying: "refused") { _ = try plain.get("k") }
            #expect(plain["k"] == nil && plain[attributes: "k"] == nil)
            Keychain.authenticate = nil
            #expect(Keychain.authenticate == nil)
            fails(.interactionNotAllowed, saying: "asked") { _ = try plain.get("k") }
            try plain.remove("k")
            #expect(try !plain.contains("k"))
        }

        @Test("fails or is skipped where the user may not be asked")
        func interaction() throws {
            let asked = Asked()
            Keychain.authenticate = { asked.ask($0) }
            try guarded.set("secret", key: "k")
            try plain.set("open", key: "o")
            let fail = plain.authenticationUI(.fail)
            let skip = plain.authenticationUI(.skip)
            fails(.interactionNotAllowed) { _ = try fail.get("k") }
            #expect(try skip.get("k") == nil && fail.get("o") == "open" && skip.get("o") == "open")
            #expect(try plain.authenticationUI(.allow).get("k") == "secret" && asked.questions.all.count == 1)
            #expect(
                try plain.contains("k", withoutAuthenticationUI: true)
                    && fail.contains("k", withoutAuthenticationUI: true))
            #expect(
                try !fail.contains("k") && !skip.contains("k") && !skip.contains("k", withoutAuthenticationUI: true))
            #expect(
                try fail.contains("o") && plain.contains("o", withoutAuthenticationUI: true)
                    && asked.questions.all.count == 1)
        }

        @Test("is asked for no more once it is stored without a policy")
        func ending() throws {
            let asked = Asked(answer: false)
            Keychain.authenticate = { asked.ask($0) }
            try guarded.set("1", key: "k")
            try plain.set("2", key: "k")
            #expect(try plain.get("k") == "2" && asked.questions.all.isEmpty)
        }

        @Test("is not lifted from a secret that stays, unless the user is asked")
        func lifting() throws {
            let asked = Asked()
            Keychain.authenticate = { asked.ask($0) }
            try guarded.set("1", key: "k")
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s",
                kSecAttrAccount as String: "k",
            ]
            let open: [String: Any] = [kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked]
            asked.answer.store(false, ordering: .sequentiallyConsistent)
            #expect(SecItemUpdate(query as CFDictionary, open as CFDictionary) == errSecAuthFailed)
            Keychain.authenticate = nil
            #expect(SecItemUpdate(query as CFDictionary, open as CFDictionary) == errSecInteractionNotAllowed)
            Keychain.authenticate = { asked.ask($0) }
            asked.answer.store(true, ordering: .sequentiallyConsistent)
            #expect(SecItemUpdate(query as CFDictionary, open as CFDictionary) == errSecSuccess)
            Keychain.authenticate = nil
            #expect(try plain.get("k") == "1")
        }

        @Test("is made with SecItem's access control too")
        func secItem() throws {
            let control = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAlways as CFTypeRef, .userPresence, nil))
            let item: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "s",
                kSecAttrAccount as String: "k",
                kSecAttrAccessControl as String: control,
                kSecValueData as String: Data("1".utf8),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecUnimplemented)
            let asked = Lines()
            SecItemVault.setAuthentication { request in
                asked.add(
                    "\(request.place) \(request.account) \(request.flags.rawValue) \(request.prompt ?? "-") \(request.context as? String ?? "-")"
                )
                return true
            }
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            var result: CFTypeRef?
            let query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecReturnData as String: true,
                kSecReturnAttributes as String: true,
                kSecUseOperationPrompt as String: "Why?",
                kSecUseAuthenticationContext as String: "context",
                kSecUseAuthenticationUI as String: kSecUseAuthenticationUIAllow,
            ]
            #expect(
                SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess
                    && asked.all == ["s k 1 Why? context"])
            #expect(((result as? [String: Any])?[kSecAttrAccessControl as String] as? SecAccessControl)?.flags == 1)
            #expect(
                SecItemCopyMatching(
                    query.merging([kSecUseAuthenticationUI as String: kSecUseAuthenticationUIFail]) { $1 }
                        as CFDictionary, nil)
                    == errSecInteractionNotAllowed)
            #expect(
                SecItemCopyMatching(
                    query.merging([kSecUseAuthenticationUI as String: kSecUseAuthenticationUISkip]) { $1 }
                        as CFDictionary, nil)
                    == errSecItemNotFound
            )
            // An access control in a query is not matched, as at Apple.
            let other = SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAlways, .devicePasscode, nil) as Any
            #expect(
                SecItemCopyMatching(query.merging([kSecAttrAccessControl as String: other]) { $1 } as CFDictionary, nil)
                    == errSecSuccess)
            SecItemVault.setAuthentication(nil)
            #expect(SecItemCopyMatching(query as CFDictionary, nil) == errSecInteractionNotAllowed)
            var error: Unmanaged<CFError>?
            #expect(SecAccessControlCreateWithFlags(nil, "never" as CFTypeRef, [], &error) == nil)
            let taken = error?.takeRetainedValue()
            #expect(taken?.domain == NSOSStatusErrorDomain && taken?.code == Int(errSecParam))
        }
    }
}

extension AuthenticationRequest {
    /// One that a program makes itself, to ask in its own name.
    static var sample: AuthenticationRequest { AuthenticationRequest(place: "s", key: "k", policy: .userPresence) }
}
