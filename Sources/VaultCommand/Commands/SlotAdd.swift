import ArgumentParser
import VaultFmt

/// `slot add`.
struct SlotAdd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a slot: another way to open the vault.",
        discussion: """
            The new slot's factors come from the --new-… options, VAULTFMT_NEW_PASSPHRASE and the like, or a prompt. With --grant-group it \
            lists the vault and opens the secrets of those groups only.

            Examples:
              vaultfmt slot add work.vault --new-key-file backup.key --name backup
              vaultfmt slot add work.vault --new-raw-key-file ci.key --grant-group ci --name 'CI runner'
            """)

    @OptionGroup var vault: VaultFileOptions
    @OptionGroup(title: "New factors") var newFactors: NewFactorOptions
    @OptionGroup(title: "Key derivation") var cost: CostOptions

    @Option(parsing: .unconditional, help: "A name for it, for people.")
    var name = ""

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Open this access group only; may be repeated. The default group is ''.", valueName: "group"))
    var grantGroup: [String] = []

    func run() throws {
        ControllingTerminal.beginSeries()
        let opened = try vault.openVault(writable: true)
        let factors = try newFactors.sources.creating("New passphrase for the slot", mayAsk: !vault.access.noInput).together()
        ControllingTerminal.endSeries()
        let figures = try cost.cost()
        let progress = Progress("adding a slot")
        defer { progress.finish() }
        let id = try attempt { () throws(VaultError) in
            try opened.addSlot(
                factors, cost: figures, name: name, grantedGroups: grantGroup.isEmpty ? nil : grantGroup, allowWeak: cost.allowWeak)
        }
        progress.finish()
        AnchorMemory.remember(opened)
        Terminal.note("added slot \(id)")
    }
}
