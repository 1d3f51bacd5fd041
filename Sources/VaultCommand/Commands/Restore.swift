import ArgumentParser
import VaultFmt
import VaultLocal

/// `restore`: makes an item what it was.
struct Restore: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make an item what it was: an earlier secret, with the attributes of the time.",
        discussion: """
            Without --earlier, the value that was replaced last. What the item is now becomes an earlier value itself, so that nothing is lost; \
            its name and accessibility stay.

            Examples:
              vaultfmt restore github.com alice
              vaultfmt restore github.com alice --earlier 3
            """)

    @OptionGroup var chosen: ItemChoice
    @OptionGroup var choice: EarlierOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        try chosen.check()
        let opened = try vault.openVault(writable: true)
        let item = try chosen.find(in: opened)
        let value = try choice.value(of: item, in: opened)
        try Progress.during("writing") { try opened.restore(value, of: item.key) }
        Terminal.note(
            "\(ItemText.summary(item.key)) is again what it was until \(Timestamp.short(value.replaced)) UTC; \(try kept(item, in: opened))"
        )
    }

    /// What became of what the item was before.
    private func kept(_ before: Item, in vault: Vault) throws -> String {
        guard vault.keptVersions > 0 else {
            return "the vault keeps no earlier values, so what it was until now is gone"
        }
        let values = try vault.earlierValues(of: before.key)
        return values.contains { $0.revision == before.revision }
            ? "what it was until now is its earlier value 1"
            : "what it was until now had the same secrets, or was too damaged to be kept"
    }
}
