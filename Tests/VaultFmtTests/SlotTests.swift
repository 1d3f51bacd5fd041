import Testing
import VaultBytes

@testable import VaultFmt

@Suite("Slots")
struct SlotTests {
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    private func opens(_ path: String, _ factors: () throws -> Factors) -> Bool {
        do {
            _ = try Vault.open(path, factors: try factors())
            return true
        } catch { return false }
    }

    @Test("are added, listed, renamed, changed and removed; each opens the vault")
    func life() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        var options = CreateOptions()
        options.slotName = "first"
        let vault = try Vault.create(at: path, factors: try Fast.rawKey(), options: options)
        try vault.put(key, "x")
        let id = try vault.addSlot(try Fast.factors("pw"), cost: .testing, name: "second", allowWeak: true).id
        #expect(opens(path, { try Fast.rawKey() }) && opens(path, { try Fast.factors("pw") }))
        var slots = try vault.slots()
        #expect(slots.map(\.name) == ["first", "second"])
        #expect(slots.map(\.openedThis) == [true, false])
        #expect(slots.map(\.isFull) == [true, true] && slots.map(\.groups) == [nil, nil])
        #expect(slots.map(\.factors) == [.rawKey, .passphrase])
        #expect(slots.map(\.cost) == [nil, .testing] && slots.map(\.isWeak) == [false, true])
        #expect(slots[1].id == id)

