import Synchronization
import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

/// Section 7.5.
@Suite("The ids that a process has used")
struct ReplicaTests {
    private let vault = Bytes16(high: 4, low: 4)

    private func vector(_ rows: Vector.Row...) throws -> Vector { try #require(Vector(floor: 0, rows: rows)) }

    @Test("are continued from exactly their last own revision, and from nothing else (R-7.19)")
    func continuing() throws {
        let memory = ProcessReplicas()
        let first = memory.claim(vault, Vector())
        #expect(first.id != 0 && first.greatest == 0 && first.split.isEmpty)
        memory.note(first, revision: 50)
        let again = try memory.claim(vault, vector(.init(first.id, 50), .init(9, 99)))
        #expect(again.id == first.id && again.greatest == 50)
        memory.note(again, revision: 60)
        // A copy of the file from before, one that never had the id, another vault.
        for state in try [vector(.init(first.id, 50)), vector(.init(9, 60)), Vector()] {
            let other = memory.claim(vault, state)
            #expect(other.id != first.id && other.greatest == 60)
            memory.release(other)
        }
        #expect(try memory.claim(Bytes16(high: 5, low: 5), vector(.init(first.id, 60))).id != first.id)
        #expect(try memory.claim(vault, vector(.init(first.id, 60))).id == first.id)
    }

    @Test("are claimed by one change at a time, and given back if nothing of it was written (R-7.20)")
    func claims() throws {
        let memory = ProcessReplicas()
        let first = memory.claim(vault, Vector())
        memory.note(first, revision: 50)
        let state = try vector(.init(first.id, 50))
        let one = memory.claim(vault, state)
        let other = memory.claim(vault, state)
        #expect(one.id == first.id && other.id != first.id)
        memory.release(one)
        #expect(memory.claim(vault, state).id == first.id)
    }

    @Test("are split where a state has a revision under them that this process never made (R-7.21)")
    func split() throws {
        let memory = ProcessReplicas()
        let first = memory.claim(vault, Vector())
        memory.note(first, revision: 50)
        let second = try memory.claim(vault, vector(.init(first.id, 50)))
        memory.note(second, revision: 60)
        // What it made itself, older or newer, is not split.
        #expect(try memory.splitIDs(vault, vector(.init(first.id, 50), .init(9, 7))).isEmpty)
        #expect(try memory.splitIDs(vault, vector(.init(first.id, 60))).isEmpty)
        for revision in [49, 55, 61] as [UInt64] {
            let memory = ProcessReplicas()
            let own = memory.claim(vault, Vector())
            memory.note(own, revision: 50)
            #expect(try memory.splitIDs(vault, vector(.init(own.id, revision))) == [own.id])
            // From then on it is, and is not continued.
            let state = try vector(.init(own.id, 50))
            #expect(memory.splitIDs(vault, state) == [own.id])
            let next = memory.claim(vault, state)
            #expect(next.id != own.id && next.split == [own.id])
        }
        #expect(try memory.claim(vault, vector(.init(first.id, 60, isSplit: true))).id != first.id)
    }

    @Test("are not those of another process, such as its parent, even if a claim of that ends in this one")
    func ofAnother() throws {
        let (parent, child) = (ProcessReplicas(), ProcessReplicas())
        for isNoted in [true, false] {
            let claim = parent.claim(vault, Vector())
            if isNoted { child.note(claim, revision: 50) } else { child.release(claim) }
            #expect(try child.splitIDs(vault, vector(.init(claim.id, 70))).isEmpty)
            #expect(try child.claim(vault, vector(.init(claim.id, 50))).id != claim.id)
        }
    }

    @Test("are replaced after 4,096 revisions (R-7.24)")
    func exhausted() throws {
        let memory = ProcessReplicas()
        var claim = memory.claim(vault, Vector())
        let first = claim.id
        for revision in 1...4096 as ClosedRange<UInt64> {
            #expect(claim.id == first)
            memory.note(claim, revision: revision)
            claim = try memory.claim(vault, vector(.init(first, revision)))
        }
        #expect(claim.id != first && claim.greatest == 4096)
    }
}

///
@Suite("The dots of a change")
struct DotsOfChangeTests {
    @Test("are one more than the one before, above the clock, and at most 32,767 later than the time")
    func revisions() throws {
        let time: Int64 = 1_800_000_000_000
        var spreads: Set<UInt64> = []
        for _ in 0..<8 {
            let files = MemoryFileSystem(clock: time)
            let store = try Lab.create("a.vault", place: Store.Place(fileSystem: files, replicas: MemoryReplicas()))
            let first = store.state.commit.clock
            // The vault's creation has three changes: its key, its setting, its slot.
            let start = UInt64(time) << 16 + 2
            #expect(first >= start && first <= start + 32_767)
            spreads.insert(first - start)
            // The time has not passed: the next change comes after it.
            let next = try store.nextVector()
            let dots = try [next.tick(), next.tick(), next.tick()]
            #expect(dots[0].revision > first && dots[0].revision <= first + 1 + 32_767)
            #expect(dots[1].revision == dots[0].revision + 1 && dots[2].revision == dots[0].revision + 2)
            #expect(Set(dots.map(\.replica)).count == 1)
            #expect(next.stored(dots[1]) == StoredDot(dots[1].revision, 1))
            #expect(next.own == Commit.OwnRow(id: dots[0].replica, revision: dots[2].revision))
        }
        #expect(spreads.count > 1)
    }

