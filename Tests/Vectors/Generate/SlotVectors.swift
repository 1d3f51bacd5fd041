import VaultBytes
import VaultCrypto
import VaultFmt
import VaultForge

/// Slots, factors and the cost of deriving keys (section 3.1). The vault is `one`, with slots added after its raw-key slot.
extension Collection {
    mutating func addSlots(_ bases: Bases) throws {
        try addPassphrases(bases)
        try addKeyFiles(bases)
        try addSlotSeals(bases)
        try addScopedPayloads(bases)
        try addCosts(bases)
        try addSalamander(bases)
    }

    private static let cheap = Slot.Cost(memoryKiB: 8, passes: 1, lanes: 1)
    private static let generated: [UInt8] = Array(32..<64)

    private static func clear(_ id: UInt64, _ factors: UInt8, _ cost: Slot.Cost? = nil) -> Slot {
        let isStretched = Slot.isStretched(factors)
        return Slot(
            id: Bytes16(high: 0x510_7000, low: id), kind: .full, factors: factors, cost: isStretched ? cost ?? cheap : nil,
            salt: isStretched ? Bytes16(high: 0x5A17, low: id) : .zero)
    }

    private static func nonce(_ number: UInt8) -> [UInt8] { [0xA0, number].times(12) }

    private static func request(passphrase: String? = nil, bytes: [UInt8]? = nil, keyFile: [UInt8]? = nil) -> CheckRequest {
        var request = CheckRequest()
        request.passphrase = bytes ?? passphrase.map { Array($0.utf8) }
        request.keyFile = keyFile
        return request
    }

    // MARK: passphrases

    private mutating func addPassphrases(_ bases: Bases) throws {
        let cases: [(name: String, slot: String, given: String, expect: Verdict, comment: String)] = [
            ("ascii", "correct horse", "correct horse", .success, "A passphrase in ASCII."),
            ("nfc", "K\u{E4}se", "K\u{E4}se", .success, "A passphrase in NFC."),
            ("nfd", "K\u{E4}se", "Ka\u{308}se", .success, "A passphrase typed in NFD: NFC is what counts."),
            ("singleton", "\u{C5}ngstr\u{F6}m", "\u{212B}ngstro\u{308}m", .success, "An Angstrom sign, which NFC makes a letter."),
            ("excluded", "\u{915}\u{93C}", "\u{958}", .success, "A code point that NFC takes apart and does not put together again."),
            ("hangul", "\u{D55C}", "\u{1112}\u{1161}\u{11AB}", .success, "Hangul typed as single jamo."),
            ("reordered", "q\u{323}\u{307}", "q\u{307}\u{323}", .success, "Two combining marks in the order that is not canonical."),
            (
                "unassigned", "a\u{378}\u{10FFFF}", "a\u{378}\u{10FFFF}", .success,
                "Code points that no Unicode version so far assigns stay as they are."
            ),
            ("compatibility", "\u{FB01}", "\u{FB01}", .success, "A ligature is not taken apart: NFC, not NFKC."),
            ("not-compatibility", "\u{FB01}", "fi", .noSlotOpens, "Compatibility forms are other passphrases."),
            ("wrong", "correct horse", "correct hor5e", .noSlotOpens, "A wrong passphrase."),
            ("not-trimmed", "correct horse", "correct horse ", .noSlotOpens, "A space at the end counts."),
            ("newline", "correct horse", "correct horse\n", .noSlotOpens, "A newline at the end counts."),
            ("case", "correct horse", "Correct horse", .noSlotOpens, "Case counts."),
            ("with-nul", "a\u{0}b", "a\u{0}b", .success, "A zero byte does not end a passphrase."),
            ("after-nul", "a\u{0}b", "a\u{0}c", .noSlotOpens, "What stands after a zero byte counts."),
        ]
        for one in cases {
            try passphrase(
                "passphrase-\(one.name)", one.expect, bases, one.comment, slot: Array(one.slot.utf8), given: Array(one.given.utf8))
        }
        try passphrase(
            "passphrase-invalid-utf8", .noSlotOpens, bases, "A slot was made for bytes that are not UTF-8; they are refused, not tried.",
            slot: [0x70, 0xFF], given: [0x70, 0xFF])
        try passphrase(
            "passphrase-overlong-utf8", .noSlotOpens, bases, "The same for an overlong encoding.", slot: [0xC1, 0xA1], given: [0xC1, 0xA1])
        try passphrase(
            "passphrase-surrogate", .noSlotOpens, bases, "The same for an encoded surrogate.", slot: [0xED, 0xA0, 0x80],
            given: [0xED, 0xA0, 0x80])
        let long = [UInt8](repeating: 0x78, count: 1000)
        try passphrase("passphrase-1000-bytes", .success, bases, "A passphrase of 1000 bytes.", slot: long, given: long)
        try passphrase(
            "passphrase-long-end", .noSlotOpens, bases, "The last of 1000 bytes is another one.", slot: long,
            given: long.dropLast() + [0x79])
        try forged(
            "passphrase-for-raw-key", "R-3.4", .noSlotOpens, bases.one, "A passphrase, and there are only slots for raw keys.",
            request: Self.request(passphrase: "x")
        ) {
            $0.header.extensions = [Extension(name: "a", isCritical: false, value: [])]
        }
        try vault("raw-key-wrong", "R-3.7", .noSlotOpens, bases.one, "Another raw key.", request: .raw([UInt8](repeating: 0, count: 32)))
    }

