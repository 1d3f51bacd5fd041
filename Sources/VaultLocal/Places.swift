internal import Glibc
public import VaultFmt

/// Where things are on this machine (XDG Base Directory Specification).
public struct Places: Sendable, Hashable {
    /// The vault used where none is named: `VAULTFMT_VAULT`, else `vaultfmt/default.vault` in `XDG_DATA_HOME`.
    public let vault: String
    /// Whether that is the default one rather than one that the environment names.
    public let isDefault: Bool
    /// The key file that the Keychain's APIs make the default vault with: `vaultfmt/default.key` in `XDG_CONFIG_HOME`.
    public let generatedKeyFile: String
    /// The folder of what this machine remembers: `vaultfmt` in `XDG_STATE_HOME`.
    public let stateFolder: String

    /// Reads the environment. Throws `invalidArgument` where nothing says what the home folder is.
    public init() throws(VaultError) {
        let named = Environment.nonEmpty("VAULTFMT_VAULT")
        let data = try Self.base("XDG_DATA_HOME", fallback: ".local/share")
        vault = named ?? data + "/vaultfmt/default.vault"
        isDefault = named == nil
        generatedKeyFile = try Self.base("XDG_CONFIG_HOME", fallback: ".config") + "/vaultfmt/default.key"
        stateFolder = try Self.base("XDG_STATE_HOME", fallback: ".local/state") + "/vaultfmt"
    }

    /// Places that do not depend on the environment.
    public init(vault: String, generatedKeyFile: String, stateFolder: String) {
        self.vault = vault
        isDefault = false
        self.generatedKeyFile = generatedKeyFile
        self.stateFolder = stateFolder
    }

    /// The folder that a path is in.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// A base directory; the specification has relative ones ignored.
    private static func base(_ variable: String, fallback: String) throws(VaultError) -> String {
        if let path = Environment.nonEmpty(variable), path.hasPrefix("/") { return path }
        return try home() + "/" + fallback
    }

    private static func home() throws(VaultError) -> String {
        if let home = Environment.nonEmpty("HOME") { return home }
        if let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir { return String(cString: home) }
        throw VaultError(.invalidArgument, "HOME is not set, so there is no default place; set it, or name the vault")
    }
}
