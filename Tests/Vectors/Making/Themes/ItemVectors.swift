internal import TestSupport
internal import VaultBytes

/// Item keys, and entries as far as they have no dots (sections 6.1 and 6.3).
extension Collection {
    mutating func addItems(_ bases: Bases) throws {
        folder = "items"
        try addItemKeys(bases)
        try addReservedClasses(bases)
        try addKeyLengths(bases)
        try addEntryFields(bases)
        try addEntryReferences(bases)
        try addCompartments(bases)
        try addIds(bases)
        try addEntryDots(bases)
        try addEntryFlags(bases)
        try addTwins(bases)
        try addForgotten(bases)
    }

    // MARK: keys

    /// One item under this key, in the page and in its record.
    private mutating func key(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ key: [UInt8]
    ) throws {
        try forged("key-\(name)", spec, expect, bases.one, comment) { forge in
            try forge.onRecord(try forge.last(.record)) { $0.key = key }
            forge.onEntries(try forge.root()) { entries, _ in entries[0].key = key }
        }
    }

    private mutating func addItemKeys(_ bases: Bases) throws {
        let end = DraftKey.text("") + [0]
        let cases: [(String, String, String, [UInt8])] = [
            (
                "no-sync", "R-6.1", "A generic password without its last field.",
                [1] + DraftKey.text("s") + DraftKey.text("a") + DraftKey.text("")
            ),
            ("sync-2", "R-6.1", "A synchronizable of 2.", DraftKey.generic("s", "a", sync: 2)),
            ("sync-255", "R-6.1", "A synchronizable of 255.", DraftKey.generic("s", "a", sync: 255)),
            ("longer", "R-1.3, R-6.1", "A byte after the last field.", DraftKey.generic("s", "a") + [0]),
            ("field-less", "R-6.1", "A generic password with one field less.", [1] + DraftKey.text("s") + end),
            (
                "field-more", "R-1.3, R-6.1", "A generic password with one field more.",
                [1] + DraftKey.text("s") + DraftKey.text("a") + DraftKey.text("") + end
            ),
            ("class-only", "R-6.1", "A class and nothing else.", [1]),
            ("unterminated", "R-6.1", "A field without an end.", [1] + Array("service".utf8)),
            ("unterminated-zero", "R-6.1", "A field that ends with one zero byte.", [1] + Array("service".utf8) + [0]),
            (
                "escape-01", "R-6.1", "A zero byte before a byte 01.",
                [1] + [0x61, 0, 1, 0x62] + [0, 0] + DraftKey.text("a") + end
            ),
            (
                "escape-in-bytes", "R-6.1",
                "A zero byte before a byte 01 in a certificate's issuer, which is not text.",
                [3] + DraftKey.number(3) + [0x30, 0, 1, 0x31, 0, 0] + DraftKey.field([1]) + end
            ),
            (
                "escape-fe", "R-6.1", "A zero byte before a byte FE.",
                [1] + [0x61, 0, 0xFE, 0x62] + [0, 0] + DraftKey.text("a") + end
            ),
            (
                "invalid-utf8", "R-1.4", "A service that is not UTF-8.",
                [1] + DraftKey.field([0x61, 0xFF]) + DraftKey.text("a") + end
            ),
            (
                "overlong-utf8", "R-1.4", "A service with an overlong encoding.",
                [1] + DraftKey.field([0xC1, 0xA1]) + DraftKey.text("a") + end
            ),
            (
                "overlong-three", "R-1.4", "A service with an overlong encoding of three bytes.",
                [1] + DraftKey.field([0xE0, 0x9F, 0xBF]) + DraftKey.text("a") + end
            ),
            (
                "overlong-four", "R-1.4", "A service with an overlong encoding of four bytes.",
                [1] + DraftKey.field([0xF0, 0x8F, 0xBF, 0xBF]) + DraftKey.text("a") + end
            ),
            (
                "surrogate", "R-1.4", "A service with an encoded surrogate.",
                [1] + DraftKey.field([0xED, 0xA0, 0x80]) + DraftKey.text("a") + end
            ),
            (
                "surrogate-last", "R-1.4", "A service with the last surrogate.",
                [1] + DraftKey.field([0xED, 0xBF, 0xBF]) + DraftKey.text("a") + end
            ),
            (
                "beyond-10ffff", "R-1.4", "A service with a code point above U+10FFFF.",
                [1] + DraftKey.field([0xF4, 0x90, 0x80, 0x80]) + DraftKey.text("a") + end
            ),
            (
                "lead-f5", "R-1.4", "A service with a byte F5.",
                [1] + DraftKey.field([0xF5, 0x80, 0x80, 0x80]) + DraftKey.text("a") + end
            ),
            (
                "cut-utf8", "R-1.4", "A service that ends within a character.",
                [1] + DraftKey.field([0x61, 0xE2, 0x82]) + DraftKey.text("a") + end
            ),
            (
                "continuation", "R-1.4", "A service that starts with a continuation byte.",
                [1] + DraftKey.field([0x80]) + DraftKey.text("a") + end
            ),
            (
                "account-invalid-utf8", "R-1.4", "An account that is not UTF-8.",
                [1] + DraftKey.text("s") + DraftKey.field([0xC3]) + end
            ),
            (
                "group-invalid-utf8", "R-1.4", "A group that is not UTF-8.",
                [1] + DraftKey.text("s") + DraftKey.text("a") + DraftKey.field([0xFF]) + [0]
            ),
            (
                "escaped-invalid-utf8", "R-1.4", "A character whose bytes have an escaped zero between them.",
                [1] + DraftKey.field([0xC3, 0, 0xA4]) + DraftKey.text("a") + end
            ),
            (
                "internet-short", "R-6.1", "An internet password that ends within its port.",
                [2] + DraftKey.text("s") + DraftKey.text("https") + [0, 0, 1]
            ),
            (
                "internet-invalid-utf8", "R-1.4", "An internet password whose path is not UTF-8.",
                [2] + DraftKey.text("s") + DraftKey.text("") + [0, 0, 0, 0] + DraftKey.field([0xFF]) + DraftKey.text("")
                    + DraftKey.text("")
                    + DraftKey.text("") + end
            ),
            (
                "internet-field-less", "R-6.1", "An internet password with one field less.",
                [2] + DraftKey.text("s") + DraftKey.text("") + [0, 0, 0, 0] + DraftKey.text("") + DraftKey.text("")
                    + DraftKey.text("")
                    + end
            ),
            ("certificate-short", "R-6.1", "A certificate that ends within its type.", [3, 0, 0, 1]),
            (
                "certificate-field-less", "R-6.1", "A certificate without a serial number.",
                [3] + DraftKey.number(3) + DraftKey.field([1]) + end
            ),
            (
                "key-short", "R-6.1", "A key that ends within its last number.",
                [4] + DraftKey.number(1) + DraftKey.number(73) + DraftKey.field([1]) + DraftKey.field([])
                    + DraftKey.number(256) + [
                        0, 0, 1,
                    ]
            ),
            (
                "identity-field-more", "R-6.1", "An identity with one field more.",
                [5] + DraftKey.number(3) + DraftKey.field([1]) + DraftKey.field([1]) + DraftKey.field([1]) + end
            ),
            (
                "group-of-certificate-utf8", "R-1.4", "A certificate whose group is not UTF-8.",
                [3] + DraftKey.number(3) + DraftKey.field([1]) + DraftKey.field([1]) + DraftKey.field([0x80]) + [0]
            ),
        ]
        for (name, spec, comment, bytes) in cases { try key(name, spec, .structureInvalid, bases, comment, bytes) }
        try key("shortest", "R-6.1", .success, bases, "A generic password with nothing.", DraftKey.generic("", ""))
        try key(
            "zero-bytes", "R-6.1", .success, bases, "Zero bytes in a service and an account.",
            DraftKey.generic("\u{0}\u{0}", "a\u{0}"))
        try key(
            "escaped-utf8", "R-1.4, R-6.1", .success, bases, "Characters around a zero byte.",
            DraftKey.generic("\u{E4}\u{0}\u{E4}", "a"))
        try key(
            "bytes-not-utf8", "R-6.1", .success, bases, "An issuer that is not UTF-8: it is bytes.",
            DraftKey.certificate(issuer: [0xFF, 0, 0x80], serial: [0xC3]))
        try key(
            "internet-port-most", "R-6.1", .success, bases, "A port of 2^32 - 1: numbers are not limited.",
            DraftKey.internet("s", "a", port: .max))
        try forged(
            "key-in-page-only", "R-5.3", .success, bases.one,
            "The key in the page is another one than in the record, as after a rename by a merge."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in entries[0].key = DraftKey.generic("example.org", "bob") }
        }
    }

    private mutating func addReservedClasses(_ bases: Bases) throws {
        let end = DraftKey.text("") + [0]
        let most = (0..<15).map { _ in "f" } + [""]
        try key(
            "class-6-shortest", "R-6.2, R-11.1", .success, bases, "Class 6 with one empty field, the shortest key.",
            DraftKey.reserved(6, [""]))
        try key("class-6-fields-16", "R-6.2", .success, bases, "Class 6 with 16 fields.", DraftKey.reserved(6, most))
        try key(
            "class-63-fields-2", "R-6.2", .success, bases, "Class 63 with two fields.",
            DraftKey.reserved(63, ["a", ""]))
        let cases: [(String, String, String, [UInt8])] = [
            ("class-6-fields-17", "R-6.2", "Class 6 with 17 fields.", DraftKey.reserved(6, ["f"] + most)),
            ("class-6-fields-0", "R-6.1, R-6.2", "Class 6 without a field.", [6, 0]),
            ("class-6-class-only", "R-6.1", "Class 6 and nothing else.", [6]),
            (
                "class-6-no-sync", "R-6.2", "Class 6 without its last byte.",
                [6] + DraftKey.text("a") + DraftKey.text("")
            ),
            (
                "class-6-sync-2", "R-6.2", "Class 6 with a synchronizable of 2.",
                DraftKey.reserved(6, ["a", ""], sync: 2)
            ),
            (
                "class-6-unterminated", "R-6.1", "Class 6 with a field that does not end.",
                [6] + DraftKey.text("a") + [0x61, 0x62, 1]
            ),
            (
                "class-6-invalid-utf8", "R-1.4, R-6.2", "Class 6 with a field that is not UTF-8.",
                [6] + DraftKey.field([0xFF]) + end
            ),
            ("class-6-escape", "R-6.1", "Class 6 with a zero byte before a byte 01.", [6] + [0x61, 0, 1, 0, 0] + end),
            (
                "class-40-group", "R-6.2, R-6.6", "Class 40 whose last field is no group.",
                DraftKey.reserved(40, ["a", "b"])
            ),
        ]
        for (name, spec, comment, bytes) in cases { try key(name, spec, .structureInvalid, bases, comment, bytes) }
        try key(
            "class-6-field-4096", "R-6.2, R-11.1", .success, bases, "Class 6 with a field of 4096 bytes.",
            DraftKey.reserved(6, [String(repeating: "f", count: 4096), ""]))
        try key(
            "class-6-field-4097", "R-6.2, R-11.1", .structureInvalid, bases, "Class 6 with a field of 4097 bytes.",
            DraftKey.reserved(6, [String(repeating: "f", count: 4097), ""]))
    }

    private mutating func addKeyLengths(_ bases: Bases) throws {
        let long = String(repeating: "a", count: 4096)
        try key("field-4096", "R-6.1, R-11.1", .success, bases, "A service of 4096 bytes.", DraftKey.generic(long, ""))
        try key(
            "field-4097", "R-6.1, R-11.1", .structureInvalid, bases, "A service of 4097 bytes.",
            DraftKey.generic(long + "a", ""))
        try key(
            "escaped-4096", "R-6.1, R-11.1", .success, bases,
            "A service of 4084 zero bytes: what escaping adds counts only for the whole key.",
            DraftKey.generic(String(repeating: "\u{0}", count: 4084), ""))
        try key(
            "escaped-4097", "R-6.1, R-11.1", .structureInvalid, bases, "A service of 4097 zero bytes.",
            [1] + [0, 0xFF].times(4097) + [0, 0, 0, 0, 0, 0, 0].prefix(2) + [0])
        try key(
            "bytes-4096", "R-6.1, R-11.1", .success, bases, "An issuer of 4096 bytes.",
            DraftKey.certificate(issuer: [7].times(4096), serial: []))
        try key(
            "bytes-4097", "R-6.1, R-11.1", .structureInvalid, bases, "An issuer of 4097 bytes.",
            DraftKey.certificate(issuer: [7].times(4097), serial: []))
        let rest = String(repeating: "b", count: 8176 - 8 - 4096)
        try key(
            "8176-bytes", "R-6.1, R-11.1", .success, bases, "A key of 8176 bytes, the longest.",
            DraftKey.generic(long, rest))
        try forged("key-8177-bytes", "R-6.1, R-11.1", .structureInvalid, bases.one, "A key of 8177 bytes.") {
            $0.onEntries(try $0.root()) { entries, _ in entries[0].key = DraftKey.generic(long, rest + "b") }
        }
        try forged(
            "key-8177-by-prefix-and-rest", "R-11.1", .structureInvalid, bases.one,
            "Two keys whose prefix and rest are short enough, and have 8177 bytes together."
        ) { forge in
            forge.onEntries(try forge.root()) { entries, _ in
                let first = DraftKey.generic(long, String(rest.dropLast()))
                entries[0].key = first
                entries.append(PageEntry(key: first.dropLast(3) + [0x62, 0x62, 0, 0, 0], value: entries[0].value))
            }
        }
    }

    // MARK: entries

    /// Changes the first item's value as bytes.
    mutating func value(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String,
        _ edit: @escaping (inout [UInt8]) -> Void
    ) throws {
        try forged("entry-\(name)", spec, expect, bases.one, comment) {
            $0.onEntries(try $0.root()) { entries, _ in edit(&entries[0].value) }
        }
    }

    mutating func entry(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, at index: Int = 0,
        _ edit: @escaping (inout ForgedItem, ForgeLayout) throws -> Void
    ) throws {
        try forged("entry-\(name)", spec, expect, base, comment) { $0.onItem(try $0.root(), index, edit) }
    }

    private mutating func addEntryFields(_ bases: Bases) throws {
        let one = bases.one
        // The only item's entry in `one`: 36 bytes of reference, id, revision of the dot at 52, position at 60, record
        // revision at 61, compartment at 69.
        try value(
            "varint-long", "R-1.1", .structureInvalid, bases, "Its record's offset is written with a byte too many."
        ) {
            $0.replaceSubrange(1..<2, with: [$0[1] | 0x80, 0])
        }
        try value("created-varint-long", "R-1.1", .structureInvalid, bases, "A time is written with a byte too many.") {
            value in
            let end = 77 + (value[77...].firstIndex { $0 < 0x80 } ?? 77) - 77
            value.replaceSubrange(end..<end + 1, with: [value[end] | 0x80, 0])
        }
        try value("created-10-bytes", "R-1.1", .structureInvalid, bases, "A time of ten bytes.") { value in
            let end = value[77...].firstIndex { $0 < 0x80 } ?? 77
            value.replaceSubrange(77...end, with: [0xFF].times(9) + [1])
        }
        try value("short", "R-2.2", .structureInvalid, bases, "It lacks its last byte.") { $0.removeLast() }
        try value("cut-in-record", "R-2.2", .structureInvalid, bases, "It ends within its record's hash.") {
            $0 = Array($0[..<20])
        }
        try value("empty", "R-2.2", .structureInvalid, bases, "It has no bytes.") { $0 = [] }
        try value("longer", "R-1.3", .structureInvalid, bases, "A byte is left over.") { $0.append(0) }
        let clock = try one.clock()
        for (name, revision, what) in [("0", 0, "0"), ("2-63", 1 << 63, "2^63")] as [(String, UInt64, String)] {
            try value("record-revision-\(name)", "R-6.8", .structureInvalid, bases, "A record revision of \(what).") {
                $0.put(u64: revision, at: 61)
            }
        }
        try value(
            "record-revision-future", "R-6.8", .structureInvalid, bases,
            "A record revision that is greater than the commit's clock."
        ) { $0.put(u64: clock + 1, at: 61) }
        try value(
            "record-revision-other", "R-4.1", .authenticationFailed, bases,
            "Another record revision than the record was sealed under."
        ) { $0.put(u64: 1, at: 61) }
        try value("item-id", "R-4.1", .authenticationFailed, bases, "Another item id than the record was sealed under.")
        { $0.flip(40) }
        try value("item-id-zero", "R-4.1", .authenticationFailed, bases, "An item id of zeros.") {
            $0.put([0].times(16), at: 36)
        }
        for (name, time) in [("least", -(1 << 61)), ("greatest", 1 << 61 - 1), ("0", 0), ("-1", -1)]
            as [(String, Int64)]
        {
            try entry("created-\(name)", "R-6.18, R-11.1", .success, one, "Created at \(time).") { item, _ in
                item.entry.created = time
            }
            try entry("modified-\(name)", "R-6.18, R-11.1", .success, one, "Modified at \(time).") { item, _ in
                item.entry.modified = time
            }
        }
        for (name, time) in [("below", -(1 << 61) - 1), ("beyond", 1 << 61)] as [(String, Int64)] {
            try entry("created-\(name)", "R-6.18, R-11.1", .structureInvalid, one, "Created at \(time).") { item, _ in
                item.entry.created = time
            }
            try entry("modified-\(name)", "R-6.18, R-11.1", .structureInvalid, one, "Modified at \(time).") {
                item, _ in item.entry.modified = time
            }
        }
    }

    private mutating func addEntryReferences(_ bases: Bases) throws {
        let one = bases.one
        let refs: [(String, String, Verdict, String, (ObjectRef, UInt64) -> ObjectRef)] = [
            (
                "hash", "R-2.3", .authenticationFailed, "has another hash",
                { ref, _ in ObjectRef(offset: ref.offset, length: ref.length, hash: Bytes32([1].times(32)) ?? .zero) }
            ),
            (
                "in-header", "R-2.3", .structureInvalid, "is in the header",
                { ref, _ in ObjectRef(offset: 256, length: ref.length, hash: ref.hash) }
            ),
            (
                "in-copy", "R-2.3", .structureInvalid, "begins a byte before the end of the header's copy",
                { ref, _ in ObjectRef(offset: 8191, length: ref.length, hash: ref.hash) }
            ),
            (
                "after-page", "R-2.3", .structureInvalid, "ends a byte after its page begins",
                { ref, own in ObjectRef(offset: own + 1 - UInt64(ref.length), length: ref.length, hash: ref.hash) }
            ),
            (
                "is-page", "R-2.3", .structureInvalid, "is its page",
                { ref, own in ObjectRef(offset: own, length: ref.length, hash: ref.hash) }
            ),
            (
                "offset-2-62", "R-2.2", .structureInvalid, "is at 2^62",
                { ref, _ in ObjectRef(offset: 1 << 62, length: ref.length, hash: ref.hash) }
            ),
            (
                "length-0", "R-2.2", .structureInvalid, "has no bytes",
                { ref, _ in ObjectRef(offset: ref.offset, length: 0, hash: ref.hash) }
            ),
            (
                "length-207", "R-2.2, R-11.1", .structureInvalid, "has 207 bytes",
                { ref, _ in ObjectRef(offset: ref.offset, length: 207, hash: ref.hash) }
            ),
            (
                "length-20-mib", "R-2.2, R-11.1", .structureInvalid, "has a byte more than 20 MiB",
                { ref, _ in ObjectRef(offset: ref.offset, length: 20 << 20 + 1, hash: ref.hash) }
            ),
            (
                "length-2-62", "R-2.2", .structureInvalid, "has 2^62 bytes",
                { ref, _ in ObjectRef(offset: ref.offset, length: 1 << 62, hash: ref.hash) }
            ),
        ]
        for (name, spec, expect, what, change) in refs {
            try entry("record-\(name)", spec, expect, one, "Its record \(what): that secret fails, and nothing else.") {
                item, layout in
                item.entry.record = change(item.entry.record, layout.offset)
            }
        }
        let two = try Bases.base("two records") { draft in
            try draft.add(Bases.ann, "first")
            try draft.add(Bases.bob, "second")
            try draft.commit()
        }
        try entry(
            "record-first-of-two", "R-2.3", .authenticationFailed, two,
            "The first of two items' records has another hash: the second one's secret is released."
        ) { item, _ in
            item.entry.record = ObjectRef(
                offset: item.entry.record.offset, length: item.entry.record.length, hash: .zero)
        }
        try entry(
            "record-length-1-more", "R-2.2, R-2.3", .authenticationFailed, two,
            "The first of two items' records has a byte more, which makes no step: its hash is another one."
        ) { item, _ in
            item.entry.record = ObjectRef(
                offset: item.entry.record.offset, length: item.entry.record.length + 1, hash: item.entry.record.hash)
        }
        try forged(
            "entry-records-swapped", "R-4.1", .authenticationFailed, two,
            "Two items' records are in each other's place."
        ) { forge in
            forge.onEntries(try forge.root()) { entries, _ in
                guard var first = ForgedItem(entries[0].value), var second = ForgedItem(entries[1].value) else {
                    return
                }
                (first.entry.record, second.entry.record) = (second.entry.record, first.entry.record)
                (entries[0].value, entries[1].value) = (first.encoded(), second.encoded())
            }
        }
        try forged("entry-record-shared", "R-4.1", .authenticationFailed, two, "Two items have one record.") { forge in
            forge.onEntries(try forge.root()) { entries, _ in
                guard let first = ForgedItem(entries[0].value), var second = ForgedItem(entries[1].value) else {
                    return
                }
                second.entry.record = first.entry.record
                entries[1].value = second.encoded()
            }
        }
        try forged(
            "entry-is-another", "R-5.3, R-6.9", .success, two,
            "The second item's entry is the first one's: two items have one id, which only verification finds."
        ) { forge in
            forge.onEntries(try forge.root()) { entries, _ in entries[1].value = entries[0].value }
        }
    }

    private mutating func addCompartments(_ bases: Bases) throws {
        let (one, scoped) = (bases.one, bases.scoped)
        try entry("compartment-0", "R-6.6", .structureInvalid, one, "Compartment 0.") { item, _ in
            item.entry.compartment = 0
        }
        try entry("compartment-unknown", "R-6.6", .structureInvalid, one, "A compartment that does not exist.") {
            item, _ in
            item.entry.compartment ^= 2
        }
        try entry("compartment-2-63", "R-6.6", .structureInvalid, one, "Compartment 2^63.") { item, _ in
            item.entry.compartment = 1 << 63
        }
        let keys = try scoped.forge().keys
        try forged(
            "entry-compartment-of-other-group", "R-6.6", .structureInvalid, scoped,
            "The compartment is of another group than the key names."
        ) { forge in
            forge.onItem(try forge.root()) { item, _ in
                item.entry.compartment = keys.compartments.keys.first { $0 != item.entry.compartment } ?? 0
            }
        }
        try forged(
            "entry-compartment-of-other-group-scoped", "R-6.6", .structureInvalid, scoped,
            "The same, seen by a scoped slot.",
            request: .raw(Base.scopedKey)
        ) { forge in
            forge.onItem(try forge.root(), 1) { item, _ in
                item.entry.compartment = keys.compartments.keys.first { $0 != item.entry.compartment } ?? 0
            }
        }
        try forged(
            "entry-compartment-of-owners", "R-6.6", .structureInvalid, bases.kept,
            "The compartment of a live item is of group 0."
        ) { forge in
            let owners = try Self.owners(forge)
            forge.onItem(try forge.root()) { item, _ in item.entry.compartment = owners }
        }
        try forged(
            "entry-key-of-other-group", "R-6.6", .structureInvalid, scoped,
            "An item's key names another group than its compartment has."
        ) { forge in
            let key = DraftKey.generic("deploy", "bot", group: "web")
            forge.onEntries(try forge.root()) { entries, _ in entries[0].key = key }
        }
        try forged(
            "entry-key-of-unknown-group", "R-6.6", .structureInvalid, scoped,
            "An item's key names a group that does not exist."
        ) {
            forge in
            forge.onEntries(try forge.root()) { entries, _ in
                entries[0].key = DraftKey.generic("deploy", "bot", group: "none")
            }
        }
    }

    /// The number of a compartment of group 0.
    static func owners(_ forge: Forge) throws -> UInt64 {
        let ring = try Keyring(forge[try forge.last(.keyring)].body.span, at: 0)
        guard let info = ring.compartments.first(where: { $0.group == 0 }) else {
            throw ForgeError("no compartment of group 0")
        }
        return info.number
    }

    // MARK: ids

    private mutating func addIds(_ bases: Bases) throws {
        let two = try Bases.base("two ids") { draft in
            try draft.add(Bases.ann, "first")
            try draft.add(Bases.bob, "second")
            try draft.commit()
        }
        try forged(
            "id-twice", "R-6.9", .success, two,
            "Two items have one id, and their records were sealed so: only verification looks for that."
        ) { forge in
            let ids = try PageEntry.all(forge[try forge.root()].body, at: 0).compactMap {
                ForgedItem($0.value)?.entry.id
            }
            for record in forge.all(.record) { forge[record].identity?.item = ids[0] }
            forge.onItem(try forge.root(), 1) { item, _ in item.entry.id = ids[0] }
        }
    }
}

extension Base {
    /// The clock of the newest state.
    func clock() throws -> UInt64 {
        let forge = try forge()
        return try forge.commit(try forge.last(.commit)).clock
    }
}
