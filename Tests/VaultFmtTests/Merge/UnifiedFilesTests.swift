import TestSupport
import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

/// What `sync` asks a merge for: copies with equal contents end with one file.
@Suite("Copies that come to one file")
struct UnifiedFilesTests {
    private func key(_ account: String) throws -> ItemKey { try .genericPassword(service: "s", account: account) }

    private static var options: MergeOptions {
        var options = MergeOptions()
        options.unifiesFiles = true
        return options
    }

    /// Lets each copy merge all others, again and again, until none changes any more.
    private func settle(_ vaults: [Vault]) throws {
        for _ in 0..<6 {
            let before = vaults.map(\.state)
            for ours in vaults {
                for theirs in vaults where theirs !== ours { try ours.merge(theirs, options: Self.options) }
            }
            guard vaults.map(\.state) != before else { return }
        }
        Issue.record("the copies exchange files without end")
    }

    /// The sealed secret of an item, as a file has it. A compaction copies it if it is in use.
    private func sealed(_ key: ItemKey, in vault: Vault, _ file: [UInt8]) throws -> [UInt8] {
        let record = try #require(try vault.item(key)).entry.record
        let bytes = Array(file[Int(record.offset) + 64..<Int(record.offset) + Int(record.length)])
        #expect(file.firstRange(of: bytes) != nil)
        return bytes
    }

    private func expectOneFile(_ names: [String], _ copies: Copies, without erased: [[UInt8]]) throws {
        let file = try copies.memory.bytes("ours")
        for name in names {
            let vault = try copies.memory.open(name)
            #expect(try copies.memory.bytes(name) == file, "\(name)")
            #expect(try vault.removedItems().isEmpty)
            try expectSound(vault)
        }
        for bytes in erased { #expect(file.firstRange(of: bytes) == nil) }
    }

    @Test(
        "have nothing in it that any of them erased, also if each was compacted before it saw the others",
        arguments: [2, 3])
    func allCompacted(count: Int) throws {
        let names = Array(["ours", "theirs", "third"].prefix(count))
        let copies = try Copies { vault in
            for name in ["a"] + names { try vault.put(try key(name), name) }
        }
        var vaults = [copies.ours, copies.theirs]
        if count == 3 { vaults.append(try copies.fork("ours", to: "third")) }
        let file = try copies.memory.bytes("ours")
        let erased = try names.map { try sealed(try key($0), in: copies.ours, file) }
        for (vault, name) in zip(vaults, names) {
            try vault.remove(try key(name))
            try vault.compact()
            try vault.put(try key("new " + name), name)
        }
        try settle(vaults)
        try expectOneFile(names, copies, without: erased)
        #expect(try copies.ours.secrets().count == 1 + count)
        // They go on from there.
        try vaults[1].put(try key("a"), "later")
        try settle(vaults)
        try expectOneFile(names, copies, without: erased)
        #expect(try copies.ours.secrets()[key("a")] == "later")
    }

    @Test("are compacted if each has what the other erased, and also come to rest if both do that at once")
    func bothAtOnce() throws {
        let copies = try Copies { vault in
            for name in ["a", "ours", "theirs"] { try vault.put(try key(name), name) }
        }
        let file = try copies.memory.bytes("ours")
        let erased = try ["ours", "theirs"].map { try sealed(try key($0), in: copies.ours, file) }
        for (vault, name) in [(copies.ours, "ours"), (copies.theirs, "theirs")] {
            try vault.remove(try key(name))
            try vault.compact()
        }
        #expect(try copies.ours.merge(copies.theirs).outcome == .merged)
        #expect(try copies.theirs.merge(copies.ours).outcome == .merged)
        // Without being asked for it, a merge changes neither.
        #expect(try copies.ours.merge(copies.theirs).outcome == .same)
        let second = try copies.fork("ours", to: "second")
        var rehearsal = Self.options
        rehearsal.isRehearsal = true
        let before = try copies.memory.bytes("ours")
        #expect(try copies.ours.merge(copies.theirs, options: rehearsal).outcome == .merged)
        #expect(try copies.memory.bytes("ours") == before)
        for (vault, other) in [(copies.ours, copies.theirs), (copies.theirs, second)] {
            // The other one has not been compacted yet.
            let contents = try vault.merged()
            #expect(try vault.merge(other, options: Self.options).outcome == .merged)
            #expect(try vault.log().count == 1)
            #expect(try vault.merged() == contents)
        }
        let outcomes = try [
            copies.ours.merge(copies.theirs, options: Self.options).outcome,
            copies.theirs.merge(copies.ours, options: Self.options).outcome,
        ]
        #expect(Set(outcomes) == [.theirs, .same], "\(outcomes)")
        try expectOneFile(["ours", "theirs"], copies, without: erased)
    }

    @Test("keep out what was erased also where two writers used one replica id, whose rows prove nothing (R-8.14)")
    func splitID() throws {
        let copies = try Copies { vault in
            for name in ["a", "gone"] { try vault.put(try key(name), name) }
        }
        let erased = try sealed(try key("gone"), in: copies.ours, try copies.memory.bytes("ours"))
        let known = Set(try copies.ours.merged().rows.map(\.id))
        let third = try copies.fork("ours", to: "third")
        // The third copy cannot go on with an id that has been used since.
        try copies.ours.put(try key("a"), "1")
        try third.put(try key("third"), "3")
        let id = try #require(try third.merged().rows.map(\.id).first { !known.contains($0) })
        #expect(try copies.ours.merge(third).outcome == .merged)
        let gone = try key("gone")
        try copies.ours.transaction { (transaction) throws(VaultError) in
            transaction.next.split(id)
            _ = try transaction.remove(gone)
        }
        #expect(try copies.theirs.merge(copies.ours).outcome == .theirs)
        try copies.ours.compact()
        try copies.ours.put(try key("o"), "o")
        try copies.theirs.put(try key("t"), "t")
        #expect(try copies.theirs.removedItems().count == 1)
        try settle([copies.ours, copies.theirs])
        try expectOneFile(["ours", "theirs"], copies, without: [erased])
        #expect(try copies.ours.secrets().count == 4)
    }

    @Test("give up a file of which an earlier state is damaged, because nobody can tell what it contains")
    func damagedPast() throws {
        let copies = try Copies { vault in
            for name in ["a", "gone"] { try vault.put(try key(name), name) }
        }
        try copies.ours.remove(try key("gone"))
        try copies.ours.compact()
        try copies.ours.put(try key("b"), "b")
        try copies.theirs.put(try key("t"), "t")
        #expect(try copies.theirs.merge(copies.ours).outcome == .merged)
        let earlier = try copies.theirs.withCore { (core) throws(VaultError) in
            try core.store.past.states(before: core.store.state, most: 1)
        }
        let offset = try #require(earlier.first).commit.offset
        var bytes = try copies.memory.bytes("theirs")
        bytes[Int(offset) + 100] ^= 1
        copies.memory.files.put("theirs", bytes)
        let theirs = try copies.memory.open("theirs")
        fails(.authenticationFailed) { _ = try theirs.removedItems() }
        try settle([copies.ours, theirs])
        try expectOneFile(["ours", "theirs"], copies, without: [])
    }
}
