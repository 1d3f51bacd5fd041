import Testing
import VaultBytes

@Suite("What an item keeps besides what it shows")
struct PastTests {
    private static let record = RecordRef(
        record: ObjectRef(offset: 20_000, length: 208, hash: Bytes32(words: (5, 6, 7, 8))), revision: 9, compartment: 3)
    private static let item = Bytes16(high: 1, low: 2)
    private static let time: Int64 = 1_000

    private static func dot(_ number: Int, _ position: Int = 1) -> StoredDot {
        StoredDot(UInt64(time) << 16 + UInt64(number), position)
    }

    /// Two earlier secrets and a sealed attribute of an item with one sibling, and a label that was overwritten and is
    /// still open.
    private static func plain() -> Past {
        Past(
            item: item,
            values: [
                .init(
                    kind: .secret, dot: dot(1), flags: .earlier, replaced: 7,
                    content: .secret(record, Array(PageAttributesTests.all.filter { !$0.flags.contains(.sealed) }))),
                .init(kind: .secret, dot: dot(1, 2), flags: .open, content: .secret(record, [])),
                .init(
                    kind: .attribute, name: Array("label".utf8), dot: dot(4), flags: .open, content: .attribute([1, 2])),
                .init(
                    kind: .attribute, name: Array("otp".utf8), attribute: [.sealed, .inItemRecord], dot: dot(3),
                    flags: .earlier, replaced: -5, content: .attributeInRecord(record)),
            ])
    }

    /// Two siblings, with every kind of value.
    private static func split() -> Past {
        let all: [Past.Value] = [
            .init(kind: .secret, dot: dot(1), flags: [], replaced: 3, content: .secret(record, [])),
            .init(kind: .secret, dot: dot(2), flags: [.open, .shown]),
            .init(kind: .secret, dot: dot(3, 2), flags: .open, content: .secret(record, [])),
            .init(
                kind: .attribute, name: Array("note".utf8), attribute: [.sealed, .inOwnRecord], dot: dot(1),
                flags: .forgotten),
            .init(
                kind: .attribute, name: Array("note".utf8), attribute: [.sealed, .inOwnRecord], dot: dot(2),
                flags: .shown),
            .init(
                kind: .attribute, name: Array("tags".utf8), attribute: .concealed, dot: dot(3, 2), flags: .open,
                content: .attribute([])),
            .init(kind: .key, dot: dot(1), flags: .shown),
            .init(kind: .key, dot: dot(3, 2), flags: [.open], content: .key([1, 65, 0, 0, 0, 0, 0, 0, 0])),
            .init(kind: .place, dot: dot(1), flags: .shown),
            .init(
                kind: .place, dot: dot(3, 2), flags: [],
                content: .place(.init(group: Array("work".utf8), accessibility: 5, device: Bytes16(high: 9, low: 9)))),
        ]
        return Past(
            item: item, values: all,
            siblings: [
                .init(dot: dot(2), created: 10, modified: 20, fields: [1, 4, 6, 8], earlier: [0]),
                .init(dot: dot(3, 2), created: -10, modified: 15, fields: [2, 3, 5, 7, 9], earlier: [0]),
            ])
    }

