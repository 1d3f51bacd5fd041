import Foundation
import Synchronization
import TestSupport
import Testing
import VaultCrypto
import VaultExchange
import VaultFmt
import VaultLocal

@testable import VaultAgent

@Suite("A vault that is opened on demand")
struct OnDemandTests {
    private let folder: Folder
    private let machine: Machine
    /// How often the vault was opened, or tried, without asking.
    private let tries = Counter()

    init() throws {
        folder = try Folder()
        let places = Places(
            vault: folder.file("v.vault"), generatedKeyFile: folder.file("key"), stateFolder: folder.file("state"),
            witnessFile: nil)
        machine = Machine(places) { _ in }
        let vault = try machine.create(at: folder.file("v.vault"), factors: try Self.key("o"))
        for (group, seed) in [("ssh", UInt8(65)), ("other", 66)] {
            var attributes = Attributes()
            attributes[SSHAttribute.use] = Array("offer".utf8)
            try vault.add(
                try .genericPassword(service: group, account: "", group: group), secret: keyText(seed),
                attributes: attributes)
        }
        try vault.addSlot(try Self.key("s"), grantedGroups: ["ssh"])
    }

    private static func key(_ letter: String) throws -> Factors {
        try Factors(rawKey: Secret(text: String(repeating: letter, count: 32)))
    }

    /// Opens the vault with a key of this letter, 32 times.
    private static func open(_ machine: Machine, _ path: String, _ letter: String) throws(AgentError) -> Vault {
        do { return try machine.open(path, factors: try key(letter)) } catch let error as VaultError {
            throw AgentError(error.code == .noSlotOpens ? .refused : .unavailable, error.description)
        } catch { throw AgentError(.system, "\(error)") }
    }

    /// A vault that a key opens without asking, or that the letter opens that is typed.
    private func served(
        _ letter: String? = nil, canAsk: Bool = true, limits: ServedVault.Limits = .init(), listsLocked: Bool = false,
        keptEnds: ServedVault.KeptEnds = Self.nothingKept,
        begin: @escaping (Int32) throws(AgentError) -> Int32 = Shell.startEcho
    ) -> ServedVault {
        let (machine, path, tries) = (machine, folder.file("v.vault"), tries)
        let onDemand = ServedVault.OnDemand(canAsk: canAsk) { () throws(AgentError) in
            tries.add()
            guard let letter else { return nil }
            return try Self.open(machine, path, letter)
        } begin: { (socket) throws(AgentError) in
            try begin(socket)
        } finish: { (answer) throws(AgentError) in
            // After the passphrase's length.
            try Self.open(machine, path, String(decoding: answer.dropFirst(2), as: UTF8.self))
        }
        return ServedVault(
            path: path, groups: [], limits: limits, vault: nil, isKept: false, now: 0, keptEnds: keptEnds,
            reopening: { nil }, onDemand: onDemand, listsLocked: listsLocked)
    }

    private static var nothingKept: ServedVault.KeptEnds {
        ServedVault.KeptEnds { _ in
            nil
        } ofSlot: { _ in
            nil
        }
    }

    /// The question for a passphrase that a request leads to.
    private func question(_ agent: TestAgent, _ request: [UInt8]) -> String? {
        var client = AgentService.Client.test
        let answer = request.withUnsafeBytes { agent.service.answer($0, from: &client, now: agent.now) }
        guard case .open(let question) = answer else { return nil }
        return question
    }

    @Test("A given key opens it for a list and for a signature, and again after a limit")
    func given() throws {
        let agent = TestAgent(served("o", limits: .init(total: 1000)))
        #expect(try agent.status().locked == "it is opened when a client needs it" && tries.count == 0)
        #expect(try agent.list() == ["other", "ssh"])
        agent.now += 1000
        agent.service.expire(now: agent.now)
        #expect(agent.vault.lockedReason?.hasSuffix("(--time); it is opened again when a client needs it") == true)
        let signed = agent.ask(Request.sign(Request.blob(65), [1, 2, 3]))
        #expect(signed?.first == AgentMessage.signResponse && tries.count == 2)
    }

    @Test("A question about a key is void after a lock, even if the vault was opened again since")
    func questionsAndLocks() throws {
        let agent = TestAgent(served("o", limits: .init(total: 1000)))
        func isServed(since count: UInt64) -> Bool {
            Request.sign(Request.blob(65), [1]).withUnsafeBytes { agent.service.isServed($0, sinceLock: count) }
        }
        #expect(try agent.list().count == 2)
        let before = agent.vault.lockCount
        #expect(isServed(since: before))
        agent.now += 1000
        #expect(try agent.list().count == 2 && tries.count == 2)
        #expect(!isServed(since: before) && isServed(since: agent.vault.lockCount))
    }

