import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// Section 8.1, requirement by requirement; the property test is in `ConvergenceTests`.
@Suite("A merge")
struct MergeTests {
    private func key(_ account: String, group: String = "") throws -> ItemKey {
        try .genericPassword(service: "s", account: account, group: group)
    }

    private func copies(kept: Int = 3, _ accounts: String...) throws -> Copies {
        try Copies(kept: kept) { vault in
            for account in accounts.isEmpty ? ["a"] : accounts {
                try vault.add(try key(account), secret: Secret(text: "0"), attributes: ["label": "0"])
            }
        }
    }

    @Test("takes a file unchanged if it includes everything (R-8.12)")
    func oneSided() throws {
        let copies = try copies()
        #expect(try copies.ours.merge(copies.theirs).outcome == .same)
        #expect(try copies.ours.merge(copies.ours).outcome == .same)
        try copies.theirs.put(try key("a"), "1")
        let bytes = try copies.memory.bytes("theirs")
        let report = try copies.ours.merge(copies.theirs)
        #expect(report.outcome == .theirs)
        #expect(try report.taken == [key("a")])
        #expect(try copies.memory.bytes("ours") == bytes)
        #expect(try copies.ours.secrets() == [try key("a"): "1"])
        #expect(try copies.theirs.merge(copies.ours).outcome == .same)
        try copies.ours.put(try key("a"), "2")
        #expect(try copies.ours.merge(copies.theirs).outcome == .ours)
        try expectSound(copies.ours)
    }

    @Test(
        "leaves a losing secret as an earlier value, however many of the other copy's are newer (R-6.26)",
        arguments: [false, true])
    func oldLoser(sets: Bool) throws {
        let copies = try copies(kept: 2)
        try copies.theirs.put(try key("a"), "loses")
        for text in ["1", "2", "3", "4"] { try copies.ours.put(try key("a"), text) }
        try copies.ours.merge(copies.theirs)
        #expect(try copies.ours.conflict(in: try key("a")) != nil)
        if sets { try copies.ours.put(try key("a"), "5") } else { try copies.ours.settle(try key("a")) }
        #expect(try copies.ours.conflict(in: try key("a")) == nil)
        func earlier(_ vault: Vault) throws -> [String] {
            try vault.earlierValues(of: try key("a")).map { value in
                let opened = try vault.open(value)
                return opened.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            }
        }
        let left = try earlier(copies.ours)
        #expect(left.contains("loses") && left.count == 2, "\(left)")
        try expectSound(copies.ours)
        try copies.theirs.merge(copies.ours)
        #expect(try earlier(copies.theirs) == left)
        try expectSound(copies.theirs)
    }

