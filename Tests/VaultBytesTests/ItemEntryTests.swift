import Testing
import VaultBytes

@Suite("An item's entry")
struct ItemEntryTests {
    /// An entry with as many further dots, each of one field.
    static func sample(further: Int = 0, past: Bool = false, attributes: Int = 2) -> ItemEntry {
        var numbers = Numbers(1)
        let fields = (0..<further).map { index in
            FieldDots(
                difference: UInt64(index / 2) * 300, position: index % 2 + 1,
                fields: FieldSet([index * 2 % (3 + attributes)]))
        }
        return ItemEntry(
            record: ObjectRef(offset: 5000, length: 208, hash: numbers.hash()), id: numbers.id(),
            dot: StoredDot(1_700_000_000_000 << 16 + 90, 3), recordRevision: 80, compartment: 1 << 63 - 1,
            created: -5, modified: 1_700_000_000_000, hasConflicts: past,
            past: past ? ObjectRef(offset: 1 << 40, length: 512, hash: numbers.hash()) : nil, further: fields)
    }

    private func encoded(_ entry: ItemEntry, attributes: Int = 2) -> [UInt8] {
        var out: [UInt8] = []
        entry.encode(into: &out)
        entry.encodeEnd(into: &out, attributes: attributes)
        return out
    }

    private func read(_ bytes: [UInt8], attributes: Int = 2) throws(FormatError) -> ItemEntry {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        var entry = try ItemEntry(bytes.span, &cursor)
        try entry.finish(bytes.span, &cursor, attributes: attributes)
        return entry
    }

