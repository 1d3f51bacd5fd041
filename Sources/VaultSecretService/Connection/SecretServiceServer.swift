internal import Glibc
package import VaultAgent

/// Serves the Secret Service on the user's bus, in the agent's thread.
///
/// Only connections of the same user are served. When a client calls for the first time, the server blocks to ask the
/// bus for the client's credentials.
package final class SecretServiceServer: AttachedService {
    private let service: SecretService
    private let name: String
    private let replaces: Bool
    private var connection: BusConnection?
    /// When to reconnect to the bus after the connection was closed, and the pause before that attempt, in
    /// milliseconds.
    private var retry: (time: UInt64, pause: UInt64)?
    private var clients: [String: BusClient] = [:]
    /// The questions waiting for an answer, by number.
    private var asked: [UInt64: PersonQuestion] = [:]
    /// The calls waiting for a person, by number.
    private var held: [UInt64: BusConnection.HeldCall] = [:]
    private var events = ServerEvents()
    /// True if there may be more messages than have been processed.
    private var hasMore = false

    private static let mostAtOnce = 256
    private static let firstPause: UInt64 = 1000
    private static let longestPause: UInt64 = 60_000

    /// Requests the service's name on a bus.
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
        // Other clients of the agent are waiting in the meantime.
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
        let way =
            connection == nil
            ? "not served, because the bus has closed the connection; retrying" : "served as \(name)"
        return "\(way); \(service.summary)"
    }

    package func takeEvents() -> [(action: String, peer: AgentPeer)] {
        let peer = AgentPeer(process: UInt32(clamping: getpid()), program: AgentPeer.program(of: getpid()))
        return service.takeEvents() + events.take().map { ($0, peer) }
    }

    /// Sends the replies to held calls, and the signals.
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

    /// Reconnects to the bus, and requests the name again: otherwise, another program could take the name and receive
    /// our clients' calls.
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

    /// Opens the vault if that requires no prompt, and answers the question; returns the question's text if a person
    /// has to be asked for the passphrase.
    private func openingText(of question: PersonQuestion, now: UInt64) -> String? {
        switch service.readiness(now: now) {
        case .open: service.take(.yes, to: question, now: now)
        // Nobody is asked: the user opens the vault with 'vaultfmt unlock'.
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

    /// Processes the next message; returns false if there is none.
    private func serveNext(_ now: UInt64) -> Bool {
        guard let connection else { return false }
        switch connection.next() {
        case .nothing: return false
        case .other: return true
        case .end:
            // The bus's clients cannot reach the agent any more, and a new bus may reuse their names.
            disconnect()
            retry = (now + Self.firstPause, Self.firstPause)
            events.add("the bus has closed the connection; the Secret Service is not served until the bus is back")
            return false
        case .message(let message):
            if let name = BusConnection.ended(message) {
                forget(name)
            } else if message.kind == .call {
                switch answer(message, connection, now) {
                case .reply(let result): connection.reply(to: message, result)
                case .later(let number): held[number] = connection.hold(message, refusal: SecretService.refusal)
                }
                // A signal must not be sent before the reply to the call that caused it.
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

    /// Returns the client with the given name. Throws `AccessDenied` if the client belongs to another user, or if the
    /// bus does not report the client's user.
    private func client(_ name: String, _ connection: BusConnection) throws(BusError) -> BusClient {
        if let known = clients[name] { return known }
        guard name.hasPrefix(":"), name.utf8.allSatisfy(Self.isOfName) else { throw .denied("there is no such client") }
        guard clients.count < BusLimits.clients else {
            throw .limit("at most \(BusLimits.clients) programs are served at a time")
        }
        // Watch first, so that a disconnection is not missed.
        connection.watch(name, true)
        guard let credentials = connection.credentials(of: name) else {
            connection.watch(name, false)
            throw .denied("it has disconnected, or the bus does not report its owner")
        }
        guard credentials.user == geteuid() else {
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

    /// Returns whether a byte is allowed in a unique name. No allowed byte can end a match rule.
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
