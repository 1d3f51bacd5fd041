import Foundation
import TestSupport
import Testing
import VaultStore

@testable import VaultFmt

@Suite("An anchor")
struct AnchorTests {
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    private func openAnchored(_ path: String, _ anchor: Anchor) throws -> Vault {
        var options = OpenOptions()
        options.anchor = anchor
        return try Vault.open(path, factors: try Fast.rawKey(), options: options)
    }

    @Test("is the same, or descends, or is older, as the vault goes on")
    func verdicts() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        var anchors = [try vault.anchor]
        var copies = [try contents(path)]
        for index in 0..<5 {
            try vault.put(key, "\(index)")
            anchors.append(try vault.anchor)
            copies.append(try contents(path))
        }
        #expect(anchors.map(\.generation) == [1, 2, 3, 4, 5, 6])
        for (now, copy) in copies.enumerated() {
            let file = folder.file("\(now).vault")
            try write(copy, file)
            let then = try Fast.open(file)
            for (index, anchor) in anchors.enumerated() {
                #expect(try then.verdict(on: anchor) == (index == now ? .same : index < now ? .descends : .older))
                if index > now {
                    fails(.rolledBack, "older copy") { _ = try openAnchored(file, anchor) }
                } else {
                    #expect(try openAnchored(file, anchor).state == then.state)
                }
            }
        }
    }

    @Test("of one copy is forked from the other, from the first change after the copy on")
    func forks() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let other = folder.file("b.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "0")
        let common = try vault.anchor
        try write(try contents(path), other)
        let copy = try Fast.open(other)
        try vault.put(key, "1")
        try copy.put(key, "2")
        let (ours, theirs) = (try vault.anchor, try copy.anchor)
        for _ in 0..<3 {
            #expect(try vault.verdict(on: common) == .descends && copy.verdict(on: common) == .descends)
            #expect(try vault.verdict(on: theirs) == .forked && copy.verdict(on: ours) == .forked)
            fails(.forked) { _ = try openAnchored(path, theirs) }
            try vault.put(key, "3")
            try copy.put(key, "4")
        }
        // Compaction does not hide it.
        try vault.compact()
        #expect(try vault.verdict(on: theirs) == .forked)
        #expect(try vault.verdict(on: ours) == .descends && vault.verdict(on: common) == .descends)
    }

    @Test("is proven across compactions, however many states have gone since, and however many ids")
    func compaction() throws {
        let place = Store.Place(fileSystem: MemoryFileSystem())
        let vault = try Vault.create(at: "a.vault", factors: try Fast.rawKey(), options: CreateOptions(), place: place)
        var anchors = [try vault.anchor]
        for round in 0..<40 {
            var other = place
            // Another machine.
            other.replicas = ProcessReplicas()
            let writer = try Vault.open(
                "a.vault", factors: try Fast.rawKey(), options: OpenOptions.writing(), place: other)
            for number in 0..<30 {
                try writer.keepVersions(number % 2)
                anchors.append(try writer.anchor)
            }
            if round % 10 == 9 { try writer.compact() }
        }
        let again = try Vault.open("a.vault", factors: try Fast.rawKey(), options: OpenOptions(), place: place)
        #expect(try again.anchor.point.vector.rows.count == 41)
        for anchor in anchors.dropLast() { #expect(try again.verdict(on: anchor) == .descends) }
        #expect(try again.verdict(on: anchors[anchors.count - 1]) == .same, "a compaction changes no contents")
        #expect(try again.verify().isSound)
    }

    @Test("survives new factors, rotation and removed scoped slots")
    func replacements() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        var anchors = [try vault.anchor]
        let scoped = try vault.addSlot(try Fast.rawKey(9), grantedGroups: [""]).id
        anchors.append(try vault.anchor)
        try vault.removeSlot(scoped)
        anchors.append(try vault.anchor)
        var rotation = try vault.rotation()
        _ = try rotation.keep(try Fast.rawKey())
        _ = try rotation.run()
        for anchor in anchors { #expect(try vault.verdict(on: anchor) == .descends) }
        #expect(try vault.verdict(on: try vault.anchor) == .same)
    }

    @Test("is written and read as text, in one way")
    func text() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        let anchor = try vault.anchor
        let text = anchor.description
        func hex(_ bytes: [UInt8]) -> String {
            bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
        let row = anchor.point.vector.rows[0]
        let digits = String(row.id, radix: 16)
        let id = String(repeating: "0", count: 16 - digits.count) + digits
        let start = "\(vault.id):1:\(hex(anchor.chain))"
        #expect(text == "\(start):\(hex(anchor.owners.bytes)):0:\(id)=\(row.revision)")
        #expect(Anchor(text) == anchor && StateID(start) == vault.state && vault.state.description == start)
        #expect(OwnersPublicKey(anchor.owners.description) == anchor.owners)
        let split = text.replacingOccurrences(of: "=", with: "!=") + ",00000000000000ff=7"
        let parsed = try #require(Anchor(split))
        #expect(parsed.description == split && parsed.point.vector.rows.map(\.isSplit) == [true, false])
        let parts = text.split(separator: ":").map(String.init)
        let (rest, end) = ("\(parts[2]):\(parts[3])", "\(parts[4]):\(parts[5])")
        for bad in [
            "", ":", "::", ":::", ":::::", text + ":", text + ",", String(text.dropLast(text.count / 2)),
            "\(parts[0]):0:\(rest):\(end)", "\(parts[0]):-1:\(rest):\(end)", "\(parts[0]):+1:\(rest):\(end)",
            "\(parts[0]):01:\(rest):\(end)", "\(parts[0]): 1:\(rest):\(end)", "zz\(text)",
            "\(parts[0]):99999999999999999999:\(rest):\(end)", "\(parts[0]):1:\(rest)", "\(start):\(parts[3]):0",
            "\(start):\(parts[3]):00:\(parts[5])", "\(start):\(parts[3]):0:\(parts[5]),\(parts[5])",
            "\(start):\(parts[3]):0:\(id)", "\(start):\(parts[3]):0:\(id)=0", "\(start):\(parts[3]):0:\(id)=01",
            "\(start):\(parts[3]):0:\(id)?=1", "\(start):\(parts[3]):0:0000000000000000=1",
            "\(start):\(parts[3]):0:\(id.dropLast())=1", "\(start):\(parts[3]):0:",
        ] { #expect(Anchor(bad) == nil, "\(bad)") }
        for bad in ["", parts[0], parts[3] + "0", parts[3] + "00", "x" + parts[3].dropFirst()] {
            #expect(OwnersPublicKey(bad) == nil)
        }
        for bad in ["", text, "\(parts[0]):1", "\(parts[0]):01:\(parts[2])", "\(start):"] {
            #expect(StateID(bad) == nil, "\(bad)")
        }
    }

    @Test("of another vault is an error")
    func otherVault() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        let other = try Fast.create(folder.file("b.vault"))
        fails(.invalidArgument, "another vault") { _ = try vault.verdict(on: try other.anchor) }
    }
}