    private func refusesEntry(
        _ bytes: [UInt8], _ phrase: String, attributes: Int = 2, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(bytes, attributes: attributes)
        }
    }

    @Test(
        "is read as it was written, has one encoding, and nothing of it can be left out",
        arguments: [(0, false), (0, true), (1, false), (4, true)])
    func roundTrip(further: Int, past: Bool) throws {
        let entry = Self.sample(further: further, past: past)
        let bytes = encoded(entry)
        #expect(try read(bytes) == entry)
        hasOneEncoding(bytes, seed: 1) { changed throws(FormatError) in encoded(try read(changed)) }
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try read(bytes) }
        refusesEntry(bytes + [0], "unexpected bytes remain")
    }

    @Test("keeps times from −2^61 to 2^61 − 1 (R-6.18)")
    func times() throws {
        var entry = Self.sample(further: 3)
        for time in [Format.Limit.time.lowerBound, -1, 0, 1, Format.Limit.time.upperBound] {
            entry.created = time
            entry.modified = -time - 1
            #expect(try read(encoded(entry)) == entry)
        }
        for time in [Format.Limit.time.lowerBound - 1, Format.Limit.time.upperBound + 1] {
            (entry.created, entry.modified) = (time, 0)
            refusesEntry(encoded(entry), "time is out of range")
            (entry.created, entry.modified) = (0, time)
            refusesEntry(encoded(entry), "time is out of range")
        }
    }

    @Test("that one change made, at the time of its dot, takes one byte for each time")
    func sizes() {
        var entry = Self.sample()
        entry.created = entry.dot.time
        entry.modified = entry.dot.time
        let small = encoded(entry).count
        entry.created -= 64
        #expect(encoded(entry).count == small)
        entry.created -= 1
        #expect(encoded(entry).count == small + 1)
        #expect(small == 36 + 16 + 9 + 8 + 8 + 1 + 1 + 1)
    }

    @Test("has each field's dot, and the least of its dots is the one that its creation is told from")
    func dots() {
        let entry = Self.sample(further: 3)
        let revision = entry.dot.revision
        #expect(
            (0..<5).map { entry.dot(of: $0) } == [
                StoredDot(revision, 1), entry.dot, StoredDot(revision, 2), entry.dot, StoredDot(revision - 300, 1),
            ])
        #expect(entry.least == StoredDot(revision - 300, 1))
        #expect(Self.sample().least == Self.sample().dot)
    }

    @Test("has at most 67 further dots, in order, each of a field that has no other (R-6.16)")
    func further() throws {
        func refusesDots(
            _ phrase: String, attributes: Int = 2, sourceLocation: SourceLocation = #_sourceLocation,
            _ change: (inout ItemEntry) -> Void
        ) {
            var entry = Self.sample(further: 4)
            change(&entry)
            refusesEntry(
                encoded(entry, attributes: attributes), phrase, attributes: attributes, sourceLocation: sourceLocation)
        }
        for at in 0..<3 { refusesDots("out of order") { $0.further.swapAt(at, at + 1) } }
        refusesDots("out of order") { $0.further[1] = $0.further[0] }
        refusesDots("out of order") { $0.dot.position = 1 }
        refusesDots("two dots") { $0.further[3] = .init(difference: 400, position: 1, fields: FieldSet([1, 4])) }
        refusesDots("a dot has no field") { $0.further[3] = .init(difference: 400, position: 1, fields: FieldSet()) }
        for field in [5, 6, 7] {
            refusesDots("that the item lacks") {
                $0.further[3] = .init(difference: 400, position: 1, fields: FieldSet([field]))
            }
        }
        refusesDots("revision is out of range") { entry in
            entry.further[3] = .init(difference: entry.dot.revision, position: 1, fields: FieldSet([1]))
        }
        refusesDots("replica's position: 262001") {
            $0.further[3] = .init(difference: 400, position: 262_001, fields: FieldSet([1]))
        }
        refusesDots("replica's position: 262001") { $0.dot.position = 262_001 }
        refusesDots("an item without a secret has a dot for it") { $0.lacksSecret = true }
        // All fields of an item with as many attributes as there can be.
        var entry = Self.sample(attributes: 64)
        entry.further = (0..<67).map { .init(difference: UInt64($0) + 1, position: 1, fields: FieldSet([$0])) }
        let bytes = encoded(entry, attributes: 64)
        #expect(try read(bytes, attributes: 64) == entry)
        for (index, bit) in [(0, 1), (63, 1), (64, 1), (66, 1)] { #expect(entry.dot(of: index).position == bit) }
        refusesEntry(patched(bytes, encoded(Self.sample()).count, [68]), "68 more dots", attributes: 64)
        refusesEntry(patched(bytes, encoded(Self.sample()).count, [0]), "0 more dots", attributes: 64)
        refusesDots("that the item lacks", attributes: 64) {
            $0.further[3] = .init(difference: 400, position: 1, fields: FieldSet([67]))
        }
    }

    @Test(
        "has flags that are known, a past if there is something to settle, and a record unless it has no secret (R-6.17)"
    )
    func flags() throws {
        var entry = Self.sample(past: true)
        let flags = encoded(Self.sample()).count - 1
        for bit in 4..<8 { refusesEntry(patched(encoded(Self.sample()), flags, [1 << UInt8(bit)]), "unknown flags") }
        entry.past = nil
        refusesEntry(encoded(entry), "without a past has conflicts")
        entry = Self.sample()
        entry.lacksSecret = true
        #expect(try read(encoded(entry)) == entry && entry.hasRecord)
        (entry.record, entry.recordRevision) = (.zero, 0)
        #expect(try read(encoded(entry)) == entry && !entry.hasRecord)
        entry.recordRevision = 1
        refusesEntry(encoded(entry), "lacks a record")
        (entry.recordRevision, entry.lacksSecret) = (0, false)
        refusesEntry(encoded(entry), "lacks a record")
        entry = Self.sample()
        entry.recordRevision = 0
        refusesEntry(encoded(entry), "record's revision is out of range")
    }
}

@Suite("A reference")
struct ObjectRefTests {
    @Test("is followed only to a frame of a possible length between the header's copy and what refers to it (R-2.3)")
    func check() throws {
        let own: UInt64 = 1 << 20
        func check(_ type: FrameType, _ offset: UInt64, _ length: Int) throws(FormatError) {
            try ObjectRef(offset: offset, length: length, hash: .zero).check(type, from: 8192, before: own)
        }
        for (type, length) in [
            (.page, 256), (.past, 1024), (.keyring, 256), (.vector, 512), (.record, 208), (.chunk, 209),
        ]
            as [(FrameType, Int)]
        {
            try check(type, 8192, length)
            try check(type, own - UInt64(length), length)
            for offset in [0, 8191, own - UInt64(length) + 1, own, own + 1, 1 << 62, 1 << 63 - 1] as [UInt64] {
                refuses(.structureInvalid, "does not end before it") { () throws(FormatError) in
                    try check(type, offset, length)
                }
            }
            for length in [0, 1, 207, 24 << 20, Int.max] {
                refuses(.structureInvalid, "of \(length) bytes") { () throws(FormatError) in
                    try check(type, 8192, length)
                }
            }
        }
    }
}
