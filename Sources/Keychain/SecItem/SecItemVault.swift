internal import KeychainCore
public import VaultFmt

/// The vault that `SecItemAdd` and the related functions work on. It is shared with `Keychain`.
///
/// By default, it is the vault named by `VAULTFMT_VAULT`, opened with `VAULTFMT_KEY_FILE`, `VAULTFMT_PASSPHRASE_FILE`
/// or `VAULTFMT_PASSPHRASE`; otherwise the default vault, which is created on first use together with its own key file.
public enum SecItemVault {
    /// Makes every call use this vault from now on. Open the vault for changing unless it will only be read.
    public static func configure(vault: Vault) { VaultInUse.use(vault) }

    /// Makes the next call open the vault specified by the environment, as at program start.
    public static func configureFromEnvironment() { VaultInUse.useEnvironment() }

    /// Locks the vault: secrets accessible only while the vault is unlocked are refused, and nothing can be changed.
    ///
    /// A vault that has not been opened yet is opened first. Returns `errSecSuccess`, or the reason why it could not be
    /// opened.
    @discardableResult
    public static func lock() -> OSStatus { status { () throws(KeychainFailure) in try VaultInUse.lock() } }

    /// Unlocks the vault with the factors from the environment. Returns `errSecParam` for a vault set with `configure`,
    /// which must be unlocked with `Vault.unlock`.
    @discardableResult
    public static func unlock() -> OSStatus { status { () throws(KeychainFailure) in try VaultInUse.unlock() } }

    /// The reason for the last failed call on this thread: one line with the vault's path, or nil if no call has
    /// failed.
    public static var lastFailure: String? { Notices.lastFailure }

    /// The handler for notices: one line each about files that were created on first use, and about failed calls. Nil,
    /// which is the default, writes them to standard error.
    public static var noticeHandler: (@Sendable (String) -> Void)? {
        get { Notices.handler }
        set { Notices.handler = newValue }
    }

    private static func status(_ body: () throws(KeychainFailure) -> Void) -> OSStatus {
        do throws(KeychainFailure) {
            try ItemStore.call(body)
            return errSecSuccess
        } catch { return error.status }
    }
}
