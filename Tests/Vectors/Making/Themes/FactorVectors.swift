internal import TestSupport
internal import VaultBytes
internal import VaultCrypto

/// Factors: passphrases, key files, raw and external keys (section 3.1). The vault is `one`, with a slot added after
/// its raw-key slot.
extension Collection {
    private static let generated: [UInt8] = Array(32..<64)

    mutating func addFactors(_ bases: Bases) throws {
        folder = "factors"
        try addPassphrases(bases)
        try addKeyFiles(bases)
        try addRawKeys(bases)
        try addExternalKeys(bases)
        try addSlotChoice(bases)
    }

    private static func request(passphrase: [UInt8]? = nil, keyFile: [UInt8]? = nil, rawKey: [UInt8]? = nil)
        -> ReadRequest
    {
        var request = ReadRequest()
        request.passphrase = passphrase
        request.keyFile = keyFile
        request.rawKey = rawKey
        return request
    }

    // MARK: passphrases

    private mutating func addPassphrases(_ bases: Bases) throws {
        let cases: [(name: String, slot: String, given: String, expect: Verdict, comment: String)] = [
            ("ascii", "correct horse", "correct horse", .success, "A passphrase in ASCII."),
            ("nfc", "K\u{E4}se", "K\u{E4}se", .success, "A passphrase in NFC."),
            ("nfd", "K\u{E4}se", "Ka\u{308}se", .success, "A passphrase typed in NFD: NFC is what counts."),
            (
                "singleton", "\u{C5}ngstr\u{F6}m", "\u{212B}ngstro\u{308}m", .success,
                "An Angstrom sign, which NFC makes a letter."
            ),
            (
                "excluded", "\u{915}\u{93C}", "\u{958}", .success,
                "A code point that NFC takes apart and does not put together again."
            ),
            ("hangul", "\u{D55C}", "\u{1112}\u{1161}\u{11AB}", .success, "Hangul typed as single jamo."),
            (
                "reordered", "q\u{323}\u{307}", "q\u{307}\u{323}", .success,
                "Two combining marks in the order that is not canonical."
            ),
            (
                "unassigned", "a\u{378}\u{10FFFF}", "a\u{378}\u{10FFFF}", .success,
                "Code points that no Unicode version so far assigns stay as they are."
            ),
            (
                "unicode-14", "a\u{898}\u{323}", "a\u{898}\u{323}", .success,
                "U+0898, to which Unicode 14.0 gave class 230: it stays before a mark of class 220."
            ),
            (
                "unicode-14-reordered", "\u{1EA1}\u{898}", "a\u{898}\u{323}", .noSlotOpens,
                "What the tables of Unicode 14.0 would make of it."
            ),
            (
                "unicode-15", "a\u{1E08F}\u{323}", "a\u{1E08F}\u{323}", .success,
                "U+1E08F, to which Unicode 15.0 gave class 230: it stays before a mark of class 220."
            ),
            (
                "unicode-15-reordered", "\u{1EA1}\u{1E08F}", "a\u{1E08F}\u{323}", .noSlotOpens,
                "What the tables of Unicode 15.0 would make of it."
            ),
            (
                "unicode-16", "\u{11382}\u{113C9}", "\u{11382}\u{113C9}", .success,
                "Two code points that Unicode 16.0 composes: they stay two."
            ),
            (
                "unicode-16-composed", "\u{11383}", "\u{11382}\u{113C9}", .noSlotOpens,
                "What the tables of Unicode 16.0 would make of it."
            ),
            (
                "unicode-16-letter", "\u{105D2}\u{307}", "\u{105D2}\u{307}", .success,
                "A letter of Unicode 16.0 and a mark of Unicode 1.1, which Unicode 16.0 composes: they stay two."
            ),
            (
                "around-unassigned", "\u{1EA1}\u{898}\u{E9}\u{1FAE0}\u{D55C}",
                "a\u{323}\u{898}e\u{301}\u{1FAE0}\u{1112}\u{1161}\u{11AB}", .success,
                "What is before, between and after code points that Unicode 13.0 does not assign is composed."
            ),
            (
                "after-unassigned", "\u{898}\u{323}\u{301}", "\u{898}\u{301}\u{323}", .success,
                "Two marks after a code point that Unicode 13.0 does not assign: they are put in order."
            ),
            (
                "unicode-13", "\u{11938}", "\u{11935}\u{11930}", .success,
                "Two code points of Unicode 13.0, which composes them."
            ),
            (
                "many-marks", "q\u{323}" + String(repeating: "\u{301}", count: 40),
                "q" + String(repeating: "\u{301}", count: 40) + "\u{323}", .success,
                "41 marks after a letter: they are put in order, and nothing is put between them."
            ),
            ("compatibility", "\u{FB01}", "\u{FB01}", .success, "A ligature is not taken apart: NFC, not NFKC."),
            ("leading-feff", "\u{FEFF}x", "\u{FEFF}x", .success, "A leading U+FEFF is a character."),
            ("leading-feff-left-out", "\u{FEFF}x", "x", .noSlotOpens, "A leading U+FEFF is not removed."),
            ("not-compatibility", "\u{FB01}", "fi", .noSlotOpens, "Compatibility forms are other passphrases."),
            ("wrong", "correct horse", "correct hor5e", .noSlotOpens, "A wrong passphrase."),
            ("not-trimmed", "correct horse", "correct horse ", .noSlotOpens, "A space at the end counts."),
            ("newline", "correct horse", "correct horse\n", .noSlotOpens, "A newline at the end counts."),
            ("case", "correct horse", "Correct horse", .noSlotOpens, "Case counts."),
            ("with-nul", "a\u{0}b", "a\u{0}b", .success, "A zero byte does not end a passphrase."),
            ("after-nul", "a\u{0}b", "a\u{0}c", .noSlotOpens, "What follows a zero byte counts."),
            ("one-byte", "1", "1", .success, "A passphrase of one byte."),
        ]
        for one in cases {
            try passphrase(
                "passphrase-\(one.name)", one.expect, bases, one.comment, slot: Array(one.slot.utf8),
                given: Array(one.given.utf8))
        }
        let refused: [(String, [UInt8], String)] = [
            (
                "invalid-utf8", [0x70, 0xFF],
                "A slot was made for bytes that are not UTF-8; they are refused, not tried."
            ),
            ("overlong-utf8", [0xC1, 0xA1], "The same for an overlong encoding."),
            ("overlong-nul", [0x61, 0xC0, 0x80], "The same for a zero byte in two bytes."),
            ("surrogate", [0xED, 0xA0, 0x80], "The same for an encoded surrogate."),
            ("beyond-10ffff", [0xF4, 0x90, 0x80, 0x80], "The same for a code point above U+10FFFF."),
            ("cut-utf8", [0x61, 0xE2, 0x82], "The same for a character that is cut off."),
            ("empty", [], "A slot was made for a passphrase without a byte; it is refused."),
            ("65537", [0x78].times(65_537), "A slot was made for a passphrase of 65,537 bytes; it is refused."),
        ]
        for (name, bytes, comment) in refused {
            try passphrase("passphrase-\(name)", .noSlotOpens, bases, comment, slot: bytes, given: bytes)
        }
        for (name, slot, comment) in [
            ("replaced", "p\u{FFFD}", "a passphrase with U+FFFD in place of it"),
            ("left-out", "p", "a passphrase without it"),
            ("latin-1", "p\u{FF}", "a passphrase in which it is Latin-1"),
        ] {
            try passphrase(
                "passphrase-invalid-utf8-\(name)", .noSlotOpens, bases,
                "A byte that is not UTF-8, and a slot for \(comment): it is refused, not decoded.",
                slot: Array(slot.utf8), given: [0x70, 0xFF])
        }
        try passphrase(
            "passphrase-invalid-utf8-for-empty", .noSlotOpens, bases,
            "Bytes that are not UTF-8, and a slot for a passphrase without a byte: they are not taken for nothing.",
            slot: [],
            given: [0x70, 0xFF])
        let longest = [0x78].times(65_536)
        try passphrase(
            "passphrase-65536", .success, bases, "A passphrase of 65,536 bytes, the longest.", slot: longest,
            given: longest)
        try addLengthsAsTyped(bases)
        try passphrase(
            "passphrase-long-end", .noSlotOpens, bases, "The last of 1000 bytes is another one.",
            slot: [0x78].times(1000),
            given: [0x78].times(999) + [0x79])
        try forged(
            "passphrase-for-raw-key", "R-3.10", .noSlotOpens, bases.one,
            "A passphrase, and there are only slots for raw keys.",
            request: .words("x")
        ) { $0.header.extensions = [Extension(name: "a", isCritical: false, value: [])] }
    }

