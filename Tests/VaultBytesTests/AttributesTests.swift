import Testing
import VaultBytes

@Suite("An attribute's place")
struct AttributePlaceTests {
    @Test("follows from its size and whether it is sealed (R-6.3)")
    func places() {
        let sealed: AttributeFlags = [.sealed, .binary]
        for (flags, size, place) in [
            ([], 0, []), ([], 256, []), ([], 257, .inItemRecord), ([], 4096, .inItemRecord), ([], 4097, .inOwnRecord),
            ([.concealed], 256, []), (sealed, 0, .inItemRecord), (sealed, 4096, .inItemRecord),
            (sealed, 4097, .inOwnRecord),
        ] as [(AttributeFlags, Int, AttributeFlags)] {
            #expect(flags.placed(size: size) == flags.union(place))
            // Wherever it was before.
            #expect(flags.union(.inOwnRecord).placed(size: size) == flags.union(place))
            #expect(flags.union(.inItemRecord).placed(size: size).meaning == flags)
        }
    }
}

@Suite("A list of attributes in a page")
struct PageAttributesTests {
    static let own = PageAttribute.Value.inOwnRecord(
        RecordRef(
            record: ObjectRef(offset: 1 << 20, length: 4304, hash: Bytes32(words: (1, 2, 3, 4))), revision: 9,
            compartment: 8))

    static let all: [PageAttribute] = [
        .init(name: "a", flags: [], value: .inPage([])), .init(name: "ab", flags: .concealed, value: .inPage([1])),
        .init(name: "b", flags: .binary, value: .inPage([UInt8](repeating: 0, count: 256))),
        .init(name: "c", flags: [.sealed, .inItemRecord], value: .inItemRecord),
        .init(name: "d", flags: [.inItemRecord], value: .inItemRecord),
        .init(name: "e", flags: [.inOwnRecord], value: own),
        .init(name: "f", flags: [.sealed, .concealed, .binary, .inOwnRecord], value: own),
    ]

    private func encoded(_ attributes: [PageAttribute]) -> [UInt8] {
        var out: [UInt8] = []
        PageAttributes.encode(attributes, into: &out)
        return out
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> [PageAttribute] {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        let list = try PageAttributes.decode(bytes.span, &cursor)
        try cursor.finish()
        return list
    }

    private func skip(_ bytes: [UInt8]) throws(FormatError) {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        try PageAttributes.skip(bytes.span, &cursor)
        try cursor.finish()
    }

    /// Both ways to go over a list refuse it, for one reason.
    private func refusesList(_ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(bytes)
        }
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in try skip(bytes) }
    }

    @Test("is read as it was written, has one encoding, and nothing of it can be left out")
    func roundTrip() throws {
        for count in 0...Self.all.count {
            let bytes = encoded(Array(Self.all[..<count]))
            #expect(try read(bytes) == Array(Self.all[..<count]))
            try skip(bytes)
            refusesTruncations(bytes) { bytes throws(FormatError) in _ = try read(bytes) }
            refusesTruncations(bytes) { bytes throws(FormatError) in try skip(bytes) }
        }
        hasOneEncoding(encoded(Self.all), seed: 1) { changed throws(FormatError) in encoded(try read(changed)) }
    }

    @Test("has no unknown flags, and no value in two places (R-1.2)")
    func flags() {
        for flags in 0...255 as ClosedRange<UInt8> where flags & 0xC8 != 0 || flags & 0x30 == 0x30 {
            refusesList([1, flags, 1, 97, 0], "unknown flags")
        }
    }

    @Test("has values of at most 256 bytes, none of them sealed (R-6.3)")
    func values() {
        refusesList(encoded([.init(name: "a", flags: [], value: .inPage([UInt8](repeating: 1, count: 257)))]), "257")
        refusesList(
            encoded([.init(name: "a", flags: .sealed, value: .inPage([1]))]), "a page contains a sealed attribute")
        refusesList([1, 0, 1, 97] + varint(1 << 40), "at most 256")
    }

    @Test("refers to records with revisions and compartments from 1 to 2^63 − 1")
    func records() {
        for (revision, compartment, phrase) in [
            (0, 1, "record's revision"), (1 << 63, 1, "record's revision"), (1, 0, "compartment's number"),
            (1, .max, "compartment's number"),
        ] as [(UInt64, UInt64, String)] {
            let record = RecordRef(
                record: ObjectRef(offset: 1, length: 1, hash: .zero), revision: revision, compartment: compartment)
            refusesList(encoded([.init(name: "a", flags: .inOwnRecord, value: .inOwnRecord(record))]), phrase)
        }
    }

    @Test("has names that are text, not empty, in strictly ascending order (R-6.4)")
    func names() {
        func list(_ names: [String]) -> [UInt8] {
            encoded(names.map { .init(name: $0, flags: [], value: .inPage([1])) })
        }
        for names in [["b", "a"], ["a", "a"], ["ab", "a"], ["a", "c", "b"]] { refusesList(list(names), "out of order") }
        refusesList(list([""]), "has no name")
        refusesList(patched(list(["a"]), 3, [0xFF]), "UTF-8")
        #expect(
            PageAttribute(name: "\u{E9}", flags: [], value: .inItemRecord)
                != .init(name: "e\u{301}", flags: [], value: .inItemRecord))
    }

    @Test("has at most 64 entries, and names of at most 255 bytes")
    func limits() throws {
        func list(_ count: Int) -> [UInt8] {
            encoded((0..<count).map { .init(name: "n\($0 + 100)", flags: [], value: .inPage([])) })
        }
        #expect(try read(list(64)).count == 64)
        refusesList(list(65), "attributes: 65")
        let long = PageAttribute(name: String(repeating: "n", count: 255), flags: [], value: .inPage([]))
        #expect(try read(encoded([long])) == [long])
    }
}

