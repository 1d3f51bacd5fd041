import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// Section 8, requirement by requirement; the property test is in `ConvergenceTests`.
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

    @Test("takes what one side has as it is (R-8.2)")
    func oneSided() throws {
        let copies = try copies()
        #expect(try copies.ours.merge(copies.theirs).outcome == .same)
        #expect(try copies.ours.merge(copies.ours).outcome == .same)
        try copies.theirs.put(try key("a"), "1")
        let bytes = try copies.memory.bytes("theirs")
        #expect(try copies.ours.merge(copies.theirs).outcome == .theirs)
        #expect(try copies.memory.bytes("ours") == bytes)
        #expect(try copies.ours.secrets() == [try key("a"): "1"])
        #expect(try copies.theirs.merge(copies.ours).outcome == .same)
        try copies.ours.put(try key("a"), "2")
        #expect(try copies.ours.merge(copies.theirs).outcome == .ours)
        try expectSound(copies.ours)
    }

    @Test("descends from both branches, also when both were compacted (R-8.3)", arguments: [false, true])
    func descends(isCompacted: Bool) throws {
        let copies = try copies()
        var remembered: [Anchor] = []
        for number in 0..<3 {
            try copies.ours.put(try key("o\(number)"), "o")
            remembered.append(copies.ours.anchor)
        }
        for number in 0..<5 {
            try copies.theirs.put(try key("t\(number)"), "t")
            remembered.append(copies.theirs.anchor)
        }
        if isCompacted {
            try copies.ours.compact()
            try copies.theirs.compact()
        }
        try copies.mergeBothWays()
        for anchor in remembered { #expect(try copies.ours.verdict(on: anchor) == .descends) }
        #expect(try copies.ours.secrets().count == 9)
    }

    @Test("gives a field that one side changed to that side (R-8.5)")
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

    @Test("keeps what loses, as an earlier value and as a conflict, and names it", arguments: [0, 3])
    func losers(kept: Int) throws {
        let copies = try copies(kept: kept)
        try copies.ours.set(try key("a"), secret: Secret(text: "ours"), attributes: setting(["label": "ours"]))
        copies.tick()
        try copies.theirs.set(try key("a"), secret: Secret(text: "theirs"), attributes: setting(["label": "theirs"]))
        let report = try copies.mergeBothWays()
        #expect(try copies.ours.secrets() == [try key("a"): "theirs"])
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == (kept == 0 ? [] : ["0", "ours"]))
        #expect(try copies.ours.toSettle(try key("a")) == [.secret: "ours", .attribute("label"): "ours"])
        #expect(report.notes == [.conflict(try key("a"), fields: [.secret, .attribute("label")])])
        #expect(report.hasConflicts)
        #expect(try report.taken == [key("a")])
    }

    @Test("names fields of keys and accessibility that lose, and settles them by choice")
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
        #expect(Set(conflict.values.map(\.field)) == [.accessibility, .keyField("account")])
        let account = try #require(conflict.values.first { $0.field == .keyField("account") })
        let binding = try #require(conflict.values.first { $0.field == .accessibility })
        #expect(binding.accessibility == .afterFirstUnlock)
        try copies.theirs.settle(try key("t"), keeping: [account, binding])
        let item = try #require(try copies.theirs.item(try key("o")))
        #expect(item.accessibility == .afterFirstUnlock && item.attributes.attribute("conflict") == nil)
        #expect(try copies.theirs.conflicts().isEmpty)
        try expectSound(copies.theirs)
    }

    @Test("settles by keeping secrets and attributes that lost, and what is settled stays so after a further merge")
    func settledStays() throws {
        let copies = try copies()
        try copies.ours.set(try key("a"), secret: Secret(text: "ours"), attributes: setting(["label": "ours"]))
        copies.tick()
        try copies.theirs.set(try key("a"), secret: Secret(text: "theirs"), attributes: setting(["label": "theirs"]))
        try copies.ours.merge(copies.theirs)
        let third = try copies.fork("ours", to: "third")
        copies.tick()
        let conflict = try #require(try copies.ours.conflicts().first)
        try copies.ours.settle(conflict.key, keeping: conflict.values)
        #expect(try copies.ours.secrets() == [try key("a"): "ours"])
        #expect(try copies.ours.item(try key("a"))?.attributes.label == "ours")
        fails(.invalidArgument) {
            try third.settle(conflict.key, keeping: conflict.values + conflict.values)
        }
        copies.tick()
        try third.update(try key("a"), attributes: setting(["comment": "third"]))
        try copies.ours.merge(third)
        #expect(try copies.ours.conflicts().isEmpty && copies.ours.item(try key("a"))?.attributes.comment == "third")
        try expectSound(copies.ours)
    }

    @Test("lets a removal hold, and a change beat it (R-8.7)", arguments: [false, true])
    func removals(isCompacted: Bool) throws {
        let copies = try copies("a", "b")
        try copies.ours.remove(try key("a"))
        try copies.ours.remove(try key("b"))
        try copies.theirs.put(try key("b"), "changed")
        if isCompacted {
            try copies.ours.compact()
            try copies.theirs.compact()
        }
        let report = try copies.mergeBothWays()
        #expect(try copies.ours.secrets() == [try key("b"): "changed"])
        #expect(try copies.ours.merged().tombstones.count == 1)
        #expect(report.notes.contains(.keptAgainstRemoval(try key("b"))))
    }

    @Test("lets a removal hold whose tombstone is gone, and names the item")
    func horizon() throws {
        let copies = try copies("a", "b")
        try copies.ours.remove(try key("a"))
        copies.tick(200 * 86_400_000)
        try copies.ours.compact()
        try copies.theirs.put(try key("new"), "n")
        try copies.theirs.compact()
        let report = try copies.mergeBothWays()
        #expect(Set(try copies.ours.secrets().keys) == [try key("b"), try key("new")])
        #expect(report.notes == [.removedUnconfirmed(try key("a"))])
    }

    @Test("keeps two new items with one key, and gives the key back when it is free (R-8.8)")
    func clash() throws {
        let copies = try copies()
        try copies.ours.put(try key("n"), "ours")
        try copies.theirs.put(try key("n"), "theirs")
        try copies.mergeBothWays()
        let found = try copies.ours.secrets()
        #expect(Set(found.values) == ["0", "ours", "theirs"])
        let other = try #require(found.keys.first { $0.account?.contains("(conflict") == true })
        #expect(other.account?.wholeMatch(of: /n \(conflict [0-9a-f]{8}\)/) != nil)
        let ids = try copies.ours.merged().items.mapValues(\.value.key)
        let (mine, its) = (
            try #require(ids.first { $0.value == other }).key,
            try #require(ids.first { $0.value == (try! key("n")) }).key
        )
        #expect(its.bytes < mine.bytes)
        // The suffix goes when it is not needed any more.
        let again = try copies.fork("ours", to: "again")
        copies.tick()
        try again.remove(try key("n"))
        try copies.ours.put(try key("later"), "l")
        let report = try copies.ours.merge(again)
        #expect(Set(try copies.ours.secrets().keys) == [try key("a"), try key("n"), try key("later")])
        #expect(report.notes.contains(.renamed(other, to: try key("n"))))
        try expectSound(copies.ours)
    }

    @Test("ends a fork of equal contents by one empty commit (R-8.4)")
    func equal() throws {
        let copies = try copies()
        try copies.ours.put(try key("o"), "o")
        try copies.theirs.put(try key("t"), "t")
        copies.memory.files.put("second", try copies.memory.bytes("ours"))
        let second = try copies.memory.open("second")
        try copies.ours.merge(copies.theirs)
        try copies.theirs.merge(second)
        let before = (try copies.memory.bytes("ours"), try copies.memory.bytes("theirs"))
        #expect(try copies.ours.merge(copies.theirs).outcome == .equal)
        #expect(try copies.theirs.merge(copies.ours).outcome != .merged)
        let changed = [
            try copies.memory.bytes("ours") != before.0, try copies.memory.bytes("theirs") != before.1,
        ]
        #expect(changed != [false, false])
        // One of them has it all now, whichever was smaller.
        _ = try copies.ours.merge(copies.theirs)
        #expect(
            try copies.theirs.merge(copies.ours).outcome == .same || copies.ours.merge(copies.theirs).outcome == .same)
        #expect(try copies.ours.merged() == copies.theirs.merged())
        try expectSound(copies.ours)
        try expectSound(copies.theirs)
    }

    @Test(
        "does not bring a removed slot back, and leaves no key in use that it held (R-8.9, R-8.10)",
        arguments: [true, false])
    func removedSlot(isOurs: Bool) throws {
        let copies = try copies()
        let scoped = try copies.ours.addSlot(try Fast.rawKey(7), grantedGroups: [""]).id
        _ = try copies.theirs.merge(copies.ours)
        let groups = Set(try copies.ours.keyring.groups.map(\.number))
        copies.tick()
        try copies.ours.removeSlot(scoped)
        try copies.theirs.put(try key("t"), "t")
        let (first, second) = isOurs ? (copies.ours, copies.theirs) : (copies.theirs, copies.ours)
        #expect(try first.merge(second).outcome == .merged)
        #expect(try !first.slots().contains { $0.id == scoped })
        #expect(try first.keyring.removedSlots.contains { $0.id == scoped.bytes })
        #expect(try groups.isDisjoint(with: Set(first.keyring.groups.map(\.number))))
        #expect(try first.secrets()[try key("t")] == "t")
        try expectSound(first)
    }

    @Test("takes a slot of one side only if the user agrees")
    func otherSlot() throws {
        let copies = try copies()
        try copies.ours.put(try key("o"), "o")
        let scoped = try copies.theirs.addSlot(try Fast.rawKey(7), name: "new", grantedGroups: [""]).id
        let second = try copies.fork("ours", to: "second")
        #expect(try copies.ours.merge(copies.theirs).notes == [.slotNotTaken(scoped, name: "new")])
        #expect(try copies.ours.keyring.removedSlots.map(\.id) == [scoped.bytes])
        var options = MergeOptions()
        options.takesSlots = true
        #expect(try second.merge(copies.theirs, options: options).notes == [.slotTaken(scoped, name: "new")])
        #expect(try second.slots().contains { $0.id == scoped && $0.groups == [""] })
        for vault in [copies.ours, second] { try expectSound(vault) }
        let opened = try copies.memory.open("second", with: try Fast.rawKey(7))
        #expect(try opened.secrets().count == 2)
    }

    @Test("keeps the name of a slot that one side changed, and the slot that opened it")
    func renamedSlot() throws {
        let copies = try copies()
        let slot = try #require(try copies.ours.slots().first).id
        try copies.ours.renameSlot(slot, to: "renamed")
        try copies.theirs.put(try key("t"), "t")
        try copies.mergeBothWays()
        #expect(try copies.ours.slots().map(\.name) == ["renamed"])
    }

    @Test("is refused if nobody could open the result")
    func noSlot() throws {
        let copies = try copies()
        let first = try #require(try copies.ours.slots().first).id
        try copies.theirs.addSlot(try Fast.rawKey(9), cost: .moderate)
        let theirs = try copies.memory.open("theirs", with: try Fast.rawKey(9))
        try theirs.removeSlot(first)
        try copies.ours.put(try key("o"), "o")
        let before = (try copies.memory.bytes("ours"), try copies.memory.bytes("theirs"))
        fails(.lastSlot) { try copies.ours.merge(theirs) }
        #expect(try copies.memory.bytes("ours") == before.0 && copies.memory.bytes("theirs") == before.1)
        var options = MergeOptions()
        options.takesSlots = true
        try copies.ours.merge(theirs, options: options)
        #expect(try copies.memory.open("ours", with: try Fast.rawKey(9)).secrets().count == 2)
        try expectSound(copies.ours)
    }

    @Test("makes one of two groups with one name (R-8.10)")
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

    @Test("refuses a branch under a key that was rotated away, from either side (R-8.1)")
    func rotated() throws {
        let copies = try copies()
        try copies.theirs.put(try key("planted"), "p")
        try copies.ours.rotate()
        fails(.foreignOwner, "accept old keys") { try copies.ours.merge(copies.theirs) }
        fails(.foreignOwner, "merge this copy into the other") { try copies.theirs.merge(copies.ours) }
        // Without a change under the old key, the rotated copy is taken.
        let untouched = try copies.fork("ours", to: "again")
        try copies.ours.put(try key("o"), "o")
        #expect(try untouched.merge(copies.ours).outcome == .theirs)
    }

    @Test("follows a rotation that hand-overs lead to, and goes on under the new key")
    func rotatedAfter() throws {
        let copies = try copies()
        try copies.theirs.rotate()
        #expect(try copies.ours.merge(copies.theirs).outcome == .theirs)
        try copies.ours.put(try key("o"), "o")
        #expect(try copies.ours.secrets()[try key("o")] == "o")
        try expectSound(copies.ours)
    }

    @Test("brings what went on under a rotated key in as earlier values, if it is asked for", arguments: [false, true])
    func adopted(isBothRotated: Bool) throws {
        let copies = try copies("a", "b")
        copies.tick(1_000_000_000)
        try copies.theirs.put(try key("a"), "leaked")
        try copies.theirs.put(try key("planted"), "p")
        try copies.theirs.remove(try key("b"))
        if isBothRotated { try copies.theirs.rotate() }
        copies.memory.files.setClock(copies.memory.files.now() - 1_000_000_000)
        try copies.ours.rotate()
        var options = MergeOptions()
        options.acceptsOldKeys = true
        let report = try copies.ours.merge(copies.theirs, options: options)
        #expect(report.outcome == .adopted)
        #expect(try report.notes == [.removalNotCarriedOut(key("b"))])
        #expect(try copies.ours.secrets() == [try key("a"): "0", try key("b"): "0", try key("planted"): ""])
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == ["leaked"])
        #expect(try copies.ours.earlierSecrets(of: try key("planted")) == ["p"])
        #expect(try copies.ours.verdict(on: copies.theirs.anchor) == .foreign)
        try expectSound(copies.ours)
        let bytes = try copies.memory.bytes("ours")
        #expect(try copies.ours.merge(copies.theirs, options: options).taken.isEmpty)
        #expect(try copies.memory.bytes("ours") == bytes)
    }

    @Test("takes the setting of earlier values and removed slots from both (R-8.11)")
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
        // Also what holds: it was changed under a revision that the merged item does not have.
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == ["0", "1", "2"])
        #expect(try copies.ours.contents(of: try key("a"))?.attributes[Array("photo".utf8)]?.first == 3)
        let lost = try #require(try copies.ours.conflict(in: try key("a"))?.values.first)
        #expect(lost.value.array == [UInt8](repeating: 2, count: 7000))
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

    @Test("finds the base in a third file, where neither copy has it any more")
    func baseFile() throws {
        let copies = try copies("a", "b")
        let base = try copies.fork("ours", to: "base")
        try copies.ours.put(try key("a"), "ours")
        try copies.theirs.update(try key("a"), attributes: setting(["label": "theirs"]))
        try copies.ours.keepVersions(0)
        try copies.theirs.keepVersions(0)
        for vault in [copies.ours, copies.theirs] { try vault.compact() }
        let second = try copies.fork("ours", to: "second")
        #expect(try copies.ours.merge(copies.theirs).base == .values)
        #expect(try !copies.ours.conflicts().isEmpty)
        var options = MergeOptions()
        options.base = .file(base)
        #expect(try second.merge(copies.theirs, options: options).base == .state(generation: base.anchor.generation))
        #expect(try second.conflicts().isEmpty && second.secrets()[try key("a")] == "ours")
        #expect(try second.item(try key("a"))?.attributes.label == "theirs")
        options.base = .file(try copies.memory.create("other"))
        fails(.invalidArgument) { try second.merge(copies.theirs, options: options) }
    }
}
