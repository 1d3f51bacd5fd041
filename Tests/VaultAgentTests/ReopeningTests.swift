import Foundation
import TestSupport
import Testing
import VaultFmt
import VaultLocal

@testable import VaultAgent

/// What `vaultfmt unlock` keeps, as a test says.
private final class Kept {
    /// Opens the vault with the kept key; nil while none is kept.
    var opening: (() throws -> Vault)?
    /// Until when a key is kept, in seconds since 1970, and whether it is that of the slot that has opened the vault.
    var end: UInt64?
    var isOfSlot = true
    private(set) var openings = 0

    var ends: ServedVault.KeptEnds {
        ServedVault.KeptEnds { _ in
            self.end
        } ofSlot: { _ in
            self.isOfSlot ? self.end : nil
        }
    }

    func open() throws -> Vault? {
        guard end != nil, let opening else { return nil }
        openings += 1
        return try opening()
    }
}

@Suite("A vault that is opened again")
struct ReopeningTests {
    private let folder: Folder
    private let machine: Machine
    private let kept = Kept()
    private let later = AgentClock.calendarTime() + 3600

    init() throws {
        folder = try Folder()
        let places = Places(
            vault: folder.file("v.vault"), generatedKeyFile: folder.file("key"), stateFolder: folder.file("state"),
            witnessFile: nil)
        machine = Machine(places) { _ in }
        let vault = try machine.create(at: path, factors: try key("o"))
        for group in ["ssh", "other"] {
            var attributes = Attributes()
            attributes[SSHAttribute.use] = Array("offer".utf8)
            let line = Request.key(group == "ssh" ? 65 : 66).publicKey.line(comment: "")
            attributes[SSHAttribute.publicKey] = Array(line.utf8)
            try vault.add(
                try .genericPassword(service: group, account: "", group: group),
                secret: keyText(group == "ssh" ? 65 : 66), attributes: attributes)
        }
        try vault.addSlot(try key("s"), grantedGroups: ["ssh"])
    }

    private var path: String { folder.file("v.vault") }

    private func key(_ letter: String) throws -> Factors {
        try Factors(rawKey: Secret(text: String(repeating: letter, count: 32)))
    }

    private func open(_ letter: String = "o") throws -> Vault { try opening(letter)() }

    /// Opens the vault, without holding the suite: `kept` is part of it, and the folder would never be removed.
    private func opening(_ letter: String = "o") -> () throws -> Vault {
        { [machine, path] in
            let factors = try Factors(rawKey: Secret(text: String(repeating: letter, count: 32)))
            return try machine.open(path, factors: factors)
        }
    }

    private func served(_ vault: Vault?, isKept: Bool = false, limits: ServedVault.Limits = .init()) -> ServedVault {
        ServedVault(
            path: path, groups: [], limits: limits, vault: vault, isKept: isKept, now: 0, keptEnds: kept.ends,
            reopening: kept.open)
    }

    private func comments(_ keys: ServedVault, now: UInt64 = 0) throws -> [String] {
        try keys.offers(now: now).map(\.comment)
    }

    @Test("The suite's folder is removed with it, although it opens the vault again")
    func removal() throws {
        let path: String
        do {
            let suite = try ReopeningTests()
            suite.kept.opening = suite.opening()
            path = suite.folder.path
        }
        #expect(access(path, F_OK) != 0)
    }

    @Test("A limit locks the vault although 'unlock' keeps it, until 'unlock' is run again", arguments: [true, false])
    func limits(isTotal: Bool) throws {
        kept.opening = opening()
        kept.end = later
        let limits = isTotal ? ServedVault.Limits(total: 1000) : ServedVault.Limits(idle: 1000)
        let keys = served(try open(), isKept: true, limits: limits)
        #expect(try comments(keys, now: 999).count == 2)
        #expect(try comments(keys, now: 1000).isEmpty)
        #expect(try comments(keys, now: 5000).isEmpty && kept.openings == 0)
        kept.end = later + 1
        #expect(try comments(keys, now: 6000).count == 2)
        #expect(try comments(keys, now: 7000).isEmpty && kept.openings == 1)
    }