    /// The limit is that of the passphrase as typed, whatever NFC makes of it.
    private mutating func addLengthsAsTyped(_ bases: Bases) throws {
        // Three bytes as typed: NFC makes six of the one, and two of the other.
        let (growing, grown) = ([UInt8]("\u{958}".utf8), [UInt8]("\u{915}\u{93C}".utf8))
        let (shrinking, shrunk) = ([UInt8]("a\u{308}".utf8), [UInt8]("\u{E4}".utf8))
        func repeated(_ bytes: [UInt8], _ rest: Int) -> [UInt8] {
            Array(repeatElement(bytes, count: 21_845).joined()) + [0x78].times(rest)
        }
        try passphrase(
            "passphrase-65536-growing", .success, bases, "65,536 bytes as typed, of which NFC makes 131,071.",
            slot: repeated(grown, 1), given: repeated(growing, 1))
        try passphrase(
            "passphrase-65536-grown", .noSlotOpens, bases, "The same 131,071 bytes, as typed: they are refused.",
            slot: repeated(grown, 1), given: repeated(grown, 1))
        try passphrase(
            "passphrase-65537-growing", .noSlotOpens, bases,
            "65,537 bytes as typed, of which NFC makes more: they are refused.",
            slot: repeated(grown, 2), given: repeated(growing, 2))
        try passphrase(
            "passphrase-65536-shrinking", .success, bases, "65,536 bytes as typed, of which NFC makes 43,691.",
            slot: repeated(shrunk, 1), given: repeated(shrinking, 1))
        try passphrase(
            "passphrase-65537-shrinking", .noSlotOpens, bases,
            "65,537 bytes as typed, of which NFC makes 43,692: they are refused.",
            slot: repeated(shrunk, 2), given: repeated(shrinking, 2))
    }

