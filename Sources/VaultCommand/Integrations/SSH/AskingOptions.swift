import ArgumentParser
import VaultAgent
import VaultArguments
import VaultConsole
import VaultLocal

/// Options for the programs that ask a person on behalf of the agent.
struct AskingOptions: ParsableArguments {
    @Option(
        "Ask with this pinentry: a path, a name in PATH, or 'none'. By default, SSH_ASKPASS asks for consent, and pinentry is used if there is a screen.",
        value: "program", isFile: true)
    var pinentry: String?

    @Flag(help: "Ask with a pinentry on this terminal; the agent stays in the foreground.")
    var onTerminal = false

    func validate() throws {
        guard pinentry != Self.noProgram || !onTerminal else {
            throw ValidationError("--on-terminal needs a pinentry; leave out '--pinentry none'")
        }
    }

    private static let noProgram = "none"

    /// Finds the programs.
    func programs() throws -> AskingPrograms {
        let pinentry = try pinentryProgram()
        let isChosen = self.pinentry != nil && self.pinentry != Self.noProgram || onTerminal
        // SSH_ASKPASS, which the user set for this purpose, takes precedence over a pinentry that was merely found.
        if let pinentry, isChosen || !ConfirmationProgram.isNamed {
            return AskingPrograms(
                consent: .pinentry(pinentry.pinentry), passphrase: pinentry.pinentry,
                names: TerminalText.path(pinentry.path))
        }
        let askpass = ConfirmationProgram.find()
        let names = [
            askpass.map { TerminalText.path($0.path) },
            pinentry.map { "\(TerminalText.path($0.path)) for passphrases" },
        ]
        return AskingPrograms(
            consent: askpass.map { AskingProgram.askpass($0.start) }, passphrase: pinentry?.pinentry,
            names: names.compactMap { $0 }.joined(separator: ", "))
    }

    private func pinentryProgram() throws -> PinentryProgram? {
        guard pinentry != Self.noProgram else { return nil }
        let terminal = onTerminal ? try AgentTerminal.find() : nil
        if let pinentry { return try PinentryProgram(named: pinentry, terminal: terminal) }
        let found = PinentryProgram.find(terminal)
        guard found != nil || !onTerminal else {
            throw CommandFailure(
                .unavailable, "--on-terminal needs a pinentry; install pinentry-curses, or name one with --pinentry")
        }
        return found
    }
}
