import Testing
import VaultBytes

@Suite("A vector")
struct VectorTests {
    /// Rows with ids in no order, and revisions above the floor.
    static func rows(_ count: Int, above floor: UInt64 = 0) -> [Vector.Row] {
        var numbers = Numbers(UInt64(count))
        return (0..<count).map { index in
            Vector.Row(numbers.next() | 1, floor + UInt64(index) * 3 + 1, isSplit: index % 7 == 3)
        }
    }

    @Test("has seen the dots up to its rows, and whatever is not above its floor", arguments: [1, 5, 16, 17, 40])
    func seen(count: Int) throws {
        let rows = Self.rows(count, above: 100)
        let vector = try #require(Vector(floor: 100, rows: rows))
        for row in rows {
            #expect(vector.hasSeen(Dot(revision: row.revision, replica: row.id)))
            #expect(vector.hasSeen(Dot(revision: row.revision - 1, replica: row.id)))
            #expect(!vector.hasSeen(Dot(revision: row.revision + 1, replica: row.id)))
            #expect(vector.row(of: row.id) == row && vector.isSplit(row.id) == row.isSplit)
        }
        #expect(vector.hasSeen(Dot(revision: 100, replica: 2)) && !vector.hasSeen(Dot(revision: 101, replica: 2)))
        #expect(vector.row(of: 2) == nil && vector.position(of: 2) == nil && !vector.isSplit(2))
        #expect(vector.clock == rows.map(\.revision).max())
        #expect(try #require(Vector(floor: 1 << 40, rows: [])).clock == 1 << 40)
    }

    @Test("has each id once, and none that is 0", arguments: [2, 16, 17, 40])
    func distinct(count: Int) {
        var rows = Self.rows(count)
        #expect(Vector(floor: 0, rows: rows) != nil)
        rows[count - 1] = Vector.Row(rows[0].id, 9)
        #expect(Vector(floor: 0, rows: rows) == nil)
        rows[count - 1] = Vector.Row(0, 9)
        #expect(Vector(floor: 0, rows: rows) == nil)
    }

    @Test("stores a dot by the position of its id, and reads it back", arguments: [1, 16, 17, 40])
    func positions(count: Int) throws {
        let rows = Self.rows(count, above: 50)
        let vector = try #require(Vector(floor: 50, rows: rows))
        for (index, row) in rows.enumerated() {
            let dot = Dot(revision: row.revision, replica: row.id)
            #expect(vector.stored(dot) == StoredDot(row.revision, index + 1))
            #expect(vector.dot(StoredDot(row.revision, index + 1)) == dot)
            // Not seen, below the floor, at no position.
            #expect(vector.dot(StoredDot(row.revision + 1, index + 1)) == nil)
            #expect(vector.stored(Dot(revision: row.revision + 1, replica: row.id)) == nil)
            #expect(vector.dot(StoredDot(50, index + 1)) == nil)
            #expect(vector.stored(Dot(revision: 50, replica: row.id)) == nil)
        }
        #expect(vector.dot(StoredDot(51, count + 1)) == nil)
        #expect(vector.dot(StoredDot(50, 0)) == Dot(revision: 50, replica: 0))
        #expect(vector.stored(Dot(revision: 50, replica: 0)) == StoredDot(50, 0))
        #expect(vector.dot(StoredDot(51, 0)) == nil && vector.dot(StoredDot(0, 0)) == nil)
        #expect(vector.stored(Dot(revision: 51, replica: 0)) == nil)
    }

    @Test("joins another one: the greater revision of each id, split if either is, at the positions that it has")
    func join() throws {
        var numbers = Numbers(3)
        for round in 0..<60 {
            let ids = (0..<24).map { UInt64($0) * 5 + 1 }
            func some() -> [Vector.Row] {
                ids.filter { _ in Bool.random(using: &numbers) }.shuffled(using: &numbers).map {
                    Vector.Row($0, UInt64.random(in: 8...20, using: &numbers), isSplit: $0 % 11 == UInt64(round % 11))
                }
            }
            let (ours, theirs) = try (
                #require(Vector(floor: 7, rows: some())), #require(Vector(floor: 7, rows: some()))
            )
            var joined = ours
            joined.join(theirs)
            for (index, row) in ours.rows.enumerated() { #expect(joined.rows[index].id == row.id) }
            for id in ids {
                let both = [ours.row(of: id), theirs.row(of: id)].compactMap { $0 }
                #expect(joined.row(of: id)?.revision == both.map(\.revision).max())
                #expect(joined.isSplit(id) == both.contains { $0.isSplit })
            }
            #expect(joined.hasSeen(all: ours) && joined.hasSeen(all: theirs))
            #expect(
                ours.hasSeen(all: joined)
                    == theirs.rows.allSatisfy { ours.row(of: $0.id)?.revision ?? 0 >= $0.revision })
        }
    }

