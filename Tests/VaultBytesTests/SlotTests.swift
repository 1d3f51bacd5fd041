import Testing
import VaultBytes

@Suite("A slot")
struct SlotTests {
    /// The factors of format 1.
    static let factors: [UInt8] = [0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x10, 0x11]

    /// Slots of all sorts, by number: each set of factors, full and scoped.
    static func sample(_ number: Int, _ numbers: inout Numbers, providerData: Int = 0) -> Slot {
        let factors = SlotFactors(rawValue: factors[number % 8])
        let known = SlotParameters(
            stretch: factors.isStretched
                ? .init(cost: .init(memoryKiB: 19_456, passes: 2, lanes: 1), salt: numbers.hash()) : nil,
            provider: factors.contains(.externalKey)
                ? .init(name: "example.org/key", parameters: numbers.bytes(number)) : nil)
        var slot = Slot(
            id: numbers.id(), kind: number / 8 % 2 == 0 ? .full : .scoped, factors: factors, known,
            ownerPart: OwnerPart.size(providerData: providerData))
        slot.commitment = numbers.hash()
        slot.payload = numbers.bytes(slot.payload.count)
        slot.owner = numbers.bytes(slot.owner.count)
        return slot
    }

    /// A slot's bytes, of parts that need not fit.
    struct Raw {
        var id = [UInt8](repeating: 7, count: 16)
        var kind: UInt8 = 0x01
        var factors: UInt8 = 0x08
        var reserved: UInt16 = 0
        var parameters: [UInt8] = []
        var sealed = 48
        var owner = 168
        var length: Int?
        var parameterLength: UInt32?
        var ownerLength: UInt32?

        var bytes: [UInt8] {
            let rest = parameters + [UInt8](repeating: 9, count: 32 + 24 + sealed + owner)
            return u32(UInt32(length ?? 32 + rest.count)) + id + [kind, factors] + u16(reserved)
                + u32(parameterLength ?? UInt32(parameters.count)) + u32(ownerLength ?? UInt32(owner)) + rest
        }
    }

    static func read(_ bytes: [UInt8]) throws(FormatError) -> Slot {
        var cursor = Cursor(bytes.span, at: 0, else: .headerInvalid)
        let slot = try Slot(bytes.span, &cursor)
        try cursor.finish()
        return slot
    }

