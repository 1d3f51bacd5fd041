import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

/// A provider of the tests' own: it masks the key with a recipient's 32 bytes, which are also the identity that finds
/// it again.
struct TestProvider: SlotFactor {
    var provider = "example.org/test"
    var recipient = [UInt8](repeating: 5, count: 32)
    /// What it unmasks with; nil for somebody who knows the recipient only.
    var identity: [UInt8]? = [UInt8](repeating: 5, count: 32)
    /// Wrong candidates that it offers before the right one.
    var decoys = 0
    var parameterBytes = 32
    var keyBytes = 32
    var rewraps = true

    /// The same without an identity.
    var recipientOnly: TestProvider {
        var other = self
        other.identity = nil
        return other
    }

    func wrap(for slot: SlotPlace) throws(VaultError) -> WrappedKey {
        Self.wrapped(recipient, parameterBytes, keyBytes)
    }

    func rewrap(ownersData: [UInt8], for slot: SlotPlace) throws(VaultError) -> WrappedKey? {
        rewraps ? Self.wrapped(ownersData, parameterBytes, keyBytes) : nil
    }

    private static func wrapped(_ recipient: [UInt8], _ size: Int, _ keyBytes: Int) -> WrappedKey {
        let key = Secret.random(count: keyBytes)
        var parameters = zip(key.withUnsafeBytes { Array($0) }, recipient).map { $0 ^ $1 }
        parameters += [UInt8](repeating: 0, count: max(0, size - parameters.count))
        return WrappedKey(parameters: parameters, ownersData: recipient, key: key)
    }

    func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError) {
        guard let identity else { return }
        for (index, slot) in slots.enumerated() {
            for decoy in 0..<decoys {
                try candidates.add(Secret(bytes: [UInt8](repeating: UInt8(decoy), count: 32)), for: index)
            }
            try candidates.add(Secret(bytes: zip(slot.parameters, identity).map { $0 ^ $1 }), for: index)
        }
    }
}

@Suite("A slot with an external key")
struct ExternalKeyTests {
    private let memory = InMemory()
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    private func filled() throws -> Vault {
        let vault = try memory.create()
        try vault.put(key, "x")
        return vault
    }

    private func opens(_ provider: TestProvider, passphrase: String? = nil) -> Bool {
        do {
            let factors = try Factors(external: provider, passphrase: passphrase.map { Secret(text: $0) })
            return try memory.open(with: factors).text(key) == "x"
        } catch { return false }
    }

