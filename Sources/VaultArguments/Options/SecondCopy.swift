package import VaultConsole
package import VaultFmt
import VaultLocal

/// A copy of a vault that this machine remembers only at another path (specification, section 7.2).
///
/// Such a copy may be older than the other copy, or may have diverged from it. The user confirms once that it is a
/// second copy; after that, the copy is compared with the state that this machine remembers for it.
package enum SecondCopy {
    /// Returns whether a vault was refused because this machine has seen a different state of that vault at another
    /// path.
    static func isRefused(_ path: String, _ failure: CommandFailure) throws -> Bool {
        guard let code = failure.code, [.rolledBack, .forked].contains(code) else { return false }
        return try whileOpening {
            let machine = try ThisMachine.current()
            let id = try Vault.id(at: path)
            return try machine.remembered(id, at: path) == nil
                && machine.remembered(id, at: path, asOwner: false) == nil
        }
    }

    /// Calls the library before a vault is opened, like `whileOpening`.
    static func advising<R: ~Copyable>(_ path: String, _ call: () throws -> R) throws -> R {
        do { return try call() } catch let error as VaultError { throw try failure(error, path) }
    }

    /// Returns the failure for an error. If the vault may be a second copy, the failure includes advice.
    package static func failure(_ error: VaultError, _ path: String) throws -> CommandFailure {
        let failure = CommandFailure(error)
        guard try isRefused(path, failure) else { return failure }
        return CommandFailure(
            failure.status,
            "\(error.description); if it is a second copy, accept it once with 'vaultfmt anchor \(TerminalText.word(path)) --accept', "
                + "or combine both with 'vaultfmt merge'",
            code: failure.code)
    }

    /// Asks whether a refused vault is a second copy, and records it as one.
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
