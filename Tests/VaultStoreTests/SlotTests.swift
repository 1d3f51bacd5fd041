import Synchronization
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

/// An external key's provider whose keys are found by what they are: 32 times the first byte of the parameters.
private final class CountingFactor: SlotFactor {
    let provider: String
    /// What it answers for a slot with these parameters.
    private let answer: @Sendable ([UInt8]) -> [UInt8]
    private let calls = Mutex<[[[UInt8]]]>([])

    init(
        _ provider: String = "example.org/test",
        _ answer: @escaping @Sendable ([UInt8]) -> [UInt8] = { Array($0.prefix(1)) }
    ) {
        self.provider = provider
        self.answer = answer
    }

    /// The parameters of the slots of each call.
    var asked: [[[UInt8]]] { calls.withLock { $0 } }

    func wrap(for slot: SlotPlace) throws(VaultError) -> WrappedKey {
        WrappedKey(parameters: [5], ownersData: [6, 7], key: Secret(repeating: 5))
    }

    func rewrap(ownersData: [UInt8], for slot: SlotPlace) throws(VaultError) -> WrappedKey? { nil }

    func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError) {
        calls.withLock { $0.append(slots.map(\.parameters)) }
        for (index, slot) in slots.enumerated() {
            for byte in answer(slot.parameters) { try candidates.add(Secret(repeating: byte), for: index) }
        }
    }
}

/// Section 3.1.
@Suite("Opening a slot")
struct SlotOpeningTests {
    private static let vault = Bytes16(high: 1, low: 2)
    private static let cheap = SlotParameters.Cost(memoryKiB: 8, passes: 1, lanes: 1)

    private func factors(_ kinds: SlotFactors, passphrase: String = "pw", key: UInt8 = 1) -> FactorKeys {
        FactorKeys(
            passphrase: kinds.contains(.passphrase) ? Secret(text: passphrase) : nil,
            key: kinds.isDisjoint(with: [.generatedKeyFile, .rawKey]) ? nil : Secret(repeating: key),
            fileHash: kinds.contains(.otherKeyFile) ? FactorKeys.hash(ofKeyFile: Secret(text: "file")) : nil,
            kinds: kinds)
    }

    private func slot(
        _ kinds: SlotFactors, passphrase: String = "pw", key: UInt8 = 1, cost: SlotParameters.Cost = cheap,
        external: UInt8 = 5,
        provider: String = "example.org/test"
    ) throws -> Slot {
        let wrapped: ExternalKey? =
            kinds.contains(.externalKey)
            ? ExternalKey(
                provider: provider,
                wrapped: WrappedKey(parameters: [external], ownersData: [1], key: Secret(repeating: external))) : nil
        return try SlotSeal.make(
            SlotPayload(vaultKey: Secret(repeating: Lab.vaultKey)), factors(kinds, passphrase: passphrase, key: key),
            cost: cost,
            owner: Lab.part(), external: wrapped, vault: Self.vault, keys: Lab.owner(), .system
        ).slot
    }

    private func opaque(_ kind: UInt8 = 0x03, factors: UInt8 = 0x08) throws -> Slot {
        var slot = try slot(.rawKey)
        slot.kind = Slot.Kind(rawValue: kind)
        slot.factors = SlotFactors(rawValue: factors)
        var bytes: [UInt8] = []
        slot.id = Randomness.system.bytes16()
        slot.encode(into: &bytes)
        var cursor = Cursor(bytes.span, at: 0, else: .headerInvalid)
        let read = try Slot(bytes.span, &cursor)
        #expect(read.isOpaque)
        return read
    }

    private func header(_ slots: [Slot]) -> Header { Header(id: Self.vault, epoch: Lab.epoch, slots: slots) }

    private func open(
        _ slots: [Slot], _ factors: borrowing FactorKeys, limits: ReaderLimits = .init(),
        external: (any SlotFactor)? = nil
    ) throws(VaultError) -> Bytes16 {
        try SlotOpener.open(header(slots), [], factors, limits, external: external, checkingHeader: false).id
    }

    private static let kinds: [SlotFactors] = [
        .passphrase, .generatedKeyFile, [.passphrase, .generatedKeyFile], .otherKeyFile, [.passphrase, .otherKeyFile],
        .rawKey,
    ]

