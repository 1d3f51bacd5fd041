import ArgumentParser
import Glibc
import VaultFmt

/// How a failed command ends: one line on standard error that says what and what to do, and the exit code.
enum FailureReport {
    /// Reports an error and returns the exit code; requests for help are answered on standard output.
    static func conclude(_ error: any Error, arguments: [String]) -> ExitStatus {
        switch error {
        case let failure as CommandFailure: return report(failure)
        case let error as VaultError: return report(CommandFailure(error))
        default: break
        }
        switch Vaultfmt.exitCode(for: error) {
        case .success: return answer(Vaultfmt.fullMessage(for: error))
        case .validationFailure: return report(CommandFailure(.usage, usageMessage(error, arguments)))
        default: return report(CommandFailure(.bug, "unexpected: \(error); this is a bug in vaultfmt: please report it"))
        }
    }

    private static func report(_ failure: CommandFailure) -> ExitStatus {
        Terminal.failure(failure.message)
        return failure.status
    }

    private static func answer(_ text: String) -> ExitStatus {
        let output = Output.standard()
        do throws(CommandFailure) {
            try output.line(text)
            try output.flush()
            return .success
        } catch {
            return report(error)
        }
    }

    private static func usageMessage(_ error: any Error, _ arguments: [String]) -> String {
        if let message = CommandNames.misspelling(in: arguments) { return message }
        let lines = Vaultfmt.message(for: error).split(separator: "\n").map { $0.drop { $0 == " " } }
        var message = lines.joined(separator: " ")
        if let first = message.first, first.isUppercase, message.dropFirst().first?.isLowercase == true {
            message = first.lowercased() + message.dropFirst()
        }
        while message.last == "." { message.removeLast() }
        let command = CommandNames.path(in: arguments).joined(separator: " ")
        let parts = message.split(separator: ". Did you mean", maxSplits: 1)
        guard parts.count == 2 else { return "\(message); see '\(command) --help'" }
        return "\(parts[0]); did you mean\(parts[1]) See '\(command) --help'"
    }
}

/// The names of the commands, as the configuration has them.
enum CommandNames {
    /// "vaultfmt" and the commands that the arguments begin with.
    static func path(in arguments: [String]) -> [String] { walk(arguments).path }

    /// What to say where the arguments name a command that does not exist, or nil where they do not.
    static func misspelling(in arguments: [String]) -> String? {
        let (path, choices, rest) = walk(arguments)
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

    private static func walk(_ arguments: [String]) -> (path: [String], choices: [String], rest: ArraySlice<String>) {
        var path = ["vaultfmt"]
        var command: any ParsableCommand.Type = Vaultfmt.self
        var rest = arguments[...]
        while let word = rest.first {
            guard let next = command.configuration.subcommands.first(where: { names(of: $0).contains(word) }) else { break }
            path.append(word)
            command = next
            rest = rest.dropFirst()
        }
        return (path, command.configuration.subcommands.filter { $0.configuration.shouldDisplay }.flatMap(names), rest)
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
