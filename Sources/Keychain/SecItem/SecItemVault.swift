internal import KeychainCore
public import VaultFmt

/// The vault that `SecItemAdd` and its kin work on: as for `Keychain`, with which they share it.
///
/// Without a call of these it is the one that `VAULTFMT_VAULT` names, opened with `VAULTFMT_KEY_FILE`,
/// `VAULTFMT_PASSPHRASE_FILE` or `VAULTFMT_PASSPHRASE`; else the default vault, which is made on first use with a key
/// file of its own.
public enum SecItemVault {
    /// Makes every call from now on use this vault. Open it for changing, unless it is only to be read.
    public static func configure(vault: Vault) { VaultInUse.use(vault) }

    /// Makes the next call open the vault that the environment says, as at the start of the program.
    public static func configureFromEnvironment() { VaultInUse.useEnvironment() }

    /// Locks the vault: secrets that are accessible when unlocked only are refused, and nothing can be changed.
    ///
    /// Throws nothing; a vault that was not opened yet is opened first. Returns why it could not be, or
    /// `errSecSuccess`.
    @discardableResult
    public static func lock() -> OSStatus { status { () throws(KeychainFailure) in try VaultInUse.current().lock() } }

    /// Unlocks the vault with what the environment says. `errSecParam` for one given by `configure`: unlock that with
    /// `Vault.unlock`.
    @discardableResult
    public static func unlock() -> OSStatus { status { () throws(KeychainFailure) in try VaultInUse.unlock() } }

    /// Why the last call of this thread that failed did so: one line with the vault's path; nil if none has.
    public static var lastFailure: String? { Notices.lastFailure }

    /// Who gets each line about what was made on first use, and about calls that failed. Nil, as at the start, for
    /// standard error.
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
