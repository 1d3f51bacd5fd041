import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `forget`: drops earlier values of an item.
struct Forget: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Forget earlier values of an item, after confirmation; the item itself is kept.",
        discussion: """
            Forgotten values do not come back from a merge with another copy, unless its keys were rotated meanwhile; \
            if they come back, forget them again. They remain in the file, encrypted, until 'vaultfmt compact' is run. \
            Older copies of the file still contain them.

            Examples:
              vaultfmt forget github.com alice --earlier 2
              vaultfmt forget github.com alice --all --yes
            """)

    @OptionGroup var chosen: ItemChoice
    @OptionGroup var choice: EarlierOption

    @Option("Forget values of this sealed attribute instead of the secret.", value: "name")
    var field: String?

    @Flag(help: "Forget all earlier values of the item, or of --field.")
    var all = false

    @Flag(name: [.short, .long], help: "Do not ask for confirmation.")
    var yes = false

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard all != (choice.earlier != nil) else {
            throw ValidationError(
                all ? "--all cannot be combined with --earlier; leave one out" : "use --earlier NUMBER, or --all")
        }
    }

    func run() throws {
        try chosen.check()
        guard yes || (!vault.access.noInput && Prompt.isPossible) else {
            throw CommandFailure(
                .usage, "forgetting needs confirmation, but there is no terminal to prompt on; use --yes")
        }
        if !yes { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true)
        let item = try chosen.find(in: opened)
        let values = try chosenValues(item, opened)
        guard values != nil || item.hasPast else {
            return Terminal.note("\(ItemText.summary(item.key)) has no earlier values")
        }
        let known = try EarlierValues.readable(of: item, in: opened)?.count
        if known == nil, values == nil {
            Terminal.warning(
                "the list of the item's earlier values cannot be read; forgetting the list also discards the item's unsettled conflicts, here and, after the next merge, in every copy; if another copy has changed the item, that merge brings its earlier values back: "
                    + "if you have an intact copy, replace this copy with that one instead")
        }
        // Values that the vault no longer keeps are not counted.
        guard try isConfirmed(item, values, known == 0 ? nil : known) else {
            throw CommandFailure.declined("nothing was forgotten")
        }
        ControllingTerminal.end()
        let count = try Progress.during("writing") { try opened.forgetEarlierValues(of: item.key, values) }
        guard count > 0 else { return Terminal.note("\(ItemText.summary(item.key)) has no earlier values") }
        Terminal.note(
            "forgot \(Self.words(count)) of \(ItemText.summary(item.key)); the ciphertext stays in the file until 'vaultfmt compact' is run; "
                + "older copies still contain it")
    }

    private func isConfirmed(_ item: Item, _ values: [EarlierValue]?, _ known: Int?) throws -> Bool {
        if yes { return true }
        let what =
            values.map { $0.count == 1 ? $0[0].words : Self.words($0.count) } ?? known.map(Self.words)
            ?? "all earlier values"
        return try Prompt.confirm("Forget \(what) of \(ItemText.summary(item.key))?", instead: "use --yes")
    }

    /// Returns the values to remove; nil for all values of the item.
    private func chosenValues(_ item: Item, _ vault: Vault) throws -> [EarlierValue]? {
        guard let field else { return try all ? nil : [choice.value(of: item, in: vault)] }
        let known = try EarlierValues.newestFirst(of: item, in: vault).filter { $0.attribute == field }
        guard !known.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "\(TerminalText.quoted(field)) has no earlier values; 'vaultfmt history' lists them")
        }
        return try all ? known : [choice.value(of: item, field, in: vault)]
    }

    private static func words(_ count: Int) -> String { count == 1 ? "1 earlier value" : "\(count) earlier values" }
}
