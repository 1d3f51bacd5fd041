import ArgumentParser
import VaultFmt

/// `add`: stores a new item.
struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Store a new item; one that exists already is an error (exit 1).",
        discussion: """
            The secret is asked for twice on a terminal, or read from a pipe; it is never an argument. An account that is left out is empty.

            Examples:
              vaultfmt add mail.example.org alice --generate=32
              vaultfmt add --server db.example.org --port 5432 --account app --secret-file password.txt
            """)

    @OptionGroup var name: ItemName
    @OptionGroup var source: SecretSource
    @OptionGroup(title: "Attributes") var attributes: AttributeOptions
    @OptionGroup var vault: VaultOptions

    func run() throws {
        let key = try name.key()
        try source.check(key)
        let values = try attributes.values()
        try source.check(vault.access)
        if source.asks { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true, device: attributes.deviceNeed)
        guard try opened.item(key) == nil else { throw Self.duplicate(key) }
        let secret = try source.read(for: ItemText.summary(key))
        ControllingTerminal.end()
        try Progress.during("writing") {
            do throws(VaultError) {
                try opened.add(
                    key, secret: secret, attributes: values, accessibility: attributes.accessibility ?? .whenUnlocked)
            } catch {
                throw error.code == .duplicateItem ? Self.duplicate(key) : CommandFailure(error)
            }
        }
    }

    private static func duplicate(_ key: ItemKey) -> CommandFailure {
        CommandFailure(.noSuchItem, "\(ItemText.summary(key)) exists already; replace its secret with 'vaultfmt set'")
    }
}
