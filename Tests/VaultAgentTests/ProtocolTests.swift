import TestSupport
import Testing

@testable import VaultAgent

@Suite("Requests of clients")
struct ProtocolTests {
    private let data = Array("to be signed".utf8)

    @Test("A key that was added is listed, signs, and is gone when it is removed")
    func adding() throws {
        let agent = TestAgent()
        #expect(try agent.list().isEmpty)
        #expect(agent.ask(Request.add(1, comment: "one")) == [AgentMessage.success])
        #expect(agent.ask(Request.add(2, comment: "two")) == [AgentMessage.success])
        #expect(agent.ask(Request.add(1, comment: "first")) == [AgentMessage.success])
        #expect(try agent.list() == ["first", "two"])
        let reply = try #require(agent.ask(Request.sign(Request.blob(1), data)))
        #expect(reply.first == AgentMessage.signResponse)
        #expect(Request.key(1).publicKey.isValid(Array(reply.dropFirst(5)), of: data))
        #expect(!Request.key(2).publicKey.isValid(Array(reply.dropFirst(5)), of: data))
        let remove = Request.one(AgentMessage.removeIdentity, Request.blob(1))
        #expect(agent.ask(remove) == [AgentMessage.success])
        #expect(agent.ask(remove) == [AgentMessage.failure])
        #expect(agent.ask(Request.sign(Request.blob(1), data)) == [AgentMessage.failure])
        #expect(agent.ask([AgentMessage.removeAllIdentities]) == [AgentMessage.success])
        #expect(try agent.list().isEmpty)
    }

    @Test("A key with a lifetime is gone when it has passed, and the agent says when it must wake up")
    func lifetimes() throws {
        let agent = TestAgent()
        #expect(agent.service.nextEnd == nil)
        _ = agent.ask(Request.add(1, comment: "short", constraints: Constraint.lifetime(10)))
        _ = agent.ask(Request.add(2, comment: "long"))
        #expect(agent.service.nextEnd == agent.now + 10_000)
        agent.now += 9999
        #expect(try agent.list() == ["short", "long"])
        agent.now += 1
        #expect(agent.ask(Request.sign(Request.blob(1), data)) == [AgentMessage.failure])
        #expect(try agent.list() == ["long"])
    }

    @Test("A key that needs confirmation signs only after a person has agreed, and never if nobody can be asked")
    func confirmation() throws {
        let constraint = [AgentMessage.constrainConfirm]
        let agent = TestAgent(canConfirm: true)
        _ = agent.ask(Request.add(1, comment: "asks", constraints: constraint))
        let request = Request.sign(Request.blob(1), data)
        #expect(agent.ask(request) == nil)
        #expect(agent.ask(request, isConfirmed: true)?.first == AgentMessage.signResponse)
        let silent = TestAgent(canConfirm: false)
        _ = silent.ask(Request.add(1, comment: "asks", constraints: constraint))
        #expect(silent.ask(request) == [AgentMessage.failure])
    }

    @Test("A key with a constraint that is not known is refused")
    func unknownConstraints() throws {
        let agent = TestAgent()
        var unknown = [AgentMessage.constrainExtension]
        unknown.append(text: "sk-provider@openssh.com")
        unknown.append(text: "internal")
        for constraints in [unknown, [3, 0, 0, 0, 1], [0], Constraint.lifetime(0), [2, 2]] as [[UInt8]] {
            #expect(agent.ask(Request.add(1, comment: "", constraints: constraints)) == [AgentMessage.failure])
        }
        #expect(try agent.list().isEmpty)
    }

