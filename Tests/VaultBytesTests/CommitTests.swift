import Testing
import VaultBytes

@Suite("A commit")
struct CommitTests {
    static let own: UInt64 = 1 << 16
    static let bodyStart: UInt64 = 8192

    static func sample() -> Commit {
        var numbers = Numbers(1)
        return Commit(
            generation: 5, predecessor: .init(generation: 3, chain: numbers.hash()), offset: own, start: 40_960,
            clock: 77, floor: 70, wasSyncedFirst: false,
            root: .init(ref: ObjectRef(offset: 50_000, length: 2048, hash: numbers.hash()), level: 2),
            keyring: ObjectRef(offset: 8192, length: 512, hash: numbers.hash()),
            vector: ObjectRef(offset: 9000, length: 256, hash: numbers.hash()), header: numbers.hash(),
            digest: numbers.hash(), items: 10, forgotten: 2, pasts: 7, liveBytes: 60_000,
            own: .init(id: .max, revision: 77))
    }

    private static func read(_ bytes: [UInt8], at offset: UInt64 = own) throws(FormatError) -> Commit {
        try Commit(bytes.span, at: offset, from: bodyStart)
    }

    private func refusesCommit(
        _ phrase: String, at offset: UInt64 = own, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout Commit) -> Void
    ) {
        var commit = Self.sample()
        change(&commit)
        let bytes = commit.encode()
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try Self.read(bytes, at: offset)
        }
    }

    private func refusesBytes(_ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try Self.read(bytes)
        }
    }

    @Test("has a core of 368 bytes, and is read as it was written")
    func roundTrip() throws {
        var commit = Self.sample()
        for round in 0..<3 {
            let bytes = commit.encode()
            #expect(bytes.count == 368)
            #expect(try Self.read(bytes) == commit)
            if round == 0 {
                commit.root = nil
                commit.own = nil
                commit.wasSyncedFirst = true
            } else {
                commit.generation = 1
                commit.predecessor = nil
                commit.start = Self.bodyStart
                commit.floor = 0
            }
        }
        #expect(commit.end == Self.own + 512)
        #expect(Format.commitBodySize == 464 && Format.commitBodySize + Format.sealOverhead == Format.commitSize)
    }

    @Test("has one encoding: whatever changed bytes are accepted mean something else")
    func oneEncoding() {
        hasOneEncoding(Self.sample().encode(), seed: 3) { changed throws(FormatError) in try Self.read(changed).encode()
        }
        refusesTruncations(Self.sample().encode()) { bytes throws(FormatError) in _ = try Self.read(bytes) }
        refusesBytes(Self.sample().encode() + [0], "unexpected bytes remain")
    }

    @Test("is where it says, and starts where it could (R-5.22)")
    func place() throws {
        refusesCommit("own offset or start", at: Self.own + 512) { _ in }
        for start in [0, 512, 8192 - 512, 40_961, 40_960 + 256, Self.own + 512, 1 << 63, .max] as [UInt64] {
            refusesCommit("own offset or start") { $0.start = start }
        }
        var commit = Self.sample()
        commit.start = Self.own
        #expect(try Self.read(commit.encode()).start == Self.own)
    }

    @Test("finds its predecessor directly before its start, if that is in the file")
    func predecessorOffset() {
        var commit = Self.sample()
        #expect(commit.predecessorOffset(from: Self.bodyStart) == 40_960 - 512)
        commit.start = Self.bodyStart
        #expect(commit.predecessorOffset(from: Self.bodyStart) == nil)
    }

    @Test("has a generation from 1 to 2^63 − 1 that is greater than its predecessor's (R-5.21)")
    func generation() throws {
        for value in [0, 1 << 63, .max] as [UInt64] {
            refusesCommit("generation is out of range") { $0.generation = value }
        }
        for value in [5, 6, .max] as [UInt64] {
            refusesCommit("does not follow") { $0.predecessor = .init(generation: value, chain: .zero) }
        }
        refusesCommit("does not follow") { $0.predecessor = nil }
        refusesCommit("does not follow") { $0.predecessor = .init(generation: 0, chain: .zero) }
        refusesCommit("does not follow") { $0.generation = 1 }
        var commit = Self.sample()
        commit.generation = 1 << 63 - 1
        #expect(try Self.read(commit.encode()) == commit)
        commit.predecessor = .init(generation: 1 << 63 - 2, chain: .zero)
        #expect(try Self.read(commit.encode()) == commit)
    }

    @Test("of generation 1 has no predecessor, and starts the file (R-5.21)")
    func first() {
        refusesCommit("first generation has a predecessor") {
            $0.generation = 1
            $0.predecessor = .init(generation: 0, chain: Bytes32(words: (0, 0, 0, 1)))
        }
        refusesCommit("does not start the file") {
            $0.generation = 1
            $0.predecessor = nil
        }
    }

    @Test("names a root, a keyring and a vector that are in the file and end at or before it (R-2.3, R-5.22)")
    func references() {
        let hash = Bytes32(words: (1, 2, 3, 4))
        for (offset, length) in [
            (Self.own - 255, 256), (Self.own, 256), (8191, 256), (0, 256), (.max, 256), (1 << 63 - 1, 256),
        ]
            as [(UInt64, Int)]
        {
            let bad = ObjectRef(offset: offset, length: length, hash: hash)
            refusesCommit("page that does not end before it") { $0.root = .init(ref: bad, level: 0) }
            refusesCommit("keyring that does not end before it") { $0.keyring = bad }
            refusesCommit("vector that does not end before it") { $0.vector = bad }
        }
        for length in [0, 255, 257, 300] {
            let bad = ObjectRef(offset: 8192, length: length, hash: hash)
            refusesCommit("page of \(length) bytes") { $0.root = .init(ref: bad, level: 0) }
            refusesCommit("keyring of \(length) bytes") { $0.keyring = bad }
            refusesCommit("vector of \(length) bytes") { $0.vector = bad }
        }
        refusesCommit("page of 65792") {
            $0.root = .init(ref: ObjectRef(offset: 8192, length: 65_792, hash: hash), level: 0)
        }
        refusesCommit("vector of 4194560") { $0.vector = ObjectRef(offset: 8192, length: 4 << 20 + 256, hash: hash) }
        refusesCommit("keyring of 4194560") { $0.keyring = ObjectRef(offset: 8192, length: 4 << 20 + 256, hash: hash) }
        refusesCommit("has no keyring") { $0.keyring = .zero }
        refusesCommit("has no vector") { $0.vector = .zero }
        refusesCommit("level 16") { $0.root = .init(ref: ObjectRef(offset: 8192, length: 256, hash: hash), level: 16) }
        refusesCommit("empty tree has a level") {
            $0.root = .init(ref: ObjectRef(offset: 0, length: 0, hash: .zero), level: 1)
        }
        // All zero or not at all.
        refusesCommit("page of 0 bytes") { $0.root = .init(ref: ObjectRef(offset: 0, length: 0, hash: hash), level: 0) }
        refusesCommit("vector of 0 bytes") { $0.vector = ObjectRef(offset: 8192, length: 0, hash: .zero) }
    }

    @Test("counts no more than its file could hold (R-5.22)")
    func counts() throws {
        for value in [Self.own + 513, .max] as [UInt64] {
            refusesCommit("counts are larger") { $0.items = value }
            refusesCommit("counts are larger") { $0.forgotten = value }
            refusesCommit("counts are larger") { $0.liveBytes = value }
        }
        refusesCommit("counts are larger") { $0.pasts = 11 }
        var commit = Self.sample()
        let most = Self.own + 512
        (commit.items, commit.forgotten, commit.pasts, commit.liveBytes) = (most, most, most, most)
        #expect(try Self.read(commit.encode()) == commit)
    }

    @Test("has a clock from 1 to 2^63 − 1, and a floor that is not above it (R-5.38)")
    func clocks() throws {
        for value in [0, 1 << 63, .max] as [UInt64] { refusesCommit("clock is out of range") { $0.clock = value } }
        for value in [78, 1 << 63, .max] as [UInt64] {
            refusesCommit("floor is greater than its clock") { $0.floor = value }
        }
        var commit = Self.sample()
        (commit.clock, commit.floor, commit.own) = (1 << 63 - 1, 1 << 63 - 1, nil)
        #expect(try Self.read(commit.encode()) == commit)
    }

    @Test("has an own revision that is its clock, or neither an own id nor an own revision (R-5.38)")
    func own() throws {
        for (id, revision) in [(5, 76), (5, 78), (5, 0), (0, 77), (0, 1)] as [(UInt64, UInt64)] {
            refusesCommit("own revision does not match") { $0.own = .init(id: id, revision: revision) }
        }
        var commit = Self.sample()
        commit.own = nil
        #expect(try Self.read(commit.encode()) == commit)
    }

    @Test("without flag 1 starts at most 32,768 bytes before itself (R-5.23)")
    func small() throws {
        refusesCommit("too large") { $0.start = Self.own - 32_768 - 512 }
        var commit = Self.sample()
        commit.start = Self.own - 32_768
        #expect(try Self.read(commit.encode()).start == commit.start)
        commit.start = Self.bodyStart
        commit.wasSyncedFirst = true
        #expect(try Self.read(commit.encode()).start == commit.start)
    }

    @Test("has zeros where nothing is, and flags that are known (R-1.2)")
    func reserved() {
        let bytes = Self.sample().encode()
        for place in Array(84..<88) + Array(101..<104) + Array(148..<152) + Array(196..<200) + Array(344..<368) {
            for bit in 0..<8 { refusesBytes(patched(bytes, place, [1 << UInt8(bit)]), "not zero") }
        }
        for bit in 1..<32 { refusesBytes(patched(bytes, 80, u32(1 << UInt32(bit))), "unknown flags") }
    }

    @Test("starts at the least multiple of 512 that is not before what it appended")
    func padding() {
        for (offset, padded) in [(0, 0), (1, 512), (511, 512), (512, 512), (513, 1024), (1 << 48 - 1, 1 << 48)]
            as [(UInt64, UInt64)]
        {
            #expect(Padding.commitOffset(offset) == padded)
        }
    }
}
