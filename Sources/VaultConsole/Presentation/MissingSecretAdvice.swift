import VaultExchange
package import VaultFmt

extension VaultError.MissingSecret {
    /// How to give the item a secret again.
    package var advice: String {
        switch self {
        case .toSettle: "'vaultfmt conflicts show' lists its values, and 'vaultfmt conflicts settle --keep' uses them"
        case .earlier: "'vaultfmt restore' brings it back"
        case .forgotten, .gone, .unknown: "'vaultfmt set' stores one"
        case .hidden: "open the vault with an owner's key, and see 'vaultfmt show'"
        }
    }

    /// Returns the line for an item that shows no secret: the item, the reason, and the advice.
    package func line(_ key: ItemKey) -> String { "\(ItemText.summary(key)) \(statement); \(advice)" }
}
