import Testing
import VaultBytes

@Suite("A header")
struct HeaderTests {
    /// A header with slots of many kinds and some extensions, and its bytes.
    static func sample(_ seed: UInt64 = 1, slots: Int = 3, extensions: Int = 2) throws(FormatError) -> (
        header: Header, bytes: [UInt8]
    ) {
        var numbers = Numbers(seed)
        var header = Header(
            id: numbers.id(), epoch: numbers.hash(), slots: (0..<slots).map { SlotTests.sample($0 * 7, &numbers) })
        header.extensions = (0..<extensions).map {
            Extension(
                name: "example.org/\($0 + 10)", isCritical: false, isReadOnly: $0 % 2 == 1, value: numbers.bytes($0 * 7)
            )
        }
        let bytes = try encoded(&header, proof: numbers.bytes(64))
        return (header, bytes)
    }

    static func encoded(_ header: inout Header, proof: [UInt8] = [UInt8](repeating: 0, count: 64)) throws(FormatError)
        -> [UInt8]
    {
        var out = try header.encodeWithoutProof()
        out += proof
        return out
    }

    private func refusesHeader(
        _ bytes: [UInt8], _ phrase: String, _ code: FormatError.Code = .headerInvalid,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        refuses(code, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in _ = try Header(bytes.span) }
    }

    @Test("is read as it was written", arguments: [1, 2, 3, 16, 17, 63, 64])
    func roundTrip(slots: Int) throws {
        let (header, bytes) = try Self.sample(UInt64(slots), slots: slots, extensions: min(slots, 16))
        #expect(bytes.count == header.length && bytes.count % 4096 == 0)
        #expect(try Header.length(bytes.span) == header.length)
        #expect(header.bodyStart == UInt64(2 * bytes.count))
        var read = try Header(bytes.span)
        #expect(read == header)
        let again = try Self.encoded(&read, proof: Array(bytes.suffix(64)))
        #expect(again == bytes)
        let proof = try Header.proof(bytes.span)
        #expect(proof.hash.bytes + proof.mac.bytes == Array(bytes.suffix(64)))
    }

    @Test("has one encoding: whatever changed bytes are accepted mean something else")
    func oneEncoding() throws {
        let (_, bytes) = try Self.sample()
        hasOneEncoding(bytes, seed: 7, changes: 1) { changed throws(FormatError) in
            var header = try Header(changed.span)
            return try Self.encoded(&header, proof: Array(changed.suffix(64)))
        }
    }

    @Test("may be longer than its content needs, and stays so")
    func longer() throws {
        var (header, _) = try Self.sample()
        let least = header.length
        header.length = least + 2 * 4096
        let bytes = try Self.encoded(&header)
        #expect(bytes.count == least + 2 * 4096)
        #expect(try Header(bytes.span) == header)
    }

    @Test("is first recognised by its magic, then by its version, then by everything else (R-3.1)")
    func order() throws {
        let (_, bytes) = try Self.sample()
        let worst = patched(patched(patched(bytes, 0, [0]), 8, u16(2)), 12, u32(0))
        refusesHeader(worst, "not a vault", .notAVault)
        refusesHeader(patched(patched(bytes, 8, u16(2)), 12, u32(0)), "format 2", .unsupportedVersion)
        refusesHeader(patched(bytes, 8, u16(0)), "format 0", .unsupportedVersion)
        refusesHeader(patched(bytes, 12, u32(0)), "an invalid length: 0 bytes")
        for index in 0..<8 { refusesHeader(patched(bytes, index, [bytes[index] ^ 1]), "not a vault", .notAVault) }
        for length in 0..<16 { refusesHeader(Array(bytes[..<length]), "not a vault", .notAVault) }
    }

