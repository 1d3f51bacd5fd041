import Testing
import VaultBytes

@Suite("A slot's owner part")
struct OwnerPartTests {
    private static func sample(name: String = "laptop", data: Int = 40) -> OwnerPart {
        var numbers = Numbers(UInt64(data))
        return OwnerPart(name: name, providerData: numbers.bytes(data))
    }

    private func refusesPart(
        _ bytes: [UInt8], _ phrase: String, _ kind: Slot.Kind = .full, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try OwnerPart(bytes.span, kind)
        }
    }

    @Test("is read as it was written", arguments: [0, 1, 5, 6, 7, 133, 134, 135, 1000, 16_384])
    func roundTrip(data: Int) throws {
        for name in ["", "a", String(repeating: "ö", count: 31) + "x"] {
            let part = Self.sample(name: name, data: data)
            let bytes = part.encode()
            #expect(bytes.count % 128 == 0 && bytes.count == OwnerPart.plainSize(providerData: data))
            #expect(bytes.count - 122 - data < 128)
            #expect(OwnerPart.size(providerData: data) == bytes.count + 40)
            for kind in [Slot.Kind.full, .scoped] { #expect(try OwnerPart(bytes.span, kind) == part) }
        }
        #expect(Format.Limit.ownerPart.contains(OwnerPart.size(providerData: 0)))
        #expect(Format.Limit.ownerPart.contains(OwnerPart.size(providerData: Format.Limit.providerData)))
    }

    @Test("has one encoding, and nothing of it can be left out")
    func oneEncoding() throws {
        let bytes = Self.sample().encode()
        hasOneEncoding(bytes, seed: 4) { changed throws(FormatError) in try OwnerPart(changed.span, .full).encode() }
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try OwnerPart(bytes.span, .full) }
        refusesPart(bytes + [UInt8](repeating: 0, count: 128), "longer than necessary")
    }

    @Test("has a wrapping key only if its kind depends on the epoch (R-3.15)")
    func wrappingKey() throws {
        for place in OwnerPart.wrappingKey {
            let bytes = patched(Self.sample().encode(), place, [1])
            refusesPart(bytes, "not zero")
            refusesPart(bytes, "not zero", Slot.Kind(rawValue: 0x03))
            #expect(try OwnerPart(bytes.span, .scoped) == Self.sample())
            #expect(try OwnerPart(bytes.span, Slot.Kind(rawValue: 0x90)) == Self.sample())
        }
    }

    @Test("has a name of at most 63 bytes of text, with zeros behind it")
    func names() throws {
        #expect(
            try OwnerPart(Self.sample(name: String(repeating: "n", count: 63)).encode().span, .full).name.count == 63)
        let bytes = Self.sample(name: "abc").encode()
        for length in [64, 255] as [UInt8] { refusesPart(patched(bytes, 0, [length]), "name has \(length) bytes") }
        for place in 4..<64 { refusesPart(patched(bytes, place, [0x80]), "not zero") }
        refusesPart(patched(bytes, 1, [0xFF]), "UTF-8")
    }

    @Test("has 24 reserved bytes, and at most 16,384 bytes of a provider")
    func limits() {
        let bytes = Self.sample().encode()
        for place in 96..<120 { refusesPart(patched(bytes, place, [1]), "not zero") }
        for size in [16_385, .max] as [UInt16] { refusesPart(patched(bytes, 120, u16(size)), "data has \(size) bytes") }
        refusesPart(patched(bytes, 120, u16(7)), "")
    }
}

@Suite("A scoped slot's payload")
struct ScopedPayloadTests {
    private static func payload(_ groups: [UInt64], count: UInt8? = nil) -> [UInt8] {
        var out = [UInt8](repeating: 1, count: 32) + [UInt8](repeating: 2, count: 32)
        out += [count ?? UInt8(groups.count)] + [UInt8](repeating: 0, count: 7)
        for (index, group) in groups.enumerated() {
            out += u64(group) + [UInt8](repeating: UInt8(index + 3), count: 32)
        }
        out.append(zeros: max(0, Format.scopedPayloadPlain - out.count))
        return out
    }

    private func refusesPayload(_ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try ScopedPayloadLayout(bytes.span)
        }
    }

    @Test("has 1352 bytes, and says where its keys are")
    func parts() throws {
        #expect(Format.scopedPayloadPlain == 1352)
        for count in [0, 1, 2, 31, 32] {
            let bytes = Self.payload((0..<count).map { UInt64($0) * 3 + 1 })
            let layout = try ScopedPayloadLayout(bytes.span)
            #expect(layout.groups == (0..<count).map { UInt64($0) * 3 + 1 })
            #expect(bytes[ScopedPayloadLayout.indexKey].allSatisfy { $0 == 1 })
            #expect(bytes[ScopedPayloadLayout.ownerPublicKey].allSatisfy { $0 == 2 })
            for index in 0..<count {
                let at = ScopedPayloadLayout.grant(index)
                #expect(Array(bytes[at..<at + 8]) == u64(layout.groups[index]))
                #expect(bytes[at + 8..<at + 40].allSatisfy { $0 == UInt8(index + 3) })
            }
        }
    }

    @Test("has group numbers from 1 to 2^63 − 1 in strictly ascending order (R-3.14)")
    func groups() throws {
        for groups in [[0], [0, 1], [1 << 63], [1, .max]] as [[UInt64]] {
            refusesPayload(Self.payload(groups), "out of range")
        }
        for groups in [[2, 1], [1, 1], [1, 3, 2]] as [[UInt64]] { refusesPayload(Self.payload(groups), "out of order") }
        #expect(try ScopedPayloadLayout(Self.payload([1, 1 << 63 - 1]).span).groups == [1, 1 << 63 - 1])
    }

    @Test("has at most 32 groups, and zeros where nothing is (R-1.2)")
    func limits() {
        for count in [33, 255] as [UInt8] { refusesPayload(Self.payload([1], count: count), "\(count) groups") }
        let bytes = Self.payload([5])
        for place in Array(65..<72) + Array(112..<1352) { refusesPayload(patched(bytes, place, [0x40]), "not zero") }
        refusesPayload(patched(bytes, 64, [0]), "not zero")
        refusesPayload(patched(bytes, 64, [2]), "out of range")
        for count in [0, 32, 63, 64, 71, 111] { refusesPayload(Array(bytes[..<count]), "") }
    }
}
