import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

@Suite("Rewriting a vault")
struct RebuildTests {
    private let memory = InMemory()
    private let key: ItemKey
    private let work: ItemKey

    init() throws {
        key = try password("s", "a")
        work = try .genericPassword(service: "s", account: "w", group: "work")
    }

    /// How the file is rewritten.
    enum Way: CaseIterable, Sendable {
        case compaction, grant, rotation
    }

    private func rewrite(_ vault: Vault, _ way: Way) throws {
        switch way {
        case .compaction: try vault.compact()
        case .grant: try vault.addSlot(try Fast.rawKey(9), grantedGroups: [""])
        case .rotation: try vault.rotate()
        }
    }

    private func types(_ vault: Vault) throws -> [FrameType: Int] {
        Dictionary(grouping: try frames(try memory.bytes()), by: \.type).mapValues(\.count)
    }

    @Test("keeps earlier values, with attributes of the time, and large attributes once", arguments: Way.allCases)
    func earlierValues(way: Way) throws {
        let vault = try memory.create()
        let large = [UInt8](repeating: 7, count: 10_000)
        for number in 0..<5 {
            try vault.set(
                key, secret: Secret(text: "\(number)"), attributes: setting(["label": "\(number)", "url": "u"]))
            if number == 0 {
                try vault.update(
                    key, attributes: setting(Attributes([Attribute("file", large, flags: [.sealed, .binary])])))
            }
        }
        try vault.put(work, "w")
        let before = try vault.earlier(key)
        #expect(before.map(\.secret) == ["0", "1", "2", "3"])
        let dump = try vault.dump()
        let state = try newest(vault)
        try rewrite(vault, way)
        #expect(try vault.earlier(key) == before)
        #expect(try vault.dump() == dump)
        let again = try memory.open()
        #expect(
            try again.earlier(key) == before
                && again.attribute("file", of: try #require(try again.item(key)))?.array == large)
        // Two items, four earlier values, one attribute; and nothing dead but the keyring's spare.
        let vectors = way == .rotation ? 2 : 1
        #expect(
            try types(vault) == [.record: 7, .past: 1, .page: 1, .keyring: 2, .vector: vectors, .commit: 1])
        #expect(try newest(vault).pasts == 1 && state.pasts == 1)
        try expectSound(again)
    }

    @Test(
        "keeps earlier values beyond the setting, which only the next change of their item drops (R-6.27)",
        arguments: Way.allCases)
    func policy(way: Way) throws {
        let vault = try memory.create()
        for number in 0..<6 { try vault.put(key, "value \(number)") }
        func secrets() throws -> Set<String> { try RawReader(vault).secrets(in: try memory.bytes()) }
        let all = Set((0..<6).map { "value \($0)" })
        try vault.keepVersions(2)
        try rewrite(vault, way)
        #expect(try vault.earlier(key).map(\.secret) == ["value 3", "value 4"], "no more than these are listed")
        #expect(try secrets() == all)
        try vault.keepVersions(0)
        try rewrite(vault, way == .grant ? .compaction : way)
        #expect(try vault.earlier(key).isEmpty && secrets() == all)
        try expectSound(vault)
        try vault.update(key, attributes: setting(["label": "changed"]))
        try rewrite(vault, way == .grant ? .compaction : way)
        #expect(try vault.item(key)?.hasPast == false)
        #expect(try secrets() == ["value 5"])
        #expect(try types(vault)[.past] == nil && newest(vault).pasts == 0)
        try expectSound(vault)
    }

    /// What of an item is damaged.
    enum Damage: CaseIterable, Sendable {
        case secret, attribute, earlierValue, past

        var name: String {
            switch self {
            case .secret: "the secret of "
            case .attribute: "a large attribute of "
            case .earlierValue: "an earlier value of "
            case .past: "the list of earlier values of "
            }
        }
    }

