import VaultFmt
import VaultLocal

/// A copy of a vault that this machine knows only at another place (specification, section 7.2).
///
/// Such a copy may be older than the other one, or have diverged from it. The user says once that it is a second copy;
/// from then on, it is compared with what this machine has seen of that copy.
enum SecondCopy {
    /// Whether a vault was refused because this machine has seen another state of it elsewhere.
    static func isRefused(_ path: String, _ failure: CommandFailure) throws -> Bool {
        guard let code = failure.code, [.rolledBack, .forked].contains(code) else { return false }
        return try whileOpening {
            let machine = try ThisMachine.current()
            let id = try Vault.id(at: path)
            return try machine.remembered(id, at: path) == nil
                && machine.remembered(id, at: path, asOwner: false) == nil
        }
    }

    /// Calls the library before a vault is open, as `whileOpening` does.
    static func advising<R: ~Copyable>(_ path: String, _ call: () throws -> R) throws -> R {
        do { return try call() } catch let error as VaultError { throw try failure(error, path) }
    }

    /// Returns the failure for an error, with the advice for a second copy if it is one.
    static func failure(_ error: VaultError, _ path: String) throws -> CommandFailure {
        let failure = CommandFailure(error)
        guard try isRefused(path, failure) else { return failure }
        return CommandFailure(
            failure.status,
            "\(error.description); if it is a second copy, accept it once with 'vaultfmt anchor \(TerminalText.word(path)) --accept', "
                + "or bring both together with 'vaultfmt merge'",
            code: failure.code)
    }

    /// Asks whether a refused vault is a second copy, and remembers it as one.
    static func accept(_ vault: Vault, _ refusal: CommandFailure) throws {
        Terminal.errorLine(refusal.message)
        guard
            try Prompt.confirm(
                "Is \(TerminalText.path(vault.path)) a second copy that you keep on this machine?",
                instead: "run 'vaultfmt anchor --accept'")
        else { throw refusal }
        try ThisMachine.current().accept(vault)
    }
}
