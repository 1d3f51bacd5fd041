import Testing
import VaultBytes

@Suite("An item's key fields")
struct KeyFieldsTests {
    private func encoded(_ field: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        KeyFields.append(field, to: &out)
        return out
    }

    private func decoded(_ bytes: [UInt8]) throws(FormatError) -> [UInt8] {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        let field = try KeyFields.field(bytes.span, &cursor)
        try cursor.finish()
        return field
    }

    @Test("are read as they were written, zeros included")
    func roundTrip() throws {
        var numbers = Numbers(1)
        for field in [[], [0], [0, 0], [0, 0xFF], [0xFF], [0, 1, 0]] + (0..<200).map({ numbers.bytes($0 % 30).map { $0 % 3 } }) {
            #expect(try decoded(encoded(field)) == field)
        }
    }

    @Test("stand in the order of their values, also with another field behind them")
    func order() {
        var numbers = Numbers(2)
        func small() -> [UInt8] { numbers.bytes(Int.random(in: 0...4, using: &numbers)).map { [0, 1, 0xFE, 0xFF][Int($0 % 4)] } }
        for _ in 0..<4000 {
            let left = (small(), small())
            let right = (small(), small())
            let expected = left.0 == right.0 ? ByteOrder.isLess(left.1, right.1) : ByteOrder.isLess(left.0, right.0)
            #expect(ByteOrder.isLess(encoded(left.0) + encoded(left.1), encoded(right.0) + encoded(right.1)) == expected)
        }
    }

    @Test("are refused if wrongly escaped or cut off (R-6.1)")
    func malformed() {
        for bad in [[0, 1], [65, 0, 2], [0, 0xFE]] as [[UInt8]] {
            refuses(.structureInvalid, "wrongly escaped") { () throws(FormatError) in _ = try decoded(bad) }
        }
        for bad in [[], [65], [65, 0], [0, 0xFF], [0, 0xFF, 0]] as [[UInt8]] {
            refuses(.structureInvalid, "missing") { () throws(FormatError) in _ = try decoded(bad) }
        }
        refuses(.structureInvalid, "left over") { () throws(FormatError) in _ = try decoded([0, 0, 0]) }
    }

    @Test("have at most 4096 bytes before escaping (R-6.1)")
    func limits() throws {
        for byte in [0, 1] as [UInt8] {
            #expect(try decoded(encoded([UInt8](repeating: byte, count: 4096))).count == 4096)
            refuses(.limitExceeded, "4096") { () throws(FormatError) in _ = try decoded(encoded([UInt8](repeating: byte, count: 4097))) }
        }
    }

    @Test("are accepted alike whether they are kept or skipped")
    func skipping() {
        var numbers = Numbers(3)
        var accepted = 0
        for round in 0..<4000 {
            let bytes: [UInt8] = numbers.bytes(round % 9 + 1).map { [0, 0, 0xFF, 65, 0xC3, 0xA9][Int($0 % 6)] }
            for isText in [false, true] {
                var kept = Cursor(bytes.span, at: 0, else: .structureInvalid)
                var skipped = kept
                let isKept = succeeds { () throws(FormatError) in
                    _ = isText ? Array(try KeyFields.text(bytes.span, &kept).utf8) : try KeyFields.field(bytes.span, &kept)
                }
                let isSkipped = succeeds { () throws(FormatError) in try KeyFields.skip(bytes.span, &skipped, isText: isText) }
                #expect(isKept == isSkipped && (!isKept || kept.position == skipped.position))
                accepted += isKept ? 1 : 0
            }
        }
        #expect(accepted > 100)
        let long = encoded([UInt8](repeating: 0, count: 4097))
        var cursor = Cursor(long.span, at: 0, else: .structureInvalid)
        refuses(.limitExceeded, "4096") { () throws(FormatError) in try KeyFields.skip(long.span, &cursor, isText: false) }
    }

    private func succeeds(_ body: () throws(FormatError) -> Void) -> Bool {
        do throws(FormatError) {
            try body()
            return true
        } catch { return false }
    }

    @Test("put numbers in big-endian order, so that they sort")
    func numbers() {
        var last: [UInt8] = []
        for value in [0, 1, 0xFF, 0x100, 0xFFFF, 0x1_0000, .max] as [UInt32] {
            var bytes: [UInt8] = []
            bytes.append(n32: value)
            #expect(ByteOrder.isLess(last, bytes))
            last = bytes
        }
    }
}

