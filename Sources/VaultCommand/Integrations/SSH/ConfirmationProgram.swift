import Glibc
import VaultConsole
import VaultLocal

/// The program that asks a person whether a key may be used: SSH_ASKPASS, as in ssh-agent.
struct ConfirmationProgram {
    let path: String

    /// True if the environment names such a program.
    static var isNamed: Bool { Environment.nonEmpty("SSH_ASKPASS") != nil }

    /// Finds the program; returns nil if there is none. A relative path is ignored, because it would depend on the
    /// directory from which the agent was started.
    static func find() -> ConfirmationProgram? {
        let named = Environment.nonEmpty("SSH_ASKPASS") ?? "ssh-askpass"
        let path = named.hasPrefix("/") ? named : named.contains("/") ? nil : Subprocess.find(named)
        guard let path, access(path, X_OK) == 0 else { return nil }
        return ConfirmationProgram(path: path)
    }

    /// Starts the program, which exits with 0 if the answer is yes. It leads its own process group, so that the whole
    /// group can be killed, and it does not outlive an agent that is killed. It shares the agent's standard error for
    /// its error messages.
    /// - `question`: The question. It begins with a fixed word, so it cannot be mistaken for an option.
    /// - `output`: The program's standard output, to which a program that can only ask for a passphrase writes what was
    ///   typed.
    func start(_ question: String, output: Int32) throws -> pid_t {
        try Subprocess.startAsking(
            path, [question], output: output, error: STDERR_FILENO, settings: ["SSH_ASKPASS_PROMPT": "confirm"])
    }
}
