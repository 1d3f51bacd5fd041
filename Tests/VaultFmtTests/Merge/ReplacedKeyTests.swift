import TestSupport
import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

/// Section 8.2: copies that were continued under a key that another copy has replaced.
@Suite("A branch under a replaced key")
struct ReplacedKeyTests {
    private func key(_ account: String) throws -> ItemKey { try .genericPassword(service: "s", account: account) }

    private func copies(_ accounts: String...) throws -> Copies {
        try Copies { vault in
            for account in accounts.isEmpty ? ["a"] : accounts {
                try vault.add(try key(account), secret: Secret(text: "0"))
            }
        }
    }

    private var accepting: MergeOptions {
        var options = MergeOptions()
        options.acceptsOldKeys = true
        return options
    }

    @Test("is refused from either side, and without a change of its own follows the rotation (R-8.1, R-8.24)")
    func refused() throws {
        let copies = try copies()
        try copies.theirs.put(try key("planted"), "p")
        try copies.ours.rotate()
        fails(.foreignOwner, "accept old keys") { try copies.ours.merge(copies.theirs) }
        fails(.foreignOwner, "merge this copy into the other") { try copies.theirs.merge(copies.ours) }
        let untouched = try copies.fork("ours", to: "again")
        try copies.ours.put(try key("o"), "o")
        #expect(try untouched.merge(copies.ours).outcome == .theirs)
    }

    @Test("that has nothing new follows any number of rotations, also after compactions")
    func followed() throws {
        let copies = try copies()
        for round in 0..<3 {
            try copies.theirs.rotate()
            try copies.theirs.put(try key("a"), "\(round)")
            try copies.theirs.compact()
        }
        #expect(try copies.theirs.merge(copies.ours).outcome == .ours)
        let report = try copies.ours.merge(copies.theirs)
        #expect(report.outcome == .theirs && !report.leavesChangesToRepeat)
        try copies.ours.put(try key("o"), "o")
        #expect(try copies.ours.secrets()[try key("o")] == "o")
        try expectSound(copies.ours)
    }

    @Test("does not follow a rotation whose copy is damaged; the error says which copy that is")
    func damagedRotation() throws {
        let copies = try copies("a", "b")
        try copies.theirs.rotate()
        var bytes = try copies.memory.bytes("theirs")
        let page = try #require(try frames(bytes).last { $0.type == .page })
        bytes[page.range.upperBound - 20] ^= 1
        copies.memory.files.put("damaged", bytes)
        let damaged = try copies.memory.open("damaged")
        let before = try copies.memory.bytes("ours")
        fails(.structureInvalid, "the other copy has new keys but is damaged") { try copies.ours.merge(damaged) }
        #expect(try copies.memory.bytes("ours") == before)
    }

