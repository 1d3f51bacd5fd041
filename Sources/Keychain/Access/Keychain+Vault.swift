internal import KeychainCore
public import VaultFmt

/// Which vault it is, and what it says.
extension Keychain {
    /// Makes every `Keychain` of this process use a vault from now on, with whatever the slot that opened it grants.
    /// Open it for changing, unless it is only to be read, and with a device, if items of this device only are to be
    /// stored.
    ///
    /// Without this it is the vault that `VAULTFMT_VAULT` names, opened with `VAULTFMT_KEY_FILE`,
    /// `VAULTFMT_PASSPHRASE_FILE` or `VAULTFMT_PASSPHRASE`; and without that variable, the default vault
    /// `$XDG_DATA_HOME/vaultfmt/default.vault`. Where there is none yet, and no factor is named, the first call makes
    /// it, with the key file `$XDG_CONFIG_HOME/vaultfmt/default.key`, both readable by the user alone, and says so.
    public static func configure(vault: Vault) { VaultInUse.use(vault) }

    /// Makes the next call open the vault that the environment says, as at the start of the program.
    public static func configureFromEnvironment() { VaultInUse.useEnvironment() }

    /// The vault in use, opened if need be: for what this API does not have. Throws a `Status`.
    public static var vault: Vault {
        get throws { try call { () throws(KeychainFailure) in try VaultInUse.current() } }
    }

    /// Locks the vault in use: wipes the keys of items that are accessible when unlocked only. Those are listed, and
    /// their secrets refused with `Status.interactionNotAllowed`, as is every change. Throws a `Status` if the vault
    /// was not open yet and does not open.
    public static func lock() throws { try vault.lock() }

    /// Unlocks it with what the environment says. Throws `Status.param` for a vault given by `configure(vault:)`, whose
    /// own `unlock` takes the factors; `authFailed` if they do not open it.
    public static func unlock() throws { try call { () throws(KeychainFailure) in try VaultInUse.unlock() } }

    /// Why the last call of this thread that failed did so: one line with the vault's path and the reason; nil if none
    /// has. May hold names, never a secret.
    public static var lastFailure: String? { Notices.lastFailure }

    /// Who gets each line about what was made on first use, and about calls that failed but for items that are or are
    /// not there.
    ///
    /// Nil, as at the start, for standard error. Called on the thread that the call runs on; may use any `Keychain`.
    public static var noticeHandler: (@Sendable (String) -> Void)? {
        get { Notices.handler }
        set { Notices.handler = newValue }
    }
}
