import Testing
import VaultBytes

@Suite("A commit")
struct CommitTests {
    static let own: UInt64 = 1 << 16

    static func sample() -> Commit {
        var numbers = Numbers(1)
        return Commit(
            generation: 5, offset: own, start: 40_000, previous: 40_000 - 448, clock: 77, wasSyncedFirst: true,
            root: .init(ref: ObjectRef(offset: 50_000, length: 2048, hash: numbers.hash()), level: 2),
            keyring: ObjectRef(offset: 8192, length: 512, hash: numbers.hash()),
            history: ObjectRef(offset: 9000, length: 256, hash: numbers.hash()), header: numbers.hash(), previousChain: numbers.hash(),
            digest: numbers.hash(), items: 10, tombstones: 2, liveBytes: 60_000)
    }

    private func refusesCommit(
        _ phrase: String, _ code: FormatError.Code = .structureInvalid, at offset: UInt64 = own,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout Commit) -> Void
    ) {
        var commit = Self.sample()
        change(&commit)
        let bytes = commit.encode()
        refuses(code, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in _ = try Commit(bytes.span, at: offset) }
    }

    @Test("has 336 bytes, and is read as it was written")
    func roundTrip() throws {
        var commit = Self.sample()
        for _ in 0..<2 {
            let bytes = commit.encode()
            #expect(bytes.count == 336)
            #expect(try Commit(bytes.span, at: Self.own) == commit)
            commit.root = nil
            commit.history = nil
            commit.wasSyncedFirst = false
        }
    }

    @Test("has one encoding: whatever changed bytes are accepted mean something else")
    func oneEncoding() {
        hasOneEncoding(Self.sample().encode(), seed: 3) { changed throws(FormatError) in try Commit(changed.span, at: Self.own).encode() }
    }

    @Test("is where it says, and starts where it could (R-5.10)")
    func place() {
        refusesCommit("own offset or start", at: Self.own + 64) { _ in }
        refusesCommit("own offset or start") { $0.start = Self.own + 1 }
        refusesCommit("own offset or start") { $0.start = 4095 }
        refusesCommit("own offset or start") { $0.start = .max }
    }

    @Test("begins where its predecessor ends, if that is in the file (R-5.10)")
    func previous() throws {
        for previous in [1, 4095, 40_000 - 447, 40_000 - 449, 4096, 40_001, .max] as [UInt64] {
            refusesCommit("where its predecessor ends") { $0.previous = previous }
        }
        var commit = Self.sample()
        for previous in [0, 40_000 - 448] as [UInt64] {
            commit.previous = previous
            #expect(try Commit(commit.encode().span, at: Self.own).previous == previous)
        }
    }

    @Test("of generation 1 has no predecessor")
    func first() {
        refusesCommit("first generation has a predecessor") { $0.generation = 1 }
        refusesCommit("first generation has a predecessor") {
            $0.generation = 1
            $0.previousChain = .zero
        }
    }

    @Test("has a generation from 1 to 2^63 - 1")
    func generation() {
        refusesCommit("generation 0") { $0.generation = 0 }
        for value in [1 << 63, .max] as [UInt64] { refusesCommit("generation \(value)", .limitExceeded) { $0.generation = value } }
    }

    @Test("names a root, a keyring and a history that end at or before it (R-5.10)")
    func references() {
        let hash = Bytes32(words: (1, 2, 3, 4))
        for (offset, length) in [(Self.own - 255, 256), (Self.own, 256), (4095, 256), (0, 256), (8192, 0), (8192, 257), (.max, 256)]
            as [(UInt64, Int)]
        {
            let bad = ObjectRef(offset: offset, length: length, hash: hash)
            refusesCommit("page is not before") { $0.root = .init(ref: bad, level: 0) }
            refusesCommit("keyring is not before") { $0.keyring = bad }
            refusesCommit("history is not before") { $0.history = bad }
        }
        refusesCommit("a page of 65792 bytes", .limitExceeded) {
            $0.root = .init(ref: ObjectRef(offset: 4096, length: 65_792, hash: hash), level: 0)
        }
        refusesCommit("a keyring of", .limitExceeded) { $0.keyring = ObjectRef(offset: 4096, length: 8 << 20, hash: hash) }
        refusesCommit("a history of 4352 bytes", .limitExceeded) { $0.history = ObjectRef(offset: 4096, length: 4352, hash: hash) }
        refusesCommit("without a keyring") { $0.keyring = ObjectRef(offset: 0, length: 0, hash: .zero) }
        refusesCommit("level 16", .limitExceeded) { $0.root = .init(ref: ObjectRef(offset: 4096, length: 256, hash: hash), level: 16) }
        refusesCommit("empty tree has a level") { $0.root = .init(ref: ObjectRef(offset: 0, length: 0, hash: .zero), level: 1) }
    }

    @Test("counts no more than its file could hold")
    func counts() {
        refusesCommit("counts more") { $0.items = .max }
        refusesCommit("counts more") { $0.tombstones = Self.own + 449 }
        refusesCommit("counts more") { $0.liveBytes = Self.own + 449 }
    }

    @Test("has zeros where nothing is, and flags that are known (R-1.2)")
    func reserved() {
        let bytes = Self.sample().encode()
        for place in [44, 47, 109, 111, 156, 159, 204, 312, 335] {
            guard bytes[place] == 0 else { continue }
            let bad = patched(bytes, place, [1])
            refuses(.structureInvalid, "") { () throws(FormatError) in _ = try Commit(bad.span, at: Self.own) }
        }
        for flags in [2, 3, 1 << 31] as [UInt32] {
            let bad = patched(bytes, 40, u32(flags))
            refuses(.structureInvalid, "unknown flags") { () throws(FormatError) in _ = try Commit(bad.span, at: Self.own) }
        }
        for bad in [Array(bytes.dropLast()), bytes + [0], []] {
            refuses(.structureInvalid, "") { () throws(FormatError) in _ = try Commit(bad.span, at: Self.own) }
        }
    }
}
