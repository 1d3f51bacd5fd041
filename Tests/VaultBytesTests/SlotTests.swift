import Testing
import VaultBytes

@Suite("A slot")
struct SlotTests {
    /// Slots of six sorts, by number: each set of factors, full and scoped.
    static func sample(_ number: Int, _ numbers: inout Numbers) -> Slot {
        let factors: UInt8 = [1, 2, 3, 4, 5, 8][number % 6]
        let isStretched = Slot.isStretched(factors)
        var slot = Slot(
            id: numbers.id(), kind: number % 4 == 2 ? .scoped : .full, factors: factors,
            cost: isStretched ? Slot.Cost(memoryKiB: 19_456, passes: 2, lanes: 1) : nil, salt: isStretched ? numbers.id() : .zero)
        slot.commitment = numbers.hash()
        let payload = slot.kind == .full ? 32 : ScopedPayload.size(groups: number % 33)
        slot.payload = numbers.bytes(24 + payload + 16)
        slot.owner = numbers.bytes(24 + 96 + 16)
        return slot
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        var numbers = Numbers(UInt64(number))
        var out: [UInt8] = []
        sample(number, &numbers).encode(into: &out)
        return out
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> Slot {
        var cursor = Cursor(bytes.span, at: 0, else: .headerInvalid)
        let slot = try Slot(bytes.span, &cursor)
        try cursor.finish()
        return slot
    }

    private func refusesSlot(_ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.headerInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in _ = try read(bytes) }
    }

    @Test("is read as it was written", arguments: 0..<36)
    func roundTrip(number: Int) throws {
        let bytes = Self.bytes(number)
        var again: [UInt8] = []
        try read(bytes).encode(into: &again)
        #expect(again == bytes)
        #expect(Int(bytes[0]) | Int(bytes[1]) << 8 == bytes.count)
    }

    @Test("says what its key is derived over: bytes 2 to 48, and what its payload is bound to: bytes 2 to 80")
    func parameters() throws {
        let bytes = Self.bytes(0)
        #expect(try read(bytes).parameters == Array(bytes[2..<48]))
        #expect(try read(bytes).clear == Array(bytes[2..<80]))
    }

    @Test("is full or scoped, and nothing else", arguments: [0, 3, 255] as [UInt8])
    func kinds(kind: UInt8) { refusesSlot(patched(Self.bytes(0), 18, [kind]), "unknown kind") }

    @Test("has factors that go together (R-3.4)", arguments: (0...255).filter { ![1, 2, 3, 4, 5, 8].contains($0) })
    func factors(factors: Int) { refusesSlot(patched(Self.bytes(0), 19, [UInt8(factors)]), "unknown factors") }

    @Test("without a passphrase or other key file has no KDF figures and no salt (R-3.4)", arguments: [1, 5])
    func unstretched(number: Int) {
        let bytes = Self.bytes(number)
        for place in [20, 24, 28, 32, 47] { refusesSlot(patched(bytes, place, [1]), "has KDF figures") }
    }

    @Test("has KDF figures that Argon2 can take (R-3.4)")
    func figures() throws {
        let bytes = Self.bytes(0)
        func with(_ memory: UInt32, _ passes: UInt32, _ lanes: UInt32) -> [UInt8] {
            patched(bytes, 20, u32(memory) + u32(passes) + u32(lanes))
        }
        for bad in [
            with(8, 1, 0), with(8, 0, 1), with(7, 1, 1), with(15, 1, 2), with(.max, 1, 0x100_0000), with(0, 0, 0), with(.max, .max, .max),
        ] {
            refusesSlot(bad, "out of range")
        }
        for good in [with(8, 1, 1), with(16, 1, 2), with(.max, .max, 1), with(8 * 0xFF_FFFF, 1, 0xFF_FFFF)] { _ = try read(good) }
    }

    @Test("has exactly the length that its parts need (R-1.3, R-2.2)")
    func lengths() {
        let full = Self.bytes(0)
        for length in [0, 1, 243, full.count - 1, full.count + 1, 0xFFFF] { refusesSlot(patched(full, 0, u16(UInt16(length))), "") }
        for size in [0, 32, 47, 49, 64, .max] as [UInt32] { refusesSlot(patched(full, 104, u32(size)), "payload has \(size)") }
        for size in [48, 271, 1297, .max] as [UInt32] { refusesSlot(patched(Self.bytes(2), 104, u32(size)), "payload has \(size)") }
        var longer = full + [0]
        longer.replaceSubrange(0..<2, with: u16(UInt16(longer.count)))
        refusesSlot(longer, "left over")
    }

    @Test("of the scoped kind pads its payload to multiples of 256 bytes (R-1.2)")
    func scopedSizes() {
        #expect(ScopedPayload.size(groups: 0) == 256)
        #expect(ScopedPayload.size(groups: 5) == 256)
        #expect(ScopedPayload.size(groups: 6) == 512)
        #expect(ScopedPayload.size(groups: 32) == 1280)
        var bytes = Self.bytes(2)
        let payload = Int(bytes[104]) | Int(bytes[105]) << 8
        bytes.replaceSubrange(104..<108, with: u32(UInt32(payload + 1)))
        bytes.insert(0, at: 108)
        bytes.replaceSubrange(0..<2, with: u16(UInt16(bytes.count)))
        refusesSlot(bytes, "payload has \(payload + 1)")
    }
}
