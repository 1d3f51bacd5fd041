import Testing

@testable import VaultFmt

@Suite("A failing disk")
struct FaultTests {
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    private static let full = VaultError(.noSpace, "planned")
    private static let lost = VaultError(.outcomeUnknown, "planned")

    private func filled(_ path: String, _ system: FaultyFileSystem) throws -> Vault {
        let vault = try Fast.create(path, fileSystem: system)
        for number in 0..<10 { try vault.put(try password("s", "\(number)"), "\(number)") }
        return vault
    }

    @Test(
        "that is full leaves the vault as it was and usable, whichever write fails and how far it got",
        arguments: [0, 0.5, 1])
    func full(part: Double) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let key = key
        let changes: [(Vault) throws -> Void] = [
            { try $0.put(key, "small") }, { try $0.set(key, secret: Secret(count: 40_000)) },
            { try $0.set(key, secret: Secret(count: 1_100_000)) }, { _ = try $0.remove(try password("s", "3")) },
        ]
        for change in changes {
            system.reset()
            let vault = try filled(path, system)
            let before = try vault.dump()
            let bytes = try contents(path)
            var failures = 0
            while true {
                system.fail(.write, failures + 1, Self.full, part: part)
                do {
                    try change(vault)
                    break
                } catch let error as VaultError {
                    failures += 1
                    #expect(error.code == .noSpace)
                    #expect(try contents(path).elementsEqual(bytes))
                    #expect(try vault.dump() == before)
                    #expect(try Fast.open(path).dump() == before)
                }
            }
            #expect(failures >= 1)
            #expect(try vault.dump() != before)
            #expect(try vault.dump() == Fast.open(path).dump())
            #expect(try vault.verify().isSound)
            try remove(path)
        }
    }

    @Test("that cannot even cut off what was written leaves a tail that the next change cuts off")
    func tail() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let vault = try filled(path, system)
        let before = try vault.dump()
        let bytes = try contents(path)
        system.fail { call, _ in
            call == .write
                ? .init(error: Self.full, part: 0.5)
                : call == .truncate ? .init(error: VaultError(.io, "planned")) : nil
        }
        fails(.noSpace) { try vault.put(key, "x") }
        system.reset()
        #expect(try contents(path).count > bytes.count)
        #expect(try vault.dump() == before)
        #expect(try Fast.open(path, writable: false).dump() == before)
        try vault.put(key, "y")
        #expect(vault.tail == .clean)
        #expect(try Fast.open(path).text(key) == "y")
        #expect(try vault.verify().isSound)
    }

    @Test("whose sync fails leaves the outcome unknown, and the handle writes no more (R-7.5)")
    func sync() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        for (size, syncs) in [(10, 1), (40_000, 2)] {
            for number in 1...syncs {
                let vault = try filled(path, system)
                let before = try vault.dump()
                system.fail(.sync, number, Self.lost)
                fails(.outcomeUnknown) { try vault.set(key, secret: Secret(count: size)) }
                let written = system.counts.write
                for _ in 0..<2 {
                    fails(.outcomeUnknown, "open the vault again") { try vault.put(key, "x") }
                    fails(.outcomeUnknown) { try vault.compact() }
                    fails(.outcomeUnknown) { _ = try vault.addSlot(try Fast.rawKey(9)) }
                }
                #expect(system.counts.write == written, "nothing was written again")
                #expect(try vault.dump() == before, "it reads what it knows")
                system.reset()
                // Another handle finds the state before or after, and makes it durable before it goes on.
                let again = try Fast.open(path, fileSystem: system)
                let isThere = try again.item(key) != nil
                #expect(isThere == (number == syncs))
                system.reset()
                try again.put(try password("s", "next"), "x")
                #expect(
                    system.counts.sync == 2 && system.counts.write == 2,
                    "what was written last is written and synced again (R-7.4)")
                #expect(try again.dump().count == before.count + 1 + (isThere ? 1 : 0))
                #expect(try again.verify().isSound)
                try remove(path)
            }
        }
    }

    @Test("is written to again by a writer that did not sync the newest commit itself, once (R-7.4)")
    func takingOver() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let first = try filled(path, system)
        let second = try Fast.open(path, fileSystem: system)
        system.reset()
        try first.put(key, "own")
        #expect(system.counts.write == 1 && system.counts.sync == 1 && system.counts.syncDirectory == 0)
        system.reset()
        try second.put(key, "of another")
        #expect(system.counts.write == 2 && system.counts.sync == 2 && system.counts.syncDirectory == 1)
        system.reset()
        try second.put(key, "own")
        #expect(system.counts.write == 1 && system.counts.sync == 1)
        // If taking over fails, nothing was changed.
        let bytes = try contents(path)
        system.fail(.write, 1, Self.full)
        fails(.noSpace) { try first.put(key, "x") }
        #expect(try contents(path) == bytes)
        system.fail(.sync, 1, Self.lost)
        fails(.outcomeUnknown) { try first.put(key, "x") }
        #expect(try contents(path) == bytes)
        system.reset()
        fails(.outcomeUnknown, "open the vault again") { try first.put(key, "x") }
        try second.put(key, "last")
        #expect(try Fast.open(path).text(key) == "last")
    }

    @Test("that fails to read is reported as such, and as nothing else")
    func reading() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let vault = try filled(path, system)
        let before = try vault.dump()
        var number = 1
        var failures = 0
        while number < 200 {
            system.fail(.read, number, VaultError(.io, "planned"))
            do {
                let again = try Fast.open(path, fileSystem: system)
                #expect(try again.dump() == before)
                #expect(try again.verify().isSound)
                #expect(system.counts.read < number)
                break
            } catch let error as VaultError {
                #expect(error.code == .io)
                failures += 1
            }
            number += 1
        }
        #expect(failures > 10)
    }

    @Test("that fails to read what was written in place of the file leaves the old one, and the handle goes on")
    func readingBack() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let changes: [(Vault) throws -> Void] = [
            { try $0.compact() }, { try $0.changeFactors(to: try Fast.rawKey(9)) },
        ]
        for change in changes {
            let system = FaultyFileSystem()
            let vault = try filled(path, system)
            let before = try vault.dump()
            var failures = 0
            while true {
                system.fail(.read, failures + 1, VaultError(.io, "planned"))
                do {
                    try change(vault)
                    break
                } catch let error as VaultError {
                    #expect(error.code == .io)
                    failures += 1
                    system.reset()
                    try vault.put(key, "\(failures)")
                    #expect(try Fast.open(path).text(key) == "\(failures)")
                    #expect(folder.names == ["a.vault"])
                }
            }
            system.reset()
            #expect(failures > 3)
            #expect(try vault.dump().count == before.count + 1)
            try remove(path)
        }
    }

    @Test("full during the compaction that is due leaves the change made, and statistics say why")
    func compactionBlocked() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let vault = try Fast.create(path, fileSystem: system)
        // Earlier values would be live.
        try vault.keepVersions(0)
        try vault.put(key, "first")
        system.fail(.create, 1, Self.full)
        for number in 0..<6 {
            try vault.set(try password("big"), secret: Secret(bytes: [UInt8](repeating: UInt8(number), count: 1 << 20)))
        }
        #expect(try vault.dump()[try password("big")]?.secret.first == 5)
        #expect(try vault.statistics().compactionBlocked?.contains("planned") == true)
        system.reset()
        // It is tried again once there are twice as many dead bytes, and not before.
        var changes = 0
        while try vault.statistics().compactionBlocked != nil, changes < 12 {
            try vault.set(try password("big"), secret: Secret(count: 1 << 20))
            changes += 1
        }
        #expect((2..<12).contains(changes))
        #expect(try contents(path).count < 3 << 20)
        #expect(try vault.text(key) == "first")
        #expect(try vault.verify().isSound)
    }
}
