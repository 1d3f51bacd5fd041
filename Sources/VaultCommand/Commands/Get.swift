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
        if let field, field != "secret", let value = try ItemField.listed(field, of: item) { return try deliver(Secret(text: value)) }
        let whole = try attempt { () throws(VaultError) in try opened.open(item) }
        if json { return try writeJSON(whole) }
        if let field, field != "secret" { return try deliver(Self.attribute(field, of: whole.item)) }
        try deliver(whole.takeSecret())
    }

    /// An attribute that may be too large for listings.
    private static func attribute(_ name: String, of item: Item) throws(CommandFailure) -> Secret {
        guard let value = item.attributes[name] else {
            let names = (ItemField.names(of: item) + item.attributes.names).joined(separator: ", ")
            throw CommandFailure(.noSuchItem, "the item has no field \(TerminalText.quoted(name)); it has \(TerminalText.escaped(names))")
        }
        var copy = Secret(count: value.count)
        copy.withUnsafeMutableBytes { $0.copyBytes(from: value) }
        return copy
    }

    private func deliver(_ value: borrowing Secret) throws(CommandFailure) {
        if let clip { return try Clipboard.copy(value, clearAfter: clip) }
        let isTerminal = Terminal.outputIsTerminal
        if isTerminal && !force && !SecretText.isPlain(value) {
            throw CommandFailure(.usage, "it is not plain text; send it to a file or a pipe, or show it with --force")
        }
        let output = Output.standard()
        try output.write(value)
        if isTerminal { try output.write(byte: 0x0A) }
        try output.flush()
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
