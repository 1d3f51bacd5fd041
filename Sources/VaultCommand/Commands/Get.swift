import ArgumentParser
import VaultFmt

/// `get`: hands out one secret.
struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write an item's secret to standard output, and nothing else.",
        discussion: """
            The bytes are exact; on a terminal a newline follows, and what is not text is shown with --force only.

            Examples:
              vaultfmt get github.com alice --clip
              vaultfmt get db.example.org --field account
            """)

    @OptionGroup var name: ItemName
    @OptionGroup(title: "Filters") var filters: ItemFilters

    @Option(parsing: .unconditional, help: "Write this field or attribute instead of the secret.")
    var field: String?

    @Flag(help: "Write the item as a JSON object, the secret included.")
    var json = false

    @Option(
        defaultAsFlag: ArgumentSpelling.clipSeconds, parsing: .next,
        help: ArgumentHelp("Put it into the clipboard, cleared after so many seconds if unchanged.", valueName: "seconds"))
    var clip: Int?

    @Flag(help: "Show it on the terminal even if it is not text.")
    var force = false

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard [field != nil && json, json && clip != nil].allSatisfy({ !$0 }) else {
            throw ValidationError("--json excludes --field and --clip; leave one out")
        }
        if let clip, !(1...86_400).contains(clip) { throw ValidationError("--clip takes 1 to 86400 seconds") }
    }

    func run() throws {
        guard name.isGiven || filters.label != nil else {
            throw CommandFailure(.usage, "no item is named; give SERVICE [ACCOUNT] or options")
        }
        let opened = try vault.openVault()
        let item = try name.find(in: opened, label: filters.label, accessibility: filters.accessible?.value)
        if json { return try writeJSON(try attempt { () throws(VaultError) in try opened.open(item) }) }
        let value = try ItemField.value(field, of: item, in: opened)
        if let clip { return try Clipboard.copy(value, clearAfter: clip) }
        try Output.deliver(value, force: force)
    }

    private func writeJSON(_ whole: borrowing OpenedItem) throws(CommandFailure) {
        var writer = JSONWriter(Output.standard())
        let item = whole.item
        let secret = whole.secret.copy()
        try writer.object { writer throws(CommandFailure) in
            try writer.members(of: item)
            try writer.name("secret")
            try writer.value(secret)
        }
        try writer.finish()
    }
}
