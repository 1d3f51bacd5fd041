import Testing

@testable import VaultFmt

@Suite("An item")
struct ItemTests {
    private let ann: ItemKey
    private let bob: ItemKey

    init() throws {
        ann = try password("mail", "ann")
        bob = try password("mail", "bob")
    }

    @Test("that exists cannot be added again, and stays as it is")
    func duplicates() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        try vault.add(ann, secret: Secret(text: "one"), attributes: ["label": "first"])
        let generation = vault.state.generation
        fails(.duplicateItem) { try vault.add(ann, secret: Secret(text: "two")) }
        #expect(vault.state.generation == generation)
        #expect(try vault.text(ann) == "one")
        #expect(try vault.item(ann)?.attributes.label == "first")
    }

    @Test("keeps the attributes that setting does not name, its id, its accessibility and when it was created")
    func setting() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let large = String(repeating: "n", count: 5000)
        try vault.add(
            ann, secret: Secret(text: "one"), attributes: ["label": "L", "comment": large, "x": "1"],
            accessibility: .afterFirstUnlock,
            created: 1000,
            modified: 2000)
        let before = try #require(try vault.item(ann))
        try vault.set(
            ann, secret: Secret(text: "two"),
            attributes: AttributeChanges(set: ["x": "2", "y": "3"], remove: ["label", "absent"]))
        let opened = try #require(try Fast.open(path).dump()[ann])
        #expect(opened.secret == Array("two".utf8))
        #expect(opened.attributes == Contents.attributes(["comment": large, "x": "2", "y": "3"]))
        #expect(opened.accessibility == .afterFirstUnlock && opened.created == 1000)
        let after = try #require(try vault.item(ann))
        #expect(after.id == before.id && after.revision > before.revision && after.modified > 2000)

        try vault.set(
            ann, secret: Secret(text: "three"), attributes: AttributeChanges(set: ["z": "1"], replaceAll: true),
            accessibility: .always)
        #expect(try vault.dump()[ann]?.attributes == Contents.attributes(["z": "1"]))
        #expect(try vault.item(ann)?.accessibility == .always)
        #expect(try vault.item(ann)?.id == before.id)
    }

    @Test("that is not there is added by setting")
    func upsert() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        try vault.set(
            ann, secret: Secret(text: "s"), attributes: AttributeChanges(set: ["label": "L"], remove: ["label"]))
        #expect(try vault.item(ann)?.attributes.label == "L")
        #expect(try vault.item(ann)?.accessibility == .whenUnlocked)
    }

    @Test("is updated without its secret: attributes of both sizes, and accessibility")
    func updating() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let large = String(repeating: "n", count: 257)
        try vault.add(ann, secret: Secret(text: "s"), attributes: ["a": "1"])
        let record = try #require(try vault.item(ann)).entry.record
        try vault.update(ann, attributes: AttributeChanges(set: ["b": "2"]))
        #expect(try vault.item(ann)?.entry.record == record, "a change in the page alone leaves the record")
        try vault.update(ann, attributes: AttributeChanges(set: ["c": large]))
        #expect(try vault.dump()[ann]?.attributes == Contents.attributes(["a": "1", "b": "2", "c": large]))
        #expect(try vault.item(ann)?.unreadAttributes == 1)
        try vault.update(ann, attributes: AttributeChanges(remove: ["c", "a"]))
        #expect(try vault.dump()[ann]?.attributes == Contents.attributes(["b": "2"]))
        try vault.update(ann, accessibility: .afterFirstUnlock)
        let again = try Fast.open(path)
        #expect(try again.item(ann)?.accessibility == .afterFirstUnlock)
        #expect(try again.text(ann) == "s")
        #expect(try again.verify().isSound)
        fails(.noSuchItem) { try vault.update(bob) }
    }

    @Test("gets another key and stays the same item")
    func moving() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let large = String(repeating: "n", count: 300)
        try vault.add(
            ann, secret: Secret(text: "s"), attributes: ["label": "L", "comment": large], accessibility: .always,
            created: 5)
        let before = try #require(try vault.item(ann))
        let target = try ItemKey.genericPassword(service: "post", account: "ann", group: "g")
        try vault.move(ann, to: target)
        let again = try Fast.open(path)
        #expect(try again.item(ann) == nil)
        #expect(try again.text(target) == "s")
        #expect(try again.dump()[target]?.attributes == Contents.attributes(["label": "L", "comment": large]))
        let after = try #require(try again.item(target))
        #expect(
            after.id == before.id && after.created == 5 && after.accessibility == .always
                && after.revision > before.revision)
        #expect(try again.statistics().items == 1)
        #expect(try again.verify().isSound)

        try vault.add(bob, secret: Secret(text: "b"))
        fails(.duplicateItem) { try vault.move(bob, to: target) }
        fails(.noSuchItem) { try vault.move(ann, to: bob) }
        fails(.invalidArgument, "class") { try vault.move(bob, to: try .internetPassword(server: "h")) }
        let generation = vault.state.generation
        try vault.move(bob, to: bob)
        #expect(vault.state.generation == generation)
        #expect(try vault.text(bob) == "b")
    }

    @Test("that is removed leaves nothing, and comes back as another item")
    func removing() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.add(ann, secret: Secret(text: "s"))
        let before = try #require(try vault.item(ann))
        #expect(try vault.remove(ann))
        #expect(try vault.item(ann) == nil && vault.get(ann) == nil && vault.allItems().isEmpty)
        let generation = vault.state.generation
        #expect(try vault.remove(ann) == false)
        #expect(vault.state.generation == generation)
        let root = try vault.withCore { (core) throws(VaultError) in core.store.state.commit.root }
        #expect(root == nil)
        try vault.compact()
        try vault.add(ann, secret: Secret(text: "t"))
        #expect(try vault.item(ann)?.id != before.id)
        #expect(try Fast.open(path).verify().isSound)
    }

    @Test("keeps the dates that it was given, and refuses those that the format cannot hold")
    func dates() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let ends: [Int64] = [-(1 << 61), (1 << 61) - 1, 0, -1]
        for (index, date) in ends.enumerated() {
            try vault.add(try password("d", "\(index)"), secret: Secret(text: ""), created: date, modified: -date - 1)
        }
        let again = try Fast.open(path)
        for (index, date) in ends.enumerated() {
            let item = try #require(try again.item(try password("d", "\(index)")))
            #expect(item.created == date && item.modified == -date - 1)
        }
        for date in [.max, .min, 1 << 61, -(1 << 61) - 1] as [Int64] {
            fails(.invalidArgument, "date") { try vault.add(ann, secret: Secret(text: ""), created: date) }
            fails(.invalidArgument, "date") { try vault.set(ann, secret: Secret(text: ""), modified: date) }
        }
        #expect(try Fast.open(path).verify().isSound)
    }

    @Test("gets revisions that only grow, whatever the clock says")
    func revisions() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        var last: UInt64 = 0
        let clock = SettableClock()
        let vault = try Fast.create(path, fileSystem: clock)
        for time in [1_000_000, 999_000, 5, 0, -50, 2_000_000, 2_000_000] as [Int64] {
            clock.set(time)
            try vault.put(ann, "\(time)")
            let revision = try #require(try vault.item(ann)).revision
            #expect(revision > last)
            last = revision
        }
        let again = try Fast.open(path, fileSystem: clock)
        clock.set(0)
        try again.put(bob, "")
        #expect(try #require(try again.item(bob)).revision > last)
    }

    @Test("can have an empty secret, or one of every byte")
    func secrets() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let all = (0...255).map { UInt8($0) }
        try vault.add(ann, secret: Secret(count: 0))
        try vault.add(bob, secret: Secret(bytes: all))
        let again = try Fast.open(path)
        #expect(try again.dump()[ann]?.secret == [])
        #expect(try again.dump()[bob]?.secret == all)
    }
}

extension Contents {
    /// Attributes as a dump has them.
    static func attributes(_ values: [String: String]) -> [[UInt8]: [UInt8]] {
        var out: [[UInt8]: [UInt8]] = [:]
        for (name, value) in values { out[Array(name.utf8)] = Array(value.utf8) }
        return out
    }
}
