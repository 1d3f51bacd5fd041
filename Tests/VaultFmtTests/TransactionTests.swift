import Testing

@testable import VaultFmt

@Suite("A transaction")
struct TransactionTests {
    private let stop = VaultError(.invalidArgument, "stop")

    private func keys(_ count: Int) throws -> [ItemKey] { try (0..<count).map { try password("s", "\(1000 + $0)") } }

    @Test("makes all its changes in one commit, and sees them itself")
    func together() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let keys = try keys(5)
        try vault.put(keys[0], "old")
        let generation = vault.state.generation
        let other = try Fast.open(path)
        let count = try vault.transaction { (transaction) throws(VaultError) -> Int in
            try transaction.add(keys[1], secret: Secret(text: "1"), attributes: ["label": "one"])
            let first = try transaction.item(keys[1])?.attributes.label
            try transaction.update(keys[1], attributes: setting(["label": "uno"]))
            let second = try transaction.item(keys[1])?.attributes.label
            #expect(first == "one" && second == "uno")
            try transaction.set(keys[0], secret: Secret(text: "new"))
            let wasThere = try transaction.remove(keys[0])
            let isThere = try transaction.item(keys[0]) != nil
            let wasThereAgain = try transaction.remove(keys[0])
            #expect(wasThere && !isThere && !wasThereAgain)
            try transaction.add(keys[0], secret: Secret(text: "again"))
            try transaction.add(keys[2], secret: Secret(text: "2"))
            _ = try transaction.remove(keys[2])
            let seen = try other.item(keys[1])
            #expect(seen == nil, "others see nothing yet")
            return 7
        }
        #expect(count == 7)
        #expect(vault.state.generation == generation + 1)
        try other.refresh()
        #expect(try other.allItems().map(\.key) == [keys[0], keys[1]])
        #expect(try other.text(keys[0]) == "again")
        #expect(try other.verify().isSound)
    }

    @Test("sees its own items also where it is the first to name its device")
    func firstOfDevice() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"), device: Device.random())
        let key = try password("s")
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.add(key, secret: Secret(text: "1"), attributes: ["label": "one"])
            let label = try transaction.item(key)?.attributes.label
            #expect(label == "one")
            try transaction.update(key, attributes: setting(["label": "uno"]))
        }
        #expect(try vault.item(key)?.attributes.label == "uno")
    }

    @Test("reads the secrets that it has set itself: large attributes can be added to them, and they can be moved")
    func ownSecrets() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let keys = try keys(3)
        let large = String(repeating: "n", count: 1000)
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.add(keys[0], secret: Secret(text: "zero"))
            let secret = try transaction.contents(of: keys[0])?.secret
            #expect(secret == Array("zero".utf8))
            try transaction.update(keys[0], attributes: setting(["comment": large]))
            try transaction.set(keys[0], secret: Secret(text: "0"), attributes: setting(["x": "y"]))
            try transaction.move(keys[0], to: keys[1])
            // Beyond what is kept in memory.
            try transaction.add(keys[2], secret: Secret(count: 1_100_000))
            try transaction.update(keys[1], accessibility: .always)
            try transaction.update(keys[2], attributes: setting(["comment": large]))
        }
        let again = try Fast.open(path)
        #expect(try again.text(keys[1]) == "0")
        #expect(try again.dump()[keys[1]]?.attributes == Contents.attributes(["comment": large, "x": "y"]))
        #expect(try again.dump()[keys[2]]?.secret == [UInt8](repeating: 0, count: 1_100_000))
        #expect(try again.verify().isSound)
    }

    @Test("that throws has changed nothing, whatever it had done", arguments: [10, 3000])
    func rollback(size: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let keys = try keys(8)
        for key in keys[..<6] { try vault.put(key, "kept") }
        let before = try vault.dump()
        let bytes = try contents(path)
        let anchor = try vault.anchor
        for _ in 0..<2 {
            fails(.invalidArgument, "stop") {
                try vault.transaction { (transaction) throws(VaultError) in
                    _ = try transaction.remove(keys[0])
                    try transaction.set(keys[1], secret: Secret(text: "changed"))
                    try transaction.update(keys[2], attributes: setting(["label": "changed"]), accessibility: .always)
                    try transaction.move(keys[3], to: keys[7])
                    try transaction.add(
                        try .genericPassword(service: "s", group: "new group"), secret: Secret(text: ""))
                    // Enough to be written before the end.
                    for number in 0..<size {
                        try transaction.set(try password("many", "\(number)"), secret: Secret(count: 600))
                    }
                    throw stop
                }
            }
            #expect(try vault.dump() == before)
            #expect(try vault.anchor == anchor)
            #expect(try contents(path) == bytes)
        }
        try vault.put(keys[6], "after")
        #expect(try vault.statistics().compartments.count == 1)
        #expect(try Fast.open(path).dump().count == before.count + 1)
        #expect(try Fast.open(path).verify().isSound)
    }

    @Test("passes on an error of its caller's own as it is, and has changed nothing")
    func rethrowing() throws {
        struct Refusal: Error, Equatable { let reason: String }
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        let key = try password("s", "a")
        let before = vault.state.generation
        #expect(throws: Refusal(reason: "no")) {
            try vault.transaction(rethrowing: { transaction in
                try transaction.add(key, secret: Secret(text: "1"))
                throw Refusal(reason: "no")
            })
        }
        #expect(throws: VaultError.self) {
            try vault.transaction(rethrowing: { _ in _ = try vault.transaction { (_) throws(VaultError) in } })
        }
        #expect(vault.state.generation == before)
        let count = try vault.transaction(rethrowing: { transaction in
            try transaction.add(key, secret: Secret(text: "2"))
            return 1
        })
        let isThere = try vault.item(key) != nil
        #expect(count == 1 && isThere && vault.state.generation == before + 1)
    }

    @Test("in which one change fails can go on without it: that change has done nothing")
    func oneFailure() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let keys = try keys(4)
        for key in keys[..<2] { try vault.put(key, "kept") }
        let tooLong = String(repeating: "n", count: (16 << 20) + 1)
        try vault.transaction { (transaction) throws(VaultError) in
            fails(.duplicateItem) { try transaction.add(keys[0], secret: Secret(text: "x")) }
            fails(.duplicateItem) { try transaction.move(keys[0], to: keys[1]) }
            fails(.limitExceeded) {
                try transaction.set(keys[0], secret: Secret(text: "x"), attributes: setting(["comment": tooLong]))
            }
            fails(.limitExceeded) { try transaction.update(keys[0], attributes: setting(["comment": tooLong])) }
            fails(.deviceBound) { try transaction.update(keys[0], accessibility: .alwaysThisDeviceOnly) }
            fails(.limitExceeded) { try transaction.add(keys[2], secret: Secret(count: (16 << 20) + 1)) }
            fails(.noSuchItem) { try transaction.update(keys[3]) }
            try transaction.add(keys[3], secret: Secret(text: "done"))
        }
        let again = try Fast.open(path)
        #expect(try again.allItems().map(\.key) == [keys[0], keys[1], keys[3]])
        #expect(try again.text(keys[0]) == "kept" && again.text(keys[3]) == "done")
        #expect(try again.verify().isSound)
    }

    @Test("in which moving fails leaves the item where it was")
    func failedMove() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let key = try password("s", "a")
        try vault.put(key, "kept")
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<1023 {
                try transaction.add(try .genericPassword(service: "g", group: "g\(number)"), secret: Secret(text: ""))
            }
        }
        try vault.transaction { (transaction) throws(VaultError) in
            fails(.limitExceeded, "1024 access groups") {
                try transaction.move(key, to: try .genericPassword(service: "s", account: "a", group: "one too many"))
            }
            let isThere = try transaction.item(key) != nil
            #expect(isThere)
        }
        #expect(try Fast.open(path).text(key) == "kept")
        #expect(try Fast.open(path).verify().isSound)
    }

    @Test("that changes nothing makes no commit")
    func nothing() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(try password("s"), "x")
        let bytes = try contents(path)
        try vault.transaction { (transaction) throws(VaultError) in _ = try transaction.item(try password("s")) }
        #expect(try contents(path) == bytes)
    }

    @Test("of more than 32 KiB is synced before its commit, and says so; a smaller one is written and synced once")
    func syncedFirst() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let vault = try Fast.create(path, fileSystem: system)
        try vault.put(try password("s", "first"), "")
        for (size, isLarge) in [(100, false), (30_000, false), (33_000, true), (1_200_000, true)] {
            system.reset()
            try vault.set(try password("s", "\(size)"), secret: Secret(count: size))
            #expect(try newestCommit(path).wasSyncedFirst == isLarge)
            #expect(system.counts.sync == (isLarge ? 2 : 1))
            #expect(try Fast.open(path).verify().isSound)
        }
    }

    @Test("used within itself through the vault gives an error, and no deadlock")
    func nested() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let key = try password("s")
        try vault.transaction { (transaction) throws(VaultError) in
            try transaction.add(key, secret: Secret(text: "x"))
            fails(.invalidArgument, "a transaction is open") { try vault.put(key, "y") }
            fails(.invalidArgument, "a transaction is open") { _ = try vault.item(key) }
            fails(.invalidArgument, "a transaction is open") { _ = try vault.items() }
            fails(.invalidArgument, "a transaction is open") { try vault.compact() }
            fails(.invalidArgument, "a transaction is open") { try vault.refresh() }
            fails(.invalidArgument, "a transaction is open") { try vault.transaction { _ in } }
            fails(.invalidArgument, "a transaction is open") { _ = try vault.verify() }
        }
        #expect(try vault.text(key) == "x")
    }

    @Test("cannot be used after its end")
    func escaped() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        var kept: [Transaction] = []
        try vault.transaction { (transaction) throws(VaultError) in kept.append(transaction) }
        fails(.invalidArgument, "stop") {
            try vault.transaction { (transaction) throws(VaultError) in
                kept.append(transaction)
                throw stop
            }
        }
        for transaction in kept {
            fails(.invalidArgument, "after its closure has returned") {
                try transaction.add(try password("s"), secret: Secret(text: ""))
            }
            fails(.invalidArgument, "after its closure has returned") { _ = try transaction.item(try password("s")) }
        }
        #expect(try vault.allItems().isEmpty)
    }
}