    private mutating func passphrase(
        _ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, slot: [UInt8], given: [UInt8]
    ) throws {
        try forged(name, "R-3.8", expect, bases.one, comment, request: Self.request(bytes: given)) { forge in
            forge.header.slots.append(
                try forge.slot(Self.clear(1, Slot.passphrase), .forged(passphrase: slot), name: Array("words".utf8), nonce: Self.nonce(1)))
        }
    }

    // MARK: key files

    private mutating func addKeyFiles(_ bases: Bases) throws {
        let good = KeyFileFormat.encode(Secret(bytes: Self.generated)).plain
        try keyFile("key-file-generated", .success, bases, "A generated key file.", given: good) {
            try $0.slot(Self.clear(1, 2), .forged(generatedKey: Self.generated), nonce: Self.nonce(1))
        }
        try keyFile(
            "key-file-generated-and-passphrase", .success, bases, "A generated key file and a passphrase together.", given: good,
            passphrase: "words"
        ) {
            try $0.slot(Self.clear(1, 3), .forged(generatedKey: Self.generated, passphrase: Array("words".utf8)), nonce: Self.nonce(1))
        }
        try keyFile("key-file-without-passphrase", .noSlotOpens, bases, "The slot takes both, and only the key file is given.", given: good)
        {
            try $0.slot(Self.clear(1, 3), .forged(generatedKey: Self.generated, passphrase: Array("words".utf8)), nonce: Self.nonce(1))
        }
        let photo = Array("any file will do".utf8)
        try keyFile("key-file-other", .success, bases, "Any other file counts by its hash.", given: photo) {
            try $0.slot(Self.clear(1, 4), .forged(passphrase: nil, otherKeyFile: photo), nonce: Self.nonce(1))
        }
        try keyFile(
            "key-file-other-and-passphrase", .success, bases, "Any other file and a passphrase together.", given: photo, passphrase: "words"
        ) {
            try $0.slot(Self.clear(1, 5), .forged(passphrase: Array("words".utf8), otherKeyFile: photo), nonce: Self.nonce(1))
        }
        try keyFile(
            "key-file-other-wrong-passphrase", .noSlotOpens, bases, "The file is right, the passphrase is not.", given: photo,
            passphrase: "word"
        ) {
            try $0.slot(Self.clear(1, 5), .forged(passphrase: Array("words".utf8), otherKeyFile: photo), nonce: Self.nonce(1))
        }
        try keyFile("key-file-other-newline", .noSlotOpens, bases, "A newline more is another file.", given: photo + [10]) {
            try $0.slot(Self.clear(1, 4), .forged(passphrase: nil, otherKeyFile: photo), nonce: Self.nonce(1))
        }
        try damaged(
            "key-file-almost-generated", .success, bases, "It starts almost like a generated one, and so is another file.",
            Array("VAULTFMT-KEY".utf8) + good.dropFirst(13))
        let wrongs: [(String, String, [UInt8])] = [
            ("check", "its check digits are wrong", good.dropLast(2) + [good[87] ^ 1, 10]),
            ("digit", "one digit of the key is another one", good.prefix(20) + [good[20] == 48 ? 49 : 48] + good.dropFirst(21)),
            (
                "upper-case", "its digits are in upper case",
                good.prefix(15) + good.dropFirst(15).map { (97...102).contains($0) ? $0 - 32 : $0 }
            ),
            ("no-newline", "the newline is missing", good.dropLast()),
            ("crlf", "it ends with CR LF", good.dropLast() + [13, 10]),
            ("two-newlines", "there is a newline too much", good + [10]),
            ("version-2", "it is of version 2", good.prefix(13) + [50] + good.dropFirst(14)),
            ("short", "it has nothing after the marker", good.prefix(13) + []),
        ]
        for (name, what, content) in wrongs {
            try damaged(
                "key-file-damaged-\(name)", .noSlotOpens, bases,
                "A generated key file, but \(what); the slot was made as if it were any file.", content)
        }
    }

