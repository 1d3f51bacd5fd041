import Foundation
import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

/// One machine's copy of a vault, and every state that led to it.
private struct Branch {
    let name: String
    var vault: Vault
    /// In the order in which they were seen; the newest state last.
    var states: [Anchor]

    init(_ name: String, _ vault: Vault, states: [Anchor] = []) throws {
        self.name = name
        self.vault = vault
        self.states = try states + (states.isEmpty ? [vault.anchor] : [])
    }

    /// Makes a state that changes almost nothing.
    mutating func change() throws {
        try vault.keepVersions((vault.keptVersions + 1) % 51)
        states.append(try vault.anchor)
    }

    mutating func compact() throws {
        try vault.compact()
        states.append(try vault.anchor)
    }

    mutating func merge(_ other: Branch) throws {
        #expect(try vault.merge(other.vault).outcome == .merged)
        states += other.states.filter { !states.contains($0) } + [try vault.anchor]
    }
}

/// the commit of a merge, and what it means to everybody who remembers an earlier state.
@Suite("A merge commit")
struct MergeCommitTests {
    private let memory = InMemory()

    private func branches() throws -> (Branch, Branch) {
        var ours = try Branch("a.vault", try memory.create())
        try ours.change()
        return (ours, try fork(ours, "b.vault"))
    }

    private func fork(_ branch: Branch, _ name: String) throws -> Branch {
        try memory.copy(branch.name, to: name)
        return try Branch(name, try memory.open(name), states: branch.states)
    }

    private func state(_ branch: Branch) throws -> (commit: Commit, vector: Vector) {
        try branch.vault.withCore { (core) throws(VaultError) in (core.store.state.commit, try core.store.vector()) }
    }

    @Test(
        "continues from the greater generation, has our rows and then those that only theirs has, and makes no dot",
        arguments: [false, true])
    func states(isRebuilt: Bool) throws {
        var (ours, theirs) = try branches()
        try ours.change()
        for _ in 0..<5 { try theirs.change() }
        memory.files.setClock(memory.files.now() + 1000)
        try theirs.vault.put(try password("s", "a"), "x")
        theirs.states.append(try theirs.vault.anchor)
        if isRebuilt {
            // A slot that only one side has changes the header, so the file is replaced.
            try theirs.vault.addSlot(try Fast.rawKey(9))
            theirs.states.append(try theirs.vault.anchor)
        }
        let (mine, other) = (try state(ours), try state(theirs))
        try ours.merge(theirs)
        let merged = try state(ours)
        #expect(merged.commit.generation == max(mine.commit.generation, other.commit.generation) + 1)
        #expect(merged.commit.own == nil && merged.commit.clock == max(mine.commit.clock, other.commit.clock))
        let ids = mine.vector.rows.map(\.id)
        #expect(merged.vector.rows.map(\.id) == ids + other.vector.rows.map(\.id).filter { !ids.contains($0) })
        for row in merged.vector.rows {
            let both = [mine.vector.row(of: row.id)?.revision, other.vector.row(of: row.id)?.revision]
            #expect(row.revision == both.compactMap(\.self).max())
        }
        #expect(merged.commit.predecessor?.generation == mine.commit.generation)
        for state in ours.states.dropLast() { #expect(try ours.vault.verdict(on: state) == .descends) }
        #expect(try theirs.vault.verdict(on: try #require(ours.states.last)) == .older)
        try expectSound(ours.vault)
        // Compaction keeps all of this, under the same rows.
        try ours.compact()
        for state in ours.states.suffix(2) { #expect(try ours.vault.verdict(on: state) == .same) }
        for state in ours.states.dropLast(2) { #expect(try ours.vault.verdict(on: state) == .descends) }
        try expectSound(ours.vault)
    }

    @Test("is not made for a branch that has nothing new: the file stays as it is (R-8.12)")
    func nothing() throws {
        var (ours, theirs) = try branches()
        let bytes = try memory.bytes(ours.name)
        #expect(try ours.vault.merge(theirs.vault).outcome == .same)
        #expect(try memory.bytes(ours.name) == bytes)
        try ours.change()
        let newer = try memory.bytes(ours.name)
        #expect(try ours.vault.merge(theirs.vault).outcome == .ours)
        // The branch, merged once, is not merged again.
        try theirs.change()
        try ours.merge(theirs)
        let merged = try memory.bytes(ours.name)
        #expect(merged != newer)
        #expect(try ours.vault.merge(theirs.vault).outcome == .ours)
        #expect(try memory.bytes(ours.name) == merged)
    }

    /// The seeds of the random histories: 30 from 0 on; before a release `VAULTFMT_MERGE_HISTORIES=10000`, in several
    /// processes from different `VAULTFMT_SEED`.
    private static var seeds: Range<UInt64> {
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
        let first = number("VAULTFMT_SEED") ?? 0
        return first..<first + (number("VAULTFMT_MERGE_HISTORIES") ?? 30)
    }

    @Test("of random branches: whoever remembered any state of either gets descends, and nobody else does (R-7.6)")
    func random() throws {
        for seed in Self.seeds {
            var numbers = Numbers(seed)
            try Self.branches(&numbers, "seed \(seed)")
        }
    }

    private static func branches(_ numbers: inout Numbers, _ what: String) throws {
        let test = MergeCommitTests()
        var (ours, theirs) = try test.branches()
        try grow(&ours, &numbers)
        theirs = try test.fork(ours, "b.vault")
        for round in 0..<Int.random(in: 1...3, using: &numbers) {
            var stranger = try test.fork(ours, "c.vault")
            for _ in 0..<3 { try stranger.change() }
            try grow(&ours, &numbers)
            try grow(&theirs, &numbers)
            if round % 2 == 1 { swap(&ours, &theirs) }
            let generations = try (test.state(ours).commit.generation, test.state(theirs).commit.generation)
            try ours.merge(theirs)
            let commit = try test.state(ours).commit
            #expect(commit.generation == max(generations.0, generations.1) + 1, "\(what)")
            for state in ours.states.dropLast() {
                #expect(try ours.vault.verdict(on: state) == .descends, "\(what)")
            }
            for state in stranger.states.suffix(3) {
                #expect(try ours.vault.verdict(on: state) == .forked, "\(what)")
            }
            theirs = try test.fork(ours, theirs.name)
        }
        try expectSound(ours.vault)
    }

    /// Goes on by a few states; the first changes something, and there are compactions in between.
    private static func grow(_ branch: inout Branch, _ numbers: inout Numbers) throws {
        try branch.change()
        for _ in 0..<Int.random(in: 0...5, using: &numbers) {
            if Int.random(in: 0..<6, using: &numbers) == 0 { try branch.compact() } else { try branch.change() }
        }
    }
}