    @Test("A path that is too long for a question is shortened or left out, so that the question is asked")
    func longPaths() {
        let peer = AgentPeer(process: 1, program: "test")
        for path in [
            String(repeating: "%", count: 4000), String(repeating: "\u{1F512}", count: 4000),
            "e" + String(repeating: "\u{301}", count: 2000),
        ] {
            let question = peer.passphraseQuestion(vault: path)
            #expect(QuestionText.fits(question) && question.hasSuffix("for 'test' (process 1)?"))
        }
    }

    /// What `vaultfmt unlock` keeps until a time that a test sets.
    private static func kept(until end: Counter) -> ServedVault.KeptEnds {
        func time() -> UInt64? { end.count == 0 ? nil : UInt64(end.count) }
        return ServedVault.KeptEnds { _ in
            time()
        } ofSlot: { _ in
            time()
        }
    }

    @Test("A given key does not undo a lock that somebody asked for until 'vaultfmt unlock' was run")
    func held() throws {
        let end = Counter()
        let agent = TestAgent(served("o", limits: .init(total: 1000), keptEnds: Self.kept(until: end)))
        end.add()
        #expect(try agent.list().count == 2)
        #expect(agent.vault.lock(at: nil, "a test"))
        let reason = "a test; it is opened again after 'vaultfmt unlock', or when the agent is started again"
        #expect(try agent.list().isEmpty && tries.count == 1 && agent.status().locked == reason)
        // Neither does a key that was kept before.
        #expect(agent.vault.demand(now: agent.now + ServedVault.pause) == .closed && tries.count == 1)
        end.add()
        #expect(try agent.list().count == 2 && tries.count == 2)
        // A lock after a limit counts, too.
        agent.now += 1000
        agent.service.expire(now: agent.now)
        #expect(!agent.vault.lock(at: nil, "a test"))
        #expect(try agent.list().isEmpty && tries.count == 2 && agent.status().locked == reason)
    }

    @Test("A lock before the vault was open for the first time holds, too, and the given key is not tried again")
    func heldFromTheStart() throws {
        let end = Counter()
        let agent = TestAgent(served("o", keptEnds: Self.kept(until: end)))
        #expect(!agent.vault.lock(at: nil, "a test"))
        #expect(try agent.list().isEmpty && tries.count == 1)
        agent.now += ServedVault.pause
        #expect(try agent.list().isEmpty && tries.count == 1)
        #expect(try agent.status().locked.contains("after 'vaultfmt unlock'"))
        end.add()
        #expect(try agent.list().count == 2 && tries.count == 2)
    }

    @Test("A key that was kept before such a lock does not end it")
    func heldFromTheStartDespiteKey() throws {
        let end = Counter()
        let agent = TestAgent(served("o", keptEnds: Self.kept(until: end)))
        end.add()
        #expect(!agent.vault.lock(at: nil, "a test"))
        #expect(try agent.list().isEmpty && tries.count == 1)
        end.add()
        #expect(try agent.list().count == 2 && tries.count == 2)
    }

    @Test("After a lock that somebody asked for, a person may type the passphrase")
    func heldTyping() throws {
        let vault = served()
        #expect(try vault.open(typed: SharedSecret(text: "o"), now: 0) == .opened)
        #expect(vault.lock(at: nil, "a test"))
        #expect(vault.lockedReason == "a test; it is opened again when a client needs it")
        #expect(vault.demand(now: 0) == .needsPassphrase)
        #expect(try vault.open(typed: SharedSecret(text: "o"), now: 0) == .opened)
    }

    @Test("While a typed passphrase is tried, a given key is not, and a lock or two minutes end that")
    func trying() throws {
        let vault = served("o", begin: Shell.startSleeping)
        #expect(vault.beginOpening(typed: SharedSecret(text: "o"), now: 0) == nil)
        #expect(vault.finishOpening(now: Opening.patience - 1) == nil)
        #expect(vault.demand(now: 1) == .needsPassphrase && tries.count == 0)
        let late = "deriving its key took longer than 120 seconds"
        #expect(vault.finishOpening(now: Opening.patience) == .refused(late))
        #expect(vault.opening?.descriptor == nil && vault.lockedReason == late)
        #expect(vault.beginOpening(typed: SharedSecret(text: "o"), now: 0) == nil)
        #expect(!vault.lock(at: nil, "a test"))
        #expect(vault.opening?.descriptor == nil && vault.finishOpening(now: 1) == nil)
        let long = String(repeating: "o", count: Opening.longestPassphrase + 1)
        let result = vault.beginOpening(typed: SharedSecret(text: long), now: 0)
        #expect(result == .refused("the passphrase is longer than 2048 bytes"))
    }

