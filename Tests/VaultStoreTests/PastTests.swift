import Testing
import VaultBytes
import VaultStore

/// Sections 7.2 and 7.3.
@Suite("A remembered state")
struct PastTests {
    private func anchor(
        _ anchor: AnchorPoint, chain: Bytes32? = nil, key: Bytes32? = nil, vector: Vector? = nil
    ) -> AnchorPoint {
        AnchorPoint(
            ownersPublicKey: key ?? anchor.ownersPublicKey, generation: anchor.generation,
            chain: chain ?? anchor.chain, vector: vector ?? anchor.vector)
    }

    /// Two copies of a vault on two machines, each with changes of its own; and the anchors of all their states.
    private struct Copies {
        let first: Store
        let second: Store
        let common: AnchorPoint
        let firsts: [AnchorPoint]
        let seconds: [AnchorPoint]

        init(_ folder: Folder) throws {
            let (path, copy) = (folder.file("a.vault"), folder.file("b.vault"))
            first = try Lab.create(path, place: Lab.machine())
            try first.append(1)
            common = try first.anchor
            try write(contents(path), copy)
            second = try Lab.open(copy, place: Lab.machine())
            func more(_ store: Store, _ marks: ClosedRange<UInt64>) throws -> [AnchorPoint] {
                try marks.map {
                    try store.append($0)
                    return try store.anchor
                }
            }
            firsts = try more(first, 10...12)
            seconds = try more(second, 20...23)
        }
    }

