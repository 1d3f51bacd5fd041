import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `show`: shows everything about an item, including its secrets if requested.
struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show everything about an item except its secrets.",
        discussion: """
            On a terminal, part of a name or label is enough: a single match is shown; if there are several, you can \
            choose one. If the output is not a terminal, it has one line per field: the name, a tab and the value, in \
            which backslashes, line ends, other control characters and marks that reverse text are escaped. --reveal \
            also shows secrets and sealed attributes; 'vaultfmt get' writes one exactly as it is stored.

            Examples:
              vaultfmt show github.com alice
              vaultfmt show github --reveal
              vaultfmt show github.com alice --json
            """)

    @OptionGroup var chosen: ItemChoice

    @Flag(help: "Show secrets too; use 'vaultfmt get' for the exact bytes of one.")
    var reveal = false

    @Option("Show only this field or attribute.")
    var field: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard field == nil || !json else {
            throw ValidationError("--field cannot be combined with --json; leave one out")
        }
    }

    func run() throws {
        try chosen.check()
        let opened = try vault.openVault()
        let item = try chosen.find(in: opened, mayAsk: !vault.access.noInput)
        if let field { return try writeField(field, of: item, in: opened) }
        if json { return try writeJSON(item, opened) }
        try VaultArguments.ItemView(item, in: opened, showsSecrets: reveal, to: Output.standard()).write()
    }

    /// Shows one field; a secret field requires --reveal.
    private func writeField(_ name: String, of item: Item, in opened: Vault) throws {
        guard try reveal || !ItemField.isSecret(name, of: item) else {
            throw CommandFailure(
                .usage, "\(TerminalText.quoted(name)) is secret; show it with --reveal, or write it with 'vaultfmt get'"
            )
        }
        try Output.deliver(ItemField.value(name, of: item, in: opened), force: false)
    }

    private func writeJSON(_ item: Item, _ opened: Vault) throws {
        var writer = JSONWriter(Output.standard())
        let hidden = item.attributes.all.filter { !$0.flags.isDisjoint(with: [.sealed, .concealed]) }.map(\.name)
        try writer.object { writer in
            try writer.members(of: item, without: reveal ? [] : hidden) { name throws(VaultError) in
                try opened.attribute(name, of: item)
            }
            if let due = ChangeInterval.due(item, since: try SecretDate(of: item, in: opened)) {
                try writer.member("changeDue", Timestamp.text(due))
            }
            if let count = try EarlierValues.count(of: item, in: opened) { try writer.member("earlierValues", count) }
            if item.needsSettling { try writer.member("hasConflicts", true) }
            if item.lacksSecret { try writer.member("hasSecret", false) }
            guard reveal else {
                try writer.name("hidden")
                let names = (item.lacksSecret ? [] : ["secret"]) + hidden
                return try writer.array { writer in for name in names { try writer.value(name) } }
            }
            if !item.lacksSecret { try writer.member("secret", opened.open(item).secret) }
        }
        try writer.finish()
    }
}
