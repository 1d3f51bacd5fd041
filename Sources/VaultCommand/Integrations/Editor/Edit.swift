import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultSync

/// `edit`: changes a secret, a field or a whole item in an editor.
struct Edit: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change a secret, a field or an item in an editor.",
        discussion: """
            Opens VISUAL, EDITOR or vi on a file in memory that only you can read and that is wiped afterwards. If you save nothing, nothing is \
            changed. If the secret did not end with a newline, one added by the editor is removed. With --all, the text has a line for each field \
            and attribute; secrets are hidden and remain unchanged unless you replace the marker.

            Examples:
              vaultfmt edit github.com alice
              vaultfmt edit github.com alice --all
              vaultfmt edit github.com alice --field notes
              EDITOR='code --wait' vaultfmt edit notes
            """)

    @OptionGroup var chosen: ItemChoice

    @Flag(help: "Change the whole item: its name, its attributes and its secret.")
    var all = false

    @Flag(help: "With --all, include the secrets in the text to edit.")
    var reveal = false

    @Option("Change this field or attribute instead of the secret.")
    var field: String?

    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard !all || field == nil else { throw ValidationError("--all cannot be combined with --field; remove one") }
        guard !reveal || all else { throw ValidationError("--reveal requires --all; add it") }
    }

    func run() throws {
        try chosen.check()
        let opened = try vault.openVault(writable: true)
        let item = try chosen.find(in: opened, mayAsk: !vault.access.noInput)
        if all { return try WholeEdit(item, in: opened, showsSecrets: reveal).run() }
        if let field, field != "secret" { return try FieldEdit.run(field, of: item, in: opened) }
        try editSecret(of: item, in: opened)
    }

    private func editSecret(of item: Item, in opened: Vault) throws {
        let before = try opened.open(item)
        guard SecretText.isUTF8(before.secret) else {
            throw CommandFailure(
                .usage,
                "the secret is not text; extract it with 'vaultfmt get' and store it with 'vaultfmt set --secret-file'"
            )
        }
        guard let edited = try SecretEditor.edit(before.secret) else {
            return Terminal.note("nothing was changed")
        }
        guard edited.count > 0 else {
            throw CommandFailure(
                .usage,
                "the edited text is empty, so the item was not changed; 'vaultfmt set --allow-empty' stores an empty secret"
            )
        }
        var dated = AttributeChanges()
        try dated.keepDate(ofSecretOf: item, unlessNew: edited, in: opened)
        let changes = dated
        let conflicts = try ConflictsBefore(of: [item], in: opened)
        let dropped = try opened.transaction { (transaction) throws(VaultError) -> [DroppedValue] in
            guard try transaction.item(item.key)?.revision == item.revision else {
                throw VaultError(
                    .busy, "the item was changed by another process in the meantime; the edited text was not stored")
            }
            try transaction.set(item.key, secret: edited, attributes: changes)
            return transaction.crowdedOut
        }
        DroppedValues.report(dropped, in: opened)
        try conflicts.report(in: opened)
    }
}