    @Test("A locked agent lists nothing and signs nothing until it is unlocked with the same password")
    func locking() throws {
        let agent = TestAgent()
        _ = agent.ask(Request.add(1, comment: "one"))
        #expect(agent.ask(Request.one(AgentMessage.unlock, Array("a".utf8))) == [AgentMessage.failure])
        #expect(agent.ask(Request.one(AgentMessage.lock, Array("a".utf8))) == [AgentMessage.success])
        #expect(agent.ask(Request.one(AgentMessage.lock, Array("b".utf8))) == [AgentMessage.failure])
        #expect(try agent.list().isEmpty)
        #expect(agent.ask(Request.sign(Request.blob(1), data)) == [AgentMessage.failure])
        #expect(agent.ask(Request.add(2, comment: "two")) == [AgentMessage.failure])
        #expect(agent.ask([AgentMessage.removeAllIdentities]) == [AgentMessage.failure])
        // Otherwise ssh could not forward a locked agent.
        #expect(agent.ask(Request.bind(host: 9, session: [1], forwarding: true)) == [AgentMessage.success])
        #expect(agent.ask(Request.one(AgentMessage.unlock, Array("b".utf8))) == [AgentMessage.failure])
        // The next try must wait.
        #expect(agent.ask(Request.one(AgentMessage.unlock, Array("a".utf8))) == [AgentMessage.failure])
        agent.now += 10_000
        #expect(agent.ask(Request.one(AgentMessage.unlock, Array("a".utf8))) == [AgentMessage.success])
        #expect(try agent.list() == ["one"])
    }

