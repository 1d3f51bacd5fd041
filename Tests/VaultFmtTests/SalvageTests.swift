import Foundation
import Synchronization
import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

@Suite("Salvaging")
struct SalvageTests {
    private func salvage(
        _ path: String, _ folder: Folder, device: consuming Device? = nil, takesUnproven: Bool = false
    ) throws -> (Vault, SalvageReport) {
        let new = folder.file("new.vault")
        if folder.names.contains("new.vault") { try remove(new) }
        let before = try contents(path)
        let report = try Vault.salvage(
            path, factors: try Fast.rawKey(), to: new, newFactors: try Fast.rawKey(3), device: device,
            takesUnproven: takesUnproven)
        #expect(try contents(path) == before, "the damaged file is only read")
        let vault = try Fast.openWritable(new, try Fast.rawKey(3))
        #expect(try vault.verify().isSound)
        #expect(try vault.allItems().count == report.recovered)
        return (vault, report)
    }

    /// Enough items for several leaves, each changed once, some removed; some of another group.
    private func sample(_ path: String) throws -> Vault {
        let vault = try Fast.create(path)
        try vault.keepVersions(0)
        func key(_ number: Int) throws(VaultError) -> ItemKey {
            try .genericPassword(service: "service", account: "\(100 + number)", group: number % 5 == 0 ? "g" : "")
        }
        for value in ["old", "new"] {
            try vault.transaction { (transaction) throws(VaultError) in
                for number in 0..<24 {
                    try transaction.set(
                        try key(number), secret: Secret(text: "\(value) \(number)"),
                        attributes: setting([
                            "label": "\(value)", "comment": String(repeating: "c", count: number % 3 * 200),
                        ]))
                }
            }
        }
        for number in [3, 9] { try vault.remove(try key(number)) }
        return vault
    }