extension OpenOptions {
    fileprivate static func writing() -> OpenOptions {
        var options = OpenOptions()
        options.writable = true
        return options
    }
}

@Suite("A handle that is open")
struct RollbackTests {
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    /// Puts the content back either into the same file or as another file at its path.
    private func put(_ bytes: [UInt8], _ path: String, inPlace: Bool) throws {
        if inPlace { return try write(bytes, path) }
        try write(bytes, path + ".new")
        try remove(path)
        try FileManager.default.moveItem(atPath: path + ".new", toPath: path)
    }

    @Test("refuses an older state each time that it meets it, and does not write upon it", arguments: [true, false])
    func rollback(inPlace: Bool) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "1")
        let old = try contents(path)
        try vault.put(key, "2")
        let reader = try Fast.open(path, writable: false)
        let new = try contents(path)
        try put(old, path, inPlace: inPlace)
        for _ in 0..<2 {
            fails(.rolledBack) { try vault.refresh() }
            fails(.rolledBack) { try reader.refresh() }
            fails(.rolledBack) { try vault.put(key, "3") }
            #expect(vault.state.generation == 3 && reader.state.generation == 3)
        }
        #expect(try contents(path) == old)
        try put(new, path, inPlace: inPlace)
        try vault.put(key, "3")
        try reader.refresh()
        #expect(try reader.text(key) == "3")
    }

    @Test("refuses another past", arguments: [true, false])
    func fork(inPlace: Bool) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "0")
        let other = folder.file("b.vault")
        try write(try contents(path), other)
        let reader = try Fast.open(path, writable: false)
        try vault.put(key, "1")
        try reader.refresh()
        try Fast.open(other).put(key, "2")
        let fork = try contents(other)
        try put(fork, path, inPlace: inPlace)
        for _ in 0..<2 {
            fails(.forked) { try reader.refresh() }
            fails(.forked) { try vault.refresh() }
            fails(.forked) { try vault.put(key, "3") }
        }
        #expect(try contents(path) == fork)
    }

    @Test("that is unlocked again refuses an older state, and stays locked")
    func unlocking() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "1")
        let old = try contents(path)
        try vault.put(key, "2")
        vault.lock()
        try put(old, path, inPlace: false)
        for _ in 0..<2 { fails(.rolledBack) { try vault.unlock(try Fast.rawKey()) } }
        #expect(vault.isLocked)
        #expect(vault.state.generation == 3)
    }
}