    @Test("is the same, older, descends or has forked, by what each side has seen (R-7.6)")
    func verdicts() throws {
        let copies = try Copies(Folder())
        for (store, own, others) in [
            (copies.first, copies.firsts, copies.seconds), (copies.second, copies.seconds, copies.firsts),
        ] {
            #expect(try store.verdict(on: #require(own.last)) == .same)
            for one in own.dropLast() + [copies.common] { #expect(try store.verdict(on: one) == .descends) }
            for one in others { #expect(try store.verdict(on: one) == .forked) }
            // Whoever has seen more than the state is newer than it.
            var joined = try store.vector()
            joined.include(77, joined.clock + 1)
            let later = anchor(copies.common, vector: joined)
            #expect(try store.verdict(on: later) == .older)
            // Equal rows are the same state, whatever its file and the order of its rows.
            let turned = try #require(Vector(floor: 0, rows: store.vector().rows.reversed()))
            let equal = anchor(copies.common, chain: .zero, vector: turned)
            #expect(try store.verdict(on: equal) == .same)
            // Equal chain values are, whatever is said of the rows.
            #expect(try store.verdict(on: anchor(store.anchor, vector: Vector())) == .same)
            #expect(try store.verdict(on: anchor(copies.common, key: Bytes32(words: (9, 9, 9, 9)))) == .foreign)
        }
    }

    @Test("descends to any merge of its branch, and two merges of the same states are the same (R-7.6)")
    func merges() throws {
        let folder = try Folder()
        let copies = try Copies(folder)
        let (ours, theirs) = try (copies.first.vector(), copies.second.vector())
        try copies.first.append(30, joining: [theirs], isChange: false)
        try copies.second.append(30, joining: [ours], isChange: false)
        for store in [copies.first, copies.second] {
            #expect(store.state.commit.own == nil)
            for one in copies.firsts + copies.seconds + [copies.common] {
                #expect(try store.verdict(on: one) == .descends)
            }
        }
        #expect(try copies.first.verdict(on: copies.second.anchor) == .same)
        // A copy that fell behind by any number of commits comes back.
        for mark in 31...60 as ClosedRange<UInt64> { try copies.first.append(mark) }
        try copies.first.compact()
        for one in copies.firsts + copies.seconds + [copies.common] {
            #expect(try Lab.open(folder.file("a.vault")).verdict(on: one) == .descends)
        }
    }

    @Test("with a damaged vector is compared by its chain value only, and served (R-5.37)")
    func damagedVector() throws {
        let folder = try Folder()
        let copies = try Copies(folder)
        let path = folder.file("a.vault")
        var bytes = try contents(path)
        bytes[Int(copies.first.state.commit.vector.offset) + 100] ^= 1
        try write(bytes, path)
        let opened = try Lab.open(path)
        #expect(Lab.mark(opened) == 12)
        #expect(try opened.verdict(on: #require(copies.firsts.last)) == .same)
        for one in copies.firsts.dropLast() + copies.seconds {
            fails(.authenticationFailed, "a vector") { _ = try opened.verdict(on: one) }
        }
        #expect(try opened.verdict(on: anchor(copies.common, key: .zero)) == .foreign)
        fails(.authenticationFailed, "a vector") { try opened.append(13) }
        #expect(try contents(path) == bytes)
    }

    @Test("of older owners is led to by hand-overs, and covered by those from its own key (R-7.6, R-7.8)")
    func handOvers() throws {
        let folder = try Folder()
        let copies = try Copies(folder)
        let store = copies.first
        var anchors = copies.firsts + [copies.common]
        for (round, key) in ([8, 9, 10] as [UInt8]).enumerated() {
            try store.append(UInt64(round) + 40)
            anchors.append(try store.anchor)
            try store.compact(vaultKey: key, handOver: true, restart: round == 1)
            anchors.append(try store.anchor)
        }
        let opened = try Lab.open(folder.file("a.vault"))
        #expect(Set(anchors.map(\.ownersPublicKey)).count == 4)
        #expect(opened.keyring.handOvers.count == 3)
        for one in anchors.dropLast() { #expect(try opened.verdict(on: one) == .descends) }
        #expect(try opened.verdict(on: #require(anchors.last)) == .same)
        // Nothing was handed over of the other copy's own changes, nor of what the old key made afterwards.
        for one in copies.seconds { #expect(try opened.verdict(on: one) == .forked) }
        for one in anchors.dropLast() {
            var vector = one.vector
            vector.include(77, 1 << 62)
            #expect(try opened.verdict(on: anchor(one, vector: vector)) == .forked)
        }
        // The newest of our own state.
        #expect(try opened.verdict(on: anchor(store.anchor, key: .zero)) == .foreign)
    }

    @Test("of older owners is foreign if a hand-over on the way is missing or has an invalid signature (R-7.8)")
    func brokenHandOvers() throws {
        let folder = try Folder()
        let store = try Lab.create(folder.file("a.vault"))
        let first = try store.anchor
        for key in [8, 9, 10] as [UInt8] { try store.compact(vaultKey: key, handOver: true) }
        func verdict(_ change: (inout Keyring) -> Void) throws -> Ancestry {
            var ring = store.keyring
            change(&ring)
            var handOvers = HandOvers(ring, of: store.state.commit, store.pages, current: store.ownersPublicKey)
            return try handOvers.verdict(on: first)
        }
        #expect(try verdict { _ in } == .descends)
        #expect(try verdict { $0.handOvers.reverse() } == .descends)
        #expect(try verdict { $0.handOvers = [] } == .foreign)
        for index in store.keyring.handOvers.indices {
            #expect(try verdict { $0.handOvers.remove(at: index) } == .foreign)
            let old = store.keyring.handOvers[index]
            func changed(
                next: Bytes32? = nil, floor: UInt64? = nil, vector: ObjectRef? = nil, signature: [UInt8]? = nil
            ) -> HandOver {
                HandOver(
                    publicKey: old.publicKey, next: next ?? old.next, vector: vector ?? old.vector,
                    floor: floor ?? old.floor, signature: signature ?? old.signature)
            }
            let zeros = [UInt8](repeating: 0, count: 64)
            let other = store.keyring.handOvers[(index + 1) % 3].vector
            for bad in [changed(signature: zeros), changed(next: .zero)] {
                #expect(try verdict { $0.handOvers[index] = bad } == .foreign)
            }
            // A vector of which the signature is not, and one that is not there.
            #expect(try verdict { $0.handOvers[index] = changed(vector: other) } == .foreign)
            fails(.structureInvalid, "does not end before it") {
                _ = try verdict {
                    $0.handOvers[index] = changed(vector: ObjectRef(offset: 1 << 40, length: 256, hash: .zero))
                }
            }
            fails(.authenticationFailed, "a vector") {
                _ = try verdict {
                    $0.handOvers[index] = changed(
                        vector: ObjectRef(offset: old.vector.offset, length: 256, hash: .zero))
                }
            }
        }
    }

    @Test("is led to by any of several hand-overs, and its rows may be covered by several of them (R-7.6)")
    func several() throws {
        let folder = try Folder()
        let copies = try Copies(folder)
        let store = copies.first
        let theirs = try copies.second.vector()
        try store.compact(vaultKey: 8, handOver: true)
        // Taking in the branch hands over its vector too.
        try store.beginWriting(wait: 0)
        let appender = try store.makeAppender()
        let next = try store.nextVector()
        _ = try next.tick()
        var ring = store.keyring
        let ref = try store.append(theirs, to: appender)
        ring.handOvers.append(
            HandOver.make(
                Lab.owner().signing(), vault: store.vault, vector: theirs, stored: ref, next: store.ownersPublicKey))
        ring.handOvers.sort(by: HandOver.precedes)
        let body = try ring.encode()
        var commit = store.state.successor
        commit.keyring = try appender.append(body, as: .keyring, .keyring, key: store.slot.keys.index)
        commit.liveBytes += UInt64(commit.keyring.length) - UInt64(store.state.commit.keyring.length)
        let before = store.state.commit
        try store.commit(appender, commit, next, keyring: ring)
        store.endWriting()
        let growth = Int64(store.state.commit.liveBytes) - Int64(before.liveBytes)
        #expect(growth == Int64(ref.length + commit.keyring.length - before.keyring.length))
        let opened = try Lab.open(folder.file("a.vault"))
        for one in copies.firsts + copies.seconds { #expect(try opened.verdict(on: one) == .descends) }
        var both = try #require(copies.firsts.last).vector
        both.join(theirs)
        #expect(try opened.verdict(on: anchor(copies.common, vector: both)) == .descends)
        #expect(try opened.watched.handOverVectors().count == 2)
        both.include(5, 1)
        #expect(try opened.verdict(on: anchor(copies.common, vector: both)) == .forked)
    }

    @Test("is continued by a file that includes it and what another program remembers")
    func continued() throws {
        let folder = try Folder()
        let copies = try Copies(folder)
        let reader = try Lab.open(folder.file("a.vault"), writable: false)
        let watched = reader.watched
        try copies.first.append(13)
        #expect(try watched.isContinued(by: copies.first.anchor))
        #expect(try watched.isContinued(by: copies.firsts[0]))
        #expect(try !watched.isContinued(by: copies.seconds[0]))
    }

    @Test("has the commits before it, as far as the file has them and they are whole")
    func states() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        var states = [store.state]
        for mark in 1...4 as ClosedRange<UInt64> {
            try store.append(mark)
            states.append(store.state)
        }
        #expect(try store.past.states(before: store.state) == states.dropLast().reversed())
        #expect(try store.past.states(before: store.state, most: 2) == [states[3], states[2]])
        #expect(try store.past.states(before: store.state) { $0.generation > 3 } == [states[3]])
        for one in states.dropLast() {
            let found = try store.past.state(
                generation: one.commit.generation, chain: one.chain, before: store.state)
            #expect(found == one)
            #expect(
                try store.past.state(generation: one.commit.generation, chain: .zero, before: store.state) == nil)
        }
        var bytes = try contents(path)
        bytes[Int(states[2].commit.offset) + 300] ^= 1
        try write(bytes, path)
        let opened = try Lab.open(path)
        fails(.authenticationFailed, "earlier commit is damaged") {
            _ = try opened.past.states(before: opened.state)
        }
        #expect(try opened.past.states(before: opened.state, most: 1) == [states[3]])
        #expect(
            try opened.past.state(generation: 1, chain: states[0].chain, before: opened.state) == nil)
        try store.compact()
        #expect(try store.past.states(before: store.state).isEmpty)
    }
}