    private mutating func keyFile(
        _ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, given: [UInt8], passphrase: String? = nil,
        _ slot: (Forge) throws -> Slot
    ) throws {
        try forged(name, "R-3.4", expect, bases.one, comment, request: Self.request(passphrase: passphrase, keyFile: given)) {
            $0.header.slots.append(try slot($0))
        }
    }

    private mutating func damaged(_ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ content: [UInt8]) throws {
        try forged(name, "R-3.9", expect, bases.one, comment, request: Self.request(keyFile: content)) { forge in
            forge.header.slots.append(
                try forge.slot(Self.clear(1, 4), .forged(passphrase: nil, otherKeyFile: content), nonce: Self.nonce(1)))
        }
    }

    // MARK: commitment, payload, owner part

    private mutating func addSlotSeals(_ bases: Bases) throws {
        try forged(
            "slot-commitment", "R-3.7", .noSlotOpens, bases.one,
            "A bit of the commitment is another one: whoever tries must not go on to the payload."
        ) { $0.header.slots[0].commitment.words.0 ^= 1 }
        try forged("slot-payload-tag", "R-3.7", .authenticationFailed, bases.one, "The commitment fits; the payload's tag is wrong.") {
            $0.header.slots[0].payload.flip(71)
        }
        try forged(
            "slot-payload-nonce", "R-3.7", .authenticationFailed, bases.one, "The commitment fits; the payload's nonce is another one."
        ) { $0.header.slots[0].payload.flip(0) }
        try forged("slot-id-changed", "R-3.7", .noSlotOpens, bases.one, "A slot's id is another one: its key is derived from it.") {
            $0.header.slots[0].id = Bytes16(high: 1, low: 2)
        }
        try slot("slot-payload-other-vault", .authenticationFailed, bases, "The payload is bound to another vault's id.") {
            $0.payloadBound[20] ^= 1
        }
        try slot("slot-payload-other-slot", .authenticationFailed, bases, "The payload is bound to another slot's id.") {
            $0.payloadBound[33] ^= 1
        }
        try slot("slot-payload-other-label", .authenticationFailed, bases, "The payload is bound to the owner part's label.") {
            $0.payloadBound = [21] + Array("vaultfmt-1 slot owner".utf8) + $0.payloadBound.dropFirst(16)
        }
        try slot(
            "slot-payload-without-commitment", .authenticationFailed, bases, "The payload is bound to the slot without its commitment."
        ) { $0.payloadBound.removeLast(32) }
        try slot(
            "slot-payload-wrong-vault-key", .authenticationFailed, bases,
            "A slot that holds another vault key: the header's MACs are not its."
        ) { $0.payload[0] ^= 1 }
        try forged("slot-from-other-vault", "R-3.7", .noSlotOpens, bases.one, "A slot of another vault, for the same raw key.") {
            $0.header.slots[0] = try bases.other.forge().header.slots[0]
        }
        try forged(
            "slot-second-opens", "R-3.12", .success, bases.one, "Two slots for raw keys; the second one's is given.",
            request: .raw([7].times(32))
        ) {
            $0.header.slots.append(
                try $0.slot(Self.clear(1, 8), .forged(rawKey: [7].times(32)), name: Array("second".utf8), nonce: Self.nonce(1)))
        }
        try forged(
            "slot-first-that-fits", "R-3.7, R-3.12", .authenticationFailed, bases.one,
            "Two slots for one raw key: the first one's commitment fits and its payload does not open. The second is not tried."
        ) { forge in
            var first = try forge.slot(Self.clear(1, 8), .forged(rawKey: Base.key), nonce: Self.nonce(1))
            first.payload.flip(30)
            forge.header.slots.insert(first, at: 0)
        }
        try forged("slot-sixteen", "R-3.2", .success, bases.one, "16 slots.") { forge in
            for index in 1..<16 {
                let key = [UInt8(index + 100)].times(32)
                forge.header.slots.append(
                    try forge.slot(Self.clear(UInt64(index), 8), .forged(rawKey: key), nonce: Self.nonce(UInt8(index))))
            }
        }
        try ownerPart("slot-name-longest", .success, bases, "A name of 63 bytes.") { $0.owner.put([63] + [0x6E].times(63), at: 0) }
        try ownerPart("slot-name-empty", .success, bases, "No name.") { $0.owner.put([0].times(64), at: 0) }
        try ownerPart("slot-name-64", .limitExceeded, bases, "A name of 64 bytes.") { $0.owner.put([64] + [0x6E].times(63), at: 0) }
        try ownerPart("slot-name-padding", .structureInvalid, bases, "A byte after the name is not zero.", spec: "R-1.2") {
            $0.owner[63] = 1
        }
        try ownerPart("slot-name-invalid-utf8", .structureInvalid, bases, "A name that is not UTF-8.", spec: "R-1.4") {
            $0.owner.put([1, 0xFF], at: 0)
        }
        try ownerPart("slot-owner-other-slot", .authenticationFailed, bases, "The owner part is bound to another slot.") {
            $0.ownerBound[40] ^= 1
        }
        try ownerPart("slot-owner-other-key", .authenticationFailed, bases, "The owner part is sealed under the wrapping key.") {
            $0.ownerKey = $0.wrappingKey
        }
    }