    @Test("tries exactly the slots of these factors, in the order of the header (R-3.10)")
    func order() throws {
        let slots = try Self.kinds.map { try slot($0) }
        for (index, kinds) in Self.kinds.enumerated() {
            #expect(try open(slots, factors(kinds)) == slots[index].id)
            #expect(try open(slots + slots, factors(kinds)) == slots[index].id)
            fails(.noSlotOpens) { _ = try open(slots.filter { $0.factors != kinds }, factors(kinds)) }
        }
        // Two that open: the first.
        let twice = try [slot(.rawKey, key: 2), slot(.rawKey), slot(.rawKey)]
        #expect(try open(twice, factors(.rawKey)) == twice[1].id)
        fails(.noSlotOpens, "wrong passphrase") { _ = try open(slots, factors(.passphrase, passphrase: "other")) }
        fails(.noSlotOpens) { _ = try open(slots, factors(.rawKey, key: 9)) }
    }

    @Test("leaves opaque slots out, also those that seem to have the factors (R-3.7)")
    func opaqueSlots() throws {
        for kind in [0x03, 0x02, 0x83, 0xFF] as [UInt8] {
            let slots = try [opaque(kind), slot(.rawKey), opaque(kind)]
            #expect(try open(slots, factors(.rawKey)) == slots[1].id)
            fails(.noSlotOpens, "another version") { _ = try open([slots[0]], factors(.rawKey)) }
        }
        let unknown = try opaque(0x01, factors: 0x48)
        fails(.noSlotOpens) { _ = try open([unknown], factors(SlotFactors(rawValue: 0x48))) }
    }

    @Test("calls a payload that does not open damaged, and tries no other slot (R-3.10, R-3.13)")
    func damagedPayload() throws {
        var first = try slot(.rawKey)
        let second = try slot(.rawKey)
        first.payload[30] ^= 1
        fails(.authenticationFailed) { _ = try open([first, second], factors(.rawKey)) }
        first = try slot(.rawKey)
        first.commitment = .zero
        #expect(try open([first, second], factors(.rawKey)) == second.id)
        // The owner part is not needed.
        first = try slot(.rawKey)
        first.owner[30] ^= 1
        #expect(try open([first, second], factors(.rawKey)) == first.id)
    }

    @Test("asks a provider for all of its slots at once, and takes the first whose commitment matches")
    func external() throws {
        let slots = try [
            slot(.rawKey), slot(.externalKey, external: 3),
            slot(.externalKey, external: 4, provider: "example.org/other"),
            slot(.externalKey, external: 5), slot([.passphrase, .externalKey], external: 6),
        ]
        let factor = CountingFactor { $0 == [5] ? [9, 5] : [9] }
        #expect(try open(slots, factors(.externalKey), external: factor) == slots[3].id)
        #expect(factor.asked == [[[3], [5]]])
        let all = CountingFactor()
        #expect(try open(slots, factors(.externalKey), external: all) == slots[1].id)
        let both = CountingFactor()
        #expect(try open(slots, factors([.passphrase, .externalKey]), external: both) == slots[4].id)
        #expect(both.asked == [[[6]]])
        fails(.noSlotOpens) {
            _ = try open(slots, factors([.passphrase, .externalKey], passphrase: "x"), external: both)
        }
        fails(.noSlotOpens) {
            _ = try open(slots, factors(.externalKey), external: CountingFactor("example.org/third"))
        }
        fails(.noSlotOpens) { _ = try open(slots, factors(.externalKey)) }
        let wrong = CountingFactor { _ in [] }
        fails(.noSlotOpens) { _ = try open(slots, factors(.externalKey), external: wrong) }
    }

    @Test("counts at most 16 candidates for a slot (section 11)")
    func candidates() throws {
        let slots = try [slot(.externalKey)]
        let fifteen = [UInt8](repeating: 9, count: 15)
        #expect(try open(slots, factors(.externalKey), external: CountingFactor { _ in fifteen + [5] }) == slots[0].id)
        fails(.noSlotOpens) {
            _ = try open(slots, factors(.externalKey), external: CountingFactor { _ in fifteen + [9, 5] })
        }
    }

