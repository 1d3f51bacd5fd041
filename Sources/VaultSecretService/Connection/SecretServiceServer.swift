internal import Glibc
package import VaultAgent

/// Serves the Secret Service on the user's bus, in the thread of the agent.
///
/// Only connections of the same user are answered. The bus itself is waited for, when a client calls for the first
/// time: it is asked who that is.
package final class SecretServiceServer: AttachedService {
    private let service: SecretService
    private let name: String
    private let replaces: Bool
    private var connection: BusConnection?
    /// When the bus is tried again after its end, and the pause before that, in milliseconds.
    private var retry: (time: UInt64, pause: UInt64)?
    private var clients: [String: BusClient] = [:]
    /// The questions that wait for an answer, by their numbers.
    private var asked: [UInt64: PersonQuestion] = [:]
    /// The calls that wait for a person, by their numbers.
    private var held: [UInt64: BusConnection.HeldCall] = [:]
    private var events = ServerEvents()
    /// Whether there may be more messages than were served.
    private var hasMore = false

    private static let mostAtOnce = 256
    private static let firstPause: UInt64 = 1000
    private static let longestPause: UInt64 = 60_000

    /// Takes the service's name on a bus.
    ///
    /// - Throws: `unavailable`, `busy`.
    package init(_ service: SecretService, on connection: BusConnection) throws(AgentError) {
        self.service = service
        self.connection = connection
        (name, replaces) = (connection.name, connection.replaces)
        try connection.takeName()
    }

    // MARK: waiting

    package var wait: (descriptor: Int32, events: Int16)? { connection?.wait }

    package var nextEnd: UInt64? { hasMore || service.hasQuestion ? 0 : retry?.time }

    package func serve(now: UInt64) {
        if let retry, retry.time <= now { reconnect(after: retry.pause) }
        service.noteTime()
        hasMore = true
        // Other clients of the agent wait meanwhile.
        let end = AgentClock.now() + BusLimits.roundTime
        for _ in 0..<Self.mostAtOnce where hasMore {
            hasMore = serveNext(now)
            guard AgentClock.now() < end else { break }
        }
        deliver()
        asked = asked.filter { service.isAwaited($0.key) }
        held = held.filter { service.isAwaited($0.key) }
    }

    package var state: String {
        let way = connection == nil ? "not served, because the bus has ended; it is tried again" : "served as \(name)"
        return "\(way); \(service.summary)"
    }

    package func takeEvents() -> [(action: String, peer: AgentPeer)] {
        let peer = AgentPeer(process: UInt32(clamping: getpid()), program: AgentPeer.program(of: getpid()))
        return service.takeEvents() + events.take().map { ($0, peer) }
    }

    /// Sends the answers to calls that waited, and the signals.
    private func deliver() {
        for (number, values) in service.takeReplies() {
            guard let call = held.removeValue(forKey: number) else { continue }
            connection?.reply(to: call, values)
        }
        for signal in service.takeSignals() { connection?.send(signal) }
    }

    // MARK: the bus's end

    package func end() {
        service.endPrompts()
        deliver()
        disconnect()
        retry = nil
    }

    private func disconnect() {
        for name in clients.keys { service.forget(name) }
        (clients, asked, held, hasMore) = ([:], [:], [:], false)
        connection = nil
    }

    /// Connects to the bus again, and takes the name again: otherwise, another program would, and be asked in our
    /// place.
    private func reconnect(after pause: UInt64) {
        do throws(AgentError) {
            let new = try BusConnection(for: name, replaces: replaces)
            try new.takeName()
            (connection, retry) = (new, nil)
            events.add("the Secret Service is served again")
        } catch {
            let pause = min(pause * 2, Self.longestPause)
            retry = (AgentClock.now() + pause, pause)
        }
    }

    // MARK: questions

    package func nextQuestion(now: UInt64) -> AttachedQuestion? {
        defer { deliver() }
        while let question = service.nextQuestion(now: now) {
            switch question.kind {
            case .confirm(let text):
                asked[question.number] = question
                return AttachedQuestion(number: question.number, text: text)
            case .unlock:
                if let text = openingText(of: question, now: now) {
                    asked[question.number] = question
                    return AttachedQuestion(number: question.number, text: text, opensVault: true)
                }
            }
        }
        return nil
    }

    /// Opens the vault if nobody has to be asked, and answers the question; returns the text if a person is to be asked
    /// for the passphrase.
    private func openingText(of question: PersonQuestion, now: UInt64) -> String? {
        switch service.readiness(now: now) {
        case .open: service.take(.yes, to: question, now: now)
        // Nobody is asked: 'vaultfmt unlock' unlocks the vault.
        case .closed: service.take(.notAsked, to: question, now: now)
        case .needsPassphrase: return service.passphraseQuestion(question.number)
        }
        return nil
    }

    package func isAwaited(_ question: UInt64) -> Bool { asked[question] != nil && service.isAwaited(question) }

    package func take(_ answer: PersonAnswer, to question: UInt64, now: UInt64) {
        guard let question = asked.removeValue(forKey: question) else { return }
        service.take(answer, to: question, now: now)
        deliver()
    }

    // MARK: messages

    /// Serves the next message; returns false if there is none.
    private func serveNext(_ now: UInt64) -> Bool {
        guard let connection else { return false }
        switch connection.next() {
        case .nothing: return false
        case .other: return true
        case .end:
            // Its clients have no other way to the agent, and their names may come again.
            disconnect()
            retry = (now + Self.firstPause, Self.firstPause)
            events.add("the bus has ended; the Secret Service is not served until it is back")
            return false
        case .message(let message):
            if let name = BusConnection.ended(message) {
                forget(name)
            } else if message.kind == .call {
                switch answer(message, connection, now) {
                case .reply(let result): connection.reply(to: message, result)
                case .later(let number): held[number] = connection.hold(message, refusal: SecretService.refusal)
                }
                // A signal must not come before the reply to the call that has caused it.
                deliver()
            }
            return true
        }
    }

    private func answer(_ message: BusMessage, _ connection: BusConnection, _ now: UInt64) -> ServiceAnswer {
        let client: BusClient
        do throws(BusError) { client = try self.client(message.sender, connection) } catch {
            events.addRefusal(error.message)
            return .reply(.failure(error))
        }
        func call(_ values: [BusValue]) -> BusCall {
            BusCall(client, message.path, message.interface, message.member, values)
        }
        do throws(BusError) { return service.answer(call(try message.values()), now: now) } catch {
            service.noteRefusal(of: call([]), error)
            return .reply(.failure(error))
        }
    }

    /// Returns the client with a name. Throws `AccessDenied` if it is another user's.
    private func client(_ name: String, _ connection: BusConnection) throws(BusError) -> BusClient {
        if let known = clients[name] { return known }
        guard name.hasPrefix(":"), name.utf8.allSatisfy(Self.isOfName) else { throw .denied("there is no such client") }
        guard clients.count < BusLimits.clients else {
            throw .limit("at most \(BusLimits.clients) programs are served at a time")
        }
        // First, so that its end is not missed.
        connection.watch(name, true)
        guard let credentials = connection.credentials(of: name), credentials.user == geteuid() else {
            connection.watch(name, false)
            throw .denied("only this user's own processes are answered")
        }
        let client = BusClient(
            name: name, process: UInt32(clamping: credentials.process),
            program: AgentPeer.program(of: credentials.process))
        clients[name] = client
        events.noteAdmission()
        return client
    }

    /// Whether a byte may be in a unique name; it then cannot end a match rule.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch UnicodeScalar(byte) {
        case "a"..."z", "A"..."Z", "0"..."9", ":", ".", "_", "-": true
        default: false
        }
    }

    private func forget(_ name: String) {
        guard clients.removeValue(forKey: name) != nil else { return }
        connection?.watch(name, false)
        service.forget(name)
    }
}