@Suite("An item's entry")
struct ItemEntryTests {
    private static let page: UInt64 = 1 << 20

    private func sample() -> ItemEntry {
        var numbers = Numbers(1)
        return ItemEntry(
            record: ObjectRef(offset: 5000, length: 204, hash: numbers.hash()), id: numbers.id(), revision: numbers.next(), device: 3,
            recordRevision: numbers.next(), compartment: 4_000_000_000, created: -5, modified: 1_700_000_000_000)
    }

    private func encoded(_ entry: ItemEntry) -> [UInt8] {
        var out: [UInt8] = []
        entry.encode(into: &out)
        return out
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> ItemEntry {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        let entry = try ItemEntry(bytes.span, &cursor, page: Self.page)
        try cursor.finish()
        return entry
    }

    @Test("is read as it was written, and has one encoding")
    func roundTrip() throws {
        let bytes = encoded(sample())
        #expect(try read(bytes) == sample())
        hasOneEncoding(bytes, seed: 1) { changed throws(FormatError) in encoded(try read(changed)) }
    }

    @Test("names a record that ends before its page, of a record's length (R-6.5)")
    func record() throws {
        func with(_ offset: UInt64, _ length: Int) -> [UInt8] {
            var entry = sample()
            entry.record = ObjectRef(offset: offset, length: length, hash: .zero)
            return encoded(entry)
        }
        _ = try read(with(Self.page - 204, 204))
        for (offset, length) in [(Self.page - 203, 204), (Self.page, 204), (4095, 204), (5000, 203), (5000, 0), (1 << 62, 204)]
            as [(UInt64, Int)]
        {
            refuses(.structureInvalid, "end before the page") { () throws(FormatError) in _ = try read(with(offset, length)) }
        }
        refuses(.limitExceeded, "a record") { () throws(FormatError) in _ = try read(with(5000, (20 << 20) + 1)) }
    }

    @Test("has a device's and a compartment's number within their limits")
    func numbers() {
        var entry = sample()
        entry.device = 1025
        refuses(.limitExceeded, "device") { () throws(FormatError) in _ = try read(encoded(entry)) }
        var bytes = encoded(sample())
        let place = bytes.count - varintSize(sample()) - 5
        bytes.replaceSubrange(place..<place + 5, with: varint(1 << 32))
        refuses(.structureInvalid, "compartment's number") { () throws(FormatError) in _ = try read(bytes) }
    }

    /// What the two dates take.
    private func varintSize(_ entry: ItemEntry) -> Int {
        var out: [UInt8] = []
        out.append(zigzag: entry.created)
        out.append(zigzag: entry.modified)
        return out.count
    }

    @Test("of a removed item has revision and device, and nothing more")
    func tombstone() throws {
        let bytes = TombstoneEntry(revision: 77, device: 2).encode()
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        #expect(try TombstoneEntry(bytes.span, &cursor) == TombstoneEntry(revision: 77, device: 2))
        for bad in [bytes + [0], Array(bytes.dropLast())] {
            var cursor = Cursor(bad.span, at: 0, else: .structureInvalid)
            refuses(.structureInvalid, "") { () throws(FormatError) in _ = try TombstoneEntry(bad.span, &cursor) }
        }
        #expect(TombstoneEntry.key(Bytes16(high: 1, low: 2)).count == 17)
        #expect(TombstoneEntry.key(.zero).first == 0x7E)
    }
}

@Suite("A list of attributes")
struct AttributeListTests {
    private func encoded(_ entries: [(String, Int)]) -> [UInt8] {
        var out: [UInt8] = []
        AttributeList.encode(entries.map { AttributeList.Entry(name: $0.0, value: [UInt8](repeating: 7, count: $0.1)) }, into: &out)
        return out
    }

    private func read(_ bytes: [UInt8], _ place: AttributeList.Place) throws(FormatError) -> [AttributeList.Entry] {
        var cursor = Cursor(bytes.span, at: 0, else: .structureInvalid)
        let list = try AttributeList.decode(bytes.span, &cursor, place)
        try cursor.finish()
        return list
    }

    @Test("is read as it was written, and has one encoding")
    func roundTrip() throws {
        let inPage = encoded([("a", 0), ("ab", 1), ("b", 256)])
        let inRecord = encoded([("x", 257), ("y", 300)])
        #expect(try read(inPage, .inPage).map(\.value.count) == [0, 1, 256])
        #expect(try read(inRecord, .inRecord).map(\.value.count) == [257, 300])
        for (bytes, place) in [(inPage, AttributeList.Place.inPage), (inRecord, .inRecord)] {
            hasOneEncoding(bytes, seed: 1) { changed throws(FormatError) in
                var out: [UInt8] = []
                AttributeList.encode(try read(changed, place), into: &out)
                return out
            }
        }
    }

