import Synchronization
import Testing

@testable import VaultFmt

/// Programs that know no lock of ours: a sync program, an editor, a copy.
@Suite("A file that another program writes into, in place, during a change")
struct OverwrittenTests {
    private let folder: Folder
    private let path: String
    private let system = FaultyFileSystem()
    private let vault: Vault
    /// The vault as another machine has changed it since.
    private let longer: [UInt8]
    private let mine: ItemKey
    private let other: ItemKey

    init() throws {
        folder = try Folder()
        path = folder.file("a.vault")
        (mine, other) = (try password("mine"), try password("other"))
        vault = try Fast.create(path, fileSystem: system)
        try vault.put(try password("first"), "1")
        let copy = folder.file("b.vault")
        try write(contents(path), copy)
        let second = try Fast.open(copy)
        for number in 0..<40 { try second.put(other, "\(number)") }
        try second.set(try password("large"), secret: Secret(count: 3 << 20))
        longer = try contents(copy)
        try remove(copy)
    }

    private func requireOther() throws {
        #expect(try contents(path) == longer, "not a byte of it has changed")
        #expect(try Fast.open(path, writable: false).text(other) == "39")
        #expect(folder.names == ["a.vault"])
    }

    @Test("stays what that program made of it, if the change had written nothing yet")
    func before() throws {
        fails(.busy, "another program") {
            try vault.transaction { (transaction) throws in
                try transaction.set(mine, secret: Secret(text: "x"))
                try write(longer, path)
            }
        }
        try requireOther()
        try vault.put(mine, "y")
        let again = try Fast.open(path)
        #expect(try again.text(mine) == "y" && again.text(other) == "39")
        #expect(try again.verify().isSound)
    }

    @Test("stays what that program made of it, if the change had written a part")
    func between() throws {
        fails(.busy, "another program") {
            try vault.transaction { (transaction) throws in
                try transaction.set(mine, secret: Secret(count: 1_200_000))
                #expect(try wholeContents(path).count > 1_200_000, "the change has begun to write")
                try write(longer, path)
                try transaction.set(try password("more"), secret: Secret(count: 1_200_000))
            }
        }
        try requireOther()
    }

    @Test("is not called saved, if that program wrote before the sync; it is as that program made it")
    func after() throws {
        let (path, longer) = (path, longer)
        system.fail { call, _ in
            if call == .sync { do { try write(longer, path) } catch {} }
            return nil
        }
        fails(.outcomeUnknown, "another program") { try vault.put(mine, "x") }
        system.reset()
        fails(.outcomeUnknown, "open the vault again") { try vault.put(mine, "y") }
        try requireOther()
    }

    @Test("is not cut, if a change fails after that program wrote")
    func failing() throws {
        let (path, longer) = (path, longer)
        system.fail { call, number in
            guard call == .write, number == 2 else { return nil }
            do { try write(longer, path) } catch {}
            return .init(error: VaultError(.noSpace, "planned"))
        }
        fails(.noSpace) { try vault.set(mine, secret: Secret(count: 3 << 20)) }
        system.reset()
        try requireOther()
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .relaxed) }
    func raise() { value.store(true, ordering: .relaxed) }
}

@Suite("A rename whose answer is lost")
struct LostRenameTests {
    private static let lost = VaultError(.io, "planned")
    private static let changes: [@Sendable (Vault) throws -> Void] = [
        { try $0.compact() }, { _ = try $0.addSlot(try Fast.rawKey(9)) },
    ]

    private func vault(_ path: String, _ system: FaultyFileSystem) throws -> Vault {
        let vault = try Fast.create(path, fileSystem: system)
        try vault.put(try password("s"), "1")
        return vault
    }

    @Test("was made, if the file has the name: the change is made, and the handle goes on", arguments: 0...1)
    func made(_ change: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let vault = try vault(path, system)
        system.fail(.rename, 1, Self.lost, part: 1)
        try Self.changes[change](vault)
        system.reset()
        try vault.put(try password("s"), "2")
        #expect(try Fast.open(path).text(try password("s")) == "2")
        #expect(folder.names == ["a.vault"])
    }

    @Test("was not made, if both files have the names they had: nothing has changed", arguments: 0...1)
    func notMade(_ change: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let vault = try vault(path, system)
        let bytes = try contents(path)
        system.fail(.rename, 1, Self.lost)
        fails(.io, "planned") { try Self.changes[change](vault) }
        system.reset()
        #expect(try contents(path) == bytes && folder.names == ["a.vault"])
        try vault.put(try password("s"), "2")
        #expect(try Fast.open(path).text(try password("s")) == "2")
    }

    @Test(
        "is called unknown, if nobody can say: no complete copy is removed, and the handle writes no more",
        arguments: 0...1, [0.0, 1.0])
    func unknown(_ change: Int, part: Double) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let vault = try vault(path, system)
        let isRenamed = Flag()
        system.fail { call, _ in
            if call == .rename {
                isRenamed.raise()
                return .init(error: Self.lost, part: part)
            }
            return call == .identity && isRenamed.isRaised ? .init(error: Self.lost) : nil
        }
        fails(.outcomeUnknown, "open the vault again") { try Self.changes[change](vault) }
        system.reset()
        #expect(folder.names.count == (part == 1 ? 1 : 2))
        fails(.outcomeUnknown, "open the vault again") { try vault.put(try password("s"), "2") }
        // The next writer finds one of the two states, and removes what is left.
        let again = try Fast.open(path)
        #expect(try again.text(try password("s")) == "1")
        try again.put(try password("s"), "2")
        #expect(try again.verify().isSound)
    }
}