    private func refusesSlot(_ raw: Raw, _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.headerInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try Self.read(raw.bytes)
        }
    }

    private static func encoded(_ slot: Slot) -> [UInt8] {
        var out: [UInt8] = []
        slot.encode(into: &out)
        return out
    }

    @Test("is read as it was written, whatever its kind and factors", arguments: 0..<48)
    func roundTrip(number: Int) throws {
        var numbers = Numbers(UInt64(number))
        let slot = Self.sample(number, &numbers, providerData: number * 200)
        let bytes = Self.encoded(slot)
        #expect(try Self.read(bytes) == slot)
        #expect(Array(bytes[..<4]) == u32(UInt32(bytes.count)))
        #expect(!slot.isOpaque)
    }

    @Test("has one encoding: whatever changed bytes are accepted mean something else", arguments: [0, 7, 15])
    func oneEncoding(number: Int) {
        var numbers = Numbers(UInt64(number))
        hasOneEncoding(Self.encoded(Self.sample(number, &numbers)), seed: 1, changes: 1) {
            changed throws(FormatError) in
            Self.encoded(try Self.read(changed))
        }
    }

    @Test("cut short anywhere is refused", arguments: [0, 7, 9])
    func truncated(number: Int) {
        var numbers = Numbers(UInt64(number))
        refusesTruncations(Self.encoded(Self.sample(number, &numbers))) { bytes throws(FormatError) in
            _ = try Self.read(bytes)
        }
    }

    @Test("says what its key, its payload and its owner part are bound to: bytes 0 to 32+p, to 64+p, and to s−o")
    func bound() throws {
        for number in 0..<16 {
            var numbers = Numbers(3)
            let bytes = Self.encoded(Self.sample(number, &numbers))
            let slot = try Self.read(bytes)
            let parameters = slot.parameters.count
            #expect(slot.derivedOver == Array(bytes[..<(32 + parameters)]))
            #expect(slot.clear == Array(bytes[..<(64 + parameters)]))
            #expect(slot.beforeOwner == Array(bytes[..<(bytes.count - slot.owner.count)]))
        }
    }

    @Test("of an unknown kind or factors is kept byte for byte, and no attempt is made with it (R-3.7)")
    func opaque() throws {
        let known = Set(Self.factors)
        for factors in 0...255 as ClosedRange<UInt8> where !known.contains(factors) {
            let raw = Raw(factors: factors, parameters: [1, 2, 3])
            let slot = try Self.read(raw.bytes)
            #expect(slot.isOpaque && slot.known == nil)
            #expect(Self.encoded(slot) == raw.bytes)
        }
        for kind in 0...255 as ClosedRange<UInt8> where kind != 0x01 && kind != 0x82 {
            let raw = Raw(kind: kind, parameters: [1], sealed: 16 + Int(kind))
            let slot = try Self.read(raw.bytes)
            #expect(slot.isOpaque && slot.kind.dependsOnEpoch == (kind >= 0x80))
            #expect(Self.encoded(slot) == raw.bytes)
        }
        #expect(try Self.read(Raw(kind: 0x82, sealed: 1368).bytes).isOpaque == false)
        #expect(try Self.read(Raw(kind: 0x82, factors: 0x40, sealed: 1368).bytes).isOpaque)
    }

    @Test("has a payload of 48 or 1368 bytes if its kind is known, opaque or not, and of at least 16 otherwise (R-3.7)")
    func payloads() throws {
        for factors in [0x08, 0x40] as [UInt8] {
            for sealed in [0, 16, 47, 49, 1368] {
                refusesSlot(Raw(kind: 0x01, factors: factors, sealed: sealed, owner: 200), "payload")
            }
            for sealed in [0, 16, 48, 1367, 1369] {
                refusesSlot(Raw(kind: 0x82, factors: factors, sealed: sealed, owner: 200), "payload")
            }
        }
        refusesSlot(Raw(kind: 0x03, sealed: 15, owner: 200), "payload")
        _ = try Self.read(Raw(kind: 0x03, sealed: 16).bytes)
    }

    @Test("has reserved bytes that are zero, opaque or not (R-1.2)")
    func reserved() {
        for bit in 0..<16 {
            for kind in [0x01, 0x03] as [UInt8] { refusesSlot(Raw(kind: kind, reserved: 1 << UInt16(bit)), "not zero") }
        }
    }

    @Test("has 272 to 65,536 bytes, parameters of at most 17,408 and an owner part of 168 to 17,408 (section 11)")
    func lengths() throws {
        for length in [0, 1, 271, 65_537, 1 << 31] { refusesSlot(Raw(length: length), "a slot has \(length) bytes") }
        refusesSlot(Raw(length: 327), "")
        refusesSlot(Raw(length: 329), "past the end")
        _ = try Self.read(Raw(kind: 0x03, sealed: 16).bytes)
        _ = try Self.read(Raw(kind: 0x03, sealed: 65_536 - 56 - 32 - 168).bytes)
        refusesSlot(Raw(kind: 0x03, sealed: 65_537 - 56 - 32 - 168), "a slot has 65537 bytes")
        for length in [17_409, 1 << 31, .max] as [UInt32] {
            refusesSlot(Raw(parameterLength: length), "parameters have \(length)")
        }
        _ = try Self.read(Raw(kind: 0x03, parameters: [UInt8](repeating: 1, count: 17_408)).bytes)
        for length in [0, 167, 17_409, 65_537, 1 << 31, .max] as [UInt32] {
            refusesSlot(Raw(ownerLength: length), "owner part has \(length)")
        }
        _ = try Self.read(Raw(owner: 17_408).bytes)
        refusesSlot(Raw(ownerLength: 232), "payload")
    }
}

