import Glibc
import VaultAgent
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// How an agent opens its vault with a passphrase that was typed at its pinentry. Deriving the key can take several
/// seconds, so a separate process derives it and hands it over. The agent then opens the vault with all of its checks.
///
/// The process runs the agent's own file with the agent's own arguments and ``option``, so that it reads the same
/// factors under the same limits.
enum TypedOpening {
    static let option = "--open-typed"

    /// The first byte of the process's answer.
    private enum Outcome: UInt8 {
        /// A ``HandedKey`` follows.
        case opened = 0
        /// The passphrase is wrong.
        case wrong = 1
        /// The vault cannot be opened; the reason follows.
        case failed = 2
    }

    /// The variables that name files with factors. They are withheld from other programs, but contain no secrets.
    private static let files = ["VAULTFMT_PASSPHRASE_FILE", "VAULTFMT_KEY_FILE", "VAULTFMT_IDENTITY"]

    // MARK: in the agent

    /// Starts the process with a socket as its standard input and output; it inherits the agent's standard error, for
    /// its warnings. It is killed when the agent ends, for whatever reason.
    static func start(_ socket: Int32) throws(AgentError) -> Int32 {
        var settings: [String: String] = [:]
        for name in files { settings[name] = Environment.nonEmpty(name) }
        let arguments = Array(ProcessArguments.all.dropFirst()) + [option]
        do {
            // The file's path is not used, because another version may since have been installed there.
            return try Subprocess.startAsking(
                "/proc/self/exe", arguments, input: socket, output: socket, error: STDERR_FILENO, settings: settings,
                ending: SIGKILL)
        } catch { throw AgentError(.system, CommandFailure(error).message) }
    }

    /// Opens the vault with the process's answer. Throws an `AgentError`, which is `refused` if the passphrase is
    /// wrong.
    static func vault(
        _ answer: UnsafeRawBufferPointer, _ open: (borrowing HandedKey) throws -> Vault
    ) throws(AgentError) -> Vault {
        guard let outcome = answer.first.flatMap({ Outcome(rawValue: $0) }) else {
            throw AgentError(.unavailable, "the process that derives its key ended without an answer")
        }
        let rest = UnsafeRawBufferPointer(rebasing: answer.dropFirst())
        guard outcome == .opened else {
            let reason = TerminalText.singleLine(String(decoding: rest, as: UTF8.self))
            throw AgentError(outcome == .wrong ? .refused : .unavailable, reason)
        }
        guard let key = HandedKey.decoded(rest) else {
            throw AgentError(.unavailable, "the answer of the process that derives its key is incomplete")
        }
        // The passphrase was right: if the key opens nothing, the slot has since changed, so this is not a typing
        // error.
        do { return try open(key) } catch { throw AgentError(.unavailable, CommandFailure(error).message) }
    }

    // MARK: in the process

    /// Reads the passphrase from standard input, and writes the answer to standard output.
    ///
    /// - `open`: Opens the vault with the passphrase and the given factors; returns nil if they do not suffice.
    static func answer(_ open: (SharedSecret) throws -> Vault?) throws {
        let message = try Descriptor.readAll(STDIN_FILENO, name: "the passphrase", limit: Opening.longestMessage)
        guard let passphrase = Opening.passphrase(in: message) else {
            throw CommandFailure(.usage, "only a running agent uses \(option); leave it out")
        }
        let answer = outcome(of: passphrase, open)
        let failure = answer.withUnsafeBytes { Descriptor.writeAll(STDOUT_FILENO, $0) }
        guard failure == 0 else { throw CommandFailure(system: failure, "cannot hand over the vault's key") }
    }

    private static func outcome(of passphrase: SharedSecret, _ open: (SharedSecret) throws -> Vault?) -> Secret {
        do {
            guard let vault = try open(passphrase) else { return Secret(bytes: [Outcome.wrong.rawValue]) }
            let key = try HandedKey.encoded(vault)
            var answer = SecretBuffer(capacity: 1 + HandedKey.size)
            answer.append(Outcome.opened.rawValue)
            answer.append(key)
            return answer.secret()
        } catch {
            let failure = CommandFailure(error)
            let outcome: Outcome = failure.code == .noSlotOpens ? .wrong : .failed
            let reason = failure.message.utf8.prefix(Opening.longestAnswer - 1)
            return Secret(bytes: [outcome.rawValue] + Array(reason))
        }
    }
}
