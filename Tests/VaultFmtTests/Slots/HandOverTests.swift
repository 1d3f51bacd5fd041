import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

@Suite("Hand-overs")
struct HandOverTests {
    private let memory = InMemory()
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    private func open(owners: OwnersPublicKey? = nil, anchor: Anchor? = nil) throws -> Vault {
        var options = OpenOptions()
        options.owners = owners
        options.anchor = anchor
        return try Vault.open("a.vault", factors: try Fast.rawKey(), options: options, place: memory.place)
    }

    @Test("lead from every state before a rotation to those after it (R-7.8), through sixteen rotations and no more")
    func rotations() throws {
        let vault = try memory.create()
        var anchors: [Anchor] = []
        for number in 0..<18 {
            try vault.put(key, "\(number)")
            anchors.append(vault.anchor)
            try vault.rotate()
            #expect(vault.anchor.owners != anchors[number].owners)
        }
        #expect(try vault.keyring.handOvers.count == 16)
        for (number, anchor) in anchors.enumerated() {
            #expect(try vault.verdict(on: anchor) == (number < 2 ? .foreign : .descends), "rotation \(number)")
        }
        _ = try open(anchor: anchors[17])
        fails(.foreignOwner) { _ = try open(anchor: anchors[0]) }
        #expect(try vault.verdict(on: vault.anchor) == .same)
        try expectSound(vault)
    }

    @Test("do not lead from a state that went on under the old key after it was handed over")
    func oldBranch() throws {
        let vault = try memory.create()
        try vault.put(key, "0")
        try memory.copy(to: "old.vault")
        try vault.put(key, "1")
        let last = vault.anchor
        try vault.rotate()
        // Somebody with the old key goes on from an older copy, past the state that handed over.
        let old = try memory.open("old.vault")
        try old.put(key, "2")
        let sideways = old.anchor
        try old.put(key, "3")
        let beyond = old.anchor
        #expect(try vault.verdict(on: last) == .descends)
        #expect(try vault.verdict(on: sideways) == .foreign && vault.verdict(on: beyond) == .foreign)
        #expect(try old.verdict(on: vault.anchor) == .foreign && old.verdict(on: last) == .forked)
        // A copy of the vault under another key, with the same id.
        try expectSound(old)
    }

    @Test("are checked with their signatures: one that was altered or reordered leads nowhere (R-7.8)")
    func forged() throws {
        let vault = try memory.create()
        try vault.put(key, "x")
        let first = vault.anchor
        try vault.rotate()
        try vault.rotate()
        let handOvers = try vault.keyring.handOvers
        let (vaultID, state) = try vault.withCore { (core) throws(VaultError) in (core.store.vault, core.store.state) }
        func verdict(_ handOvers: [HandOver]) throws -> Ancestry {
            try vault.withCore { (core) throws(VaultError) in
                var keyring = core.store.keyring
                keyring.handOvers = handOvers
                let point = AnchorPoint(
                    generation: first.generation, chain: first.value, ownersPublicKey: first.owners.value)
                return try core.store.past.verdict(
                    on: point, state: state, keyring: keyring, ownersPublicKey: core.store.slot.keys.ownersPublicKey())
            }
        }
        #expect(try verdict(handOvers) == .descends)
        #expect(
            try verdict([]) == .foreign && verdict([handOvers[0]]) == .foreign && verdict([handOvers[1]]) == .foreign)
        #expect(try verdict(handOvers.reversed()) == .foreign)
        for index in [0, 1] {
            var bad = handOvers
            var signature = bad[index].signature
            signature[3] ^= 1
            bad[index] = HandOver(
                publicKey: bad[index].publicKey, generation: bad[index].generation, chain: bad[index].chain,
                signature: signature)
            #expect(try verdict(bad) == .foreign)
        }
        // A right signature of another state.
        let stranger = SigningKey(seed: Secret.random(count: 32))
        let made = HandOver.make(
            stranger, vault: vaultID, generation: handOvers[0].generation, chain: handOvers[0].chain,
            next: handOvers[1].publicKey)
        #expect(try verdict([made, handOvers[1]]) == .foreign)
    }

    @Test("do not count for a caller who insists on the owners' key (section 7.2)")
    func insisting() throws {
        let vault = try memory.create()
        try vault.put(key, "x")
        let before = vault.anchor.owners
        #expect(try open(owners: before).text(key) == "x")
        try vault.rotate()
        fails(.foreignOwner) { _ = try open(owners: before) }
        #expect(try open(owners: vault.anchor.owners).text(key) == "x")
        try vault.addSlot(try Fast.rawKey(9), grantedGroups: [""])
        #expect(
            vault.anchor.owners == (try memory.open(with: try Fast.rawKey(9)).anchor.owners),
            "a scoped slot knows the same key")
    }
}