    @Test("a sound vault gives all of it")
    func sound() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let dump = try sample(path).dump()
        let (vault, report) = try salvage(path, folder)
        #expect(try vault.dump() == dump)
        #expect(
            report.recovered == 22 && report.lost.isEmpty && report.older.isEmpty && report.withoutIndex.isEmpty
                && report.notes.isEmpty)
        fails(.fileExists) {
            _ = try Vault.salvage(
                path, factors: try Fast.rawKey(), to: folder.file("new.vault"), newFactors: try Fast.rawKey(3))
        }
    }

    @Test("E19: nobody else can write to the new vault, or take it for left behind, before it has its name")
    func unfinished() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let dump = try sample(path).dump()
        let system = FaultyFileSystem()
        let free = Mutex<[String]>([])
        system.fail { [place = folder.path] (_, _) in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
            for name in names where name.contains(".vaultfmt-") {
                guard let file = try? RealFileSystem().open(place + "/" + name, writable: true) else { continue }
                if (try? file.lock()) == true { free.withLock { $0.append(name) } }
            }
            return nil
        }
        let report = try Vault.salvage(
            path, factors: try Fast.rawKey(), to: folder.file("new.vault"), newFactors: try Fast.rawKey(),
            options: CreateOptions(), place: Store.Place(fileSystem: system))
        #expect(system.counts.unlock > 0)
        #expect(free.withLock { $0 } == [])
        #expect(report.isComplete && folder.names == ["a.vault", "new.vault"])
        // Then everybody can.
        try Fast.open(folder.file("new.vault")).put(try password("later"), "x")
        #expect(try Fast.open(folder.file("new.vault")).allItems().count == dump.count + 1)
    }

    /// What one damaged object may cost: itself, and nothing else.
    private func check(_ vault: Vault, _ report: SalvageReport, _ dump: Dump, _ what: String, isKeyring: Bool) throws {
        let recovered = try vault.dump()
        let lost = Set(report.lost.map(\.key))
        let named = lost.union(report.older).union(report.withoutIndex).union(report.uncommitted)
        for (key, contents) in dump {
            guard let found = recovered[key] else {
                #expect(lost.contains(key), "\(what): \(key.account ?? "") is neither there nor named")
                continue
            }
            if report.older.contains(key) {
                #expect(String(decoding: found.secret, as: UTF8.self).hasPrefix("old "), "\(what)")
            } else {
                #expect(found.secret == contents.secret, "\(what): \(key.account ?? "")")
            }
            if !named.contains(key) { #expect(found == contents, "\(what): \(key.account ?? "")") }
        }
        #expect(isKeyring || lost.count + report.older.count <= 1, "\(what): one object costs one item at most")
        for key in recovered.keys where dump[key] == nil {
            #expect(
                report.withoutIndex.contains(key) || report.removedLater.contains(key),
                "\(what): a removed item came back unnamed")
        }
        #expect(!report.notes.isEmpty)
    }

    @Test(
        "after each object was damaged in turn recovers everything else, and names what is lost", arguments: [0, 1, 2])
    func eachObject(kind: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try sample(path)
        let last = try password("service", "last")
        try vault.put(last, "new last")
        let dump = try vault.dump()
        let bytes = try contents(path)
        let all = try frames(bytes)
        var changed = 0
        for frame in all {
            var damaged = bytes
            switch kind {
            case 0: damaged[frame.range.lowerBound + frame.range.count / 2] ^= 0x40
            // A length that reaches far into what follows, and is possible.
            case 1: damaged[frame.range.lowerBound + 5] ^= 0x07
            default: damaged.replaceSubrange(frame.range, with: [UInt8](repeating: 0, count: frame.range.count))
            }
            try write(damaged, path)
            let (vault, report) = try salvage(path, folder)
            if try vault.dump() != dump { changed += 1 }
            // Without its commit, the newest change is not proven, but whole.
            let isLast = frame.range.upperBound == bytes.count
            try check(
                vault, report, dump, "\(frame.type) at \(frame.range.lowerBound)", isKeyring: frame.type == .keyring)
            #expect(report.uncommitted == (isLast ? [last] : []))
        }
        #expect(changed >= 22, "each live record matters")
    }

    @Test("without any page recovers every secret from the records themselves")
    func noPages() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let dump = try sample(path).dump()
        var bytes = try contents(path)
        for frame in try frames(bytes) where frame.type == .page { bytes[frame.range.lowerBound + 60] ^= 1 }
        try write(bytes, path)
        let (vault, report) = try salvage(path, folder)
        #expect(report.withoutIndex.count == report.recovered && !report.isComplete)
        let recovered = try vault.dump()
        for (key, contents) in dump { #expect(recovered[key]?.secret == contents.secret) }
        // What was removed cannot be told from what was not.
        #expect(recovered.count == 24)
    }

    @Test("without any commit proves nothing, and takes what it finds only if asked to (R-3.4, R-5.2)")
    func noCommits() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let dump = try sample(path).dump()
        var bytes = try contents(path)
        for frame in try frames(bytes) where frame.type == .commit { bytes[frame.range.lowerBound + 60] ^= 1 }
        try write(bytes, path)
        let (_, none) = try salvage(path, folder)
        #expect(none.recovered == 0 && Set(none.unproven).isSuperset(of: dump.keys))
        #expect(none.notes.contains { $0.contains("no commit authenticates the header") })
        let (vault, report) = try salvage(path, folder, takesUnproven: true)
        let recovered = try vault.dump()
        for (key, contents) in dump { #expect(recovered[key]?.secret == contents.secret) }
        #expect(report.recovered == recovered.count)
    }

    @Test("knows removed and renamed items by the newest pages that are left")
    func olderPages() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        for name in ["a", "b", "c"] { try vault.put(try password("s", name), name) }
        try vault.move(try password("s", "a"), to: try password("s", "z"))
        try vault.remove(try password("s", "b"))
        try vault.put(try password("s", "c"), "C")
        var bytes = try contents(path)
        let last = try #require(try frames(bytes).last { $0.type == .page })
        bytes[last.range.lowerBound + 60] ^= 1
        try write(bytes, path)
        let (new, report) = try salvage(path, folder)
        #expect(
            try new.dump().mapValues { String(decoding: $0.secret, as: UTF8.self) } == [
                try password("s", "c"): "C", try password("s", "z"): "a",
            ])
        #expect(report.withoutIndex.count == 2 && report.lost.isEmpty)
    }

    @Test("takes a renamed item once, under the name in the newest page, although an older page has its former name")
    func renamedOnce() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try sample(path)
        let (old, next, new) = (try password("service", "101"), try password("service", "102"), try password("zzz"))
        try vault.move(old, to: new)
        let leaves = try vault.withCore { (core) throws(VaultError) in
            [try core.find(new), try core.find(next)].compactMap { $0?.referrer }
        }
        try #require(Set(leaves).count == 2, "the two names are in different leaves")
        var bytes = try contents(path)
        bytes[Int(leaves[1]) + 60] ^= 1
        try write(bytes, path)
        let (saved, report) = try salvage(path, folder)
        #expect(try saved.item(old) == nil && saved.text(new) == "new 1")
        #expect(report.recovered == 22 && report.lost.isEmpty && !report.withoutIndex.contains(new), "\(report)")
    }

    @Test("gives an older secret where the newest is damaged, but none of another name")
    func older() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.keepVersions(0)
        let (a, b) = (try password("s", "a"), try password("s", "b"))
        try vault.put(a, "old")
        try vault.put(a, "new")
        try vault.put(b, "moved")
        try vault.move(b, to: try password("s", "c"))
        let records = try frames(try contents(path)).filter { $0.type == .record }
        try #require(records.count == 3)
        var bytes = try contents(path)
        bytes[records[1].range.lowerBound + 90] ^= 1
        bytes[records[2].range.lowerBound + 90] ^= 1
        try write(bytes, path)
        let (new, report) = try salvage(path, folder)
        #expect(try new.text(a) == "old")
        #expect(report.older == [a])
        #expect(report.lost.map(\.key) == [try password("s", "c")])
        #expect(try new.allItems().count == 1)
    }

    @Test(
        "loses nothing to damage in one keyring, because each has a spare (R-5.39)",
        arguments: ["as written", "compacted", "rotated", "with other slots"])
    func spareKeyring(of state: String) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        for group in ["", "new"] {
            try vault.put(try .genericPassword(service: "s", account: "a", group: group), "in '\(group)'")
        }
        switch state {
        case "compacted": try vault.compact()
        case "rotated": try vault.rotate()
        case "with other slots": try vault.addSlot(try Fast.rawKey(2), name: "second")
        default: break
        }
        let (dump, bytes) = (try vault.dump(), try contents(path))
        let keyrings = try frames(bytes).filter { $0.type == .keyring }
        try #require(keyrings.count >= 2 && keyrings.count % 2 == 0)
        for frame in keyrings {
            var damaged = bytes
            for place in frame.range { damaged[place] ^= 1 }
            try write(damaged, path)
            let (new, report) = try salvage(path, folder)
            #expect(try new.dump() == dump)
            #expect(report.lost.isEmpty && report.unnamed == 0)
        }
    }

    @Test("without the newest keyring names the items that it cannot open")
    func olderKeyring() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(try password("s", "a"), "a")
        let other = try ItemKey.genericPassword(service: "s", account: "b", group: "new")
        try vault.put(other, "b")
        var bytes = try contents(path)
        let keyrings = try frames(bytes).filter { $0.type == .keyring }
        try #require(keyrings.count == 6, "the vault's own, and one for each new compartment, each with its spare")
        for frame in keyrings.suffix(2) { bytes[frame.range.lowerBound + 60] ^= 1 }
        try write(bytes, path)
        let (new, report) = try salvage(path, folder)
        #expect(try new.text(try password("s", "a")) == "a")
        #expect(report.lost.map(\.key) == [other])
        for frame in try frames(bytes) where frame.type == .keyring { bytes[frame.range.lowerBound + 60] ^= 2 }
        try write(bytes, path)
        fails(.authenticationFailed, "none of the vault's keyrings") { _ = try salvage(path, folder) }
        #expect(folder.names == ["a.vault"])
    }

    @Test("F4: a flip anywhere in the header costs nothing, and one in its copy neither (R-3.4)")
    func header() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let dump = try sample(path).dump()
        let bytes = try contents(path)
        // Magic, version, length, id, epoch, counts, slot, owner part, padding, hash, MAC.
        for place in [0, 9, 13, 17, 40, 64, 67, 70, 100, 130, 300, 2000, 4031, 4032, 4095] {
            for start in [0, 4096] {
                var damaged = bytes
                damaged[start + place] ^= 4
                try write(damaged, path)
                let (vault, report) = try salvage(path, folder)
                #expect(try vault.dump() == dump, "byte \(start + place)")
                #expect(
                    report.isComplete && report.notes.contains { $0.contains("its copy was used") } == (start == 0),
                    "byte \(start + place)")
            }
        }
    }

    @Test(
        "with header and copy damaged, but a slot that still opens, takes what commits prove; with none that opens is refused"
    )
    func bothHeaders() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let dump = try sample(path).dump()
        let bytes = try contents(path)
        var damaged = bytes
        // In the owner part of the slot.
        for start in [0, 4096] { damaged[start + 68 + 200] ^= 1 }
        try write(damaged, path)
        let (vault, report) = try salvage(path, folder)
        #expect(try vault.dump() == dump)
        #expect(report.notes.contains { $0.contains("no commit authenticates the header") })
        damaged = bytes
        // In its commitment.
        for start in [0, 4096] { damaged[start + 68 + 40] ^= 1 }
        try write(damaged, path)
        fails(.noSlotOpens) { _ = try salvage(path, folder) }
    }

    @Test("keeps accessibility, and items of this device only for the device given")
    func devices() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let device = Device.random()
        let file = device.fileContents()
        let vault = try Fast.create(path, device: device)
        let (a, b) = (try password("s", "a"), try password("s", "b"))
        try vault.set(a, secret: Secret(text: "a"), accessibility: .afterFirstUnlock)
        try vault.set(b, secret: Secret(text: "b"), accessibility: .alwaysThisDeviceOnly)
        let (without, report) = try salvage(path, folder)
        #expect(try without.item(a)?.accessibility == .afterFirstUnlock)
        #expect(report.lost.map(\.key) == [b] && report.lost[0].reason.contains("device"))
        let (with, all) = try salvage(path, folder, device: try Device(fileContents: file))
        #expect(all.lost.isEmpty)
        // The new vault has no device of its own here: what was bound is free in it.
        #expect(try with.text(b) == "b")
        #expect(try with.item(b)?.accessibility == .whenUnlocked)
    }
}
