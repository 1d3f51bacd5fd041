import VaultConsole
import VaultExchange
package import VaultFmt

/// Reports the earlier values that a change dropped although their item then lists fewer than the vault keeps.
///
/// A value that returns, by `restore`, by an undo or because it is set again, is not listed among the earlier values, but
/// still counts as one of them (specification, R-6.26), so the oldest gives way. Values that give way to a new one are
/// not reported: that is what the number of kept values means.
package enum DroppedValues {
    private static let most = 20

    package static func report(_ dropped: [DroppedValue], in vault: Vault) {
        let verb = vault.isRehearsal ? "would drop" : "dropped"
        for one in dropped.prefix(most) {
            Terminal.note(
                "this \(verb) an earlier value of \(ItemText.summary(one.key)), \(one.value.exactWords): the vault keeps "
                    + "\(vault.keptVersions), and the current value is still one of them; "
                    + "'vaultfmt rekey --keep NUMBER' keeps more in future")
        }
        if dropped.count > most { Terminal.note("… and \(dropped.count - most) more earlier values") }
    }
}
