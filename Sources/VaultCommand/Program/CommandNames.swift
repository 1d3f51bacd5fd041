import ArgumentParser
import VaultArguments
import VaultLocal

/// The names of the commands, taken from their configurations.
enum CommandNames {
    /// Returns "vaultfmt" and the command names at the start of the arguments.
    static func path(in arguments: [String]) -> [String] { walk(arguments).path }

    /// Returns the command that the arguments begin with.
    static func command(in arguments: [String]) -> any ParsableCommand.Type { walk(arguments).command }

    /// Returns the arguments with a command's synonym replaced by the command.
    static func withoutSynonym(_ arguments: [String]) -> [String] {
        let (path, _, choices, rest) = walk(arguments)
        guard !choices.isEmpty, let word = rest.first else { return arguments }
        let group = path.dropFirst().joined(separator: " ")
        guard let meant = Synonyms.commands[group]?[word],
            meant.first.map({ choices.contains($0) || $0.hasPrefix("-") }) ?? false
        else { return arguments }
        return Array(path.dropFirst()) + meant + Array(rest.dropFirst())
    }

    /// Returns the leaf command at the start of the arguments, and the arguments after its name; nil if they do not
    /// name a leaf command.
    static func leaf(in arguments: [String]) -> (command: any ParsableCommand.Type, rest: [String])? {
        let (_, command, _, rest) = walk(arguments)
        guard command.configuration.subcommands.isEmpty else { return nil }
        return (command, Array(rest))
    }

    /// Returns the arguments with a leading `--vault FILE` or `-f FILE` moved behind the command's name.
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

    /// Returns the paths of the commands that have subcommands, without "vaultfmt": [] for the program itself comes
    /// first.
    static func groups(below path: [String] = []) -> [[String]] {
        let subcommands = CommandList.commands(of: walk(path).command)
        guard !subcommands.isEmpty else { return [] }
        return [path] + subcommands.flatMap { groups(below: path + [$0._commandName]) }
    }

    /// Returns the aliases and synonyms of a group's commands, each with the path of the corresponding command.
    /// - `group`: A path as in `groups`.
    static func otherNames(in group: [String]) -> [(name: String, path: [String])] {
        var paths: [String: [String]] = [:]
        for synonym in (Synonyms.commands[group.joined(separator: " ")] ?? [:]).keys {
            let path = Array(walk(withoutSynonym(group + [synonym])).path.dropFirst())
            // A synonym may represent an option, and names of commands precede synonyms.
            if path.count > group.count, path.last != synonym { paths[synonym] = path }
        }
        for command in CommandList.commands(of: walk(group).command) {
            for alias in command.configuration.aliases { paths[alias] = group + [command._commandName] }
        }
        return paths.sorted { $0.key < $1.key }.map { (name: $0.key, path: $0.value) }
    }

    /// Returns the message for arguments that name an unknown command; nil if the command is known.
    /// - `others`: Other words that are allowed there.
    static func misspelling(in arguments: [String], others: [String] = []) -> String? {
        let (path, _, choices, rest) = walk(arguments)
        guard !choices.isEmpty, let word = rest.first, !word.hasPrefix("-") else { return nil }
        let prefix = path.joined(separator: " ")
        let shown = TerminalText.quoted(word)
        if path.count == 1, let advice = Synonyms.advice[word.lowercased()] { return advice }
        guard let nearest = Spelling.nearest(to: word, among: choices + others) else {
            return "there is no command \(shown); '\(prefix) --help' lists all commands"
        }
        let command = others.contains(nearest) ? "\(prefix) help \(nearest)" : "\(prefix) \(nearest)"
        return "there is no command \(shown); did you mean '\(command)'? '\(prefix) --help' lists all commands"
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
        [command.configuration.commandName ?? command._commandName] + command.configuration.aliases
    }
}