    @Test("has values where their sizes say: up to 256 bytes in a page, longer ones in a record (R-6.2)")
    func places() {
        refuses(.structureInvalid, "wrong place") { () throws(FormatError) in _ = try read(encoded([("a", 257)]), .inPage) }
        refuses(.structureInvalid, "wrong place") { () throws(FormatError) in _ = try read(encoded([("a", 256)]), .inRecord) }
    }

    @Test("has names that are text, not empty, in strictly ascending order (R-6.2)")
    func names() {
        for entries in [[("b", 1), ("a", 1)], [("a", 1), ("a", 1)], [("ab", 1), ("a", 1)]] {
            refuses(.structureInvalid, "out of order") { () throws(FormatError) in _ = try read(encoded(entries), .inPage) }
        }
        refuses(.structureInvalid, "without a name") { () throws(FormatError) in _ = try read(encoded([("", 1)]), .inPage) }
        let bad = patched(encoded([("a", 1)]), 2, [0xFF])
        refuses(.structureInvalid, "UTF-8") { () throws(FormatError) in _ = try read(bad, .inPage) }
    }

    @Test("has at most 64 entries, and values of at most 1 MiB")
    func limits() throws {
        #expect(try read(encoded((10..<74).map { ("n\($0)", 0) }), .inPage).count == 64)
        refuses(.limitExceeded, "attributes: 65") { () throws(FormatError) in
            _ = try read(encoded((10..<75).map { ("n\($0)", 0) }), .inPage)
        }
        #expect(try read(encoded([("a", 1 << 20)]), .inRecord).count == 1)
        refuses(.limitExceeded, "value: 1048577") { () throws(FormatError) in _ = try read(encoded([("a", (1 << 20) + 1)]), .inRecord) }
    }
}

@Suite("A record's body")
struct RecordLayoutTests {
    private func body(key: [UInt8] = [1, 2], secret: [UInt8] = [3, 4, 5], attributes: [UInt8] = [0], extra: Int = 0) -> [UInt8] {
        var out = varint(UInt64(key.count)) + key + varint(UInt64(secret.count)) + secret + attributes
        out.append(zeros: Padding.record(out.count) - out.count + extra)
        return out
    }

    @Test("is key, secret and large attributes, padded")
    func parts() throws {
        for size in [0, 3, 124, 125, 5000] {
            let bytes = body(secret: [UInt8](repeating: 9, count: size))
            let layout = try RecordLayout(bytes.span, at: 0)
            #expect(bytes[layout.key].elementsEqual([1, 2]) && layout.secret.count == size && layout.attributes.count == 1)
            #expect(RecordLayout.bodySize(key: 2, secret: size, attributes: 1) == bytes.count)
        }
    }

    @Test("of another length than its padding says is refused (R-5.1)", arguments: [1, 128, -1, 256])
    func length(extra: Int) {
        var bytes = body()
        if extra < 0 { bytes.removeLast(-extra) } else { bytes.append(zeros: extra) }
        refuses(.structureInvalid, "longer than it needs") { () throws(FormatError) in _ = try RecordLayout(bytes.span, at: 0) }
    }

    @Test("has zeros as padding (R-1.2), and parts that it can hold (R-2.2)")
    func contents() {
        let bytes = body()
        refuses(.structureInvalid, "not zero") { () throws(FormatError) in _ = try RecordLayout(patched(bytes, 127, [1]).span, at: 0) }
        refuses(.structureInvalid, "past the end") { () throws(FormatError) in
            _ = try RecordLayout(patched(bytes, 3, varint(16_000)).span, at: 0)
        }
        let huge = patched(bytes, 3, varint((16 << 20) + 1))
        refuses(.limitExceeded, "a secret") { () throws(FormatError) in _ = try RecordLayout(huge.span, at: 0) }
        let long = patched(bytes, 0, varint(8193))
        refuses(.limitExceeded, "an item key") { () throws(FormatError) in _ = try RecordLayout(long.span, at: 0) }
        refuses(.structureInvalid, "missing") { () throws(FormatError) in _ = try RecordLayout([UInt8]().span, at: 0) }
    }
}
