import Testing
import VaultBytes
import VaultCrypto
import VaultStore

/// Section 5.5: which frame a commit refers to, and whose id it names.
@Suite("The vector of a vault")
struct VectorStoreTests {
    /// Whether the live bytes are header, copy, commit, keyring, and each frame of vectors once.
    private func isCounted(_ store: Store) throws -> Bool {
        let commit = store.state.commit
        return try commit.liveBytes == 2 * UInt64(store.header.length) + 512 + UInt64(commit.keyring.length)
            + store.vectorBytes()
    }

    @Test("is not written anew by a writer that goes on under its id (R-5.36)")
    func usual() throws {
        let folder = try Folder()
        let store = try Lab.create(folder.file("a.vault"))
        let first = store.state.commit
        #expect(first.own?.revision == first.clock && first.floor == 0)
        #expect(try store.vector().rows.map(\.id) == [try #require(first.own).id])
        for mark in 1...20 as ClosedRange<UInt64> {
            let before = store.state.commit
            try store.append(mark)
            let commit = store.state.commit
            #expect(commit.vector == first.vector && commit.own?.id == first.own?.id)
            #expect(commit.own?.revision == commit.clock && commit.clock > before.clock)
            #expect(try store.vector().clock == commit.clock)
            // What it appended is a keyring.
            #expect(commit.offset - commit.start == 512)
            #expect(try isCounted(store))
        }
        #expect(try Lab.open(folder.file("a.vault")).vector() == store.vector())
    }

    @Test("is written anew by the first change under another id, and by nothing else until the next one")
    func others() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        try Lab.create(path)
        var refs: [ObjectRef] = []
        for round in 0..<3 as Range<UInt64> {
            for (machine, place) in [Lab.machine(), Lab.machine()].enumerated() {
                let store = try Lab.open(path, place: place)
                for mark in 1...3 as ClosedRange<UInt64> {
                    try store.append(round * 10 + UInt64(machine) * 100 + mark)
                    refs.append(store.state.commit.vector)
                    #expect(try isCounted(store))
                }
                #expect(try store.vector().rows.count == Int(round) * 2 + machine + 2)
            }
        }
        #expect(refs.enumerated().allSatisfy { $0.offset % 3 == 0 || $0.element == refs[$0.offset - 1] })
        #expect(Set(refs.map(\.offset)).count == 6)
    }

    @Test("has a base as long as that makes it shorter and at most 64 rows differ, and is whole otherwise (R-5.34)")
    func bases() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        try Lab.create(path)
        var wholes = 0
        for mark in 1...150 as ClosedRange<UInt64> {
            let store = try Lab.open(path, place: Lab.machine())
            try store.append(mark)
            let stored = try store.pages.vector(of: store.state.commit)
            if stored.frames.count == 1 { wholes += 1 }
            #expect(stored.frames.count == 1 || stored.frames[0].length <= 1280)
            #expect(try store.vector().rows.count == Int(mark) + 1)
            #expect(try isCounted(store))
            #expect(try Lab.open(path, writable: false).vector() == store.vector())
        }
        // The first twelve ids fit into the least frame; then a base has room for 64 more.
        #expect(wholes < 20)
    }

    @Test("of a merge or a compaction names no writer, and the next change under a known id needs no frame")
    func merges() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        try store.append(1)
        let clock = store.state.commit.clock
        let rows = try #require(Vector(floor: 0, rows: [Vector.Row(7, clock + 9), Vector.Row(8, 3, isSplit: true)]))
        try store.append(2, joining: [rows], isChange: false)
        let merged = store.state.commit
        #expect(merged.own == nil && merged.clock == clock + 9)
        #expect(try store.vector().rows.count == 3 && store.vector().isSplit(8) && isCounted(store))
        try store.append(3)
        #expect(store.state.commit.vector == merged.vector && store.state.commit.own != nil)
        try store.compact()
        let compacted = store.state.commit
        #expect(compacted.own == nil && compacted.vector != merged.vector)
        #expect(try isCounted(store))
        try store.append(4)
        #expect(store.state.commit.vector == compacted.vector)
        #expect(try store.vector().rows.map(\.id).dropFirst() == [7, 8])
        #expect(try isCounted(store))
    }

    @Test("begins again with a rotation that restarts it: a floor below the rotation's own revision (R-7.25)")
    func restart() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        try store.append(1)
        let before = store.state.commit
        try store.compact(vaultKey: 9, handOver: true, restart: true)
        let commit = store.state.commit
        #expect(commit.floor == commit.clock - 1 && commit.floor >= before.clock)
        #expect(try store.vector().rows == [Vector.Row(#require(commit.own).id, commit.clock)])
        #expect(try isCounted(store))
        try store.append(2)
        #expect(store.state.commit.floor == commit.floor && store.state.commit.vector == commit.vector)
        #expect(try Lab.open(path).vector() == store.vector())
        #expect(try isCounted(store))
    }

    @Test("of a commit with fewer live bytes than its frames take is no crash: the next header is refused")
    func liveBytes() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        try store.append(1) {
            $0.extensions = [Extension(name: "x", isCritical: false, value: [UInt8](repeating: 1, count: 900))]
        }
        let bytes = try contents(path)
        var bad = Forger.successor(of: store)
        bad.liveBytes = 100
        let file = bytes + Forger.seal(bad, store, owner: Lab.vaultKey)
        try write(file, path)
        let opened = try Lab.open(path)
        try opened.beginWriting(wait: 0)
        let next = try opened.nextVector()
        _ = try next.tick()
        var ring = opened.keyring
        ring.extensions = []
        fails(.structureInvalid, "count of live bytes is wrong") {
            let keys = VaultKeys(vaultKey: Secret(repeating: Lab.vaultKey), epoch: Lab.epoch)
            try opened.replaceHeader(
                .init(
                    header: opened.header, keys: keys, wrappingKey: opened.slot.wrappingKey.copy(),
                    slotID: opened.slot.id), keyring: ring, next)
        }
        opened.endWriting()
        #expect(try contents(path) == file)
        #expect(try folder.names == ["a.vault"])
    }

    @Test("is that of the commit: its clock is the greatest row, and its own id is in it and not split (R-5.35)")
    func checks() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        try store.append(1, joining: [try #require(Vector(floor: 0, rows: [Vector.Row(7, 9, isSplit: true)]))])
        let bytes = try contents(path)
        let next = Forger.successor(of: store)
        let own = try #require(next.own)
        for (change, phrase) in [
            ({ ($0.clock, $0.own) = ($0.clock + 1, nil) }, "clock differs from its vector's clock"),
            ({ $0.own = .init(id: 6, revision: $0.clock) }, "own id is not in its vector"),
            ({ $0.own = .init(id: 7, revision: $0.clock) }, "own id is not in its vector"),
            ({ $0.floor = $0.clock }, "not above the floor"),
        ] as [((inout Commit) -> Void, String)] {
            var bad = next
            change(&bad)
            try write(bytes + Forger.seal(bad, store, owner: Lab.vaultKey), path)
            let opened = try? Lab.open(path)
            guard let opened else { continue }
            fails(.structureInvalid, phrase) { _ = try opened.vector() }
            fails(.structureInvalid, phrase) { try opened.append(5) }
        }
        var good = next
        (good.clock, good.own) = (next.clock + 5, .init(id: own.id, revision: next.clock + 5))
        try write(bytes + Forger.seal(good, store, owner: Lab.vaultKey), path)
        #expect(try Lab.open(path).vector().row(of: own.id)?.revision == next.clock + 5)
    }
}