    @Test("keeps to the reader's limits for each slot, before any work, and for all attempts together (R-3.11)")
    func limits() throws {
        var limits = ReaderLimits()
        (limits.memoryKiB, limits.passes, limits.lanes, limits.totalKiBPasses) = (64, 4, 2, 128)
        let expensive: [SlotParameters.Cost] = [
            .init(memoryKiB: 65, passes: 1, lanes: 1), .init(memoryKiB: 8, passes: 5, lanes: 1),
            .init(memoryKiB: 24, passes: 1, lanes: 3),
            .init(memoryKiB: 1 << 31, passes: 1, lanes: 1),
        ]
        let right = try slot(.passphrase)
        for cost in expensive {
            // Wherever it is: also behind the one that would open.
            var slot = try slot(.passphrase, passphrase: "x")
            slot = Slot(
                id: slot.id, kind: .full, factors: .passphrase, .init(stretch: .init(cost: cost, salt: .zero)),
                ownerPart: 168)
            fails(.kdfLimit) { _ = try open([right, slot], factors(.passphrase), limits: limits) }
            // One of other factors is not tried.
            #expect(try open([slot, try self.slot(.rawKey)], factors(.rawKey), limits: limits) != slot.id)
        }
        let half = SlotParameters.Cost(memoryKiB: 32, passes: 2, lanes: 1)
        let wrong = try [
            slot(.passphrase, passphrase: "x", cost: half), slot(.passphrase, passphrase: "x", cost: half),
        ]
        #expect(
            try open([wrong[0], slot(.passphrase, cost: half)], factors(.passphrase), limits: limits) != wrong[0].id)
        fails(.kdfLimit, "of all slots") { _ = try open(wrong + [right], factors(.passphrase), limits: limits) }
        // A first one that opens costs what it costs.
        #expect(try open([right] + wrong, factors(.passphrase), limits: limits) == right.id)
    }

    @Test("stretches a passphrase once for all candidates of a slot, and not for a slot without any (R-3.11)")
    func stretching() throws {
        var limits = ReaderLimits()
        limits.totalKiBPasses = 64
        let cost = SlotParameters.Cost(memoryKiB: 64, passes: 1, lanes: 1)
        let kinds: SlotFactors = [.passphrase, .externalKey]
        let slots = try [slot(kinds, cost: cost, external: 3), slot(kinds, cost: cost, external: 5)]
        let onlyLast = CountingFactor { $0 == [5] ? [UInt8](repeating: 9, count: 15) + [5] : [] }
        #expect(try open(slots, factors(kinds), limits: limits, external: onlyLast) == slots[1].id)
        let both = CountingFactor { $0 == [5] ? [5] : [9] }
        fails(.kdfLimit, "of all slots") { _ = try open(slots, factors(kinds), limits: limits, external: both) }
    }

    @Test("opens the last of 64 slots")
    func many() throws {
        let slots = try (0..<63).map { try slot(.rawKey, key: UInt8($0 + 100)) } + [slot(.rawKey)]
        #expect(try open(slots, factors(.rawKey)) == slots[63].id)
    }

    @Test("of the default policy allows 2 GiB, 16 passes, 16 lanes and 16 GiB of passes in all (R-3.11)")
    func policy() throws {
        let limits = ReaderLimits()
        for (memory, passes, lanes, isAllowed) in [
            (2 << 20, 16, 16, true), (2 << 20 + 1, 1, 1, false), (8, 17, 1, false), (1024, 1, 17, false),
        ] as [(UInt32, UInt32, UInt32, Bool)] {
            let cost = SlotParameters.Cost(memoryKiB: memory, passes: passes, lanes: lanes)
            if isAllowed { try limits.check(cost) } else { fails(.kdfLimit) { try limits.check(cost) } }
        }
        var spent: UInt64 = 0
        for _ in 0..<21 { try limits.spend(.init(memoryKiB: 256 << 10, passes: 3, lanes: 1), &spent) }
        fails(.kdfLimit) { try limits.spend(.init(memoryKiB: 256 << 10, passes: 3, lanes: 1), &spent) }
        spent = 0
        for _ in 0..<4 { try limits.spend(.init(memoryKiB: 1 << 20, passes: 4, lanes: 1), &spent) }
        #expect(spent == 1 << 24)
        fails(.kdfLimit) { try limits.spend(.init(memoryKiB: 8, passes: 1, lanes: 1), &spent) }
    }
}

@Suite("What a slot says to owners")
struct OwnerPartSealingTests {
    private static let vault = Bytes16(high: 1, low: 2)

