import ArgumentParser
import VaultArguments
import VaultConsole
import VaultFmt

/// `remove`: removes items from a vault.
struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove items, after confirmation.",
        discussion: """
            To remove several items in a single change, with a single confirmation, specify several names, a folder, a \
            tag, or --all with filters. 'vaultfmt undo' or, later on, 'vaultfmt restore' brings items back: they \
            remain in the file, encrypted, until 'vaultfmt compact' is run. They also remain in older copies of the \
            file.

            Examples:
              vaultfmt remove github.com alice
              vaultfmt rm netflix spotify
              vaultfmt rm --tag temp
              vaultfmt rm --group test --all --yes
            """,
        aliases: ["rm"])

    @OptionGroup var chosen: ItemSelection
    @OptionGroup(title: "Filters") var filters: ItemFilters
    @OptionGroup var vault: VaultOptions

    func run() throws {
        try chosen.check(isFiltered: filters.isAnyGiven)
        guard !chosen.isEverything || filters.isAnyGiven else {
            throw CommandFailure(
                .usage,
                "--all needs a name or a filter, such as --group, --folder, --tag or --class; nothing was removed")
        }
        let criteria = try ItemCriteria(id: chosen.id, filters, chosen.place)
        if !chosen.yes { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true)
        // Without confirmation, items must be named exactly.
        let mayAsk = !chosen.yes && !vault.access.noInput
        let items = try chosen.find(in: opened, criteria, isFiltered: !filters.attribute.isEmpty, mayAsk: mayAsk)
        let what = ItemSelection.words(items)
        guard try chosen.isConfirmed(items, "Remove", vault.access, doing: "removing") else {
            throw CommandFailure.declined("nothing was removed")
        }
        ControllingTerminal.end()
        let removed = try Progress.during("writing") {
            try opened.transaction { transaction throws(VaultError) in
                var removed = 0
                for item in items where try transaction.remove(item.key) { removed += 1 }
                return removed
            }
        }
        let (named, them) = items.count == 1 ? (what, "it") : ("\(removed) items", "them")
        for item in items { try ItemSelection.noteNewHolder(of: item.key, in: opened) }
        Terminal.note(
            "removed \(named); 'vaultfmt undo' brings \(them) back until 'vaultfmt compact' is run; "
                + "older copies of the file still contain \(them)")
    }
}
