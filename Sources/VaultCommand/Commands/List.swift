import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `list`: lists a vault's items without their secrets.
struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List items; secrets are never shown.",
        discussion: """
            Each WORD is searched for, ignoring case and accents, in the unsealed part of the index: item names, \
            accounts, labels, folders, tags, addresses and other attributes. Notes are sealed, so they are searched \
            only with --notes, which opens every item that has notes. Secrets are never searched. Filters match whole \
            values, and all of them must match. If no item matches a WORD, or no item has the given folder, tag or \
            group, the exit code is 1. In JSON, attributes that are sealed or longer than 256 bytes are only counted; \
            'vaultfmt show --json' includes them.

            If the output is not a terminal, the columns are class, name, account, label, group and time of change \
            (UTC), unless --columns names others. If --vault is repeated, the first column shows the vault. On a \
            terminal, the column 'missing' names what an item lacks: its secret, if it was forgotten or a merge left \
            it to settle.

            Examples:
              vaultfmt list github
              vaultfmt list --folder home --tag shared --sort modified
              vaultfmt list --columns label,account,url
            """,
        aliases: ["ls"])

    @Argument(help: "Text to search for; if several words are given, all must match.")
    var words: [String] = []

    @OptionGroup(title: "Filters") var filters: ItemFilters
    @OptionGroup(title: "Filters") var place: PlaceFilters
    @OptionGroup(title: "Filters") var fields: ItemFields

    @Flag(help: "Search the notes too; they are not shown.")
    var notes = false

    @Option("The sort order; times are sorted from newest to oldest.")
    var sort: ListOrder?

    @Flag(help: "Reverse the order.")
    var reverse = false

    @Option("The columns: name, account, label, folder, tags, group, class, modified, …", value: "list")
    var columns: String?

    @Flag(help: "Show all columns, without truncating them.")
    var wide = false

    @Flag(help: "Print a JSON array of objects.")
    var json = false

    @OptionGroup var searched: SearchedVaults

    func validate() throws {
        guard !notes || !words.isEmpty else {
            throw ValidationError(
                "--notes searches for words in notes; add a word, as in 'vaultfmt list WORD --notes'")
        }
        guard !json || (columns == nil && !wide) else {
            throw ValidationError("--json includes everything; leave out --columns and --wide")
        }
    }

    func run() throws {
        var query = fields.query
        query.label = filters.label
        query.accessibility = filters.accessible?.value
        var filter = try filters.filter(place, words: words)
        filter.searchesNotes = notes
        let columns = try columns.map(ListColumn.list)
        let vaults = try searched.open()
        try filter.requireKnown(in: vaults.map(\.vault), group: fields.group)
        // On a terminal, the list itself shows progress.
        let progress = Terminal.outputIsTerminal ? nil : Progress("listing")
        defer { progress?.finish() }
        var found = 0
        let source = { (vault: Vault, body: (Item) throws -> Void) throws in
            try forEach(in: vault, query, filter) { item in
                found += 1
                try body(item)
            }
        }
        try json ? writeJSON(vaults, source) : writeTables(vaults, columns, source)
        guard found == 0, !words.isEmpty else { return }
        let what = "nothing matches \(TerminalText.quoted(words.joined(separator: " ")))"
        let opened = vaults.allSatisfy { $0.vault.access == .owner } ? "" : " that this slot opens"
        throw CommandFailure(
            .noSuchItem,
            notes
                ? "\(what), not even in notes\(opened); 'vaultfmt list' shows all items"
                : "\(what); notes are sealed and were not searched: add --notes to search them, or see 'vaultfmt list'")
    }

    /// Calls `body` with the items in the requested order. If no order is requested, each item is passed on as it is
    /// read and is not kept in memory.
    private func forEach(
        in opened: Vault, _ query: Query, _ filter: ItemFilter, _ body: (Item) throws -> Void
    ) throws {
        guard sort != nil || reverse else { return try filter.forEach(in: opened, query, body) }
        let items = try filter.items(in: opened, query)
        let sorted = sort?.sorted(items) ?? items
        for item in reverse ? sorted.reversed() : sorted { try body(item) }
    }

    /// A function that passes each listed item of a vault to a closure.
    private typealias Source = (Vault, (Item) throws -> Void) throws -> Void
    private typealias Searched = [(path: String, vault: Vault)]

    private func writeTables(_ vaults: Searched, _ columns: [ListColumn]?, _ source: Source) throws {
        let isPrecise = sort == .modified || sort == .created
        let output = Output.standard()
        var hasTable = false
        for (path, vault) in vaults {
            let place = vaults.count > 1 ? ItemTable.Place(path: path, isLater: hasTable) : nil
            var table = ItemTable(
                of: vault, columns: columns, isWide: wide, isPrecise: isPrecise, place: place, to: output)
            try source(vault) { item in
                try table.add(item)
                hasTable = true
            }
            try table.finish()
        }
    }

    private func writeJSON(_ vaults: Searched, _ source: Source) throws {
        var writer = JSONWriter(Output.standard())
        try writer.array { writer in
            for (path, vault) in vaults {
                try source(vault) { item in
                    try writer.object { writer in
                        if vaults.count > 1 { try writer.member("vault", path) }
                        try writer.members(of: item)
                        if item.unreadAttributes > 0 { try writer.member("unreadAttributes", item.unreadAttributes) }
                        if let count = try EarlierValues.count(of: item, in: vault) {
                            try writer.member("earlierValues", count)
                        }
                        if item.needsSettling { try writer.member("hasConflicts", true) }
                        if item.lacksSecret { try writer.member("hasSecret", false) }
                    }
                }
            }
        }
        try writer.finish()
    }
}