    @Test("come after every revision that the writer has made in any copy, and after those that are merged")
    func ahead() throws {
        let folder = try Folder()
        let memory = MemoryReplicas()
        memory.greatest.withLock { $0 = 1 << 60 }
        let store = try Lab.create(folder.file("a.vault"), place: Store.Place(replicas: memory))
        #expect(store.state.commit.clock > 1 << 60)
        let next = try store.nextVector()
        next.join(try #require(Vector(floor: 0, rows: [Vector.Row(9, 1 << 61)])))
        next.pass(1 << 62)
        next.pass(5)
        #expect(try next.tick().revision > 1 << 62)
    }

    @Test("do not go beyond 2^63 − 1: the change fails (R-1.8)")
    func last() throws {
        let folder = try Folder()
        let store = try Lab.create(folder.file("a.vault"))
        let next = try store.nextVector()
        next.join(try #require(Vector(floor: 0, rows: [Vector.Row(9, 1 << 63 - 1)])))
        fails(.limitExceeded, "no revisions left") { _ = try next.tick() }
        let memory = MemoryReplicas()
        memory.greatest.withLock { $0 = .max }
        fails(.limitExceeded, "no revisions left") {
            try Lab.create(folder.file("b.vault"), place: Store.Place(replicas: memory))
        }
        let restarted = try store.nextVector()
        fails(.limitExceeded, "no revisions left") { _ = try restarted.restart(above: 1 << 63 - 1) }
    }

    @Test("are entered into the memory before the commit, and given back if there is none (R-7.20)")
    func memory() throws {
        let folder = try Folder()
        let memory = MemoryReplicas()
        let store = try Lab.create(folder.file("a.vault"), place: Store.Place(replicas: memory))
        #expect(memory.calls.withLock { $0 } == ["claim", "note"])
        memory.calls.withLock { $0 = [] }
        try store.append(1)
        #expect(memory.calls.withLock { $0 } == ["claim", "note"])
        #expect(memory.noted.withLock { $0 } == store.state.commit.clock)
        memory.calls.withLock { $0 = [] }
        do {
            let next = try store.nextVector()
            #expect(memory.calls.withLock { $0 }.isEmpty, "no change, no id")
            _ = try next.tick()
        }
        #expect(memory.calls.withLock { $0 } == ["claim", "release"])
        memory.calls.withLock { $0 = [] }
        try store.append(2, joining: [Vector()], isChange: false)
        try store.compact()
        #expect(memory.calls.withLock { $0 }.isEmpty, "a merge and a compaction make no change")
        // If it cannot be entered, nothing is written.
        let bytes = try contents(folder.file("a.vault"))
        memory.refuses.withLock { $0 = true }
        fails(.noSpace) { try store.append(3) }
        #expect(try contents(folder.file("a.vault")) == bytes)
        #expect(memory.calls.withLock { $0 } == ["claim", "note", "release"])
        memory.refuses.withLock { $0 = false }
        try store.append(3)
        #expect(Lab.mark(try Lab.open(folder.file("a.vault"))) == 3)
    }

    @Test("of a writer that finds an id with two writers mark it in the vector (R-7.21)")
    func split() throws {
        let folder = try Folder()
        let memory = MemoryReplicas()
        let store = try Lab.create(folder.file("a.vault"), place: Store.Place(replicas: memory))
        let old = try #require(store.state.commit.own).id
        memory.split.withLock { $0 = [old] }
        memory.next.withLock { $0 += 1 }
        try store.append(1)
        #expect(try store.vector().isSplit(old))
        #expect(store.state.commit.own?.id != old)
        #expect(try Lab.open(folder.file("a.vault")).vector().rows.map(\.isSplit) == [true, false])
    }
}

/// A memory that says what it was asked, and does what a test tells it.
private final class MemoryReplicas: ReplicaMemory {
    let calls = Mutex<[String]>([])
    let next = Mutex<ReplicaID>(41)
    let greatest = Mutex<UInt64>(0)
    let noted = Mutex<UInt64>(0)
    let split = Mutex<[ReplicaID]>([])
    let refuses = Mutex(false)

    func claim(_ vault: Bytes16, _ vector: Vector) -> ReplicaClaim {
        calls.withLock { $0.append("claim") }
        return ReplicaClaim(
            vault: vault, id: next.withLock { $0 }, greatest: greatest.withLock { $0 }, split: split.withLock { $0 })
    }

    func note(_ claim: ReplicaClaim, revision: UInt64) throws(VaultError) {
        calls.withLock { $0.append("note") }
        guard !refuses.withLock({ $0 }) else { throw VaultError(.noSpace, "no space") }
        noted.withLock { $0 = revision }
    }

    func release(_ claim: ReplicaClaim) { calls.withLock { $0.append("release") } }

    func splitIDs(_ vault: Bytes16, _ vector: Vector) -> [ReplicaID] { split.withLock { $0 } }
}
