import Glibc
import VaultConsole
import VaultLocal

/// The program that asks a person whether a key may be used: SSH_ASKPASS, as ssh-agent does.
struct ConfirmationProgram {
    let path: String

    /// Whether the environment names a program.
    static var isNamed: Bool { Environment.nonEmpty("SSH_ASKPASS") != nil }

    /// Finds the program; nil if there is none. A relative path is not used: what is there depends on where the agent
    /// was started.
    static func find() -> ConfirmationProgram? {
        let named = Environment.nonEmpty("SSH_ASKPASS") ?? "ssh-askpass"
        let path = named.hasPrefix("/") ? named : named.contains("/") ? nil : Subprocess.find(named)
        guard let path, access(path, X_OK) == 0 else { return nil }
        return ConfirmationProgram(path: path)
    }

    /// Starts the program, which ends with 0 if the answer is yes. It leads a process group, so that all of it can be
    /// ended, and does not outlive an agent that is killed. Its standard error is the agent's, for what it complains
    /// about.
    /// - `question`: The question. It begins with a fixed word, so that it is never taken for an option.
    /// - `output`: The program's standard output, where one that only asks for a passphrase writes what was typed.
    func start(_ question: String, output: Int32) throws -> pid_t {
        try Subprocess.startAsking(
            path, [question], output: output, error: STDERR_FILENO, settings: ["SSH_ASKPASS_PROMPT": "confirm"])
    }
}