    /// The entry and the attributes that `split` belongs to.
    private static func entry() -> (ItemEntry, [PageAttribute]) {
        let entry = ItemEntry(
            record: record.record, id: item, dot: dot(3, 2), recordRevision: 9, compartment: 3, created: -10,
            modified: 20, hasConflicts: true, past: ObjectRef(offset: 1, length: 256, hash: .zero),
            further: [
                .init(difference: 1, position: 1, fields: FieldSet([FieldSet.secret, FieldSet.firstAttribute])),
                .init(difference: 2, position: 1, fields: FieldSet([FieldSet.key, FieldSet.place])),
            ])
        let note = PageAttribute(name: "note", flags: [.sealed, .inOwnRecord], value: .inOwnRecord(record))
        return (entry, [note])
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> Past { try Past(bytes.span, at: 0) }

    private func refusesPast(
        _ phrase: String, _ past: Past = PastTests.split(), sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout Past) -> Void
    ) {
        var past = past
        change(&past)
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(past.encode())
        }
    }

    @Test("is read as it was written, has one encoding, and nothing of it can be left out", arguments: [0, 1])
    func roundTrip(which: Int) throws {
        let past = which == 0 ? Self.plain() : Self.split()
        let bytes = try past.encode()
        #expect(FrameType.past.isPossible(bytes.count + 48))
        #expect(try read(bytes) == past)
        #expect(try read(bytes).encode() == bytes)
        #expect(past.unpaddedSize <= bytes.count && bytes.count - past.unpaddedSize < 256)
        hasOneEncoding(bytes, seed: 6) { changed throws(FormatError) in try read(changed).encode() }
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try read(bytes) }
        refuses(.structureInvalid, "longer than necessary") { () throws(FormatError) in
            _ = try read(bytes + [UInt8](repeating: 0, count: 256))
        }
    }

    @Test("lists each value once, in order of kind, name and dot (R-5.27)")
    func order() {
        for at in 0..<9 {
            refusesPast("out of order") {
                $0.values.swapAt(at, at + 1)
                $0.siblings = $0.siblings.map { sibling in
                    var sibling = sibling
                    func moved(_ index: Int) -> Int { index == at ? at + 1 : index == at + 1 ? at : index }
                    sibling.fields = sibling.fields.map(moved).sorted()
                    sibling.earlier = sibling.earlier.map(moved).sorted()
                    return sibling
                }
            }
        }
        refusesPast("out of order", Self.plain()) { $0.values[1] = $0.values[0] }
        refusesPast("siblings are out of order") { $0.siblings.swapAt(0, 1) }
        refusesPast("siblings are out of order") { $0.siblings[1] = $0.siblings[0] }
        refusesPast("has no values", Self.plain()) { $0.values = [] }
    }

    @Test("lists exactly the dots that it has, in order (R-5.27)")
    func dots() throws {
        let bytes = try Self.plain().encode()
        // Four dots: (1, 1), (1, 2), (3, 1), (4, 1), of nine bytes each.
        #expect(bytes[16] == 4)
        #expect(bytes.count - Self.plain().unpaddedSize >= 9)
        let more =
            Array(bytes[..<16]) + [5] + bytes[17..<53] + u64(Self.dot(9).revision) + [1] + bytes[53...].dropLast(9)
        refuses(.structureInvalid, "an unused dot") { () throws(FormatError) in _ = try read(more) }
        for (index, phrase) in [(4, "that it refers to"), (127, "that it refers to")] as [(UInt8, String)] {
            refuses(.structureInvalid, phrase) { () throws(FormatError) in _ = try read(patched(bytes, 54, [index])) }
        }
        refuses(.structureInvalid, "dots of an item's past are out of order") { () throws(FormatError) in
            _ = try read(patched(bytes, 17, u64(Self.dot(2).revision)))
        }
        for revision in [0, 1 << 63] as [UInt64] {
            refuses(.structureInvalid, "out of range") { () throws(FormatError) in
                _ = try read(patched(bytes, 17, u64(revision)))
            }
        }
        refuses(.structureInvalid, "dots of an item's past: 4352") { () throws(FormatError) in
            _ = try read(Array(bytes[..<16]) + varint(4352) + bytes[17..<207])
        }
    }

    @Test("has values with flags that do not exclude one another (R-5.28)")
    func flags() {
        let (both, plain) = (Self.split(), Self.plain())
        for flags in [[.shown, .forgotten], [.earlier, .shown], [.earlier, .forgotten]] as [Past.Flags] {
            refusesPast("conflicting flags", both) { $0.values[4].flags = flags }
        }
        refusesPast("unknown flags", plain) { $0.values[0].flags = Past.Flags(rawValue: 0x12) }
        refusesPast("an unprotected value", plain) { ($0.values[2].flags, $0.values[2].replaced) = (.earlier, 1) }
        refusesPast("an unprotected value", both) { $0.values[5].flags = [.open, .forgotten] }
        refusesPast("do not match the siblings", both) { $0.values[0].flags = .earlier }
        refusesPast("do not match the siblings", plain) { $0.values[0].flags = .shown }
        refusesPast("do not match the siblings", plain) { $0.values[0].flags = [] }
        refusesPast("do not match the siblings", plain) { $0.values[0].flags = .forgotten }
        refusesPast("was replaced", plain) { $0.values[1].replaced = 1 }
        refusesPast("was replaced", plain) { $0.values[0].replaced = 1 << 61 }
    }

    @Test("has siblings with one key, one place, and one value of each other field at most (R-5.29)")
    func siblings() {
        refusesPast("exactly one key") { $0.siblings[1].fields = [2, 3, 5, 9] }
        refusesPast("exactly one key") { $0.siblings[1].fields = [2, 3, 5, 7] }
        refusesPast("exactly one key") { $0.siblings[1].fields = [2, 3, 5, 6, 7, 9] }
        refusesPast("two values of one field") { $0.siblings[1].fields = [1, 2, 3, 5, 7, 9] }
        refusesPast("two values of one field") { $0.siblings[1].fields = [2, 3, 4, 5, 7, 9] }
        refusesPast("invalid earlier value") { $0.siblings[1].earlier = [0, 5] }
        refusesPast("invalid earlier value") { $0.siblings[1].earlier = [0, 2] }
        refusesPast("invalid earlier value") { $0.siblings[0].earlier = [0, 3] }
        refusesPast("that no sibling refers to") {
            ($0.siblings[0].earlier, $0.siblings[1].earlier) = ([], [])
        }
        refusesPast("time is out of range") { $0.siblings[0].created = 1 << 61 }
        refusesPast("time is out of range") { $0.siblings[0].modified = -(1 << 61) - 1 }
        // A bitmap of ten values has six unused bits.
        refusesPast("does not exist") { $0.siblings[1].fields.append(10) }
        refusesPast("does not exist") { $0.siblings[1].earlier = [15] }
    }

    @Test("has places, keys and attributes that can be (R-5.30)")
    func contents() throws {
        for (accessibility, device) in [(0, 0), (8, 0), (1, 1), (4, 0), (7, 0)] as [(UInt8, UInt64)] {
            refusesPast("a place has an accessibility") {
                $0.values[9].content = .place(
                    .init(group: [], accessibility: accessibility, device: Bytes16(high: 0, low: device)))
            }
        }
        refusesPast("UTF-8") { $0.values[9].content = .place(.init(group: [0xFF], accessibility: 1, device: .zero)) }
        refusesPast("a group's name: 4097") {
            $0.values[9].content = .place(
                .init(group: [UInt8](repeating: 65, count: 4097), accessibility: 1, device: .zero))
        }
        refusesPast("only 3 bytes") { $0.values[7].content = .key([1, 0, 0]) }
        refusesPast("an item key: 8177") { $0.values[7].content = .key([UInt8](repeating: 1, count: 8177)) }
        let bytes = try Self.plain().encode()
        refuses(.structureInvalid, "unknown kind") { () throws(FormatError) in _ = try read(patched(bytes, 55, [4])) }
        refusesPast("a sealed attribute", Self.plain()) {
            $0.values[0].content = .secret(Self.record, [PageAttributesTests.all[3]])
        }
        refusesPast("is sealed but has no record", Self.plain()) { $0.values[2].attribute = .sealed }
        refusesPast("unknown flags", Self.plain()) { $0.values[3].attribute = [.sealed, .inItemRecord, .inOwnRecord] }
        refusesPast("has no name", Self.plain()) { $0.values[2].name = [] }
        refusesPast("an attribute's value: 257", Self.plain()) {
            $0.values[2].content = .attribute([UInt8](repeating: 1, count: 257))
        }
        for record in [
            RecordRef(record: Self.record.record, revision: 0, compartment: 3),
            RecordRef(record: Self.record.record, revision: 9, compartment: 0),
        ] { refusesPast("out of range", Self.plain()) { $0.values[3].content = .attributeInRecord(record) } }
    }

    @Test("belongs to an item with this id, these fields, and these times (R-5.26, R-5.29)")
    func belongs() throws {
        let (entry, attributes) = Self.entry()
        try Self.split().check(entry, attributes, at: 0)
        func refusesEntry(
            _ phrase: String, _ past: Past = Self.split(), sourceLocation: SourceLocation = #_sourceLocation,
            _ change: (inout ItemEntry, inout [PageAttribute]) -> Void
        ) {
            var (entry, attributes) = Self.entry()
            change(&entry, &attributes)
            refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
                try past.check(entry, attributes, at: 0)
            }
        }
        refusesEntry("another item") { entry, _ in entry.id = .zero }
        refusesEntry("do not match") { entry, _ in entry.created = -9 }
        refusesEntry("do not match") { entry, _ in entry.modified = 21 }
        refusesEntry("a field that the item's entry lacks") { _, attributes in attributes = [] }
        refusesEntry("a field that the item's entry lacks") { entry, _ in entry.lacksSecret = true }
        refusesEntry("lacks a field") { _, attributes in
            attributes.append(PageAttribute(name: "x", flags: [], value: .inPage([])))
        }
        refusesEntry("does not match the item's entry") { _, attributes in
            attributes[0] = PageAttribute(name: "note", flags: [.inOwnRecord], value: attributes[0].value)
        }
        var past = Self.split()
        past.values[1].flags = .open
        past.values[1].content = .secret(Self.record, [])
        refusesEntry("does not match the item's entry", past) { _, _ in }
    }

    @Test(
        "without siblings does not repeat what the entry shows, and a sibling is not listed without need (R-5.28, R-5.29)"
    )
    func needless() throws {
        var (entry, attributes) = Self.entry()
        try Self.plain().check(entry, attributes, at: 0)
        entry.further = [.init(difference: 2, position: 2, fields: FieldSet([FieldSet.secret]))]
        refuses(.structureInvalid, "does not match the item's entry") { () throws(FormatError) in
            try Self.plain().check(entry, attributes, at: 0)
        }
        // One sibling that has what the entry has: it is needed only while one of the values is not open.
        entry.further = []
        attributes = []
        var lone = Past(
            item: Self.item,
            values: [
                .init(kind: .secret, dot: Self.dot(1), flags: [], content: .secret(Self.record, [])),
                .init(kind: .secret, dot: entry.dot, flags: [.open, .shown]),
                .init(kind: .key, dot: entry.dot, flags: [.open, .shown]),
                .init(kind: .place, dot: entry.dot, flags: [.shown]),
            ],
            siblings: [.init(dot: entry.dot, created: -10, modified: 20, fields: [1, 2, 3], earlier: [0])])
        try read(lone.encode()).check(entry, attributes, at: 0)
        lone.values[3].flags = [.open, .shown]
        refuses(.structureInvalid, "an unnecessary sibling") { () throws(FormatError) in
            try lone.check(entry, attributes, at: 0)
        }
    }

    @Test("has at most 4096 values, 256 siblings, and fits into 2 MiB")
    func limits() throws {
        func values(_ count: Int) -> [Past.Value] {
            (1...count).map {
                .init(kind: .secret, dot: Self.dot($0), flags: .earlier, content: .secret(Self.record, []))
            }
        }
        let most = Past(item: Self.item, values: values(4096))
        #expect(try read(most.encode()) == most)
        refuses(.limitExceeded, "4097 values") { () throws(FormatError) in
            _ = try Past(item: Self.item, values: values(4097)).encode()
        }
        var siblings = Self.split()
        siblings.siblings = (1...257).map { .init(dot: Self.dot($0), created: 0, modified: 0, fields: [], earlier: []) }
        refuses(.limitExceeded, "257 siblings") { () throws(FormatError) in _ = try siblings.encode() }
        var large = most
        let text = PageAttribute(name: "a", flags: [], value: .inPage([UInt8](repeating: 1, count: 256)))
        let other = PageAttribute(name: "b", flags: [], value: .inPage([UInt8](repeating: 1, count: 256)))
        for index in large.values.indices { large.values[index].content = .secret(Self.record, [text, other]) }
        refuses(.limitExceeded, "needs a frame of") { () throws(FormatError) in _ = try large.encode() }
    }
}
