import Synchronization
import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

/// A provider that counts how often it is asked for the keys of slots.
private final class CountedProvider: SlotFactor {
    private let inner = TestProvider()
    private let count = Mutex(0)

    var provider: String { inner.provider }
    /// How often it was asked.
    var asked: Int { count.withLock { $0 } }

    func wrap(for slot: SlotPlace) throws(VaultError) -> WrappedKey { try inner.wrap(for: slot) }

    func rewrap(ownersData: [UInt8], for slot: SlotPlace) throws(VaultError) -> WrappedKey? {
        try inner.rewrap(ownersData: ownersData, for: slot)
    }

    func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError) {
        count.withLock { $0 += 1 }
        try inner.unwrap(slots, into: &candidates)
    }
}

@Suite("Salvaging a file with bytes removed or inserted in front of its first object")
struct ShiftedFileTests {
    private let memory = InMemory()
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    private func salvage(
        _ bytes: [UInt8], _ factors: borrowing Factors, takesUnproven: Bool = false,
        limits: ReaderLimits = ReaderLimits()
    ) throws -> (Vault, SalvageReport) {
        memory.files.put("damaged.vault", bytes)
        if memory.files.bytes(of: "new.vault") != nil { try memory.files.remove("new.vault") }
        let report = try Vault.salvage(
            "damaged.vault", factors: factors, to: "new.vault", newFactors: try Fast.rawKey(),
            options: CreateOptions(), limits: limits, takesUnproven: takesUnproven, place: memory.place)
        return (try memory.open("new.vault"), report)
    }

    @Test("asks the provider of an external key only once, although the file is read twice")
    func askedOnce() throws {
        let provider = CountedProvider()
        let vault = try memory.create()
        try vault.put(key, "x")
        try vault.addSlot(try Factors(external: provider), name: "token")
        var bytes = try memory.bytes()
        bytes.removeSubrange(5000..<5007)
        let before = provider.asked
        let (new, report) = try salvage(bytes, try Factors(external: provider))
        #expect(try report.isComplete && new.text(key) == "x", "\(report)")
        #expect(provider.asked == before + 1)
    }

    @Test("uses what is found at the objects' own offsets, if the reading at their former ones fails")
    func failingReading() throws {
        let vault = try memory.create()
        try vault.put(key, "x")
        try vault.set(try .genericPassword(service: "s", account: "b", group: "new"), secret: Secret(text: "y"))
        var bytes = try memory.bytes()
        let all = try frames(bytes)
        let last = try #require(all.lastIndex { $0.type == .keyring })
        // Seven bytes more in front of everything but the last keyring, and no commit after it.
        for (index, frame) in all.enumerated() where frame.type == .keyring && index != last {
            bytes[frame.range.lowerBound + 60] ^= 1
        }
        for frame in all[last...] where frame.type == .commit { bytes[frame.range.lowerBound + 60] ^= 1 }
        try #require(last > 0)
        let place = all[last - 1].range.lowerBound + 60
        bytes.removeSubrange(place..<place + 7)
        bytes.insert(contentsOf: repeatElement(0x76, count: 7), at: 5000)
        let (new, report) = try salvage(bytes, try Fast.rawKey(), takesUnproven: true)
        #expect(try new.text(key) == "x", "\(report)")
        #expect(!report.isHeaderProven && report.unproven.contains(key))
        #expect(report.notes.contains { $0.hasPrefix("the objects could not be read at their former offsets: ") })
    }

    /// The header of another vault with its copy.
    private func front(_ factors: borrowing Factors) throws -> [UInt8] {
        var options = CreateOptions()
        options.cost = .testing
        options.allowWeak = true
        _ = try Vault.create(at: "other.vault", factors: factors, options: options, place: memory.place)
        let bytes = try memory.bytes("other.vault")
        let end = try bodyStart(bytes)
        return Array(bytes[..<end])
    }

    @Test(
        "finds its header behind another vault's, whether that opens with the same factor or not",
        arguments: [0x2B, 9] as [UInt8])
    func otherVault(key other: UInt8) throws {
        try memory.create().put(key, "x")
        let bytes = try memory.bytes()
        let front = try front(try Fast.rawKey(other))
        let (new, report) = try salvage(front + bytes, try Fast.rawKey())
        #expect(try report.isComplete && new.text(key) == "x", "\(report)")
        #expect(
            report.notes == [
                "the file starts with the header of another vault, which was not used",
                "8192 bytes were inserted in front of the first object: the objects were read at their former offsets",
            ])
    }

    @Test("spends on all headers together no more key derivation than its limit (R-3.11)")
    func oneBudget() throws {
        var options = CreateOptions()
        options.cost = .testing
        options.allowWeak = true
        let vault = try Vault.create(
            at: "a.vault", factors: try Fast.factors("ours"), options: options, place: memory.place)
        try vault.put(key, "x")
        let damaged = try front(try Fast.factors("theirs")) + memory.bytes()
        var limits = ReaderLimits()
        limits.totalKiBPasses = 16
        let (new, report) = try salvage(damaged, try Fast.factors("ours"), limits: limits)
        #expect(try report.isComplete && new.text(key) == "x", "\(report)")
        limits.totalKiBPasses = 15
        fails(.noSlotOpens) { _ = try salvage(damaged, try Fast.factors("ours"), limits: limits) }
    }

    @Test("says that the header's copy was used only if the header itself was not")
    func words() throws {
        try memory.create().put(key, "x")
        let bytes = try memory.bytes()
        let place = "in front of the first object: the objects were read at their former offsets"
        let (_, inserted) = try salvage([UInt8](repeating: 0x76, count: 7) + bytes, try Fast.rawKey())
        #expect(inserted.isComplete && inserted.notes == ["7 bytes were inserted \(place)"], "\(inserted.notes)")
        let (_, removed) = try salvage(Array(bytes[7...]), try Fast.rawKey())
        #expect(
            removed.isComplete
                && removed.notes == ["the header is damaged: its copy was used", "7 bytes are missing \(place)"],
            "\(removed.notes)")
    }
}
