import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// What the holder of a scoped slot puts into a file is not an owner's, and salvaging says so (S3).
@Suite("Salvaging what a scoped slot's holder could have made")
struct SalvageProofTests {
    private let work: ItemKey
    private let home: ItemKey

    init() throws {
        work = try .genericPassword(service: "s", account: "work", group: "work")
        home = try .genericPassword(service: "s", account: "home", group: "home")
    }

    private func salvage(_ path: String, _ folder: Folder, takesUnproven: Bool = false) throws -> (Vault, SalvageReport)
    {
        let new = folder.file("new.vault")
        if folder.names.contains("new.vault") { try remove(new) }
        let report = try Vault.salvage(
            path, factors: try Fast.rawKey(), to: new, newFactors: try Fast.rawKey(3), takesUnproven: takesUnproven)
        let vault = try Fast.openWritable(new, try Fast.rawKey(3))
        #expect(try vault.verify().isSound)
        #expect(try vault.allItems().count == report.recovered)
        return (vault, report)
    }

    /// A vault whose group "work" is granted, and in which both items were changed since.
    private func sample(_ path: String, kept: Int = 0) throws -> Vault {
        let owner = try Fast.create(path)
        try owner.keepVersions(kept)
        for key in [work, home] { try owner.put(key, "old") }
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["work"])
        for key in [work, home] { try owner.put(key, "new") }
        return owner
    }

    private func flip(_ offset: UInt64, _ path: String) throws {
        var bytes = try contents(path)
        bytes[Int(offset)] ^= 1
        try write(bytes, path)
    }

    /// What the slot's holder adds to the file: a newer record of an item, and a leaf that names it; if asked for, as
    /// longer than any file, or as the newest change, without the item's earlier values.
    private func forge(_ path: String, length: Int? = nil, isNewestWithoutPast: Bool = false) throws {
        let scoped = try Fast.openWritable(path, try Fast.rawKey(9))
        let end = UInt64(try contents(path).count)
        try scoped.withCore { (core) throws(VaultError) in
            let store = core.store
            guard let (page, index) = try store.tree.find(work.bytes), let item = try core.find(work),
                let compartment = core.view.compartment(item.entry.compartment)
            else { throw VaultError(.noSuchItem, "there is no item to be forged") }
            let appender = Appender(unnamed: store.file, sealing: store.sealing, start: end)
            var entry = item.entry
            // Not beyond the vault's clock: the other item was changed later.
            entry.dot = StoredDot(entry.dot.revision + 1, entry.dot.position)
            if isNewestWithoutPast {
                entry.dot = StoredDot(store.state.commit.clock + 1, entry.dot.position)
                (entry.past, entry.hasConflicts) = (nil, false)
            }
            entry.recordRevision = entry.dot.revision
            // The locator is not for its holder: without it nothing is found but what a page refers to.
            let seal = RecordCodec.Seal(
                identity: entry.identity, key: try core.compartments.key(compartment, core.context),
                locatorKey: SecretBox(Secret(count: 32)),
                sealing: store.sealing)
            entry.record = try RecordCodec.append(work, Secret(text: "forged"), [], seal, to: appender)
            if let length {
                entry.record = ObjectRef(offset: entry.record.offset, length: length, hash: entry.record.hash)
            }
            let value = ItemCodec.encode(entry, item.attributes.listed)
            let bytes = page.bytes
            let body = page.layout.replacing(index, with: value, in: bytes.span).body
            _ = try appender.append(body, as: .page, .page, key: store.slot.keys.index)
            try appender.flush()
        }
    }

    @Test("S3: with a page of the index damaged, takes an owner's older state, and no forged newer one")
    func olderState() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try sample(path)
        let root = try #require(try owner.withCore { (core) throws(VaultError) in core.store.state.commit.root?.ref })
        try forge(path)
        try flip(root.offset + 60, path)
        let (vault, report) = try salvage(path, folder, takesUnproven: true)
        // The state before the newest has the newest of this item: its page is dead, and whole.
        #expect(try vault.text(home) == "new")
        #expect(try vault.text(work) == "new")
        #expect(report.unproven.isEmpty && Set(report.withoutIndex) == [home, work])
    }

    @Test(
        "S3: with no page of any state left, names what a forged page refers to, and leaves it out",
        arguments: [false, true])
    func forgedLeaf(takesUnproven: Bool) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        try forge(path)
        var bytes = try contents(path)
        for frame in try frames(bytes).filter({ $0.type == .page }).dropLast() {
            bytes[frame.range.lowerBound + 60] ^= 1
        }
        try write(bytes, path)
        let (vault, report) = try salvage(path, folder, takesUnproven: takesUnproven)
        // The page has an entry of the other item too, with the same values as its record.
        #expect(report.unproven == [work] && report.withoutIndex.contains(home) && !report.isComplete, "\(report)")
        #expect(try vault.text(home) == "new")
        #expect(try vault.text(work) == (takesUnproven ? "forged" : nil))
    }

    @Test("S3: an unproven state without earlier values leaves the proven ones, and the proven secret after them")
    func forgedWithoutPast() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try sample(path, kept: 5)
        try owner.put(work, "newest")
        #expect(try owner.earlier(work).map(\.secret) == ["old", "new"])
        try forge(path, isNewestWithoutPast: true)
        let (vault, report) = try salvage(path, folder, takesUnproven: true)
        #expect(report.recoveredUnproven == [work] && report.keptProven == [work], "\(report)")
        #expect(try vault.text(work) == "forged")
        #expect(try vault.earlier(work).map(\.secret) == ["old", "new", "newest"])
        let (proven, _) = try salvage(path, folder)
        #expect(try proven.text(work) == "newest")
        #expect(try proven.earlier(work).map(\.secret) == ["old", "new"])
    }

    @Test(
        "S3: follows no reference of a forged page to what is not possible (R-2.3)", arguments: [0, 1 << 45, Int.max])
    func forgedLength(length: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        try forge(path, length: length)
        var bytes = try contents(path)
        for frame in try frames(bytes).filter({ $0.type == .page }).dropLast() {
            bytes[frame.range.lowerBound + 60] ^= 1
        }
        try write(bytes, path)
        let (vault, report) = try salvage(path, folder, takesUnproven: true)
        #expect(report.recovered == 2)
        #expect(try vault.text(home) == "new" && vault.text(work) == "new")
    }

    /// Replaces the newest keyring by the slot holder's own: a group that the slot opened once, with its key of that
    /// time, and a new compartment in it. Appends a record in this compartment, of an item of that group.
    private func forgeKeyring(_ path: String, _ former: Vault) throws {
        let (old, oldKey) = try former.withCore { (core) throws(VaultError) in
            guard let group = core.store.keyring.groups.first(where: { $0.name == "home" }) else {
                throw VaultError(.noSuchItem, "there is no such group")
            }
            return (group, try core.compartments.groupKey(group, core.context))
        }
        let end = UInt64(try contents(path).count)
        let number: UInt64 = 7
        let key = SecretBox(Secret(bytes: [UInt8](repeating: 5, count: 32)))
        try Fast.openWritable(path, try Fast.rawKey(9)).withCore { (core) throws(VaultError) in
            let store = core.store
            var ring = store.keyring
            guard let now = ring.groups.first(where: { $0.name == "home" }), let known = try core.find(work) else {
                throw VaultError(.noSuchItem, "there is nothing to be forged")
            }
            ring.compartments.removeAll { $0.group == now.number }
            ring.groups.removeAll { $0.number == now.number }
            var own = Keyring.Compartment(
                number: number, group: old.number, accessibility: 1, device: .zero, wrapped: [])
            Wrapping.wrap(&own, key.secret, oldKey.secret, device: nil, store.vault, store.random)
            ring.groups = (ring.groups + [old]).sorted { $0.number < $1.number }
            ring.compartments = [own] + ring.compartments
            let place = Appender(unnamed: store.file, sealing: store.sealing, start: store.state.commit.keyring.offset)
            let forged = ring
            let body = try decoding { () throws(FormatError) in try forged.encode() }
            _ = try place.append(body, as: .keyring, .keyring, key: store.slot.keys.index)
            try place.flush()
            // The mask of a locator follows from the nonce: that of a record which the holder can read is known.
            let frame = try FrameReader.read(known.entry.record, .record, store.file)
            let nonce = Array(frame[8..<32])
            let sealing = Sealing(vault: store.vault, random: Randomness(fill: { $0.copyBytes(from: nonce) }))
            let identity = Sealing.RecordIdentity(
                item: Bytes16(high: 1, low: 2), revision: store.state.commit.clock, compartment: number)
            let appender = Appender(unnamed: store.file, sealing: sealing, start: end)
            let seal = RecordCodec.Seal(
                identity: identity, key: key, locatorKey: SecretBox(Secret(count: 32)), sealing: sealing)
            _ = try RecordCodec.append(home, Secret(text: "forged"), [], seal, to: appender)
            try appender.flush()
            let plain = zip(locator(known.entry.identity), locator(identity)).map { $0 ^ $1 }
            try store.file.write(zip(frame[32..<64], plain).map { $0 ^ $1 }, at: end + 32)
        }
    }

    private func locator(_ identity: Sealing.RecordIdentity) -> [UInt8] {
        var out = identity.item.bytes
        out.append(u64: identity.compartment)
        out.append(u64: identity.revision)
        return out
    }

    @Test(
        "S3: a keyring that no commit names, with the key of a group that its maker opened once, proves nothing",
        arguments: [false, true])
    func forgedKeyring(takesUnproven: Bool) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path)
        try owner.keepVersions(0)
        for key in [work, home] { try owner.put(key, "old") }
        let slot = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["work", "home"]).id
        let former = try Fast.openWritable(path, try Fast.rawKey(9))
        try owner.setGrants(of: slot, to: ["work"])
        for key in [work, home] { try owner.put(key, "new") }
        try forgeKeyring(path, former)
        var bytes = try contents(path)
        for frame in try frames(bytes) where frame.type == .page { bytes[frame.range.lowerBound + 60] ^= 1 }
        try write(bytes, path)
        let (vault, report) = try salvage(path, folder, takesUnproven: takesUnproven)
        #expect(report.unproven == [home, work] && !report.isComplete)
        #expect(try vault.text(home) == (takesUnproven ? "forged" : nil))
        #expect(try vault.text(work) == (takesUnproven ? "new" : nil))
    }

    @Test(
        "S3: in the place of a damaged keyring, an older one that a commit names opens what it can; a forged one does not"
    )
    func olderKeyring() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try sample(path)
        try owner.put(try .genericPassword(service: "s", group: "third"), "third")
        let ref = try owner.withCore { (core) throws(VaultError) in core.store.state.commit.keyring }
        try Fast.openWritable(path, try Fast.rawKey(9)).withCore { (core) throws(VaultError) in
            let store = core.store
            var ring = store.keyring
            ring.compartments = []
            let place = Appender(unnamed: store.file, sealing: store.sealing, start: ref.offset)
            let forged = ring
            var body = try decoding { () throws(FormatError) in try forged.encode() }
            body = Array(body.prefix(ref.length - Format.sealOverhead))
            _ = try place.append(body, as: .keyring, .keyring, key: store.slot.keys.index)
            try place.flush()
        }
        let (vault, report) = try salvage(path, folder)
        #expect(try vault.text(home) == "new" && vault.text(work) == "new")
        #expect(report.lost.count == 1 && report.unproven.isEmpty)
    }

    @Test("S3: without any index, takes records of groups that no scoped slot opens, and names the others")
    func onlyRecords() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        try forge(path)
        var bytes = try contents(path)
        for frame in try frames(bytes) where frame.type == .page { bytes[frame.range.lowerBound + 60] ^= 1 }
        try write(bytes, path)
        let (proven, report) = try salvage(path, folder)
        #expect(report.recovered == 1)
        #expect(try proven.text(home) == "new")
        #expect(report.unproven == [work] && report.withoutIndex == [home] && report.lost.isEmpty)
        // The holder cannot make locators: what no page refers to was an owner's.
        let (all, _) = try salvage(path, folder, takesUnproven: true)
        #expect(try all.text(home) == "new")
        #expect(try all.text(work) == "new")
    }

    @Test("S3: in the place of a damaged record, an older one that anybody could have made is named, and left out")
    func damagedRecord() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try sample(path)
        try owner.put(home, "newest")
        let offsets = try [work, home].map { try #require(try owner.item($0)).entry.record.offset }
        for offset in offsets { try flip(offset + 100, path) }
        let (vault, report) = try salvage(path, folder)
        #expect(try vault.item(work) == nil)
        #expect(try vault.text(home) == "new")
        #expect(report.lost.map(\.key) == [work] && report.unproven == [work] && report.older == [home])
        let (all, second) = try salvage(path, folder, takesUnproven: true)
        #expect(try all.text(work) == "old")
        #expect(second.recoveredUnproven == [work] && second.lost.isEmpty && second.recoveredInstead.isEmpty)
    }

    @Test("S3: a header without scoped slots, put before a body that has one, proves nothing")
    func otherHeader() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try sample(path)
        let before = try contents(path)
        try owner.removeSlot(try owner.slots()[1].id)
        var header = try Header(Array(try contents(path).prefix(4096)).span)
        try write(before, path)
        try forge(path)
        var bytes = try contents(path)
        // The old epoch, so that the body opens, under the index key that the holder has: hash and MAC are right.
        header.epoch = try Header(Array(before[..<4096]).span).epoch
        let index = try Fast.openWritable(path, try Fast.rawKey(9)).withCore { (core) throws(VaultError) in
            core.store.slot.keys.index.array
        }
        let forged = try HeaderSeal.seal(&header, VaultKeys(index: Secret(bytes: index), ownersPublicKey: .zero)).bytes
        bytes.replaceSubrange(0..<8192, with: forged + forged)
        for frame in try frames(bytes) where frame.type == .page { bytes[frame.range.lowerBound + 60] ^= 1 }
        try write(bytes, path)
        let (vault, report) = try salvage(path, folder)
        #expect(report.unproven == [home, work] && report.recovered == 0)
        #expect(try vault.allItems().isEmpty)
    }

    @Test("a sound vault with a scoped slot is salvaged whole, and all of it is proven")
    func sound() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let dump = try sample(path).dump()
        let (vault, report) = try salvage(path, folder)
        #expect(report.isComplete && report.unproven.isEmpty)
        #expect(try vault.dump() == dump)
    }
}