    @Test("has a length that is a possible one, and all there (R-2.2)")
    func lengths() throws {
        let (_, bytes) = try Self.sample()
        for length in [0, 1, 4095, 4097, 1 << 20 + 4096, 1 << 20 + 1, 1 << 31, .max] as [UInt32] {
            refusesHeader(patched(bytes, 12, u32(length)), "an invalid length: \(length) bytes")
        }
        refusesHeader(patched(bytes, 12, u32(UInt32(bytes.count + 4096))), "truncated")
        refusesHeader(bytes + [0], "truncated")
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try Header(bytes.span) }
        let longest = patched(bytes, 12, u32(1 << 20))
        #expect(try Header.length(longest.span) == 1 << 20)
    }

    @Test("has zeros where nothing is (R-1.2)")
    func reserved() throws {
        let (_, bytes) = try Self.sample()
        for place in [10, 11, 66, 67, bytes.count - 65] {
            for bit in 0..<8 { refusesHeader(patched(bytes, place, [1 << UInt8(bit)]), "not zero") }
        }
    }

    @Test("has 1 to 64 slots and at most 16 extensions (R-3.2)")
    func counts() throws {
        var (header, bytes) = try Self.sample()
        for count in [0, 65, 255] as [UInt8] { refusesHeader(patched(bytes, 64, [count]), "\(count) slots") }
        for count in [17, 255] as [UInt8] { refusesHeader(patched(bytes, 65, [count]), "\(count) extensions") }
        // One slot more than there is reads the extensions as a slot; one fewer, a slot as an extension.
        refusesHeader(patched(bytes, 64, [4]), "")
        refusesHeader(patched(bytes, 64, [2]), "")
        var numbers = Numbers(5)
        for count in [0, 65, 300] {
            header.slots = (0..<count).map { SlotTests.sample($0, &numbers) }
            refuses(.limitExceeded, "not \(count)") { () throws(FormatError) in _ = try header.encodeWithoutProof() }
        }
        header.slots = [SlotTests.sample(1, &numbers)]
        header.extensions = (10..<27).map { Extension(name: "e\($0)", isCritical: false, value: []) }
        refuses(.limitExceeded, "at most 16") { () throws(FormatError) in _ = try header.encodeWithoutProof() }
    }

    @Test("has no two slots of one id, opaque ones included (R-3.8)")
    func slotIDs() throws {
        var (header, _) = try Self.sample()
        header.slots[2].id = header.slots[0].id
        refusesHeader(try Self.encoded(&header), "the same id")
        var raw = SlotTests.Raw(kind: 0x03)
        raw.id = header.slots[0].id.bytes
        header.slots[2] = try SlotTests.read(raw.bytes)
        refusesHeader(try Self.encoded(&header), "the same id")
    }

    @Test("has its extensions in strictly ascending order of names (R-3.22)")
    func extensionOrder() throws {
        for names in [["b", "a"], ["a", "a"], ["ab", "a"]] {
            var (header, _) = try Self.sample()
            header.extensions = names.map { Extension(name: $0, isCritical: false, value: []) }
            refusesHeader(try Self.encoded(&header), "out of order")
        }
    }

    @Test("with a critical extension that is not known is refused by name, after everything else (R-3.23)")
    func critical() throws {
        for isReadOnly in [false, true] {
            var (header, _) = try Self.sample()
            header.extensions.append(
                Extension(name: "example.org/must", isCritical: true, isReadOnly: isReadOnly, value: [1]))
            let bytes = try Self.encoded(&header)
            refusesHeader(bytes, "\"example.org/must\"", .unsupportedCritical)
            refusesHeader(patched(bytes, bytes.count - 65, [1]), "not zero")
        }
    }

    @Test("keeps an extension that is not critical byte for byte (R-3.25)")
    func preserved() throws {
        let (header, bytes) = try Self.sample(extensions: 16)
        var read = try Header(bytes.span)
        #expect(read.extensions == header.extensions)
        read.slots.removeLast()
        let again = try Self.encoded(&read)
        #expect(try Header(again.span).extensions == header.extensions)
    }

    @Test("grows in steps of 4096 bytes, and not beyond 1 MiB")
    func growth() throws {
        var numbers = Numbers(2)
        var header = Header(id: numbers.id(), epoch: numbers.hash(), slots: [])
        var last = 0
        for count in 1...31 {
            var raw = SlotTests.Raw(kind: 0x03, parameters: [UInt8](repeating: 1, count: 17_408))
            raw.id = numbers.bytes(16)
            raw.sealed = 33_000 - 17_408 - 256
            header.slots.append(try SlotTests.read(raw.bytes))
            let bytes = try header.encodeWithoutProof()
            #expect(bytes.count + 64 == header.length && header.length % 4096 == 0)
            #expect(header.length - (68 + count * 33_000 + 64) < 4096 && header.length > last)
            last = header.length
        }
        #expect(last == 1_024_000)
        var raw = SlotTests.Raw(kind: 0x03)
        raw.sealed = (1 << 20) - 68 - 64 - 31 * 33_000 - 32 - 56 - 168
        header.slots.append(try SlotTests.read(raw.bytes))
        let largest = try Self.encoded(&header)
        #expect(try Header(largest.span).length == 1 << 20)
        raw.sealed += 1
        header.slots[31] = try SlotTests.read(raw.bytes)
        refuses(.limitExceeded, "a header of") { () throws(FormatError) in _ = try header.encodeWithoutProof() }
    }
}

@Suite("An extension")
struct ExtensionTests {
    private func read(_ bytes: [UInt8]) throws(FormatError) -> Extension {
        var cursor = Cursor(bytes.span, at: 0, else: .headerInvalid)
        let one = try Extension(bytes.span, &cursor)
        try cursor.finish()
        return one
    }

    @Test("has a name of 1 to 64 printable ASCII bytes, a value of at most 4096 bytes, and two flags")
    func limits() throws {
        func bytes(_ flags: UInt8 = 0, _ name: [UInt8] = [97], _ value: Int = 0) -> [UInt8] {
            [flags, UInt8(name.count)] + name + u16(UInt16(value)) + [UInt8](repeating: 9, count: value)
        }
        for good in [
            bytes(), bytes(1), bytes(2), bytes(3), bytes(0, [UInt8](repeating: 33, count: 64)), bytes(0, [126], 4096),
        ] {
            var again: [UInt8] = []
            try read(good).encode(into: &again)
            #expect(again == good)
            let one = try read(good)
            #expect(one.flags == good[0] && one.isCritical == (good[0] & 1 != 0))
            refusesTruncations(good) { short throws(FormatError) in _ = try read(short) }
        }
        for flags in 4...255 as ClosedRange<UInt8> {
            refuses(.headerInvalid, "unknown flags") { () throws(FormatError) in _ = try read(bytes(flags)) }
        }
        refuses(.headerInvalid, "name has 0 bytes") { () throws(FormatError) in _ = try read(bytes(0, [])) }
        for count in [65, 255] {
            refuses(.headerInvalid, "name has \(count) bytes") { () throws(FormatError) in
                _ = try read(bytes(0, [UInt8](repeating: 97, count: count)))
            }
        }
        for byte in [0, 32, 127, 0x80, 0xFF] as [UInt8] {
            refuses(.headerInvalid, "printable") { () throws(FormatError) in _ = try read(bytes(0, [97, byte])) }
        }
        refuses(.headerInvalid, "4097") { () throws(FormatError) in _ = try read(bytes(0, [97], 4097)) }
        refuses(.headerInvalid, "past the end") { () throws(FormatError) in
            _ = try read(Array(bytes(0, [97], 10).dropLast()))
        }
    }
}
