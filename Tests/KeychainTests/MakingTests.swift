import Foundation
import KeychainAccess
import Testing

extension KeychainTests {
    @Suite("A Keychain as it is made")
    struct MakingTests {
        @Test("is for generic passwords of a service, by default of this program")
        func generic() {
            let plain = Keychain()
            #expect(
                plain.itemClass == .genericPassword && plain.service == ProcessInfo.processInfo.processName
                    && !plain.service.isEmpty)
            #expect(plain.accessGroup == nil && plain.accessibility == .afterFirstUnlock && !plain.synchronizable)
            #expect(
                plain.label == nil && plain.comment == nil && plain.authenticationPolicy == nil
                    && plain.authenticationPrompt == nil)
            #expect(
                plain.authenticationUI == .allow && plain.authenticationContext == nil
                    && plain.authenticationType == .default)
            #expect(Keychain(service: "s").service == "s")
            let group = Keychain(accessGroup: "g")
            #expect(group.service == plain.service && group.accessGroup == "g")
            let both = Keychain(service: "s", accessGroup: "g")
            #expect(both.service == "s" && both.accessGroup == "g")
        }

        @Test("is for internet passwords of a server")
        func internet() throws {
            let url = try #require(URL(string: "https://github.com:8443"))
            for keychain in [
                Keychain(
                    server: "https://github.com:8443", protocolType: .https, accessGroup: "g",
                    authenticationType: .htmlForm),
                Keychain(server: url, protocolType: .https, accessGroup: "g", authenticationType: .htmlForm),
            ] {
                #expect(
                    keychain.itemClass == .internetPassword && keychain.server == url && keychain.protocolType == .https
                )
                #expect(
                    keychain.accessGroup == "g" && keychain.authenticationType == .htmlForm && keychain.service.isEmpty)
            }
            let plain = Keychain(server: url, protocolType: .http)
            #expect(plain.accessGroup == nil && plain.authenticationType == .default)
        }

        @Test("is made anew by each of its chainable functions, and stays what it was")
        func chain() {
            let context = NSObject()
            let first = Keychain(service: "s")
            let all = first.accessibility(.whenUnlocked).synchronizable(true).label("l").comment("c").attributes([
                "desc": "d"
            ])
            .authenticationPrompt("p").authenticationUI(.skip).authenticationContext(context)
            #expect(all.accessibility == .whenUnlocked && all.synchronizable && all.label == "l" && all.comment == "c")
            #expect(
                all.authenticationPrompt == "p" && all.authenticationUI == .skip
                    && all.authenticationContext === context)
            #expect(all.service == "s" && all.label("m").authenticationContext === context)
            let policy = first.accessibility(
                .whenUnlockedThisDeviceOnly, authenticationPolicy: [.userPresence, .or, .devicePasscode])
            #expect(policy.accessibility == .whenUnlockedThisDeviceOnly)
            #expect(policy.authenticationPolicy == [.userPresence, .or, .devicePasscode])
            #expect(
                first.accessibility == .afterFirstUnlock && first.label == nil && first.authenticationContext == nil)
        }
    }
}
