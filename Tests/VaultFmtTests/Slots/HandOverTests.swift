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
            anchors.append(try vault.anchor)
            try vault.rotate()
            #expect(vault.owners != anchors[number].owners)
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

    @Test("do not cover what was done under the old key after it was handed over: the copy has forked (R-7.6)")
    func oldBranch() throws {
        let vault = try memory.create()
        try vault.put(key, "0")
        try memory.copy(to: "old.vault")
        try vault.put(key, "1")
        let last = try vault.anchor
        try vault.rotate()
        // Somebody with the old key goes on from an older copy, past the state that handed over.
        let old = try memory.open("old.vault")
        #expect(try vault.verdict(on: old.anchor) == .descends, "what the copy has was handed over")
        try old.put(key, "2")
        let sideways = try old.anchor
        try old.put(key, "3")
        let beyond = try old.anchor
        #expect(try vault.verdict(on: last) == .descends)
        #expect(try vault.verdict(on: sideways) == .forked && vault.verdict(on: beyond) == .forked)
        #expect(try old.verdict(on: vault.anchor) == .foreign && old.verdict(on: last) == .forked)
        // A copy of the vault under another key, with the same id.
        try expectSound(old)
    }

    @Test("are checked with their signatures: one that was altered leads nowhere (R-7.8), and the order is the file's")
    func forged() throws {
        let vault = try memory.create()
        try vault.put(key, "x")
        let first = try vault.anchor
        try vault.rotate()
        let second = vault.owners.value
        try vault.rotate()
        let listed = try vault.keyring.handOvers
        #expect(HandOver.precedes(listed[0], listed[1]))
        let handOvers = listed[0].publicKey == first.owners.value ? listed : listed.reversed()
        let (vaultID, state, pages) = try vault.withCore { (core) throws(VaultError) in
            (core.store.vault, core.store.state, core.store.pages)
        }
        let current = vault.owners.value
        func verdict(_ handOvers: [HandOver]) throws -> Ancestry {
            var keyring = try vault.keyring
            keyring.handOvers = handOvers
            var all = HandOvers(keyring, of: state.commit, pages, current: current)
            return try all.verdict(on: first.point)
        }
        #expect(try verdict(handOvers) == .descends && verdict(handOvers.reversed()) == .descends)
        #expect(
            try verdict([]) == .foreign && verdict([handOvers[0]]) == .foreign && verdict([handOvers[1]]) == .foreign)
        for index in [0, 1] {
            var bad = handOvers
            var signature = bad[index].signature
            signature[3] ^= 1
            bad[index] = altered(bad[index], signature: signature)
            #expect(try verdict(bad) == .foreign)
            // The vector and the floor are signed too.
            bad[index] = altered(handOvers[index], vector: handOvers[1 - index].vector)
            #expect(try verdict(bad) == .foreign)
            bad[index] = altered(handOvers[index], floor: 1)
            #expect(try verdict(bad) == .foreign)
        }
        // A right signature under a key that is not the one that was replaced.
        let stranger = SigningKey(seed: Secret.random(count: 32))
        let vector = try pages.vector(of: handOvers[0], before: state.commit.keyring.offset).rows
        let made = HandOver.make(
            stranger, vault: vaultID, vector: vector, stored: handOvers[0].vector, next: second)
        #expect(try verdict([made, handOvers[1]]) == .foreign)
        let claimed = HandOver(
            publicKey: first.owners.value, next: second, vector: made.vector, floor: made.floor,
            signature: made.signature)
        #expect(try verdict([claimed, handOvers[1]]) == .foreign)
    }

    private func altered(
        _ handOver: HandOver, signature: [UInt8]? = nil, vector: ObjectRef? = nil, floor: UInt64? = nil
    ) -> HandOver {
        HandOver(
            publicKey: handOver.publicKey, next: handOver.next, vector: vector ?? handOver.vector,
            floor: floor ?? handOver.floor, signature: signature ?? handOver.signature)
    }

    @Test("do not count for a caller who insists on the owners' key (section 7.2)")
    func insisting() throws {
        let vault = try memory.create()
        try vault.put(key, "x")
        let before = vault.owners
        #expect(try open(owners: before).text(key) == "x")
        try vault.rotate()
        fails(.foreignOwner) { _ = try open(owners: before) }
        #expect(try open(owners: vault.owners).text(key) == "x")
        try vault.addSlot(try Fast.rawKey(9), grantedGroups: [""])
        #expect(
            try vault.owners == memory.open(with: try Fast.rawKey(9)).owners,
            "a scoped slot knows the same key")
    }
}
