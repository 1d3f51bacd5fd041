import Testing
import VaultBytes

@Suite("A history")
struct HistoryTests {
    private static let generation: UInt64 = 5000

    private func sample(_ count: Int) -> History {
        var numbers = Numbers(UInt64(count))
        let ancestors = (0..<count).map { index in
            // Those of a merged branch come last, whatever their generations.
            Ancestor(generation: UInt64((index * 7) % 4999 + 1), clock: numbers.number(), chain: numbers.hash())
        }
        return History(floor: UInt64(count) + 1, ancestors: ancestors, newest: count / 2)
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> History {
        try History(bytes.span, at: 0, of: Self.generation)
    }

    private func refusesHistory(_ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(bytes)
        }
    }

    @Test("is read as it was written", arguments: [0, 1, 3, 4, 5, 9, 126, 1000, 1363, 1364])
    func roundTrip(count: Int) throws {
        let history = sample(count)
        let bytes = history.encode()
        #expect((bytes.count + 48) % 256 == 0)
        #expect(try read(bytes) == history)
        #expect(try read(bytes).encode() == bytes)
        #expect(FrameType.history.isPossible(bytes.count + 48))
    }

    @Test("of 1364 ancestors fills the largest frame")
    func largest() { #expect(sample(1364).encode().count + 48 == Format.Limit.historyFrame) }

    @Test("has one encoding, and nothing of it can be left out")
    func oneEncoding() {
        let bytes = sample(3).encode()
        hasOneEncoding(bytes, seed: 5) { changed throws(FormatError) in try read(changed).encode() }
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try read(bytes) }
    }

    @Test("has a floor from 1 to 2^63 − 1, and ancestors from generation 1 to before the commit that names it (R-5.16)")
    func generations() throws {
        let bytes = sample(2).encode()
        for floor in [0, 1 << 63, .max] as [UInt64] {
            refusesHistory(patched(bytes, 0, u64(floor)), "floor is out of range")
        }
        #expect(try read(patched(bytes, 0, u64(1 << 63 - 1))).floor == 1 << 63 - 1)
        for generation in [0, Self.generation, Self.generation + 1, .max] as [UInt64] {
            for place in [16, 64] {
                refusesHistory(patched(bytes, place, u64(generation)), "generation is out of range")
            }
        }
        #expect(try read(patched(bytes, 64, u64(Self.generation - 1))).ancestors[1].generation == Self.generation - 1)
    }

    @Test("has ancestors with clocks from 1 to 2^63 − 1 (R-5.16)")
    func clocks() throws {
        let bytes = sample(2).encode()
        for clock in [0, 1 << 63, .max] as [UInt64] {
            for place in [24, 72] { refusesHistory(patched(bytes, place, u64(clock)), "clock is out of range") }
        }
        #expect(try read(patched(bytes, 72, u64(1 << 63 - 1))).ancestors[1].clock == 1 << 63 - 1)
        #expect(try read(patched(bytes, 72, u64(1))).ancestors[1].clock == 1)
    }

    @Test("has at most 1364 ancestors, of which some are the newest")
    func limits() {
        let bytes = sample(4).encode()
        for count in [1365, 1 << 31, .max] as [UInt32] {
            refusesHistory(patched(bytes, 8, u32(count)), "\(count) ancestors")
        }
        for newest in [5, .max] as [UInt32] { refusesHistory(patched(bytes, 12, u32(newest)), "more new ancestors") }
        refusesHistory(patched(bytes, 8, u32(3)), "not zero")
        refusesHistory(patched(bytes, 8, u32(5)), "")
    }

    @Test("has zeros to the next step, and no more (R-1.2, R-5.11)")
    func padding() {
        let bytes = sample(2).encode()
        for place in 16 + 96..<bytes.count { refusesHistory(patched(bytes, place, [1]), "not zero") }
        refusesHistory(bytes + [UInt8](repeating: 0, count: 256), "longer than necessary")
    }
}
