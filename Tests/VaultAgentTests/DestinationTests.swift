import Testing

@testable import VaultAgent

@Suite("Keys bound to destinations")
struct DestinationTests {
    private let here = Constraint.hop(nil)
    private let session: [UInt8] = [1, 2, 3]

    /// An agent with a key that may log in to host 10, and from there to host 11 as alice.
    private func agent() throws -> TestAgent {
        let agent = TestAgent()
        let steps = Constraint.destinations([
            (here, Constraint.hop(10)), (Constraint.hop(10), Constraint.hop(11, user: "al*ce")),
        ])
        #expect(agent.ask(Request.add(1, comment: "bound", constraints: steps)) == [AgentMessage.success])
        return agent
    }

    private func bind(
        _ agent: TestAgent, _ client: inout AgentService.Client, host: UInt8, _ session: [UInt8],
        forwarding: Bool = false
    ) -> UInt8? {
        agent.ask(Request.bind(host: host, session: session, forwarding: forwarding), from: &client)?.first
    }

    private func login(
        _ agent: TestAgent, _ client: inout AgentService.Client, _ session: [UInt8], user: String = "alice",
        host: UInt8? = nil
    ) -> UInt8? {
        let key = Request.blob(1)
        let data = Request.login(key, session: session, user: user, host: host.map(Request.blob))
        return agent.ask(Request.sign(key, data), from: &client)?.first
    }

    @Test("The key signs a login to its host, over the session of the connection only")
    func direct() throws {
        let agent = try agent()
        var client = AgentService.Client.test
        #expect(login(agent, &client, session) == AgentMessage.failure)
        #expect(try agent.list(from: &client) == ["bound"])
        #expect(bind(agent, &client, host: 10, session) == AgentMessage.success)
        #expect(try agent.list(from: &client) == ["bound"])
        #expect(login(agent, &client, session) == AgentMessage.signResponse)
        #expect(login(agent, &client, session, host: 10) == AgentMessage.signResponse)
        #expect(login(agent, &client, session, host: 12) == AgentMessage.failure)
        #expect(login(agent, &client, [9, 9]) == AgentMessage.failure)
        let other = Request.sign(Request.blob(1), Array("SSHSIG".utf8))
        #expect(agent.ask(other, from: &client) == [AgentMessage.failure])
    }

    @Test("The key is neither shown to nor used for another host, or a host that has not proven its key")
    func otherHost() throws {
        let agent = try agent()
        var client = AgentService.Client.test
        #expect(bind(agent, &client, host: 12, session) == AgentMessage.success)
        #expect(try agent.list(from: &client).isEmpty)
        #expect(login(agent, &client, session) == AgentMessage.failure)
        var forger = AgentService.Client.test
        let forged = Request.bind(host: 10, session: session, forwarding: false, signedBy: 12)
        #expect(agent.ask(forged, from: &forger) == [AgentMessage.extensionFailure])
        #expect(try agent.list(from: &forger).isEmpty)
        #expect(login(agent, &forger, session) == AgentMessage.failure)
    }

    @Test("Over a forwarded connection, the key is used for the next host and its user only")
    func forwarded() throws {
        let agent = try agent()
        var client = AgentService.Client.test
        #expect(bind(agent, &client, host: 10, session, forwarding: true) == AgentMessage.success)
        #expect(try agent.list(from: &client) == ["bound"])
        #expect(login(agent, &client, session) == AgentMessage.failure)
        #expect(bind(agent, &client, host: 11, [7]) == AgentMessage.success)
        #expect(login(agent, &client, [7], user: "alice", host: 11) == AgentMessage.signResponse)
        #expect(login(agent, &client, [7], user: "bob", host: 11) == AgentMessage.failure)
        #expect(login(agent, &client, [7], user: "alice") == AgentMessage.failure)
        // Nothing follows a session for authentication.
        #expect(bind(agent, &client, host: 11, [8]) == AgentMessage.extensionFailure)
    }