    @Test("While it must stay locked, neither a given key nor a typed passphrase opens it")
    func barred() throws {
        for vault in [served("o"), served()] {
            vault.bar("nobody watches")
            #expect(vault.demand(now: 0) == .closed && tries.count == 0)
            #expect(try vault.open(typed: SharedSecret(text: "o"), now: 0) == .refused("nobody watches"))
            #expect(vault.lockedReason == "nobody watches")
        }
        let typed = served()
        typed.bar("nobody watches")
        typed.allowOpening()
        #expect(typed.demand(now: 0) == .needsPassphrase)
    }

    @Test("Nothing but a list and a signature of a key that was not added opens it")
    func otherRequests() throws {
        let agent = TestAgent(served("o"))
        #expect(agent.ask(Request.add(9, comment: "added")) == [AgentMessage.success])
        #expect(agent.ask(Request.sign(Request.blob(9), [1]))?.first == AgentMessage.signResponse)
        #expect(agent.ask(Request.one(AgentMessage.removeIdentity, Request.blob(65))) == [AgentMessage.failure])
        #expect(agent.ask([AgentMessage.removeAllIdentities]) == [AgentMessage.success])
        #expect(agent.ask([AgentMessage.requestIdentities, 0]) == [AgentMessage.failure])
        #expect(agent.ask(Request.one(AgentMessage.lock, [1])) == [AgentMessage.success])
        #expect(try agent.list().isEmpty)
        #expect(agent.ask(Request.sign(Request.blob(65), [1])) == [AgentMessage.failure])
        _ = try agent.status()
        #expect(tries.count == 0 && agent.vault.lockedReason != nil)
    }

    @Test("A question asks for the passphrase, and names the vault, the program and a way that is not this machine's")
    func questions() throws {
        let agent = TestAgent(served())
        let text = try #require(question(agent, [AgentMessage.requestIdentities]))
        #expect(text == "Unlock the vault '\(folder.file("v.vault"))' for 'test' (process 1)?")
        #expect(question(agent, Request.sign(Request.blob(65), [1])) == text)
        var forwarded = AgentService.Client.test
        #expect(agent.ask(Request.bind(host: 7, session: [1], forwarding: true), from: &forwarded) != nil)
        let answer = [AgentMessage.requestIdentities].withUnsafeBytes {
            agent.service.answer($0, from: &forwarded, now: agent.now)
        }
        guard case .open(let other) = answer else { throw NotInTime(what: "the question") }
        #expect(other.hasSuffix(", for another host?"))
        // The person has refused: the keys that were added are what is left.
        #expect(agent.ask(Request.add(9, comment: "added")) == [AgentMessage.success])
        var client = AgentService.Client.test
        let rest = [AgentMessage.requestIdentities].withUnsafeBytes {
            agent.service.answer($0, from: &client, mayOpen: false, now: agent.now)
        }
        guard case .reply(let reply) = rest else { throw NotInTime(what: "the reply") }
        #expect(Array(reply.prefix(5)) == [AgentMessage.identitiesAnswer, 0, 0, 0, 1])
    }

    @Test("A wrong passphrase is told from a right one, and one that opens more than the first did opens nothing")
    func typing() throws {
        let vault = served()
        #expect(try vault.open(typed: SharedSecret(text: "x"), now: 0) == .wrong && vault.lockedReason != nil)
        #expect(try vault.open(typed: SharedSecret(text: "s"), now: 0) == .opened)
        #expect(try vault.offers(now: 0).map(\.comment) == ["ssh"])
        _ = vault.lock(at: nil, "a test")
        let wider = try vault.open(typed: SharedSecret(text: "o"), now: 0)
        #expect(wider == .refused("the given factors grant more than those that first opened it"))
        #expect(try vault.offers(now: 0).isEmpty)
        #expect(try vault.open(typed: SharedSecret(text: "s"), now: 0) == .opened)
    }

    @Test("Without a program that asks, or with a key that opens nothing, it stays closed, and is tried now and then")
    func closed() throws {
        let mute = served(canAsk: false)
        #expect(mute.demand(now: 0) == .closed)
        #expect(mute.lockedReason == "it needs a passphrase, and no program can ask for it; name a pinentry")
        #expect(tries.count == 1)
        let wrong = served("x")
        #expect(wrong.demand(now: 10) == .closed && wrong.demand(now: 11) == .closed && tries.count == 2)
        #expect(wrong.demand(now: 10 + ServedVault.pause) == .closed && tries.count == 3)
    }

