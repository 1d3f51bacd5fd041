import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

@Suite("Items of one name")
struct TwinTests {
    private let key: ItemKey
    private let ids = (
        least: Bytes16(high: 0x0000_0001_0000_0000, low: 1), middle: Bytes16(high: 0x0000_0002_0000_0000, low: 2),
        greatest: Bytes16(high: 0x0000_0003_0000_0000, low: 3)
    )

    init() throws { key = try .genericPassword(service: "mail", account: "ann", group: "team") }

    /// A vault with three items of one name, as merges make them, in any order.
    private func vault(_ path: String, _ order: [Bytes16]) throws -> Vault {
        let vault = try Fast.create(path)
        try vault.transaction { (transaction) throws(VaultError) in
            for id in order {
                let temporary = try password("temporary")
                let text = "\(id.bytes[3])"
                try transaction.make(
                    temporary, Secret(text: text), Attributes(["label": Array(text.utf8)]), .whenUnlocked, id: id,
                    created: nil, modified: nil)
                guard let item = try transaction.item(temporary) else { continue }
                try transaction.take(item)
                // The group of the name is "team", and so must be the compartment's.
                var entry = item.entry
                entry.compartment = try transaction.ring.compartment("team", .whenUnlocked)
                entry.record = try RecordCodec.append(
                    key, Secret(text: text), [], try transaction.seal(entry.own.identity(of: id)),
                    to: transaction.appender)
                let value = ItemCodec.encode(entry, item.attributes.listed)
                try transaction.put(value, for: id, under: key)
            }
        }
        return vault
    }

    private func listed(_ digits: String) throws(VaultError) -> ItemKey {
        try .genericPassword(service: "mail", account: "ann (conflict \(digits))", group: "team")
    }

    @Test("are all listed and found: the least id has the name plain, whatever came first", arguments: 0..<6)
    func names(order: Int) throws {
        let folder = try Folder()
        let all = [ids.least, ids.middle, ids.greatest]
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        let path = folder.file("a.vault")
        _ = try vault(path, orders[order].map { all[$0] })
        let reader = try Fast.open(path)
        let items = try reader.allItems()
        #expect(try items.map(\.key) == [key, listed("00000002"), listed("00000003")])
        #expect(items.map(\.hasKeyPlain) == [true, false, false])
        #expect(items.allSatisfy { $0.storedKey == key })
        #expect(try reader.text(key) == "1")
        #expect(try reader.text(listed("00000002")) == "2")
        #expect(try reader.text(listed("00000003")) == "3")
        #expect(try reader.item(listed("00000001")) == nil)
        #expect(try reader.item(listed("00000004")) == nil)
        var found: [String] = []
        try reader.forEachSecret { item, _ in found.append(item.key.account ?? "") }
        #expect(found == ["ann", "ann (conflict 00000002)", "ann (conflict 00000003)"])
        let query = Query([.service: "mail", .account: "ann (conflict 00000003)"])
        var cursor = try reader.items(matching: query)
        #expect(try cursor.next()?.id == ItemID(ids.greatest))
        #expect(try cursor.next() == nil)
    }

    @Test("are changed under the names under which they are listed, and a suffix is never stored")
    func changes() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path, [ids.greatest, ids.least, ids.middle])
        let second = try listed("00000002")
        try vault.set(second, secret: Secret(text: "new"), attributes: setting(["label": "L"]))
        #expect(try vault.text(second) == "new" && vault.text(key) == "1")
        #expect(try vault.item(second)?.storedKey == key)
        #expect(try vault.earlierValues(of: second).count == 1)
        fails(.duplicateItem) { try vault.add(second, secret: Secret(text: "x")) }
        let free = try ItemKey.genericPassword(service: "mail", account: "bob", group: "team")
        try vault.move(second, to: free)
        #expect(try vault.allItems().map(\.key) == [key, listed("00000003"), free])
        #expect(try vault.text(free) == "new")
    }

    @Test(
        "get the plain name when the item that had it is removed or renamed, the least id first", arguments: [0, 1, 2])
    func promotion(how: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path, [ids.middle, ids.greatest, ids.least])
        let free = try ItemKey.genericPassword(service: "mail", account: "bob", group: "team")
        switch how {
        case 0: try vault.remove(key)
        case 1: try vault.move(key, to: free)
        default:
            try vault.transaction { (transaction) throws(VaultError) in
                try transaction.set(try listed("00000002"), secret: Secret(text: "2"))
                _ = try transaction.remove(key)
                let (third, plain) = (try transaction.item(try listed("00000003")), try transaction.item(key))
                #expect(third?.id == ItemID(ids.greatest) && plain?.id == ItemID(ids.middle))
            }
        }
        let reader = try Fast.open(path)
        #expect(try reader.text(key) == "2" && reader.text(listed("00000003")) == "3")
        #expect(try reader.item(listed("00000002")) == nil)
        #expect(try reader.allItems().count == (how == 1 ? 3 : 2))
        try reader.remove(key)
        #expect(try reader.text(key) == "3")
        try reader.remove(key)
        #expect(try reader.item(key) == nil)
    }

    @Test("are refused in a listing if none has the name plain, or one with a greater id (R-6.15)", arguments: [0, 1])
    func faults(which: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try vault(path, [ids.least, ids.middle])
        try vault.forge { (state, _) throws(VaultError) in
            let index = state.entries.firstIndex { $0.key == key.bytes } ?? 0
            if which == 0 {
                state.entries.remove(at: index)
                state.items -= 1
            } else {
                let second = state.entries[1 - index]
                state.entries = [
                    (key.bytes, second.value), (PageKey.second(key.bytes, ids.least), state.entries[index].value),
                ]
            }
        }
        let reader = try Fast.open(path)
        fails(.structureInvalid, "second key") { _ = try reader.allItems() }
        fails(.structureInvalid, "second key") { try reader.forEachSecret { _, _ in } }
    }

    @Test("have a suffix in a field that is shortened where the name would be too long")
    func longNames() throws {
        let account = String(repeating: "é", count: 2048)
        let long = try ItemKey.genericPassword(service: "mail", account: account)
        let listed = TwinKey.listed(long, ids.middle)
        let text = try #require(listed.account)
        #expect(text.hasSuffix("é (conflict 00000002)") && text.utf8.count <= 4096 && text.utf8.count > 4092)
        #expect(listed.service == "mail" && TwinKey.start(ofListed: listed) != nil)
        let certificate = try ItemKey.certificate(type: 1, issuer: [1, 0, 2], serialNumber: [3, 0], group: "g")
        let other = TwinKey.listed(certificate, ids.middle)
        #expect(other[.serialNumber]?.bytes == [3, 0] + Array(" (conflict 00000002)".utf8))
        #expect(other.group == "g" && other[.issuer]?.bytes == [1, 0, 2])
        let reserved = try ItemKey(reserved: 9, texts: ["a", "b"], group: "g")
        #expect(TwinKey.listed(reserved, ids.least).texts == ["a (conflict 00000001)", "b"])
        #expect(try ItemKey(long.withoutGroup, group: Array("g".utf8)).group == "g")
    }
}