    @Test("is sealed with the slot, and opens under the owners' key alone, of this vault and slot (R-3.15)")
    func sealing() throws {
        let part = OwnerPart(name: "laptop", providerData: [1, 2])
        let (slot, _) = try SlotSeal.make(
            SlotPayload(vaultKey: Secret(repeating: 7)), Lab.rawKey(), cost: nil, owner: part, vault: Self.vault,
            keys: Lab.owner(), .system
        )
        #expect(try SlotSeal.openOwner(slot, vault: Self.vault, keys: Lab.owner()).part == part)
        #expect(
            try SlotSeal.openOwner(slot, vault: Self.vault, keys: Lab.owner()).wrappingKey.secret.equals(
                Secret(count: 32)) == true)
        fails(.authenticationFailed) { _ = try SlotSeal.openOwner(slot, vault: Self.vault, keys: Lab.owner(9)) }
        fails(.authenticationFailed) { _ = try SlotSeal.openOwner(slot, vault: .zero, keys: Lab.owner()) }
        for change in [
            { $0.id = .zero }, { $0.kind = .scoped }, { $0.commitment = .zero }, { $0.payload[0] ^= 1 },
            { $0.owner[40] ^= 1 },
        ] as [(inout Slot) -> Void] {
            var changed = slot
            change(&changed)
            fails(.authenticationFailed) { _ = try SlotSeal.openOwner(changed, vault: Self.vault, keys: Lab.owner()) }
        }
    }

    @Test("has the wrapping key of a scoped slot, with which an owner replaces what it grants")
    func resealing() throws {
        let keys = VaultKeys(vaultKey: Secret(repeating: 7), epoch: Lab.epoch)
        let part = OwnerPart(name: "build")
        let first = Grants(numbers: [4, 1 << 62], keys: Secret(repeating: 8, count: 64))
        let (made, wrappingKey) = try SlotSeal.make(
            SlotPayload(keys, grants: first), Lab.rawKey(), cost: nil, owner: part, vault: Self.vault,
            keys: Lab.owner(), .system)
        var slot = made
        let (read, kept) = try SlotSeal.openOwner(slot, vault: Self.vault, keys: Lab.owner())
        #expect(read == part && kept.secret.equals(wrappingKey.secret))
        #expect(try SlotOpener.grants(slot, Self.vault, wrappingKey: kept.secret).numbers == [4, 1 << 62])
        let other = VaultKeys(vaultKey: Secret(repeating: 7), epoch: .zero)
        let second = Grants(numbers: [9], keys: Secret(repeating: 3))
        SlotSeal.seal(
            SlotPayload(other, grants: second), into: &slot, wrappingKey: kept.secret, vault: Self.vault, .system)
        SlotSeal.sealOwner(part, wrappingKey: kept.secret, into: &slot, vault: Self.vault, keys: Lab.owner(), .system)
        // Its holder opens it with the same factors.
        let header = Header(id: Self.vault, epoch: .zero, slots: [slot])
        let opened = try SlotOpener.open(header, [], Lab.rawKey(), ReaderLimits(), checkingHeader: false)
        #expect(opened.grants.numbers == [9] && opened.keys.isOwner == false)
        #expect(opened.keys.index.equals(other.index) == true)
        #expect(opened.keys.ownersPublicKey() == keys.ownersPublicKey())
        guard let granted = opened.grants.key(9) else {
            Issue.record("the group is not granted")
            return
        }
        #expect(granted.equals(Secret(repeating: 3)) == true)
    }

    @Test("names a provider within the format's limits, and no other is accepted")
    func providers() throws {
        func make(_ provider: String, parameters: Int = 1, data: Int = 1, key: Int = 32) throws -> Slot {
            let wrapped = WrappedKey(
                parameters: [UInt8](repeating: 1, count: parameters), ownersData: [UInt8](repeating: 2, count: data),
                key: Secret(repeating: 3, count: key))
            let external: ExternalKey? = ExternalKey(provider: provider, wrapped: wrapped)
            return try SlotSeal.make(
                SlotPayload(vaultKey: Secret(repeating: 7)),
                FactorKeys(passphrase: nil, key: nil, fileHash: nil, kinds: .externalKey),
                cost: nil, owner: Lab.part(), external: external, vault: Self.vault, keys: Lab.owner(), .system
            ).slot
        }
        let slot = try make("example.org/a", parameters: 16_384, data: 16_384)
        #expect(try SlotSeal.openOwner(slot, vault: Self.vault, keys: Lab.owner()).part.providerData.count == 16_384)
        #expect(slot.known?.provider == .init(name: "example.org/a", parameters: [UInt8](repeating: 1, count: 16_384)))
        for name in ["", "a b", "ü", String(repeating: "a", count: 65)] {
            fails(.invalidArgument) { _ = try make(name) }
        }
        fails(.limitExceeded) { _ = try make("a.b", parameters: 16_385) }
        fails(.limitExceeded) { _ = try make("a.b", data: 16_385) }
        for count in [0, 31, 33] { fails(.invalidArgument) { _ = try make("a.b", key: count) } }
    }
}
