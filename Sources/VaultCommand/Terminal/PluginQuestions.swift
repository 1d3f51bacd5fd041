import VaultAge
import VaultFmt
import VaultLocal

/// Relays messages and questions from age plugins to the terminal. The text is prefixed with the plugin's name, to make
/// clear that the question does not come from this program.
struct PluginQuestions: PluginDialogue {
    /// False with `--no-input`.
    let mayAsk: Bool

    func show(_ message: String, from plugin: String) -> Bool {
        Progress.holding { Terminal.note("\(Self.name(plugin)): \(Self.line(message))") }
        return true
    }

    func confirm(_ message: String, yes: String, no: String?, from plugin: String) -> Bool? {
        guard mayAsk, Prompt.isPossible else { return nil }
        let answers = no.map { "y: \(Self.line(yes)), n: \(Self.line($0))" } ?? "y: \(Self.line(yes))"
        let question = "\(Self.name(plugin)): \(Self.line(message)) (\(answers))"
        do { return try Progress.holding { try Prompt.confirm(question, instead: "") } } catch { return nil }
    }

    func ask(_ message: String, isSecret: Bool, from plugin: String) -> Secret? {
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
        return TerminalText.escaped(String(words.prefix(300)))
    }
}
