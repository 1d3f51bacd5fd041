internal import CVaultShim
internal import Glibc

/// What a person has answered to a question of the agent or of its attached service.
package enum PersonAnswer: Sendable, Equatable {
    case yes
    case no
    /// None in time.
    case late
    /// None, because the question cannot be put.
    case notAsked

    /// Why a request is refused after this answer; nil if it is not.
    package var refusal: String? {
        switch self {
        case .yes: nil
        case .no: "a person did not agree"
        case .late: "nobody answered in time"
        case .notAsked: "the program that asks for confirmation cannot be started"
        }
    }
}

/// The questions to a person, of which one is asked at a time.
///
/// The answer is yes if the program that asks ends with 0 and writes nothing or `yes`: a program that only asks for a
/// passphrase writes what was typed, `no` as well.
final class Confirmations {
    /// Starts the program with a question, in a process group of its own. Its standard output is the descriptor.
    typealias Asking = (_ question: String, _ output: Int32) throws -> pid_t

    /// Who waits for an answer.
    enum Asker {
        case connection(ClientConnection)
        /// The attached service, with its number of the question.
        case attached(UInt64)
    }

    private struct Question {
        let text: String
        let asker: Asker

        var isAttached: Bool { if case .attached = asker { true } else { false } }
    }

    private struct Asked {
        /// Who waits; nil if it has gone, or was told no.
        var asker: Asker?
        let process: pid_t
        /// The program's output; nil after its end.
        var output: Int32?
        var answer: [UInt8] = []
        /// When the next signal is sent to a program that does not end, in milliseconds of the agent's clock; nil after the
        /// last one.
        var end: UInt64?
        var wasEnded = false
    }

    private let asking: Asking?
    private var waiting: [Question] = []
    private var asked: Asked?

    /// How long a person may think about it, and how long a program may take to end, in milliseconds.
    static let patience: UInt64 = 120_000
    static let grace: UInt64 = 2000
    private static let longestAnswer = 1024

    init(_ asking: Asking?) { self.asking = asking }

    deinit {
        guard let asked else { return }
        if let output = asked.output { close(output) }
        kill(-asked.process, SIGTERM)
        // An agent that ends waits only a moment.
        for _ in 0..<20 where !Self.hasEnded(asked.process) { usleep(10_000) }
        // What the program has started may not have ended with it. Until it is waited for, its number is not another's.
        kill(-asked.process, SIGKILL)
        waitpid(asked.process, nil, WNOHANG)
    }

    /// Whether a program has ended, which is still to be waited for.
    private static func hasEnded(_ process: pid_t) -> Bool {
        var state = siginfo_t()
        return waitid(P_PID, id_t(process), &state, WEXITED | WNOHANG | WNOWAIT) != 0 || state.si_signo != 0
    }

    /// The descriptor to poll; nil while there is none.
    var descriptor: Int32? { asked?.output }

    /// When ``takeAnswer(now:)`` has something to do even if nothing has happened.
    var nextEnd: UInt64? { asked?.end }

    func add(_ text: String, from client: ClientConnection) {
        client.isWaiting = true
        add(text, from: .connection(client))
    }

    /// Adds a question. Those of connections come before those of the attached service, whose clients may ask many.
    func add(_ text: String, from asker: Asker) {
        var place = waiting.count
        if case .connection = asker { place = waiting.firstIndex(where: \.isAttached) ?? place }
        waiting.insert(Question(text: text, asker: asker), at: place)
    }

    /// Forgets the questions of a client that has gone.
    func forget(_ client: ClientConnection, now: UInt64) {
        forget(now: now) { asker in if case .connection(let other) = asker { other === client } else { false } }
    }

    /// Forgets the questions of those that have gone.
    func forget(now: UInt64, where hasGone: (Asker) -> Bool) {
        waiting.removeAll { hasGone($0.asker) }
        // The program is not at fault: whatever the answer is, it has no effect.
        if asked?.asker.map(hasGone) ?? false {
            asked?.asker = nil
            endProgram(now: now)
        }
    }

    /// Asks the next question, if none is being asked. Returns whose question cannot be asked, if any.
    func askNext(now: UInt64) -> Asker? {
        guard asked == nil, !waiting.isEmpty else { return nil }
        let question = waiting.removeFirst()
        var ends: [Int32] = [-1, -1]
        guard let asking, vault_pipe(&ends) == 0 else { return question.asker }
        UnixSocket.prepare(ends[0])
        defer { close(ends[1]) }
        do {
            let process = try asking(question.text, ends[1])
            asked = Asked(asker: question.asker, process: process, output: ends[0], end: now + Self.patience)
            return nil
        } catch {
            close(ends[0])
            return question.asker
        }
    }

    /// Returns the answer if the program has ended, or if it has had its time; call it after each event. The end of the
    /// output is not the end of the program, nor the other way round.
    func takeAnswer(now: UInt64) -> (asker: Asker, answer: PersonAnswer)? {
        guard let asked else { return nil }
        var status: Int32 = -1
        if waitpid(asked.process, &status, WNOHANG) != 0 {
            readOutput()
            let answer = self.asked?.answer ?? []
            closeOutput()
            self.asked = nil
            let isYes = !asked.wasEnded && status == 0 && Self.isYes(answer)
            return asked.asker.map { ($0, isYes ? .yes : .no) }
        }
        guard let end = asked.end, end <= now else { return nil }
        endProgram(now: now)
        self.asked?.asker = nil
        return asked.asker.map { ($0, .late) }
    }

    /// Reads what the program has written so far. More than the longest answer is read and not kept: it is no answer.
    func readOutput() {
        while let output = asked?.output {
            var bytes = [UInt8](repeating: 0, count: Self.longestAnswer)
            let count = read(output, &bytes, bytes.count)
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            guard count > 0 else { return closeOutput() }
            let room = Self.longestAnswer + 1 - (asked?.answer.count ?? 0)
            asked?.answer += bytes.prefix(min(count, room))
        }
    }

    private func closeOutput() {
        if let output = asked?.output { close(output) }
        asked?.output = nil
    }

    private static func isYes(_ answer: [UInt8]) -> Bool {
        guard answer.count <= longestAnswer else { return false }
        var line = answer[...]
        if line.last == UInt8(ascii: "\n") { line = line.dropLast() }
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        return line.isEmpty || String(decoding: line, as: UTF8.self).lowercased() == "yes"
    }

    /// Asks the program and what it has started to end; the second time, kills them.
    private func endProgram(now: UInt64) {
        guard let asked else { return }
        kill(-asked.process, asked.wasEnded ? SIGKILL : SIGTERM)
        self.asked?.end = asked.wasEnded ? nil : now + Self.grace
        self.asked?.wasEnded = true
    }
}