@Suite("A list of attributes in an item's record")
struct RecordAttributesTests {
    static func encoded(_ list: [(String, AttributeFlags, Int)]) -> [UInt8] {
        var out: [UInt8] = []
        RecordAttributes.encode(count: list.count, into: &out)
        for (name, flags, size) in list {
            out += RecordAttributes.head(name: name, flags: flags, valueSize: size) + [UInt8](repeating: 7, count: size)
        }
        return out
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> [(String, AttributeFlags, Int)] {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        let list = try RecordAttributes.decode(bytes.span, &cursor)
        try cursor.finish()
        #expect(list.allSatisfy { bytes[$0.value].allSatisfy { $0 == 7 } })
        return list.map { (String(decoding: bytes[$0.name], as: UTF8.self), $0.flags, $0.value.count) }
    }

    private func refusesList(_ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(bytes)
        }
    }

    private static let sealed: AttributeFlags = [.sealed, .inItemRecord]
    private static let plain: AttributeFlags = .inItemRecord

    @Test("is read as it was written, and nothing of it can be left out")
    func roundTrip() throws {
        let list: [(String, AttributeFlags, Int)] = [
            ("a", Self.sealed, 0), ("b", Self.sealed, 256), ("c", Self.plain, 257),
            ("d", Self.plain.union(.binary), 4096),
            ("e", Self.sealed.union(.concealed), 4096),
        ]
        let bytes = Self.encoded(list)
        #expect(try read(bytes).elementsEqual(list, by: ==))
        #expect(try read(Self.encoded([])).isEmpty)
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try read(bytes) }
    }

    @Test("has values that belong there: sealed ones, and those of 257 to 4096 bytes (R-6.3)")
    func places() {
        for size in [0, 1, 256] { refusesList(Self.encoded([("a", Self.plain, size)]), "wrong place") }
        for flags in [Self.plain, Self.sealed] { refusesList(Self.encoded([("a", flags, 4097)]), "4097") }
        for flags in 0...255 as ClosedRange<UInt8> where flags & 0xC8 != 0 || flags & 0x30 != 0x10 {
            refusesList(Self.encoded([("a", AttributeFlags(rawValue: flags), 300)]), "unknown flags")
        }
    }

    @Test("has at most 64 entries, with names that are text, not empty, in strictly ascending order (R-6.4)")
    func names() throws {
        for names in [["b", "a"], ["a", "a"], ["ab", "a"]] {
            refusesList(Self.encoded(names.map { ($0, Self.sealed, 1) }), "out of order")
        }
        refusesList(Self.encoded([("", Self.sealed, 1)]), "has no name")
        refusesList(patched(Self.encoded([("a", Self.sealed, 1)]), 3, [0xFF]), "UTF-8")
        #expect(try read(Self.encoded((100..<164).map { ("n\($0)", Self.sealed, 0) })).count == 64)
        refusesList(Self.encoded((100..<165).map { ("n\($0)", Self.sealed, 0) }), "attributes: 65")
    }
}
