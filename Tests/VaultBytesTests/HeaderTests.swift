import Testing
import VaultBytes

@Suite("A header")
struct HeaderTests {
    /// A header with slots of all kinds and two extensions, and its bytes.
    static func sample(_ seed: UInt64 = 1, slots: Int = 3, extensions: Int = 2) throws(FormatError) -> (header: Header, bytes: [UInt8]) {
        var numbers = Numbers(seed)
        var header = Header(id: numbers.id(), epoch: numbers.hash(), slots: (0..<slots).map { SlotTests.sample($0, &numbers) })
        header.extensions = (0..<extensions).map {
            Extension(name: "example.org/\($0 + 10)", isCritical: false, value: numbers.bytes($0 * 7))
        }
        header.readerMAC = numbers.hash()
        header.ownerMAC = numbers.hash()
        let bytes = header.encode(without: try header.encodeWithoutMACs())
        return (header, bytes)
    }

    private func refusesHeader(
        _ bytes: [UInt8], _ phrase: String, _ code: FormatError.Code = .headerInvalid, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        refuses(code, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in _ = try Header(bytes.span) }
    }

    @Test("is read as it was written", arguments: 1...16)
    func roundTrip(slots: Int) throws {
        let (header, bytes) = try Self.sample(UInt64(slots), slots: slots, extensions: slots)
        #expect(bytes.count == header.length && bytes.count % 4096 == 0)
        var read = try Header(bytes.span)
        #expect(read == header)
        #expect(try read.encode(without: read.encodeWithoutMACs()) == bytes)
    }

    @Test("has one encoding: whatever changed bytes are accepted mean something else")
    func oneEncoding() throws {
        let (_, bytes) = try Self.sample()
        hasOneEncoding(bytes, seed: 7, changes: 1) { changed throws(FormatError) in
            var header = try Header(changed.span)
            return header.encode(without: try header.encodeWithoutMACs())
        }
    }

    @Test("is first recognised by its magic, then by its version, then by everything else (R-3.1)")
    func order() throws {
        let (_, bytes) = try Self.sample()
        let worst = patched(patched(patched(bytes, 0, [0]), 8, u16(2)), 12, u32(0))
        refusesHeader(worst, "not a vault", .notAVault)
        refusesHeader(patched(patched(bytes, 8, u16(2)), 12, u32(0)), "format 2", .unsupportedVersion)
        refusesHeader(patched(bytes, 8, u16(0)), "format 0", .unsupportedVersion)
        refusesHeader(patched(bytes, 12, u32(0)), "a header of 0 bytes")
        for index in 0..<8 { refusesHeader(patched(bytes, index, [bytes[index] ^ 1]), "not a vault", .notAVault) }
        for length in 0..<16 {
            let short = Array(bytes[..<length])
            refuses(.notAVault, "not a vault") { () throws(FormatError) in _ = try Header.regionLength(short.span) }
        }
    }

    @Test("has a length that is a possible one, and all there (R-2.2)")
    func lengths() throws {
        let (_, bytes) = try Self.sample()
        for length in [0, 1, 4095, 4097, 65_536 + 4096, 1 << 31, .max] as [UInt32] {
            refusesHeader(patched(bytes, 12, u32(length)), "a header of \(length) bytes")
        }
        refusesHeader(patched(bytes, 12, u32(8192)), "cut off")
        refusesHeader(Array(bytes.dropLast()), "cut off")
        refusesHeader(bytes + [0], "cut off")
    }

    @Test("has zeros where nothing is (R-1.2)")
    func reserved() throws {
        let (_, bytes) = try Self.sample()
        for place in [10, 11, 66, 67, bytes.count - 65] { refusesHeader(patched(bytes, place, [1]), "not zero") }
    }

    @Test("has 1 to 16 slots and at most 16 extensions (R-3.2)")
    func counts() throws {
        let (_, bytes) = try Self.sample()
        for count in [0, 17, 255] as [UInt8] { refusesHeader(patched(bytes, 64, [count]), "\(count) slots") }
        for count in [17, 255] as [UInt8] { refusesHeader(patched(bytes, 65, [count]), "\(count) extensions") }
        // One slot more than there is reads the extensions as a slot; one fewer, a slot as an extension.
        refusesHeader(patched(bytes, 64, [4]), "")
        refusesHeader(patched(bytes, 64, [2]), "")
    }

