internal import KeychainCore
public import VaultFmt

/// The vault in use, and its notices.
extension Keychain {
    /// Makes every `Keychain` in this process use the given vault from now on, with the access granted by the slot that
    /// opened it. Open the vault for changing unless it will only be read, and with a device if device-only items are
    /// to be stored.
    ///
    /// By default, the vault named by `VAULTFMT_VAULT` is used, opened with `VAULTFMT_KEY_FILE`,
    /// `VAULTFMT_PASSPHRASE_FILE` or `VAULTFMT_PASSPHRASE`. Without that variable, the default vault
    /// `$XDG_DATA_HOME/vaultfmt/default.vault` is used. If the default vault does not exist and no factor is named, the
    /// first call creates it together with the key file `$XDG_CONFIG_HOME/vaultfmt/default.key`, both readable only by
    /// the user, and reports this in a notice.
    public static func configure(vault: Vault) { VaultInUse.use(vault) }

    /// Makes the next call open the vault specified by the environment, as at program start.
    public static func configureFromEnvironment() { VaultInUse.useEnvironment() }

    /// The vault in use, opened if necessary, for operations that this API lacks. Throws a `Status`.
    public static var vault: Vault {
        get throws { try call { () throws(KeychainFailure) in try VaultInUse.current() } }
    }

    /// Locks the vault in use, wiping the keys of items that are accessible only when the vault is unlocked. Such items
    /// are still listed, but reading their secrets or changing anything fails with `Status.interactionNotAllowed`.
    /// Throws a `Status` if the vault was not open yet and cannot be opened.
    public static func lock() throws { try call { () throws(KeychainFailure) in try VaultInUse.lock() } }

    /// Unlocks the vault with the factors from the environment. Throws `Status.param` for a vault set with
    /// `configure(vault:)`, which must be unlocked with its own `unlock`, and `authFailed` if the factors do not open
    /// the vault.
    public static func unlock() throws { try call { () throws(KeychainFailure) in try VaultInUse.unlock() } }

    /// The reason for the last failed call on this thread: one line with the vault's path and the reason, or nil if no
    /// call has failed. It may contain names, but never a secret.
    public static var lastFailure: String? { Notices.lastFailure }

    /// The handler for notices: one line each about files that were created on first use, and about failed calls,
    /// except those that fail because an item exists or does not exist.
    ///
    /// Nil, which is the default, writes them to standard error. The handler is called on the thread of the call and
    /// may use any `Keychain`.
    public static var noticeHandler: (@Sendable (String) -> Void)? {
        get { Notices.handler }
        set { Notices.handler = newValue }
    }
}
