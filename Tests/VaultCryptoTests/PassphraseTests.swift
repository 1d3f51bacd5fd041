import Testing
import VaultCrypto

#if canImport(Glibc)
    import Glibc
#endif

@Suite("A passphrase")
struct PassphraseTests {
    private func normalised(_ text: String) throws(CryptoError) -> String {
        String(decoding: try Passphrase.normalised(Secret(text: text)).array, as: UTF8.self)
    }

    private func bytes(_ text: String) throws(CryptoError) -> [UInt8] {
        try Passphrase.normalised(Secret(text: text)).array
    }

    @Test(
        "is composed (NFC): the same letters give the same bytes",
        arguments: [
            ("e\u{301}", "\u{E9}"), ("A\u{30A}", "\u{C5}"), ("\u{212B}", "\u{C5}"),
            ("\u{1100}\u{1161}\u{11A8}", "\u{AC01}"),
            ("a\u{323}\u{302}", "\u{1EAD}"), ("a\u{302}\u{323}", "\u{1EAD}"), ("\u{2126}", "\u{3A9}"),
            // Excluded from composition: these decompose and stay so.
            ("\u{FB1D}", "\u{5D9}\u{5B4}"), ("\u{344}", "\u{308}\u{301}"), ("\u{1D160}", "\u{1D158}\u{1D165}\u{1D16E}"),
            ("\u{2ADC}", "\u{2ADD}\u{338}"),
            // Not by compatibility: a ligature stays one.
            ("\u{FB01}", "\u{FB01}"), ("\u{FF21}", "\u{FF21}"),
        ])
    func composed(from: String, to: String) throws {
        #expect(try bytes(from) == Array(to.utf8))
        #expect(try bytes("1" + from + "2") == Array(("1" + to + "2").utf8))
    }

    @Test("of ASCII passes unchanged, blanks and controls included")
    func ascii() throws {
        for text in ["a", " leading and trailing ", "MiXeD", "tab\tnewline\n", "\0", "\u{7F}"] {
            #expect(try bytes(text) == Array(text.utf8))
        }
    }

    @Test("is neither trimmed nor folded outside ASCII either")
    func untouched() throws {
        for text in ["\u{A0}x\u{2003}", "ÄÖÜ", "straße", "\u{202E}abc", "👩‍👧", "\u{FEFF}bom", "é\0é"] {
            #expect(try bytes(text) == Array(text.utf8))
        }
    }

    @Test("that is not UTF-8 is refused (R-3.18)")
    func invalid() {
        for bytes in [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x61, 0x80]]
            as [[UInt8]]
        {
            #expect(throws: CryptoError.passphraseNotUTF8) { _ = try Passphrase.normalised(Secret(bytes: bytes)) }
        }
    }

    @Test("has 1 to 65,536 bytes")
    func lengths() throws {
        for count in [0, 65_537] {
            #expect(throws: CryptoError.passphraseLength) {
                _ = try Passphrase.normalised(Secret(bytes: [UInt8](repeating: 97, count: count)))
            }
        }
        #expect(try Passphrase.normalised(Secret(bytes: [UInt8](repeating: 97, count: 65_536))).count == 65_536)
    }

    @Test(
        "of the greatest length never outgrows its memory, however much its characters expand",
        arguments: [
            "\u{1D160}", "\u{344}", "\u{FB1D}", "\u{1F82}", "\u{390}", "\u{1EAD}", "\u{FDFA}", "\u{1D164}", "\u{AC01}",
        ])
    func expanding(character: String) throws {
        let text = String(repeating: character, count: 65_536 / character.utf8.count)
        let result = try bytes(text)
        let each = try bytes(character)
        // Marks alone may be put in another order, so compare sorted.
        #expect(result.count == each.count * text.unicodeScalars.count)
        let expected = (0..<text.unicodeScalars.count).flatMap { _ in each }
        #expect(result.sorted() == expected.sorted())
    }

    @Test(
        "is composed as in Unicode 13.0: what later versions assign stays, and what is around it is composed (R-3.18)",
        arguments: [
            // Classes of Unicode 14.0 and 15.0, compositions of Unicode 16.0.
            ("a\u{898}\u{323}", "a\u{898}\u{323}"), ("a\u{1E08F}\u{323}", "a\u{1E08F}\u{323}"),
            ("\u{11382}\u{113C9}", "\u{11382}\u{113C9}"), ("\u{105D2}\u{307}", "\u{105D2}\u{307}"),
            ("a\u{323}\u{898}e\u{301}\u{1FAE0}", "\u{1EA1}\u{898}\u{E9}\u{1FAE0}"),
            ("\u{898}\u{301}\u{323}", "\u{898}\u{323}\u{301}"), ("\u{378}\u{10FFFF}", "\u{378}\u{10FFFF}"),
            // Of Unicode 13.0, which utf8proc has to know.
            ("\u{11935}\u{11930}", "\u{11938}"), ("q\u{1ABF}\u{301}", "q\u{1ABF}\u{301}"),
            ("q\u{301}\u{1ABF}", "q\u{1ABF}\u{301}"),
        ])
    func version(from: String, to: String) throws {
        #expect(try bytes(from) == Array(to.utf8))
        #expect(try bytes(to) == Array(to.utf8))
    }

    @Test("of many marks is put in order, and nothing is put between them")
    func marks() throws {
        let marks = String(repeating: "\u{301}", count: 40)
        #expect(try bytes("q" + marks + "\u{323}") == Array(("q\u{323}" + marks).utf8))
    }

    @Test("that is new has only code points of the list of Unicode 13.0, at each end of its gaps (R-3.18)")
    func assigned() throws {
        var text = try lines("Spec/unicode-13.txt").filter { !$0.hasPrefix("#") }[...]
        #expect(text.count == 685)
        func isNew(_ value: UInt32) -> Bool {
            guard let scalar = Unicode.Scalar(value) else { return true }
            do throws(CryptoError) {
                try Passphrase.checkNew(Passphrase.normalised(Secret(text: "x" + String(scalar) + "y")))
                return true
            } catch {
                #expect(error == .passphraseUnassigned)
                return false
            }
        }
        var last: UInt32 = 0
        while let line = text.popFirst() {
            let ends = line.split(separator: ".").compactMap { UInt32($0, radix: 16) }
            let first = try #require(ends.first)
            let end = try #require(ends.last)
            #expect(last < first && first <= end)
            #expect(isNew(first - 1) && !isNew(first) && !isNew(end) && isNew(end + 1), "\(line)")
            // The ages that the standard library has are those of the list.
            #expect((last..<first).allSatisfy { age($0) <= 13 } && (first...end).allSatisfy { age($0) > 13 }, "\(line)")
            last = end + 1
        }
        #expect((last...0x10FFFF).allSatisfy { age($0) <= 13 })
    }

    private func lines(_ path: String) throws -> [Substring] {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let file = try #require(fopen("/\(root)/\(path)", "rb"), "\(path) cannot be read")
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n")
    }

    /// Surrogates are not in the list.
    private func age(_ value: UInt32) -> Int {
        guard let scalar = Unicode.Scalar(value) else { return 0 }
        return scalar.properties.age?.major ?? .max
    }

    @Test("is the same when it is normalised again")
    func stable() throws {
        for text in ["e\u{301}\u{323}", "\u{1100}\u{1161}", "\u{1D160}\u{301}", "a\u{323}\u{302}\u{301}"] {
            let once = try normalised(text)
            #expect(Array(try normalised(once).utf8) == Array(once.utf8))
        }
    }
}
