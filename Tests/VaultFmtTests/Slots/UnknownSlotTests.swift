import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// Slots of kinds and factors of a later version.
@Suite("A slot of an unknown kind or with unknown factors")
struct UnknownSlotTests {
    private let memory = InMemory()
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    private static let full = Slot.Kind.full
    private static let scoped = Slot.Kind.scoped
    private static let plain = Slot.Kind(rawValue: 0x05)
    private static let bound = Slot.Kind(rawValue: 0x85)

    /// A vault with one slot of each, as a later version would add them; and the wrapping keys of them.
    private func filled() throws -> (Vault, [Slot], [SecretBox]) {
        let vault = try memory.create()
        try vault.put(key, "x")
        try vault.put(try .genericPassword(service: "s", group: "work"), "w")
        var slots: [Slot] = []
        var keys: [SecretBox] = []
        for (kind, factors) in [(Self.full, 0x20), (Self.scoped, 0x21), (Self.plain, 0x01), (Self.bound, 0x40)]
            as [(Slot.Kind, UInt8)]
        {
            let (slot, key) = try add(kind, SlotFactors(rawValue: factors), to: vault)
            slots.append(slot)
            keys.append(key)
        }
        return (vault, slots, keys)
    }

    private func add(_ kind: Slot.Kind, _ factors: SlotFactors, to vault: Vault) throws -> (Slot, SecretBox) {
        try vault.withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let store = core.store
                let new = NewSlot(
                    try Factors(rawKey: Secret(bytes: [UInt8](repeating: 77, count: 32))), cost: nil,
                    name: "kind \(kind.rawValue)", id: nil, external: nil)
                let numbers = store.keyring.groups.map(\.number)
                let grants = try Rekeying(core, store.keyring).grants(Set(numbers), store.slot.keys)
                let next = try store.nextVector()
                let dot = next.stored(try next.tick())
                var (slot, wrapping) =
                    try kind == .scoped
                    ? SlotMaking.scopedSlot(
                        store.slot.keys, grants: grants, new, vault: store.vault, store.random)
                    : SlotMaking.fullSlot(store.slot.keys, new, vault: store.vault, store.random)
                let part = OwnerPart(name: "kind \(kind.rawValue)")
                slot.kind = kind
                slot.factors = factors
                if kind == .scoped {
                    SlotSeal.seal(
                        SlotPayload(store.slot.keys, grants: grants), into: &slot, wrappingKey: wrapping.secret,
                        vault: store.vault, store.random)
                }
                try SlotEditing.sealOwner(part, wrappingKey: wrapping.secret, into: &slot, store.slot.keys, core)
                var bytes: [UInt8] = []
                slot.encode(into: &bytes)
                let read = try decoding { () throws(FormatError) in
                    var cursor = Cursor(bytes.span, at: 0, else: .headerInvalid)
                    return try Slot(bytes.span, &cursor)
                }
                var keyring = store.keyring
                let granted = kind == .scoped ? numbers.sorted() : []
                keyring.set(
                    SlotDots(
                        id: read.id, made: dot, changed: dot,
                        grants: granted.map { SlotDots.Grant(group: $0, dot: dot) }))
                try SlotEditing.replaceHeader(store.header.slots + [read], keyring, next, core)
                return (read, wrapping)
            }
        }
    }

    @Test("is never tried, is listed with unknown strength, and keeps nobody out")
    func listed() throws {
        let (vault, slots, _) = try filled()
        #expect(slots.allSatisfy { $0.isOpaque })
        let listed = try vault.slots().dropFirst()
        #expect(listed.map(\.kind) == [.full, .scoped, .unknown(5), .unknown(0x85)])
        #expect(listed.allSatisfy { $0.strength == .unknown && !$0.isKnown && !$0.isWeak && $0.cost == nil })
        #expect(listed.map(\.name) == ["kind 1", "kind 130", "kind 5", "kind 133"])
        #expect(listed.map(\.groups) == [nil, ["", "work"], nil, nil])
        #expect(try memory.open().text(key) == "x")
        fails(.noSlotOpens, "another version") { _ = try memory.open(with: try Fast.factors()) }
        fails(.invalidArgument) { try vault.changeFactors(of: SlotID(slots[0].id), to: try Fast.rawKey(3)) }
        try expectSound(vault)
    }

    @Test("is kept byte for byte by compaction, other slots' changes, and another passphrase")
    func kept() throws {
        let (vault, slots, _) = try filled()
        try vault.compact()
        #expect(try vault.rawSlots.dropFirst() == slots[...])
        let id = try vault.addSlot(try Fast.rawKey(9)).id
        try vault.renameSlot(id, to: "other")
        try vault.changeFactors(to: try Fast.rawKey(7))
        try vault.removeSlot(id)
        #expect(try vault.rawSlots.dropFirst() == slots[...])
        #expect(try memory.open(with: try Fast.rawKey(7)).text(key) == "x")
        try vault.renameSlot(SlotID(slots[2].id), to: "renamed")
        #expect(try vault.slots()[3].name == "renamed")
        #expect(try vault.rawSlots.map(\.commitment).dropFirst() == slots.map(\.commitment)[...])
        try expectSound(vault)
    }

    @Test("survives a new epoch if its kind allows that, and is named if not (R-3.16)")
    func newEpoch() throws {
        let (vault, slots, keys) = try filled()
        let before = Set(try vault.keyring.groups.map(\.number))
        let change = try vault.addSlot(try Fast.rawKey(9), grantedGroups: ["work"])
        #expect(change.dropped.map(\.name) == ["kind 133"])
        let now = try vault.rawSlots
        #expect(now.map(\.id) == [now[0].id, slots[0].id, slots[1].id, slots[2].id, change.id.bytes])
        #expect(now[1] == slots[0] && now[3] == slots[2])
        // The scoped one has the new keys under the wrapping key that it had: its holder need not come back.
        #expect(
            now[2] != slots[1] && now[2].commitment == slots[1].commitment && now[2].owner.count == slots[1].owner.count
        )
        let (numbers, vaultID) = try vault.withCore { (core) throws(VaultError) in
            (core.store.keyring.groups.map(\.number), core.store.vault)
        }
        #expect(try SlotOpener.grants(now[2], vaultID, wrappingKey: keys[1].secret).numbers == numbers)
        #expect(try Set(vault.keyring.slots.map(\.id)) == Set(now.map(\.id)))
        // The one that is gone could have opened every group.
        #expect(before.isDisjoint(with: numbers))
        try expectSound(vault)
    }

    @Test("is dropped by a rotation, which names it")
    func rotation() throws {
        let (vault, _, _) = try filled()
        var rotation = try vault.rotation()
        try rotation.keep(try Fast.rawKey())
        #expect(rotation.dropped.count == 4)
        #expect(try rotation.run().dropped.map(\.name) == ["kind 1", "kind 130", "kind 5", "kind 133"])
        #expect(try vault.slots().count == 1 && vault.keyring.slots.count == 1)
        try expectSound(vault)
    }

    @Test("costs all groups new keys when it is removed, since nobody knows what it opened (R-3.27)")
    func removal() throws {
        let (vault, slots, _) = try filled()
        let before = Set(try vault.keyring.groups.map(\.number))
        // Of kind 01, only the header changes.
        try vault.removeSlot(SlotID(slots[0].id))
        #expect(Set(try vault.keyring.groups.map(\.number)) == before)
        try vault.removeSlot(SlotID(slots[2].id))
        let after = Set(try vault.keyring.groups.map(\.number))
        #expect(after.count == 2 && after.isDisjoint(with: before))
        // An unknown full slot does not count: nobody here can open it.
        let (other, _) = try add(Self.full, SlotFactors(rawValue: 0x20), to: vault)
        #expect(try vault.rawSlots.contains { $0.id == other.id })
        fails(.lastSlot) { try vault.removeSlot(try vault.slots()[0].id) }
        try expectSound(vault)
    }

    @Test("is named by salvage, which cannot carry it over, as are other slots that it did not open")
    func salvage() throws {
        let (vault, slots, _) = try filled()
        _ = try vault.addSlot(try Fast.rawKey(9), name: "second")
        let report = try Vault.salvage(
            "a.vault", factors: try Fast.rawKey(), to: "b.vault", newFactors: try Fast.rawKey(),
            options: CreateOptions(), place: memory.place)
        #expect(report.unknownSlots.map(\.id.bytes) == slots.map(\.id))
        #expect(report.unknownSlots.map(\.name) == ["kind 1", "kind 130", "kind 5", "kind 133"])
        #expect(report.otherSlots.map(\.name) == ["second"])
        #expect(report.recovered == 2 && report.isComplete)
        #expect(try memory.open("b.vault").slots().count == 1)
    }
}

