import VaultBytes
import VaultFmt
import VaultForge

/// Items: keys, entries, attributes (section 6).
extension Collection {
    mutating func addItems(_ bases: Bases) throws {
        try addItemKeys(bases)
        try addEntries(bases)
        try addAttributes(bases)
    }

    // MARK: keys

    /// A key that is another one in page and record alike, so that only its form is in question.
    private mutating func key(_ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ key: [UInt8]) throws {
        try forged("key-\(name)", spec, expect, bases.one, comment) { forge in
            forge.onRecordParts(try forge.last(.record)) { $0.key = key }
            forge.onEntries(try forge.root()) { entries, _ in entries[0].key = key }
        }
    }

    private mutating func addItemKeys(_ bases: Bases) throws {
        let group: [UInt8] = [0, 0]
        let cases: [(String, String, String, [UInt8])] = [
            ("unknown-escape", "R-6.1", "A zero byte before a 01.", [1, 0x61, 0, 1, 0, 0, 0x62, 0, 0] + group + [0]),
            ("unterminated", "R-6.1", "A field that does not end.", [1, 0x61, 0, 0, 0x62]),
            ("no-sync", "R-6.1", "The last byte, synchronizable, is missing.", [1, 0x61, 0, 0, 0x62, 0, 0] + group),
            ("sync-2", "R-6.1", "Synchronizable is 2.", [1, 0x61, 0, 0, 0x62, 0, 0] + group + [2]),
            ("longer", "R-1.3", "A byte after synchronizable.", [1, 0x61, 0, 0, 0x62, 0, 0] + group + [0, 0]),
            ("field-less", "R-6.1", "A class, and nothing else.", [1]),
            ("invalid-utf8", "R-1.4", "A service that is not UTF-8.", [1, 0xFF, 0, 0, 0x62, 0, 0] + group + [0]),
            ("surrogate", "R-1.4", "An account with an encoded surrogate.", [1, 0x61, 0, 0, 0xED, 0xA0, 0x80, 0, 0] + group + [0]),
            (
                "escaped-utf8", "R-1.4", "A service that is UTF-8 with a zero byte only before it is unescaped.",
                [1, 0xC3, 0, 0xFF, 0xA9, 0, 0, 0x62, 0, 0] + group + [0]
            ),
            ("number-short", "R-6.1", "A certificate's type with two bytes.", [3, 0, 0]),
            (
                "internet-short", "R-6.1", "An internet password with the fields of a generic one.",
                [2, 0x61, 0, 0, 0x62, 0, 0] + group + [0]
            ),
        ]
        for (name, spec, comment, bytes) in cases { try key(name, spec, .structureInvalid, bases, comment, bytes) }
        try key(
            "zero-bytes", "R-6.1", .success, bases, "A service with zero bytes, escaped.",
            [1, 0, 0xFF, 0x61, 0, 0xFF, 0, 0, 0x62, 0, 0] + group + [0])
        try key("shortest", "R-6.1", .success, bases, "The shortest: a generic password with nothing.", [1, 0, 0, 0, 0, 0, 0, 0])
        try key("field-4096", "R-6.1", .success, bases, "A service of 4096 bytes.", [1] + [0x61].times(4096) + [0, 0, 0, 0] + group + [0])
        try key(
            "field-4097", "R-6.1, R-8.1", .limitExceeded, bases, "A service of 4097 bytes.",
            [1] + [0x61].times(4097) + [0, 0, 0, 0] + group + [0])
        try key(
            "bytes-4097", "R-6.1, R-8.1", .limitExceeded, bases, "A serial number of 4097 bytes.",
            [3, 0, 0, 0, 1, 0, 0] + [0x61].times(4097) + [0, 0] + group + [0])
        try key(
            "escaped-4096", "R-6.1", .success, bases, "A serial number of 4092 zero bytes, which escaped are twice as many.",
            [3, 0, 0, 0, 1, 0, 0] + [0, 0xFF].times(4089) + [0, 0] + group + [0])
        try key(
            "8192-bytes", "R-6.1, R-8.1", .success, bases, "A key of 8192 bytes in all.",
            [1] + [0x61].times(4096) + [0, 0] + [0x62].times(4088) + [0, 0] + group + [0])
        try forged("key-8193-bytes", "R-6.1, R-8.1", .limitExceeded, bases.one, "A key of 8193 bytes in all.") {
            $0.onEntries(try $0.root()) { entries, _ in
                entries[0].key = [1] + [0x61].times(4096) + [0, 0] + [0x62].times(4089) + [0, 0] + group + [0]
            }
        }
    }

    // MARK: entries