    @Test("never goes back, and marks only ids that it has")
    func changes() {
        var vector = Vector()
        for id in 1...20 as ClosedRange<UInt64> { vector.include(id, id * 10) }
        vector.include(5, 7)
        vector.include(5, 51)
        vector.split(5)
        vector.split(99)
        #expect(vector.row(of: 5) == Vector.Row(5, 51, isSplit: true))
        #expect(vector.rows.count == 20 && vector.position(of: 20) == 20)
    }

    @Test("has dots that are compared by revision, then by id, both as numbers")
    func dots() {
        let dots = [(1, 9), (2, 0), (2, 1), (2, .max), (3, 1)] as [(UInt64, UInt64)]
        let sorted = dots.map { Dot(revision: $0.0, replica: $0.1) }
        #expect(sorted.shuffled().sorted() == sorted)
        #expect(Dot(revision: 1_750_000_000_000 << 16 + 5, replica: 1).time == 1_750_000_000_000)
        #expect(Revision.first(ofMillisecond: 3) == 3 << 16)
        #expect(Revision.first(ofMillisecond: 1 << 47 - 1) == (1 << 47 - 1) << 16)
        #expect(Revision.first(ofMillisecond: 1 << 47) == nil && Revision.first(ofMillisecond: .max) == nil)
    }

    @Test("encodes a dot in one way: at position 0 if its revision is not above the floor (R-1.10, R-6.8)")
    func possible() {
        for (revision, position, isPossible) in [
            (10, 0, true), (10, 1, false), (11, 0, false), (11, 1, true), (20, 3, true), (21, 3, false), (1, 0, true),
        ] as [(UInt64, Int, Bool)] {
            #expect(StoredDot(revision, position).isPossible(clock: 20, floor: 10) == isPossible)
        }
    }
}

@Suite("A vector's frame")
struct VectorFrameTests {
    private static let base = ObjectRef(offset: 9000, length: 512, hash: Bytes32(words: (1, 2, 3, 4)))

    private func read(_ bytes: [UInt8]) throws(FormatError) -> VectorFrame { try VectorFrame(bytes.span, at: 0) }

