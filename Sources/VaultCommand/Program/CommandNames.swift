import ArgumentParser
import VaultLocal

/// The names of the commands, as the configuration has them.
enum CommandNames {
    /// "vaultfmt" and the commands that the arguments begin with.
    static func path(in arguments: [String]) -> [String] { walk(arguments).path }

    /// The command that the arguments begin with.
    static func command(in arguments: [String]) -> any ParsableCommand.Type { walk(arguments).command }

    /// The arguments with `--vault FILE` or `-f FILE`, where they stand before a command's name, moved behind it.
    static func vaultAfterCommand(_ arguments: [String]) -> [String] {
        var names: [String] = []
        var vault: [String] = []
        var command: any ParsableCommand.Type = Vaultfmt.self
        var rest = arguments[...]
        while let word = rest.first {
            let subcommands = command.configuration.subcommands
            if let next = subcommands.first(where: { Self.names(of: $0).contains(word) }) {
                names.append(word)
                command = next
                rest = rest.dropFirst()
            } else if !subcommands.isEmpty, word == "-f" || word == "--vault", rest.count > 1 {
                vault += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else if !subcommands.isEmpty, word.hasPrefix("--vault=") || (word.hasPrefix("-f") && word.count > 2) {
                vault.append(word)
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        return names + vault + rest
    }

    /// What to say where the arguments name a command that does not exist, or nil where they do not.
    static func misspelling(in arguments: [String]) -> String? {
        let (path, _, choices, rest) = walk(arguments)
        guard !choices.isEmpty, let word = rest.first, !word.hasPrefix("-") else { return nil }
        let prefix = path.joined(separator: " ")
        let shown = TerminalText.quoted(word)
        guard let nearest = nearest(to: word, among: choices) else {
            return "there is no command \(shown); '\(prefix) --help' lists them"
        }
        return "there is no command \(shown); did you mean '\(prefix) \(nearest)'? '\(prefix) --help' lists them all"
    }

    /// The choice with the fewest changes from the word, if those are fewer than its letters.
    static func nearest(to word: String, among choices: [String]) -> String? {
        let word = Array(word.prefix(64).lowercased())
        let scored = choices.map { (choice: $0, distance: distance(word, Array($0))) }
        guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance < max(2, min(word.count, best.choice.count)) ? best.choice : nil
    }

    private typealias Walk = (
        path: [String], command: any ParsableCommand.Type, choices: [String], rest: ArraySlice<String>
    )

    private static func walk(_ arguments: [String]) -> Walk {
        var path = ["vaultfmt"]
        var command: any ParsableCommand.Type = Vaultfmt.self
        var rest = arguments[...]
        while let word = rest.first {
            guard let next = command.configuration.subcommands.first(where: { names(of: $0).contains(word) }) else {
                break
            }
            path.append(word)
            command = next
            rest = rest.dropFirst()
        }
        return (
            path, command, command.configuration.subcommands.filter { $0.configuration.shouldDisplay }.flatMap(names),
            rest
        )
    }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        [command._commandName] + command.configuration.aliases
    }

    /// Insertions, removals, substitutions and swaps of neighbours (optimal string alignment).
    private static func distance(_ a: [Character], _ b: [Character]) -> Int {
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var best = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
