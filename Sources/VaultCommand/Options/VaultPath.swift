import Glibc

/// Where things are: the vault, and what this machine remembers (XDG Base Directory Specification).
enum VaultPath {
    /// The path given, else VAULTFMT_VAULT, else `$XDG_DATA_HOME/vaultfmt/default.vault`.
    static func resolve(_ given: String?) throws(CommandFailure) -> String {
        if let given {
            guard !given.isEmpty else { throw CommandFailure(.usage, "the vault's path is empty; give a file") }
            return given
        }
        if let path = Environment.nonEmpty("VAULTFMT_VAULT") { return path }
        return try defaultVault()
    }

    /// The vault used where none is named.
    static func defaultVault() throws(CommandFailure) -> String {
        try base("XDG_DATA_HOME", fallback: ".local/share") + "/vaultfmt/default.vault"
    }

    /// The folder of what this machine remembers.
    static func state() throws(CommandFailure) -> String {
        try base("XDG_STATE_HOME", fallback: ".local/state") + "/vaultfmt"
    }

    /// A base directory; the specification has relative ones ignored.
    private static func base(_ variable: String, fallback: String) throws(CommandFailure) -> String {
        if let path = Environment.nonEmpty(variable), path.hasPrefix("/") { return path }
        return try home() + "/" + fallback
    }

    private static func home() throws(CommandFailure) -> String {
        if let home = Environment.nonEmpty("HOME") { return home }
        if let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir { return String(cString: home) }
        throw CommandFailure(.usage, "HOME is not set, so there is no default place; set it, or name the vault")
    }
}
