import ArgumentParser
import VaultFmt
import VaultLocal

/// `forget`: drops earlier values of an item.
struct Forget: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Forget earlier values of an item, after confirmation; the item itself is kept.",
        discussion: """
            Forgotten values do not come back from a merge with another copy. They remain in the file, encrypted, \
            until 'vaultfmt compact' is run, and in older copies of the file.

            Examples:
              vaultfmt forget github.com alice --earlier 2
              vaultfmt forget github.com alice --all --yes
            """)

    @OptionGroup var chosen: ItemChoice
    @OptionGroup var choice: EarlierOption

    @Flag(help: "Forget all earlier values of the item.")
    var all = false

    @Flag(name: [.short, .long], help: "Do not ask for confirmation.")
    var yes = false

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard all != (choice.earlier != nil) else {
            throw ValidationError(
                all ? "--all cannot be combined with --earlier; leave one out" : "give --earlier NUMBER, or --all")
        }
    }

    func run() throws {
        try chosen.check()
        guard yes || (!vault.access.noInput && Prompt.isPossible) else {
            throw CommandFailure(
                .usage, "forgetting needs confirmation, but there is no terminal to prompt on; give --yes")
        }
        if !yes { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true)
        let item = try chosen.find(in: opened)
        let values = try all ? nil : [choice.value(of: item, in: opened)]
        guard values != nil || item.hasPast else {
            return Terminal.note("\(ItemText.summary(item.key)) has no earlier values")
        }
        let known = try EarlierValues.count(of: item, in: opened)
        guard try isConfirmed(item, values, known) else { throw CommandFailure.declined("nothing was forgotten") }
        ControllingTerminal.end()
        let count = try Progress.during("writing") { try opened.forgetEarlierValues(of: item.key, values) }
        guard count > 0 else { return Terminal.note("\(ItemText.summary(item.key)) has no earlier values") }
        Terminal.note(
            "forgot \(Self.words(count)) of \(ItemText.summary(item.key)); the ciphertext stays in the file until 'vaultfmt compact' is run; "
                + "older copies still contain it")
    }

    private func isConfirmed(_ item: Item, _ values: [EarlierValue]?, _ known: Int?) throws -> Bool {
        if yes { return true }
        let what = values?.first?.words ?? known.map(Self.words) ?? "all earlier values"
        return try Prompt.confirm("Forget \(what) of \(ItemText.summary(item.key))?", instead: "give --yes")
    }

    private static func words(_ count: Int) -> String { count == 1 ? "1 earlier value" : "\(count) earlier values" }
}
