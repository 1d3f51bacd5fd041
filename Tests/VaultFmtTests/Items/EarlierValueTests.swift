import Testing
import VaultBytes

@testable import VaultFmt

@Suite("Earlier values")
struct EarlierValueTests {
    private let key: ItemKey
    private let other: ItemKey

    init() throws {
        key = try .genericPassword(service: "mail", account: "ann", group: "team")
        other = try .genericPassword(service: "mail", account: "bob", group: "team")
    }

    /// The secrets of an item's earlier values, the oldest first.
    private func secrets(_ vault: Vault, _ key: ItemKey) throws -> [String] {
        try vault.earlierValues(of: key).map { String(decoding: try vault.secret(of: $0).array, as: UTF8.self) }
    }

    private func expectSound(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let report = try Fast.open(path).verify()
        #expect(report.isSound, "\(report.problems)", sourceLocation: sourceLocation)
    }

    @Test("are kept when a secret is replaced, sealed for owners only, with what the item was then (R-6.10)")
    func keeping() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let clock = SettableClock()
        clock.set(1_000_000)
        let vault = try Fast.create(path, fileSystem: clock)
        clock.set(1_500_000)
        try vault.add(key, secret: Secret(text: "one"), attributes: ["label": "L", "notes": "n"], modified: 5)
        let first = try #require(try vault.item(key))
        clock.set(2_000_000)
        try vault.set(key, secret: Secret(text: "two"), attributes: setting(["label": "M"]))
        clock.set(3_000_000)
        try vault.put(key, "three")