@Suite("Slots with a costly key derivation")
struct SlotCostTests {
    private func slots(_ count: Int, _ cost: KDFCost, _ factors: SlotFactors = .passphrase) -> [Slot] {
        (0..<count).map { number in
            let stretch = SlotParameters.Stretch(cost: cost.inSlot, salt: .zero)
            return Slot(
                id: Bytes16(high: UInt64(number), low: 1), kind: .full, factors: factors,
                SlotParameters(stretch: stretch), ownerPart: 168)
        }
    }

    @Test(
        "are refused with which readers would not try the last one (R-3.12): 21 moderate ones are possible, 4 sensitive ones"
    )
    func sums() throws {
        try SlotEditing.checkCosts(slots(21, .moderate))
        fails(.kdfLimit, "would cost more than readers allow") { try SlotEditing.checkCosts(slots(22, .moderate)) }
        try SlotEditing.checkCosts(slots(4, .sensitive))
        fails(.kdfLimit) { try SlotEditing.checkCosts(slots(5, .sensitive)) }
        // Each set of factors counts by itself: readers try the slots of one.
        try SlotEditing.checkCosts(
            slots(21, .moderate) + slots(21, .moderate, .otherKeyFile)
                + slots(21, .moderate, [.passphrase, .otherKeyFile]))
        #expect(KDFCost.moderate == KDFCost(memoryKiB: 262_144, passes: 3, lanes: 1))
    }

    @Test("may cost more than readers allow if they did before, but not more than that")
    func sumsBefore() throws {
        try SlotEditing.checkCosts(slots(22, .moderate), insteadOf: slots(22, .moderate))
        try SlotEditing.checkCosts(slots(22, .moderate), insteadOf: slots(23, .moderate))
        fails(.kdfLimit) { try SlotEditing.checkCosts(slots(23, .moderate), insteadOf: slots(22, .moderate)) }
        fails(.kdfLimit) {
            try SlotEditing.checkCosts(slots(22, .moderate), insteadOf: slots(22, .moderate, .otherKeyFile))
        }
        // A merge may add one where others are gone.
        try SlotEditing.checkCosts(Array(slots(24, .moderate).dropFirst(2)), insteadOf: slots(23, .moderate))
        let most = KDFCost(memoryKiB: .max, passes: .max, lanes: 1)
        fails(.kdfLimit) { try SlotEditing.checkCosts(slots(2, most)) }
    }
}
