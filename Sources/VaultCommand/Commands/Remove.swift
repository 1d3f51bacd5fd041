import ArgumentParser
import VaultFmt

/// `remove`: takes items out of a vault.
struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove an item, after asking.",
        discussion: """
            What is removed stays in the file, encrypted, until 'vaultfmt compact', and in older copies of the file.

            Examples:
              vaultfmt remove github.com alice
              vaultfmt rm --group test --all --yes
            """,
        aliases: ["rm"])

    @OptionGroup var chosen: ItemChoice

    @Flag(help: "Remove all that match, after saying how many.")
    var all = false

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        let isNamed = chosen.name.isGiven || chosen.filters.label != nil || chosen.filters.accessible != nil
        guard isNamed || all else {
            throw CommandFailure(.usage, "no item is named; give SERVICE [ACCOUNT] or options")
        }
        try requireConsent()
        if !yes { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true)
        let items = try items(in: opened)
        let what =
            items.count == 1
            ? items.map { ItemText.summary($0.key, label: $0.attributes.label) }.joined() : "\(items.count) items"
        if all { Terminal.note("\(items.count) \(items.count == 1 ? "item matches" : "items match")") }
        guard try isConfirmed("Remove \(what)?") else { return Terminal.note("nothing was removed") }
        ControllingTerminal.end()
        let removed = try Progress.during("writing") {
            try opened.transaction { transaction throws(VaultError) in
                var removed = 0
                for item in items where try transaction.remove(item.key) { removed += 1 }
                return removed
            }
        }
        Terminal.note(
            "removed \(items.count == 1 ? what : "\(removed) items"); the ciphertext stays in the file until 'vaultfmt compact', and in older copies"
        )
    }

    private func items(in opened: Vault) throws -> [Item] {
        guard all else {
            return [try chosen.find(in: opened)]
        }
        let items = try chosen.findAll(in: opened)
        guard !items.isEmpty else {
            throw CommandFailure(.noSuchItem, "nothing matches; 'vaultfmt list' shows what there is")
        }
        return items
    }

    /// Fails early where there is nobody to ask.
    private func requireConsent() throws {
        guard !yes, vault.access.noInput || !Prompt.isPossible else { return }
        throw CommandFailure(.usage, "removing needs confirmation, and there is no terminal to prompt on; give --yes")
    }

    private func isConfirmed(_ question: String) throws -> Bool {
        if yes { return true }
        return try Prompt.confirm(question, instead: "give --yes")
    }
}
