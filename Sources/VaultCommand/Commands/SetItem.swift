import ArgumentParser
import VaultFmt

/// `set`: stores a secret, whether the item exists or not.
struct SetItem: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Store a secret: make an item, or replace its secret.",
        discussion: """
            The secret is asked for twice on a terminal, or read from a pipe; it is never an argument. Attributes that are not named stay \
            as they are. What names no item makes one, with an empty account if none is given; what names several is exit 2. \
            The secret that is replaced stays in the file, encrypted, until 'vaultfmt compact', and in older copies.

            Examples:
              vaultfmt set github.com alice
              printf %s "$TOKEN" | vaultfmt set ci deploy --label 'Deploy token'
            """)

    @OptionGroup var name: ItemName
    @OptionGroup var source: SecretSource
    @OptionGroup(title: "Attributes") var attributes: AttributeOptions
    @OptionGroup var removal: AttributeRemoval
    @OptionGroup var narrowing: NarrowingOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        let changes = AttributeChanges(set: try attributes.values(), remove: removal.removeAttribute)
        let named = try name.key()
        try source.check(vault.access)
        if source.asks { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true, device: attributes.deviceNeed)
        let key = try name.target(named, in: opened)
        let secret = try source.read(for: ItemText.summary(key))
        ControllingTerminal.end()
        let progress = Progress("writing")
        defer { progress.finish() }
        try narrowing.change(opened) { (transaction) throws(VaultError) in
            try transaction.set(key, secret: secret, attributes: changes, accessibility: attributes.accessibility)
        }
        progress.finish()
        AnchorMemory.remember(opened)
        if key != named { Terminal.note("replaced the secret of \(ItemText.summary(key)), the only item of that name") }
    }
}
