package import VaultFmt
import VaultLocal

/// Questions to the person at the terminal.
package enum Prompt {
    /// Asks for a secret without echo.
    /// - `question`: The question without the colon; it is escaped here.
    /// - `instead`: The alternative to a prompt, for the error message if there is no terminal.
    package static func secret(_ question: String, instead: String) throws -> Secret {
        try requireTerminal(for: question, instead: instead)
        return try ask(question)
    }

    /// Asks for a value that may be shown as it is typed.
    static func line(_ question: String, instead: String) throws -> Secret {
        try requireTerminal(for: question, instead: instead)
        return try ask(question, isHidden: false)
    }

    /// Asks twice for a secret to be stored, and starts over if the two answers differ; gives up after three rounds.
    package static func newSecret(_ question: String, instead: String) throws -> Secret {
        try requireTerminal(for: question, instead: instead)
        ControllingTerminal.beginSeries()
        defer { ControllingTerminal.endSeries() }
        for _ in 0..<3 {
            let first = try ask(question)
            let second = try ask("\(question), again")
            if first.equals(second) { return first }
            Terminal.note("the two entries do not match; try again")
        }
        throw CommandFailure(.noAccess, "the two answers differed in all three attempts; nothing was changed")
    }

    /// Asks for a secret of several lines without echo; Ctrl-D ends it. The prompt appears only once, because such a
    /// secret is usually pasted; its size is then shown.
    package static func secretText(_ question: String, instead: String) throws -> Secret {
        try requireTerminal(for: question, instead: instead)
        let prompt = "\(TerminalText.singleLine(question)), ended by Ctrl-D on a line of its own:\n"
        guard let text = try ControllingTerminal.readText(prompt: prompt) else {
            throw CommandFailure(.noAccess, "no answer was given (\(question)); nothing was changed")
        }
        let lines = text.withUnsafeBytes { bytes in
            bytes.count { $0 == 0x0A } + (bytes.last == 0x0A ? 0 : 1)
        }
        Terminal.note("read \(lines) \(lines == 1 ? "line" : "lines"), \(text.count) bytes")
        return text
    }

    /// Asks a yes-or-no question; any answer other than yes means no.
    package static func confirm(_ question: String, instead: String) throws -> Bool {
        // Nothing is missing that opens a vault; an option would have answered.
        try requireTerminal(for: question, instead: instead, otherwise: .usage)
        let text = TerminalText.singleLine(question)
        guard let answer = try ControllingTerminal.readLine(prompt: "\(text) [y/N] ", hidden: false) else {
            return false
        }
        return ["y", "Y", "yes", "Yes", "YES"].contains { answer.equals(Secret(text: $0)) }
    }

    /// True if there is a terminal for prompts.
    package static var isPossible: Bool { ControllingTerminal.isThere }

    private static func requireTerminal(
        for question: String, instead: String, otherwise status: ExitStatus = .noAccess
    ) throws {
        guard ControllingTerminal.isThere else {
            throw CommandFailure(status, "there is no terminal to prompt on (\(question)); \(instead)")
        }
    }

    private static func ask(_ question: String, isHidden: Bool = true) throws -> Secret {
        let text = TerminalText.singleLine(question)
        guard let answer = try ControllingTerminal.readLine(prompt: "\(text): ", hidden: isHidden) else {
            throw CommandFailure(.noAccess, "no answer was given (\(question)); nothing was changed")
        }
        return answer
    }
}
