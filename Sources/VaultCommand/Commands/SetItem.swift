import ArgumentParser
import VaultFmt

/// `set`: stores a secret, whether the item exists or not.
struct SetItem: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Store a secret: make an item, or replace its secret.",
        discussion: """
            The secret is asked for twice on a terminal, or read from a pipe; it is never an argument. Attributes that are not named stay \
            as they are. An account that is left out is empty.

            Examples:
              vaultfmt set github.com alice
              printf %s "$TOKEN" | vaultfmt set ci deploy --label 'Deploy token'
            """)

    @OptionGroup var name: ItemName
    @OptionGroup var source: SecretSource
    @OptionGroup(title: "Attributes") var attributes: AttributeOptions
    @OptionGroup var removal: AttributeRemoval
    @OptionGroup var vault: VaultOptions

    func run() throws {
        let key = try name.key()
        let changes = AttributeChanges(set: try attributes.values(), remove: removal.removeAttribute)
        let path = try vault.path
        let factors = try vault.access.openingFactors(path)
        let secret = try source.read(for: ItemText.summary(key), vault.access)
        let opened = try vault.access.open(path, with: factors, writable: true, device: attributes.deviceNeed)
        try attempt { () throws(VaultError) in
            try opened.set(key, secret: secret, attributes: changes, accessibility: attributes.accessibility)
        }
        AnchorMemory.remember(opened)
    }
}
