import Foundation
import Testing
import VaultBytes

@testable import VaultFmt

/// What is left in a file opens with no fewer rights than its item asks for now.
@Suite("Dead bytes")
struct DeadByteTests {
    private let first: ItemKey
    private let second: ItemKey
    private let third: ItemKey

    init() throws {
        first = try .genericPassword(service: "s", account: "1", group: "ci")
        second = try .genericPassword(service: "s", account: "2", group: "ci")
        third = try .genericPassword(service: "s", account: "3", group: "ci")
    }

    private func moved(_ key: ItemKey, to group: String) throws(VaultError) -> ItemKey {
        try .genericPassword(service: key.service ?? "", account: key.account ?? "", group: group)
    }

    @Test(
        "S1: a group's newcomer opens nothing that left it before: moved out, replaced or removed, in this file or in older ones"
    )
    func newcomer() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path)
        var older: [[UInt8]] = []
        for (key, secret) in [(first, "moved out"), (second, "replaced"), (third, "removed")] {
            try owner.put(key, secret)
        }
        older.append(try contents(path))
        try owner.move(first, to: moved(first, to: "admin"))
        try owner.put(second, "now")
        try owner.remove(third)
        older.append(try contents(path))
        let slot = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"]).id
        let reader = try RawReader(try Fast.openWritable(path, try Fast.rawKey(9)))
        #expect(try reader.secrets(in: contents(path)) == ["now"])
        // The index of now: only the keyring's spare is dead, and all of it opens; of older copies, nothing does.
        let spare = try #require(try frames(contents(path)).first { $0.type == .keyring }).range.count
        #expect(try owner.statistics().deadBytes < UInt64(spare + Format.commitSize))
        let present = try frames(contents(path)).count { $0.type != .record && $0.type != .past }
        #expect(try reader.indexObjects(in: contents(path)) == present)
        for bytes in older {
            #expect(try reader.secrets(in: bytes) == [] && reader.indexObjects(in: bytes) == 0)
            #expect(try RawReader(owner).indexObjects(in: bytes) == 0, "the owner has the index key of now, too")
        }
        // A second newcomer sees nothing from between, nor does the first lose anything.
        try owner.put(second, "later")
        older.append(try contents(path))
        _ = try owner.addSlot(try Fast.rawKey(10), grantedGroups: ["ci", "admin"])
        let another = try RawReader(try Fast.openWritable(path, try Fast.rawKey(10)))
        #expect(try another.secrets(in: contents(path)) == ["later", "moved out"])
        for bytes in older { #expect(try another.secrets(in: bytes) == []) }
        #expect(try Fast.openWritable(path, try Fast.rawKey(9)).text(second) == "later")
        try owner.removeSlot(slot)
        #expect(try owner.verify().isSound)
    }

    @Test("S1: a slot that opens no group reads no index from before it was made")
    func indexOnly() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path)
        try owner.put(first, "x")
        let before = try contents(path)
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: [])
        let scoped = try Fast.openWritable(path, try Fast.rawKey(9))
        #expect(try scoped.allItems().count == 1)
        let header = try contents(path)
        #expect(header[32..<64] != before[32..<64], "another epoch")
    }

    @Test("S1: an item that moves out of a granted group leaves nothing that the group's slots open")
    func moveOut() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path)
        try owner.put(first, "first")
        try owner.put(second, "second")
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"])
        let reader = try RawReader(try Fast.openWritable(path, try Fast.rawKey(9)))
        try owner.put(first, "changed")
        try owner.move(first, to: moved(first, to: "admin"))
        #expect(try reader.secrets(in: contents(path)) == ["second"])
        #expect(try owner.text(moved(first, to: "admin")) == "changed")
        #expect(try owner.verify().isSound)
    }

    @Test("S2: an item that is for this device only from now on opens with this device only, in every record of it")
    func thisDeviceOnly() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path, device: .random())
        try owner.put(first, "portable")
        try owner.put(second, "second")
        try owner.update(first, accessibility: .whenUnlockedThisDeviceOnly)
        #expect(try RawReader(try Fast.open(path)).secrets(in: contents(path)) == ["second"])
        #expect(try owner.text(first) == "portable")
    }

    @Test(
        "S2: what another device replaced is left to the first one alone only as an earlier value (R-6.10)",
        arguments: [0, 10])
    func otherDevice(kept: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let device = Device.random()
        let owner = try Fast.create(path, device: try Device(fileContents: device.fileContents()))
        try owner.keepVersions(kept)
        try owner.add(first, secret: Secret(text: "old"), accessibility: .whenUnlockedThisDeviceOnly)
        let other = try Fast.open(path, device: .random())
        try other.put(first, "new")
        #expect(
            try RawReader(try Fast.open(path, device: device)).secrets(in: contents(path)) == (kept == 0 ? [] : ["old"])
        )
        #expect(try other.text(first) == "new")
        #expect(try other.earlierValues(of: first).count == (kept == 0 ? 0 : 1))
    }

    @Test("S2: keys that a locked program keeps open no record of an item that asks for unlocking now")
    func keptKeys() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path)
        try owner.add(first, secret: Secret(text: "first"), accessibility: .always)
        try owner.add(second, secret: Secret(text: "second"), accessibility: .afterFirstUnlock)
        let locked = try Fast.open(path)
        locked.lock()
        #expect(try RawReader(locked).secrets(in: contents(path)) == ["first", "second"])
        try owner.update(first, accessibility: .whenUnlocked)
        #expect(try RawReader(locked).secrets(in: contents(path)) == ["second"])
    }

    private func seal(_ name: String, _ value: String) -> AttributeChanges {
        AttributeChanges(set: Attributes([Attribute(name, Array(value.utf8), flags: .sealed)]))
    }

    @Test("S1: an attribute that is sealed leaves nothing in the index for those who cannot open the item")
    func sealedAttribute() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path)
        let item = try ItemKey.genericPassword(service: "s", account: "1", group: "admin")
        try owner.put(first, "first")
        try owner.add(
            item, secret: Secret(text: "secret"), attributes: ["pet": "Biscuit", "hint": "a dog"],
            accessibility: .always)
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"])
        let reader = try RawReader(try Fast.openWritable(path, try Fast.rawKey(9)))
        #expect(try reader.pages(in: contents(path), contain: "Biscuit"))
        let remnants = try owner.transaction { (transaction) throws(VaultError) in
            transaction.narrowing = .later
            try transaction.update(item, attributes: seal("pet", "Biscuit"))
            return transaction.remnants
        }
        #expect(remnants.map(\.attribute) == ["pet"] && remnants.map(\.key) == [item])
        #expect(remnants.map(\.isOpenToOtherSlots) == [true] && remnants.map(\.isOpenWhenLocked) == [false])
        #expect(try reader.pages(in: contents(path), contain: "Biscuit"))
        try owner.compact()
        #expect(try !reader.pages(in: contents(path), contain: "Biscuit"))
        // At once, also of a value that has a record of its own from now on.
        #expect(try reader.pages(in: contents(path), contain: "a dog"))
        try owner.update(item, attributes: seal("hint", String(repeating: "long", count: 2000)))
        #expect(try !reader.pages(in: contents(path), contain: "a dog"))
        #expect(try Fast.open(path).get(item)?.item.attributes.string("pet") == "Biscuit")
        #expect(try owner.verify().isSound)
    }

    @Test(
        "S1: an attribute that another copy sealed leaves nothing in the index of the copy that merges it",
        arguments: [1, 1000])
    func sealedElsewhere(count: Int) throws {
        let item = try ItemKey.genericPassword(service: "s", account: "1", group: "admin")
        let copies = try Copies { owner in
            try owner.put(first, "first")
            try owner.add(
                item, secret: Secret(text: "secret"), attributes: ["pet": "Biscuit"], accessibility: .always)
            _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"])
        }
        let reader = try RawReader(try copies.memory.open("ours", with: try Fast.rawKey(9)))
        try copies.theirs.update(item, attributes: seal("pet", String(repeating: "Biscuit", count: count)))
        #expect(try !reader.pages(in: copies.memory.bytes("theirs"), contain: "Biscuit"))
        try copies.ours.put(first, "changed")
        #expect(try reader.pages(in: copies.memory.bytes("ours"), contain: "Biscuit"))
        #expect(try copies.ours.merge(copies.theirs).outcome == .merged)
        #expect(try !reader.pages(in: copies.memory.bytes("ours"), contain: "Biscuit"))
        #expect(try reader.indexObjects(in: copies.memory.bytes("ours")) > 0, "the same index key")
        let flags = try copies.ours.item(item)?.attributes.attribute("pet")?.flags
        #expect(flags == .sealed)
        #expect(try copies.ours.text(first) == "changed")
        try expectSound(copies.ours)
    }

    @Test("a merge of an attribute that was sealed before both copies changed costs no compaction")
    func sealedBefore() throws {
        let item = try ItemKey.genericPassword(service: "s", account: "1", group: "admin")
        let copies = try Copies { owner in
            try owner.put(first, "first")
            try owner.add(item, secret: Secret(text: "secret"), accessibility: .always)
            try owner.update(item, attributes: seal("pet", "Biscuit"))
            _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"])
        }
        try copies.theirs.update(item, attributes: seal("pet", "Rex"))
        try copies.ours.put(first, "changed")
        let before = try copies.ours.statistics().deadBytes
        #expect(try copies.ours.merge(copies.theirs).outcome == .merged)
        #expect(try copies.ours.statistics().deadBytes > before)
    }

    @Test("a value counts as left behind if it was in a page before the transaction, once, whatever happens in between")
    func sealedWithinTransaction() throws {
        let folder = try Folder()
        let owner = try Fast.create(folder.file("a.vault"))
        let plain = AttributeChanges(set: Attributes([Attribute("pet", Array("Biscuit".utf8), flags: [])]))
        try owner.put(first, "first")
        try owner.add(second, secret: Secret(text: "second"), attributes: ["pet": "Biscuit"])
        let (renamed, again) = (try moved(third, to: "new"), try moved(second, to: "again"))
        let remnants = try owner.transaction { (transaction) throws(VaultError) in
            transaction.narrowing = .later
            // Never in a page: of an item that existed, and of a new one that is also moved.
            try transaction.update(first, attributes: plain)
            try transaction.update(first, attributes: seal("pet", "Rex"))
            try transaction.add(third, secret: Secret(text: "third"), attributes: ["pet": "Biscuit"])
            try transaction.move(third, to: renamed)
            try transaction.update(renamed, attributes: seal("pet", "Rex"))
            let new = transaction.remnants
            // In a page, under the item's earlier name.
            try transaction.move(second, to: again)
            try transaction.update(again, attributes: AttributeChanges(remove: ["pet"]))
            try transaction.update(again, attributes: plain)
            for value in ["Rex", "Max"] { try transaction.update(again, attributes: seal("pet", value)) }
            return (new: new, all: transaction.remnants)
        }
        #expect(remnants.new.isEmpty)
        #expect(remnants.all.map(\.attribute) == ["pet"] && remnants.all.map(\.key) == [again])
        #expect(try owner.verify().isSound)
    }

    @Test("an attribute that is sealed where every slot opens the item, and a locked program too, costs no compaction")
    func sealedForAll() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path)
        try owner.add(first, secret: Secret(text: "first"), attributes: ["pet": "Biscuit"], accessibility: .always)
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"])
        let before = try contents(path)
        try owner.update(
            first, attributes: AttributeChanges(set: Attributes([Attribute("pet", [65], flags: .sealed)])))
        #expect(try contents(path).starts(with: before))
        try owner.update(first, accessibility: .whenUnlocked)
        try owner.update(first, attributes: AttributeChanges(set: ["town": "Rome"]))
        let later = try contents(path)
        try owner.update(
            first, attributes: AttributeChanges(set: Attributes([Attribute("town", [65], flags: .sealed)])))
        #expect(try !contents(path).starts(with: later))
    }

    @Test("asked for later, they stay until the vault is compacted, and are named")
    func later() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path, device: .random())
        for key in [first, second, third] {
            try owner.add(key, secret: Secret(text: key.account ?? ""), accessibility: .always)
        }
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"])
        let reader = try RawReader(try Fast.openWritable(path, try Fast.rawKey(9)))
        let admin = try moved(first, to: "admin")
        let remnants = try owner.transaction { (transaction) throws(VaultError) in
            transaction.narrowing = .later
            try transaction.move(first, to: admin)
            try transaction.update(second, accessibility: .whenUnlocked)
            try transaction.set(third, secret: Secret(text: "new"), accessibility: .alwaysThisDeviceOnly)
            return transaction.remnants
        }
        #expect(remnants.map(\.key) == [admin, second, third])
        #expect(remnants.map(\.group) == ["ci", nil, nil])
        #expect(remnants.map(\.isOpenWhenLocked) == [false, true, false])
        #expect(remnants.map(\.isForOtherDevices) == [false, false, true])
        #expect(try reader.secrets(in: contents(path)) == ["1", "2", "3"])
        try owner.compact()
        #expect(try reader.secrets(in: contents(path)) == ["2"])
    }

    @Test("what nobody opens with fewer rights costs no compaction")
    func noCompaction() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path, device: .random())
        try owner.put(first, "first")
        try owner.move(first, to: moved(first, to: "admin"))
        try owner.move(moved(first, to: "admin"), to: first)
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["admin", "ci"])
        let before = try contents(path)
        try owner.transaction { (transaction) throws(VaultError) in
            try transaction.move(first, to: moved(first, to: "admin"))
            try transaction.move(moved(first, to: "admin"), to: first)
            try transaction.update(first, accessibility: .always)
            try transaction.update(first, accessibility: .afterFirstUnlock)
            try transaction.set(first, secret: Secret(text: "second"))
            try transaction.move(first, to: moved(second, to: "ci"))
            #expect(transaction.remnants.isEmpty)
        }
        #expect(try contents(path).starts(with: before))
    }

    @Test("within one transaction, what it wrote itself and left behind counts too, and all of it is one commit")
    func oneCommit() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path, device: .random())
        for number in 0..<300 { try owner.put(try password("other", "\(number)"), "other") }
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"], createsGroups: true)
        let reader = try RawReader(try Fast.openWritable(path, try Fast.rawKey(9)))
        let anchor = try owner.anchor
        try owner.transaction { (transaction) throws(VaultError) in
            for number in 0..<100 {
                try transaction.set(try password("other", "\(number)"), secret: Secret(text: "changed"))
            }
            try transaction.set(first, secret: Secret(text: "never committed"))
            try transaction.move(first, to: moved(first, to: "admin"))
            try transaction.set(second, secret: Secret(text: "second"))
            _ = try transaction.remove(try password("other", "299"))
        }
        #expect(try reader.secrets(in: contents(path)) == ["second"])
        #expect(owner.state.generation == anchor.generation + 1)
        #expect(try owner.verdict(on: anchor) == .descends)
        #expect(try owner.verify().isSound)
        let dump = try Fast.open(path).dump()
        let admin = try moved(first, to: "admin")
        #expect(dump.count == 301 && dump[admin]?.secret == Array("never committed".utf8))
        #expect(try owner.text(try password("other", "99")) == "changed")
        // The handle goes on with the new file.
        try owner.put(third, "third")
        #expect(try Fast.open(path).text(third) == "third")
    }

    @Test("where the file cannot be replaced, nothing of the change is done, unless it is asked for later")
    func cannotReplace() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path)
        try owner.put(first, "first")
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"])
        let bytes = try contents(path)
        try FileManager.default.linkItem(atPath: path, toPath: folder.file("another name"))
        let admin = try moved(first, to: "admin")
        fails(.cannotReplace) { try owner.move(first, to: admin) }
        #expect(try contents(path) == bytes)
        #expect(try owner.text(first) == "first")
        #expect(try owner.item(admin) == nil)
        try owner.transaction { (transaction) throws(VaultError) in
            transaction.narrowing = .later
            try transaction.move(first, to: admin)
        }
        #expect(try Fast.open(path).text(admin) == "first")
    }

    @Test(
        "S1: a slot's removal leaves others what they opened, and nothing of what was before their grant",
        arguments: [false, true])
    func removal(isRotated: Bool) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let owner = try Fast.create(path)
        try owner.put(first, "before")
        let older = try contents(path)
        let gone = try owner.addSlot(try Fast.rawKey(8), grantedGroups: ["ci"]).id
        _ = try owner.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"])
        try owner.put(first, "after")
        if isRotated {
            var rotation = try owner.rotation()
            for byte in [0x2B, 9] as [UInt8] { _ = try rotation.keep(try Fast.rawKey(byte)) }
            _ = try rotation.run()
        } else {
            try owner.removeSlot(gone)
        }
        let reader = try RawReader(try Fast.openWritable(path, try Fast.rawKey(9)))
        #expect(try reader.secrets(in: contents(path)) == ["after"])
        #expect(try reader.secrets(in: older) == [])
    }
}