    @Test("changes nothing that is shown; its values are left to settle, and taking it in again changes nothing")
    func takenIn() throws {
        let copies = try copies("a", "b", "c")
        copies.tick(1_000_000_000)
        try copies.theirs.put(try key("a"), "leaked")
        try copies.theirs.put(try key("a"), "leaked later")
        try copies.theirs.put(try key("planted"), "p")
        try copies.theirs.remove(try key("b"))
        copies.memory.files.setClock(copies.memory.files.now() - 1_000_000_000)
        try copies.ours.remove(try key("c"))
        try copies.ours.rotate()
        let report = try copies.ours.merge(copies.theirs, options: accepting)
        #expect(report.outcome == .adopted && report.hasConflicts)
        #expect(try report.notes.contains(.removalNotCarriedOut(key("b"))))
        #expect(try report.notes.contains(.takenInToSettle(key("a"))))
        #expect(try report.added == [key("planted")])
        #expect(try copies.ours.text(try key("a")) == "0" && copies.ours.text(try key("b")) == "0")
        #expect(try copies.ours.item(try key("c")) == nil, "an item that was removed before the rotation stays so")
        #expect(try copies.ours.toSettle(try key("a")) == [.secret: ["leaked later"]])
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == ["leaked"])
        let planted = try #require(try copies.ours.item(try key("planted")))
        #expect(planted.lacksSecret)
        #expect(try copies.ours.toSettle(try key("planted"))[.secret] == ["p"])
        try expectSound(copies.ours)
        // The branch's machine goes on, and sees that everything it had is here.
        #expect(try copies.ours.verdict(on: copies.theirs.anchor) == .descends)
        let bytes = try copies.memory.bytes("ours")
        #expect(try copies.ours.merge(copies.theirs, options: accepting).outcome == .ours)
        #expect(try copies.memory.bytes("ours") == bytes)
        #expect(try copies.theirs.merge(copies.ours).outcome == .theirs)
        // Whoever settles for a taken value has it.
        let values = try #require(try copies.theirs.conflict(in: try key("planted"))?.values)
        try copies.theirs.settle(try key("planted"), keeping: values.filter { $0.field == .secret })
        #expect(try copies.theirs.text(try key("planted")) == "p")
    }

    @Test(
        "that took something away has this named where it is taken in, and on its machine, where it is back (R-8.27)",
        arguments: [false, true])
    func takenAway(isCompacted: Bool) throws {
        let copies = try copies("a", "b", "c")
        try copies.ours.put(try key("a"), "1")
        try copies.ours.update(try key("b"), attributes: setting(["url": "https://b.example", "label": "b"]))
        _ = try copies.theirs.merge(copies.ours)
        copies.tick()
        try copies.theirs.forgetEarlierValues(of: try key("a"))
        try copies.theirs.update(try key("b"), attributes: AttributeChanges(remove: ["url"]))
        try copies.theirs.remove(try key("c"))
        try copies.theirs.keepVersions(0)
        if isCompacted { try copies.theirs.compact() }
        try copies.ours.rotate()
        let gone: [MergeReport.Note] = [
            .removalNotCarriedOut(try key("c")), .forgettingNotCarriedOut(try key("a"), fields: [.secret]),
            .attributesNotRemoved(try key("b"), fields: [.attribute("url")]), .limitNotCarriedOut(0),
        ]
        let report = try copies.ours.merge(copies.theirs, options: accepting)
        #expect(report.outcome == .adopted && report.notes == gone && report.leavesChangesToRepeat)
        #expect(try copies.ours.earlierSecrets(of: try key("a")) == ["0"] && copies.ours.keptVersions == 3)
        let followed = try copies.theirs.merge(copies.ours)
        #expect(followed.outcome == .theirs && followed.leavesChangesToRepeat)
        for note in gone { #expect(followed.notes.contains(note), "\(note)") }
        #expect(try copies.theirs.earlierSecrets(of: try key("a")) == ["0"])
        // Under the new keys, it goes from both, and there is nothing more to name.
        try copies.theirs.forgetEarlierValues(of: try key("a"))
        try copies.theirs.compact()
        #expect(try !copies.ours.merge(copies.theirs).leavesChangesToRepeat)
        #expect(try copies.ours.earlierSecrets(of: try key("a")).isEmpty)
    }

    @Test("that forgot a value that is shown here has this named; one that was set here since is not meant")
    func forgottenThere() throws {
        let copies = try copies("a", "b")
        for name in ["a", "b"] {
            try copies.theirs.put(try key(name), "1")
            try copies.theirs.forgetEarlierValues(of: try key(name))
        }
        try copies.ours.put(try key("b"), "2")
        try copies.ours.forgetEarlierValues(of: try key("b"))
        try copies.ours.rotate()
        let report = try copies.ours.merge(copies.theirs, options: accepting)
        #expect(try report.notes.contains(.forgettingNotCarriedOut(key("a"), fields: [.secret])))
        #expect(try !report.notes.contains(.forgettingNotCarriedOut(key("b"), fields: [.secret])))
        #expect(try copies.ours.text(try key("a")) == "0")
    }

    @Test("that changed slots has these named on both machines")
    func slotsNotCarriedOut() throws {
        let copies = try copies()
        let slot = try #require(try copies.theirs.slots().first).id
        try copies.theirs.renameSlot(slot, to: "renamed")
        let added = try copies.theirs.addSlot(try Fast.rawKey(9), name: "added").id
        try copies.ours.rotate()
        let notes: [MergeReport.Note] = [
            .slotNotCarriedOut(slot, name: ""), .slotNotCarriedOut(added, name: "added"),
        ]
        #expect(try copies.ours.merge(copies.theirs, options: accepting).notes == notes)
        #expect(try copies.theirs.merge(copies.ours).notes == notes)
        #expect(try copies.theirs.slots().map(\.id) == [slot])
    }

    @Test("that is continued after it was taken in brings only what is new")
    func again() throws {
        let copies = try copies()
        try copies.theirs.put(try key("a"), "first")
        try copies.ours.rotate()
        try copies.ours.merge(copies.theirs, options: accepting)
        try copies.ours.settle(try key("a"))
        copies.tick()
        try copies.theirs.put(try key("a"), "second")
        try copies.ours.merge(copies.theirs, options: accepting)
        #expect(try copies.ours.toSettle(try key("a")) == [.secret: ["second"]])
        #expect(try copies.ours.earlierSecrets(of: try key("a")).filter { $0 == "first" }.count == 1)
    }

    @Test(
        "that has a damaged value is refused, because the hand-over would cover it; a sound copy comes in whole (R-8.26)"
    )
    func damaged() throws {
        let copies = try copies("a", "b")
        try copies.theirs.put(try key("a"), "1")
        try copies.theirs.put(try key("b"), "1")
        try copies.ours.rotate()
        let (before, sound) = (try copies.memory.bytes("ours"), try copies.memory.bytes("theirs"))
        // That of the newest change would be left with it.
        let record = try #require(try copies.theirs.item(try key("a"))).entry.record
        var bytes = sound
        bytes[Int(record.offset) + 60] ^= 1
        copies.memory.files.put("damaged", bytes)
        let damaged = try copies.memory.open("damaged")
        fails(.authenticationFailed, "cannot be read in the other copy") {
            try copies.ours.merge(damaged, options: accepting)
        }
        #expect(try copies.memory.bytes("ours") == before)
        try copies.ours.merge(copies.theirs, options: accepting)
        for name in ["a", "b"] { #expect(try copies.ours.toSettle(try key(name)) == [.secret: ["1"]]) }
        // Or the value is set anew there.
        let again = try copies.memory.open("damaged")
        try again.put(try key("a"), "2")
        try copies.ours.merge(again, options: accepting)
        #expect(try copies.ours.toSettle(try key("a"))[.secret]?.contains("2") == true)
        try expectSound(copies.ours)
    }

    @Test("of which something is forgotten here does not bring it back")
    func forgotten() throws {
        let copies = try copies()
        try copies.ours.put(try key("a"), "secret")
        _ = try copies.theirs.merge(copies.ours)
        try copies.ours.put(try key("a"), "new")
        try copies.ours.forgetEarlierValues(of: try key("a"))
        try copies.ours.remove(try key("a"))
        try copies.ours.rotate()
        try copies.theirs.update(try key("a"), attributes: setting(["label": "l"]))
        try copies.ours.merge(copies.theirs, options: accepting)
        let settle = try copies.ours.toSettle(try key("a"))
        #expect(settle[.secret] == nil && settle[.attribute("label")] == ["l"])
        #expect(try copies.ours.earlierValues(of: try key("a")).isEmpty)
    }

    @Test(
        "where both sides rotated: the later rotation stays, whichever merges, and the other follows",
        arguments: [true, false])
    func bothRotated(isOursLater: Bool) throws {
        let copies = try copies()
        try copies.ours.put(try key("o"), "o")
        try copies.theirs.put(try key("t"), "t")
        let (later, earlier) = isOursLater ? (copies.ours, copies.theirs) : (copies.theirs, copies.ours)
        try earlier.rotate()
        copies.tick()
        try later.rotate()
        fails(.foreignOwner, "the other one more recently") { try earlier.merge(later) }
        fails(.foreignOwner, "this one more recently") { try later.merge(earlier) }
        #expect(try later.merge(earlier, options: accepting).outcome == .adopted)
        #expect(try earlier.merge(later).outcome == .theirs)
        #expect(try earlier.secrets(of: "o", "t", "a") == later.secrets(of: "o", "t", "a"))
        try expectSound(later)
    }

    @Test("where both sides rotated: a further rotation of the side with the right slots keeps a removed slot away")
    func rotatedOnceMore() throws {
        let copies = try Copies { vault in
            try vault.add(try key("a"), secret: Secret(text: "0"))
            try vault.addSlot(try Fast.rawKey(7), name: "leaked")
        }
        try copies.theirs.put(try key("t"), "t")
        try copies.ours.rotate()
        copies.tick()
        var rotation = try copies.theirs.rotation()
        for factor in [0x2B, 7] as [UInt8] { try rotation.keep(try Fast.rawKey(factor)) }
        _ = try rotation.run()
        #expect(try copies.ours.slots().count == 1 && copies.theirs.slots().count == 2)
        fails(.foreignOwner, "the other one more recently") { try copies.ours.merge(copies.theirs, options: accepting) }
        copies.tick()
        try copies.ours.rotate()
        let report = try copies.ours.merge(copies.theirs, options: accepting)
        #expect(try report.outcome == .adopted && report.added == [key("t")])
        #expect(try copies.theirs.merge(copies.ours).outcome == .theirs)
        for vault in [copies.ours, copies.theirs] { #expect(try vault.slots().map(\.openedThis) == [true]) }
        fails(.noSlotOpens) { _ = try copies.memory.open("theirs", with: try Fast.rawKey(7)) }
    }

    @Test("of other owners is not merged")
    func foreign() throws {
        let copies = try copies()
        try copies.theirs.rotate()
        var forge = try Forge(try copies.memory.bytes("theirs"), .rawKey([UInt8](repeating: 0x2B, count: 32)))
        forge.onKeyring(try forge.last(.keyring)) { $0.handOvers = [] }
        copies.memory.files.put("stranger", try forge.assemble())
        let stranger = try copies.memory.open("stranger")
        fails(.foreignOwner, "other owners") { try copies.ours.merge(stranger, options: accepting) }
        fails(.foreignOwner, "other owners") { try stranger.merge(copies.ours, options: accepting) }
    }

    @Test("rehearses without a write, and says what it would do")
    func rehearsal() throws {
        let copies = try copies()
        try copies.theirs.put(try key("a"), "leaked")
        try copies.theirs.put(try key("planted"), "p")
        try copies.ours.rotate()
        let bytes = try copies.memory.bytes("ours")
        var options = accepting
        options.onlyCompares = true
        #expect(try copies.ours.merge(copies.theirs, options: options).outcome == .adopted)
        (options.onlyCompares, options.isRehearsal) = (false, true)
        let rehearsed = try copies.ours.merge(copies.theirs, options: options)
        #expect(try copies.memory.bytes("ours") == bytes)
        var report = try copies.ours.merge(copies.theirs, options: accepting)
        report.isRehearsal = true
        #expect(rehearsed == report)
    }
}

extension Vault {
    /// The secrets of items of these accounts; nil for one without a secret.
    fileprivate func secrets(of accounts: String...) throws -> [String?] {
        try accounts.map { account in
            let key = try ItemKey.genericPassword(service: "s", account: account)
            return try item(key)?.lacksSecret ?? true ? nil : text(key)
        }
    }
}