        let again = try Fast.open(path, fileSystem: clock)
        let item = try #require(try again.item(key))
        #expect(item.hasPast && !item.needsSettling && item.secretChanged == 3_000_000)
        let values = try again.earlierValues(of: item)
        #expect(try secrets(again, key) == ["one", "two"])
        #expect(values.map(\.revision)[0] == first.revision && values[1].revision > first.revision)
        #expect(values.map(\.modified) == [1_500_000, 2_000_000] && values.map(\.replaced) == [2_000_000, 3_000_000])
        #expect(values.map(\.attributes.label) == ["L", "M"])
        let opened = try again.open(values[0])
        #expect(opened.key == key && opened.attributes.string("notes") == nil, "a sealed one is a value of its own")
        for value in values {
            let record = try #require(value.value.record)
            #expect(try again.group(ofCompartment: record.compartment) == Keyring.ownersGroup)
            #expect(record.revision != value.revision && value.attribute == nil)
        }
        #expect(try newestCommit(path).pasts == 1)
        try expectSound(path)
    }

    @Test("are made of each secret or sealed value that is replaced or removed, and of nothing else")
    func whatMakesOne() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let long = [UInt8](repeating: 65, count: 1000)
        try vault.add(key, secret: Secret(text: "s"), attributes: ["label": "L", "notes": "n", "otp": "o"])
        func count() throws -> Int { try vault.earlierValues(of: key).count }
        try vault.update(key, attributes: setting(["label": "M", "new": "x"]))
        try vault.update(key, attributes: AttributeChanges(set: Attributes(["page": long])))
        try vault.update(key, attributes: AttributeChanges(remove: ["page"]))
        try vault.update(key, accessibility: .afterFirstUnlock)
        try vault.put(key, "s")
        try vault.set(key, secret: Secret(text: "s"), attributes: setting(["notes": "n"]))
        try vault.update(key, attributes: setting(["otp": "o"]))
        try vault.update(key, attributes: AttributeChanges(set: Attributes([Attribute("pin", [1], flags: .sealed)])))
        #expect(try count() == 0, "nothing that is sealed was replaced")
        #expect(try vault.item(key)?.hasPast == false)
        try vault.update(key, attributes: setting(["notes": "m"]))
        #expect(try count() == 1)
        try vault.update(key, attributes: AttributeChanges(remove: ["otp"]))
        #expect(try count() == 2)
        try vault.set(
            key, secret: Secret(text: "s"), attributes: AttributeChanges(set: ["label": "N"], replaceAll: true))
        let values = try vault.earlierValues(of: key)
        #expect(values.map(\.attribute) == ["notes", "otp", "pin", "notes"], "the other sealed ones went")
        #expect(try secrets(vault, key) == ["n", "o", "\u{1}", "m"])
        #expect(values[2].flags == .sealed)
        try expectSound(path)
    }

    @Test("give way to one that equals the current value, which is not listed but counts; the transaction names them")
    func crowdedOut() throws {
        let memory = InMemory()
        let vault = try memory.create(kept: 3)
        try vault.add(key, secret: Secret(text: "1"))
        for value in ["2", "3", "4", "5", "6"] {
            let dropped = try vault.transaction { (transaction) throws(VaultError) -> [DroppedValue] in
                try transaction.set(key, secret: Secret(text: value))
                return transaction.crowdedOut
            }
            #expect(dropped.isEmpty, "the oldest of as many as the vault keeps gives way to a new value")
        }
        let earlier = try vault.earlierValues(of: key)
        #expect(try secrets(vault, key) == ["3", "4", "5"])
        let dropped = try vault.transaction { (transaction) throws(VaultError) -> [DroppedValue] in
            try transaction.restore(earlier[2], of: key)
            return transaction.crowdedOut
        }
        #expect(dropped.map(\.key) == [key] && dropped.map(\.value.revision) == [earlier[0].revision])
        #expect(try secrets(vault, key) == ["4", "6"])
        try vault.put(key, "7")
        #expect(try secrets(vault, key) == ["4", "6", "5"], "nothing gives way while there is room")
        #expect(try vault.verify().problems.isEmpty)
    }

    @Test("come back after a compaction, a rotation, another name and another group")
    func surviving() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "one")
        try vault.put(key, "two")
        try vault.compact()
        #expect(try secrets(Fast.open(path), key) == ["one"])
        let renamed = try ItemKey.genericPassword(service: "post", account: "ann", group: "team")
        try vault.move(key, to: renamed)
        #expect(try secrets(vault, renamed) == ["one"])
        var rotation = try vault.rotation()
        _ = try rotation.keep(try Fast.rawKey())
        _ = try rotation.run()
        #expect(try secrets(vault, renamed) == ["one"])
        let moved = try ItemKey.genericPassword(service: "post", account: "ann", group: "others")
        try vault.move(renamed, to: moved)
        try vault.update(moved, accessibility: .always)
        try vault.compact()
        let again = try Fast.open(path)
        let value = try #require(try again.earlierValues(of: moved).first)
        let opened = try again.open(value)
        #expect(opened.key == key, "under the name of the time (R-5.3)")
        #expect(opened.value.attribute == nil)
        try again.restore(value, of: moved)
        #expect(try again.text(moved) == "one")
        #expect(try again.item(moved)?.accessibility == .always)
        #expect(try secrets(again, moved) == ["two"], "what is shown is not listed")
        try expectSound(path)
    }

    @Test(
        "are as many as the vault keeps; the oldest go first, and only a change of the item drops what exceeds a setting"
    )
    func keptNumber() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        #expect(vault.keptVersions == 10)
        for number in 0...12 { try vault.put(key, "\(number)") }
        #expect(try secrets(vault, key) == (2..<12).map { "\($0)" })
        try vault.keepVersions(3)
        #expect(try secrets(vault, key) == ["9", "10", "11"])
        let keeping = try vault.reading { (core) throws(VaultError) in core.store.keyring.keeping }
        #expect(keeping.count == 3 && keeping.dot.position == 1)
        try vault.compact()
        try vault.keepVersions(10)
        #expect(try vault.earlierValues(of: key).count == 10, "nothing is lost by the setting itself (R-6.27)")
        try vault.keepVersions(3)
        try vault.put(key, "13")
        #expect(try secrets(vault, key) == ["10", "11", "12"])
        try vault.keepVersions(50)
        #expect(try secrets(vault, key) == ["10", "11", "12"])
        for number in 0..<60 { try vault.put(key, "more \(number)") }
        #expect(try vault.earlierValues(of: key).count == 50)
        fails(.limitExceeded, "51") { try vault.keepVersions(51) }
        fails(.limitExceeded, "-1") { try vault.keepVersions(-1) }
        try expectSound(path)
    }

    @Test(
        "are not kept where the vault keeps none: nothing of them is in the file after a compaction, and it costs nothing"
    )
    func none() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let counting = FaultyFileSystem()
        let vault = try Fast.create(path, fileSystem: counting)
        try vault.keepVersions(0)
        try vault.put(key, "old")
        let record = try #require(try vault.item(key)).entry.record.length
        let before = try contents(path).count
        counting.reset()
        try vault.put(key, "new")
        // Whether the newest commit is still there, before the change and before its write, and three times after it: that
        // commit, and the first and the last bytes of the change. The old record is not opened.
        #expect(counting.counts.read == 5)
        let commit = try newestCommit(path)
        let appended = try frames(contents(path)).filter { $0.range.lowerBound >= before }
        #expect(appended.map(\.type) == [.record, .page, .commit] && appended[0].range.count == record)
        #expect(commit.pasts == 0)
        #expect(try vault.earlierValues(of: key).isEmpty)
        try vault.compact()
        #expect(try RawReader(try Fast.open(path)).secrets(in: contents(path)) == ["new"])
        let groups = try vault.reading { (core) throws(VaultError) in core.store.keyring.compartments.map(\.group) }
        #expect(!groups.contains(Keyring.ownersGroup))
        try expectSound(path)
    }

    @Test("are refused to scoped slots and to a locked vault, which read no byte of them either (R-6.13)")
    func refused() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.add(key, secret: Secret(text: "before the grant"), accessibility: .always)
        try vault.set(key, secret: Secret(text: "second"))
        _ = try vault.addSlot(try Fast.rawKey(9), name: "reader", grantedGroups: ["team"])
        try vault.set(key, secret: Secret(text: "third"))
        try vault.set(key, secret: Secret(text: "now"))
        let value = try #require(try vault.earlierValues(of: key).first)
        try vault.compact()

        let scoped = try Vault.open(path, factors: try Fast.rawKey(9))
        #expect(try scoped.item(key)?.hasPast == true, "that there are some is in the index")
        #expect(try scoped.text(key) == "now")
        fails(.notPermitted, "earlier values") { _ = try scoped.earlierValues(of: key) }
        fails(.notPermitted, "earlier values") { _ = try scoped.open(value) }
        #expect(try RawReader(scoped).secrets(in: contents(path)) == ["now"])

        let locked = try Fast.open(path)
        let known = try #require(try locked.earlierValues(of: key).first)
        locked.lock()
        #expect(try locked.text(key) == "now", "always accessible")
        fails(.locked) { _ = try locked.earlierValues(of: key) }
        fails(.locked) { _ = try locked.open(known) }
        #expect(try RawReader(locked).secrets(in: contents(path)) == ["now"])
        try locked.unlock(try Fast.rawKey())
        #expect(try secrets(locked, key) == ["before the grant", "second", "third"])
    }

    @Test("go with their item: none is counted, live or, after a compaction, in the file (R-6.12)")
    func removing() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(other, "stays")
        try vault.put(other, "stays too")
        for secret in ["one", "two", "three"] { try vault.put(key, secret) }
        #expect(try newestCommit(path).pasts == 2)
        try vault.remove(key)
        #expect(try newestCommit(path).pasts == 1)
        try expectSound(path)
        try vault.compact()
        #expect(try RawReader(try Fast.open(path)).secrets(in: contents(path)) == ["stays", "stays too"])
        try expectSound(path)
    }

    @Test("are restored one by one; what the item was becomes one, and nothing is lost")
    func restoring() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.add(key, secret: Secret(text: "one"), attributes: ["label": "L", "notes": "n"])
        try vault.set(
            key, secret: Secret(text: "two"), attributes: AttributeChanges(set: ["url": "u"], replaceAll: true))
        let id = try #require(try vault.item(key)).id
        let value = try #require(try vault.earlierValues(of: key).first)
        try vault.restore(value, of: key)
        let again = try Fast.open(path)
        #expect(try again.dump()[key]?.attributes == Contents.attributes(["url": "u"]), "nothing but the secret")
        #expect(try again.text(key) == "one")
        #expect(try again.item(key)?.id == id)
        #expect(try again.earlierValues(of: key).map(\.attribute) == ["notes", nil])
        #expect(try secrets(again, key) == ["n", "two"])
        #expect(try again.earlierValues(of: key).last?.attributes.string("url") == "u")
        try again.restore(try again.earlierValues(of: key)[0], of: key)
        #expect(try again.get(key)?.item.attributes.string("notes") == "n")
        #expect(try secrets(again, key) == ["two"])
        fails(.noSuchItem) { try again.restore(value, of: other) }
        try again.put(other, "x")
        fails(.noSuchItem, "no such earlier value") { try again.restore(value, of: other) }
        try again.forgetEarlierValues(of: key)
        fails(.noSuchItem, "no such earlier value") { try again.restore(value, of: key) }
        try expectSound(path)
    }

    @Test("are forgotten, one or all of them")
    func forgetting() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        for number in 0..<4 { try vault.put(key, "\(number)") }
        let (revision, secretChanged) = try (
            #require(try vault.item(key)).revision, #require(try vault.item(key)).secretChanged
        )
        let values = try vault.earlierValues(of: key)
        #expect(try vault.forgetEarlierValues(of: key, [values[1]]) == 1)
        #expect(try secrets(vault, key) == ["0", "2"])
        #expect(try vault.forgetEarlierValues(of: key, []) == 0)
        fails(.noSuchItem, "no such earlier value") { _ = try vault.forgetEarlierValues(of: key, [values[1]]) }
        fails(.noSuchItem) { _ = try vault.forgetEarlierValues(of: other) }
        try expectSound(path)
        #expect(try vault.forgetEarlierValues(of: key) == 2)
        #expect(try vault.forgetEarlierValues(of: key) == 0)
        let item = try #require(try vault.item(key))
        #expect(!item.hasPast && item.revision > revision && item.secretChanged == secretChanged)
        let commit = try newestCommit(path)
        #expect(commit.pasts == 0 && commit.forgotten == 3)
        try expectSound(path)
        try vault.compact()
        #expect(try RawReader(try Fast.open(path)).secrets(in: contents(path)) == ["3"])
    }

    @Test(
        "of an import come in under new revisions, oldest first and before the item's own, as many as the vault keeps")
    func importing() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.keepVersions(3)
        let history = (0..<5).map { number in
            NewEarlierValue(
                secret: Secret(text: "\(number)"), attributes: ["label": "L\(number)", "notes": "n\(number)"],
                replaced: Int64(number) + 1)
        }
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.add(key, secret: Secret(text: "now"), created: 0, modified: 5)
            let added = try transaction.addEarlierValues(history, to: key)
            #expect(added == 3)
        }
        let again = try Fast.open(path)
        let item = try #require(try again.item(key))
        let values = try again.earlierValues(of: key)
        #expect(try secrets(again, key) == ["2", "n2", "3", "n3", "4", "n4"])
        #expect(values.map(\.replaced) == [3, 3, 4, 4, 5, 5])
        #expect(values.map(\.attributes.label) == ["L2", nil, "L3", nil, "L4", nil])
        #expect(values.map(\.revision) == values.map(\.revision).sorted() && values[5].revision < item.revision)
        #expect(item.modified == 5)
        try expectSound(path)
        try again.transaction { (transaction) throws(VaultError) in
            let added = try transaction.addEarlierValues(Array(history.prefix(1)), to: key)
            #expect(added == 1)
            fails(.noSuchItem) { _ = try transaction.addEarlierValues(history, to: other) }
            fails(.invalidArgument, "date") {
                let far = NewEarlierValue(secret: Secret(text: ""), replaced: .max)
                _ = try transaction.addEarlierValues([far], to: key)
            }
        }
        #expect(try secrets(again, key) == ["3", "n3", "4", "n4", "0", "n0"])
        try again.keepVersions(0)
        try again.transaction { (transaction) throws(VaultError) in
            let added = try transaction.addEarlierValues(history, to: key)
            #expect(added == 0)
        }
        try expectSound(path)
    }

    @Test("of an import are older than what the item got in the same transaction, so the limit drops them first")
    func importedFirst() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.keepVersions(2)
        let history = (0..<2).map { number in
            NewEarlierValue(
                secret: Secret(text: "\(number)"), attributes: ["notes": "n\(number)"],
                replaced: Int64(number) + 1)
        }
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.add(key, secret: Secret(text: "2"), attributes: ["notes": "n2"])
            _ = try transaction.addEarlierValues(history, to: key)
        }
        #expect(try secrets(vault, key) == ["0", "n0", "1", "n1"])
        try vault.set(key, secret: Secret(text: "3"), attributes: .init(set: ["notes": "n3"]))
        #expect(try secrets(vault, key) == ["1", "n1", "2", "n2"])
        // The same for an item that exists already, whose former values are the oldest.
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.set(key, secret: Secret(text: "6"), attributes: .init(set: ["notes": "n6"]))
            let later = (4..<6).map { NewEarlierValue(secret: Secret(text: "\($0)"), replaced: Int64($0) + 1) }
            _ = try transaction.addEarlierValues(later, to: key)
        }
        #expect(try secrets(vault, key) == ["n2", "n3", "4", "5"])
        try vault.set(key, secret: Secret(text: "7"))
        #expect(try secrets(vault, key) == ["n2", "n3", "5", "6"])
        // A value that others may have seen keeps its revision.
        let item = try #require(try vault.item(key))
        try vault.transaction { (transaction) throws(VaultError) in
            _ = try transaction.addEarlierValues(history, to: key)
        }
        #expect(try vault.item(key)?.entry.dot(of: FieldSet.secret) == item.entry.dot(of: FieldSet.secret))
        try expectSound(path)
    }

    @Test("of an item that is bound to this device are bound to it too, and another device opens none (R-6.10)")
    func binding() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path, device: .random())
        try vault.put(key, "one")
        try vault.put(key, "two")
        try vault.update(key, accessibility: .whenUnlockedThisDeviceOnly)
        try vault.put(key, "three")
        #expect(try secrets(vault, key) == ["one", "two"])
        let elsewhere = try Fast.open(path, device: .random())
        let values = try elsewhere.earlierValues(of: key)
        #expect(values.count == 2)
        for value in values { fails(.deviceBound) { _ = try elsewhere.open(value) } }
        #expect(try RawReader(elsewhere).secrets(in: contents(path)) == [])
        try vault.update(key, accessibility: .whenUnlocked)
        try vault.put(key, "four")
        #expect(try secrets(vault, key) == ["one", "two", "three"])
        for value in values { fails(.deviceBound) { _ = try Fast.open(path).open(value) } }
        let report = try vault.verify()
        #expect(report.isSound, "\(report.problems)")
    }

    @Test("of another device stay under its key where they cannot be resealed, and are its to read")
    func otherDevice() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let device = Device.random()
        let vault = try Fast.create(path, device: try Device(fileContents: device.fileContents()))
        try vault.add(
            key, secret: Secret(text: "theirs"), attributes: ["label": "L"], accessibility: .alwaysThisDeviceOnly)
        let compartment = try #require(try vault.item(key)).entry.compartment
        let elsewhere = try Fast.open(path, device: .random())
        try elsewhere.set(key, secret: Secret(text: "ours"))
        let value = try #require(try elsewhere.earlierValues(of: key).first)
        #expect(value.value.record?.compartment == compartment, "it could not be opened here")
        fails(.deviceBound) { _ = try elsewhere.open(value) }
        #expect(try elsewhere.text(key) == "ours")
        try vault.refresh()
        #expect(try secrets(vault, key) == ["theirs"])
        fails(.deviceBound) { _ = try vault.text(key) }
        try elsewhere.compact()
        try vault.refresh()
        #expect(try secrets(vault, key) == ["theirs"])
        // Once the device writes, what it alone can open is sealed for owners.
        try vault.update(key, attributes: setting(["label": "M"]))
        try vault.set(key, secret: Secret(text: "new"), accessibility: .whenUnlocked)
        let values = try vault.earlierValues(of: key)
        #expect(try vault.secret(of: values[0]).array == Array("theirs".utf8))
        let record = try #require(values[0].value.record)
        #expect(try vault.group(ofCompartment: record.compartment) == Keyring.ownersGroup)
        fails(.deviceBound) { _ = try vault.open(values[1]) }
        #expect(try elsewhere.earlierValues(of: key).count == 1, "an older state")
        try elsewhere.refresh()
        #expect(try elsewhere.secret(of: try elsewhere.earlierValues(of: key)[1]).array == Array("ours".utf8))
    }

    @Test("that are damaged cost nothing but themselves: the item is read, listed and removed, and they are forgotten")
    func damaged() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        for secret in ["one", "two", "three"] { try vault.put(key, secret) }
        // The newest generation would be incomplete with damage in it.
        try vault.put(other, "x")
        let item = try #require(try vault.item(key))
        let values = try vault.earlierValues(of: key)
        let frame = try #require(item.entry.past)
        let sound = try contents(path)
        func flip(_ offset: UInt64) throws -> Vault {
            var bytes = sound
            bytes[Int(offset)] ^= 1
            try write(bytes, path)
            return try Fast.open(path)
        }
        // One value's record.
        var damaged = try flip(try #require(values[0].value.record).record.offset + 100)
        #expect(try damaged.earlierValues(of: key).count == 2)
        fails(.authenticationFailed) { _ = try damaged.open(values[0]) }
        #expect(try damaged.secret(of: values[1]).array == Array("two".utf8))
        // The frame that has them all.
        damaged = try flip(frame.offset + 100)
        #expect(try damaged.text(key) == "three" && damaged.allItems().count == 2)
        fails(.authenticationFailed, "in '\(damaged.path)' cannot be read") { _ = try damaged.earlierValues(of: key) }
        fails(.authenticationFailed, "in '\(damaged.path)' cannot be read") { try damaged.put(key, "four") }
        fails(.authenticationFailed, "forget the item's earlier values") { try damaged.put(key, "four") }
        #expect(try damaged.forgetEarlierValues(of: key) == 1)
        try damaged.put(key, "four")
        #expect(try secrets(damaged, key) == ["three"])
        damaged = try flip(frame.offset + 100)
        #expect(try damaged.remove(key))
        #expect(try damaged.allItems().map(\.key) == [other])
    }

    @Test("E18: that are damaged go with their item, or are forgotten, and what is live is counted right")
    func damagedCounts() throws {
        let memory = InMemory()
        let vault = try memory.create()
        let third = try ItemKey.genericPassword(service: "mail", account: "cid", group: "team")
        let large = Attributes([Attribute("file", [UInt8](repeating: 7, count: 9000))])
        for key in [key, other, third] {
            try vault.add(key, secret: Secret(text: "0"), attributes: large)
            for secret in ["1", "2", "3"] { try vault.put(key, secret) }
            try vault.update(key, attributes: AttributeChanges(remove: ["file"]))
        }
        try vault.put(try password("s"), "x")
        let sound = try memory.bytes()
        let places = try [key, other].map { key in
            Int(try #require(try vault.item(key)?.entry.past).offset) + 100
        }
        /// Changes a copy in which these frames are damaged, and mends it: nothing may be wrong then.
        func check(_ damaged: [Int], _ name: String, _ change: (Vault) throws -> Void) throws {
            func flip() throws {
                var bytes = try memory.bytes(name)
                for place in damaged { bytes[place] ^= 1 }
                memory.files.put(name, bytes)
            }
            memory.files.put(name, sound)
            try flip()
            try change(try memory.open(name))
            try flip()
            let after = try memory.open(name)
            try VaultFmtTests.expectSound(after)
            let live = try after.withCore { (core) throws(VaultError) in core.store.state.commit.liveBytes }
            try after.compact()
            let compacted = try after.withCore { (core) throws(VaultError) in core.store.state.commit }
            // A compaction packs the pages: nothing else of what is live changes.
            #expect(Int(live) - Int(compacted.liveBytes) < 4096, "\(name)")
        }
        try check([places[0]], "removed") { vault in try vault.remove(key) }
        try check([places[0]], "forgotten") { vault in
            let count = try vault.forgetEarlierValues(of: key)
            #expect(count == 1, "they cannot be counted")
        }
        try check(places, "one by one") { vault in
            try vault.remove(key)
            try vault.remove(other)
        }
        try check(places, "together") { vault in
            try vault.transaction { (transaction) throws(VaultError) in
                try transaction.set(third, secret: Secret(text: "4"))
                _ = try transaction.remove(key)
                try transaction.forgetEarlierValues(of: other)
            }
        }
    }

    @Test("are seen by a transaction that makes them, several in one")
    func oneTransaction() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.add(key, secret: Secret(text: "0"))
            for number in 1..<5 { try transaction.set(key, secret: Secret(text: "\(number)")) }
            let values = try transaction.earlierValues(of: key)
            let opened = try transaction.open(values[1])
            #expect(values.count == 4 && opened.secret.array == Array("1".utf8))
            try transaction.restore(values[0], of: key)
            try transaction.move(key, to: other)
            let forgotten = try transaction.forgetEarlierValues(of: other, [values[2]])
            #expect(forgotten == 1)
        }
        #expect(try vault.text(other) == "0")
        #expect(try secrets(vault, other) == ["1", "3", "4"])
        #expect(try newestCommit(path).pasts == 1)
        try expectSound(path)
    }
}
