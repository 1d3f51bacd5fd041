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

    @OptionGroup var name: ItemName
    @OptionGroup(title: "Filters") var filters: ItemFilters
    @OptionGroup var vault: VaultOptions

    func run() throws {
        guard name.isGiven || filters.label != nil else {
            throw CommandFailure(.usage, "no item is named; give SERVICE [ACCOUNT] or options")
        }
        let opened = try vault.openVault(writable: true)
        let item = try name.find(in: opened, label: filters.label, accessibility: filters.accessible?.value)
        let before = try attempt { () throws(VaultError) in try opened.open(item) }
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
        try attempt { () throws(VaultError) in
            try opened.transaction { transaction throws(VaultError) in
                guard try transaction.item(item.key)?.revision == item.revision else {
                    throw VaultError(
                        .busy, "the item was changed by somebody else meanwhile; the edited text is not stored")
                }
                try transaction.set(item.key, secret: edited)
            }
        }
    }
}