    private mutating func addEntries(_ bases: Bases) throws {
        let entries: [(String, String, Verdict, String, (inout ItemEntry, UInt64) -> Void)] = [
            ("compartment", "R-6.4", .structureInvalid, "A compartment that does not exist.", { entry, _ in entry.compartment = 99 }),
            ("device", "R-6.8", .structureInvalid, "A device that is not in the list.", { entry, _ in entry.device = 1 }),
            (
                "device-1025", "R-6.8, R-8.1", .structureInvalid, "A device's number beyond the least list's end.",
                { entry, _ in entry.device = 1024 }
            ),
            (
                "record-after-page", "R-6.5, R-2.3", .structureInvalid, "A record that ends after its page begins.",
                { entry, page in entry.record = ObjectRef(offset: page - 100, length: 204, hash: entry.record.hash) }
            ),
            (
                "record-in-header", "R-2.3", .structureInvalid, "A record in the header.",
                { entry, _ in entry.record = ObjectRef(offset: 1024, length: 204, hash: entry.record.hash) }
            ),
            (
                "record-203", "R-2.2", .structureInvalid, "A record of 203 bytes.",
                { entry, _ in entry.record = ObjectRef(offset: entry.record.offset, length: 203, hash: entry.record.hash) }
            ),
            (
                "record-20-mib", "R-8.1", .limitExceeded, "A record of more than 20 MiB.",
                { entry, _ in entry.record = ObjectRef(offset: entry.record.offset, length: 20 << 20 + 1, hash: entry.record.hash) }
            ),
            (
                "record-hash", "R-6.3", .authenticationFailed, "The record has another hash than its entry says.",
                { entry, _ in entry.record = ObjectRef(offset: entry.record.offset, length: 204, hash: .zero) }
            ),
            (
                "item-id", "R-4.1", .authenticationFailed, "Another item id than the record was sealed for.",
                { entry, _ in entry.id = Bytes16(high: 1, low: 1) }
            ),
            (
                "record-revision", "R-4.1", .authenticationFailed, "Another record revision than the record was sealed for.",
                { entry, _ in entry.recordRevision += 1 }
            ),
            ("revision", "R-6.3", .success, "Another revision: only the page says it.", { entry, _ in entry.revision += 1 }),
            (
                "time-least", "R-8.1", .success, "The least time, made before 1970 as well.",
                { entry, _ in
                    entry.created = -(1 << 62); entry.modified = -1
                }
            ),
            (
                "time-greatest", "R-8.1", .success, "The greatest time.",
                { entry, _ in
                    entry.created = 1 << 62 - 1; entry.modified = 0
                }
            ),
        ]
        for (name, spec, expect, comment, edit) in entries {
            try forged("entry-\(name)", spec, expect, bases.one, comment) {
                $0.onEntries(try $0.root()) { all, layout in try all[0].edit { edit(&$0, layout.offset) } }
            }
        }
        try forged("entry-group", "R-6.4", .structureInvalid, bases.scoped, "The compartment is of another group than the key names.") {
            $0.onEntries(try $0.root()) { all, _ in
                try all[0].edit { $0.compartment = $0.compartment == 1 ? 2 : 1 }
            }
        }
        try forged(
            "entry-records-swapped", "R-4.1", .authenticationFailed, bases.scoped,
            "Two items' records, hashes included, stand in each other's place."
        ) {
            $0.onEntries(try $0.root()) { all, _ in
                let (first, second) = (try all[0].entry().record, try all[1].entry().record)
                try all[0].edit { $0.record = second }
                try all[1].edit { $0.record = first }
            }
        }
        let tails: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("short", "R-2.2", .structureInvalid, "The attributes are missing.", { $0.removeLast(15) }),
            ("longer", "R-1.3", .structureInvalid, "A byte after the attributes.", { $0.append(0) }),
            (
                "varint-long", "R-1.1", .structureInvalid, "The record's offset is written with a byte too much.",
                { $0.replaceSubrange(1..<2, with: [$0[1] | 0x80, 0]) }
            ),
            ("large-count", "R-6.6", .structureInvalid, "It counts an attribute in the record, which has none.", { $0[$0.count - 16] = 1 }),
            ("large-count-65", "R-8.1", .limitExceeded, "It counts 65 attributes in the record.", { $0[$0.count - 16] = 65 }),
            ("large-count-64", "R-8.1", .limitExceeded, "64 attributes in the record, and one in the page.", { $0[$0.count - 16] = 64 }),
        ]
        for (name, spec, expect, comment, edit) in tails {
            // The value ends with: number in the record, number in the page, "label" and "Example" with their lengths.
            try forged("entry-\(name)", spec, expect, bases.one, comment) { $0.onEntries(try $0.root()) { all, _ in edit(&all[0].value) } }
        }
    }

    // MARK: attributes

    private mutating func addAttributes(_ bases: Bases) throws {
        func attribute(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
            var out = [UInt8(name.count)] + name
            out.append(varint: UInt64(value.count))
            return out + value
        }
        func list(_ all: [[UInt8]]) -> [UInt8] { [UInt8(all.count)] + all.joined() }
        let a = Array("a".utf8)
        let b = Array("b".utf8)
        let large: [UInt8] = [7].times(257)
        let names = (0..<65 as Range<UInt8>).map { (index: UInt8) -> [UInt8] in [65 + index / 26, 65 + index % 26] }
        let all = names.map { attribute($0, [1]) }
        let sealedNames = names.map { attribute(Array("sealed:".utf8) + $0, []) }
        let halves: [UInt8] = [2, 1, 0x61, 0x81, 0x80, 0x20] + [7].times(524_289) + [1, 0x62, 0x80, 0x80, 0x20] + [8].times(524_288)
        let inPage: [(String, String, Verdict, String, [UInt8])] = [
            ("order", "R-6.7", .structureInvalid, "Two attributes out of order.", list([attribute(b, []), attribute(a, [])])),
            ("twice", "R-6.7", .structureInvalid, "One attribute twice.", list([attribute(a, []), attribute(a, [1])])),
            ("nameless", "R-6.7", .structureInvalid, "An attribute without a name.", list([attribute([], [1])])),
            ("name-255", "R-8.1", .success, "A name of 255 bytes.", list([attribute([0x6E].times(255), [1])])),
            ("name-utf8", "R-1.4", .structureInvalid, "A name that is not UTF-8.", list([attribute([0xC3], [1])])),
            ("value-256", "R-6.2", .success, "A value of 256 bytes, the most in a page.", list([attribute(a, [7].times(256))])),
            ("value-257", "R-6.2", .structureInvalid, "A value of 257 bytes, which belongs into the record.", list([attribute(a, large)])),
            ("value-empty", "R-6.2", .success, "An empty value.", list([attribute(a, [])])),
            (
                "sealed-in-page", "R-6.2", .structureInvalid, "A sealed: attribute, which belongs into the record.",
                list([attribute(Array("sealed:x".utf8), [1])])
            ),
            (
                "sealed-almost", "R-6.2", .success, "A name that begins almost like sealed ones.",
                list([attribute(Array("Sealed:x".utf8), [1]), attribute(Array("sealed".utf8), [1])])
            ),
            ("64", "R-8.1", .success, "64 attributes.", list(Array(all[..<64]))),
            ("65", "R-8.1", .limitExceeded, "65 attributes.", list(all)),
            ("past-end", "R-2.2", .structureInvalid, "A value that reaches past the end.", list([[1, 0x61, 9, 1]])),
            (
                "not-normalised", "R-6.7", .success, "Two names that only normalising would make equal.",
                list([attribute([0x65, 0xCC, 0x81], [1]), attribute([0xC3, 0xA9], [2])])
            ),
        ]
        for (name, spec, expect, comment, bytes) in inPage {
            try forged("attribute-\(name)", spec, expect, bases.one, comment) {
                $0.onEntries(try $0.root()) { all, _ in all[0].value = all[0].value.dropLast(15) + bytes }
            }
        }
        let inRecord: [(String, String, Verdict, String, UInt8, [UInt8])] = [
            ("order", "R-6.7", .structureInvalid, "Two out of order.", 2, list([attribute(b, large), attribute(a, large)])),
            (
                "small", "R-6.2", .structureInvalid, "A value of 256 bytes, which belongs into the page.", 1,
                list([attribute(a, [7].times(256))])
            ),
            ("sealed", "R-6.2", .success, "A sealed: attribute with an empty value.", 1, list([attribute(Array("sealed:".utf8), [])])),
            (
                "twice-in-both", "R-6.7", .structureInvalid, "One that stands in the page too.", 1,
                list([attribute(Array("label".utf8), large)])
            ),
            ("count", "R-6.6", .structureInvalid, "Two, and the page counts one.", 1, list([attribute(a, large), attribute(b, large)])),
            ("65", "R-8.1", .limitExceeded, "65 in the record.", 64, list(sealedNames)),
            (
                "1-mib-more", "R-8.1", .limitExceeded, "A value of a byte more than 1 MiB, by its length only.", 1,
                [1, 1, 0x61, 0x81, 0x80, 0x40]
            ),
            ("sum", "R-8.1", .limitExceeded, "Two values that have a byte more than 1 MiB together.", 2, halves),
        ]
        for (name, spec, expect, comment, count, bytes) in inRecord {
            try forged(
                "attribute-record-\(name)", spec, expect, bases.one,
                "Attributes in the record: " + comment.prefix(1).lowercased() + comment.dropFirst()
            ) { forge in
                forge.onRecordParts(try forge.last(.record)) { $0.attributes = bytes }
                forge.onCommit(try forge.last(.commit)) { commit, _ in commit.wasSyncedFirst = true }
                forge.onEntries(try forge.root()) { all, _ in
                    if count == 64 { all[0].value = all[0].value.dropLast(15) + [0] }
                    all[0].value[all[0].value.count - (count == 64 ? 2 : 16)] = count
                }
            }
        }
    }
}

extension PageEntry {
    /// The item that the value says.
    func entry() throws -> ItemEntry {
        var cursor = Cursor(value.span, at: 0, else: .structureInvalid)
        return try ItemEntry(value.span, &cursor, page: .max)
    }

    mutating func edit(_ body: (inout ItemEntry) throws -> Void) throws {
        var cursor = Cursor(value.span, at: 0, else: .structureInvalid)
        var entry = try ItemEntry(value.span, &cursor, page: .max)
        try body(&entry)
        let rest = value[cursor.position...]
        value = []
        entry.encode(into: &value)
        value += rest
    }
}
