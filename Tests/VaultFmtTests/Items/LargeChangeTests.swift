import Foundation
import Testing
import VaultBytes

@testable import VaultFmt

/// 2^28 bytes are the most that is appended in place.
@Suite("A change of more than 256 MiB")
struct LargeChangeTests {
    private static let count = 18
    private static let size = 15 << 20

    private func fill(_ transaction: Transaction) throws(VaultError) {
        for number in 0..<Self.count {
            var secret = Secret(count: Self.size)
            secret.withUnsafeMutableBytes { $0[0] = UInt8(number) }
            try transaction.set(try password("large", "\(number)"), secret: secret)
        }
    }

    @Test("replaces the file, is one commit, and its own values are read within it (R-7.5)")
    func replacing() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.keepVersions(1)
        try vault.put(try password("small"), "before")
        let anchor = try vault.anchor
        let inode = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.set(try password("small"), secret: Secret(text: "after"))
            try fill(transaction)
            let first = try transaction.contents(of: try password("large", "0"))?.secret.count
            #expect(first == Self.size)
            let earlier = try transaction.earlierValues(of: try password("small"))
            let value = try transaction.open(earlier[0]).takeSecret().array
            #expect(value == Array("before".utf8))
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64 != inode)
        #expect(folder.names == ["a.vault"])
        #expect(vault.state.generation == anchor.generation + 1)
        #expect(try vault.verdict(on: anchor) == .descends)
        #expect(try newestCommit(path).wasSyncedFirst, "R-7.13")
        let again = try Fast.open(path)
        #expect(try again.text(try password("small")) == "after")
        #expect(try again.get(try password("large", "17"))?.secret.withUnsafeBytes { $0[0] } == 17)
        #expect(try again.allItems().count == Self.count + 1)
        // The handle goes on with the new file.
        try vault.put(try password("small"), "later")
        #expect(try Fast.open(path).text(try password("small")) == "later")
    }

    @Test("E15: is made by an owner whose slot another program changed or removed", arguments: [false, true])
    func slotGone(isRemoved: Bool) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let own = try vault.slots()[0].id
        let other = try Fast.open(path)
        if isRemoved {
            _ = try other.addSlot(try Fast.rawKey(9))
            _ = try other.removeSlot(own)
        } else {
            _ = try other.changeFactors(of: own, to: try Fast.rawKey(9))
        }
        try vault.transaction(fill)
        #expect(folder.names == ["a.vault"])
        try vault.put(try password("small"), "later")
        let again = try Fast.openWritable(path, try Fast.rawKey(9))
        #expect(try again.allItems().count == Self.count + 1 && again.text(try password("small")) == "later")
    }

    @Test("that is given up leaves the file as it was")
    func rollback() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(try password("small"), "before")
        let bytes = try contents(path)
        fails(.invalidArgument, "stop") {
            try vault.transaction { (transaction) throws(VaultError) in
                try fill(transaction)
                throw VaultError(.invalidArgument, "stop")
            }
        }
        #expect(try contents(path) == bytes && folder.names == ["a.vault"])
        try vault.put(try password("small"), "after")
        #expect(try Fast.open(path).text(try password("small")) == "after")
    }

    @Test("that leaves a record behind which opens with fewer rights is compacted in the same commit")
    func narrowing() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let key = try password("small")
        try vault.add(key, secret: Secret(text: "x"), accessibility: .always)
        let generation = vault.state.generation
        try vault.transaction { (transaction) throws(VaultError) in
            try fill(transaction)
            try transaction.update(key, accessibility: .whenUnlocked)
        }
        #expect(vault.state.generation == generation + 1 && folder.names == ["a.vault"])
        let records = try frames(contents(path)).filter { $0.type == .record }
        #expect(records.count == Self.count + 1)
        #expect(try Fast.open(path).text(key) == "x")
        #expect(try Fast.open(path).get(try password("large", "17"))?.secret.withUnsafeBytes { $0[0] } == 17)
    }
}