    @Test("of several losing secrets, the newest are kept, in their order (R-6.26)")
    func severalLosers() throws {
        let copies = try copies(kept: 2)
        let third = try copies.fork("ours", to: "third")
        try copies.theirs.put(try key("a"), "2")
        try third.put(try key("a"), "3")
        for text in ["4", "5", "6"] { try copies.ours.put(try key("a"), text) }
        try copies.ours.merge(copies.theirs)
        try copies.ours.merge(third)
        #expect(try copies.ours.conflict(in: try key("a"))?.values.count == 2)
        try copies.ours.settle(try key("a"))
        let earlier = try copies.ours.earlierValues(of: try key("a")).map { value in
            let opened = try copies.ours.open(value)
            return opened.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
        #expect(earlier == ["2", "3"], "\(earlier)")
        try expectSound(copies.ours)
    }

    @Test("two items of one key are both noted on the machine that takes the merge, and both can be removed at once")
    func sharedKey() throws {
        let copies = try copies()
        try copies.ours.put(try key("same"), "ours")
        try copies.theirs.put(try key("same"), "theirs")
        #expect(try copies.ours.merge(copies.theirs).hasSharedKeys)
        let taken = try copies.theirs.merge(copies.ours)
        #expect(taken.outcome == .theirs && taken.hasSharedKeys)
        #expect(try !copies.theirs.merge(copies.ours).hasSharedKeys)
        let both = copies.ours
        let before = both.state
        var listed: [ItemKey] = []
        var cursor = try both.items()
        while let item = try cursor.next() { listed.append(item.key) }
        #expect(listed.count == 3)
        try both.transaction { (transaction) throws(VaultError) in
            for key in listed {
                guard try transaction.remove(key) else { throw VaultError(.noSuchItem, "not removed") }
            }
        }
        #expect(try both.secrets().isEmpty)
        try both.undo(to: before, from: both.state)
        #expect(try both.secrets().count == 3)
        // A name that two items had is given back to both.
        let plain: Set = [try key("same"), try key("a")]
        let second = try #require(listed.first { !plain.contains($0) })
        try both.move(second, to: try key("other"))
        try both.undo(to: before, from: both.state)
        #expect(try Set(both.secrets().keys) == Set(listed))
        try both.move(second, to: second)
        try expectSound(both)
    }

    @Test("does not bring back what a compaction erased: such a file is not taken, its changes are (R-8.12)")
    func compacted() throws {
        let copies = try copies("a", "gone")
        let later = try copies.fork("theirs", to: "later")
        try copies.theirs.put(try key("t"), "t")
        try copies.ours.remove(try key("gone"))
        try copies.ours.compact()
        // They have seen all of ours, and still contain the item in earlier states.
        for theirs in [copies.theirs, later] {
            for number in 0..<3 { try theirs.put(try key("a"), "\(number)") }
            if theirs === later { try theirs.compact() }
            #expect(try theirs.merge(copies.ours).outcome == .merged)
            let states = try copies.ours.log().count
            #expect(try copies.ours.merge(theirs).outcome == .merged)
            #expect(try copies.ours.log().count == states + 1)
            #expect(try copies.ours.removedItems().isEmpty)
            #expect(try theirs.removedItems().map(\.item.key) == [key("gone")])
            #expect(try copies.ours.merge(theirs).outcome == .same)
            #expect(try theirs.merge(copies.ours).outcome == .same)
            try expectSound(copies.ours)
        }
        // Compacted with everything in it, such a file is taken as ever.
        #expect(try later.merge(copies.ours).outcome == .same)
        try later.compact()
        try later.put(try key("a"), "last")
        #expect(try copies.ours.merge(later).outcome == .theirs)
        #expect(try copies.ours.removedItems().isEmpty)
    }

    @Test("of two files with equal contents, both sides take the one that was compacted, whatever their generations")
    func unifiedCompacted() throws {
        let copies = try copies("a", "gone")
        try copies.ours.remove(try key("gone"))
        try copies.ours.compact()
        for number in 0..<5 { try copies.theirs.put(try key("a"), "\(number)") }
        let before = try copies.fork("theirs", to: "before")
        #expect(try copies.theirs.merge(copies.ours).outcome == .merged)
        try copies.ours.put(try key("b"), "b")
        #expect(try copies.theirs.merge(copies.ours).outcome == .merged)
        #expect(try copies.ours.merge(before).outcome == .merged)
        #expect(copies.ours.state.generation < copies.theirs.state.generation)
        var options = MergeOptions()
        options.unifiesFiles = true
        #expect(try copies.ours.merge(copies.theirs, options: options).outcome == .same)
        #expect(try copies.theirs.merge(copies.ours, options: options).outcome == .theirs)
        #expect(try copies.theirs.removedItems().isEmpty)
        #expect(try copies.memory.bytes("ours") == copies.memory.bytes("theirs"))
    }

    @Test("of two files with equal contents, both sides can take the same one")
    func unified() throws {
        let copies = try copies()
        try copies.ours.put(try key("a"), "1")
        try copies.theirs.merge(copies.ours)
        try copies.ours.compact()
        var options = MergeOptions()
        #expect(try copies.theirs.merge(copies.ours, options: options).outcome == .same)
        options.unifiesFiles = true
        let outcomes = try [
            copies.theirs.merge(copies.ours, options: options).outcome,
            copies.ours.merge(copies.theirs, options: options).outcome,
        ]
        #expect(Set(outcomes) == [.theirs, .same], "\(outcomes)")
        #expect(try copies.memory.bytes("ours") == copies.memory.bytes("theirs"))
        try expectSound(copies.ours)
    }

    @Test("descends from both branches, also when both were compacted (R-8.13)", arguments: [false, true])
    func descends(isCompacted: Bool) throws {
        let copies = try copies()
        var remembered: [Anchor] = []
        for number in 0..<3 {
            try copies.ours.put(try key("o\(number)"), "o")
            remembered.append(try copies.ours.anchor)
        }
        for number in 0..<5 {
            try copies.theirs.put(try key("t\(number)"), "t")
            remembered.append(try copies.theirs.anchor)
        }
        if isCompacted {
            try copies.ours.compact()
            try copies.theirs.compact()
        }
        try copies.mergeBothWays()
        for anchor in remembered { #expect(try copies.ours.verdict(on: anchor) == .descends) }
        #expect(try copies.ours.secrets().count == 9)
    }

    @Test("gives a field that one side changed to that side")
    func fields() throws {
        let copies = try Copies { vault in
            try vault.add(try key("a"), secret: Secret(text: "0"), attributes: ["label": "0", "notes": "0"])
        }
        try copies.ours.put(try key("a"), "ours")
        try copies.theirs.move(try key("a"), to: try key("renamed"))
        try copies.theirs.update(try key("renamed"), attributes: setting(["label": "theirs"]))
        try copies.mergeBothWays()
        let contents = try #require(try copies.ours.contents(of: try key("renamed")))
        #expect(contents.secret == Array("ours".utf8))
        #expect(contents.attributes == [Array("label".utf8): Array("theirs".utf8), Array("notes".utf8): [0x30]])
        #expect(try copies.ours.conflicts().isEmpty)
    }

    @Test("leaves what loses to settle, and names it", arguments: [0, 3])
    func losers(kept: Int) throws {
        let copies = try copies(kept: kept)
        try copies.ours.set(try key("a"), secret: Secret(text: "ours"), attributes: setting(["label": "ours"]))
        copies.tick()
        try copies.theirs.set(try key("a"), secret: Secret(text: "theirs"), attributes: setting(["label": "theirs"]))
        let report = try copies.mergeBothWays()
        #expect(try copies.ours.secrets() == [try key("a"): "theirs"])
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == (kept == 0 ? [] : ["0"]))
        #expect(try copies.ours.toSettle(try key("a")) == [.secret: ["ours"], .attribute("label"): ["ours"]])
        #expect(report.notes == [.conflict(try key("a"), fields: [.secret, .attribute("label")])])
        #expect(report.hasConflicts)
        #expect(try report.taken == [key("a")])
    }

    @Test("U26: calls nothing taken whose value did not change here")
    func taken() throws {
        let copies = try copies("a", "b", "same")
        try copies.theirs.put(try key("a"), "theirs")
        try copies.theirs.put(try key("same"), "same")
        copies.tick()
        try copies.ours.put(try key("a"), "ours")
        try copies.ours.put(try key("same"), "same")
        try copies.theirs.put(try key("new"), "n")
        let report = try copies.mergeBothWays()
        #expect(report.taken == [] && report.removed == [])
        #expect(try report.added == [key("new")])
        #expect(try report.notes == [.conflict(key("a"), fields: [.secret])], "equal values are no conflict")
        #expect(try copies.ours.secrets()[try key("a")] == "ours")
        #expect(try copies.ours.toSettle(try key("a")) == [.secret: ["theirs"]])
    }

    @Test("leaves keys and places to settle, and settles them by choice")
    func settling() throws {
        let device = Device.random()
        var copies = try copies()
        copies.theirs = try copies.memory.open("theirs", device: device)
        try copies.ours.move(try key("a"), to: try key("o"))
        try copies.ours.update(try key("o"), accessibility: .afterFirstUnlock)
        copies.tick()
        try copies.theirs.move(try key("a"), to: try key("t"))
        try copies.theirs.update(try key("t"), accessibility: .whenUnlockedThisDeviceOnly)
        #expect(try copies.theirs.merge(copies.ours).outcome == .merged)
        let conflict = try #require(try copies.theirs.conflict(in: try key("t")))
        #expect(conflict.values.map(\.field) == [.key, .place])
        #expect(conflict.values[0].key?.account == "o" && conflict.values[1].place?.accessibility == .afterFirstUnlock)
        try copies.theirs.settle(try key("t"), keeping: conflict.values)
        let item = try #require(try copies.theirs.item(try key("o")))
        #expect(item.accessibility == .afterFirstUnlock && !item.needsSettling)
        #expect(try copies.theirs.conflicts().isEmpty)
        try expectSound(copies.theirs)
    }

    @Test("G11: settles by keeping values that lost, the loser is an earlier value, and what is settled stays so")
    func settledStays() throws {
        let copies = try copies()
        try copies.ours.set(try key("a"), secret: Secret(text: "ours"), attributes: setting(["label": "ours"]))
        copies.tick()
        try copies.theirs.set(try key("a"), secret: Secret(text: "theirs"), attributes: setting(["label": "theirs"]))
        try copies.ours.merge(copies.theirs)
        let (third, fourth) = (try copies.fork("ours", to: "third"), try copies.fork("ours", to: "fourth"))
        copies.tick()
        let conflict = try #require(try copies.ours.conflicts().first)
        try copies.ours.settle(conflict.key, keeping: conflict.values)
        #expect(try copies.ours.secrets() == [try key("a"): "ours"])
        #expect(try copies.ours.item(try key("a"))?.attributes.label == "ours")
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == ["0", "theirs"])
        fails(.invalidArgument) { try third.settle(conflict.key, keeping: conflict.values + conflict.values) }
        fails(.invalidArgument) { try copies.ours.settle(conflict.key, keeping: conflict.values) }
        copies.tick()
        try third.update(try key("a"), attributes: setting(["comment": "third"]))
        try copies.ours.merge(third)
        #expect(try copies.ours.conflicts().isEmpty && copies.ours.item(try key("a"))?.attributes.comment == "third")
        // Settling for what is shown: the other value is an earlier one.
        try fourth.settle(try key("a"))
        #expect(try fourth.earlierSecrets(of: try key("a")) == ["0", "ours"] && fourth.conflicts().isEmpty)
        for vault in [copies.ours, third, fourth] { try expectSound(vault) }
    }

