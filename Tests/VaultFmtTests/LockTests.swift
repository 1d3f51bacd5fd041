import Testing

@testable import VaultFmt

@Suite("Locking")
struct LockTests {
    /// One item for each accessibility that needs no device.
    private func filled(_ path: String, device: consuming Device? = nil, all: Bool = false) throws -> (
        Vault, [Accessibility: ItemKey]
    ) {
        let vault = try Fast.create(path, device: device)
        var keys: [Accessibility: ItemKey] = [:]
        for one in Accessibility.allCases where all || !one.isThisDeviceOnly {
            let key = try password("s", one.name)
            keys[one] = key
            try vault.add(key, secret: Secret(text: one.name), accessibility: one)
        }
        return (vault, keys)
    }

    @Test("keeps metadata and what is readable after the first unlocking, and refuses the rest")
    func locked() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (vault, keys) = try filled(path, device: Device.random(), all: true)
        let slots = try vault.slots().count
        let (anchor, owners) = (try vault.anchor, vault.owners)
        vault.lock()
        vault.lock()
        #expect(try vault.isLocked && vault.anchor == anchor && vault.owners == owners && vault.access == .owner)
        #expect(try vault.allItems().map(\.key) == keys.values.sorted())
        for (accessibility, key) in keys {
            #expect(try vault.item(key)?.accessibility == accessibility)
            if accessibility.survivesLock {
                #expect(try vault.text(key) == accessibility.name)
            } else {
                fails(.locked) { _ = try vault.text(key) }
            }
        }
        let survivors = keys.keys.filter(\.survivesLock)
        #expect(survivors.count == 4)
        let key = try password("s", "new")
        fails(.locked) { try vault.put(key, "x") }
        fails(.locked) { try vault.compact() }
        fails(.locked) { _ = try vault.verify() }
        fails(.locked) { _ = try vault.rotation() }
        fails(.locked) { _ = try vault.addSlot(try Fast.rawKey(9)) }
        #expect(try vault.slots().count == slots)
        #expect(try vault.slots().allSatisfy { $0.name == nil })
        #expect(try vault.statistics().items == UInt64(keys.count))
        try vault.refresh()
        #expect(try vault.anchor == anchor)

        fails(.noSlotOpens) { try vault.unlock(try Fast.rawKey(9)) }
        #expect(vault.isLocked)
        try vault.unlock(try Fast.rawKey())
        #expect(!vault.isLocked)
        for (accessibility, key) in keys { #expect(try vault.text(key) == accessibility.name) }
        try vault.put(key, "x")
        #expect(try vault.verify().isSound)
    }

    @Test("stays at its state while others write, and moves to the newest when unlocked")
    func others() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (vault, keys) = try filled(path)
        let writer = try Fast.open(path)
        vault.lock()
        try writer.put(try password("s", "new"), "x")
        try writer.compact()
        try vault.refresh()
        #expect(try vault.allItems().count == keys.count)
        #expect(try vault.text(try #require(keys[.always])) == "always")
        try vault.unlock(try Fast.rawKey())
        #expect(try vault.allItems().count == keys.count + 1)
    }

    @Test("and unlocking go by the factors of now, not of when the vault was opened")
    func changedFactors() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (vault, keys) = try filled(path)
        let other = try Fast.open(path)
        vault.lock()
        try other.changeFactors(to: try Fast.rawKey(7))
        fails(.noSlotOpens) { try vault.unlock(try Fast.rawKey()) }
        try vault.unlock(try Fast.rawKey(7))
        #expect(try vault.dump().count == keys.count)
        var rotation = try other.rotation()
        _ = try rotation.keep(try Fast.rawKey(7))
        vault.lock()
        _ = try rotation.run()
        try vault.unlock(try Fast.rawKey(7))
        #expect(vault.owners == other.owners)
        #expect(try vault.dump().count == keys.count)
    }

    @Test("leaves neither vault key nor wrapping key behind")
    func wiped() throws {
        let folder = try Folder()
        let (vault, _) = try filled(folder.file("a.vault"))
        let before = try vault.withCore { (core) throws(VaultError) in core.store.slot.keys.isOwner }
        vault.lock()
        let (isOwner, wrapping, grants) = try vault.withCore { (core) throws(VaultError) in
            (core.store.slot.keys.isOwner, core.store.slot.wrappingKey.count, core.store.slot.grants.numbers.count)
        }
        #expect(before && !isOwner && wrapping == 0 && grants == 0)
    }

    @Test("within a scan or an opened item does not take back what was given")
    func given() throws {
        let folder = try Folder()
        let (vault, keys) = try filled(folder.file("a.vault"))
        let key = try #require(keys[.whenUnlocked])
        guard let opened = try vault.get(key) else { throw VaultError(.noSuchItem, "") }
        vault.lock()
        #expect(opened.secret.array == Array("when-unlocked".utf8))
        var refused: [ItemKey] = []
        var read = 0
        try vault.forEachSecret { (item, secret) throws(VaultError) in
            switch secret {
            case .opened: read += 1
            case .refused(let error):
                #expect(error.code == .locked)
                refused.append(item.key)
            }
        }
        #expect(refused == [key] && read == 2)
    }
}

@Suite("Items of one device only")
struct DeviceTests {
    private let key: ItemKey
    private let plain: ItemKey

    init() throws {
        key = try password("s", "bound")
        plain = try password("s", "plain")
    }