    @Test("The reason for a lock says which limit it was, and how the vault is opened again")
    func reasons() throws {
        let total = served(try open(), limits: .init(total: 1000, idle: 2000))
        total.expire(now: 1000)
        #expect(total.lockedReason == "its time has passed (--time); 'vaultfmt unlock' opens it again")
        let idle = ServedVault(
            path: path, groups: [], limits: .init(total: 2000, idle: 1000), vault: try open(), isKept: false, now: 0,
            keptEnds: kept.ends, reopening: nil)
        idle.expire(now: 1000)
        #expect(idle.lockedReason == "it was not used for a time (--idle); start the agent again")
        kept.end = AgentClock.calendarTime()
        let ended = served(try open(), isKept: true)
        ended.expire(now: .max)
        #expect(ended.lockedReason?.hasPrefix("the time of 'vaultfmt unlock' has passed") == true)
    }

    @Test("A key that was kept only after a limit had locked the vault opens it")
    func limitFirst() throws {
        let keys = served(try open(), limits: .init(total: 1000))
        #expect(try comments(keys, now: 1000).isEmpty)
        kept.opening = opening()
        kept.end = later
        #expect(try comments(keys, now: 1001).count == 2)
    }

    @Test("While it must stay locked, no key opens the vault; then the one does that was kept meanwhile")
    func barred() throws {
        kept.opening = opening()
        kept.end = later
        let keys = served(try open(), isKept: true)
        keys.bar("nobody watches")
        #expect(try comments(keys).isEmpty)
        #expect(keys.isBarred && keys.lockedReason == "nobody watches")
        kept.end = later + 1
        keys.bar("still nobody watches")
        #expect(try comments(keys).isEmpty)
        #expect(keys.lockedReason == "still nobody watches" && keys.lockCount == 1 && kept.openings == 0)
        keys.allowOpening()
        #expect(try comments(keys).count == 2)
        #expect(keys.lockedReason == nil)
    }

    @Test("A key that was kept before does not open the vault when it may be opened again")
    func barredBefore() throws {
        kept.opening = opening()
        kept.end = later
        let keys = served(try open(), isKept: true)
        keys.bar("nobody watches")
        keys.allowOpening()
        #expect(try comments(keys).isEmpty && kept.openings == 0)
        #expect(keys.lockedReason == "nobody watches; 'vaultfmt unlock' opens it again")
    }

    @Test("A kept key that grants more than the one that opened the vault first does not open it again")
    func wider() throws {
        let keys = served(try open("s"))
        keys.lock("test")
        kept.opening = opening()
        kept.end = later
        #expect(try comments(keys).isEmpty)
        #expect(keys.lockedReason?.contains("grants more") == true)
        kept.opening = opening("s")
        #expect(try comments(keys) == ["ssh"])
    }

    private func writable() -> OpenOptions {
        var options = OpenOptions()
        options.writable = true
        return options
    }

    /// Replaces the keys of the vault; the two slots stay.
    private func rotate() throws {
        let vault = try machine.open(path, factors: try key("o"), options: writable())
        var rotation = try vault.rotation()
        for letter in ["o", "s"] { _ = try rotation.keep(try key(letter)) }
        _ = try rotation.run()
    }

    @Test(
        "The request that finds the keys replaced is served if 'unlock' keeps the new ones", arguments: [true, false])
    func rotated(isKept: Bool) throws {
        kept.opening = opening()
        kept.end = later
        let keys = served(try open(), isKept: isKept)
        #expect(try comments(keys).count == 2)
        try rotate()
        #expect(try comments(keys).count == 2)
        #expect(keys.lockedReason == nil && kept.openings == 1 && keys.lockCount == 1)
        try rotate()
        kept.opening = nil
        #expect(try comments(keys).isEmpty)
        #expect(keys.lockedReason?.hasSuffix("; 'vaultfmt unlock' opens it again") == true && keys.lockCount == 2)
    }