    private mutating func passphrase(
        _ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, slot: [UInt8], given: [UInt8]
    ) throws {
        try forged(name, "R-3.18", expect, bases.one, comment, request: Self.request(passphrase: given)) {
            try $0.addSlot(1, .passphrase(slot), name: "words")
        }
    }

    // MARK: key files

    private mutating func addKeyFiles(_ bases: Bases) throws {
        let good = KeyFileFormat.encode(Secret(bytes: Self.generated)).plain
        let words = Array("words".utf8)
        let photo = Array("any file will do".utf8)
        typealias Case = (String, Verdict, String, ForgeFactors, [UInt8], [UInt8]?)
        let cases: [Case] = [
            ("generated", .success, "A generated key file.", .generatedKey(Self.generated), good, nil),
            (
                "generated-and-passphrase", .success, "A generated key file and a passphrase together.",
                .generatedKey(Self.generated, passphrase: words), good, words
            ),
            (
                "without-passphrase", .noSlotOpens, "The slot takes both, and only the key file is given.",
                .generatedKey(Self.generated, passphrase: words), good, nil
            ),
            (
                "with-a-passphrase-too-many", .noSlotOpens,
                "The slot takes the key file, and a passphrase is given too.",
                .generatedKey(Self.generated), good, words
            ),
            (
                "generated-and-wrong-passphrase", .noSlotOpens, "The key file is right, the passphrase is not.",
                .generatedKey(Self.generated, passphrase: words), good, Array("word".utf8)
            ),
            ("other", .success, "Any other file counts by its hash.", .otherKeyFile(photo), photo, nil),
            (
                "other-and-passphrase", .success, "Any other file and a passphrase together.",
                .otherKeyFile(photo, passphrase: words),
                photo,
                words
            ),
            (
                "other-wrong-passphrase", .noSlotOpens, "The file is right, the passphrase is not.",
                .otherKeyFile(photo, passphrase: words), photo, Array("word".utf8)
            ),
            ("other-newline", .noSlotOpens, "A newline more is another file.", .otherKeyFile(photo), photo + [10], nil),
            ("one-byte", .success, "A key file of one byte.", .otherKeyFile([7]), [7], nil),
            (
                "empty", .noSlotOpens, "A slot was made for a file without a byte; it is refused.", .otherKeyFile([]),
                [], nil
            ),
            (
                "32-bytes", .success, "A file of 32 bytes is a file that counts by its hash, not a raw key.",
                .otherKeyFile(Self.generated),
                Self.generated, nil
            ),
            (
                "almost-generated", .success, "It starts almost like a generated one, and so is another file.",
                .otherKeyFile(Array("VAULTFMT-KEY".utf8) + good.dropFirst(13)),
                Array("VAULTFMT-KEY".utf8) + good.dropFirst(13), nil
            ),
            (
                "generated-as-other", .noSlotOpens,
                "A slot for the hash of a generated key file: it is never taken so.",
                .otherKeyFile(good),
                good, nil
            ),
        ]
        for (name, expect, comment, factors, file, passphrase) in cases {
            try forged(
                "key-file-\(name)", name.hasPrefix("generated") ? "R-3.10, R-3.19" : "R-3.10", expect, bases.one,
                comment,
                request: Self.request(passphrase: passphrase, keyFile: file)
            ) {
                try $0.addSlot(1, factors)
            }
        }
        try addDamagedKeyFiles(bases, good)
        try addMalformedKeyFiles(bases)
    }

