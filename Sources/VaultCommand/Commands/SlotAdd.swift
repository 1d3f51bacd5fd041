import ArgumentParser
import VaultFmt
import VaultLocal

/// `slot add`.
struct SlotAdd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a slot: another way to open the vault.",
        discussion: """
            The new slot's factors come from the --new-… options, VAULTFMT_NEW_PASSPHRASE and the like, or a prompt. With --grant-group it \
            opens the secrets of those groups only, as they are from now on: the vault is rewritten under new keys. Its holder still lists all \
            of the vault: the names, labels and dates of every item, whatever its group. Whoever could once read a secret may have kept it: \
            after removing such a slot, or moving an item out of its groups, change the secret itself.

            Examples:
              vaultfmt slot add work.vault --new-key-file backup.key --name backup
              vaultfmt slot add work.vault --new-raw-key-file ci.key --grant-group ci --name 'CI runner'
              vaultfmt slot add work.vault --new-key-file new.key --grant-group staging --create-group
            """)

    @OptionGroup var vault: VaultFileOptions
    @OptionGroup(title: "New factors") var newFactors: NewFactorOptions
    @OptionGroup(title: "Key derivation") var cost: CostOptions

    @Option("A name for it, for people.")
    var name = ""

    @Option("Open this access group only; may be repeated. The default group is ''.", value: "group")
    var grantGroup: [String] = []

    @Flag(help: "Make the groups of --grant-group that the vault does not have.")
    var createGroup = false

    func run() throws {
        ControllingTerminal.beginSeries()
        let opened = try vault.openVault(writable: true)
        try checkGroups(opened)
        let given = try newFactors.sources.creating("New passphrase for the slot", mayAsk: !vault.access.noInput)
        PassphraseStrength.remark(on: given)
        let factors = try whileOpening { try given.together() }
        let kinds = try whileOpening { try given.combinations() }.first ?? []
        ControllingTerminal.endSeries()
        let figures = try cost.cost()
        let change = try Progress.during("adding a slot") {
            try opened.addSlot(
                factors, cost: figures, name: name, grantedGroups: grantGroup.isEmpty ? nil : grantGroup,
                createsGroups: createGroup,
                allowWeak: cost.allowWeak, limits: vault.access.limits)
        }
        Terminal.note("added slot \(change.id); \(SlotAdvice.words(kinds))")
        SlotText.report(change)
    }

    /// Before anything is asked: a misspelt group would be granted to nobody's use.
    private func checkGroups(_ opened: Vault) throws {
        guard !createGroup else {
            if grantGroup.isEmpty {
                throw CommandFailure(.usage, "--create-group makes groups of --grant-group, and none is given")
            }
            return
        }
        let known = try opened.accessGroups()
        for group in grantGroup where !known.contains(where: { $0.utf8.elementsEqual(group.utf8) }) {
            let names = known.map { TerminalText.quoted($0) }.joined(separator: ", ")
            let there = known.isEmpty ? "it has none yet" : "it has \(names)"
            throw CommandFailure(
                .noSuchItem,
                "the vault has no access group \(TerminalText.quoted(group)) (\(there)); give --create-group to make it"
            )
        }
    }
}
