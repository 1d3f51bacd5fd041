import Foundation
import KeychainAccess
import SecItem
import Testing
import VaultAge
import VaultFmt

extension KeychainTests {
    @Suite("A vault that an age identity opens")
    struct RecipientTests {
        @Test("serves the Keychain's calls, as Docs/recipients.md says")
        func configured() throws {
            let used = try Used()
            let identity = X25519Identity.generate()
            try used.vault.addSlot(try Factors(external: AgeFactor(recipients: [identity.recipient])))
            try used.vault.add(.genericPassword(service: "s", account: "k"), secret: Secret(text: "s3cret"))

            guard case .identities(let all) = try IdentityFile.read(identity.text) else { throw Status.param }
            let identities = all.compactMap { if case .native(let identity) = $0 { identity } else { nil } }
            var options = OpenOptions()
            options.writable = true
            let factors = try Factors(external: AgeFactor(identities: identities))
            used.use(try Vault.open(used.path, factors: factors, options: options))
            let keychain = Keychain(service: "s")
            #expect(try keychain.getString("k") == "s3cret")
            try keychain.set("another", key: "k")
            let query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecReturnData: true]
            var found: CFTypeRef?
            #expect(SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess)
            #expect(found as? Data == Data("another".utf8))
        }
    }
}