    @Test("G1, G2, G5: a removal takes only what it has seen, however old it is, and holds", arguments: [false, true])
    func removals(isCompacted: Bool) throws {
        let copies = try copies("a", "b")
        try copies.ours.remove(try key("a"))
        try copies.ours.remove(try key("b"))
        try copies.theirs.put(try key("b"), "changed")
        try copies.theirs.put(try key("new"), "n")
        copies.tick(400 * 86_400_000)
        if isCompacted {
            try copies.ours.compact()
            try copies.theirs.compact()
        }
        let third = try copies.fork("ours", to: "third")
        let report = try copies.mergeBothWays()
        #expect(try copies.ours.secrets() == [try key("b"): "changed", try key("new"): "n"])
        #expect(try report.notes == [.keptAgainstRemoval(key("b"))])
        // The removal was undone by nobody who had seen it, and removes nothing more elsewhere.
        try third.put(try key("later"), "l")
        try copies.ours.merge(third)
        #expect(try copies.ours.secrets().count == 3 && copies.ours.text(try key("b")) == "changed")
    }

    @Test("G6: what was forgotten does not return from a copy that changed the item")
    func forgotten() throws {
        let copies = try copies()
        try copies.ours.put(try key("a"), "1")
        _ = try copies.theirs.merge(copies.ours)
        copies.tick()
        try copies.ours.forgetEarlierValues(of: try key("a"))
        try copies.theirs.update(try key("a"), attributes: setting(["label": "theirs"]))
        try copies.mergeBothWays()
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == [])
        #expect(try copies.ours.merged().forgotten.count == 1)
        #expect(try copies.ours.item(try key("a"))?.attributes.label == "theirs")
    }

    @Test("forgetting all earlier values includes those that a lower limit hides")
    func forgottenBeyondLimit() throws {
        let vault = try copies().ours
        for text in ["1", "2", "3"] { try vault.put(try key("a"), text) }
        try vault.keepVersions(0)
        #expect(try vault.earlierSecrets(of: try key("a")) == [])
        #expect(try vault.forgetEarlierValues(of: try key("a")) == 3)
        #expect(try vault.forgetEarlierValues(of: try key("a")) == 0)
        try vault.keepVersions(10)
        #expect(try vault.earlierSecrets(of: try key("a")) == [] && vault.item(try key("a"))?.hasPast == false)
        #expect(try vault.verify().problems.isEmpty)
    }

    @Test("names an item of which no secret is left")
    func withoutSecret() throws {
        let copies = try copies()
        try copies.ours.put(try key("a"), "1")
        try copies.ours.forgetEarlierValues(of: try key("a"))
        try copies.ours.remove(try key("a"))
        let (behind, apart) = (try copies.fork("ours", to: "behind"), try copies.fork("ours", to: "apart"))
        try apart.put(try key("apart"), "apart")
        copies.tick()
        try copies.theirs.update(try key("a"), attributes: setting(["label": "theirs"]))
        let report = try copies.ours.merge(copies.theirs)
        #expect(try report.added == [key("a")] && report.notes.contains(.withoutSecret(key("a"))))
        // Others receive the item without its secret, once.
        let receivers: [(Vault, MergeReport.Outcome)] = [(behind, .theirs), (apart, .merged)]
        for (other, outcome) in receivers {
            let received = try other.merge(copies.ours)
            #expect(received.outcome == outcome && received.hasConflicts)
            #expect(try received.added == [key("a")] && received.notes.contains(.withoutSecret(key("a"))))
            #expect(try !other.merge(copies.ours).hasConflicts)
        }
        let item = try #require(try copies.ours.item(try key("a")))
        #expect(item.lacksSecret && item.attributes.label == "theirs")
        fails(.noSecret) { _ = try copies.ours.get(try key("a")) }
        try expectSound(copies.ours)
        try copies.ours.put(try key("a"), "new")
        #expect(try copies.ours.text(try key("a")) == "new")
    }

    @Test("keeps two new items with one key, and gives the key back when it is free (R-6.15)")
    func clash() throws {
        let copies = try copies()
        try copies.ours.put(try key("n"), "ours")
        try copies.theirs.put(try key("n"), "theirs")
        try copies.mergeBothWays()
        let found = try copies.ours.secrets()
        #expect(Set(found.values) == ["0", "ours", "theirs"])
        let other = try #require(found.keys.first { $0.account?.contains("(conflict") == true })
        #expect(other.account?.wholeMatch(of: /n \(conflict [0-9a-f]{8}\)/) != nil)
        let ids = try copies.ours.merged().items.mapValues(\.key)
        let mine = try #require(ids.first { $0.value == other }).key
        let its = try #require(try ids.first { try $0.value == key("n") }).key
        #expect(its.bytes < mine.bytes)
        #expect(try copies.ours.conflicts().isEmpty, "there is nothing to settle")
        // The suffix goes when it is not needed any more.
        let again = try copies.fork("ours", to: "again")
        copies.tick()
        try again.remove(try key("n"))
        try copies.ours.put(try key("later"), "l")
        try copies.ours.merge(again)
        #expect(Set(try copies.ours.secrets().keys) == [try key("a"), try key("n"), try key("later")])
        try expectSound(copies.ours)
    }

    @Test("N15: an item that one side moved to another group is moved, and leaves nothing to settle")
    func moved() throws {
        let copies = try copies()
        try copies.ours.move(try key("a"), to: try key("a", group: "work"))
        try copies.theirs.update(try key("a"), attributes: setting(["label": "theirs"]))
        let report = try copies.mergeBothWays()
        #expect(!report.hasConflicts)
        #expect(try copies.ours.secrets() == [try key("a", group: "work"): "0"])
        #expect(try copies.ours.item(try key("a", group: "work"))?.attributes.label == "theirs")
    }

    @Test("gives a large attribute of an item that one side moved one record, to which an earlier secret refers too")
    func movedLarge() throws {
        let copies = try Copies { vault in
            let photo = Attribute("photo", [UInt8](repeating: 1, count: 9000), flags: [.binary])
            try vault.add(try key("a"), secret: Secret(text: "0"), attributes: Attributes([photo]))
        }
        try copies.ours.move(try key("a"), to: try key("a", group: "work"))
        try copies.ours.put(try key("a", group: "work"), "ours")
        copies.tick()
        try copies.theirs.put(try key("a"), "theirs")
        try copies.mergeBothWays()
        for name in ["ours", "theirs-2"] {
            let vault = try copies.memory.open(name)
            try vault.compact()
            #expect(try frames(copies.memory.bytes(name)).count { $0.type == .record && $0.range.count > 9000 } == 1)
        }
    }

    @Test("N1: never makes a value readable in a group in which it was not set")
    func readers() throws {
        let copies = try Copies { vault in
            for account in ["a", "b"] {
                try vault.add(try key(account, group: "admin"), secret: Secret(text: "0"), attributes: ["notes": "0"])
            }
            _ = try vault.addSlot(try Fast.rawKey(7), grantedGroups: ["ci"], createsGroups: true)
        }
        for account in ["a", "b"] {
            try copies.ours.move(try key(account, group: "admin"), to: try key(account, group: "ci"))
        }
        copies.tick()
        try copies.theirs.put(try key("a", group: "admin"), "admin only")
        try copies.theirs.update(try key("b", group: "admin"), attributes: setting(["notes": "admin only"]))
        try copies.mergeBothWays()
        // The new secret stays in its group, and the place that was set is left to settle.
        #expect(try copies.ours.text(try key("a", group: "admin")) == "admin only")
        #expect(try copies.ours.toSettle(try key("a", group: "admin"))[.place]?.count == 1)
        // The sealed attribute is the owners' until somebody settles it.
        #expect(try copies.ours.text(try key("b", group: "ci")) == "0")
        #expect(try copies.ours.toSettle(try key("b", group: "ci"))[.attribute("notes")] == ["admin only"])
        let scoped = try copies.memory.open("ours", with: try Fast.rawKey(7))
        #expect(try scoped.contents(of: try key("b", group: "ci"))?.attributes[Array("notes".utf8)] == [0x30])
        fails(.notPermitted) { _ = try scoped.get(try key("a", group: "admin")) }
        fails(.notPermitted) { _ = try scoped.conflict(in: try key("b", group: "ci")) }
        #expect(try scoped.item(try key("b", group: "ci"))?.needsSettling == true)
    }

    @Test("makes equal merges on two machines equal, so that no further one is needed (R-8.12)")
    func equal() throws {
        let copies = try copies()
        try copies.ours.put(try key("o"), "o")
        try copies.theirs.put(try key("t"), "t")
        copies.memory.files.put("second", try copies.memory.bytes("ours"))
        let second = try copies.memory.open("second")
        try copies.ours.merge(copies.theirs)
        try copies.theirs.merge(second)
        let before = (try copies.memory.bytes("ours"), try copies.memory.bytes("theirs"))
        #expect(try copies.ours.merge(copies.theirs).outcome == .same)
        #expect(try copies.theirs.merge(copies.ours).outcome == .same)
        #expect(try copies.memory.bytes("ours") == before.0 && copies.memory.bytes("theirs") == before.1)
        // Each goes on from its own file, and is followed by the other.
        try copies.theirs.put(try key("later"), "l")
        #expect(try copies.ours.merge(copies.theirs).outcome == .theirs)
        #expect(try copies.ours.merged() == copies.theirs.merged())
    }

    @Test("G9: a copy that fell behind by thousands of changes of many machines merges as ever")
    func farBehind() throws {
        let copies = try copies()
        for number in 0..<50 {
            let other = try copies.fork("theirs", to: "other")
            for round in 0..<5 { try other.put(try key("a"), "\(number) \(round)") }
            try other.compact()
            try copies.memory.copy("other", to: "theirs")
        }
        try copies.ours.put(try key("o"), "o")
        let theirs = try copies.memory.open("theirs")
        #expect(try copies.ours.merge(theirs).outcome == .merged)
        #expect(try copies.ours.secrets() == [try key("a"): "49 4", try key("o"): "o"])
        try expectSound(copies.ours)
    }

    @Test("G4: does not bring a removed slot back, and leaves no key in use that it held", arguments: [true, false])
    func removedSlot(isOurs: Bool) throws {
        let copies = try copies()
        let scoped = try copies.ours.addSlot(try Fast.rawKey(7), grantedGroups: [""]).id
        _ = try copies.theirs.merge(copies.ours)
        let groups = Set(try copies.ours.keyring.groups.map(\.number))
        copies.tick()
        try copies.ours.removeSlot(scoped)
        try copies.theirs.put(try key("t"), "t")
        // Also where the other side has given it other factors meanwhile.
        try copies.theirs.changeFactors(of: scoped, to: try Fast.rawKey(8))
        let (first, second) = isOurs ? (copies.ours, copies.theirs) : (copies.theirs, copies.ours)
        #expect(try first.merge(second).outcome == .merged)
        #expect(try !first.slots().contains { $0.id == scoped })
        #expect(try groups.isDisjoint(with: Set(first.keyring.groups.map(\.number))))
        #expect(try first.secrets()[try key("t")] == "t")
        try expectSound(first)
    }

    @Test("names the slots that the other file brings in the place of ours")
    func slotsOfTheirFile() throws {
        let copies = try Copies { vault in try vault.put(try key("a"), "a") }
        let scoped = try copies.ours.addSlot(try Fast.rawKey(7), name: "ci", grantedGroups: [""]).id
        #expect(try copies.theirs.merge(copies.ours).notes == [.slotTaken(scoped, name: "ci")])
        try copies.ours.put(try key("b", group: "one"), "b")
        try copies.ours.setGrants(of: scoped, to: ["one"])
        try copies.ours.renameSlot(scoped, to: "build")
        let changed = try copies.theirs.merge(copies.ours)
        #expect(changed.outcome == .theirs)
        #expect(changed.notes.contains(.slotLostGroups(scoped, name: "build", groups: [""])))
        #expect(changed.notes.contains(.slotGainedGroups(scoped, name: "build", groups: ["one"])))
        #expect(changed.notes.contains(.slotChanged(scoped, name: "build")))
        try copies.ours.removeSlot(scoped)
        #expect(try copies.theirs.merge(copies.ours).notes == [.slotRemoved(scoped, name: "build")])
    }

    @Test("takes a slot of one side, and each grant by itself")
    func otherSlot() throws {
        let copies = try Copies { vault in
            for group in ["", "one", "two"] { try vault.put(try key("a", group: group), group) }
        }
        let scoped = try copies.ours.addSlot(try Fast.rawKey(7), name: "new", grantedGroups: [""]).id
        _ = try copies.theirs.merge(copies.ours)
        try copies.ours.setGrants(of: scoped, to: ["", "one"])
        try copies.theirs.setGrants(of: scoped, to: ["two"])
        let added = try copies.theirs.addSlot(try Fast.rawKey(8), name: "second").id
        let report = try copies.mergeBothWays()
        #expect(try copies.ours.slots().first { $0.id == scoped }?.groups == ["one", "two"])
        #expect(report.notes.contains(.slotTaken(added, name: "second")))
        #expect(report.notes.contains(.slotLostGroups(scoped, name: "new", groups: [""])))
        #expect(report.notes.contains(.slotGainedGroups(scoped, name: "new", groups: ["two"])))
        let opened = try copies.memory.open("ours", with: try Fast.rawKey(7))
        #expect(try opened.text(try key("a", group: "one")) == "one")
        #expect(try opened.text(try key("a", group: "two")) == "two")
        fails(.notPermitted) { _ = try opened.get(try key("a")) }
        #expect(try copies.memory.open("ours", with: try Fast.rawKey(8)).secrets().count == 3)
    }

    @Test("revoked: a revocation on one side holds against a change of the group's key on the other")
    func revoked() throws {
        let copies = try Copies { vault in try vault.put(try key("a", group: "g"), "0") }
        let scoped = try copies.ours.addSlot(try Fast.rawKey(7), grantedGroups: ["g"]).id
        _ = try copies.theirs.merge(copies.ours)
        try copies.ours.put(try key("b", group: "one"), "b")
        try copies.ours.setGrants(of: scoped, to: ["one"])
        _ = try copies.theirs.addSlot(try Fast.rawKey(8), grantedGroups: ["g"])
        try copies.theirs.put(try key("b", group: "g"), "theirs")
        let held = try copies.memory.open("theirs", with: try Fast.rawKey(7))
        #expect(try held.text(try key("b", group: "g")) == "theirs")
        try copies.mergeBothWays()
        let revoked = try copies.memory.open("ours", with: try Fast.rawKey(7))
        fails(.notPermitted) { _ = try revoked.get(try key("b", group: "g")) }
        #expect(try copies.memory.open("ours", with: try Fast.rawKey(8)).text(try key("b", group: "g")) == "theirs")
        let numbers = Set(try copies.theirs.keyring.groups.filter { $0.name == "g" }.map(\.number))
        #expect(try numbers.isDisjoint(with: copies.ours.keyring.groups.map(\.number)), "its key is a new one")
    }

    @Test("says that both changed a slot, and whose change is in force, on either side and once")
    func changedOnBoth() throws {
        let copies = try copies()
        let slot = try #require(try copies.ours.slots().first).id
        try copies.ours.renameSlot(slot, to: "ours")
        copies.tick()
        try copies.theirs.renameSlot(slot, to: "theirs")
        let report = try copies.ours.merge(copies.theirs)
        #expect(report.notes == [.slotChangedInBoth(slot, name: "theirs", isOurs: false)])
        #expect(try copies.ours.slots().first?.name == "theirs")
        #expect(try copies.theirs.merge(copies.ours).notes == [])
    }

    @Test("names a slot that can now read more before the items, of which only the first 50 notes may be shown")
    func newReaderBeforeItems() throws {
        let accounts = (0..<60).map { "\($0)" }
        let copies = try Copies { vault in
            for account in accounts { try vault.put(try key(account, group: "ci"), "0") }
        }
        let slot = try copies.ours.addSlot(try Fast.rawKey(9), name: "robot", grantedGroups: ["ci"]).id
        for account in accounts { try copies.ours.put(try key(account, group: "ci"), "ours") }
        copies.tick()
        for account in accounts { try copies.theirs.put(try key(account, group: "ci"), "theirs") }
        let report = try copies.ours.merge(copies.theirs)
        #expect(report.notes.count > 50)
        #expect(report.notes.prefix(50).contains(.slotReadsMore(slot, name: "robot", groups: ["ci"])))
    }

    @Test("tells where a secret to settle was set, if the item is elsewhere, also after the item was changed")
    func otherPlace() throws {
        let copies = try Copies { vault in
            try vault.add(try key("a", group: "private"), secret: Secret(text: "first"), attributes: [:])
        }
        try copies.ours.put(try key("a", group: "private"), "in private")
        copies.tick()
        try copies.theirs.move(try key("a", group: "private"), to: try key("a", group: "shared"))
        try copies.theirs.put(try key("a", group: "shared"), "in shared")
        _ = try copies.ours.merge(copies.theirs)
        let shared = try key("a", group: "shared")
        let conflict = try #require(try copies.ours.conflict(in: shared))
        #expect(conflict.place.group == "shared")
        #expect(conflict.values.map(\.field) == [.secret])
        #expect(conflict.values[0].otherPlace?.group == "private")
        try copies.ours.update(shared, attributes: AttributeChanges(set: ["label": "changed"]))
        let later = try #require(try copies.ours.conflict(in: shared))
        #expect(later.values.map(\.field) == [.secret] && later.values[0].otherPlace?.group == "private")
        // Where the item is now, there is nothing to ask.
        try copies.ours.move(shared, to: try key("a", group: "private"))
        let back = try #require(try copies.ours.conflict(in: try key("a", group: "private")))
        #expect(back.values.map(\.field) == [.secret] && back.values[0].otherPlace == nil)
    }

    @Test("what is left to settle comes back with an item that was removed, and stays in merges with who saw that")
    func broughtBack() throws {
        for kept in [0, 3] {
            let copies = try Copies(kept: kept) { vault in
                try vault.add(try key("a"), secret: Secret(text: "first"), attributes: ["label": "l"])
            }
            try copies.ours.set(
                try key("a"), secret: Secret(text: "ours"), attributes: AttributeChanges(set: ["label": "our label"]))
            copies.tick()
            try copies.theirs.set(
                try key("a"), secret: Secret(text: "theirs"), attributes: AttributeChanges(set: ["label": "its label"]))
            _ = try copies.ours.merge(copies.theirs)
            func values() throws -> [String] {
                try copies.ours.conflict(in: try key("a"))?.values.map { value in
                    guard let secret = value.value else { return "unreadable" }
                    return secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                } ?? []
            }
            let before = try values()
            #expect(before.sorted() == ["our label", "ours"], "\(before)")
            #expect(try copies.ours.remove(try key("a")))
            _ = try copies.theirs.merge(copies.ours)
            #expect(try copies.theirs.get(try key("a")) == nil)
            #expect(try copies.ours.bringBack(try copies.ours.removedItems()) == 1)
            #expect(try values() == before)
            try expectSound(copies.ours)
            _ = try copies.theirs.merge(copies.ours)
            #expect(try copies.theirs.conflict(in: try key("a"))?.values.count == 2)
            #expect(try copies.ours.merge(copies.theirs).outcome == .same)
            try copies.ours.settle(try key("a"))
            #expect(try values() == [])
        }
    }

    @Test("two items that got one key are named, in a dry run too, and only in the merge that brings them together")
    func sharedKeys() throws {
        let copies = try copies()
        for (vault, text) in [(copies.ours, "ours"), (copies.theirs, "theirs")] {
            try vault.add(try key("same"), secret: Secret(text: text))
            copies.tick()
        }
        func shared(_ report: MergeReport) -> [MergeReport.Note] {
            report.notes.filter { if case .sharedKey = $0 { true } else { false } }
        }
        var options = MergeOptions()
        options.isRehearsal = true
        let dry = shared(try copies.ours.merge(copies.theirs, options: options))
        let report = try copies.ours.merge(copies.theirs)
        #expect(report.hasSharedKeys && shared(report).count == 1 && shared(report) == dry)
        guard case .sharedKey(let one, let other)? = shared(report).first else { return }
        #expect(one == (try key("same")) && other != one)
        let texts = try [one, other].map { key in
            try copies.ours.get(key)?.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
        #expect(Set(texts) == ["ours", "theirs"])
        try copies.ours.add(try key("later"), secret: Secret(text: "later"))
        // What takes the other copy's place shows that one's user the name for the first time.
        #expect(try copies.theirs.merge(copies.ours).hasSharedKeys)
        #expect(try !copies.theirs.merge(copies.ours).hasSharedKeys)
    }

    @Test("G8: takes the name and factors of the side that changed them last, under the slot's id")
    func changedSlot() throws {
        let copies = try copies()
        let slot = try #require(try copies.ours.slots().first).id
        try copies.ours.put(try key("o"), "o")
        try copies.theirs.renameSlot(slot, to: "renamed")
        try copies.theirs.changeFactors(to: try Fast.rawKey(9))
        let theirs = try copies.memory.open("theirs", with: try Fast.rawKey(9))
        let report = try copies.ours.merge(theirs)
        #expect(report.notes == [.slotChanged(slot, name: "renamed")])
        #expect(try copies.ours.slots().map(\.id) == [slot])
        fails(.noSlotOpens) { _ = try copies.memory.open("ours") }
        #expect(try copies.memory.open("ours", with: try Fast.rawKey(9)).secrets().count == 2)
        // The handle goes on too.
        try copies.ours.put(try key("p"), "p")
        try copies.ours.compact()
        try expectSound(copies.ours)
    }

    @Test("R-8.20: completes a merge that leaves no full slot by adding the one at hand again")
    func noSlot() throws {
        let copies = try copies()
        let first = try #require(try copies.ours.slots().first).id
        let second = try copies.ours.addSlot(try Fast.rawKey(9)).id
        _ = try copies.theirs.merge(copies.ours)
        let theirs = try copies.memory.open("theirs", with: try Fast.rawKey(9))
        try theirs.removeSlot(first)
        try copies.ours.removeSlot(second)
        var rehearsal = MergeOptions()
        rehearsal.isRehearsal = true
        #expect(try copies.ours.merge(theirs, options: rehearsal).notes == [.slotAddedAgain(first, name: "")])
        let report = try copies.ours.merge(theirs)
        #expect(report.notes == [.slotAddedAgain(first, name: "")])
        #expect(try copies.ours.slots().map(\.id) == [first])
        #expect(try copies.memory.open("ours").secrets().count == 1)
        // The other side follows, though it had removed that slot.
        let again = try copies.fork("ours", to: "again")
        #expect(try theirs.merge(again).outcome == .theirs)
        try expectSound(copies.ours)
    }

    @Test("R-8.20: two merges that each added another slot again lead to both slots, which are named")
    func slotsOfBoth() throws {
        let copies = try copies()
        let first = try #require(try copies.ours.slots().first).id
        let second = try copies.ours.addSlot(try Fast.rawKey(9)).id
        _ = try copies.theirs.merge(copies.ours)
        let theirs = try copies.memory.open("theirs", with: try Fast.rawKey(9))
        try theirs.removeSlot(first)
        try copies.ours.removeSlot(second)
        let before = try copies.fork("ours", to: "before")
        #expect(try copies.ours.merge(theirs).notes == [.slotAddedAgain(first, name: "")])
        #expect(try theirs.merge(before).notes == [.slotAddedAgain(second, name: "")])
        let report = try copies.ours.merge(theirs)
        #expect(report.hasSlotsOfBoth && report.notes.contains(.slotTaken(second, name: "")))
        for slot in [first, second] { #expect(report.notes.contains(.slotsOfBoth(slot, name: ""))) }
        #expect(try Set(copies.ours.slots().map(\.id)) == [first, second])
        try copies.ours.removeSlot(second)
        fails(.noSlotOpens) { _ = try copies.memory.open("ours", with: try Fast.rawKey(9)) }
        try expectSound(copies.ours)
    }

    @Test("R-8.20: a slot that two copies of one side added again is not called added where it already is")
    func addedAgainTwice() throws {
        let copies = try copies()
        let first = try #require(try copies.ours.slots().first).id
        let second = try copies.ours.addSlot(try Fast.rawKey(9)).id
        _ = try copies.theirs.merge(copies.ours)
        let theirs = try copies.memory.open("theirs", with: try Fast.rawKey(9))
        try theirs.removeSlot(first)
        try copies.ours.removeSlot(second)
        let other = try copies.fork("ours", to: "other")
        #expect(try copies.ours.merge(theirs).notes == [.slotAddedAgain(first, name: "")])
        #expect(try other.merge(theirs).notes == [.slotAddedAgain(first, name: "")])
        let (oursBefore, otherBefore) = (
            try copies.fork("ours", to: "ours-2"), try copies.fork("other", to: "other-2")
        )
        // One of the two takes the other's, because that was added later.
        let reports = [try copies.ours.merge(otherBefore), try other.merge(oursBefore)]
        for report in reports { #expect(!report.notes.contains(.slotTaken(first, name: "")), "\(report.notes)") }
        #expect(reports.count { $0.notes.contains(.slotChanged(first, name: "")) } == 1)
        for vault in [copies.ours, other] { #expect(try vault.slots().map(\.id) == [first]) }
        try expectSound(copies.ours)
    }

    @Test("fails if each copy was opened with a slot that the other one removed, and says with which one it does not")
    func slotsInUseGone() throws {
        let copies = try copies()
        let first = try #require(try copies.ours.slots().first).id
        let second = try copies.ours.addSlot(try Fast.rawKey(9)).id
        try copies.ours.addSlot(try Fast.rawKey(11))
        _ = try copies.theirs.merge(copies.ours)
        let theirs = try copies.memory.open("theirs", with: try Fast.rawKey(9))
        try theirs.removeSlot(first)
        try copies.ours.removeSlot(second)
        let before = try copies.memory.bytes("ours")
        fails(.noSlotOpens, "open this copy with a slot that both copies have") { _ = try copies.ours.merge(theirs) }
        var rehearsal = MergeOptions()
        rehearsal.isRehearsal = true
        fails(.noSlotOpens) { _ = try copies.ours.merge(theirs, options: rehearsal) }
        #expect(try copies.memory.bytes("ours") == before)
        let ours = try copies.memory.open("ours", with: try Fast.rawKey(11))
        #expect(try ours.merge(theirs).outcome == .merged)
        #expect(try ours.slots().count == 1)
        try expectSound(ours)
    }

    @Test("does not blame the other copy if the slot that opened ours was removed from ours meanwhile")
    func ownSlotGone() throws {
        let copies = try copies()
        let first = try #require(try copies.ours.slots().first).id
        try copies.ours.addSlot(try Fast.rawKey(9))
        _ = try copies.theirs.merge(copies.ours)
        let ours = try copies.memory.open("ours", with: try Fast.rawKey(9))
        try ours.removeSlot(first)
        try copies.theirs.put(try key("t"), "t")
        fails(.noSlotOpens, "has since been removed: open this copy") { _ = try copies.ours.merge(copies.theirs) }
        #expect(try ours.merge(copies.theirs).outcome == .merged)
        #expect(try ours.secrets().count == 2)
    }

    @Test("makes one of two groups with one name (R-8.17)")
    func groups() throws {
        let copies = try copies()
        try copies.ours.put(try key("o", group: "work"), "o")
        try copies.theirs.put(try key("t", group: "work"), "t")
        try copies.mergeBothWays()
        #expect(try copies.ours.accessGroups() == ["", "work"] && copies.ours.keyring.groups.count == 2)
        #expect(try copies.ours.secrets().count == 3)
    }

    @Test("refuses another vault, a scoped slot and a locked vault, and changes nothing then")
    func refused() throws {
        let copies = try copies()
        try copies.ours.addSlot(try Fast.rawKey(7), grantedGroups: [""])
        try copies.theirs.put(try key("t"), "t")
        let before = (try copies.memory.bytes("ours"), try copies.memory.bytes("theirs"))
        let other = try copies.memory.create("other")
        fails(.invalidArgument) { try copies.ours.merge(other) }
        let scoped = try copies.memory.open("ours", with: try Fast.rawKey(7))
        fails(.notPermitted) { try scoped.merge(copies.theirs) }
        fails(.notPermitted) { try copies.theirs.merge(scoped) }
        copies.theirs.lock()
        fails(.locked) { try copies.ours.merge(copies.theirs) }
        #expect(try copies.memory.bytes("ours") == before.0 && copies.memory.bytes("theirs") == before.1)
    }

    @Test("takes the setting of earlier values that was made last")
    func settings() throws {
        let copies = try copies()
        try copies.ours.keepVersions(9)
        try copies.theirs.put(try key("t"), "t")
        try copies.mergeBothWays()
        #expect(copies.ours.keptVersions == 9)
    }

    @Test("merges large attributes and earlier values")
    func rich() throws {
        let copies = try Copies { vault in
            var attributes: Attributes = ["label": "l", "notes": "n"]
            attributes["photo"] = [UInt8](repeating: 1, count: 9000)
            try vault.add(try key("a"), secret: Secret(text: "0"), attributes: attributes)
            try vault.put(try key("a"), "1")
        }
        var change = AttributeChanges()
        change.set["photo"] = [UInt8](repeating: 2, count: 7000)
        try copies.ours.update(try key("a"), attributes: change)
        try copies.ours.put(try key("a"), "2")
        copies.tick()
        change.set["photo"] = [UInt8](repeating: 3, count: 8000)
        try copies.theirs.update(try key("a"), attributes: change)
        try copies.mergeBothWays()
        #expect(try copies.ours.secrets() == [try key("a"): "2"])
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == ["0", "1"])
        #expect(try copies.ours.contents(of: try key("a"))?.attributes[Array("photo".utf8)]?.first == 3)
        let lost = try #require(try copies.ours.conflict(in: try key("a"))?.values.first)
        #expect(lost.value?.array == [UInt8](repeating: 2, count: 7000))
    }

    @Test("of an item of another device, renames it, removes it, and takes one whole record where both changed it")
    func otherDevice() throws {
        let file = Device.random().fileContents()
        let device = { () throws in try Device(fileContents: file.copy()) }
        let copies = try Copies(device: try device()) { vault in
            for account in ["a", "b", "c"] {
                try vault.add(
                    try key(account), secret: Secret(text: "0"), attributes: ["notes": "0"],
                    accessibility: .whenUnlockedThisDeviceOnly)
            }
        }
        // Theirs has no device's secret.
        try copies.theirs.move(try key("a"), to: try key("renamed"))
        try copies.theirs.remove(try key("b"))
        try copies.theirs.update(try key("c"), attributes: setting(["label": "theirs"]))
        copies.tick()
        try copies.ours.set(try key("c"), secret: Secret(text: "ours"), attributes: setting(["notes": "ours"]))
        let third = try copies.fork("theirs", to: "third")
        let (before, mine) = (try copies.memory.bytes("theirs"), try copies.fork("ours", to: "mine"))
        #expect(try third.merge(mine).outcome == MergeReport.Outcome.merged)
        try copies.ours.merge(copies.theirs)
        #expect(try copies.memory.bytes("theirs") == before)
        for vault in [copies.ours, try copies.memory.open("third", device: try device())] {
            #expect(try vault.secrets() == [try key("c"): "ours", try key("renamed"): "0"])
            let contents = try #require(try vault.contents(of: try key("c")))
            #expect(contents.attributes[Array("notes".utf8)] == Array("ours".utf8))
            #expect(contents.attributes[Array("label".utf8)] == Array("theirs".utf8))
            try expectSound(vault)
        }
        #expect(try copies.ours.merged() == copies.memory.open("third", device: try device()).merged())
    }

    @Test("rehearses without a write or the lock, and says what it would do")
    func rehearsal() throws {
        let copies = try copies("a", "b")
        try copies.ours.put(try key("a"), "ours")
        copies.tick()
        try copies.theirs.put(try key("a"), "theirs")
        try copies.theirs.remove(try key("b"))
        let bytes = try copies.memory.bytes("ours")
        var options = MergeOptions()
        options.isRehearsal = true
        let rehearsed = try copies.ours.merge(copies.theirs, options: options)
        #expect(try copies.memory.bytes("ours") == bytes)
        var report = try copies.ours.merge(copies.theirs)
        report.isRehearsal = true
        #expect(rehearsed == report)
        #expect(try report.removed == [key("b")])
    }

    @Test("compares copies without making the merge, even in memory, and so even if the merge could not be made")
    func comparison() throws {
        let copies = try copies()
        var comparing = MergeOptions()
        comparing.onlyCompares = true
        func expect(_ outcome: MergeReport.Outcome, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let bytes = try copies.memory.bytes("ours")
            var expected = MergeReport(outcome)
            expected.isRehearsal = true
            let report = try copies.ours.merge(copies.theirs, options: comparing)
            #expect(report == expected, sourceLocation: sourceLocation)
            #expect(try copies.memory.bytes("ours") == bytes, sourceLocation: sourceLocation)
        }
        try expect(.same)
        try copies.theirs.put(try key("a"), "theirs")
        try expect(.theirs)
        copies.tick()
        try copies.ours.put(try key("a"), "ours")
        try expect(.merged)
        // Without its newest commit, which is damaged, ours has no changes of its own.
        var bytes = try copies.memory.bytes("ours")
        bytes[bytes.count - 40] ^= 1
        copies.memory.files.put("damaged", bytes)
        let damaged = try copies.memory.open("damaged")
        var rehearsal = MergeOptions()
        rehearsal.isRehearsal = true
        fails(.damagedTail) { _ = try damaged.merge(copies.theirs, options: rehearsal) }
        #expect(try damaged.merge(copies.theirs, options: comparing).outcome == .theirs)
        #expect(try copies.ours.merge(copies.theirs).outcome == .merged)
        try expect(.ours)
    }

    @Test("rehearses that an item keeps what our copy shows, as the merge then does (R-8.13)")
    func rehearsedRenewal() throws {
        let copies = try copies("a", "b")
        try copies.theirs.update(try key("a"), attributes: setting(["label": "L"]))
        copies.tick()
        try copies.ours.put(try key("a"), "new")
        let third = try copies.fork("ours", to: "third")
        copies.tick()
        try third.remove(try key("a"))
        try copies.theirs.merge(third)
        #expect(try copies.theirs.text(try key("a")) == "0")
        copies.tick()
        let bytes = try copies.memory.bytes("ours")
        var options = MergeOptions()
        (options.keepsNewerValues, options.onlyCompares) = (true, true)
        #expect(try copies.ours.merge(copies.theirs, options: options).outcome == .merged)
        (options.onlyCompares, options.isRehearsal) = (false, true)
        let rehearsed = try copies.ours.merge(copies.theirs, options: options)
        #expect(try copies.memory.bytes("ours") == bytes)
        options.isRehearsal = false
        var report = try copies.ours.merge(copies.theirs, options: options)
        report.isRehearsal = true
        #expect(rehearsed == report, "\(rehearsed)")
        #expect(try copies.ours.text(try key("a")) == "new")
    }

    @Test(
        "R-8.13: a removal does not take what is left to settle from an item that another change keeps",
        arguments: [true, false])
    func openValuesAgainstRemoval(isMergedByRemover: Bool) throws {
        let copies = try Copies { vault in
            try vault.add(try key("a"), secret: Secret(text: "0"), attributes: ["notes": "0"])
        }
        for (vault, text) in [(copies.ours, "ours"), (copies.theirs, "theirs")] {
            try vault.set(try key("a"), secret: Secret(text: text), attributes: setting(["notes": text]))
            copies.tick()
        }
        try copies.ours.merge(copies.theirs)
        try copies.theirs.merge(copies.ours)
        try copies.theirs.remove(try key("a"))
        copies.tick()
        try copies.ours.update(try key("a"), attributes: setting(["label": "L"]))
        let expected = try copies.ours.toSettle(try key("a"))
        #expect(expected == [.secret: ["ours"], .attribute("notes"): ["ours"]])
        copies.tick()

        let (into, from) = isMergedByRemover ? (copies.theirs, copies.ours) : (copies.ours, copies.theirs)
        var options = MergeOptions()
        (options.keepsNewerValues, options.isRehearsal) = (true, true)
        let rehearsed = try into.merge(from, options: options)
        options.isRehearsal = false
        var report = try into.merge(from, options: options)
        report.isRehearsal = true
        #expect(rehearsed == report, "\(rehearsed)")
        #expect(report.notes.contains(.conflict(try key("a"), fields: [.secret, .attribute("notes")])), "\(report)")
        #expect(report.notes.contains(.keptAgainstRemoval(try key("a"))), "\(report)")
        #expect(try from.merge(into, options: options).outcome == .theirs)
        for vault in [into, from] {
            #expect(try vault.toSettle(try key("a")) == expected)
            #expect(try vault.text(try key("a")) == "theirs" && vault.item(try key("a"))?.attributes.label == "L")
            try expectSound(vault)
        }
        // Who has seen all of it removes all of it.
        try into.remove(try key("a"))
        try from.merge(into, options: options)
        #expect(try from.item(try key("a")) == nil)
    }

    @Test("R-8.13: a removal does not settle a value that another change of the item still names")
    func openValueOfOtherSibling() throws {
        let copies = try Copies { vault in
            try vault.add(try key("a"), secret: Secret(text: "0"), attributes: ["comment": "0"])
        }
        try copies.theirs.update(try key("a"), attributes: setting(["comment": "theirs"]))
        let remover = try copies.fork("theirs", to: "third")
        try copies.theirs.update(try key("a"), attributes: setting(["label": "L"]))
        copies.tick()
        try copies.ours.update(try key("a"), attributes: setting(["comment": "ours"]))
        try copies.ours.merge(copies.theirs)
        #expect(try copies.ours.toSettle(try key("a")) == [.attribute("comment"): ["theirs"]])
        try remover.remove(try key("a"))
        var options = MergeOptions()
        options.keepsNewerValues = true
        let report = try copies.ours.merge(remover, options: options)
        #expect(try copies.ours.toSettle(try key("a")) == [.attribute("comment"): ["theirs"]])
        let settled = MergeReport.Note.settled(try key("a"))
        #expect(!report.notes.contains(settled), "\(report)")
        try expectSound(copies.ours)
    }

    @Test(
        "R-8.13: whoever merges, neither value of an unsettled secret is lost to a removal", arguments: [true, false])
    func bothOpenValues(isMergedByRemover: Bool) throws {
        let copies = try copies("a")
        try copies.ours.put(try key("a"), "ours")
        copies.tick()
        try copies.theirs.put(try key("a"), "theirs")
        try copies.ours.merge(copies.theirs)
        try copies.theirs.remove(try key("a"))
        let (into, from) = isMergedByRemover ? (copies.theirs, copies.ours) : (copies.ours, copies.theirs)
        var options = MergeOptions()
        options.keepsNewerValues = true
        for _ in 0..<2 {
            try into.merge(from, options: options)
            try from.merge(into, options: options)
        }
        for vault in [into, from] {
            let shown = try #require(try vault.text(try key("a")))
            #expect(try vault.toSettle(try key("a"))[.secret]?.union([shown]) == ["ours", "theirs"], "shown: \(shown)")
            try expectSound(vault)
        }
        #expect(try into.merge(from, options: options).outcome == .same)
    }

    @Test(
        "a value that the other side had moved to another group is an earlier value of that group once it is settled",
        arguments: [true, false], [8, 5000])
    func groupOfSettledValue(isSettledBySetting: Bool, size: Int) throws {
        let shared = try key("a", group: "ci")
        func contents(_ text: String) -> Attributes {
            var attributes: Attributes = [:]
            attributes["notes"] = [UInt8](repeating: text.utf8.first ?? 0, count: size)
            return attributes
        }
        let copies = try Copies { vault in
            try vault.add(shared, secret: Secret(text: "0"), attributes: contents("0"))
        }
        for (vault, text) in [(copies.theirs, "theirs"), (copies.ours, "ours")] {
            try vault.set(shared, secret: Secret(text: text), attributes: setting(contents(text)))
            copies.tick()
        }
        // Our file has the records from before the move.
        try copies.ours.merge(copies.theirs)
        try copies.theirs.move(shared, to: try key("a", group: "private"))
        _ = try copies.ours.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"], createsGroups: true)
        copies.tick()
        try copies.ours.merge(copies.theirs)
        let conflict = try #require(try copies.ours.conflicts().first)
        #expect(conflict.values.contains { $0.field == .secret && $0.otherPlace?.group == "private" }, "\(conflict)")
        if isSettledBySetting {
            try copies.ours.set(conflict.key, secret: Secret(text: "new"), attributes: setting(contents("new")))
        } else {
            try copies.ours.settle(conflict.key)
        }
        let earlier = try copies.ours.earlierValues(of: conflict.key)
        #expect(earlier.count >= 2)
        for value in earlier {
            let opened = try copies.ours.open(value)
            let isTheirs = opened.secret.array.first == UInt8(ascii: "t")
            #expect(opened.key.group == (isTheirs ? "private" : "ci"), "\(value.attribute ?? "secret")")
        }
        try expectSound(copies.ours)
    }

    @Test("R-8.21: completes a merge whose item would exceed a limit by a change, which others follow")
    func overLimit() throws {
        let copies = try Copies(kept: 50) { vault in try vault.add(try key("a"), secret: Secret(text: "0")) }
        // Each side keeps as much as a past holds, in plain attributes of earlier secrets.
        func fill(_ vault: Vault, _ text: String) throws {
            for number in 0..<50 {
                var attributes: Attributes = [:]
                for place in 0..<60 {
                    attributes["x\(place)"] = Array("\(text) \(number)".utf8) + [UInt8](repeating: 0x61, count: 200)
                }
                try vault.set(
                    try key("a"), secret: Secret(text: "\(text) \(number)"), attributes: setting(attributes))
            }
        }
        try fill(copies.ours, "ours")
        copies.tick()
        try fill(copies.theirs, "theirs")
        let (report, third) = (try copies.ours.merge(copies.theirs), try copies.fork("theirs", to: "third"))
        #expect(try copies.ours.text(try key("a")) == "theirs 49")
        try expectSound(copies.ours)
        let isDropped = report.notes.contains(.earlierValuesDropped(try key("a")))
        #expect(isDropped == (try copies.ours.withCore { $0.store.state.commit.own != nil }))
        // Each file was compacted, so ours may not follow what theirs began with.
        let outcome = try third.merge(copies.ours).outcome
        #expect(outcome == .theirs || outcome == .merged)
        #expect(try third.merged() == copies.ours.merged())
    }
}
