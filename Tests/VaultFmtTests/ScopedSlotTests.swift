import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

@Suite("A scoped slot")
struct ScopedSlotTests {
    private let work: ItemKey
    private let home: ItemKey
    private let plain: ItemKey

    init() throws {
        work = try .genericPassword(service: "s", account: "work", group: "work")
        home = try .genericPassword(service: "s", account: "home", group: "home")
        plain = try password("s", "plain")
    }

    /// A vault of three groups, with a scoped slot for one of them.
    private func sample(_ path: String) throws -> (Vault, SlotID) {
        let vault = try Fast.create(path)
        for key in [work, home, plain] { try vault.add(key, secret: Secret(text: key.account ?? ""), attributes: ["label": "L"]) }
        return (vault, try vault.addSlot(try Fast.rawKey(9), name: "reader", grantedGroups: ["work"]))
    }

    private func openScoped(_ path: String, _ byte: UInt8 = 9) throws -> Vault { try Fast.openWritable(path, try Fast.rawKey(byte)) }

    @Test("lists everything, opens the secrets of its groups, and can change nothing")
    func access() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (owner, id) = try sample(path)
        let scoped = try openScoped(path)
        #expect(scoped.access == .scoped(groups: ["work"]) && owner.access == .owner)
        #expect(try scoped.allItems().map(\.key) == owner.allItems().map(\.key))
        #expect(try scoped.item(home)?.attributes.label == "L")
        #expect(try scoped.text(work) == "work")
        for key in [home, plain] { fails(.notPermitted) { _ = try scoped.text(key) } }
        let bytes = try contents(path)
        fails(.notPermitted) { try scoped.put(work, "x") }
        fails(.notPermitted) { try scoped.update(work) }
        fails(.notPermitted) { try scoped.remove(work) }
        fails(.notPermitted) { try scoped.compact() }
        fails(.notPermitted) { _ = try scoped.rotation() }
        fails(.notPermitted) { _ = try scoped.addSlot(try Fast.rawKey(1)) }
        fails(.notPermitted) { try scoped.removeSlot(id) }
        fails(.notPermitted) { try scoped.renameSlot(id, to: "x") }
        fails(.notPermitted) { try scoped.changeFactors(to: try Fast.rawKey(1)) }
        #expect(try contents(path) == bytes)
        #expect(try scoped.slots().allSatisfy { $0.name == nil && $0.groups == nil })
        #expect(try owner.slots().map(\.groups) == [nil, ["work"]])
        #expect(owner.fingerprint != scoped.fingerprint)
        let report = try scoped.verify()
        #expect(report.problemCount == 0 && report.unopened == 2 && !report.isSound)
        var refused = 0
        try scoped.forEachSecret { (_, secret) throws(VaultError) in if case .refused = secret { refused += 1 } }
        #expect(refused == 2)
        try owner.put(work, "new")
        try scoped.refresh()
        #expect(try scoped.text(work) == "new")
        #expect(try scoped.verdict(on: owner.anchor) == .same)
        fails(.notPermitted) {
            _ = try Vault.salvage(path, factors: try Fast.rawKey(9), to: folder.file("b.vault"), newFactors: try Fast.rawKey())
        }
    }

    @Test("locks and unlocks as others do")
    func locking() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (owner, _) = try sample(path)
        let always = try ItemKey.genericPassword(service: "s", account: "always", group: "work")
        try owner.add(always, secret: Secret(text: "always"), accessibility: .always)
        let scoped = try openScoped(path)
        scoped.lock()
        #expect(try scoped.text(always) == "always")
        fails(.locked) { _ = try scoped.text(work) }
        fails(.noSlotOpens) { try scoped.unlock(try Fast.rawKey(8)) }
        try scoped.unlock(try Fast.rawKey(9))
        #expect(try scoped.text(work) == "work")
        fails(.notPermitted) { _ = try scoped.text(home) }
        // The owner's factors make an owner of it.
        scoped.lock()
        try scoped.unlock(try Fast.rawKey())
        #expect(scoped.access == .owner)
        #expect(try scoped.text(home) == "home")
        scoped.lock()
        try scoped.unlock(try Fast.rawKey(9))
        #expect(scoped.access == .scoped(groups: ["work"]))
        fails(.notPermitted) { _ = try scoped.text(home) }
    }

    @Test("grants groups by their exact names, several of them, and none")
    func grants() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (owner, _) = try sample(path)
        // Equivalent to readers, but two groups.
        let composed = try ItemKey.genericPassword(service: "c", group: "\u{E9}")
        let decomposed = try ItemKey.genericPassword(service: "d", group: "e\u{301}")
        try owner.put(composed, "c")
        try owner.put(decomposed, "d")
        _ = try owner.addSlot(try Fast.rawKey(10), grantedGroups: ["\u{E9}", "", "future", "\u{E9}"], createsGroups: true)
        _ = try owner.addSlot(try Fast.rawKey(11), grantedGroups: [])
        func check() throws {
            let several = try openScoped(path, 10)
            #expect(try several.text(composed) == "c" && several.text(plain) == "plain")
            for key in [decomposed, work, home] { fails(.notPermitted) { _ = try several.text(key) } }
            let none = try openScoped(path, 11)
            #expect(none.access == .scoped(groups: []))
            for key in [plain, work, composed] { fails(.notPermitted) { _ = try none.text(key) } }
        }
        try check()
        // A rotation grants the same again, and not more.
        var rotation = try owner.rotation()
        for byte in [0x2B, 9, 10, 11] as [UInt8] { _ = try rotation.keep(try Fast.rawKey(byte)) }
        #expect(rotation.dropped.isEmpty)
        _ = try rotation.run()
        try check()
        #expect(try openScoped(path).text(work) == "work")
        let future = try ItemKey.genericPassword(service: "f", group: "future")
        try owner.put(future, "f")
        #expect(try openScoped(path, 10).text(future) == "f")
        #expect(try owner.verify().isSound)
    }

    @Test("keeps its grants under other factors, and when another one goes")
    func changes() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (owner, id) = try sample(path)
        let other = try owner.addSlot(try Fast.rawKey(10), name: "other", grantedGroups: ["work", "home"])
        try owner.changeFactors(of: id, to: try Fast.rawKey(12))
        fails(.noSlotOpens) { _ = try openScoped(path) }
        #expect(try openScoped(path, 12).text(work) == "work")
        let open = try openScoped(path, 12)
        try owner.removeSlot(other)
        try open.refresh()
        #expect(try open.text(work) == "work")
        fails(.notPermitted) { _ = try open.text(home) }
        #expect(try owner.slots().map(\.name) == ["", "reader"])
        #expect(try owner.dump().count == 3)
        #expect(try owner.verify().isSound)
    }

    // MARK: what its holder could try

    /// Everything that a scoped slot unwraps to.
    private struct Held {
        let index: [UInt8]
        let reader: [UInt8]
        let groups: [UInt32: [UInt8]]
    }

    private func held(_ vault: Vault) throws -> Held {
        try vault.withCore { (core) throws(VaultError) in
            let slot = core.store
            var groups: [UInt32: [UInt8]] = [:]
            for number in slot.slot.grants.numbers { groups[number] = (slot.slot.grants.key(number) ?? Secret(count: 0)).array }
            return Held(
                index: slot.slot.keys.index.array, reader: slot.slot.keys.reader.array,
                groups: groups)
        }
    }

    private func keys(_ held: Held) -> VaultKeys { VaultKeys(index: Secret(bytes: held.index), reader: Secret(bytes: held.reader)) }

    @Test("cannot make a commit that an owner accepts")
    func forgedCommit() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (owner, _) = try sample(path)
        let scoped = try openScoped(path)
        let held = try held(scoped)
        let bytes = try contents(path)
        let (commit, chain, vault) = try scoped.withCore { (core) throws(VaultError) in
            (core.store.state.commit, core.store.state.chain, core.store.vault)
        }
        let sealing = Sealing(vault: vault.words, random: .system)
        let codec = CommitCodec(keys(held), sealing: sealing, vault: vault)
        var forged = commit
        forged.generation += 1
        forged.previous = commit.offset
        forged.start = UInt64(bytes.count)
        forged.offset = UInt64(bytes.count)
        forged.previousChain = chain
        forged.items = 0
        forged.root = nil
        var digest = Blake2b()
        digest.update("vaultfmt-1 digest")
        forged.digest = Bytes32(words: digest.finish())
        try write(bytes + codec.seal(forged), path)
        // To other readers it looks right: they cannot tell. To owners it does not.
        #expect(try openScoped(path).allItems().isEmpty)
        fails(.tampered, "not made by an owner") { _ = try Fast.open(path) }
        fails(.tampered) { try owner.refresh() }
        fails(.tampered) { try owner.put(work, "x") }
        #expect(try owner.text(work) == "work")
        let report = try Vault.salvage(path, factors: try Fast.rawKey(), to: folder.file("new.vault"), newFactors: try Fast.rawKey())
        #expect(report.recovered == 3, "salvaging follows an owner's commit")
        try write(bytes, path)
        try owner.put(work, "x")
    }

    @Test("cannot make a header that an owner accepts")
    func forgedHeader() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        let held = try held(try openScoped(path))
        let bytes = try contents(path)
        var header = try Header(Array(bytes[..<4096]).span)
        header.slots[1].cost = nil
        header.extensions = [Extension(name: "forged", isCritical: false, value: [])]
        let forged = try HeaderSeal.seal(&header, keys(held))
        try write(forged + bytes[4096...], path)
        fails(.authenticationFailed, "header does not authenticate") { _ = try Fast.open(path) }
        // For a scoped reader the header is right, but it is not the one that the newest commit names.
        fails(.tampered) { _ = try openScoped(path) }
    }

    @Test("cannot change a record or page that an owner accepts, also under keys that it holds")
    func forgedObjects() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (owner, _) = try sample(path)
        // Another commit, so that what is altered is not of the newest one, whose digest would show it already.
        try owner.put(plain, "changed")
        let scoped = try openScoped(path)
        let item = try #require(try scoped.item(work))
        // The record's key is granted: seal another secret under the same identity, at the same place.
        let forged = try scoped.withCore { (core) throws(VaultError) -> [UInt8] in
            let entry = item.entry
            guard let compartment = core.view.compartment(entry.compartment) else { throw VaultError(.structureInvalid, "") }
            let key = try core.compartments.key(compartment, core.context)
            var frame = try core.store.file.bytes(entry.record.length, at: entry.record.offset)
            var body = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(frame, entry.identity, key: key.secret, core.store.sealing, at: entry.record.offset)
            }
            let secret = try RecordCodec.parts(body, at: entry.record.offset).secret
            body.withUnsafeMutableBytes { $0[secret.lowerBound] ^= 1 }
            let head = FrameHead(.record, length: frame.count).encoded
            frame.withUnsafeMutableBytes { frame in
                body.withUnsafeBytes {
                    core.store.sealing.sealRecord(
                        $0, entry.identity, head: head, key: key.secret, locatorKey: core.store.slot.keys.locator, into: frame)
                }
            }
            return frame
        }
        var bytes = try contents(path)
        let place = Int(item.entry.record.offset)
        bytes.replaceSubrange(place..<place + forged.count, with: forged)
        try write(bytes, path)
        fails(.authenticationFailed, "not the one that the index names") { _ = try Fast.open(path).text(work) }
        #expect(try Fast.open(path).verify().problemCount > 0)
        #expect(try owner.text(home) == "home")
    }

    @Test("that is removed opens nothing any more: the keys that it held were replaced")
    func removal() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (owner, id) = try sample(path)
        let old = try contents(path)
        let scoped = try openScoped(path)
        let held = try held(scoped)
        let slotBefore = try Header(Array(old[..<4096]).span).slots[1]
        try owner.removeSlot(id)
        fails(.noSlotOpens) { _ = try openScoped(path) }
        fails(.noSlotOpens, "removed") { try scoped.refresh() }
        #expect(try owner.dump().count == 3)
        #expect(try owner.verify().isSound)
        // The old payload's keys against the new file.
        let bytes = try contents(path)
        let header = try Header(Array(bytes[..<4096]).span)
        #expect(!header.slots.contains { $0.id == slotBefore.id })
        let keys = keys(held)
        fails(.authenticationFailed) { try HeaderSeal.check(header, Array(bytes[..<4096]), keys) }
        let sealing = Sealing(vault: header.id.words, random: .system)
        for frame in try frames(bytes) {
            let part = Array(bytes[frame.range])
            let kind: Sealing.Placed? =
                switch frame.type {
                case .record: nil
                case .page: .page
                case .keyring: .keyring
                case .history: .history
                case .commit: .commit
                }
            guard let kind else { continue }
            let sealed = frame.type == .commit ? Array(part[..<384]) : part
            var out = [UInt8](repeating: 0, count: sealed.count - 48)
            #expect(throws: CryptoError.authenticationFailed) {
                try out.withUnsafeMutableBytes { out in
                    try sealed.withUnsafeBytes {
                        try sealing.open($0, as: kind, at: UInt64(frame.range.lowerBound), key: keys.index, into: out)
                    }
                }
            }
        }
        // Nor do the old group keys open the compartments of the new keyring.
        let (compartments, numbers) = try owner.withCore { (core) throws(VaultError) in
            (core.store.keyring.compartments, core.store.keyring.groups.filter { $0.name == "work" }.map(\.number))
        }
        let number = try #require(numbers.first)
        let groupKey = try #require(held.groups[number])
        for compartment in compartments {
            fails(.authenticationFailed) {
                _ = try Wrapping.compartmentKey(compartment, Secret(bytes: groupKey), vault: header.id, device: nil, deviceID: .zero)
            }
        }
    }
}
