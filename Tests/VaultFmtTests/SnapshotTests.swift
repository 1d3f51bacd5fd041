import Testing

@testable import VaultFmt

@Suite("A cursor over items")
struct SnapshotTests {
    private func filled(_ path: String, _ count: Int) throws -> Vault {
        let vault = try Fast.create(path)
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<count {
                try transaction.add(try password("s", "\(10_000 + number)"), secret: Secret(text: "\(number)"))
            }
        }
        return vault
    }

    @Test("shows the vault as it was when it was made, while the same handle writes, compacts and locks")
    func ownChanges() throws {
        let folder = try Folder()
        let vault = try filled(folder.file("a.vault"), 300)
        let before = try vault.allItems().map(\.key)
        var cursor = try vault.items()
        var seen: [ItemKey] = []
        for step in 0..<300 {
            seen.append(try #require(try cursor.next()).key)
            switch step {
            case 10: try vault.remove(before[250])
            case 20: try vault.put(try password("s", "00000"), "first")
            case 30: try vault.put(try password("t", ""), "last")
            case 40: try vault.compact()
            case 50: for key in before[100..<200] { try vault.remove(key) }
            case 60: try vault.compact()
            case 70: vault.lock()
            case 80: try vault.unlock(try Fast.rawKey())
            default: break
            }
        }
        #expect(try cursor.next() == nil)
        #expect(seen == before)
        #expect(try vault.allItems().count == 300 - 101 + 2)
    }

    @Test("shows the vault as it was while another handle writes, compacts and rotates")
    func otherChanges() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let writer = try filled(path, 200)
        let reader = try Fast.open(path, writable: false)
        let before = try reader.allItems().map(\.key)
        var cursor = try reader.items()
        var seen: [ItemKey] = []
        while let item = try cursor.next() {
            seen.append(item.key)
            if seen.count == 20 { try writer.put(try password("a", ""), "new") }
            if seen.count == 40 { try writer.compact() }
            if seen.count == 60 {
                var rotation = try writer.rotation()
                _ = try rotation.keep(try Fast.rawKey())
                _ = try rotation.run()
            }
            // The secret too is read as of then.
            #expect(try reader.open(item).secret.count > 0)
        }
        #expect(seen == before)
    }

    @Test("and its secrets are lent to a scan in order, also while the body uses the vault")
    func scanning() throws {
        let folder = try Folder()
        let vault = try filled(folder.file("a.vault"), 2500)
        var seen: [String] = []
        try vault.forEachSecret { (item, secret) throws(VaultError) in
            guard case .opened(let bytes) = secret else { return }
            seen.append(String(decoding: bytes, as: UTF8.self))
            if seen.count == 3 { try vault.compact() }
            if seen.count == 5 { _ = try vault.remove(item.key) }
        }
        #expect(seen == (0..<2500).map { "\($0)" })
        #expect(try vault.allItems().count == 2499)
    }
}
