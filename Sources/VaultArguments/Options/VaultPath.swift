import VaultConsole
import VaultFmt
import VaultLocal

/// The vault that a command works on.
package enum VaultPath {
    /// The given path, or else VAULTFMT_VAULT, or else `$XDG_DATA_HOME/vaultfmt/default.vault`.
    package static func resolve(_ given: String?) throws -> String {
        if let given {
            guard !given.isEmpty else { throw CommandFailure(.usage, "the vault's path is empty; specify a file") }
            return given
        }
        if let path = Environment.nonEmpty("VAULTFMT_VAULT") { return path }
        return try ThisMachine.current().places.vault
    }
}