@Suite("A keyring of a state")
struct StateKeyringTests {
    /// Opens a vault whose newest keyring is another one.
    private func open(_ change: (inout Keyring) -> Void) throws -> Store {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        var ring = store.keyring
        change(&ring)
        try store.beginWriting(wait: 0)
        let appender = try store.makeAppender()
        let next = try store.nextVector()
        _ = try next.tick()
        var commit = store.state.successor
        commit.keyring = try appender.append(ring.encode(), as: .keyring, .keyring, key: store.slot.keys.index)
        try store.commit(appender, commit, next, keyring: ring)
        store.endWriting()
        return try Lab.open(path)
    }

    @Test("has exactly the header's slots, and no grants of those that open everything (R-5.31)")
    func slots() throws {
        _ = try open { _ in }
        let dot = StoredDot(1, 1)
        for change in [
            { $0.slots.append(.init(id: Bytes16(high: .max, low: .max), made: dot, changed: dot)) },
            { $0.slots[0] = .init(id: .zero, made: dot, changed: dot) },
        ] as [(inout Keyring) -> Void] {
            fails(.structureInvalid, "not those in the header") { _ = try open(change) }
        }
        fails(.structureInvalid, "opens everything is granted") {
            _ = try open { ring in
                ring.groups = [.init(number: 5, name: "", wrapped: [UInt8](repeating: 1, count: 72))]
                ring.slots[0].grants = [.init(group: 5, dot: dot)]
            }
        }
    }

    @Test("has dots that are not after the clock, in their one encoding (R-1.10, R-6.8), and that were seen (R-6.7)")
    func dots() throws {
        for dot in [StoredDot(1 << 62, 1), StoredDot(1, 0)] {
            fails(.structureInvalid, "later than the vault's clock") { _ = try open { $0.keeping.dot = dot } }
            fails(.structureInvalid, "later than the vault's clock") { _ = try open { $0.vaultKey = dot } }
        }
        // Whether they were seen, only the vector shows: the state is served, and not changed.
        let opened = try open { $0.keeping.dot = StoredDot(1, 2) }
        fails(.structureInvalid, "does not include") { _ = try opened.nextVector() }
        fails(.structureInvalid, "does not include") { _ = try opened.watched.point() }
    }
}