    /// A vault with an item for this device only, and the device's file.
    private func sample(_ path: String) throws -> Secret {
        let device = Device.random()
        let file = device.fileContents()
        let vault = try Fast.create(path, device: device)
        try vault.add(plain, secret: Secret(text: "plain"))
        try vault.add(
            key, secret: Secret(text: "bound"), attributes: ["label": "L"], accessibility: .whenUnlockedThisDeviceOnly)
        return file
    }

    @Test("are listed everywhere, and opened with that device's secret only")
    func bound() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let file = try sample(path)
        let here = try Fast.open(path, device: try Device(fileContents: file))
        #expect(try here.text(key) == "bound")
        #expect(try here.item(key)?.device == here.device)
        let nowhere = try Fast.open(path)
        let elsewhere = try Fast.open(path, device: Device.random())
        // Whoever claims the id needs the secret too.
        let pretending = try Fast.open(
            path, device: try Device(id: try #require(here.device), secret: Secret.random(count: 32)))
        for other in [nowhere, elsewhere, pretending] {
            #expect(try other.item(key)?.attributes.label == "L")
            #expect(try other.item(key)?.accessibility == .whenUnlockedThisDeviceOnly)
            fails(.deviceBound) { _ = try other.text(key) }
            #expect(try other.text(plain) == "plain")
            let report = try other.verify()
            #expect(!report.isSound && report.problemCount == 0 && report.unopened > 0)
        }
        #expect(try here.verify().isSound)
        var read: [ItemKey] = []
        try nowhere.forEachSecret { (item, secret) throws(VaultError) in
            if case .opened = secret { read.append(item.key) }
        }
        #expect(read == [plain])
    }

    @Test("need a device to be made, and can be renamed and removed by their attributes alone without it")
    func changing() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        let elsewhere = try Fast.open(path)
        for one in Accessibility.allCases where one.isThisDeviceOnly {
            fails(.deviceBound) {
                try elsewhere.add(try password("s", one.name), secret: Secret(text: ""), accessibility: one)
            }
        }
        try elsewhere.update(key, attributes: setting(["label": "M"]))
        #expect(try elsewhere.item(key)?.attributes.label == "M")
        fails(.deviceBound) { try elsewhere.update(key, accessibility: .always) }
        let moved = try password("s", "moved")
        try elsewhere.move(key, to: moved)
        try elsewhere.move(moved, to: key)
        let inGroup = try ItemKey.genericPassword(service: "s", account: "moved", group: "g")
        fails(.deviceBound) { try elsewhere.move(key, to: inGroup) }
        fails(.deviceBound) { try elsewhere.set(key, secret: Secret(text: "new")) }
        try elsewhere.set(key, secret: Secret(text: "free"), accessibility: .always)
        #expect(try elsewhere.text(key) == "free")
        #expect(try elsewhere.verify().unopened > 0, "the old record is still in the file")
        try elsewhere.compact()
        #expect(try elsewhere.verify().unopened == 1, "it is an earlier value, which only its device can open")
        #expect(try elsewhere.forgetEarlierValues(of: key) == 1)
        try elsewhere.compact()
        #expect(try elsewhere.verify().isSound)
        #expect(try elsewhere.remove(key))
    }

    @Test("of several devices live beside each other, each with its own")
    func several() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let first = try sample(path)
        let other = Device.random()
        let second = other.fileContents()
        let there = try Fast.open(path, device: other)
        let key2 = try password("s", "bound there")
        try there.add(key2, secret: Secret(text: "there"), accessibility: .whenUnlockedThisDeviceOnly)
        let here = try Fast.open(path, device: try Device(fileContents: first))
        #expect(try here.text(key) == "bound")
        fails(.deviceBound) { _ = try here.text(key2) }
        #expect(try there.text(key2) == "there")
        #expect(try here.statistics().compartments.compactMap(\.device).count == 2)
        // Setting one here takes it over.
        try here.set(key2, secret: Secret(text: "here"))
        #expect(try here.text(key2) == "here")
        #expect(try Fast.open(path, device: try Device(fileContents: second)).item(key2)?.device == here.device)
    }

    @Test("are copied as they are by a rotation elsewhere, which names them, and still open at home")
    func rotation() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let file = try sample(path)
        let elsewhere = try Fast.open(path)
        try elsewhere.update(key, attributes: setting(["comment": "x"]))
        var rotation = try elsewhere.rotation()
        _ = try rotation.keep(try Fast.rawKey())
        #expect(try rotation.run().copiedDeviceBound == [key])
        fails(.deviceBound) { _ = try elsewhere.text(key) }
        let here = try Fast.open(path, device: try Device(fileContents: file))
        #expect(try here.text(key) == "bound" && here.text(plain) == "plain")
        #expect(try here.verify().isSound)
        var second = try here.rotation()
        _ = try second.keep(try Fast.rawKey())
        #expect(try second.run().copiedDeviceBound == [])
        #expect(try here.text(key) == "bound")
        #expect(try here.verify().isSound)
    }

    @Test("have a device file of 48 bytes")
    func deviceFile() throws {
        let device = Device.random()
        let file = device.fileContents().array
        #expect(file.count == 48)
        #expect(try Device(fileContents: Secret(bytes: file)).id == device.id)
        for bad in [Array(file.dropLast()), file + [0], [], [UInt8](repeating: 0, count: 16) + file[16...]] {
            fails(.invalidArgument) { _ = try Device(fileContents: Secret(bytes: bad)) }
        }
        fails(.invalidArgument) { _ = try Device(id: device.id, secret: Secret(count: 31)) }
    }
}