    private mutating func slot(
        _ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ edit: (inout SlotRecipe) throws -> Void
    ) throws {
        try forged(name, "R-3.7", expect, bases.one, comment) { forge in
            forge.header.slots[0] = try forge.slot(Self.clear(1, 8), .forged(rawKey: Base.key), nonce: Self.nonce(1), edit: edit)
        }
    }

    private mutating func ownerPart(
        _ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, spec: String = "R-3.14",
        _ edit: (inout SlotRecipe) throws -> Void
    ) throws {
        try forged(name, spec, expect, bases.one, comment) { forge in
            forge.header.slots[0] = try forge.slot(
                Self.clear(1, 8), .forged(rawKey: Base.key), name: Array("main".utf8), nonce: Self.nonce(1), edit: edit)
        }
    }

    // MARK: scoped payloads

    private mutating func addScopedPayloads(_ bases: Bases) throws {
        let cases: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("none", "R-3.2", .success, "No groups: the index only.", { $0 = Array($0.prefix(64)) + [0].times(192) }),
            (
                "order", "R-3.13", .structureInvalid, "Groups 2 and 1, in this order.",
                { $0.put(Array($0[101..<137]) + $0[65..<101], at: 65) }
            ),
            ("twice", "R-3.13", .structureInvalid, "One group twice.", { $0.put(Array($0[65..<101]), at: 101) }),
            ("zero", "R-3.13", .structureInvalid, "A group with the number 0.", { $0.put(u32: 0, at: 65) }),
            ("padding", "R-1.2", .structureInvalid, "A byte of the padding is 1.", { $0[255] = 1 }),
            (
                "count-33", "R-3.2", .limitExceeded, "33 groups.",
                {
                    $0[64] = 33; $0 += [0].times(1024)
                }
            ),
            ("longer", "R-3.13", .structureInvalid, "256 bytes of padding too much.", { $0 += [0].times(256) }),
            ("count-past-end", "R-2.2", .structureInvalid, "More groups than the payload has room for.", { $0[64] = 6 }),
            (
                "unknown-group", "R-3.2", .success, "A grant of a group that the keyring does not know (it may be to come).",
                { $0.put(u32: 99, at: 101) }
            ),
            (
                "wrong-group-key", "R-5.8", .authenticationFailed, "A granted key that is not the group's: the secrets do not open.",
                { $0.flip(101 - 36 + 10) }
            ),
            (
                "wrong-index-key", "R-3.3", .authenticationFailed, "Another index key: the header is right, and no commit opens.",
                { $0.flip(0) }
            ),
            ("wrong-reader-key", "R-3.3", .authenticationFailed, "Another reader key: the header's MAC is wrong.", { $0.flip(40) }),
            (
                "wrong-reader-key-and-order", "R-3.3, R-3.13", .authenticationFailed,
                "Another reader key, and groups out of order: the header's MAC comes before what the slot grants.",
                {
                    $0.flip(40); $0.put(Array($0[101..<137]) + $0[65..<101], at: 65)
                }
            ),
        ]
        for (name, spec, expect, comment, edit) in cases {
            for isOwner in [false, true] where !isOwner || [.structureInvalid, .limitExceeded].contains(expect) {
                let suffix = isOwner ? "-seen-by-owner" : ""
                try forged(
                    "scoped-\(name)\(suffix)", spec, expect, bases.scoped,
                    "Scoped slot: " + comment.prefix(1).lowercased() + comment.dropFirst(),
                    request: isOwner ? nil : .raw(Bases.scopedKey)
                ) { forge in
                    var payload = try forge.scopedPayload(forge.keys.groups.keys.sorted())
                    edit(&payload)
                    var clear = Self.clear(2, 8)
                    clear.kind = .scoped
                    forge.header.slots[1] = try forge.slot(
                        clear, .forged(rawKey: Bases.scopedKey), payload: payload, name: Array("builder".utf8), nonce: Self.nonce(2))
                }
            }
        }
        let many = try Workshop.make("many groups") { vault, _ in
            try vault.transaction { (transaction) throws(VaultError) in
                for index in 0..<33 {
                    try transaction.add(try .genericPassword(service: "s", group: "g\(index)"), secret: Secret(text: "of group \(index)"))
                }
            }
            _ = try vault.addSlot(try Workshop.factors(Bases.scopedKey), name: "", grantedGroups: (0..<32).map { "g\($0)" })
            _ = try vault.compact()
        }
        try vault(
            "scoped-32-groups", "R-3.2", .success, many, "Scoped slot: 32 groups, the most; one secret is not granted.",
            request: .raw(Bases.scopedKey))
    }

    // MARK: costs

    private mutating func addCosts(_ bases: Bases) throws {
        let words = Self.request(passphrase: "words")
        let slotCost = Slot.Cost(memoryKiB: 64, passes: 3, lanes: 2)
        for (limit, value) in [(.memory, 64), (.passes, 3), (.lanes, 2), (.total, 192)] as [(CheckRequest.Limit, UInt64)] {
            for (name, allowed, expect) in [("at", value, Verdict.success), ("over", value - 1, .kdfLimit)] {
                var request = words
                request.limits[limit] = allowed
                try cost(
                    "kdf-\(limit)-\(name)-limit", expect, bases, "64 KiB, 3 passes, 2 lanes, with \(limit.rawValue) \(allowed).", request,
                    [slotCost])
            }
        }
        var request = words
        request.limits[.total] = 384
        try cost(
            "kdf-sum-at-limit", .noSlotOpens, bases, "Two slots of 192 KiB x passes, and 384 allowed: both are tried, and neither fits.",
            request, [slotCost, slotCost], passphrase: "others")
        request.limits[.total] = 383
        try cost(
            "kdf-sum-over-limit", .kdfLimit, bases, "The same with 383: the second one must not be tried.", request, [slotCost, slotCost],
            passphrase: "others")
        try cost(
            "kdf-sum-first-fits", .success, bases, "The same, but the first slot opens: the second costs nothing.", request,
            [slotCost, slotCost])
        let costs: [(String, UInt32, UInt32, UInt32, String)] = [
            ("memory", (2 << 20) + 8, 1, 1, "8 KiB more than 2 GiB"), ("memory-most", .max, 1, 1, "2^32 - 1 KiB"),
            ("passes", 8, 17, 1, "17 passes"), ("passes-most", 8, .max, 1, "2^32 - 1 passes"), ("lanes", 136, 1, 17, "17 lanes"),
            ("lanes-most", 0x07FF_FFF8, 1, 0xFF_FFFF, "2^24 - 1 lanes"),
            ("overflow", .max, .max, 1, "A product of memory and passes beyond 2^63"),
            ("product", 2 << 20, 9, 1, "2 GiB and 9 passes: 18 GiB x passes"),
        ]
        for (name, memory, passes, lanes, comment) in costs {
            let wanted = Slot.Cost(memoryKiB: memory, passes: passes, lanes: lanes)
            try unpayable("kdf-default-\(name)", "R-3.6", .kdfLimit, bases, comment + ", with the default policy.", wanted, words)
            if name == "overflow" {
                try unpayable(
                    "kdf-not-tried", "R-3.6", .success, bases, "An absurd cost in a slot for other factors than those given.", wanted,
                    .raw(Base.key))
            }
        }
        for (name, memory, passes, lanes, comment) in [
            ("lanes-0", 8, 1, 0, "No lanes."), ("passes-0", 8, 0, 1, "No passes."), ("memory-7", 7, 1, 1, "7 KiB for one lane."),
            ("memory-0", 0, 1, 1, "No memory."),
            ("memory-per-lane", 31, 1, 4, "31 KiB for four lanes."), ("lanes-2-24", .max, 1, 0x100_0000, "2^24 lanes."),
        ] as [(String, UInt32, UInt32, UInt32, String)] {
            try unpayable(
                "kdf-figures-\(name)", "R-3.4", .headerInvalid, bases, comment, Slot.Cost(memoryKiB: memory, passes: passes, lanes: lanes),
                words)
        }
        try unpayable(
            "kdf-figures-seen-by-raw-key", "R-3.2, R-3.4", .headerInvalid, bases, "No lanes, in a slot for other factors than those given.",
            Slot.Cost(memoryKiB: 8, passes: 1, lanes: 0), .raw(Base.key))
    }

    private mutating func cost(
        _ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ request: CheckRequest, _ costs: [Slot.Cost],
        passphrase: String = "words"
    ) throws {
        try forged(name, "R-3.6", expect, bases.one, comment, request: request) { forge in
            for (index, cost) in costs.enumerated() {
                forge.header.slots.append(
                    try forge.slot(
                        Self.clear(UInt64(index + 1), Slot.passphrase, cost), .forged(passphrase: Array(passphrase.utf8)),
                        nonce: Self.nonce(UInt8(index + 1))))
            }
        }
    }

    /// A cost that nobody pays, here neither: the slot is made with another one, and its figures are then replaced.
    private mutating func unpayable(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ cost: Slot.Cost, _ request: CheckRequest
    ) throws {
        try forged(name, spec, expect, bases.one, comment, request: request) { forge in
            var slot = try forge.slot(Self.clear(1, Slot.passphrase), .forged(passphrase: Array("words".utf8)), nonce: Self.nonce(1)) {
                $0.slot.cost = cost
                $0.ownerBound = Bound.slotOwner(Bytes16(Array($0.ownerBound[22..<38])) ?? .zero, $0.slot)
            }
            slot.cost = cost
            forge.header.slots.append(slot)
        }
    }
}