        let name = String(repeating: "n", count: 61) + "é"
        try vault.renameSlot(id, to: name)
        #expect(try vault.slots().map(\.name) == ["first", name])
        #expect(opens(path, { try Fast.factors("pw") }), "a new name leaves the factors")
        try vault.changeFactors(
            of: id, to: try Fast.factors("new"), cost: KDFCost(memoryKiB: 16, passes: 1, lanes: 2), allowWeak: true)
        #expect(!opens(path, { try Fast.factors("pw") }) && opens(path, { try Fast.factors("new") }))
        slots = try vault.slots()
        #expect(slots[1].name == name && slots[1].cost == KDFCost(memoryKiB: 16, passes: 1, lanes: 2))
        // Without an id, the slot that opened it; without a cost, the one that it has, also where it is weak.
        let second = try Fast.openWritable(path, try Fast.factors("new"))
        try second.changeFactors(to: try Fast.factors("newer"))
        #expect(opens(path, { try Fast.factors("newer") }) && !opens(path, { try Fast.factors("new") }))
        #expect(try second.slots().map(\.openedThis) == [false, true])
        #expect(try second.slots()[1].cost == KDFCost(memoryKiB: 16, passes: 1, lanes: 2))
        try second.removeSlot(try second.slots()[0].id)
        #expect(!opens(path, { try Fast.rawKey() }) && opens(path, { try Fast.factors("newer") }))
        try vault.put(key, "y")
        try second.refresh()
        #expect(try second.text(key) == "y")
        #expect(try second.verify().isSound)
    }

    @Test("of the full kind: the last one cannot be removed")
    func last() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let only = try vault.slots()[0].id
        fails(.lastSlot) { try vault.removeSlot(only) }
        let scoped = try vault.addSlot(try Fast.rawKey(9), grantedGroups: []).id
        fails(.lastSlot) { try vault.removeSlot(only) }
        try vault.removeSlot(scoped)
        let other = try vault.addSlot(try Fast.rawKey(9)).id
        try vault.removeSlot(only)
        fails(.lastSlot) { try vault.removeSlot(other) }
        fails(.noSuchSlot) { try vault.removeSlot(only) }
        fails(.noSuchSlot) { try vault.renameSlot(only, to: "x") }
        fails(.noSuchSlot) { try vault.changeFactors(of: only, to: try Fast.rawKey(1)) }
        fails(.noSuchSlot) { try vault.changeFactors(to: try Fast.rawKey(1)) }
        #expect(opens(path, { try Fast.rawKey(9) }) && !opens(path, { try Fast.rawKey() }))
    }

    @Test("are 64 at most, and the header grows to hold them (R-11.2)")
    func sixtyFour() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        for number in 1..<64 {
            let isScoped = number % 8 == 0
            try vault.addSlot(
                try Fast.rawKey(UInt8(number + 100)), name: "slot \(number)",
                grantedGroups: isScoped ? (0..<32).map { "group \($0)" } : nil, createsGroups: true)
            if number % 16 == 0 { #expect(try vault.verify().isSound) }
        }
        let size = try contents(path).count
        #expect(try Vault.inspect(path).headerBytes == 32_768 && size > 65_536)
        fails(.limitExceeded, "64 slots") { _ = try vault.addSlot(try Fast.rawKey(99)) }
        #expect(try vault.slots().map(\.isFull) == (0..<64).map { $0 == 0 || $0 % 8 != 0 })
        #expect(try vault.slots()[8].groups?.count == 32)
        for number in 1..<64 {
            #expect(try Fast.openWritable(path, try Fast.rawKey(UInt8(number + 100))).allItems().count == 1)
        }
        #expect(try vault.text(key) == "x")
        #expect(try vault.statistics().compartments.count == 1)
        for slot in try vault.slots().dropFirst() where slot.isFull { try vault.removeSlot(slot.id) }
        #expect(try vault.slots().count == 8)
        #expect(try vault.verify().isSound)
        #expect(try vault.verdict(on: vault.anchor) == .same)
    }

    @Test("S5: factors that open a slot already are refused for another one, whatever its kind")
    func sameFactors() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        let scoped = try vault.addSlot(try Fast.rawKey(9), name: "ci", grantedGroups: [""]).id
        let passphrase = try vault.addSlot(try Fast.factors("pw"), cost: .testing, allowWeak: true).id
        let bytes = try contents(path)
        for groups in [nil, [""]] as [[String]?] {
            fails(.invalidArgument, "the scoped slot \"ci\"") {
                _ = try vault.addSlot(try Fast.rawKey(9), name: "x", grantedGroups: groups)
            }
            fails(.invalidArgument, "open the full slot") {
                _ = try vault.addSlot(try Fast.rawKey(), grantedGroups: groups)
            }
            fails(.invalidArgument, "open the full slot") {
                _ = try vault.addSlot(
                    try Fast.factors("pw"), cost: KDFCost(memoryKiB: 16, passes: 2, lanes: 1), grantedGroups: groups,
                    allowWeak: true)
            }
        }
        fails(.invalidArgument, "ci") { try vault.changeFactors(to: try Fast.rawKey(9)) }
        fails(.invalidArgument, "the full slot") { try vault.changeFactors(of: scoped, to: try Fast.rawKey()) }
        #expect(try contents(path) == bytes)
        // The slot's own factors once more, at another cost, are not another slot's.
        try vault.changeFactors(
            of: passphrase, to: try Fast.factors("pw"), cost: KDFCost(memoryKiB: 16, passes: 2, lanes: 1),
            allowWeak: true)
        try vault.changeFactors(to: try Fast.rawKey())
    }

    @Test("S5: a group that the vault does not have is granted only where it is to be made")
    func unknownGroup() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(try .genericPassword(service: "s", group: "ci"), "x")
        let bytes = try contents(path)
        fails(.invalidArgument, "no access group \"typo\"") {
            _ = try vault.addSlot(try Fast.rawKey(9), grantedGroups: ["ci", "typo"])
        }
        #expect(try contents(path) == bytes)
        _ = try vault.addSlot(try Fast.rawKey(9), grantedGroups: ["ci", "typo"], createsGroups: true)
        #expect(try vault.slots()[1].groups == ["ci", "typo"])
        #expect(try vault.verify().isSound)
    }

    @Test("have names of at most 63 bytes, and grants of at most 32 groups")
    func limits() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let bytes = try contents(path)
        let long = String(repeating: "n", count: 64)
        fails(.limitExceeded, "63 bytes") { _ = try vault.addSlot(try Fast.rawKey(9), name: long) }
        fails(.limitExceeded, "63 bytes") { try vault.renameSlot(try vault.slots()[0].id, to: long) }
        fails(.limitExceeded, "32 access groups") {
            _ = try vault.addSlot(try Fast.rawKey(9), grantedGroups: (0..<33).map { "\($0)" })
        }
        fails(.weakKDF) { _ = try vault.addSlot(try Fast.factors(), cost: .testing) }
        fails(.kdfLimit) {
            _ = try vault.addSlot(try Fast.factors(), cost: KDFCost(memoryKiB: 3 << 20, passes: 3, lanes: 4))
        }
        #expect(try contents(path) == bytes)
        fails(.limitExceeded, "63 bytes") {
            var options = CreateOptions()
            options.slotName = long
            _ = try Vault.create(at: folder.file("b.vault"), factors: try Fast.rawKey(), options: options)
        }
        #expect(folder.names == ["a.vault"])
    }

    @Test("are changed without touching the vault's other bytes, and without the KDF of others")
    func rewrap() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        for number in 0..<20 { try vault.put(try password("s", "\(number)"), "x") }
        let before = try contents(path)
        try vault.changeFactors(to: try Fast.rawKey(7))
        let after = try contents(path)
        // The other slot has another id, and the keyring remembers the one that is gone.
        #expect(after[8192..<before.count].elementsEqual(before[8192...]))
        let new = try frames(after).filter { $0.range.lowerBound >= before.count }
        #expect(new.map(\.type) == [.keyring, .keyring, .commit])
        #expect(after[..<4096] == after[4096..<8192], "the copy is the header")
        // What the file says in clear about slots changed, and no name or group is to be seen.
        #expect(after[..<4096] != before[..<4096])
    }

    @Test("E14: get a new name or other factors, come and go, with another keyring, its spare and nothing else")
    func keyrings() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        func appended(_ change: () throws -> Void) throws -> [FrameType] {
            let before = try contents(path).count
            try change()
            let commit = try newestCommit(path)
            #expect(commit.start == before)
            return try frames(contents(path)).filter { $0.range.lowerBound >= before }.map(\.type)
        }
        let id = try vault.slots()[0].id
        #expect(try appended { try vault.renameSlot(id, to: "other") } == [.keyring, .keyring, .commit])
        #expect(try appended { try vault.addSlot(try Fast.rawKey(9)) } == [.keyring, .keyring, .commit])
        let added = try vault.slots()[1].id
        #expect(
            try appended { try vault.changeFactors(of: added, to: try Fast.rawKey(8)) } == [
                .keyring, .keyring, .commit,
            ])
        #expect(try vault.slots()[1].id == added)
        #expect(try appended { try vault.removeSlot(added) } == [.keyring, .keyring, .commit])
        #expect(try vault.keyring.slots.map(\.id) == [id.bytes])
        #expect(try Fast.open(path).text(key) == "x")
        #expect(try vault.verify().isSound)
    }

    @Test("keep extensions of the header that are not known, byte for byte (R-3.25)")
    func extensions() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        let extra = Extension(name: "example.org/thing", isCritical: false, value: [1, 2, 3])
        // As a program that knows the extension would put it there.
        try vault.withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                var header = core.store.header
                header.extensions.append(extra)
                let next = try core.store.nextVector()
                _ = try next.tick()
                try core.store.replaceHeader(
                    Store.Replacement(
                        header: header, keys: try Rebuild.ownKeys(core.store),
                        wrappingKey: core.store.slot.wrappingKey.copy(),
                        slotID: core.store.slot.id), keyring: core.store.keyring, next)
                core.stateChanged()
            }
        }
        _ = try vault.addSlot(try Fast.rawKey(9), grantedGroups: ["g"], createsGroups: true)
        try vault.compact()
        try vault.removeSlot(try vault.slots()[1].id)
        var rotation = try vault.rotation()
        _ = try rotation.keep(try Fast.rawKey())
        _ = try rotation.run()
        let shown = try Vault.inspect(path).extensions
        #expect(
            shown.map(\.name) == ["example.org/thing"] && shown.map(\.bytes) == [3]
                && shown.map(\.isCritical) == [false])
        let kept = try vault.withCore { (core) throws(VaultError) in core.store.header.extensions }
        #expect(kept == [extra])
        #expect(try vault.verify().isSound)
    }
}

extension Fast {
    static func openWritable(_ path: String, _ factors: borrowing Factors) throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        return try Vault.open(path, factors: factors, options: options)
    }
}
