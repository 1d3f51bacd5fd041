import ArgumentParser
import Glibc
import VaultConsole

/// `vaultfmt help` and `--help`: the argument parser's own help covers only commands, and fills several screens.
enum Help {
    /// Returns the answer to arguments that request help or the version without naming a command; nil for other
    /// arguments.
    static func answer(to arguments: [String]) throws -> String? {
        if arguments == ["--version"] { return Release.version }
        guard arguments.first == "help" else { return nil }
        let columns = Terminal.columns(of: STDOUT_FILENO)
        let words = arguments.dropFirst().filter { !$0.hasPrefix("-") }
        if let topic = words.first, words.count == 1, let lines = try HelpTopics.lines(topic, columns: columns) {
            return lines.joined(separator: "\n")
        }
        if words == ["help"] { return try page([], isWhole: false, columns: columns).joined(separator: "\n") }
        let named = CommandNames.withoutSynonym(words)
        if let message = CommandNames.misspelling(in: named, others: HelpTopics.names) {
            throw CommandFailure(.usage, message)
        }
        return try page(named, isWhole: isWhole(arguments) ?? false, columns: columns).joined(separator: "\n")
    }

    /// Returns true if the arguments request help on every option, false if they request the help that fits a screen,
    /// and nil otherwise.
    static func isWhole(_ arguments: [String]) -> Bool? {
        let options = arguments.prefix { $0 != "--" }
        if options.contains("--help-hidden") || options.contains("--help-all") { return true }
        return options.contains("--help") || options.contains("-h") ? false : nil
    }

    /// Returns the help of the command that the arguments name.
    static func page(_ arguments: [String], isWhole: Bool, columns: Int?) throws -> [String] {
        try HelpPage.lines(
            of: CommandNames.command(in: arguments), path: CommandNames.path(in: arguments), isWhole: isWhole,
            layout: HelpLayout(terminalColumns: columns))
    }
}