    /// Where the generated key would open a slot, and the file as any file another one.
    private mutating func addDamagedKeyFiles(_ bases: Bases, _ good: [UInt8]) throws {
        let upper = Array(good[..<15]) + good.dropFirst(15).map { (97...102).contains($0) ? $0 - 32 : $0 }
        let wrongs: [(String, String, [UInt8])] = [
            ("check", "its check digits are wrong", good.dropLast(2) + [good[87] ^ 1, 10]),
            (
                "digit", "one digit of the key is another one",
                good.prefix(20) + [good[20] == 48 ? 49 : 48] + good.dropFirst(21)
            ),
            ("letter", "one digit of the key is no digit", good.prefix(20) + [103] + good.dropFirst(21)),
            ("upper-case", "its digits are in upper case", Array(upper)),
            (
                "upper-case-key", "the digits of its key are in upper case",
                Array(good[..<15] + upper[15..<79] + good[79...])
            ),
            (
                "upper-case-check", "its check digits are in upper case",
                Array(good[..<80] + upper[80...])
            ),
            ("no-newline", "the newline is missing", good.dropLast()),
            ("crlf", "it ends with CR LF", good.dropLast() + [13, 10]),
            ("two-newlines", "there is a newline too many", good + [10]),
            ("space", "it ends with a space in place of the newline", good.dropLast() + [32]),
            (
                "no-dash", "the dash before the check digits is another character",
                good.prefix(79) + [95] + good.dropFirst(80)
            ),
            ("version-2", "it is of version 2", good.prefix(13) + [50] + good.dropFirst(14)),
            ("short", "it has nothing after the marker", Array(good.prefix(13))),
        ]
        for (name, what, content) in wrongs {
            let content = Array(content)
            guard content != good else { throw ForgeError("\(name): the key file is right") }
            try forged(
                "key-file-damaged-\(name)", "R-3.19", .noSlotOpens, bases.one,
                "A generated key file, but \(what); there are slots for its key and for the hash of the file.",
                request: Self.request(keyFile: content)
            ) {
                try $0.addSlot(1, .generatedKey(Self.generated))
                try $0.addSlot(2, .otherKeyFile(content))
            }
        }
    }

    /// The check digits are those of the key that a careless reader makes of the digits.
    private mutating func addMalformedKeyFiles(_ bases: Bases) throws {
        func file(_ digits: String, _ key: [UInt8]) -> [UInt8] {
            let check = Plain.hash(Plain.label("vaultfmt-1 key file check") + key).bytes.prefix(4)
            return Array("VAULTFMT-KEY-1-\(digits)-\(Hex.encode(Array(check)))\n".utf8)
        }
        let begun = Array(Self.generated.dropLast())
        for (name, what, digits, key) in [
            ("empty", "without a digit", "", []), ("31-bytes", "of 62 digits", Hex.encode(begun), begun),
            ("no-digits-last", "whose last two digits are none", Hex.encode(begun) + "zz", begun + [0]),
        ] as [(String, String, String, [UInt8])] {
            try forged(
                "key-file-key-\(name)", "R-3.19", .noSlotOpens, bases.one,
                "A generated key file with a key \(what), and a slot for what it would be.",
                request: Self.request(keyFile: file(digits, key))
            ) { try $0.addSlot(1, .generatedKey(key)) }
        }
    }

