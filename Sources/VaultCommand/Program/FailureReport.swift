import ArgumentParser
import Glibc
import VaultFmt

/// How a failed command ends: one line on standard error that says what and what to do, and the exit code.
enum FailureReport {
    /// Reports an error and returns the exit code; requests for help are answered on standard output.
    static func conclude(_ error: any Error, arguments: [String]) -> ExitStatus {
        switch error {
        case is CommandFailure, is VaultError: return report(CommandFailure(error))
        case is MissingCommand: return reportMissingCommand(arguments)
        default: break
        }
        switch Vaultfmt.exitCode(for: error) {
        case .success: return answer(Vaultfmt.fullMessage(for: error))
        case .validationFailure: return report(CommandFailure(.usage, usageMessage(error, arguments)))
        default:
            return report(CommandFailure(error))
        }
    }

    private static func report(_ failure: CommandFailure) -> ExitStatus {
        Terminal.failure(failure.message)
        return failure.status
    }

    /// Nothing was asked for, so nothing was done: the usage, but on standard error, and no success.
    private static func reportMissingCommand(_ arguments: [String]) -> ExitStatus {
        for line in Vaultfmt.helpMessage(for: CommandNames.command(in: arguments)).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            Terminal.errorLine(String(line))
        }
        let command = CommandNames.path(in: arguments).joined(separator: " ")
        return report(CommandFailure(.usage, "no command is given; '\(command) --help' lists them"))
    }

    /// Writes help to standard output.
    static func answer(_ text: String) -> ExitStatus {
        let output = Output.standard()
        do {
            try output.line(text)
            try output.flush()
            return .success
        } catch {
            return report(CommandFailure(error))
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
