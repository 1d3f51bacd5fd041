import Testing
import VaultBytes
import VaultStore

/// Sections 5.5, 7.2 and 7.3.
@Suite("A remembered state")
struct PastTests {
    private func anchor(_ anchor: AnchorPoint, generation: UInt64? = nil, chain: Bytes32? = nil, key: Bytes32? = nil)
        -> AnchorPoint
    {
        AnchorPoint(
            generation: generation ?? anchor.generation, chain: chain ?? anchor.chain,
            ownersPublicKey: key ?? anchor.ownersPublicKey)
    }

    @Test("is the same, older, an ancestor or none of them (R-7.6)")
    func verdicts() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        var anchors = [store.anchor]
        for mark in 1...5 as ClosedRange<UInt64> {
            try store.append(mark)
            anchors.append(store.anchor)
        }
        for opened in [store, try Lab.open(path)] {
            for (index, one) in anchors.enumerated() {
                #expect(try opened.verdict(on: one) == (index == 5 ? .same : .descends))
                let chain = Bytes32(words: (9, 9, 9, 9))
                #expect(try opened.verdict(on: anchor(one, chain: chain)) == .forked)
                #expect(try opened.verdict(on: anchor(one, generation: one.generation + 6)) == .older)
                #expect(try opened.verdict(on: anchor(one, key: chain)) == .foreign)
            }
        }
        // An older copy.
        let bytes = try contents(path)
        try write(Array(bytes[..<Int(8192 + 256 + 256 + 512)]), path)
        let old = try Lab.open(path)
        #expect(try old.verdict(on: anchors[0]) == .same)
        for one in anchors[1...] { #expect(try old.verdict(on: one) == .older) }
        // Another branch from there.
        try old.append(100)
        #expect(try old.verdict(on: anchors[0]) == .descends)
        #expect(try old.verdict(on: anchors[1]) == .forked)
        #expect(try old.verdict(on: anchors[2]) == .older)
    }

    @Test("is found in the history after any number of compactions")
    func compactions() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        var anchors = [store.anchor]
        for mark in 1...30 as ClosedRange<UInt64> {
            try store.append(mark)
            anchors.append(store.anchor)
            if mark % 7 == 0 {
                try store.compact()
                #expect(store.state.commit.predecessorOffset(from: store.header.bodyStart) == nil)
                anchors.append(store.anchor)
            }
        }
        let opened = try Lab.open(path)
        for one in anchors.dropLast() { #expect(try opened.verdict(on: one) == .descends) }
        #expect(try opened.verdict(on: #require(anchors.last)) == .same)
        for one in anchors { #expect(try opened.verdict(on: anchor(one, chain: .zero)) == .forked) }
    }

    @Test("that a history leaves out is unprovable, and its floor says so (R-5.17)")
    func floor() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        let first = store.anchor
        try store.append(1)
        let second = store.anchor
        // As after 1,364 others.
        let ancestors = (3...1366).map { Ancestor(generation: $0, clock: 1, chain: Bytes32(words: ($0, 0, 0, 0))) }
        let known = History(floor: 1, ancestors: ancestors.dropLast() + [], newest: 0)
        let merged = History.folded(
            floor: known.floor, known.ancestors,
            with: [
                Ancestor(generation: 1, clock: 1, chain: first.chain),
                Ancestor(generation: 2, clock: 1, chain: second.chain),
            ])
        #expect(merged.ancestors.count == 1364 && merged.floor == 4 && merged.newest == 2)
        try store.append(2, history: History(floor: 3, ancestors: [], newest: 0), generation: 2000)
        // The walk over the file still finds them; what is in neither is below the floor.
        #expect(try store.verdict(on: first) == .descends)
        #expect(try store.verdict(on: anchor(first, chain: .zero)) == .unprovable)
        #expect(try store.verdict(on: anchor(second, chain: .zero)) == .unprovable)
        #expect(try store.verdict(on: anchor(second, generation: 3)) == .forked)
    }