    @Test("has no two slots of one id (R-3.5)")
    func slotIDs() throws {
        var (header, _) = try Self.sample()
        header.slots[2].id = header.slots[0].id
        let bytes = header.encode(without: try header.encodeWithoutMACs())
        refusesHeader(bytes, "one id")
    }

    @Test("has its extensions in strictly ascending order of names")
    func extensionOrder() throws {
        for names in [["b", "a"], ["a", "a"], ["ab", "a"]] {
            var (header, _) = try Self.sample()
            header.extensions = names.map { Extension(name: $0, isCritical: false, value: []) }
            let bytes = header.encode(without: try header.encodeWithoutMACs())
            refusesHeader(bytes, "out of order")
        }
    }

    @Test("with a critical extension that is not known is refused by name (R-3.10)")
    func critical() throws {
        var (header, _) = try Self.sample()
        header.extensions.append(Extension(name: "example.org/must", isCritical: true, value: [1]))
        let bytes = header.encode(without: try header.encodeWithoutMACs())
        refusesHeader(bytes, "\"example.org/must\"", .unsupportedCritical)
    }

    @Test("keeps an extension that is not critical byte for byte (R-3.11)")
    func preserved() throws {
        let (header, bytes) = try Self.sample(extensions: 16)
        var read = try Header(bytes.span)
        #expect(read.extensions == header.extensions)
        read.slots.removeLast()
        let again = try Header(read.encode(without: try read.encodeWithoutMACs()).span)
        #expect(again.extensions == header.extensions)
    }

    @Test("grows in steps of 4096 bytes, and not beyond 65,536")
    func growth() throws {
        var (header, _) = try Self.sample(slots: 1, extensions: 0)
        header.extensions = (0..<15).map { Extension(name: "e\($0 + 10)", isCritical: false, value: [UInt8](repeating: 1, count: 4096)) }
        let bytes = try header.encodeWithoutMACs()
        #expect(header.length == 65_536 && bytes.count == 65_536 - 64)
        header.extensions.append(Extension(name: "f", isCritical: false, value: [UInt8](repeating: 1, count: 4096)))
        refuses(.limitExceeded, "a header of") { () throws(FormatError) in _ = try header.encodeWithoutMACs() }
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

    @Test("has a name of 1 to 64 printable ASCII bytes, a value of at most 4096 bytes, and one flag")
    func limits() throws {
        func bytes(_ flags: UInt8 = 0, _ name: [UInt8] = [97], _ value: Int = 0) -> [UInt8] {
            [flags, UInt8(name.count)] + name + u16(UInt16(value)) + [UInt8](repeating: 9, count: value)
        }
        for good in [bytes(), bytes(1), bytes(0, [UInt8](repeating: 33, count: 64)), bytes(0, [126], 4096)] {
            var again: [UInt8] = []
            try read(good).encode(into: &again)
            #expect(again == good)
        }
        for flags in [2, 3, 0x80, 0xFF] as [UInt8] {
            refuses(.headerInvalid, "unknown flags") { () throws(FormatError) in _ = try read(bytes(flags)) }
        }
        refuses(.headerInvalid, "without a name") { () throws(FormatError) in _ = try read(bytes(0, [])) }
        for count in [65, 255] {
            refuses(.headerInvalid, "name has \(count)") { () throws(FormatError) in
                _ = try read(bytes(0, [UInt8](repeating: 97, count: count)))
            }
        }
        for byte in [0, 32, 127, 0x80, 0xFF] as [UInt8] {
            refuses(.headerInvalid, "printable") { () throws(FormatError) in _ = try read(bytes(0, [97, byte])) }
        }
        refuses(.headerInvalid, "4097") { () throws(FormatError) in _ = try read(bytes(0, [97], 4097)) }
        refuses(.headerInvalid, "past the end") { () throws(FormatError) in _ = try read(Array(bytes(0, [97], 10).dropLast())) }
    }
}
