import ArgumentParser
import VaultFmt

/// `update`: changes attributes only.
struct Update: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change an item's attributes; its secret stays as it is.",
        discussion: """
            Nothing is read from standard input. Attributes that are not named stay as they are. A stricter --accessible rewrites the file, \
            so that no old record is easier to open than the item.

            Examples:
              vaultfmt update github.com alice --label 'GitHub, private'
              vaultfmt update github.com --attribute url=https://github.com/login --remove-attribute note
            """)

    @OptionGroup var name: ItemName
    @OptionGroup(title: "Attributes") var attributes: AttributeOptions
    @OptionGroup var removal: AttributeRemoval
    @OptionGroup var narrowing: NarrowingOption
    @OptionGroup var vault: VaultOptions

    func run() throws {
        let values = try attributes.values()
        guard !values.isEmpty || !removal.removeAttribute.isEmpty || attributes.accessibility != nil else {
            throw CommandFailure(
                .usage, "nothing to change; give --label, --comment, --attribute NAME=VALUE or the like")
        }
        guard name.isGiven else { throw ItemName.missing }
        let opened = try vault.openVault(writable: true, device: attributes.deviceNeed)
        let item = try name.find(in: opened)
        let changes = AttributeChanges(set: values, remove: removal.removeAttribute)
        try narrowing.change(opened) { (transaction) throws(VaultError) in
            try transaction.update(item.key, attributes: changes, accessibility: attributes.accessibility)
        }
    }
}
