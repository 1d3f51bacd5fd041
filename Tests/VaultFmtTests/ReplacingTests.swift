import Foundation
import Testing

@testable import VaultFmt

/// A file's permission bits.
func permissions(_ path: String) throws -> Int {
    let value = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
    return try #require(value).intValue
}

func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

@Suite("Replacing the file")
struct ReplacingTests {
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    @Test("is refused where hard links would be lost, and changes go on without it")
    func hardLinks() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        try FileManager.default.linkItem(atPath: path, toPath: folder.file("b.vault"))
        let bytes = try contents(path)
        fails(.cannotReplace, "hard links") { try vault.compact() }
        fails(.cannotReplace, "hard links") { _ = try vault.addSlot(try Fast.rawKey(9)) }
        #expect(try contents(path) == bytes)
        #expect(folder.names == ["a.vault", "b.vault"])
        try vault.put(key, "y")
        #expect(try Fast.open(folder.file("b.vault")).text(key) == "y")
        try remove(folder.file("b.vault"))
        try vault.compact()
        #expect(try vault.text(key) == "y")
    }

    @Test("replaces what a symbolic link points to, and keeps the link")
    func symbolicLinks() throws {
        let folder = try Folder()
        let path = folder.file("real.vault")
        let link = folder.file("link.vault")
        try Fast.create(path).put(key, "x")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "real.vault")
        let vault = try Fast.open(link)
        #expect(vault.path == path)
        try vault.compact()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "real.vault")
        #expect(try Fast.open(path).anchor == vault.anchor)
        #expect(folder.names == ["link.vault", "real.vault"])
        // A link to nothing names the file that is to be made.
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("new.vault"), withDestinationPath: "absent.vault")
        fails(.noSuchFile) { _ = try Fast.open(folder.file("new.vault")) }
    }

    @Test("H9: what has the name of a temporary is not opened through a symbolic link, nor removed")
    func temporaryLink() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        // Opening it would take the lock of another vault, and waiting writers with it; a FIFO would be opened, a
        // device perhaps act.
        try write([1, 2, 3], folder.file("other"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file(".a.vault.vaultfmt-00000000"), withDestinationPath: "other")
        try vault.compact()
        #expect(folder.names == [".a.vault.vaultfmt-00000000", "a.vault", "other"])
        #expect(try vault.text(key) == "x")
    }

    @Test("H12: what a killed writer left beside the vault is removed by the next change, whatever it is")
    func swept() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        try Fast.create(path).put(key, "x")
        try write([1, 2, 3], folder.file(".a.vault.vaultfmt-0123abcd"))
        let reader = try Fast.open(path, writable: false)
        #expect(try reader.text(key) == "x" && folder.names.count == 2)
        try Fast.open(path).put(key, "y")
        #expect(folder.names == ["a.vault"])
    }

    @Test(
        "E3: a second name, left where a vault got its own by link and unlink, is removed, and the vault can be replaced"
    )
    func secondName() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        try Fast.create(path).put(key, "x")
        try FileManager.default.linkItem(atPath: path, toPath: folder.file(".a.vault.vaultfmt-0123abcd"))
        try Fast.open(path).compact()
        #expect(folder.names == ["a.vault"])
        #expect(try Fast.open(path).text(key) == "x")
    }

    @Test("keeps the file's mode", arguments: [0o600, 0o640, 0o644, 0o660])
    func modes(mode: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        #expect(try permissions(path) == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        try vault.compact()
        #expect(try permissions(path) == mode)
        _ = try vault.addSlot(try Fast.rawKey(9))
        #expect(try permissions(path) == mode)
    }

    @Test("removes what an interrupted replacement left, and no other file")
    func stale() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        let others = [
            ".a.vault.vaultfmt-1234567", ".a.vault.vaultfmt-123456789", ".b.vault.vaultfmt-12345678",
            "a.vault.vaultfmt-12345678",
            ".a.vault",
        ]
        for name in others + [".a.vault.vaultfmt-12345678", ".a.vault.vaultfmt-deadbeef"] {
            try write([1], folder.file(name))
        }
        // One whose writer lives holds its lock.
        let live = try Fast.create(folder.file("live"))
        try FileManager.default.moveItem(atPath: folder.file("live"), toPath: folder.file(".a.vault.vaultfmt-00000000"))
        try live.withCore { (core) throws(VaultError) in
            #expect(throws: Never.self) { try core.store.file.lock() }
            defer { core.store.file.unlock() }
            try vault.compact()
        }
        #expect(folder.names == (others + ["a.vault", ".a.vault.vaultfmt-00000000"]).sorted())
        try vault.compact()
        #expect(folder.names == (others + ["a.vault"]).sorted())
    }

    @Test(
        "and creating leave nothing behind where they fail",
        arguments: [FaultyFileSystem.Call.write, .sync, .rename, .create])
    func leftovers(call: FaultyFileSystem.Call) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        system.fail(call, 1, VaultError(.noSpace, "planned"))
        fails(.noSpace) { _ = try Fast.create(path, fileSystem: system) }
        #expect(folder.names.isEmpty)
        system.reset()
        let vault = try Fast.create(path, fileSystem: system)
        for number in 0..<40 { try vault.put(try password("s", "\(number)"), "x") }
        let before = try contents(path)
        for _ in 0..<2 {
            system.fail(call, 1, VaultError(.noSpace, "planned"))
            fails(.noSpace) { try vault.compact() }
            system.fail(call, 1, VaultError(.noSpace, "planned"))
            fails(.noSpace) { _ = try vault.addSlot(try Fast.rawKey(9)) }
            system.reset()
            #expect(folder.names == ["a.vault"])
            #expect(try contents(path) == before)
        }
        try vault.compact()
        #expect(try vault.allItems().count == 40)
        #expect(try vault.verify().isSound)
    }

    @Test("whose directory cannot be synced stops the handle from writing, not from reading")
    func directorySync() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        for isCompaction in [true, false] {
            let vault = try Fast.create(path, fileSystem: system)
            for number in 0..<50 { try vault.put(try password("s", "\(number)"), "\(number)") }
            for number in 0..<20 { try vault.remove(try password("s", "\(number)")) }
            system.fail(.syncDirectory, 1, VaultError(.outcomeUnknown, "planned"))
            fails(.outcomeUnknown, "planned") {
                if isCompaction { try vault.compact() } else { _ = try vault.addSlot(try Fast.rawKey(9)) }
            }
            system.reset()
            #expect(try vault.dump().count == 30)
            #expect(try vault.text(try password("s", "33")) == "33")
            fails(.outcomeUnknown, "open the vault again") { try vault.put(key, "x") }
            try vault.refresh()
            #expect(try vault.dump().count == 30)
            let again = try Fast.open(path)
            try again.put(key, "x")
            try vault.refresh()
            #expect(try vault.text(key) == "x")
            #expect(try again.verify().isSound)
            try remove(path)
        }
    }

    @Test("by a file that is another vault, or none, is noticed")
    func replacedByOthers() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        try FileManager.default.moveItem(atPath: path, toPath: folder.file("kept.vault"))
        fails(.noSuchFile, "no longer exists") { try vault.refresh() }
        fails(.noSuchFile) { try vault.put(key, "y") }
        #expect(try vault.text(key) == "x")
        _ = try Fast.create(path)
        fails(.tampered, "a different vault") { try vault.refresh() }
        fails(.tampered) { try vault.put(key, "y") }
        #expect(try vault.text(key) == "x")
        try remove(path)
        try FileManager.default.moveItem(atPath: folder.file("kept.vault"), toPath: path)
        try vault.put(key, "z")
        #expect(try Fast.open(path).text(key) == "z")
    }
}
