internal import Glibc

/// Where things are: the variables and folders that the command uses too (XDG Base Directory Specification).
struct Places: Equatable {
    let vault: String
    /// Whether the vault is the default one rather than one that the environment names.
    let isDefault: Bool
    /// The key file that the default vault is made with.
    let generatedKeyFile: String
    /// This machine's device file.
    let device: String

    /// Reads the environment. Throws where nothing says what the home folder is.
    init() throws(KeychainFailure) {
        let data = try Self.base("XDG_DATA_HOME", fallback: ".local/share")
        let config = try Self.base("XDG_CONFIG_HOME", fallback: ".config")
        let state = try Self.base("XDG_STATE_HOME", fallback: ".local/state")
        let named = Self.value("VAULTFMT_VAULT")
        vault = named ?? data + "/vaultfmt/default.vault"
        isDefault = named == nil
        generatedKeyFile = config + "/vaultfmt/default.key"
        device = state + "/vaultfmt/device"
    }

    /// A variable that is set and not empty. Never for secrets: a `String` is not wiped.
    static func value(_ name: String) -> String? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        return String(cString: value)
    }

    /// A base directory; the specification has relative ones ignored.
    private static func base(_ variable: String, fallback: String) throws(KeychainFailure) -> String {
        if let path = value(variable), path.hasPrefix("/") { return path }
        if let home = value("HOME") { return home + "/" + fallback }
        if let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir { return String(cString: home) + "/" + fallback }
        throw KeychainFailure(.notAvailable, "HOME is not set, so there is no default place for a vault; set it, or VAULTFMT_VAULT")
    }
}
