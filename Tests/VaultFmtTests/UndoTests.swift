import Testing
import VaultBytes
import VaultCrypto

@testable import VaultFmt

@Suite("Undo")
struct UndoTests {
    private func key(_ account: String, group: String = "") throws -> ItemKey {
        try .genericPassword(service: "s", account: account, group: group)
    }

    private func populated() throws -> Copies {
        try Copies { vault in
            for account in ["a", "b", "c"] {
                try vault.add(try key(account), secret: Secret(text: "0"), attributes: ["label": "0", "notes": "n"])
            }
        }
    }

    private func secret(_ vault: Vault, _ account: String) throws -> String? {
        guard let opened = try vault.get(try key(account)) else { return nil }
        return opened.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test("brings back what was changed, removed, moved and added since, and the vault verifies")
    func everything() throws {
        let copies = try populated()
        let (vault, before) = (copies.ours, copies.ours.state)
        let ids = try ["a", "b", "c"].map { try #require(try vault.item(try key($0))).id }
        try vault.move(try key("a"), to: try key("moved", group: "work"))
        try vault.set(try key("b"), secret: Secret(text: "1"), attributes: setting(["notes": "other"]))
        try vault.update(try key("b"), attributes: AttributeChanges(remove: ["label"]))
        try vault.remove(try key("c"))
        try vault.put(try key("new"), "n")
        try vault.keepVersions(7)
        try vault.undo(to: before, from: vault.state)
        #expect(try ["a", "b", "c"].map { try #require(try vault.item(try key($0))).id } == ids)
        #expect(try ["a", "b", "c"].map { try secret(vault, $0) } == ["0", "0", "0"])
        #expect(try vault.item(try key("b"))?.attributes.label == "0")
        #expect(try vault.item(try key("moved", group: "work")) == nil && vault.item(try key("new")) == nil)
        let changes = try vault.changes(since: before)
        #expect(changes.items.map(\.fields) == [[]] && changes.items.map(\.hasOtherEarlierValues) == [true])
        #expect(changes.keptVersions == nil)
        // What was taken back is an earlier value.
        let earlier = try vault.earlierValues(of: try key("b")).map(\.attribute)
        #expect(earlier == [nil, "notes"], "\(earlier)")
        let report = try vault.verify()
        #expect(report.problems.isEmpty, "\(report.problems)")
        try vault.compact()
        #expect(try vault.verify().problems.isEmpty)
    }

    @Test("back and forth leaves one earlier value, and the statistics agree with the tree")
    func backAndForth() throws {
        let vault = try populated().ours
        let before = vault.state
        try vault.set(try key("a"), secret: Secret(text: "1"))
        let after = vault.state
        for _ in 0..<3 {
            try vault.undo(to: before, from: vault.state)
            #expect(try secret(vault, "a") == "0" && vault.earlierValues(of: try key("a")).count == 1)
            try vault.undo(to: after, from: vault.state)
            #expect(try secret(vault, "a") == "1" && vault.earlierValues(of: try key("a")).count == 1)
        }
        #expect(try vault.verify().problems.isEmpty)
    }

    @Test("brings back names that were passed on; forgotten earlier values stay forgotten")
    func forgottenAndRenamed() throws {
        let vault = try populated().ours
        try vault.set(try key("a"), secret: Secret(text: "1"))
        let before = vault.state
        try vault.forgetEarlierValues(of: try key("a"))
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.move(
                .genericPassword(service: "s", account: "b"), to: .genericPassword(service: "s", account: "d"))
            try transaction.move(
                .genericPassword(service: "s", account: "a"), to: .genericPassword(service: "s", account: "b"))
        }
        try vault.undo(to: before, from: vault.state)
        #expect(try secret(vault, "a") == "1" && secret(vault, "b") == "0" && secret(vault, "d") == nil)
        #expect(try vault.earlierValues(of: try key("a")).isEmpty)
        #expect(try vault.verify().problems.isEmpty)
    }

    @Test("a value that was forgotten is not shown again, whichever state is restored")
    func forgottenSince() throws {
        let vault = try populated().ours
        let before = vault.state
        try vault.set(try key("a"), secret: Secret(text: "1"))
        try vault.forgetEarlierValues(of: try key("a"))
        fails(.invalidArgument) { try vault.undo(to: before, from: vault.state) }
        #expect(try secret(vault, "a") == "1" && vault.earlierValues(of: try key("a")).isEmpty)
        try vault.remove(try key("a"))
        fails(.invalidArgument) { try vault.undo(to: before, from: vault.state) }
        #expect(try vault.item(try key("a")) == nil)
    }

    @Test("what was settled is left to settle again, once, however often it is undone; another copy takes it over")
    func settled() throws {
        let copies = try populated()
        let vault = copies.ours
        for (copy, text) in [(copies.ours, "ours"), (copies.theirs, "theirs")] {
            try copy.set(
                try key("a"), secret: Secret(text: text), attributes: setting(["label": text, "notes": "of \(text)"]))
        }
        try vault.merge(copies.theirs)
        let (before, left) = (vault.state, try self.left(in: vault))
        #expect(left.count == 3 && Set(left.map { $0.hasSuffix("theirs") }).count == 1)
        let shown = try secret(vault, "a")
        for keeps in [false, true] {
            let conflict = try #require(try vault.conflict(in: try key("a")))
            try vault.settle(try key("a"), keeping: keeps ? conflict.values : [])
            let settled = vault.state
            for _ in 0..<2 {
                #expect(try vault.conflict(in: try key("a")) == nil && (secret(vault, "a") == shown) == !keeps)
                try vault.undo(to: before, from: vault.state)
                #expect(try self.left(in: vault) == left && secret(vault, "a") == shown)
                try vault.put(try key("b"), "later")
                try vault.undo(to: before, from: vault.state)
                #expect(try self.left(in: vault) == left && vault.verify().problems.isEmpty)
                try vault.undo(to: settled, from: vault.state, settles: true)
            }
            try vault.undo(to: before, from: vault.state)
        }
        try vault.compact()
        #expect(try vault.verify().problems.isEmpty && self.left(in: vault) == left)
        // The other copy settled it as well, and the undo is the later change.
        try copies.theirs.merge(vault)
        #expect(try self.left(in: copies.theirs) == left && copies.theirs.verify().problems.isEmpty)
        let earlier = try vault.earlierValues(of: try key("a"))
        #expect(earlier.count { $0.attribute == nil } == 1 && earlier.count { $0.attribute == "notes" } == 1)
    }

    /// What is left to settle in an item.
    private func left(in vault: Vault) throws -> [String] {
        var found: [String] = []
        for value in try vault.conflict(in: try key("a"))?.values ?? [] {
            guard let bytes = value.value else { continue }
            found.append("\(value.field) " + bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        }
        return found.sorted()
    }

    @Test("is refused where another handle has changed the vault since, and where the file has lost the state")
    func refused() throws {
        let copies = try populated()
        let vault = copies.ours
        let before = vault.state
        try vault.put(try key("a"), "1")
        let seen = vault.state
        try copies.memory.open("ours").put(try key("a"), "2")
        fails(.busy) { try vault.undo(to: before, from: seen) }
        #expect(try secret(vault, "a") == "2")
        try vault.compact()
        fails(.invalidArgument) { try vault.undo(to: before, from: vault.state) }
        #expect(try vault.removedItems().isEmpty)
    }

    @Test("a removed item comes back under its id after later changes, and a merge keeps it")
    func removed() throws {
        let copies = try populated()
        let vault = copies.ours
        let id = try #require(try vault.item(try key("b"))).id
        try vault.set(try key("b"), secret: Secret(text: "1"))
        try vault.remove(try key("b"))
        try vault.put(try key("later"), "l")
        let removed = try vault.removedItems()
        #expect(try removed.map(\.item.key) == [key("b")])
        #expect(try vault.bringBack(removed) == 1 && vault.bringBack(removed) == 0)
        #expect(try secret(vault, "b") == "1" && secret(vault, "later") == "l")
        #expect(try vault.item(try key("b"))?.id == id && vault.earlierValues(of: try key("b")).count == 1)
        #expect(try vault.removedItems().isEmpty && vault.verify().problems.isEmpty)
        try copies.theirs.put(try key("c"), "theirs")
        try vault.merge(copies.theirs)
        #expect(try secret(vault, "b") == "1" && secret(vault, "c") == "theirs")
        try vault.remove(try key("b"))
        try vault.put(try key("b"), "another")
        fails(.duplicateItem) { _ = try vault.bringBack(removed) }
    }
}
