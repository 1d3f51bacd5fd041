import Testing
import VaultBytes

@testable import VaultFmt

@Suite("Rotation")
struct RotationTests {
    private func filled(_ path: String) throws -> Vault {
        let vault = try Fast.create(path)
        for number in 0..<30 {
            let key = try ItemKey.genericPassword(service: "s", account: "\(number)", group: number % 3 == 0 ? "g" : "")
            try vault.set(
                key, secret: Secret(text: "\(number)"),
                attributes: setting(["label": "L", "comment": String(repeating: "c", count: number * 20)]),
                accessibility: number % 2 == 0 ? .whenUnlocked : .always)
        }
        for number in 0..<5 { try vault.remove(try password("s", "\(number * 3 + 1)")) }
        return vault
    }

    @Test("leaves every item as it was, under keys of which none is the same")
    func everything() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try filled(path)
        let before = try vault.dump()
        let items = try vault.allItems()
        let anchor = try vault.anchor
        let (oldKeys, oldKeyring) = try keys(vault)
        var rotation = try vault.rotation()
        let id = try rotation.keep(try Fast.rawKey())
        #expect(try id == vault.slots()[0].id)
        #expect(rotation.dropped.isEmpty)
        _ = try rotation.run()
        #expect(try vault.dump() == before)
        #expect(try vault.allItems().map(\.id) == items.map(\.id))
        #expect(
            try vault.allItems().map(\.revision) == items.map(\.revision),
            "an item's revision says when it changed, not its record's")
        #expect(try vault.verdict(on: anchor) == .descends)
        let (newKeys, newKeyring) = try keys(vault)
        #expect(Set(oldKeys).isDisjoint(with: newKeys) && Set(oldKeyring).isDisjoint(with: newKeyring))
        #expect(try Fast.open(path).dump() == before)
        #expect(try vault.verify().isSound)
        try vault.put(try password("s", "after"), "x")
        #expect(try Fast.open(path).dump().count == before.count + 1)
    }

    /// The vault's and index key, the owners' public key, and the wrapped keys of groups and compartments.
    private func keys(_ vault: Vault) throws -> ([[UInt8]], [[UInt8]]) {
        try vault.withCore { (core) throws(VaultError) in
            let slot = core.store
            let vaultKey = slot.slot.keys.vaultKey() ?? Secret(count: 0)
            let all = [vaultKey.array, slot.slot.keys.index.array, slot.slot.keys.ownersPublicKey().bytes]
            return (all, slot.keyring.groups.map(\.wrapped) + slot.keyring.compartments.map(\.wrapped))
        }
    }

    @Test("keeps the slots whose factors are given, and drops the others, which it names before")
    func slots() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try filled(path)
        _ = try vault.addSlot(try Fast.factors("pw"), cost: .testing, name: "passphrase", allowWeak: true)
        _ = try vault.addSlot(try Fast.rawKey(9), name: "gone")
        _ = try vault.addSlot(try Fast.rawKey(10), name: "scoped", grantedGroups: ["g"])
        let copy = try contents(path)
        var rotation = try vault.rotation()
        fails(.noSlotOpens) { _ = try rotation.keep(try Fast.rawKey(77)) }
        _ = try rotation.keep(try Fast.rawKey(10))
        _ = try rotation.keep(try Fast.factors("pw"))
        _ = try rotation.keep(try Fast.factors("pw"))
        #expect(rotation.dropped.map(\.name) == ["", "gone"])
        _ = try rotation.run()
        #expect(try vault.slots().map(\.name).sorted { ($0 ?? "") < ($1 ?? "") } == ["passphrase", "scoped"])
        for byte in [0x2B, 9] as [UInt8] {
            fails(.noSlotOpens) { _ = try Fast.openWritable(path, try Fast.rawKey(byte)) }
        }
        let again = try Fast.openWritable(path, try Fast.factors("pw"))
        #expect(try again.dump().count == 25)
        #expect(try again.slots().map(\.cost).contains(.testing))
        let scoped = try Fast.openWritable(path, try Fast.rawKey(10))
        #expect(scoped.access == .scoped(groups: ["g"]))
        // The handle goes on, and an old copy is still what it was.
        try vault.put(try password("s", "after"), "x")
        try write(copy, folder.file("old.vault"))
        #expect(try Fast.open(folder.file("old.vault")).dump().count == 25)
    }

    @Test("needs a full slot")
    func fullSlot() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try filled(path)
        _ = try vault.addSlot(try Fast.rawKey(10), grantedGroups: ["g"])
        let bytes = try contents(path)
        fails(.lastSlot) { _ = try vault.rotation().run() }
        fails(.lastSlot) {
            var rotation = try vault.rotation()
            _ = try rotation.keep(try Fast.rawKey(10))
            _ = try rotation.run()
        }
        #expect(try contents(path) == bytes)
    }

    @Test("does not drop a slot that was added after it was prepared, unseen")
    func changedMeanwhile() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try filled(path)
        let other = try Fast.open(path)
        var rotation = try vault.rotation()
        _ = try rotation.keep(try Fast.rawKey())
        _ = try other.addSlot(try Fast.rawKey(9), name: "new")
        let bytes = try contents(path)
        let error = refusal(rotation)
        #expect(error?.code == .busy && error?.detail.contains("slots have changed") == true)
        #expect(try contents(path) == bytes)
        #expect(try Fast.openWritable(path, try Fast.rawKey(9)).dump().count == 25)
    }

    @Test("does not bring back factors that were replaced after it was prepared")
    func replacedMeanwhile() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try filled(path)
        let other = try Fast.open(path)
        var rotation = try vault.rotation()
        _ = try rotation.keep(try Fast.rawKey())
        try other.changeFactors(to: try Fast.rawKey(9))
        let bytes = try contents(path)
        #expect(refusal(rotation)?.code == .busy)
        #expect(try contents(path) == bytes)
        fails(.noSlotOpens) { _ = try Fast.openWritable(path, try Fast.rawKey()) }
        // Nor does a change of factors by whoever opened the slot with the old ones.
        fails(.busy, "open the vault again") { try vault.changeFactors(to: try Fast.rawKey(10)) }
        try other.changeFactors(to: try Fast.rawKey(11))
        try other.changeFactors(to: try Fast.rawKey(12))
        #expect(try Fast.openWritable(path, try Fast.rawKey(12)).dump().count == 25)
    }

    private func refusal(_ rotation: consuming Rotation) -> VaultError? {
        do throws(VaultError) { _ = try rotation.run() } catch { return error }
        return nil
    }

    @Test("and compaction order records by their nonces, and pasts by ids (R-7.16)", arguments: [true, false])
    func order(rotates: Bool) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try filled(path)
        for item in try vault.allItems() where item.key.account?.hasSuffix("2") == true {
            try vault.put(item.key, "changed")
        }
        if rotates { try rotate(vault) } else { try vault.compact() }
        let bytes = try contents(path)
        let all = try frames(bytes)
        let types = all.map(\.type)
        let kinds = types.reduce(into: [FrameType]()) { if $0.last != $1 { $0.append($1) } }
        let handOver: [FrameType] = rotates ? [.vector] : []
        #expect(kinds == [.record, .past, .keyring, .page] + handOver + [.keyring, .vector, .commit])
        let nonces = all.filter { $0.type == .record }.map {
            Array(bytes[$0.range.lowerBound + 8..<$0.range.lowerBound + 32])
        }
        #expect(nonces.count == 28 && nonces == nonces.sorted { $0.lexicographicallyPrecedes($1) })
        let items = try vault.allItems()
        let byFrame = items.compactMap { item in item.entry.past.map { ($0.offset, item.id.description) } }
            .sorted { $0.0 < $1.0 }
        #expect(byFrame.count == 3 && byFrame.map(\.1) == byFrame.map(\.1).sorted())
        // Neither is the order of keys, or of ids.
        let byPlace = items.sorted { $0.entry.record.offset < $1.entry.record.offset }.map(\.id.description)
        #expect(byPlace != byPlace.sorted() && byPlace != items.map(\.id.description))
        let spare = try #require(all.first { $0.type == .keyring }).range.count
        #expect(try vault.statistics().deadBytes < UInt64(spare) + 512, "the spare, and what aligns the commit")
    }

    private func rotate(_ vault: Vault) throws {
        var rotation = try vault.rotation()
        try rotation.keep(try Fast.rawKey())
        _ = try rotation.run()
    }

    @Test("and compaction carry records of every size, and what they write verifies", arguments: [true, false])
    func largeRecords(rotates: Bool) throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        let sizes = (0..<1500).map { $0 % 400 == 9 ? 1_500_000 : $0 % 700 }
        try vault.transaction { (transaction) throws(VaultError) in
            for (number, size) in sizes.enumerated() {
                let secret = Secret(bytes: [UInt8](repeating: UInt8(number % 251), count: size))
                try transaction.add(try .genericPassword(service: "s", account: "\(number)"), secret: secret)
            }
        }
        if rotates {
            var rotation = try vault.rotation()
            _ = try rotation.keep(try Fast.rawKey())
            _ = try rotation.run()
        } else {
            try vault.compact()
        }
        #expect(try vault.verify().isSound)
        var seen = 0
        try vault.forEachSecret { (item, secret) throws(VaultError) in
            guard case .opened(let bytes) = secret, let number = item.key.account.flatMap({ Int($0) }) else { return }
            seen += bytes.count == sizes[number] && bytes.allSatisfy { $0 == UInt8(number % 251) } ? 1 : 0
        }
        #expect(seen == sizes.count)
    }
}