    // MARK: raw keys

    private mutating func addRawKeys(_ bases: Bases) throws {
        try vault("raw-key-wrong", "R-3.10", .noSlotOpens, bases.one, "Another raw key.", request: .raw([0].times(32)))
        try vault(
            "raw-key-31-bytes", "R-3.10", .noSlotOpens, bases.one, "A raw key of 31 bytes.",
            request: .raw(Array(0..<31)))
        try forged(
            "raw-key-31-bytes-for-slot", "R-3.10", .noSlotOpens, bases.one,
            "A raw key of 31 bytes, and a slot that was made for it.",
            request: .raw(Array(0..<31))
        ) { try $0.addSlot(1, .rawKey(Array(0..<31))) }
        try vault(
            "raw-key-33-bytes", "R-3.10", .noSlotOpens, bases.one, "A raw key of 33 bytes.",
            request: .raw(Array(0..<33)))
        try vault("raw-key-empty", "R-3.10", .noSlotOpens, bases.one, "A raw key without a byte.", request: .raw([]))
        try vault(
            "raw-key-and-passphrase", "R-3.10", .noSlotOpens, bases.one,
            "The right raw key, and a passphrase: no slot can have both.",
            request: Self.request(passphrase: [120], rawKey: Base.key))
        try vault(
            "raw-key-and-key-file", "R-3.10", .noSlotOpens, bases.one,
            "The right raw key, and a key file: no slot can have both.",
            request: Self.request(keyFile: [120], rawKey: Base.key))
        try vault("no-factor", "R-3.10", .noSlotOpens, bases.one, "No factor at all.", request: ReadRequest())
        try forged(
            "raw-key-for-generated", "R-3.10", .noSlotOpens, bases.one, "A raw key that a slot has as a generated one.",
            request: .raw(Self.generated)
        ) { try $0.addSlot(1, .generatedKey(Self.generated)) }
    }

    // MARK: external keys

    private static let provider = SlotParameters.Provider(
        name: "tests.example.org", parameters: Array("made of this".utf8))
    private static let key: [UInt8] = [0x33].times(32)

    private static func external(
        _ candidates: [(slot: Bytes16?, key: [UInt8])], passphrase: String? = nil,
        provider: String = "tests.example.org"
    ) -> ReadRequest {
        var request = ReadRequest()
        request.external = .init(provider, candidates)
        request.passphrase = passphrase.map { Array($0.utf8) }
        return request
    }

    private mutating func external(
        _ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ request: ReadRequest,
        spec: String = "R-3.10, R-3.13",
        passphrase: String? = nil, edit: (inout Forge) throws -> Void = { _ in }
    ) throws {
        try forged("external-\(name)", spec, expect, bases.one, comment, request: request) { forge in
            let factors = ForgeFactors.externalKey(Self.key, passphrase: passphrase.map { Array($0.utf8) })
            try forge.addSlot(
                1, factors, Slots.parameters(factors.kinds, provider: Self.provider), name: "token",
                data: Array("for you".utf8))
            try edit(&forge)
        }
    }

