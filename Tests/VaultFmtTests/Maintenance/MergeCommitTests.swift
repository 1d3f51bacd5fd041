import Foundation
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// One machine's copy of a vault, and every state that led to it.
private struct Branch {
    let name: String
    var vault: Vault
    /// In the order in which they became ancestors; the newest state last.
    var states: [Anchor]

    /// Makes a state that changes almost nothing.
    mutating func commit() throws {
        try vault.keepVersions((vault.keptVersions + 1) % 51)
        states.append(vault.anchor)
    }

    mutating func compact() throws {
        try vault.compact()
        states.append(vault.anchor)
    }

    /// Merges another branch, changing nothing else; `forgetting` is one of its states that the list leaves out.
    mutating func merge(_ other: Branch, forgetting: Anchor? = nil) throws {
        var branch = try #require(MergedBranch(try other.vault.branchPast(), since: try vault.branchPast()))
        branch.states.removeAll { $0.chain == forgetting?.value }
        try vault.merge(branch) { (_) throws(VaultError) in }
        let known = Set(states)
        states += other.states.filter { !known.contains($0) && $0 != forgetting } + [vault.anchor]
    }
}

/// what a merge commit says of the branch that was merged.
@Suite("A merge commit")
struct MergeCommitTests {
    private let memory = InMemory()

    private func branches() throws -> (Branch, Branch) {
        let vault = try memory.create()
        var ours = Branch(name: "a.vault", vault: vault, states: [vault.anchor])
        try ours.commit()
        return (ours, try fork(ours, "b.vault"))
    }

    private func fork(_ branch: Branch, _ name: String) throws -> Branch {
        try memory.copy(branch.name, to: name)
        return Branch(name: name, vault: try memory.open(name), states: branch.states)
    }

    private func commit(_ branch: Branch) throws -> Commit {
        try branch.vault.withCore { (core) throws(VaultError) in core.store.state.commit }
    }

    private func history(_ branch: Branch) throws -> History? {
        try branch.vault.withCore { (core) throws(VaultError) in try core.store.past.history(of: core.store.state) }
    }