    @Test(
        "E17: is stopped by a damaged frame of an item, says of which item and what helps, and goes on after that",
        arguments: Way.allCases, Damage.allCases)
    func damaged(way: Way, damage: Damage) throws {
        let vault = try memory.create()
        let file = setting(Attributes([Attribute("file", [UInt8](repeating: 7, count: 10_000))]))
        let item = try ItemKey.genericPassword(service: "mail", account: "ann")
        try vault.put(item, "one")
        try vault.update(item, attributes: file)
        try vault.put(item, "two")
        for number in 0..<100 { try vault.put(try password("s", "\(number)"), "x") }
        let found = try #require(try vault.item(item))
        let earlier = try #require(try vault.earlierValues(of: item).first?.value.record).record
        let ref =
            switch damage {
            case .secret: found.entry.record
            case .attribute: try #require(found.largeRecords.first).record
            case .earlierValue: earlier
            case .past: try #require(found.entry.past)
            }
        var bytes = try memory.bytes()
        bytes[Int(ref.offset) + 70] ^= 1
        memory.files.put("a.vault", bytes)
        let damaged = try memory.open()
        let error = fails(.authenticationFailed, damage.name + "generic-password 'mail' 'ann'") {
            try rewrite(damaged, way)
        }
        #expect(error?.detail.hasSuffix(", or remove the item") ?? false, "\(error?.detail ?? "")")
        #expect(error?.offset == ref.offset)
        #expect(try memory.bytes() == bytes, "the file stays as it was")
        switch damage {
        case .secret:
            try damaged.restore(try #require(try damaged.earlierValues(of: item).first), of: item)
            let after = try (damaged.text(item), damaged.earlier(item).map(\.secret))
            // The item shows the only earlier value that could be read.
            #expect(after == ("one", []), "\(after)")
        case .attribute:
            // The earlier value has it too, and would have to be resealed for owners.
            fails(.authenticationFailed, "an earlier value of generic-password 'mail' 'ann'") {
                try damaged.update(item, attributes: file)
            }
            try damaged.forgetEarlierValues(of: item)
            try damaged.update(item, attributes: file)
        case .earlierValue, .past: try damaged.forgetEarlierValues(of: item)
        }
        try rewrite(damaged, way)
        try expectSound(try memory.open())
        #expect(try memory.open().allItems().count == 101)
    }

    @Test("E17: as does removing the item", arguments: Way.allCases)
    func damagedRemoved(way: Way) throws {
        let vault = try memory.create(kept: 0)
        try vault.put(work, "w")
        let ref = try #require(try vault.item(work)).entry.record
        try vault.put(key, "x")
        var bytes = try memory.bytes()
        bytes[Int(ref.offset) + 70] ^= 1
        memory.files.put("a.vault", bytes)
        let damaged = try memory.open()
        if way != .grant {
            fails(.authenticationFailed, "generic-password 's' 'w' group 'work'") { try rewrite(damaged, way) }
        }
        try damaged.remove(work)
        try rewrite(damaged, way)
        try expectSound(try memory.open())
    }

    private func newest(_ vault: Vault) throws -> Commit {
        try vault.withCore { (core) throws(VaultError) in core.store.state.commit }
    }

    @Test("keeps what was forgotten, and the vector, and leaves nothing of what was removed", arguments: Way.allCases)
    func forgotten(way: Way) throws {
        let vault = try memory.create()
        for number in 0..<3 { try vault.put(key, "value \(number)") }
        try vault.forgetEarlierValues(of: key)
        try vault.put(work, "w")
        try vault.remove(work)
        let before = try (vault.merged().forgotten, vault.anchor)
        #expect(before.0.count == 2)
        try rewrite(vault, way)
        #expect(try vault.merged().forgotten == before.0 && newest(vault).forgotten == 2)
        #expect(try vault.verdict(on: before.1) == (way == .compaction ? .same : .descends))
        #expect(try RawReader(vault).secrets(in: try memory.bytes()) == ["value 2"])
        try expectSound(vault)
    }

    @Test(
        "copies records of other groups unchanged when the epoch changes, and gives the group's a new number (R-3.26, R-3.27)"
    )
    func epoch() throws {
        let vault = try memory.create()
        try vault.put(key, "x")
        try vault.put(work, "w")
        let before = try memory.bytes()
        func record(_ key: ItemKey, _ bytes: [UInt8]) throws -> [UInt8] {
            let ref = try #require(try vault.item(key)).entry.record
            return Array(bytes[Int(ref.offset)..<Int(ref.end)])
        }
        let (plain, granted) = (try record(key, before), try record(work, before))
        let numbers = try vault.keyring.compartments.map(\.number)
        let groups = try vault.keyring.groups
        try vault.addSlot(try Fast.rawKey(9), grantedGroups: ["work"])
        let after = try memory.bytes()
        #expect(try record(key, after) == plain, "the locator key does not depend on the epoch")
        #expect(try record(work, after) != granted)
        #expect(try Set(vault.keyring.compartments.map(\.number)).subtracting(numbers).count == 1)
        for group in groups {
            let now = try #require(try vault.keyring.groups.first { $0.name == group.name })
            #expect((now.number == group.number) == (group.name == ""))
        }
        try expectSound(vault)
    }

    @Test(
        "keeps the compartments of other devices under their numbers, and names their items (R-3.27, R-7.17)",
        arguments: Way.allCases)
    func otherDevices(way: Way) throws {
        let device = Device.random()
        let other = try memory.create(device: try Device(fileContents: device.fileContents()))
        try other.add(key, secret: Secret(text: "bound"), accessibility: .whenUnlockedThisDeviceOnly)
        try other.put(key, "bound again")
        let here = try memory.open()
        try here.put(try password("s", "free"), "free")
        let bound = try here.keyring.compartments.filter(\.isDeviceBound).map(\.number)
        #expect(bound.count == 2, "the item's, and that of its earlier values")
        switch way {
        case .compaction: try here.compact()
        case .grant: #expect(try here.addSlot(try Fast.rawKey(9), grantedGroups: [""]).keptForDevices == [key])
        case .rotation:
            var rotation = try here.rotation()
            try rotation.keep(try Fast.rawKey())
            #expect(try rotation.run().copiedDeviceBound == [key])
        }
        #expect(try here.keyring.compartments.filter(\.isDeviceBound).map(\.number) == bound)
        try expectSound(here, unopened: 2)
        let again = try memory.open(device: device)
        #expect(try again.text(key) == "bound again" && again.earlier(key).map(\.secret) == ["bound"])
        try expectSound(again)
    }

    @Test("folds several compartments of one kind into one, and gives a device's new keys where its secret is at hand")
    func folding() throws {
        let device = Device.random()
        let vault = try memory.create(device: try Device(fileContents: device.fileContents()))
        try vault.add(key, secret: Secret(text: "bound"), accessibility: .whenUnlockedThisDeviceOnly)
        let before = Set(try vault.keyring.compartments.map(\.number))
        try vault.rotate()
        #expect(try vault.keyring.compartments.count == before.count)
        #expect(try Set(vault.keyring.compartments.map(\.number)).isDisjoint(with: before))
        #expect(try memory.open(device: device).text(key) == "bound")
        try expectSound(vault)
    }

    @Test(
        "changes what a scoped slot opens in one operation: groups that it gains or loses get new keys, the others keep theirs (R-3.27)"
    )
    func grants() throws {
        let vault = try memory.create()
        for group in ["", "work", "home"] {
            try vault.put(try .genericPassword(service: "s", account: group, group: group), group)
        }
        func item(_ group: String) throws -> ItemKey {
            try .genericPassword(service: "s", account: group, group: group)
        }
        let id = try vault.addSlot(try Fast.rawKey(9), name: "ci", grantedGroups: ["", "work"]).id
        let made = try #require(try vault.keyring.slots.first { $0.id == id.bytes })
        func numbers() throws -> [String: UInt64] {
            Dictionary(try vault.keyring.groups.map { ($0.name, $0.number) }) { first, _ in first }
        }
        let before = try numbers()
        let old = try memory.open(with: try Fast.rawKey(9))
        let (oldBytes, oldReader) = (try memory.bytes(), try RawReader(old))
        #expect(try vault.setGrants(of: id, to: ["work", "home"]).id == id)
        let after = try numbers()
        #expect(after["work"] == before["work"] && after[""] != before[""] && after["home"] != before["home"])
        #expect(try vault.slots()[1].groups == ["home", "work"] && vault.slots()[1].name == "ci")
        // Each grant has a dot of its own, and that of a group that stays is the one that it had (R-8.13).
        let now = try #require(try vault.keyring.slots.first { $0.id == id.bytes })
        #expect(now.made == made.made && now.changed == made.changed)
        func dot(_ slot: SlotDots, _ number: UInt64?) -> StoredDot? { slot.grants.first { $0.group == number }?.dot }
        #expect(dot(now, after["work"]) == dot(made, before["work"]) && dot(now, after["work"]) != nil)
        #expect(try #require(dot(now, after["home"])).revision > made.changed.revision)
        let scoped = try memory.open(with: try Fast.rawKey(9))
        #expect(try scoped.text(item("work")) == "work" && scoped.text(item("home")) == "home")
        fails(.notPermitted) { _ = try scoped.text(item("")) }
        // What it held opens nothing of the new file, and what it holds nothing of the old one but what it could read
        // then.
        #expect(try oldReader.secrets(in: try memory.bytes()).isDisjoint(with: ["", "home"]))
        #expect(try !RawReader(scoped).secrets(in: oldBytes).contains("home"))
        fails(.invalidArgument, "no access group") { try vault.setGrants(of: id, to: ["none"]) }
        fails(.invalidArgument, "only a scoped slot") { try vault.setGrants(of: try vault.slots()[0].id, to: [""]) }
        try vault.setGrants(of: id, to: [])
        #expect(try memory.open(with: try Fast.rawKey(9)).access == .scoped(groups: []))
        try expectSound(vault)
    }

    @Test("keeps a damaged tail in a file, on request, and then cuts it off (R-7.10)")
    func repair() throws {
        let vault = try memory.create()
        try vault.put(key, "x")
        #expect(try vault.repair() == nil)
        let bytes = try memory.bytes()
        var tail = [UInt8](repeating: 3, count: 512)
        withUnsafeBytes(of: FrameHead.commit.littleEndian) { head in
            for (index, byte) in head.enumerated() { tail[index] = byte }
        }
        memory.files.put("a.vault", bytes + tail)
        let damaged = try memory.open()
        #expect(damaged.tail == .damaged(bytes: 512))
        fails(.damagedTail, "repair") { try damaged.put(key, "y") }
        #expect(try memory.bytes() == bytes + tail)
        #expect(try damaged.repair() == "a.vault.damaged-3")
        #expect(memory.files.bytes(of: "a.vault.damaged-3") == tail)
        try damaged.put(key, "y")
        #expect(try memory.open().text(key) == "y")
        try expectSound(damaged)
    }
}

/// An earlier value, with everything.
struct Earlier: Equatable {
    let secret: String
    let label: String?
    let large: [UInt8]?
    let revision: UInt64
    let replaced: Int64
}

extension Vault {
    /// All earlier values of an item, opened.
    func earlier(_ key: ItemKey) throws -> [Earlier] {
        try earlierValues(of: key).map { value in
            let opened = try open(value)
            return Earlier(
                secret: String(decoding: opened.secret.array, as: UTF8.self), label: opened.attributes.label,
                large: try attribute("file", of: value)?.array, revision: value.revision, replaced: value.replaced)
        }
    }
}
