import ArgumentParser
import VaultFmt

/// `edit`: changes a secret in an editor.
struct Edit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change a secret in an editor.",
        discussion: """
            Opens VISUAL, EDITOR or vi on a file that is kept in memory, for you alone, and wiped afterwards. Saving nothing changes nothing. A \
            newline that the editor adds at the end of a secret without one is not kept.

            Examples:
              vaultfmt edit github.com alice
              EDITOR='code --wait' vaultfmt edit notes
            """)

    @OptionGroup var chosen: ItemChoice
    @OptionGroup var vault: VaultOptions

    func run() throws {
        try chosen.check()
        let opened = try vault.openVault(writable: true)
        let item = try chosen.find(in: opened)
        let before = try opened.open(item)
        guard SecretText.isUTF8(before.secret) else {
            throw CommandFailure(
                .usage,
                "the secret is not text; take it out with 'vaultfmt get' and store it with 'vaultfmt set --secret-file'"
            )
        }
        guard let edited = try SecretEditor.edit(before.secret) else {
            return Terminal.note("nothing was changed")
        }
        guard edited.count > 0 else {
            throw CommandFailure(
                .usage,
                "the edited text is empty, so the item stays as it was; 'vaultfmt set --allow-empty' stores an empty secret"
            )
        }
        try opened.transaction { transaction throws(VaultError) in
            guard try transaction.item(item.key)?.revision == item.revision else {
                throw VaultError(
                    .busy, "the item was changed by somebody else meanwhile; the edited text is not stored")
            }
            try transaction.set(item.key, secret: edited)
        }
    }
}
