import Testing
import VaultBytes

@testable import VaultFmt

@Suite("Large attributes")
struct LargeAttributeTests {
    private let key: ItemKey

    init() throws { key = try .genericPassword(service: "mail", account: "ann", group: "team") }

    private func bytes(_ count: Int, _ seed: UInt64 = 1) -> [UInt8] {
        var numbers = Numbers(seed)
        return numbers.pattern(count)
    }

    private func expectSound(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let report = try Fast.open(path).verify()
        #expect(report.isSound, "\(report.problems)", sourceLocation: sourceLocation)
    }

    @Test(
        "are in a record of their own beyond 4096 bytes, up to 16 MiB, and are read one at a time (R-6.3)",
        arguments: [256, 257, 4096, 4097, 1 << 20, 16 << 20], [false, true])
    func places(size: Int, isSealed: Bool) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let value = bytes(size)
        let flags: Attribute.Flags = isSealed ? [.sealed, .binary] : [.binary]
        try vault.add(key, secret: Secret(text: "s"), attributes: Attributes([Attribute("file", value, flags: flags)]))
        let again = try Fast.open(path)
        let item = try #require(try again.item(key))
        let listed = try #require(item.attributes.attribute("file"))
        #expect(listed.flags == flags)
        #expect(listed.isRead == (size <= 256 && !isSealed))
        #expect(item.largeRecords.count == (size > 4096 ? 1 : 0))
        #expect(item.unreadAttributes == (size <= 256 && !isSealed ? 0 : 1))
        let opened = try again.open(item)
        #expect(opened.item.attributes.attribute("file")?.isRead == (size <= 4096))
        #expect(try again.attribute("file", of: item)?.array == value)
        #expect(try again.attribute("other", of: item)?.array == nil)
        try again.transaction { (transaction) throws(VaultError) in
            let inside = try transaction.attribute("file", of: key)
            #expect(inside?.array == value)
        }
        try expectSound(path)
    }

    @Test("of more than 16 MiB are refused, and nothing is written (R-11.2)")
    func tooLarge() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let before = try contents(path)
        fails(.limitExceeded, "16777217") {
            try vault.add(key, secret: Secret(text: "s"), attributes: Attributes(["x": bytes((16 << 20) + 1)]))
        }
        #expect(try contents(path) == before)
    }

    @Test("are stored once however often the password changes, and shared by earlier values")
    func shared() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let value = bytes(100_000)
        try vault.add(key, secret: Secret(text: "0"), attributes: Attributes(["file": value]))
        let record = try #require(try vault.item(key)).largeRecords
        for number in 1...10 { try vault.put(key, "\(number)") }
        #expect(try vault.item(key)?.largeRecords == record)
        let values = try vault.earlierValues(of: key)
        #expect(values.count == 10 && values.allSatisfy { $0.large == record })
        #expect(try vault.attribute("file", of: values[3])?.array == value)
        try expectSound(path)
        try vault.compact()
        #expect(try contents(path).count < 150_000)
        let again = try Fast.open(path)
        #expect(try again.attribute("file", of: try #require(try again.item(key)))?.array == value)
        #expect(try again.attribute("file", of: try again.earlierValues(of: key)[9])?.array == value)
        try expectSound(path)
    }

    @Test(
        "stay when their item is renamed, and are resealed when it changes its group or accessibility"
    )
    func moving() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let value = bytes(10_000)
        try vault.add(key, secret: Secret(text: "0"), attributes: Attributes(["file": value]))
        try vault.put(key, "1")
        let record = try #require(try vault.item(key)).largeRecords
        let renamed = try ItemKey.genericPassword(service: "post", account: "ann", group: "team")
        try vault.move(key, to: renamed)
        try vault.update(renamed, attributes: setting(["label": "L", "notes": "n"]))
        #expect(try vault.item(renamed)?.largeRecords == record)
        let moved = try ItemKey.genericPassword(service: "post", account: "ann", group: "others")
        try vault.move(renamed, to: moved)
        let item = try #require(try vault.item(moved))
        #expect(item.largeRecords != record && item.largeRecords[0].compartment == item.entry.compartment)
        #expect(
            try vault.earlierValues(of: moved).allSatisfy { $0.large == item.largeRecords },
            "they share it")
        #expect(try vault.attribute("file", of: item)?.array == value)
        try expectSound(path)
        try vault.update(moved, accessibility: .afterFirstUnlock)
        let after = try #require(try vault.item(moved))
        #expect(after.largeRecords[0].compartment == after.entry.compartment && after.largeRecords != item.largeRecords)
        #expect(try vault.attribute("file", of: after)?.array == value)
        try expectSound(path)
    }

    @Test(
        "that the item drops are resealed for owners if an earlier value has them (R-6.11)"
    )
    func dropped() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let old = bytes(5000, 1)
        let new = bytes(6000, 2)
        try vault.add(key, secret: Secret(text: "0"), attributes: Attributes(["file": old]))
        try vault.put(key, "1")
        _ = try vault.addSlot(try Fast.rawKey(9), grantedGroups: ["team"])
        let shared = try #require(try vault.earlierValues(of: key).first).large[0]
        #expect(try vault.group(ofCompartment: shared.compartment) != Keyring.ownersGroup)
        try vault.update(key, attributes: AttributeChanges(set: Attributes(["file": new])))
        #expect(try vault.earlierValues(of: key).count == 1, "what is not sealed makes no earlier value")
        let value = try #require(try vault.earlierValues(of: key).first)
        #expect(try vault.group(ofCompartment: value.large[0].compartment) == Keyring.ownersGroup)
        #expect(try vault.attribute("file", of: value)?.array == old)
        #expect(try vault.attribute("file", of: try #require(try vault.item(key)))?.array == new)
        try expectSound(path)
        try vault.compact()
        let scoped = try Vault.open(path, factors: try Fast.rawKey(9))
        let found = try RawReader(scoped).secrets(in: contents(path))
        #expect(found == ["1", String(decoding: new, as: UTF8.self)])
        // Without an earlier value that has it, it is dead.
        try vault.update(key, attributes: AttributeChanges(remove: ["file"]))
        #expect(try vault.item(key)?.largeRecords == [])
        try expectSound(path)
    }

    @Test("that are sealed become earlier values themselves when they are replaced, and nothing else does")
    func sealed() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let old = bytes(5000, 1)
        let sealed = Attributes([Attribute("file", old, flags: .sealed), Attribute("notes", [1])])
        try vault.add(key, secret: Secret(text: "0"), attributes: sealed)
        let entry = try #require(try vault.item(key)).entry
        let change = Attributes([Attribute("file", secret: Secret(bytes: bytes(5001, 2)))])
        try vault.update(key, attributes: AttributeChanges(set: change))
        let now = try #require(try vault.item(key)).entry
        #expect(now.record == entry.record, "the item's record has not changed")
        #expect(now.dot(of: FieldSet.secret) == entry.dot && now.dot(of: FieldSet.firstAttribute) == now.dot)
        let values = try vault.earlierValues(of: key)
        #expect(values.map(\.attribute) == ["file"] && values[0].flags == .sealed)
        #expect(try vault.secret(of: values[0]).array == old)
        let record = try #require(values[0].value.record)
        #expect(try vault.group(ofCompartment: record.compartment) == Keyring.ownersGroup)
        try expectSound(path)
    }

    @Test("that are the same are not written again: they keep their records and their dots")
    func unchanged() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let large = Attributes([Attribute("file", bytes(5000), flags: .sealed), Attribute("plain", bytes(6000))])
        try vault.add(key, secret: Secret(text: "0"), attributes: large)
        let before = try #require(try vault.item(key))
        try vault.update(key, attributes: AttributeChanges(set: large))
        let after = try #require(try vault.item(key))
        #expect(after.largeRecords == before.largeRecords && after.revision > before.revision)
        #expect(after.entry.dot(of: FieldSet.firstAttribute) == before.entry.dot)
        #expect(try vault.earlierValues(of: key).isEmpty)
        try expectSound(path)
    }

    @Test("that are restored are the item's again, under its group")
    func restored() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let old = bytes(50_000, 1)
        let sealed = Attributes([Attribute("file", old, flags: .sealed), Attribute("plain", bytes(6000, 3))])
        try vault.add(key, secret: Secret(text: "0"), attributes: sealed)
        try vault.set(
            key, secret: Secret(text: "1"), attributes: AttributeChanges(remove: ["file", "plain"]))
        let values = try vault.earlierValues(of: key)
        #expect(values.map(\.attribute) == [nil, "file"])
        #expect(try vault.attribute("plain", of: values[0])?.array == bytes(6000, 3))
        try vault.restore(values[1], of: key)
        let item = try #require(try vault.item(key))
        #expect(item.largeRecords.map(\.compartment) == [item.entry.compartment])
        #expect(try vault.attribute("file", of: item)?.array == old)
        #expect(try vault.earlierValues(of: key).map(\.attribute) == [nil])
        try expectSound(path)
        try vault.compact()
        try expectSound(path)
    }

    @Test("are not taken from an item that was only listed: what was not read cannot be added to another")
    func unread() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.add(
            key, secret: Secret(text: "0"), attributes: Attributes(["file": bytes(5000), "notes": [1], "label": [65]]))
        let attributes = try #require(try vault.item(key)).attributes
        fails(.invalidArgument, "has not been read") {
            try vault.add(try password("other"), secret: Secret(text: ""), attributes: attributes)
        }
        let opened = try #require(try vault.get(key)?.item.attributes)
        fails(.invalidArgument, "\"file\" has not been read") {
            try vault.add(try password("other"), secret: Secret(text: ""), attributes: opened)
        }
        // Of the item itself, they are what it has.
        try vault.set(key, secret: Secret(text: "1"), attributes: AttributeChanges(set: opened, replaceAll: true))
        try vault.update(key, attributes: AttributeChanges(set: attributes))
        #expect(try vault.attribute("file", of: try #require(try vault.item(key)))?.array == bytes(5000))
        #expect(try vault.get(key)?.item.attributes["notes"] == [1])
        try expectSound(path)
    }

    @Test("that are damaged cost nothing but themselves")
    func damaged() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.add(key, secret: Secret(text: "0"), attributes: Attributes(["a": bytes(5000), "b": bytes(6000)]))
        // The newest generation would be incomplete with damage in it.
        try vault.put(try password("other"), "x")
        let record = try #require(try vault.item(key)).largeRecords[0].record
        var damaged = try contents(path)
        damaged[Int(record.offset) + 100] ^= 1
        let reader = try Fast.open(damaged)
        let item = try #require(try reader.item(key))
        #expect(try reader.text(key) == "0")
        fails(.authenticationFailed) { _ = try reader.attribute("a", of: item) }
        #expect(try reader.attribute("b", of: item)?.array == bytes(6000))
        // It can be replaced.
        try write(damaged, path)
        let writer = try Fast.open(path)
        try writer.put(key, "1")
        try writer.forgetEarlierValues(of: key)
        try writer.update(key, attributes: AttributeChanges(set: Attributes(["a": [1]])))
        #expect(try writer.item(key)?.attributes["a"] == [1])
    }
}

extension EarlierValue {
    /// The records of the large attributes of its time.
    fileprivate var large: [RecordRef] { Array(value.records.dropFirst()) }
}
