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

    @OptionGroup var name: ItemName
    @OptionGroup(title: "Filters") var filters: ItemFilters
    @OptionGroup var choice: EarlierOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        guard name.isGiven || filters.label != nil else {
            throw CommandFailure(.usage, "no item is named; give SERVICE [ACCOUNT] or options")
        }
        let opened = try vault.openVault(writable: true)
        let item = try name.find(in: opened, label: filters.label, accessibility: filters.accessible?.value)
        let value = try choice.value(of: item, in: opened)
        let progress = Progress("writing")
        defer { progress.finish() }
        try attempt { () throws(VaultError) in try opened.restore(value, of: item.key) }
        progress.finish()
        let kept =
            opened.keptVersions > 0
            ? "what it was until now is its earlier value 1"
            : "the vault keeps no earlier values, so what it was until now is gone"
        Terminal.note(
            "\(ItemText.summary(item.key)) is again what it was until \(Timestamp.short(value.replaced)) UTC; \(kept)")
    }
}