    @Test("opens with the identity, alone or together with a passphrase, and with nothing less (R-3.10)")
    func opening() throws {
        let vault = try filled()
        let provider = TestProvider()
        try vault.addSlot(try Factors(external: provider), name: "token")
        let both = try Factors(external: provider, passphrase: Secret(text: "pw"))
        try vault.addSlot(both, cost: .testing, name: "both", allowWeak: true)
        let slots = try vault.slots()
        #expect(slots.map(\.factors) == [.rawKey, .externalKey, [.externalKey, .passphrase]])
        #expect(slots.map(\.provider) == [nil, provider.provider, provider.provider])
        #expect(slots.map(\.strength) == [.ofKey, .ofKey, .stretched(.testing)])
        #expect(slots[1].factors.description == "external key" && slots.allSatisfy(\.isKnown))
        #expect(opens(provider) && opens(provider, passphrase: "pw"))
        #expect(
            !opens(provider, passphrase: "pW") && !opens(provider.recipientOnly)
                && !opens(provider.recipientOnly, passphrase: "pw"))
        var other = provider
        other.provider = "example.org/other"
        #expect(!opens(other) && !opens(other, passphrase: "pw"))
        other = provider
        other.identity = [UInt8](repeating: 6, count: 32)
        #expect(!opens(other))
        fails(.noSlotOpens) { _ = try memory.open(with: try Fast.factors("pw")) }
        fails(.invalidArgument, "open the full slot \"token\"") { try vault.addSlot(try Factors(external: provider)) }
        try expectSound(vault)
    }

    @Test("is tried with sixteen candidates, and no more")
    func candidates() throws {
        let vault = try filled()
        var provider = TestProvider()
        try vault.addSlot(try Factors(external: provider))
        provider.decoys = 15
        #expect(opens(provider))
        provider.decoys = 16
        #expect(!opens(provider))
    }

    @Test("has parameters and owners' data of at most 16,384 bytes, and a key of 32 (R-11.2)")
    func limits() throws {
        let vault = try filled()
        let before = try memory.bytes()
        var provider = TestProvider()
        provider.parameterBytes = 16_385
        fails(.limitExceeded) { try vault.addSlot(try Factors(external: provider)) }
        provider = TestProvider(recipient: [UInt8](repeating: 5, count: 16_385))
        fails(.limitExceeded) { try vault.addSlot(try Factors(external: provider)) }
        provider = TestProvider(keyBytes: 31)
        fails(.invalidArgument) { try vault.addSlot(try Factors(external: provider)) }
        for name in ["", "with space", String(repeating: "n", count: 65), "é"] {
            fails(.invalidArgument) { _ = try Factors(external: TestProvider(provider: name)) }
        }
        #expect(try memory.bytes() == before)
        provider = TestProvider(
            provider: String(repeating: "n", count: 64), recipient: [UInt8](repeating: 5, count: 16_384))
        provider.parameterBytes = 16_384
        try vault.addSlot(try Factors(external: provider))
        #expect(opens(provider))
        // The header has grown, and the whole file with it.
        #expect(try memory.bytes().count > 2 * 36_864)
        try expectSound(vault)
    }

    @Test("keeps the provider's data when its name changes, and gets it when its factors do (R-3.15)")
    func changes() throws {
        let vault = try filled()
        let provider = TestProvider()
        let id = try vault.addSlot(try Factors(external: provider), name: "token").id
        try vault.renameSlot(id, to: "key ring")
        #expect(opens(provider))
        let other = TestProvider(
            recipient: [UInt8](repeating: 9, count: 40), identity: [UInt8](repeating: 9, count: 32))
        let before = try #require(try vault.keyring.slots.first { $0.id == id.bytes })
        #expect(try vault.changeFactors(of: id, to: try Factors(external: other)).id == id)
        #expect(!opens(provider) && opens(other))
        #expect(try vault.slots()[1].name == "key ring")
        let now = try #require(try vault.keyring.slots.first { $0.id == id.bytes })
        #expect(now.made == before.made && now.changed.revision > before.changed.revision)
        try expectSound(vault)
    }

    @Test("that is scoped gets new keys without its identity (R-3.15)")
    func scoped() throws {
        let vault = try filled()
        let provider = TestProvider()
        try vault.addSlot(try Factors(external: provider), grantedGroups: [""])
        let other = try vault.addSlot(try Fast.rawKey(9), grantedGroups: [""]).id
        #expect(opens(provider))
        try vault.removeSlot(other)
        #expect(opens(provider))
        try expectSound(vault)
    }

    @Test(
        "stays through a rotation if its identity is given, or its provider makes it again; else it is named (R-3.16)")
    func rotation() throws {
        let vault = try filled()
        let provider = TestProvider()
        let other = TestProvider(provider: "example.org/other")
        let ids = try [
            vault.addSlot(try Factors(external: provider), name: "identity").id,
            vault.addSlot(try Factors(external: other), name: "recipient").id,
            vault.addSlot(try Factors(external: TestProvider(provider: "gone")), name: "gone").id,
        ]
        var rotation = try vault.rotation()
        try rotation.keep(try Fast.rawKey())
        #expect(try rotation.keep(try Factors(external: provider)) == ids[0])
        try rotation.keep(ids[1], madeAgainBy: other.recipientOnly)
        fails(.invalidArgument) { try rotation.keep(ids[0], madeAgainBy: other) }
        #expect(rotation.dropped.map(\.name) == ["gone"])
        let report = try rotation.run()
        #expect(report.dropped.map(\.name) == ["gone"])
        #expect(opens(provider) && opens(other) && !opens(TestProvider(provider: "gone")))
        #expect(try vault.slots().map(\.id).dropFirst() == ids.prefix(2), "slots are made again under their ids")
        #expect(try Set(vault.keyring.slots.map(\.id)) == Set(vault.rawSlots.map(\.id)))
        // A provider that cannot.
        rotation = try vault.rotation()
        try rotation.keep(try Fast.rawKey())
        var unable = provider
        unable.rewraps = false
        try rotation.keep(try Factors(external: unable))
        #expect(try rotation.run().dropped.map(\.name) == ["identity", "recipient"])
        try expectSound(vault)
    }
}