    private mutating func addExternalKeys(_ bases: Bases) throws {
        let other = [0x44].times(32)
        try external(
            "key", .success, bases, "A slot for an external key, and the key.", Self.external([(nil, Self.key)]))
        try external("wrong", .noSlotOpens, bases, "Another external key.", Self.external([(nil, other)]))
        try external("none", .noSlotOpens, bases, "A provider without a candidate.", Self.external([]))
        try external(
            "second-candidate", .success, bases, "Two candidates, of which the second one opens.",
            Self.external([(nil, other), (nil, Self.key)]))
        try external(
            "sixteenth", .success, bases, "16 candidates, the most; the last one opens.",
            Self.external((0..<15).map { (nil, [UInt8($0)].times(32)) } + [(nil, Self.key)]), spec: "R-3.10, R-11.1")
        try external(
            "seventeenth", .noSlotOpens, bases, "The 17th candidate would open: it is not tried.",
            Self.external((0..<16).map { (nil, [UInt8($0)].times(32)) } + [(nil, Self.key)]), spec: "R-3.10, R-11.1")
        try external(
            "sixteenth-of-17", .success, bases, "17 candidates: the 16th opens, and the last one is ignored.",
            Self.external((0..<15).map { (nil, [UInt8($0)].times(32)) } + [(nil, Self.key), (nil, other)]),
            spec: "R-3.10, R-11.1")
        let id = Bytes16(high: 0x510_7000, low: 1)
        try external("for-slot", .success, bases, "A candidate for this slot.", Self.external([(id, Self.key)]))
        try external(
            "for-other-slot", .noSlotOpens, bases, "The right key, as a candidate for another slot.",
            Self.external([(Bytes16(high: 1, low: 1), Self.key)]))
        try external(
            "other-provider", .noSlotOpens, bases, "The right key, from another provider.",
            Self.external([(nil, Self.key)], provider: "tests.example.com"))
        try external(
            "provider-case", .noSlotOpens, bases, "The right key, from a provider whose name differs in case.",
            Self.external([(nil, Self.key)], provider: "Tests.example.org"))
        try external(
            "and-passphrase", .success, bases, "A slot for an external key and a passphrase.",
            Self.external([(nil, Self.key)], passphrase: "words"),
            passphrase: "words")
        try external(
            "and-passphrase-candidates", .success, bases,
            "The same with three candidates and a policy that allows one attempt: a passphrase is stretched once for a slot.",
            {
                var request = Self.external([(nil, other), (nil, [5].times(32)), (nil, Self.key)], passphrase: "words")
                request.limits[.total] = 8
                return request
            }(), spec: "R-3.11", passphrase: "words")
        try external(
            "and-wrong-passphrase", .noSlotOpens, bases, "The external key is right, the passphrase is not.",
            Self.external([(nil, Self.key)], passphrase: "word"), passphrase: "words")
        try external(
            "without-passphrase", .noSlotOpens, bases, "The slot takes both, and only the external key is given.",
            Self.external([(nil, Self.key)]), passphrase: "words")
        try external(
            "passphrase-only", .noSlotOpens, bases, "The slot takes both, and only the passphrase is given.",
            .words("words"),
            passphrase: "words")
        try external(
            "and-raw-key", .noSlotOpens, bases, "A raw key and an external key: no slot can have both.",
            {
                var request = Self.external([(nil, Self.key)])
                request.rawKey = Base.key
                return request
            }())
        try external(
            "parameters-changed", .noSlotOpens, bases,
            "Somebody changed the provider's parameters: the slot key covers them.",
            Self.external([(nil, Self.key)])
        ) { $0.header.slots[1].parameters.flip(22) }
        try external(
            "payload", .authenticationFailed, bases,
            "The commitment fits a candidate; the payload's tag is wrong, and no other candidate is tried.",
            Self.external([(nil, Self.key), (nil, other)]), spec: "R-3.10"
        ) { $0.header.slots[1].payload.flip(60) }
        try external(
            "unaffordable-without-candidates", .success, bases,
            "A slot beyond the policy that has no candidate is not one that might be tried; another slot opens.",
            Self.external([(id, Self.key)], passphrase: "words"), spec: "R-3.11", passphrase: "words"
        ) { forge in
            var slot = try forge.unpayable(
                2, .externalKey(Self.key, passphrase: [1]),
                SlotParameters.Cost(memoryKiB: 1 << 30, passes: 1, lanes: 1),
                provider: Self.provider)
            slot.id = Bytes16(high: 2, low: 2)
            forge.header.slots.append(try forge.resealedOwner(slot))
        }
        try external(
            "unaffordable-with-candidates", .kdfLimit, bases, "The same with a candidate for that slot, too.",
            Self.external([(nil, Self.key)], passphrase: "words"), spec: "R-3.11", passphrase: "words"
        ) { forge in
            var slot = try forge.unpayable(
                2, .externalKey(Self.key, passphrase: [1]),
                SlotParameters.Cost(memoryKiB: 1 << 30, passes: 1, lanes: 1),
                provider: Self.provider)
            slot.id = Bytes16(high: 2, low: 2)
            forge.header.slots.append(try forge.resealedOwner(slot))
        }
        try external(
            "for-owner", .success, bases, "A slot for an external key, seen by the owner who has a raw key.",
            .raw(Base.key))
        try forged(
            "external-scoped", "R-3.10, R-3.14", .success, bases.scoped, "A scoped slot for an external key.",
            request: Self.external([(nil, Self.key)])
        ) { forge in
            let factors = ForgeFactors.externalKey(Self.key)
            let clear = Slots.clear(7, factors, kind: .scoped, SlotParameters(stretch: nil, provider: Self.provider))
            let group = forge.keys.groups.keys.sorted()[0]
            forge.header.slots.append(
                try forge.keys.slot(
                    clear, factors, payload: try forge.keys.scopedPayload([group]), part: Slots.part("robot"),
                    nonce: Slots.nonce(7)))
        }
        try forged(
            "external-64", "R-3.10, R-11.1", .success, bases.one,
            "64 slots, 63 of them for one provider: the last one opens, with a candidate for each.",
            request: Self.external((1..<64).map { (Bytes16(high: 0x510_7000, low: $0), [UInt8($0)].times(32)) })
        ) { forge in
            for index in 1..<64 as Range<UInt64> {
                let right = index == 63 ? [63].times(32) : [0xEE].times(32)
                try forge.addSlot(index, .externalKey(right), SlotParameters(stretch: nil, provider: Self.provider))
            }
        }
    }

