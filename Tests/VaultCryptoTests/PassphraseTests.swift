import Testing
import VaultCrypto

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

    @Test("is the same when it is normalised again")
    func stable() throws {
        for text in ["e\u{301}\u{323}", "\u{1100}\u{1161}", "\u{1D160}\u{301}", "a\u{323}\u{302}\u{301}"] {
            let once = try normalised(text)
            #expect(Array(try normalised(once).utf8) == Array(once.utf8))
        }
    }
}
