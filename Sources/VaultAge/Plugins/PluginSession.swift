internal import Glibc
internal import VaultCrypto

/// A conversation with a plugin: first our commands, then its requests (C2SP age-plugin.md, *Phases*).
struct PluginSession: ~Copyable {
    private let host: PluginHost
    private let name: String
    private var process: PluginProcess
    private var stream: PluginStream
    /// The first error that the plugin reported.
    private(set) var reported: AgeError?
    /// The reason a question could not be answered; nil if all questions were answered as the plugin requires.
    private var refusal: String?
    private var questions = 0

    /// The maximum number of characters of an error that are shown.
    private static let longest = 1000
    /// The maximum number of questions that one plugin may ask.
    private static let mostQuestions = 100

    init(host: PluginHost, name: String, process: consuming PluginProcess) {
        self.host = host
        self.name = name
        stream = PluginStream(
            reading: process.output, writing: process.input, errors: process.errors, patience: host.patience)
        self.process = process
    }

    /// Phase 1: sends the commands to the plugin.
    mutating func tell(_ text: borrowing PluginText) throws(AgeError) {
        do throws(PluginStreamFailure) { try stream.send(text) } catch { throw failure(error) }
    }

    /// Phase 2: answers the plugin until it is done. `result` stores a result, and returns false for an unknown
    /// command.
    mutating func answer(_ result: (borrowing PluginMessage) throws(AgeError) -> Bool) throws(AgeError) {
        while true {
            let message: PluginMessage
            do throws(PluginStreamFailure) { message = try stream.receive() } catch { throw failure(error) }
            if message.type == "done" { break }
            var reply = PluginText()
            if message.type == "error" {
                note(message)
                reply.append(["ok"])
            } else if try !converse(message, &reply) {
                let isKnown: Bool
                do throws(AgeError) { isKnown = try result(message) } catch {
                    throw AgeError(.pluginFailed, "the age plugin '\(name)' \(error.detail)")
                }
                reply.append([isKnown ? "ok" : "unsupported"])
            }
            try tell(reply)
        }
        _ = process.finish()
    }

    // MARK: requests

    /// Relays a message that is meant for the person; returns false for any other message.
    private mutating func converse(_ message: borrowing PluginMessage, _ reply: inout PluginText) throws(AgeError)
        -> Bool
    {
        switch message.type {
        case "msg":
            try countQuestion()
            reply.append([host.dialogue.show(message.text, from: name) ? "ok" : "fail"])
        case "confirm":
            try countQuestion()
            try confirm(message, &reply)
        case "request-public", "request-secret":
            try countQuestion()
            let isSecret = message.type == "request-secret"
            if let answer = host.dialogue.ask(message.text, isSecret: isSecret, from: name) {
                reply.append(["ok"], body: answer)
            } else {
                refusal = unanswered
                reply.append(["fail"])
            }
        default: return false
        }
        return true
    }

    private mutating func confirm(_ message: borrowing PluginMessage, _ reply: inout PluginText) throws(AgeError) {
        let labels = message.arguments.map { Base64.decode($0.utf8).map { String(decoding: $0, as: UTF8.self) } }
        guard (1...2).contains(labels.count), let yes = labels[0], !labels.contains(nil) else {
            throw malformed("requested a confirmation without specifying the answers")
        }
        switch host.dialogue.confirm(message.text, yes: yes, no: labels.count > 1 ? labels[1] : nil, from: name) {
        case true?: reply.append(["ok", "yes"])
        case false?:
            refusal = "cancelled when the age plugin '\(name)' asked a question"
            reply.append(["ok", "no"])
        case nil:
            refusal = unanswered
            reply.append(["fail"])
        }
    }

    private var unanswered: String { "cancelled because nobody answered the age plugin '\(name)'" }

    private mutating func countQuestion() throws(AgeError) {
        questions += 1
        guard questions <= Self.mostQuestions else { throw malformed("sent too many messages") }
    }

    // MARK: failures

    /// Records an error that the plugin reports; only the first one is kept.
    private mutating func note(_ message: borrowing PluginMessage) {
        guard reported == nil else { return }
        let said = Self.line(message.text)
        if let refusal {
            reported = AgeError(.cancelled, "\(refusal): \(said)")
            return
        }
        // An identity fails if its device is absent or the PIN is wrong.
        let isIdentity = message.arguments.first == "identity"
        reported = AgeError(isIdentity ? .noDevice : .pluginFailed, "the age plugin '\(name)' reports: \(said)")
    }

    private func malformed(_ what: String) -> AgeError {
        AgeError(.pluginFailed, "the age plugin '\(name)' \(what)")
    }

    private mutating func failure(_ failure: PluginStreamFailure) -> AgeError {
        switch failure {
        case .timedOut:
            return AgeError(
                .timedOut, "the age plugin '\(name)' did not respond for \(host.patience.components.seconds) s")
        case .malformed(let what): return malformed("broke the protocol: \(what)")
        case .system(let number):
            return AgeError(
                .pluginFailed, "cannot communicate with the age plugin '\(name)': \(PluginProcess.message(number))")
        case .closed: return ended()
        }
    }

    /// Returns the error for a plugin that exited before it had finished.
    private mutating func ended() -> AgeError {
        stream.finishErrors()
        let code = process.finish()
        let end = code.map { "exited with code \($0)" } ?? "was killed by a signal"
        let tail = String(decoding: stream.errorTail, as: UTF8.self)
        let last = tail.split(whereSeparator: \.isNewline).last { !$0.allSatisfy(\.isWhitespace) }
        let said = last.map { "; its last message was: \(Self.line(String($0)))" } ?? ""
        if let refusal { return AgeError(.cancelled, refusal + said) }
        return AgeError(.pluginFailed, "the age plugin '\(name)' \(end) before it had finished\(said)")
    }

    /// Returns the beginning of a text, short enough for an error message.
    private static func line(_ text: String) -> String {
        let line = String(text.prefix(longest).map { $0.isNewline || $0 == "\t" ? " " : $0 })
        return line.isEmpty ? "no reason" : text.count > longest ? line + "…" : line
    }
}