@Suite("A slot's parameters")
struct SlotParametersTests {
    private func refusesParameters(
        _ factors: UInt8, _ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        refuses(.headerInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try SlotTests.read(SlotTests.Raw(factors: factors, parameters: bytes).bytes)
        }
    }

    private func stretch(_ memory: UInt32 = 64, _ passes: UInt32 = 1, _ lanes: UInt32 = 1) -> [UInt8] {
        u32(memory) + u32(passes) + u32(lanes) + [UInt8](repeating: 5, count: 32)
    }

    private func provider(_ name: [UInt8] = [97], _ parameters: Int = 0) -> [UInt8] {
        [UInt8(name.count)] + name + u16(UInt16(parameters)) + [UInt8](repeating: 3, count: parameters)
    }

    @Test("are those that its factors need, and no others (R-1.3)")
    func parts() throws {
        let parts: [UInt8: [UInt8]] = [
            0x01: stretch(), 0x02: [], 0x03: stretch(), 0x04: stretch(), 0x05: stretch(), 0x08: [], 0x10: provider(),
            0x11: stretch() + provider(),
        ]
        for (factors, bytes) in parts {
            let slot = try SlotTests.read(SlotTests.Raw(factors: factors, parameters: bytes).bytes)
            #expect((slot.known?.stretch != nil) == slot.factors.isStretched)
            #expect((slot.known?.provider != nil) == slot.factors.contains(.externalKey))
            refusesParameters(factors, bytes + [0], "unexpected bytes remain")
            for length in 0..<bytes.count { refusesParameters(factors, Array(bytes[..<length]), "") }
            // Those of other factors do not fit.
            for (other, otherBytes) in parts where otherBytes != bytes { refusesParameters(other, bytes, "") }
        }
    }

    @Test("state a cost that Argon2 can take (R-3.9)")
    func figures() throws {
        for (memory, passes, lanes) in [
            (8, 1, 0), (8, 0, 1), (7, 1, 1), (15, 1, 2), (.max, 1, 0x100_0000), (0, 0, 0), (.max, .max, .max),
        ] as [(UInt32, UInt32, UInt32)] {
            refusesParameters(0x01, stretch(memory, passes, lanes), "out of range")
        }
        for (memory, passes, lanes) in [(8, 1, 1), (16, 1, 2), (.max, .max, 1), (8 * 0xFF_FFFF, 1, 0xFF_FFFF)]
            as [(UInt32, UInt32, UInt32)]
        {
            let slot = try SlotTests.read(
                SlotTests.Raw(factors: 0x01, parameters: stretch(memory, passes, lanes)).bytes)
            #expect(slot.known?.stretch?.cost == .init(memoryKiB: memory, passes: passes, lanes: lanes))
        }
    }

    @Test("name a provider by 1 to 64 printable ASCII bytes, with parameters of at most 16,384 bytes")
    func providers() throws {
        for name in [[UInt8](repeating: 33, count: 64), [126], Array("age".utf8)] {
            let slot = try SlotTests.read(SlotTests.Raw(factors: 0x10, parameters: provider(name, 16_384)).bytes)
            #expect(slot.known?.provider?.name == String(decoding: name, as: UTF8.self))
            #expect(slot.known?.provider?.parameters.count == 16_384)
        }
        refusesParameters(0x10, provider([]), "name has 0 bytes")
        refusesParameters(0x10, provider([UInt8](repeating: 97, count: 65)), "name has 65 bytes")
        for byte in [0, 32, 127, 0x80, 0xFF] as [UInt8] { refusesParameters(0x10, provider([97, byte]), "printable") }
        refusesParameters(0x10, provider([97], 16_385), "16385")
        for name in ["", " ", "a b", "é", String(repeating: "a", count: 65)] {
            #expect(!SlotParameters.Provider.isName(name))
        }
        for name in ["age", "!", "example.org/~", String(repeating: "a", count: 64)] {
            #expect(SlotParameters.Provider.isName(name))
        }
    }
}