    @Test(
        "continues from the greater generation, clock and horizon, and has the branch's states since the base in its history",
        arguments: [false, true])
    func states(isRebuilt: Bool) throws {
        var (ours, theirs) = try branches()
        try ours.commit()
        for _ in 0..<5 { try theirs.commit() }
        memory.files.setClock(memory.files.now() + 1000)
        try theirs.vault.put(try password("s", "a"), "x")
        theirs.states.append(theirs.vault.anchor)
        if isRebuilt {
            // A change that leaves a record behind which more could read: the file is rewritten with the merge.
            try ours.vault.put(try password("s", "b"), "x")
            ours.states.append(ours.vault.anchor)
            try ours.vault.addSlot(try Fast.rawKey(9), grantedGroups: [""])
            ours.states.append(ours.vault.anchor)
        }
        let (mine, other) = (try commit(ours), try commit(theirs))
        let branch = try #require(MergedBranch(try theirs.vault.branchPast(), since: try ours.vault.branchPast()))
        try ours.vault.merge(branch) { (transaction) throws(VaultError) in
            if isRebuilt {
                try transaction.move(
                    try password("s", "b"), to: .genericPassword(service: "s", account: "b", group: "other"))
            }
        }
        let merged = try commit(ours)
        #expect(merged.generation == max(mine.generation, other.generation) + 1)
        #expect(
            merged.clock >= max(mine.clock, other.clock)
                && merged.tombstoneHorizon == max(mine.tombstoneHorizon, other.tombstoneHorizon))
        #expect(merged.predecessor?.generation == mine.generation)
        let history = try #require(try history(ours))
        let new = theirs.states.dropFirst(2).map(\.value)
        #expect(new.count == 6 && history.ancestors.suffix(6).map(\.chain) == new)
        #expect(history.newest == 6 + (isRebuilt ? 1 : 0) && history.floor == 1)
        for state in ours.states + theirs.states { #expect(try ours.vault.verdict(on: state) == .descends) }
        for state in ours.states.suffix(1) { #expect(try theirs.vault.verdict(on: state) != .descends) }
        try expectSound(ours.vault)
        // And on: compaction keeps what was merged, in the order in which it became an ancestor.
        try ours.vault.compact()
        for state in ours.states + theirs.states { #expect(try ours.vault.verdict(on: state) == .descends) }
        try expectSound(ours.vault)
    }

    @Test("is not made for a branch that is an ancestor, or the same (R-8.2)")
    func nothing() throws {
        var (ours, theirs) = try branches()
        #expect(MergedBranch(try theirs.vault.branchPast(), since: try ours.vault.branchPast()) == nil)
        try ours.commit()
        #expect(MergedBranch(try theirs.vault.branchPast(), since: try ours.vault.branchPast()) == nil)
        #expect(MergedBranch(try ours.vault.branchPast(), since: try theirs.vault.branchPast()) != nil)
        // The branch, merged once, is an ancestor.
        try theirs.commit()
        try ours.merge(theirs)
        #expect(MergedBranch(try theirs.vault.branchPast(), since: try ours.vault.branchPast()) == nil)
    }

    @Test(
        "keeps at least the last 1,000 of ours and 364 of a long branch, and raises the floor above what it leaves out (R-5.17)"
    )
    func long() throws {
        var (ours, theirs) = try branches()
        for _ in 0..<1500 { try theirs.commit() }
        for _ in 0..<1500 { try ours.commit() }
        try ours.compact()
        try ours.merge(theirs)
        let history = try #require(try history(ours))
        #expect(history.ancestors.count == Format.Limit.ancestors)
        // Ours continue in the file from the compacted state on.
        // The compaction left the last 1364 of ours; a thousand of them stay.
        let own = ours.states.dropLast(theirs.states.count - 2 + 1).map(\.value).dropLast()
        #expect(history.ancestors.prefix(1000).map(\.chain) == Array(own.suffix(1000)))
        let kept = Set(history.ancestors.map(\.chain))
        #expect(theirs.states.suffix(364).allSatisfy { kept.contains($0.value) })
        let left = theirs.states.dropFirst(2).dropLast(364).map(\.generation).max() ?? 0
        #expect(history.floor > left)
        for state in theirs.states.suffix(126) + ours.states.suffix(126).dropLast() {
            #expect(try ours.vault.verdict(on: state) == .descends)
        }
        #expect(try ours.vault.verdict(on: theirs.states[10]) == .unprovable)
    }

    /// The seeds of the random histories: 60 from 0 on; before a release `VAULTFMT_MERGE_HISTORIES=10000`, in several
    /// processes from different `VAULTFMT_SEED`.
    private static var seeds: Range<UInt64> {
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
        let first = number("VAULTFMT_SEED") ?? 0
        return first..<first + (number("VAULTFMT_MERGE_HISTORIES") ?? 60)
    }

    @Test(
        "of random branches: whoever remembered any of the last 126 states of either gets descends, and nobody else does (R-8.3)"
    )
    func random() throws {
        for seed in Self.seeds {
            var numbers = Numbers(seed)
            try Self.history(&numbers, "seed \(seed)")
            if (seed + 1) % 100 == 0 { print("random branches: seed \(seed) is through") }
        }
    }

    private static func history(_ numbers: inout Numbers, _ what: String) throws {
        let test = MergeCommitTests()
        var (ours, theirs) = try test.branches()
        try grow(&ours, &numbers)
        theirs = try test.fork(ours, "b.vault")
        for round in 0..<Int.random(in: 1...3, using: &numbers) {
            var stranger = try test.fork(ours, "c.vault")
            for _ in 0..<3 { try stranger.commit() }
            try grow(&ours, &numbers)
            try grow(&theirs, &numbers)
            if round % 2 == 1 { swap(&ours, &theirs) }
            // Now and then a program leaves a state out.
            let known = Set(ours.states)
            let new = theirs.states.filter { !known.contains($0) }
            let forgotten = Int.random(in: 0..<4, using: &numbers) == 0 ? new.randomElement(using: &numbers) : nil
            let remembered = (Array(ours.states.suffix(126)) + Array(theirs.states.suffix(126))).filter {
                $0 != forgotten
            }
            let before = (try test.commit(ours), try test.commit(theirs))
            try ours.merge(theirs, forgetting: forgotten)
            let strangers = stranger.states.suffix(3) + (forgotten.map { [$0] } ?? [])
            try test.check(ours, remembered, before, strangers: Array(strangers), &numbers, what)
            theirs = try test.fork(ours, theirs.name)
        }
    }

    /// Goes on by a few states as a rule, by more than 126 now and then, with compactions in between.
    private static func grow(_ branch: inout Branch, _ numbers: inout Numbers) throws {
        let isLong = Int.random(in: 0..<40, using: &numbers) == 0
        for _ in 0..<Int.random(in: isLong ? 127...180 : 1...6, using: &numbers) {
            if Int.random(in: 0..<12, using: &numbers) == 0 { try branch.compact() } else { try branch.commit() }
        }
    }

    private func check(
        _ merged: Branch, _ remembered: [Anchor], _ before: (Commit, Commit), strangers: [Anchor],
        _ numbers: inout Numbers, _ what: String
    ) throws {
        let (past, commit) = try merged.vault.withCore { (core) throws(VaultError) in
            (try core.store.past.ancestors(of: core.store.state), core.store.state.commit)
        }
        #expect(commit.generation == max(before.0.generation, before.1.generation) + 1, "\(what)")
        let ancestors = Set(past.ancestors.map(\.chain))
        #expect(remembered.allSatisfy { ancestors.contains($0.value) }, "\(what)")
        #expect(strangers.allSatisfy { !ancestors.contains($0.value) }, "\(what)")
        for _ in 0..<3 {
            let state = try #require(remembered.randomElement(using: &numbers))
            #expect(try merged.vault.verdict(on: state) == .descends, "\(what)")
        }
        for state in strangers {
            #expect(try [.forked, .unprovable, .older].contains(merged.vault.verdict(on: state)), "\(what)")
        }
        try checkForged(merged, stranger: try #require(strangers.first), &numbers, what)
    }

    /// A list in which somebody with the index key put another state is not the one that the commit names: nothing is
    /// said then.
    private func checkForged(
        _ merged: Branch, stranger: Anchor, _ numbers: inout Numbers, _ what: String
    ) throws {
        guard var history = try history(merged), let index = history.ancestors.indices.randomElement(using: &numbers)
        else { return }
        let old = history.ancestors[index]
        history.ancestors[index] = Ancestor(
            generation: min(old.generation, stranger.generation), clock: old.clock, chain: stranger.value)
        let (ref, frame) = try merged.vault.withCore { (core) throws(VaultError) in
            let ref = core.store.state.commit.history ?? core.store.state.commit.keyring
            return (ref, sealed(history.encode(), ref, core.store))
        }
        let bytes = try memory.bytes(merged.name)
        memory.files.put("f.vault", Array(bytes[..<Int(ref.offset)]) + frame + Array(bytes[Int(ref.end)...]))
        do throws(VaultError) {
            let verdict = try openForged().verdict(on: stranger)
            #expect(verdict != .descends && verdict != .same, "\(what)")
        } catch {
            #expect([.authenticationFailed, .structureInvalid].contains(error.code), "\(what): \(error)")
        }
    }

    private func openForged() throws(VaultError) -> Vault {
        let factors = try Factors(rawKey: Secret(bytes: [UInt8](repeating: 0x2B, count: 32)))
        return try Vault.open("f.vault", factors: factors, options: OpenOptions(), place: memory.place)
    }

    private func sealed(_ body: [UInt8], _ ref: ObjectRef, _ store: Store) -> [UInt8] {
        var frame = [UInt8](repeating: 0, count: ref.length)
        frame.withUnsafeMutableBytes { frame in
            body.withUnsafeBytes {
                store.sealing.seal(
                    $0, as: .history, at: ref.offset, head: FrameHead(.history, length: ref.length).encoded,
                    key: store.slot.keys.index,
                    into: frame)
            }
        }
        return frame
    }
}
