import VaultAge
package import VaultFmt
import VaultLocal

/// Relays messages and questions from age plugins to the terminal. The text is prefixed with the plugin's name, to make
/// clear that the question does not come from this program.
package struct PluginQuestions: PluginDialogue {
    /// False with `--no-input`.
    let mayAsk: Bool

    package init(mayAsk: Bool) { self.mayAsk = mayAsk }

    package func show(_ message: String, from plugin: String) -> Bool {
        Progress.holding { Terminal.note("\(Self.name(plugin)): \(Self.line(message))") }
        return true
    }

    package func confirm(_ message: String, yes: String, no: String?, from plugin: String) -> Bool? {
        guard mayAsk, Prompt.isPossible else { return nil }
        let answers = no.map { "y: \(Self.line(yes)), n: \(Self.line($0))" } ?? "Enter: \(Self.line(yes))"
        let question = "\(Self.name(plugin)): \(Self.line(message)) (\(answers))"
        do {
            return try Progress.holding {
                for _ in 0..<Self.mostTries {
                    let answer = try Prompt.line(question, instead: "")
                    if Self.is(answer, ["y", "yes", yes]) || (no == nil && answer.count == 0) { return true }
                    if let no, Self.is(answer, ["n", "no", no]) { return false }
                    guard no != nil else { return nil }
                    Terminal.note("answer y or n, or press Ctrl-D to cancel")
                }
                return nil
            }
        } catch { return nil }
    }

    private static let mostTries = 3

    private static func `is`(_ answer: borrowing Secret, _ words: [String]) -> Bool {
        let answer = answer.withUnsafeBytes { String(decoding: $0, as: UTF8.self).lowercased() }
        return words.contains { $0.lowercased() == answer }
    }

    package func ask(_ message: String, isSecret: Bool, from plugin: String) -> Secret? {
        guard mayAsk, Prompt.isPossible else { return nil }
        let question = "\(Self.name(plugin)) asks: \(Self.line(message))"
        do {
            return try Progress.holding {
                try isSecret ? Prompt.secret(question, instead: "") : Prompt.line(question, instead: "")
            }
        } catch { return nil }
    }

    private static func name(_ plugin: String) -> String { "age plugin \(TerminalText.quoted(plugin))" }

    /// A plugin's text on one line, without a trailing colon, because the prompt adds one.
    private static func line(_ text: String) -> String {
        var words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        while words.last == ":" { words.removeLast() }
        return TerminalText.escaped(words)
    }
}