    @Test("A host from which the key must not be used does not see it")
    func hidden() throws {
        let agent = TestAgent()
        let steps = Constraint.destinations([(here, Constraint.hop(10))])
        _ = agent.ask(Request.add(1, comment: "direct", constraints: steps))
        var client = AgentService.Client.test
        #expect(bind(agent, &client, host: 10, session, forwarding: true) == AgentMessage.success)
        #expect(try agent.list(from: &client).isEmpty)
    }

    @Test("A forwarded connection manages no keys")
    func management() throws {
        let agent = TestAgent()
        var client = AgentService.Client.test
        #expect(bind(agent, &client, host: 10, session, forwarding: true) == AgentMessage.success)
        let requests = [
            Request.add(2, comment: "two"), [AgentMessage.removeAllIdentities], Request.one(AgentMessage.lock, [1]),
            Request.one(AgentMessage.removeIdentity, Request.blob(1)),
        ]
        for request in requests { #expect(agent.ask(request, from: &client) == [AgentMessage.failure]) }
    }

    /// The ways in which a binding fails.
    private var failures: [[UInt8]] {
        [
            Request.bindUnsupported(session: [5], forwarding: true),
            Request.bindUnsupported(session: [5], forwarding: false),
            Request.bind(host: 12, session: [5], forwarding: true, signedBy: 13),
            Request.one(AgentMessage.extension, Array(AgentMessage.sessionBind.utf8)),
        ]
    }

    @Test("After a binding that has failed, a host cannot pass for this machine by binding the connection itself")
    func brokenDestinations() throws {
        let agent = try agent()
        for failure in failures {
            var client = AgentService.Client.test
            #expect(agent.ask(failure, from: &client) == [AgentMessage.extensionFailure])
            #expect(try agent.list(from: &client).isEmpty)
            #expect(bind(agent, &client, host: 10, session) == AgentMessage.success)
            #expect(try agent.list(from: &client).isEmpty)
            #expect(login(agent, &client, session, host: 10) == AgentMessage.failure)
        }
        // Also after one that has not.
        var client = AgentService.Client.test
        #expect(bind(agent, &client, host: 10, session, forwarding: true) == AgentMessage.success)
        #expect(agent.ask(failures[0], from: &client) == [AgentMessage.extensionFailure])
        #expect(bind(agent, &client, host: 11, [7]) == AgentMessage.success)
        #expect(login(agent, &client, [7], host: 11) == AgentMessage.failure)
    }

    @Test("After a binding that has failed, the connection manages no keys, and questions say that it may be forwarded")
    func brokenManagement() throws {
        let agent = TestAgent(canConfirm: true)
        _ = agent.ask(Request.add(1, comment: "asks", constraints: [AgentMessage.constrainConfirm]))
        _ = agent.ask(Request.add(2, comment: "free"))
        for failure in failures {
            var client = AgentService.Client.test
            #expect(agent.ask(failure, from: &client) == [AgentMessage.extensionFailure])
            let requests = [
                Request.add(3, comment: "three"), [AgentMessage.removeAllIdentities],
                Request.one(AgentMessage.lock, [1]), Request.one(AgentMessage.unlock, [1]),
                Request.one(AgentMessage.removeIdentity, Request.blob(1)),
            ]
            for request in requests { #expect(agent.ask(request, from: &client) == [AgentMessage.failure]) }
            #expect(bind(agent, &client, host: 10, session) == AgentMessage.success)
            for request in requests { #expect(agent.ask(request, from: &client) == [AgentMessage.failure]) }
            // A key without destinations may be used over any connection.
            #expect(agent.ask(Request.sign(Request.blob(2), session), from: &client)?[0] == AgentMessage.signResponse)
            let question = agent.question(Request.sign(Request.blob(1), session), from: &client)
            #expect(question?.contains("for another host") == true)
        }
        #expect(try agent.list() == ["asks", "free"])
    }

    @Test("A destination's keys that are not supported are left out, and one without any other matches nothing")
    func unsupportedHostKeys() throws {
        let agent = TestAgent()
        let mixed = Constraint.hop(name: "host", blobs: [Request.fidoBlob, Request.blob(10)])
        let none = Constraint.hop(name: "host", blobs: [Request.fidoBlob])
        let added = agent.ask(Request.add(1, comment: "mixed", constraints: Constraint.destinations([(here, mixed)])))
        #expect(added == [AgentMessage.success])
        var client = AgentService.Client.test
        #expect(bind(agent, &client, host: 10, session) == AgentMessage.success)
        #expect(login(agent, &client, session) == AgentMessage.signResponse)
        // Neither a target that any host is, nor the machine of the agent as a source.
        for step in [(here, none), (none, mixed)] {
            let request = Request.add(1, comment: "none", constraints: Constraint.destinations([step]))
            #expect(agent.ask(request) == [AgentMessage.success])
            #expect(login(agent, &client, session) == AgentMessage.failure)
            #expect(try agent.list(from: &client).isEmpty)
        }
        let nameless = Constraint.hop(name: "", blobs: [Request.fidoBlob])
        let damaged = Constraint.hop(name: "host", blobs: [Request.blob(10), Array(Request.blob(10).dropLast())])
        let empty = Constraint.hop(name: "host", blobs: [])
        for step in [(nameless, mixed), (here, damaged), (here, empty)] {
            let request = Request.add(1, comment: "", constraints: Constraint.destinations([step]))
            #expect(agent.ask(request) == [AgentMessage.failure])
        }
    }

    @Test("A session is bound once for each host, and at most 16 times")
    func sessions() throws {
        let agent = TestAgent()
        var client = AgentService.Client.test
        for number in 0..<16 as Range<UInt8> {
            #expect(bind(agent, &client, host: 20 + number, [number], forwarding: true) == AgentMessage.success)
        }
        #expect(bind(agent, &client, host: 20, [0], forwarding: true) == AgentMessage.success)
        #expect(bind(agent, &client, host: 21, [0], forwarding: true) == AgentMessage.extensionFailure)
        #expect(bind(agent, &client, host: 40, [99], forwarding: true) == AgentMessage.extensionFailure)
    }

    @Test("Destinations that say nothing, or more than is known, are refused")
    func malformed() throws {
        let agent = TestAgent()
        var extended: [UInt8] = []
        extended.append(text: "")
        extended.append(text: "host")
        extended.append(text: "more")
        let wrong = [
            Constraint.destinations([(here, here)]), Constraint.destinations([(here, extended)]),
            Constraint.destinations([(Constraint.hop(10, user: "u"), Constraint.hop(11))]),
            Constraint.destinations([]) + Constraint.destinations([]),
        ]
        for constraints in wrong {
            #expect(agent.ask(Request.add(1, comment: "", constraints: constraints)) == [AgentMessage.failure])
        }
        // No destination at all is a key that nobody may use.
        #expect(
            agent.ask(Request.add(1, comment: "none", constraints: Constraint.destinations([]))) == [
                AgentMessage.success
            ])
        var client = AgentService.Client.test
        #expect(login(agent, &client, session) == AgentMessage.failure)
    }

    @Test("Patterns match as OpenSSH's do")
    func patterns() {
        for (text, pattern, isMatch) in [
            ("alice", "alice", true), ("alice", "al*", true), ("alice", "*", true), ("", "*", true), ("", "", true),
            ("alice", "?lice", true), ("alice", "b*", false), ("alice", "al", false), ("aab", "*ab", true),
            ("alice", "alice?", false), (String(repeating: "a", count: 900), "*a*a*a*a*a*a*a*b", false),
        ] { #expect(Wildcard.matches(text, pattern: pattern) == isMatch, "\(text) \(pattern)") }
    }
}
