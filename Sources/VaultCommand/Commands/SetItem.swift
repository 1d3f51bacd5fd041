import ArgumentParser
import VaultFmt

/// `set`: stores a secret, whether the item exists or not.
struct SetItem: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Store a secret: make an item, or replace its secret.",
        discussion: """
            The secret is asked for twice on a terminal, or read from a pipe; it is never an argument. Attributes that are not named stay \
            as they are. The name means the item that 'get' would show: the one item, of whatever class, that has all that is given of it. If \
            several have it, the command fails (exit 2); if none has, it makes a generic password, or an internet password where --server or \
            the like is given, with an empty account if none is given. \
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
        try source.check(named)
        try source.check(vault.access)
        if source.asks { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true, device: attributes.deviceNeed)
        let found = try name.findOnly(in: opened)
        let (key, isNew) = (found?.key ?? named, found == nil)
        let secret = try source.read(for: ItemText.summary(key))
        ControllingTerminal.end()
        try narrowing.change(opened) { (transaction) throws(VaultError) in
            try transaction.set(key, secret: secret, attributes: changes, accessibility: attributes.accessibility)
        }
        if isNew {
            if Terminal.errorIsTerminal { Terminal.note("created \(ItemText.summary(key))") }
        } else if key != named {
            Terminal.note("replaced the secret of \(ItemText.summary(key)), the only item of that name")
        } else if Terminal.errorIsTerminal {
            Terminal.note("replaced the secret of \(ItemText.summary(key))")
        }
    }
}