    private func refusesFrame(
        _ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(bytes)
        }
    }

    private static func based(changes: Int, further: Int) -> VectorFrame {
        VectorFrame(
            base: base,
            changes: (0..<changes).map { .init(position: $0 * 3 + 1, revision: UInt64($0) + 5, isSplit: $0 % 5 == 4) },
            further: VectorTests.rows(further))
    }

    @Test("without a base is read as it was written", arguments: [1, 2, 12, 13, 100, 4096])
    func whole(count: Int) throws {
        let frame = VectorFrame(VectorTests.rows(count))
        let bytes = try frame.encode()
        #expect(try read(bytes) == frame)
        #expect(try read(bytes).encode() == bytes)
        #expect(FrameType.vector.isPossible(bytes.count + 48))
        #expect((bytes.count + 48 == 256) == (count <= 12))
        let vector = try frame.vector(on: nil, floor: 0, at: 0)
        #expect(vector.rows == VectorTests.rows(count))
    }

    @Test("with a base is read as it was written", arguments: [(0, 1), (1, 0), (3, 5), (60, 4), (64, 0), (0, 64)])
    func based(changes: Int, further: Int) throws {
        let frame = Self.based(changes: changes, further: further)
        let bytes = try frame.encode()
        #expect(try read(bytes) == frame)
        #expect(try read(bytes).encode() == bytes)
    }

    @Test("has one encoding, and nothing of it can be left out")
    func oneEncoding() throws {
        for frame in [VectorFrame(VectorTests.rows(5)), Self.based(changes: 3, further: 2)] {
            let bytes = try frame.encode()
            hasOneEncoding(bytes, seed: 8) { changed throws(FormatError) in try read(changed).encode() }
            refusesTruncations(bytes) { bytes throws(FormatError) in _ = try read(bytes) }
            refusesFrame(bytes + [UInt8](repeating: 0, count: 256), "longer than necessary")
            refusesFrame(patched(bytes, bytes.count - 1, [1]), "not zero")
            for form in [2, 0x80, 0xFF] as [UInt8] { refusesFrame(patched(bytes, 0, [form]), "unknown kind") }
        }
    }

    @Test("has 1 to 262,000 rows, and 1 to 64 of its own if it has a base (R-5.33, R-5.34)")
    func limits() throws {
        for frame in [VectorFrame(), Self.based(changes: 0, further: 0)] {
            #expect(!frame.isPossible)
            refuses(.limitExceeded, "too many writer ids") { () throws(FormatError) in _ = try frame.encode() }
        }
        for (changes, further) in [(65, 0), (0, 65), (60, 5)] {
            let frame = Self.based(changes: changes, further: further)
            #expect(!frame.isPossible)
            refuses(.limitExceeded, "too many writer ids") { () throws(FormatError) in _ = try frame.encode() }
        }
        refusesFrame([0, 0] + [UInt8](repeating: 0, count: 206), "no rows")
        // As many as a frame of its length cannot have, before anything is allocated for them.
        refusesFrame([0] + varint(262_000) + [UInt8](repeating: 0, count: 204), "rows of a vector: 262000")
        refusesFrame([0] + varint(1 << 60) + [UInt8](repeating: 0, count: 198), "rows of a vector")
        let largest = VectorFrame((1...262_000).map { Vector.Row(UInt64($0), 1) })
        let bytes = try largest.encode()
        #expect(bytes.count + 48 <= Format.Limit.vectorFrame)
        #expect(try read(bytes) == largest)
        refuses(.limitExceeded, "too many writer ids") { () throws(FormatError) in
            _ = try VectorFrame((1...262_001).map { Vector.Row(UInt64($0), 1) }).encode()
        }
    }

    @Test("has rows with ids that are not 0, and revisions from 1 to 2^63 − 1")
    func rows() throws {
        let bytes = try VectorFrame([Vector.Row(7, 1)]).encode()
        refusesFrame(patched(bytes, 2, u64(0)), "without an id")
        refusesFrame(patched(bytes, 10, u64(0)), "revision is out of range")
        refusesFrame(patched(bytes, 10, u64(1 << 63)), "revision is out of range")
        #expect(try read(patched(bytes, 10, u64(.max))).further == [Vector.Row(7, 1 << 63 - 1, isSplit: true)])
    }

    @Test("changes rows in strictly ascending order of their positions (R-5.34)")
    func order() throws {
        for (first, second) in [(2, 1), (2, 2), (0, 1)] {
            let frame = VectorFrame(
                base: Self.base,
                changes: [
                    .init(position: first, revision: 1, isSplit: false),
                    .init(position: second, revision: 1, isSplit: false),
                ])
            refusesFrame(try frame.encode(), "out of order")
        }
    }

    @Test("continues a base that has none itself: no row goes back, stays the same, or ceases to be split (R-5.34)")
    func onBase() throws {
        let rows = [Vector.Row(5, 10), Vector.Row(6, 20, isSplit: true), Vector.Row(7, 30)]
        let base = VectorFrame(rows)
        func vector(_ changes: [VectorFrame.Change], _ further: [Vector.Row] = []) throws(FormatError) -> Vector {
            try VectorFrame(base: Self.base, changes: changes, further: further).vector(on: base, floor: 4, at: 0)
        }
        let good = try vector(
            [
                .init(position: 1, revision: 10, isSplit: true), .init(position: 2, revision: 21, isSplit: true),
                .init(position: 3, revision: 31, isSplit: false),
            ], [Vector.Row(8, 5)])
        #expect(
            good.rows == [
                Vector.Row(5, 10, isSplit: true), Vector.Row(6, 21, isSplit: true), Vector.Row(7, 31), Vector.Row(8, 5),
            ])
        for change in [
            VectorFrame.Change(position: 1, revision: 9, isSplit: false),
            .init(position: 1, revision: 9, isSplit: true),
            .init(position: 1, revision: 10, isSplit: false), .init(position: 2, revision: 20, isSplit: true),
            .init(position: 2, revision: 25, isSplit: false),
        ] {
            refuses(.structureInvalid, "is inconsistent with its base") { () throws(FormatError) in
                _ = try vector([change])
            }
        }
        refuses(.structureInvalid, "that its base lacks") { () throws(FormatError) in
            _ = try vector([.init(position: 4, revision: 50, isSplit: false)])
        }
        for row in [Vector.Row(5, 50), Vector.Row(8, 4), Vector.Row(0, 50)] {
            refuses(.structureInvalid, "an id twice") { () throws(FormatError) in _ = try vector([], [row]) }
        }
        refuses(.structureInvalid, "has a base itself") { () throws(FormatError) in
            _ = try VectorFrame(base: Self.base, further: [Vector.Row(9, 9)]).vector(
                on: Self.based(changes: 1, further: 0), floor: 0, at: 0)
        }
    }

    @Test("stores rows on a base, whatever has changed since")
    func storing() throws {
        var numbers = Numbers(2)
        for _ in 0..<40 {
            let old = VectorTests.rows(Int.random(in: 1...30, using: &numbers))
            var new = old
            for index in new.indices where Bool.random(using: &numbers) { new[index].revision += 5 }
            new += (0..<Int.random(in: 0...9, using: &numbers)).map { Vector.Row(UInt64($0) * 2 + 2, 77) }
            let frame = VectorFrame(new, on: (Self.base, old))
            guard frame.isPossible else {
                #expect(new == old)
                continue
            }
            let again = try read(frame.encode())
            #expect(try again.vector(on: VectorFrame(old), floor: 0, at: 0).rows == new)
        }
    }
}
