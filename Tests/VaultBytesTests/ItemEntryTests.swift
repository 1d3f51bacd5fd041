import Testing
import VaultBytes

@Suite("An item's entry")
struct ItemEntryTests {
    static func sample(versions: Int = 0) -> ItemEntry {
        var numbers = Numbers(1)
        return ItemEntry(
            record: ObjectRef(offset: 5000, length: 208, hash: numbers.hash()), id: numbers.id(), revision: 90,
            device: 3,
            recordRevision: 80, compartment: 1 << 63 - 1, created: -5, modified: 1_700_000_000_000,
            versions: versions == 0
                ? nil : .init(count: versions, frame: ObjectRef(offset: 1 << 40, length: 512, hash: numbers.hash())))
    }

    private func encoded(_ entry: ItemEntry) -> [UInt8] {
        var out: [UInt8] = []
        entry.encode(into: &out)
        return out
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> ItemEntry {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        let entry = try ItemEntry(bytes.span, &cursor)
        try cursor.finish()
        return entry
    }

    private func refusesEntry(_ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(bytes)
        }
    }

    @Test("is read as it was written, has one encoding, and nothing of it can be left out", arguments: [0, 1, 50])
    func roundTrip(versions: Int) throws {
        let bytes = encoded(Self.sample(versions: versions))
        #expect(try read(bytes) == Self.sample(versions: versions))
        hasOneEncoding(bytes, seed: 1) { changed throws(FormatError) in encoded(try read(changed)) }
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try read(bytes) }
    }

    @Test("keeps dates from −2^62 to 2^62 − 1")
    func dates() throws {
        var entry = Self.sample()
        for time in [Format.Limit.time.lowerBound, -1, 0, 1, Format.Limit.time.upperBound] {
            entry.created = time
            entry.modified = -time - 1
            #expect(try read(encoded(entry)) == entry)
        }
    }

    @Test("has a device's number and a number of earlier values within their limits")
    func limits() throws {
        var entry = Self.sample(versions: 2)
        entry.device = 1024
        #expect(try read(encoded(entry)).device == 1024)
        entry.device = 1025
        refusesEntry(encoded(entry), "device's number: 1025")
        for count in [51, 255] {
            entry = Self.sample(versions: count)
            refusesEntry(encoded(entry), "\(count) earlier values")
        }
        // With a count of zero there is no reference.
        let bytes = encoded(Self.sample(versions: 1))
        let place = encoded(Self.sample()).count - 1
        #expect(bytes[place] == 1)
        refusesEntry(patched(bytes, place, [0]), "unexpected bytes remain")
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
            (.page, 256), (.versions, 1024), (.keyring, 256), (.history, 512), (.record, 208), (.chunk, 209),
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

@Suite("A tombstone")
struct TombstoneTests {
    private func read(_ bytes: [UInt8]) throws(FormatError) -> TombstoneEntry {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        return try TombstoneEntry(bytes.span, &cursor)
    }

    @Test("has the revisions and devices of the removal and of the item, and nothing more (R-6.14)")
    func parts() throws {
        let entry = TombstoneEntry(revision: 77, device: 2, lastRevision: 76, lastDevice: 1024)
        let bytes = entry.encode()
        #expect(try read(bytes) == entry)
        hasOneEncoding(bytes, seed: 1) { changed throws(FormatError) in try read(changed).encode() }
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try read(bytes) }
        refuses(.structureInvalid, "unexpected bytes remain") { () throws(FormatError) in _ = try read(bytes + [0]) }
    }

    @Test("is later than its item, and has devices within their limit")
    func limits() {
        for last in [77, 78, .max] as [UInt64] {
            let bytes = TombstoneEntry(revision: 77, device: 0, lastRevision: last, lastDevice: 0).encode()
            refuses(.structureInvalid, "not later") { () throws(FormatError) in _ = try read(bytes) }
        }
        for (device, last) in [(1025, 0), (0, 1025)] {
            let bytes = TombstoneEntry(revision: 77, device: device, lastRevision: 1, lastDevice: last).encode()
            refuses(.structureInvalid, "device's number: 1025") { () throws(FormatError) in _ = try read(bytes) }
        }
    }

    @Test("is found under 7E and its item's id")
    func key() {
        #expect(TombstoneEntry.key(Bytes16(high: 1, low: 2)) == [0x7E] + Bytes16(high: 1, low: 2).bytes)
    }
}
