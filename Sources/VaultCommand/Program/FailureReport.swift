import ArgumentParser
import Glibc
import VaultConsole
import VaultExchange
import VaultFmt

/// Reports a failed command: writes one line to standard error, with the problem and the next step, and determines the
/// exit code.
enum FailureReport {
    /// Reports an error and returns the exit code; help that was requested goes to standard output.
    static func conclude(_ error: any Error, arguments: [String]) -> ExitStatus {
        switch error {
        case is CommandFailure, is ExchangeError, is VaultError: return report(CommandFailure(error))
        case is MissingCommand: return reportMissingCommand(arguments)
        default: break
        }
        switch Vaultfmt.exitCode(for: error) {
        case .success: return answer(success: error, arguments)
        case .validationFailure: return report(CommandFailure(.usage, UsageMessage.text(error, arguments)))
        default:
            return report(CommandFailure(error))
        }
    }

    private static func report(_ failure: CommandFailure) -> ExitStatus {
        Terminal.failure(failure.message)
        return failure.status
    }

    /// Reports a missing command: usage goes to standard error, and the exit code is not 0.
    private static func reportMissingCommand(_ arguments: [String]) -> ExitStatus {
        do {
            for line in try Help.page(arguments, isWhole: false, columns: Terminal.columns(of: STDERR_FILENO)) {
                Terminal.errorLine(line)
            }
        } catch {
            return report(CommandFailure(error))
        }
        let command = CommandNames.path(in: arguments).joined(separator: " ")
        return report(CommandFailure(.usage, "no command is given; '\(command) --help' lists the commands"))
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

    /// Answers a request for help, for a completion script, or for completions.
    private static func answer(success request: any Error, _ arguments: [String]) -> ExitStatus {
        let text = Vaultfmt.fullMessage(for: request)
        guard !CompletionScript.isAsked(arguments) else { return answer(CompletionScript.completed(text)) }
        guard let isWhole = Help.isWhole(arguments), text.hasPrefix("OVERVIEW: ") else { return answer(text) }
        do {
            let columns = Terminal.columns(of: STDOUT_FILENO)
            return answer(try Help.page(arguments, isWhole: isWhole, columns: columns).joined(separator: "\n"))
        } catch {
            return report(CommandFailure(error))
        }
    }
}