    @Test("A vault that was rolled back is refused on demand, as it is by every command")
    func rolledBack() throws {
        let (path, old) = (folder.file("v.vault"), folder.file("old"))
        try FileManager.default.copyItem(atPath: path, toPath: old)
        var options = OpenOptions()
        options.writable = true
        let vault = try machine.open(path, factors: try Self.key("o"), options: options)
        try vault.add(try .genericPassword(service: "new", account: ""), secret: keyText(67))
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: old, toPath: path)
        let given = served("o")
        #expect(given.demand(now: 0) == .closed)
        let typed = served()
        guard case .refused = try typed.open(typed: SharedSecret(text: "o"), now: 0) else {
            throw NotInTime(what: "the refusal")
        }
        #expect(typed.lockedReason == given.lockedReason)
    }

    // MARK: listing while locked

    @Test("Public keys are listed while the vault is locked if that is wished, and only a signature opens it then")
    func listingLocked() throws {
        let agent = TestAgent(served("o", limits: .init(total: 1000), listsLocked: true))
        #expect(try agent.list() == ["other", "ssh"] && tries.count == 1)
        agent.now += 1000
        #expect(try agent.list() == ["other", "ssh"] && tries.count == 1)
        #expect(try agent.status().listed == 2 && agent.status().offered == 0)
        let signed = agent.ask(Request.sign(Request.blob(65), [1]))
        #expect(signed?.first == AgentMessage.signResponse && tries.count == 2)
        #expect(try agent.status().listed == 0 && agent.status().offered == 2)
        let other = TestAgent(served("o"))
        #expect(try other.list().count == 2)
        #expect(other.vault.lock(at: nil, "a test"))
        #expect(try other.status().listed == 0)
    }

    @Test("A key that is listed while the vault is locked does not sign, and is hidden when it is removed")
    func listedKeys() throws {
        let vault = ServedVault(
            path: folder.file("v.vault"), groups: [], limits: .init(),
            vault: try Self.open(machine, folder.file("v.vault"), "o"), isKept: false, now: 0,
            keptEnds: Self.nothingKept, reopening: nil, listsLocked: true)
        let agent = TestAgent(vault)
        #expect(agent.ask(Request.one(AgentMessage.removeIdentity, Request.blob(66))) == [AgentMessage.success])
        vault.lock("a test")
        // What was removed before is not listed.
        #expect(try agent.list() == ["ssh"])
        #expect(agent.ask(Request.sign(Request.blob(65), [1])) == [AgentMessage.failure])
        #expect(try agent.status().events.last?.action == "refused: ssh: the vault is locked: a test")
        #expect(agent.ask(Request.one(AgentMessage.lock, [1])) == [AgentMessage.success])
        #expect(try agent.list().isEmpty)
        #expect(agent.ask(Request.one(AgentMessage.unlock, [1])) == [AgentMessage.success])
        #expect(agent.ask(Request.one(AgentMessage.removeIdentity, Request.blob(65))) == [AgentMessage.success])
        #expect(agent.ask(Request.one(AgentMessage.removeIdentity, Request.blob(65))) == [AgentMessage.failure])
        #expect(try agent.list().isEmpty)
    }

    // MARK: the server

    private func socketFolder() throws -> SocketFolder { SocketFolder(path: folder.file("vaultfmt")) }

    /// A server whose pinentry is a script that types the lines of a file in turn, and notes each question.
    private func server(_ lines: [String]) throws -> RunningServer {
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: folder.file("lines")))
        let typing = """
            if [[ $command == GETPIN ]]; then
                echo "$error" >> '\(folder.file("asked"))'; error=
                line=$(head -n 1 '\(folder.file("lines"))'); sed -i 1d '\(folder.file("lines"))'
                [[ $line ]] || { echo 'ERR 83886179 cancelled'; continue; }
                echo "D $line"
            fi
            [[ $command != SETERROR ]] || error=$rest
            """
        let pinentry = Shell.program(Shell.pinentry(typing))
        return try RunningServer(
            try socketFolder(), vault: served(), asking: AskingPrograms(passphrase: pinentry, names: "a script"))
    }

    private var asked: [String] {
        get throws {
            try String(contentsOfFile: folder.file("asked"), encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false
            ).dropLast().map(String.init)
        }
    }

    /// The number of keys that an agent lists.
    private static func count(_ path: String) throws -> Int {
        let client = try AgentClient(path)
        let reply = try [AgentMessage.requestIdentities].withRawBytes { (bytes) throws(AgentError) in
            try client.ask(bytes)
        }
        return Int(try #require(reply.dropFirst(4).first))
    }

    @Test("However many clients need the vault, a person types the passphrase once")
    func manyClients() throws {
        let server = try server(["o", "never typed"])
        defer { server.end() }
        let path = server.folder.agentSocket
        let counts = Results()
        for _ in 0..<8 { counts.add { try Self.count(path) } }
        try Wait.until("the replies") { counts.all.count == 8 ? true : nil }
        #expect(counts.all == Array(repeating: 2, count: 8))
        #expect(try asked == [""])
    }

    @Test("After a wrong passphrase, the person is told so and asked again, three times at most")
    func wrongPassphrases() throws {
        let server = try server(["x", "o", "y", "y", "y"])
        defer { server.end() }
        #expect(try Self.count(server.folder.agentSocket) == 2)
        #expect(try asked == ["", "wrong passphrase (try 2 of 3)"])
        let control = try AgentClient(server.folder.controlSocket)
        #expect(try control.lockVault(at: nil))
        #expect(try Self.count(server.folder.agentSocket) == 0)
        #expect(try asked.count == 5)
        // The same process is not asked for at once.
        #expect(try Self.count(server.folder.agentSocket) == 0)
        #expect(try asked.count == 5)
        let status = try control.status()
        #expect(status.asking == "a script")
        let actions = status.events.map(\.action)
        #expect(actions.contains("opened the vault with a typed passphrase"))
        #expect(actions.contains("refused: the vault is not opened: 3 wrong passphrases were typed"))
        #expect(actions.contains("refused: the vault is not opened: the user refused it a moment ago"))
    }

    @Test("Whoever locks the vault while its passphrase is asked for keeps it locked")
    func lockingMeanwhile() throws {
        let typing = "[[ $command != GETPIN ]] || { touch '\(folder.file("asked"))'; sleep 1000; }"
        let server = try RunningServer(
            try socketFolder(), vault: served(),
            asking: AskingPrograms(passphrase: Shell.program(Shell.pinentry(typing))))
        defer { server.end() }
        let path = server.folder.agentSocket
        let counts = Results()
        counts.add { try Self.count(path) }
        try Wait.until("the question") { access(folder.file("asked"), F_OK) == 0 ? true : nil }
        #expect(try AgentClient(server.folder.controlSocket).lockVault(at: nil) == false)
        try Wait.until("the reply") { counts.all.isEmpty ? nil : true }
        #expect(counts.all == [0])
    }

    @Test("Whoever locks the agent with a password while the vault's passphrase is asked for ends the question")
    func lockingAgentMeanwhile() throws {
        let typing = "[[ $command != GETPIN ]] || { touch '\(folder.file("asked"))'; sleep 1000; }"
        let server = try RunningServer(
            try socketFolder(), vault: served(),
            asking: AskingPrograms(passphrase: Shell.program(Shell.pinentry(typing))))
        defer { server.end() }
        let path = server.folder.agentSocket
        let counts = Results()
        counts.add { try Self.count(path) }
        try Wait.until("the question") { access(folder.file("asked"), F_OK) == 0 ? true : nil }
        let client = try AgentClient(path)
        let reply = try Request.one(AgentMessage.lock, [1]).withRawBytes { (bytes) throws(AgentError) in
            try client.ask(bytes)
        }
        #expect(reply == [AgentMessage.success])
        try Wait.until("the reply") { counts.all.isEmpty ? nil : true }
        #expect(counts.all == [0])
        let actions = try AgentClient(server.folder.controlSocket).status().events.map(\.action)
        #expect(actions.contains("refused: the vault is not opened: the agent is locked with a password"))
    }
}

/// Counts.
private final class Counter: Sendable {
    private let value = Mutex(0)

    func add() { value.withLock { $0 += 1 } }

    var count: Int { value.withLock { $0 } }
}

/// What threads have found.
private final class Results: Sendable {
    private let found = Mutex<[Int]>([])

    /// Notes what a function returns, in a thread of its own.
    func add(_ find: @escaping @Sendable () throws -> Int) {
        Thread.detachNewThread {
            do {
                let value = try find()
                self.found.withLock { $0.append(value) }
            } catch { Issue.record(error) }
        }
    }

    var all: [Int] { found.withLock { $0 } }
}
