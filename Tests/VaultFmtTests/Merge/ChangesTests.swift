import Testing
import VaultBytes
import VaultCrypto

@testable import VaultFmt

@Suite("Changes between states")
struct ChangesTests {
    private func key(_ account: String, group: String = "") throws -> ItemKey {
        try .genericPassword(service: "s", account: account, group: group)
    }

    private func populated() throws -> Copies {
        try Copies { vault in
            for account in ["a", "b", "c"] {
                try vault.add(
                    try key(account), secret: Secret(text: "0"), attributes: ["label": "0", "notes": "n"])
            }
        }
    }

    @Test("name items and fields, from an earlier state of the file to the present one")
    func since() throws {
        let copies = try populated()
        let (vault, before) = (copies.ours, copies.ours.state)
        #expect(try vault.changes(since: before).isEmpty)
        try vault.move(try key("a"), to: try key("moved", group: "work"))
        try vault.set(try key("b"), secret: Secret(text: "1"), attributes: setting(["notes": "other"]))
        try vault.update(try key("b"), attributes: AttributeChanges(remove: ["label"]), accessibility: .always)
        try vault.remove(try key("c"))
        try vault.put(try key("new"), "n")
        try vault.keepVersions(7)
        let changes = try vault.changes(since: before)
        #expect(changes.items.map(\.before) == [try key("c"), try key("b"), try key("a"), nil])
        #expect(changes.items.map(\.after) == [nil, try key("b"), try key("moved", group: "work"), try key("new")])
        #expect(
            changes.items.map { Set($0.fields) } == [
                [], [.secret, .attribute("notes"), .attribute("label"), .place], [.key, .place], [],
            ])
        #expect(changes.items.map(\.hasOtherEarlierValues) == [false, true, false, false])
        #expect(changes.addedGroups == ["work"] && changes.keptVersions == 7 && changes.removedSlots.isEmpty)
        try vault.compact()
        fails(.invalidArgument) { _ = try vault.changes(since: before) }
    }

    @Test("of two copies are the same both ways, also where one was compacted, and nothing for equal contents")
    func copies() throws {
        let copies = try populated()
        try copies.theirs.compact()
        #expect(try copies.ours.changes(from: copies.theirs).isEmpty)
        try copies.theirs.put(try key("b"), "theirs")
        try copies.ours.remove(try key("a"))
        let changes = try copies.ours.changes(from: copies.theirs)
        #expect(changes.items.map(\.before) == [try key("a"), try key("b")])
        #expect(changes.items.last?.fields == [.secret])
        let back = try copies.theirs.changes(from: copies.ours)
        #expect(back.items.map(\.after) == [try key("a"), try key("b")] && back.items.first?.before == nil)
        fails(.invalidArgument) { _ = try copies.ours.changes(from: try copies.memory.create("other")) }
    }

    @Test("are told to a scoped slot too, which takes a value that it cannot read for changed if its item was")
    func scoped() throws {
        let copies = try populated()
        try copies.ours.put(try key("w", group: "work"), "w")
        try copies.ours.addSlot(try Fast.rawKey(7), grantedGroups: ["work"])
        let before = copies.ours.state
        try copies.ours.put(try key("b"), "1")
        try copies.ours.update(try key("a"), attributes: setting(["label": "1"]))
        let scoped = try copies.memory.open("ours", with: try Fast.rawKey(7))
        #expect(try scoped.changes(since: before).items.map(\.fields) == [[.attribute("label")], [.secret]])
    }

    @Test("make a log: each state with its time and what it changed")
    func log() throws {
        let memory = InMemory()
        let vault = try memory.create("a.vault")
        try vault.put(try key("a"), "0")
        memory.files.setClock(memory.files.now() + 60_000)
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.set(try .genericPassword(service: "s", account: "a"), secret: Secret(text: "1"))
            try transaction.add(try .genericPassword(service: "s", account: "b"), secret: Secret(text: "b"))
        }
        let log = try vault.log()
        #expect(log.map(\.state.generation) == [3, 2, 1] && log.map(\.isMerge) == [false, false, false])
        #expect(log[0].time - log[1].time == 60_000 && log[0].state == vault.state)
        #expect(log[0].changes?.items.map(\.after) == [try key("a"), try key("b")])
        #expect(log[1].changes?.items.map(\.before) == [nil] && log[2].changes?.items.isEmpty == true)
        #expect(try vault.log(limit: 1) == Array(log.prefix(1)) && vault.log(limit: 0).isEmpty)
        try memory.copy(to: "theirs")
        let theirs = try memory.open("theirs")
        try theirs.put(try key("t"), "t")
        try vault.put(try key("o"), "o")
        try vault.merge(theirs)
        let merged = try #require(try vault.log(limit: 1).first)
        #expect(merged.isMerge)
        #expect(try merged.changes?.items.map(\.after) == [key("t")])
        try vault.compact()
        #expect(try vault.log().map(\.changes) == [nil])
    }
}
