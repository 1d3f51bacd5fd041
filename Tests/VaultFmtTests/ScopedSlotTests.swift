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
        for key in [work, home, plain] {
            try vault.add(key, secret: Secret(text: key.account ?? ""), attributes: ["label": "L"])
        }
        return (vault, try vault.addSlot(try Fast.rawKey(9), name: "reader", grantedGroups: ["work"]).id)
    }

    private func openScoped(_ path: String, _ byte: UInt8 = 9) throws -> Vault {
        try Fast.openWritable(path, try Fast.rawKey(byte))
    }

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
        #expect(try owner.anchor == scoped.anchor, "both see the same state, and the same owners")
        let report = try scoped.verify()
        // Its holder cannot read locators: no record is checked but those that the index refers to.
        #expect(report.problemCount == 0 && report.unopened == 3 && !report.isSound, "\(report.problems)")
        var refused = 0
        try scoped.forEachSecret { (_, secret) throws(VaultError) in if case .refused = secret { refused += 1 } }
        #expect(refused == 2)
        try owner.put(work, "new")
        try scoped.refresh()
        #expect(try scoped.text(work) == "new")
        #expect(try scoped.verdict(on: owner.anchor) == .same)
        fails(.notPermitted) {
            _ = try Vault.salvage(
                path, factors: try Fast.rawKey(9), to: folder.file("b.vault"), newFactors: try Fast.rawKey())
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
        _ = try owner.addSlot(
            try Fast.rawKey(10), grantedGroups: ["\u{E9}", "", "future", "\u{E9}"], createsGroups: true)
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
        let other = try owner.addSlot(try Fast.rawKey(10), name: "other", grantedGroups: ["work", "home"]).id
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
        let publicKey: Bytes32
        let groups: [UInt64: [UInt8]]

        /// As somebody would use it who claims to be an owner, under a vault key of their own.
        func keys() -> VaultKeys { VaultKeys(index: Secret(bytes: index), ownersPublicKey: publicKey) }
    }

    private func held(_ vault: Vault) throws -> Held {
        try vault.withCore { (core) throws(VaultError) in
            let slot = core.store
            var groups: [UInt64: [UInt8]] = [:]
            for number in slot.slot.grants.numbers {
                groups[number] = (slot.slot.grants.key(number) ?? Secret(count: 0)).array
            }
            return Held(index: slot.slot.keys.index.array, publicKey: slot.slot.keys.ownersPublicKey(), groups: groups)
        }
    }

    /// A commit's frame with a proof that its maker chose.
    private func frame(_ commit: Commit, _ vault: Bytes16, _ held: Held, proof: (Bytes32) -> [UInt8]) -> [UInt8] {
        let core = commit.encode()
        let chain = core.withUnsafeBytes { CommitProof.chain(vault: vault, core: $0) }
        let body = core + proof(chain)
        var frame = [UInt8](repeating: 0, count: Format.commitSize)
        let sealing = Sealing(vault: vault, random: .system)
        frame.withUnsafeMutableBytes { frame in
            body.withUnsafeBytes {
                sealing.seal(
                    $0, as: .commit, at: commit.offset, head: FrameHead.commit, key: Secret(bytes: held.index),
                    into: frame)
            }
        }
        return frame
    }

    @Test(
        "M2, F3: cannot make a commit that an owner, or another scoped reader, accepts (R-5.18)", arguments: [0, 1, 2])
    func forgedCommit(kind: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (owner, _) = try sample(path)
        let scoped = try openScoped(path)
        let held = try held(scoped)
        let bytes = try contents(path)
        let (state, vault) = try scoped.withCore { (core) throws(VaultError) in (core.store.state, core.store.vault) }
        var forged = state.commit
        forged.generation += 1
        forged.predecessor = state.asPredecessor
        forged.start = UInt64(bytes.count)
        forged.offset = UInt64(bytes.count)
        forged.wasSyncedFirst = true
        forged.items = 0
        forged.root = nil
        let frame = frame(forged, vault, held) { chain in
            switch kind {
            // The proof of an older commit, none, and one under a key of its own.
            case 0: [UInt8](repeating: 7, count: 96)
            case 1: [UInt8](repeating: 0, count: 96)
            default:
                [UInt8](repeating: 0, count: 32)
                    + CommitProof.sign(chain, SigningKey(seed: Secret(bytes: [UInt8](repeating: 1, count: 32))))
            }
        }
        try write(bytes + frame, path)
        fails(.tampered, "not made by an owner") { _ = try openScoped(path) }
        fails(.tampered) { try scoped.refresh() }
        fails(.tampered, "not made by an owner") { _ = try Fast.open(path) }
        fails(.tampered) { try owner.refresh() }
        fails(.tampered) { try owner.put(work, "x") }
        #expect(try owner.text(work) == "work")
        let report = try Vault.salvage(
            path, factors: try Fast.rawKey(), to: folder.file("new.vault"), newFactors: try Fast.rawKey())
        #expect(report.recovered == 3, "salvaging follows an owner's commit")
        try write(bytes, path)
        try owner.put(work, "x")
    }

    @Test("cannot make a header that an owner accepts: the commit states another (R-5.24)")
    func forgedHeader() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        let held = try held(try openScoped(path))
        let bytes = try contents(path)
        var header = try Header(Array(bytes[..<4096]).span)
        header.extensions = [Extension(name: "forged", isCritical: false, value: [])]
        let forged = try HeaderSeal.seal(&header, held.keys()).bytes
        try write(forged + forged + bytes[8192...], path)
        fails(.tampered, "another header") { _ = try Fast.open(path) }
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
            guard let compartment = core.view.compartment(entry.compartment) else {
                throw VaultError(.structureInvalid, "")
            }
            let key = try core.compartments.key(compartment, core.context)
            var frame = try core.store.file.bytes(entry.record.length, at: entry.record.offset)
            var body = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(
                    frame, entry.identity, key: key.secret, core.store.sealing, at: entry.record.offset)
            }
            let found = try body.withSpan { (bytes) throws(VaultError) in
                try RecordCodec.found(bytes, at: entry.record.offset)
            }
            guard case .item(_, let secret, _) = found else { throw VaultError(.structureInvalid, "") }
            body.withUnsafeMutableBytes { $0[secret.lowerBound] ^= 1 }
            let head = FrameHead(.record, length: frame.count).encoded
            frame.withUnsafeMutableBytes { frame in
                body.withUnsafeBytes {
                    core.store.sealing.sealRecord(
                        $0, entry.identity, head: head, key: key.secret, locatorKey: Secret(count: 32), into: frame)
                }
            }
            return frame
        }
        var bytes = try contents(path)
        let place = Int(item.entry.record.offset)
        bytes.replaceSubrange(place..<place + forged.count, with: forged)
        try write(bytes, path)
        fails(.authenticationFailed, "not the one that the index refers to") { _ = try Fast.open(path).text(work) }
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
        fails(.authenticationFailed) { try HeaderSeal.check(Array(bytes[..<4096]), held.keys()) }
        let sealing = Sealing(vault: header.id, random: .system)
        for frame in try frames(bytes) {
            let part = Array(bytes[frame.range])
            let kind: Sealing.Placed? =
                switch frame.type {
                case .record, .chunk: nil
                case .page: .page
                case .past: .past
                case .keyring: .keyring
                case .vector: .vector
                case .commit: .commit
                }
            guard let kind else { continue }
            var out = [UInt8](repeating: 0, count: part.count - 48)
            #expect(throws: CryptoError.authenticationFailed) {
                try out.withUnsafeMutableBytes { out in
                    try part.withUnsafeBytes {
                        try sealing.open(
                            $0, as: kind, at: UInt64(frame.range.lowerBound), key: Secret(bytes: held.index), into: out)
                    }
                }
            }
        }
        // Nor do the old group keys open the compartments of the new keyring.
        let (compartments, numbers) = try owner.withCore { (core) throws(VaultError) in
            (core.store.keyring.compartments, core.store.keyring.groups.map(\.number))
        }
        #expect(held.groups.keys.allSatisfy { !numbers.contains($0) }, "new keys have new numbers (R-3.26)")
        for groupKey in held.groups.values {
            for compartment in compartments {
                fails(.authenticationFailed) {
                    _ = try Wrapping.compartmentKey(
                        compartment, Secret(bytes: groupKey), vault: header.id, device: nil, deviceID: .zero)
                }
            }
        }
    }
}
