internal import CVaultShim
internal import Glibc
public import VaultFmt
internal import VaultStore

/// The locations of files on this machine (XDG Base Directory Specification).
public struct Places: Sendable, Hashable {
    /// The vault used if none is named: `VAULTFMT_VAULT`, or else `vaultfmt/default.vault` in `XDG_DATA_HOME`.
    public let vault: String
    /// True if the vault is the default one rather than one set in the environment.
    public let isDefault: Bool
    /// The default vault, regardless of the environment.
    package let standardVault: String
    /// The key file with which the Keychain APIs create the default vault: `vaultfmt/default.key` in `XDG_CONFIG_HOME`.
    public let generatedKeyFile: String
    /// The folder for all data that this machine remembers: `vaultfmt` in `XDG_STATE_HOME`.
    public let stateFolder: String
    /// The file for detecting that this machine's memory was restored from a snapshot while the machine was running:
    /// `vaultfmt-UID` in `/dev/shm`. Nil if there is none.
    public let witnessFile: String?

    /// Determines the places from the environment. Throws `invalidArgument` if the home folder is unknown.
    public init() throws(VaultError) {
        let named = Environment.nonEmpty("VAULTFMT_VAULT")
        let data = try Self.base("XDG_DATA_HOME", fallback: ".local/share")
        standardVault = data + "/vaultfmt/default.vault"
        vault = named ?? standardVault
        isDefault = named == nil
        generatedKeyFile = try Self.base("XDG_CONFIG_HOME", fallback: ".config") + "/vaultfmt/default.key"
        stateFolder = try Self.base("XDG_STATE_HOME", fallback: ".local/state") + "/vaultfmt"
        witnessFile = Self.systemWitnessFile
    }

    /// Creates places that do not depend on the environment.
    public init(
        vault: String, generatedKeyFile: String, stateFolder: String, witnessFile: String? = Places.systemWitnessFile
    ) {
        self.vault = vault
        standardVault = vault
        isDefault = false
        self.generatedKeyFile = generatedKeyFile
        self.stateFolder = stateFolder
        self.witnessFile = witnessFile
    }

    /// The default ``witnessFile``. Its path does not depend on the environment of the process.
    public static var systemWitnessFile: String { "/dev/shm/vaultfmt-\(geteuid())" }

    /// Returns the parent folder of a path.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns a path without symbolic links, whether or not there is a file; nil if the path's folder cannot be found,
    /// or if the path is a dangling link.
    package static func resolved(_ path: String) -> String? {
        do throws(VaultError) {
            let resolved = try RealFileSystem().resolve(path)
            var status = vault_status()
            let isLink = vault_status_of(resolved, false, &status) == 0 && status.mode & S_IFMT == S_IFLNK
            return isLink ? nil : resolved
        } catch { return nil }
    }

    /// Returns a base directory; as the specification requires, relative ones are ignored.
    private static func base(_ variable: String, fallback: String) throws(VaultError) -> String {
        if let path = Environment.nonEmpty(variable), path.hasPrefix("/") { return path }
        return try home() + "/" + fallback
    }

    private static func home() throws(VaultError) -> String {
        if let home = Environment.nonEmpty("HOME") { return home }
        if let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir { return String(cString: home) }
        throw VaultError(
            .invalidArgument, "HOME is not set, so there is no default vault; set it, or specify the vault")
    }
}