    @Test("A vault that was rolled back is opened again once the file is right, and the reason says how")
    func rolledBack() throws {
        let older = try folder.read("v.vault")
        try machine.open(path, factors: try key("o"), options: writable()).add(
            try .genericPassword(service: "new", account: ""), secret: Secret(text: "x"))
        let newer = try folder.read("v.vault")
        func put(_ bytes: [UInt8]) throws {
            try Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
        }
        kept.opening = opening()
        kept.end = later
        let keys = served(try open())
        let given = ServedVault(
            path: path, groups: [], limits: .init(), vault: try open(), isKept: false, now: 0, keptEnds: kept.ends,
            reopening: nil)
        try put(older)
        for served in [keys, given] { #expect(try comments(served).isEmpty) }
        #expect(keys.lockedReason?.contains("rolled back") == true)
        #expect(given.lockedReason?.hasSuffix("; start the agent again") == true)
        try put(newer)
        #expect(try comments(keys).count == 2)
        #expect(try comments(given).isEmpty)
    }

    @Test("The first key that is kept determines what later ones may grant")
    func firstKept() throws {
        kept.opening = opening("s")
        kept.end = later
        let keys = served(nil)
        #expect(try comments(keys) == ["ssh"])
        keys.lock("test")
        kept.opening = opening()
        #expect(try comments(keys).isEmpty)
    }

    @Test("A kept key of another slot does not keep the vault open, and a shorter time shortens it")
    func otherSlot() throws {
        kept.end = later
        let keys = served(try open(), isKept: true)
        #expect(try comments(keys).count == 2)
        let end = try #require(keys.nextEnd)
        kept.end = later - 1800
        #expect(try comments(keys).count == 2)
        #expect(try #require(keys.nextEnd) < end)
        kept.isOfSlot = false
        #expect(try comments(keys).isEmpty)
    }

    @Test("Keys of groups that the slot does not grant are not listed, whatever their attributes say")
    func groups() throws {
        let keys = served(try open("s"))
        #expect(try comments(keys) == ["ssh"])
        #expect(keys.omitted.isEmpty)
        #expect(try comments(served(try open())).count == 2)
    }

    // MARK: the control socket

    private func control(_ name: String, _ path: String? = nil, of agent: TestAgent) throws -> [UInt8] {
        var client = AgentService.Client(peer: AgentPeer(process: 1, program: "test"), isControl: true)
        var request = [AgentMessage.extension]
        request.append(text: name)
        if let path { request.append(text: path) }
        return try #require(agent.ask(request, from: &client))
    }

    @Test("The state is told without opening the vault, and without reading a file that is damaged")
    func status() throws {
        kept.opening = opening()
        kept.end = later
        let locked = TestAgent(served(nil))
        #expect(try control(AgentMessage.status, of: locked)[0] == AgentMessage.extensionResponse)
        #expect(kept.openings == 0 && locked.vault.lockedReason != nil)
        let keys = served(try open())
        try Data(repeating: 0, count: 20_000).write(to: URL(fileURLWithPath: path))
        #expect(try control(AgentMessage.status, of: TestAgent(keys))[0] == AgentMessage.extensionResponse)
        #expect(keys.lockedReason == nil && keys.lastOffers.count == 2)
    }

    @Test("A vault is locked by its path, whether or not its file is there, and another one is not")
    func locking() throws {
        let keys = served(try open())
        let agent = TestAgent(keys)
        let place = try #require(Places.resolved(path))
        #expect(try control(AgentMessage.lockVault, place + "2", of: agent).last == 0 && keys.lockedReason == nil)
        try FileManager.default.removeItem(atPath: path)
        #expect(Places.resolved(path) == place)
        #expect(try control(AgentMessage.lockVault, place, of: agent).last == 1 && keys.lockedReason != nil)
        #expect(try control(AgentMessage.lockVault, place, of: agent).last == 0)
    }

    @Test("A path that cannot be resolved locks the vault, and so does none")
    func lockingAny() throws {
        for path in [nil, "/no/such/folder/v.vault"] as [String?] {
            let keys = served(try open())
            #expect(
                try control(AgentMessage.lockVault, path.flatMap(Places.resolved) ?? "", of: TestAgent(keys)).last == 1)
        }
        let unknown = ServedVault(
            path: "/no/such/folder/v.vault", groups: [], limits: .init(), vault: nil, isKept: false, now: 0,
            keptEnds: kept.ends, reopening: kept.open)
        kept.opening = opening()
        kept.end = later
        #expect(try comments(unknown).count == 2)
        #expect(unknown.lock(at: Places.resolved(path), "test"))
    }

    @Test("The vault of a link is locked by the path of the file, before and after it was opened")
    func links() throws {
        let link = folder.file("link.vault")
        #expect(symlink(path, link) == 0)
        kept.opening = opening()
        let keys = ServedVault(
            path: link, groups: [], limits: .init(), vault: nil, isKept: false, now: 0, keptEnds: kept.ends,
            reopening: kept.open)
        kept.end = later
        #expect(try comments(keys).count == 2)
        #expect(keys.lock(at: Places.resolved(link), "test"))
        // 'lock' may not have found the kept key, as in another user namespace.
        #expect(try comments(keys).isEmpty)
    }
}