    // MARK: which slot

    private mutating func addSlotChoice(_ bases: Bases) throws {
        try forged(
            "slot-second-opens", "R-3.10", .success, bases.one, "Two slots for raw keys; the second one's is given.",
            request: .raw([7].times(32))
        ) { try $0.addSlot(1, .rawKey([7].times(32)), name: "second") }
        try forged(
            "slot-first-that-fits", "R-3.10", .authenticationFailed, bases.one,
            "Two slots for one raw key: the first one's commitment fits and its payload does not open. The second is not tried."
        ) { forge in
            try forge.addSlot(1, .rawKey(Base.key))
            forge.header.slots.swapAt(0, 1)
            forge.header.slots[0].payload.flip(30)
        }
        try forged(
            "slot-full-before-scoped", "R-3.10", .success, bases.scoped,
            "A full and a scoped slot for one raw key: the first one opens.",
            request: .raw(Base.scopedKey)
        ) { forge in
            try forge.addSlot(1, .rawKey(Base.scopedKey))
            forge.header.slots.swapAt(1, 2)
        }
        try forged(
            "slot-scoped-before-full", "R-3.10", .success, bases.scoped,
            "The same in the other order: the reader has what the scoped slot grants.",
            request: .raw(Base.scopedKey)
        ) { try $0.addSlot(1, .rawKey(Base.scopedKey)) }
    }
}

extension Forge {
    /// A cost that nobody pays, here neither: the slot is made with another one, and its figures are then replaced.
    func unpayable(
        _ number: UInt64, _ factors: ForgeFactors, _ cost: SlotParameters.Cost, provider: SlotParameters.Provider? = nil
    ) throws -> Slot {
        let cheap = try keys.slot(
            Slots.clear(number, factors, Slots.parameters(factors.kinds, provider: provider)), factors,
            part: Slots.part(),
            nonce: Slots.nonce(number))
        var slot = Slots.clear(number, factors, Slots.parameters(factors.kinds, cost, provider: provider))
        slot.commitment = cheap.commitment
        slot.payload = cheap.payload
        return try resealedOwner(slot)
    }

    /// A slot with an owner part that fits it.
    func resealedOwner(_ slot: Slot) throws -> Slot {
        var out = slot
        out.owner = Plain.seal(
            Slots.part().encode(), key: keys.slotOwner, nonce: Slots.nonce(9),
            bound: Bindings.slotOwner(keys.vault, slot))
        return out
    }
}