    @Test("is an ancestor too if another branch was merged that had it (R-5.17)")
    func merged() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        let theirs = (2...5).map { Ancestor(generation: $0, clock: $0, chain: Bytes32(words: ($0, 1, 1, 1))) }
        try store.append(1, history: History(floor: 1, ancestors: theirs, newest: 4), generation: 9)
        for one in theirs {
            let remembered = AnchorPoint(
                generation: one.generation, chain: one.chain, ownersPublicKey: store.ownersPublicKey)
            #expect(try store.verdict(on: remembered) == .descends)
            #expect(try store.verdict(on: anchor(remembered, generation: one.generation + 4)) == .forked)
        }
        try store.compact()
        let history = try #require(try store.past.history(of: store.state))
        // In the order in which they became ancestors: the branch came with the commit that merged it, which is the
        // compaction's predecessor.
        #expect(history.ancestors.map(\.generation) == [1, 2, 3, 4, 5, 9])
        #expect(history.newest == 1)
    }

    @Test("before a damaged commit is told from the history, or not at all")
    func damagedPast() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        var anchors = [store.anchor]
        var ends = [try contents(path).count]
        for mark in 1...4 as ClosedRange<UInt64> {
            try store.append(mark)
            anchors.append(store.anchor)
            ends.append(try contents(path).count)
        }
        var bytes = try contents(path)
        bytes[ends[2] - 200] ^= 1
        try write(bytes, path)
        let opened = try Lab.open(path)
        #expect(try opened.verdict(on: anchors[4]) == .same)
        #expect(try opened.verdict(on: anchors[3]) == .descends)
        for one in anchors[...2] {
            fails(.authenticationFailed, "earlier commit is damaged") { _ = try opened.verdict(on: one) }
        }
        // Passed already: that generation had another chain value.
        #expect(try opened.verdict(on: anchor(anchors[3], chain: .zero)) == .forked)
        // The newest one too, whatever is before it: no walk is needed.
        bytes[ends[3] - 200] ^= 1
        let all = try contents(path)
        try write(bytes, path)
        #expect(try Lab.open(path).verdict(on: anchor(anchors[4], chain: .zero)) == .forked)
        try write(all, path)
        // A compaction leaves out what it cannot read, and its floor says so.
        try opened.compact()
        #expect(try opened.verdict(on: anchors[3]) == .descends)
        #expect(try opened.verdict(on: anchors[1]) == .unprovable)
    }

    @Test("of older owners is led to by hand-overs that are valid, in order, and ancestors (R-7.8)")
    func handOvers() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        var anchors: [AnchorPoint] = []
        for (round, key) in ([8, 9, 10] as [UInt8]).enumerated() {
            try store.append(UInt64(round))
            anchors.append(store.anchor)
            try store.compact(vaultKey: key, epoch: Bytes32(words: (UInt64(key), 0, 0, 0)), handOver: true)
            anchors.append(store.anchor)
        }
        let opened = try Lab.open(path)
        #expect(Set(anchors.map(\.ownersPublicKey)).count == 4)
        for one in anchors.dropLast() { #expect(try opened.verdict(on: one) == .descends) }
        // A state that the older key signed after it had handed over.
        for one in anchors.dropLast() {
            #expect(try opened.verdict(on: anchor(one, chain: .zero)) == .foreign)
            #expect(try opened.verdict(on: anchor(one, generation: one.generation + 1)) == .foreign)
        }
        // Each of them must be valid, and none may be missing.
        let ring = opened.keyring
        func verdict(_ change: (inout Keyring) -> Void) throws -> Ancestry {
            var changed = ring
            change(&changed)
            return try opened.past.verdict(
                on: anchors[0], state: opened.state, keyring: changed, ownersPublicKey: opened.ownersPublicKey)
        }
        #expect(try verdict { _ in } == .descends)
        for index in ring.handOvers.indices {
            #expect(try verdict { $0.handOvers.remove(at: index) } == .foreign)
            #expect(
                try verdict { ring in
                    let old = ring.handOvers[index]
                    ring.handOvers[index] = HandOver(
                        publicKey: old.publicKey, generation: old.generation, chain: old.chain,
                        signature: [UInt8](repeating: 0, count: 64))
                } == .foreign)
        }
        #expect(try verdict { $0.handOvers.swapAt(1, 2) } == .foreign)
        #expect(try verdict { $0.handOvers = [] } == .foreign)
    }

    @Test("whose hand-over's state can no longer be shown is unprovable, not foreign (R-7.8)")
    func handOverBelowFloor() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        try store.append(1)
        let old = store.anchor
        try store.compact(vaultKey: 8, handOver: true)
        let history = try #require(try store.past.history(of: store.state))
        #expect(history.ancestors.map(\.generation) == [1, 2])
        // As after many more compactions; the commit before is still in the file.
        try store.append(2, history: History(floor: 3, ancestors: [], newest: 0))
        #expect(try store.verdict(on: old) == .unprovable)
    }

    @Test("is compared with a history only if that names the commit's predecessor (R-5.16)")
    func predecessorMissing() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        try store.append(1)
        let old = store.anchor
        try store.compact()
        let bytes = try contents(path)
        // A commit that starts the file, with another predecessor than its history has.
        var commit = store.state.commit
        commit.predecessor = .init(generation: 2, chain: .zero)
        try write(Array(bytes.dropLast(512)) + Forger.seal(commit, store, owner: Lab.vaultKey), path)
        let opened = try Lab.open(path)
        fails(.structureInvalid, "history lacks the predecessor") { _ = try opened.verdict(on: old) }
        commit.history = nil
        try write(Array(bytes.dropLast(512)) + Forger.seal(commit, store, owner: Lab.vaultKey), path)
        fails(.structureInvalid, "does not refer to a history") { _ = try Lab.open(path).verdict(on: old) }
    }
}

@Suite("A history for a new file")
struct HistoryMergingTests {
    private func ancestor(_ generation: UInt64) -> Ancestor {
        Ancestor(generation: generation, clock: generation, chain: Bytes32(words: (generation, 0, 0, 0)))
    }

    @Test("keeps the order in which states became ancestors, each once")
    func order() {
        let old = History(floor: 1, ancestors: [1, 5, 2].map(ancestor), newest: 1)
        let new = History.folded(floor: old.floor, old.ancestors, with: [5, 6, 2, 7].map(ancestor))
        #expect(new.ancestors == [1, 5, 2, 6, 7].map(ancestor))
        #expect(new.newest == 2 && new.floor == 1)
        #expect(History.folded(floor: 1, [], with: []) == History(floor: 1, ancestors: [], newest: 0))
    }

    @Test("keeps the newest 1,364, and a floor above all that it leaves out")
    func limits() {
        let all = (1...3000).map { ancestor(UInt64($0)) }
        let new = History.folded(floor: 1, [], with: all)
        #expect(new.ancestors == Array(all.suffix(1364)))
        #expect(new.floor == 3000 - 1364 + 1 && new.newest == 1364)
        // Of a merged branch the greatest generation counts, wherever it is in the order.
        let branch = History(floor: 7, ancestors: [ancestor(9000)] + all.prefix(1363), newest: 3)
        #expect(History.folded(floor: branch.floor, branch.ancestors, with: [ancestor(9001)]).floor == 9001)
        #expect(History.folded(floor: 20, branch.ancestors, with: []).floor == 20)
        #expect(History.folded(floor: branch.floor, branch.ancestors, with: []).floor == 7)
    }
}
