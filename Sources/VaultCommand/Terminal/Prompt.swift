import VaultFmt
import VaultLocal

/// Questions to the person at the terminal.
enum Prompt {
    /// Asks for something secret without showing it.
    /// - `question`: Without the colon; what it holds is escaped.
    /// - `instead`: What to do where there is no terminal, for the error message.
    static func secret(_ question: String, instead: String) throws -> Secret {
        try requireTerminal(for: question, instead: instead)
        return try ask(question)
    }

    /// Asks twice for something secret that is to be stored, until both answers agree; gives up after three rounds.
    static func newSecret(_ question: String, instead: String) throws -> Secret {
        try requireTerminal(for: question, instead: instead)
        ControllingTerminal.beginSeries()
        defer { ControllingTerminal.endSeries() }
        for _ in 0..<3 {
            let first = try ask(question)
            let second = try ask("\(question), again")
            if first.equals(second) { return first }
            Terminal.note("the two do not match; try again")
        }
        throw CommandFailure(.noAccess, "the two did not match three times; nothing was changed")
    }

    /// Asks a question that is answered with yes or no; anything but yes is no.
    static func confirm(_ question: String, instead: String) throws -> Bool {
        try requireTerminal(for: question, instead: instead)
        let text = TerminalText.singleLine(question)
        guard let answer = try ControllingTerminal.readLine(prompt: "\(text) [y/N] ", hidden: false) else {
            return false
        }
        return ["y", "Y", "yes", "Yes", "YES"].contains { answer.equals(Secret(text: $0)) }
    }

    /// Whether there is a terminal to ask on.
    static var isPossible: Bool { ControllingTerminal.isThere }

    private static func requireTerminal(for question: String, instead: String) throws {
        guard ControllingTerminal.isThere else {
            throw CommandFailure(.noAccess, "there is no terminal to prompt on (\(question)); \(instead)")
        }
    }

    private static func ask(_ question: String) throws -> Secret {
        let text = TerminalText.singleLine(question)
        guard let answer = try ControllingTerminal.readLine(prompt: "\(text): ", hidden: true) else {
            throw CommandFailure(.noAccess, "no answer was given (\(question)); nothing was changed")
        }
        return answer
    }
}
