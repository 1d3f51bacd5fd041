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

    private func value(_ vault: Vault, _ account: String, _ name: String) throws -> [UInt8]? {
        guard let item = try vault.item(try key(account)), let value = try vault.attribute(name, of: item) else {
            return nil
        }
        return value.withUnsafeBytes { Array($0) }
    }

    @Test("brings back large attributes: of an item that was moved to another group, and those that were replaced")
    func largeAttributes() throws {
        let vault = try populated().ours
        let file = (0..<9000).map { UInt8(truncatingIfNeeded: $0) }
        let notes = [UInt8](repeating: 65, count: 6000)
        let large = Attributes([Attribute("file:att", file), Attribute("notes", notes)])
        try vault.update(try key("a"), attributes: AttributeChanges(set: large))
        let before = vault.state
        try vault.move(try key("a"), to: try key("a", group: "family"))
        let moved = vault.state
        try vault.undo(to: before, from: vault.state)
        #expect(try value(vault, "a", "file:att") == file && value(vault, "a", "notes") == notes)
        #expect(try vault.earlierValues(of: try key("a")).count == 1, "the notes are the same as before the undo")
        try vault.undo(to: moved, from: vault.state)
        #expect(try vault.item(try key("a")) == nil)
        try vault.undo(to: before, from: vault.state)
        let others = Attributes([
            Attribute("file:att", Array(file.reversed())), Attribute("notes", notes.map { $0 + 1 }),
        ])
        try vault.update(try key("a"), attributes: AttributeChanges(set: others))
        try vault.undo(to: before, from: vault.state)
        #expect(try value(vault, "a", "file:att") == file && value(vault, "a", "notes") == notes)
        #expect(try vault.verify().problems.isEmpty)
        try vault.compact()
        #expect(try value(vault, "a", "file:att") == file && value(vault, "a", "notes") == notes)
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

    @Test("a value that is left to settle again is not called dropped")
    func leftAgainWithoutRoom() throws {
        let copies = try Copies(kept: 2) { vault in try vault.put(try key("a"), "0") }
        let vault = copies.ours
        try copies.theirs.put(try key("a"), "theirs")
        copies.tick()
        try vault.put(try key("a"), "ours")
        try vault.merge(copies.theirs)
        let before = vault.state
        #expect(try secret(vault, "a") == "ours" && left(in: vault).count == 1)
        try vault.put(try key("a"), "later")
        let dropped = try vault.undo(to: before, from: vault.state, settles: false)
        #expect(try secret(vault, "a") == "ours" && left(in: vault).count == 1)
        #expect(dropped.isEmpty, "\(dropped)")
        #expect(try vault.earlierValues(of: try key("a")).map(\.attribute) == [nil])
    }

    @Test("a removed item comes back with what it showed and kept when it was removed", arguments: [1, 3])
    func valuesOfRemoved(kept: Int) throws {
        let copies = try Copies(kept: kept) { vault in
            try vault.add(try self.key("a"), secret: Secret(text: "0"), attributes: ["notes": "n"])
        }
        let key = try self.key("a")
        let (vault, before) = (copies.ours, copies.ours.state)
        try vault.set(key, secret: Secret(text: "1"), attributes: setting(["notes": "m"]))
        try vault.undo(to: before, from: vault.state)
        try vault.remove(key)
        try vault.undo(to: before, from: vault.state)
        for isCompact in [false, true] {
            if isCompact { try vault.compact() }
            #expect(try secret(vault, "a") == "0" && vault.earlierSecrets(of: key) == ["1"])
            #expect(try Set(vault.earlierValues(of: key).map(\.attribute)) == [nil, "notes"])
            try expectSound(vault)
        }
        try copies.theirs.merge(vault)
        #expect(try copies.theirs.earlierSecrets(of: key) == ["1"])
        let again = vault.state
        try vault.put(key, "2")
        try vault.remove(key)
        try vault.undo(to: again, from: vault.state)
        #expect(try secret(vault, "a") == "0" && vault.earlierSecrets(of: key) == (kept == 1 ? ["2"] : ["1", "2"]))
        try expectSound(vault)
    }

    @Test("a removed item comes back without what was left to settle since, which becomes an earlier value")
    func unsettledOfRemoved() throws {
        let copies = try Copies { vault in try vault.put(try self.key("a"), "0") }
        let key = try self.key("a")
        let (vault, before) = (copies.ours, copies.ours.state)
        try copies.theirs.put(key, "theirs")
        copies.tick()
        try vault.put(key, "ours")
        try vault.merge(copies.theirs)
        #expect(try left(in: vault).count == 1)
        try vault.remove(key)
        try vault.undo(to: before, from: vault.state, settles: false)
        #expect(try secret(vault, "a") == "0" && vault.conflict(in: key) == nil)
        #expect(try Set(vault.earlierSecrets(of: key)) == ["ours", "theirs"])
        try expectSound(vault)
    }

    @Test("a removed item comes back without a value that it showed and that another copy has forgotten since")
    func forgottenOfRemoved() throws {
        let copies = try Copies { vault in try vault.put(try self.key("a"), "0") }
        let key = try self.key("a")
        let (vault, theirs, before) = (copies.ours, copies.theirs, copies.ours.state)
        try vault.put(key, "1")
        try theirs.merge(vault)
        try vault.remove(key)
        try theirs.put(key, "2")
        let shown = try #require(try theirs.earlierValues(of: key).last)
        try theirs.forgetEarlierValues(of: key, [shown])
        try theirs.remove(key)
        try vault.merge(theirs)
        try vault.undo(to: before, from: vault.state)
        #expect(try secret(vault, "a") == "0" && vault.earlierSecrets(of: key).isEmpty)
        try expectSound(vault)
    }

    // MARK: a branch under a replaced key

    /// A vault and a copy that went on under the old keys; the copy's item `d` is here, and shows no secret until it is
    /// settled.
    private func adopted(kept: Int = 3) throws -> Copies {
        let copies = try Copies(kept: kept) { vault in
            try vault.add(try key("a"), secret: Secret(text: "0"))
        }
        try copies.theirs.set(try key("d"), secret: Secret(text: "theirs"), attributes: setting(["notes": "sealed"]))
        try copies.ours.rotate()
        copies.tick()
        #expect(try copies.ours.merge(copies.theirs, options: accepting).outcome == .adopted)
        return copies
    }

    private var accepting: MergeOptions {
        var options = MergeOptions()
        options.acceptsOldKeys = true
        return options
    }

    @Test(
        "of a change that gave a secret to an item that showed none: it shows none again, and all is left to settle",
        arguments: [0, 3])
    func withoutSecret(kept: Int) throws {
        let vault = try adopted(kept: kept).ours
        let key = try key("d")
        let (before, left) = (vault.state, try vault.toSettle(key))
        #expect(left == [.secret: ["theirs"], .attribute("notes"): ["sealed"]])
        for isSet in [false, true] {
            if isSet {
                try vault.set(key, secret: Secret(text: "given"))
            } else {
                try vault.settle(key, keeping: try #require(try vault.conflict(in: key)).values)
            }
            let after = vault.state
            for _ in 0..<2 {
                #expect(try secret(vault, "d") == (isSet ? "given" : "theirs"))
                try vault.undo(to: before, from: vault.state)
                #expect(try vault.item(key)?.lacksSecret == true && vault.toSettle(key) == left)
                fails(.noSecret) { _ = try vault.get(key) }
                try expectSound(vault)
                try vault.undo(to: after, from: vault.state, settles: true)
            }
            try vault.undo(to: before, from: vault.state)
        }
        #expect(try vault.earlierSecrets(of: key) == (kept == 0 ? [] : ["given"]))
        try vault.compact()
        #expect(try vault.toSettle(key) == left)
        try expectSound(vault)
    }

    @Test("of a secret that was restored, or set where the last one was forgotten, leaves it as an earlier value")
    func givenAgain() throws {
        let vault = try adopted().ours
        let key = try key("d")
        try vault.settle(key)
        let settled = vault.state
        let value = try #require(try vault.earlierValues(of: key).first { $0.attribute == nil })
        try vault.restore(value, of: key)
        #expect(try secret(vault, "d") == "theirs")
        try vault.undo(to: settled, from: vault.state)
        #expect(try vault.item(key)?.lacksSecret == true && vault.conflict(in: key) == nil)
        #expect(try vault.earlierSecrets(of: key) == ["theirs"])
        try vault.forgetEarlierValues(of: key)
        let forgotten = vault.state
        try vault.set(key, secret: Secret(text: "given"))
        try vault.undo(to: forgotten, from: vault.state)
        fails(.noSecret) { _ = try vault.get(key) }
        #expect(try vault.earlierSecrets(of: key) == ["given"])
        try expectSound(vault)
    }

    @Test("of a merge of a copy under replaced keys leaves to settle what was before it; the log calls it a merge")
    func adoption() throws {
        let copies = try adopted()
        let vault = copies.ours
        let log = try vault.log(limit: 2)
        #expect(log.map(\.isMerge) == [true, false])
        try vault.undo(to: log[1].state, from: vault.state, settles: true)
        #expect(try vault.item(try key("d")) == nil && vault.log(limit: 1).map(\.isMerge) == [false])
        // Of two such merges, each leaves a value of one field to settle.
        try copies.theirs.put(try key("a"), "first")
        try vault.merge(copies.theirs, options: accepting)
        let first = vault.state
        copies.tick()
        try copies.theirs.put(try key("a"), "second")
        try vault.merge(copies.theirs, options: accepting)
        let second = vault.state
        #expect(try vault.toSettle(try key("a")) == [.secret: ["first", "second"]])
        for _ in 0..<2 {
            try vault.undo(to: first, from: vault.state, settles: true)
            #expect(try vault.toSettle(try key("a")) == [.secret: ["first"]] && secret(vault, "a") == "0")
            try vault.undo(to: second, from: vault.state, settles: true)
            #expect(try vault.toSettle(try key("a")) == [.secret: ["first", "second"]])
        }
        try vault.undo(to: log[1].state, from: vault.state, settles: true)
        #expect(try vault.conflict(in: try key("a")) == nil && secret(vault, "a") == "0")
        #expect(try Set(vault.earlierSecrets(of: try key("a"))) == ["first", "second"])
        try expectSound(vault)
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
