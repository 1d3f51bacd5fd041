import Foundation
import KeychainAccess
import SecItem
import Testing

/// One call as public code writes it, and whether afterwards holds what the program relies on.
struct Idiom: Sendable, CustomTestStringConvertible {
    /// What the program does and relies on.
    let what: String
    /// Where calls of this shape were seen: repository and path. The code here is our own.
    let seen: String
    /// Does it in an empty vault.
    let holds: @Sendable (Used) throws -> Bool

    init(_ what: String, seen: String, _ holds: @escaping @Sendable (Used) throws -> Bool) {
        self.what = what
        self.seen = seen
        self.holds = holds
    }

    var testDescription: String { "\(what) (\(seen))" }

    static let all = storing + replacing + reading + listing + protecting + spelling
}

extension KeychainTests {
    @Suite("Calls of public code")
    struct IdiomTests {
        @Test("do what the program relies on (D5, D6, K1, K2, K3)", arguments: Idiom.all)
        func idiom(_ idiom: Idiom) throws {
            let used = try Used(device: .random())
            #expect(try idiom.holds(used), "\(idiom.what); last failure: \(SecItemVault.lastFailure ?? "none")")
            SecItemVault.setAuthentication(nil)
        }

        @Test("are at least 60, each with where it was seen")
        func count() {
            #expect(Idiom.all.count >= 60 && Set(Idiom.all.map(\.what)).count == Idiom.all.count)
            #expect(Idiom.all.allSatisfy { $0.seen.contains("/") || $0.seen.contains("Apple") })
        }
    }
}

// What rows share.

func bytes(_ text: String) -> Data { Data(text.utf8) }

func text(_ result: AnyObject?) -> String? { (result as? Data).map { String(decoding: $0, as: UTF8.self) } }

/// A query for a generic password.
func generic(_ account: String, service: String? = nil, _ more: [String: Any] = [:]) -> [String: Any] {
    var query: [String: Any] = [kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: account]
    query[kSecAttrService as String] = service
    return query.merging(more) { $1 }
}

/// The secret that a program would read, by the other API.
func stored(_ account: String, service: String = "") -> String? {
    Keychain(service: service)[data: account].map { String(decoding: $0, as: UTF8.self) }
}

/// How many items there are, whether synchronizable or not.
func count(of itemClass: CFString = kSecClassGenericPassword) -> Int {
    var result: CFTypeRef?
    let query =
        [
            kSecClass: itemClass, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
            kSecAttrSynchronizable: kSecAttrSynchronizableAny,
        ] as CFDictionary
    return SecItemCopyMatching(query, &result) == errSecSuccess ? (result as? [Any])?.count ?? -1 : 0
}

/// Adds items with the secret `secret NAME`.
func add(_ accounts: String..., service: String = "") {
    for account in accounts {
        _ = SecItemAdd(
            generic(account, service: service, [kSecValueData as String: bytes("secret \(account)")]) as CFDictionary,
            nil)
    }
}