    @Test(
        "An unknown request or extension fails as RFC 9987 says, and a known extension that fails can be told from it")
    func extensions() throws {
        let agent = TestAgent()
        #expect(agent.ask([200]) == [AgentMessage.failure])
        #expect(agent.ask([1]) == [AgentMessage.failure])
        #expect(agent.ask(Request.one(AgentMessage.extension, Array("x@example.org".utf8))) == [AgentMessage.failure])
        #expect(
            agent.ask(Request.one(AgentMessage.extension, Array(AgentMessage.status.utf8))) == [AgentMessage.failure])
        let bind = Request.one(AgentMessage.extension, Array(AgentMessage.sessionBind.utf8))
        #expect(agent.ask(bind) == [AgentMessage.extensionFailure])
        let query = try #require(agent.ask(Request.one(AgentMessage.extension, Array(AgentMessage.query.utf8))))
        #expect(query.first == AgentMessage.extensionResponse)
        #expect(String(decoding: query, as: UTF8.self).contains(AgentMessage.sessionBind))
    }

    @Test("The control socket tells the agent's state, and serves no keys")
    func control() throws {
        let agent = TestAgent()
        _ = agent.ask(Request.add(1, comment: "one\u{1B}[2J"))
        var client = AgentService.Client(peer: AgentPeer(process: 7, program: "p"), isControl: true)
        #expect(agent.ask([AgentMessage.requestIdentities], from: &client) == [AgentMessage.failure])
        let status = try agent.status()
        #expect(status.added == 1 && status.offered == 0 && !status.locked.isEmpty)
        #expect(status.events.first?.action == #"added the key one\u{1b}[2J"#)
    }

    @Test("A request that goes on after its end does nothing")
    func lengthened() throws {
        let agent = TestAgent()
        _ = agent.ask(Request.add(1, comment: "one"))
        var control = AgentService.Client(peer: AgentPeer(process: 7, program: "p"), isControl: true)
        func fails(_ request: [UInt8]) -> Bool { agent.ask(request + [0]) == [AgentMessage.failure] }
        #expect(fails(Request.add(2, comment: "two", constraints: Constraint.lifetime(9))))
        #expect(fails(Request.one(AgentMessage.removeIdentity, Request.blob(1))))
        #expect(fails([AgentMessage.removeAllIdentities]))
        #expect(fails(Request.one(AgentMessage.lock, [1])))
        #expect(try agent.list() == ["one"])
        #expect(agent.ask(Request.one(AgentMessage.lock, [1])) == [AgentMessage.success])
        #expect(fails(Request.one(AgentMessage.unlock, [1])))
        #expect(try agent.list().isEmpty)
        #expect(agent.ask(Request.one(AgentMessage.unlock, [1])) == [AgentMessage.success])
        #expect(try agent.list() == ["one"])
        for name in [AgentMessage.status, AgentMessage.lockVault] {
            let request = Request.one(AgentMessage.extension, Array(name.utf8)) + [0]
            #expect(agent.ask(request, from: &control) == [AgentMessage.extensionFailure])
        }
        let query = Request.one(AgentMessage.extension, Array(AgentMessage.query.utf8)) + [0]
        #expect(agent.ask(query) == [AgentMessage.extensionFailure])
    }

    @Test("An empty password neither locks nor unlocks the agent")
    func emptyPassword() throws {
        let agent = TestAgent()
        _ = agent.ask(Request.add(1, comment: "one"))
        #expect(agent.ask(Request.one(AgentMessage.lock, [])) == [AgentMessage.failure])
        #expect(try agent.list() == ["one"])
        #expect(agent.ask(Request.one(AgentMessage.lock, [1])) == [AgentMessage.success])
        #expect(agent.ask(Request.one(AgentMessage.unlock, [])) == [AgentMessage.failure])
        #expect(try agent.list().isEmpty)
    }

    @Test("The request to remove all keys of version 1 does what ssh-agent does, and 'ssh-add -D' is noted once")
    func removingAll() throws {
        let agent = TestAgent()
        _ = agent.ask(Request.add(1, comment: "one"))
        for type in [AgentMessage.removeAllIdentities, AgentMessage.removeAllIdentitiesOfVersion1] {
            #expect(agent.ask([type]) == [AgentMessage.success])
        }
        #expect(try agent.list().isEmpty)
        #expect(try agent.status().events.filter { $0.action == "removed all keys" }.count == 1)
        _ = agent.ask(Request.add(1, comment: "one"))
        #expect(agent.ask([AgentMessage.removeAllIdentitiesOfVersion1]) == [AgentMessage.success])
        #expect(try agent.list().isEmpty)
    }

    @Test("A refusal names the key, and a request over a forwarded connection is noted as one for another host")
    func events() throws {
        let agent = TestAgent()
        _ = agent.ask(Request.add(1, comment: "asks", constraints: [AgentMessage.constrainConfirm]))
        _ = agent.ask(Request.sign(Request.blob(1), data))
        _ = agent.ask(Request.sign(Request.blob(2), data))
        var client = AgentService.Client.test
        _ = agent.ask(Request.bind(host: 9, session: [1], forwarding: true), from: &client)
        _ = try agent.list(from: &client)
        let actions = try agent.status().events.map(\.action)
        #expect(actions[1].hasPrefix("refused: asks: it needs confirmation"))
        let unknown = PublicKey.fingerprint(of: Request.blob(2))
        #expect(actions[2] == "refused: \(unknown): the agent has no such key")
        #expect(actions[3] == "listed 1 key, for another host")
    }

    @Test("Requests to the attached service do not crowd out those to the agent, and all are told in their order")
    func ways() throws {
        let agent = TestAgent()
        let desktop = AgentPeer(process: 2, program: "desktop")
        _ = agent.ask(Request.add(1, comment: "one"))
        for number in 1...150 { agent.service.noteAttached("read \(number)", by: desktop) }
        _ = agent.ask(Request.add(2, comment: "two"))
        let events = try agent.status().events
        #expect(events.map(\.action) == ["added the key one"] + (51...150).map { "read \($0)" } + ["added the key two"])
        #expect(events[1].program == "desktop" && events[1].process == 2)
        for _ in 1...150 { _ = agent.ask(Request.sign(Request.blob(9), data)) }
        #expect(try agent.status().events.count { $0.program == "desktop" } == 100)
    }

    @Test("The state has the keys with what limits them")
    func keys() throws {
        let agent = TestAgent()
        let steps = Constraint.destinations([(Constraint.hop(nil), Constraint.hop(9))])
        _ = agent.ask(Request.add(1, comment: "short", constraints: Constraint.lifetime(10) + steps))
        _ = agent.ask(Request.add(2, comment: "asks", constraints: [AgentMessage.constrainConfirm]))
        agent.now += 3000
        let keys = try agent.status().keys
        #expect(keys.map(\.comment) == ["short", "asks"] && keys.allSatisfy { $0.isAdded && $0.type == "ED25519" })
        #expect(keys[0].remaining == 7 && keys[0].isBound && !keys[0].needsConfirmation)
        #expect(keys[1].remaining == nil && !keys[1].isBound && keys[1].needsConfirmation)
        #expect(keys[0].fingerprint == Request.key(1).publicKey.fingerprint)
    }

    /// A key of the state, with a comment that is shortened.
    private func longKey(_ comment: String) throws -> AgentStatus.Key {
        let agent = TestAgent()
        _ = agent.ask(Request.add(1, comment: comment))
        return try #require(try agent.status().keys.first)
    }

    @Test("The state fits in a message and can be read, however much cannot be offered")
    func longStatus() throws {
        let long = String(repeating: "\u{1B}é", count: 500)
        var activity = AgentActivity()
        var peer = AgentPeer(process: 1, program: long)
        peer.isForwarded = true
        for way in AgentActivity.Way.allCases {
            for _ in 0...AgentActivity.most { activity.note(long, by: peer, way: way) }
        }
        let events = activity.events
        #expect(events.count == 2 * AgentActivity.most && events.allSatisfy { $0.action.hasSuffix("another host") })
        let key = try longKey(long)
        for count in [0, 1, 64, 65, 10_000] {
            let texts = [String](repeating: long, count: count)
            let status = AgentStatus(
                vault: "/v", locked: long, unreadable: (long, 1), attached: long, asking: long, offered: count,
                listed: count, keys: [AgentStatus.Key](repeating: key, count: count), omitted: texts, warnings: texts,
                events: events)
            var encoded: [UInt8] = []
            status.encode(into: &encoded)
            #expect(encoded.count < AgentMessage.longest - 64)
            let read = try encoded.withRawBytes { (bytes) throws(AgentError) -> AgentStatus in
                var reader = WireReader(bytes)
                return try AgentStatus(&reader)
            }
            #expect(read == status)
            #expect(read.omitted.count == min(count, 65) && read.warnings.count == min(count, 33))
            #expect(read.keys.count == min(count, AgentStatus.mostKeys))
            #expect(read.omitted.last == (count > 64 ? "and \(count - 64) more" : read.omitted.first))
        }
    }

    @Test("Truncated, lengthened and random requests get a failure, or what they ask for, and nothing traps")
    func hostile() throws {
        let agent = TestAgent(canConfirm: true)
        let steps = Constraint.destinations([(Constraint.hop(nil), Constraint.hop(9))])
        let whole = [
            Request.add(1, comment: "one", constraints: Constraint.lifetime(5) + steps),
            Request.sign(Request.blob(1), data), Request.bind(host: 9, session: [1, 2], forwarding: true),
            Request.one(AgentMessage.lock, [1]),
        ]
        // Where one constraint ends and the next would begin, an added key is whole.
        let ends = [steps.count, steps.count + Constraint.lifetime(5).count].map { whole[0].count - $0 }
        for request in whole {
            for count in 0..<request.count where request != whole[0] || !ends.contains(count) {
                let reply = try #require(agent.ask(Array(request[..<count])))
                #expect([AgentMessage.failure, AgentMessage.extensionFailure].contains(reply[0]), "\(count)")
            }
            #expect([AgentMessage.failure, AgentMessage.extensionFailure].contains(agent.ask(request + [0])?[0]))
        }
        var numbers = Numbers(Numbers.seed)
        for _ in 0..<20_000 {
            var request = whole[Int(numbers.next() % 4)]
            for _ in 0...Int(numbers.next() % 4) {
                request[Int(numbers.next() % UInt64(request.count))] = UInt8(truncatingIfNeeded: numbers.next())
            }
            if request.first == AgentMessage.lock { continue }
            _ = agent.ask(request)
        }
    }
}
