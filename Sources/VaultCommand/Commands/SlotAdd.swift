import ArgumentParser
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// `slot add`: adds a slot.
struct SlotAdd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a slot: another way to open the vault.",
        discussion: """
            The new slot's factors come from the --new-… options, from variables such as VAULTFMT_NEW_PASSPHRASE, or \
            from a prompt. With --grant-group, it opens only the secrets of those groups, and only from this change \
            on: the vault is rewritten under new keys. Its holder can still list the whole vault: the names, labels \
            and dates of all items, in every group. Anyone who could once read a secret may have kept it, so after \
            removing such a slot, or moving an item out of its groups, change the secret itself.

            Examples:
              vaultfmt slot add work.vault --new-key-file backup.key --name backup
              vaultfmt slot add work.vault --new-raw-key-file ci.key --grant-group ci --name 'CI runner'
              vaultfmt slot add work.vault --new-key-file new.key --grant-group staging --create-group
              vaultfmt slot add work.vault --recipients-file team.txt --grant-group team
            """)

    @OptionGroup var vault: VaultFileOptions
    @OptionGroup(title: "New factors") var newFactors: NewFactorOptions
    @OptionGroup(title: "Recipients") var recipients: RecipientOptions
    @OptionGroup(title: "Key derivation") var cost: CostOptions

    @Option("A human-readable name for the slot.")
    var name = ""

    @Option(
        "Give access only to this group and to the names of all items; may be repeated. The default group is ''.",
        value: "group", completion: .custom(VaultCompletion.groups))
    var grantGroup: [String] = []

    @Flag(help: "Create the groups named by --grant-group if they do not exist.")
    var createGroup = false

    func run() throws {
        ControllingTerminal.beginSeries()
        let opened = try vault.openVault(writable: true)
        try checkGroups(opened)
        let factor = try recipients.factor(mayAsk: !vault.access.noInput)
        let given = try newFactors.sources.creating(
            "New passphrase for the slot", mayAsk: !vault.access.noInput, recipients: factor)
        PassphraseStrength.remark(on: given)
        let factors = try whileOpening { try given.together() }
        let kinds = try whileOpening { try given.combinations() }.first ?? []
        ControllingTerminal.endSeries()
        let figures = try cost.cost()
        let change = try Progress.during("adding a slot") {
            try AgeKeys.reporting(factor) {
                try opened.addSlot(
                    factors, cost: figures, name: name, grantedGroups: grantGroup.isEmpty ? nil : grantGroup,
                    createsGroups: createGroup,
                    allowWeak: cost.allowWeak, limits: vault.access.limits)
            }
        }
        Terminal.note("added slot \(change.id); \(SlotAdvice.words(kinds))")
        SlotText.report(change)
    }

    /// Checks the groups before any prompt, because access to a misspelt group would be useless.
    private func checkGroups(_ opened: Vault) throws {
        guard !createGroup else {
            if grantGroup.isEmpty {
                throw CommandFailure(.usage, "--create-group requires --grant-group; add it")
            }
            return
        }
        let known = try opened.accessGroups()
        for group in grantGroup where !known.contains(where: { $0.utf8.elementsEqual(group.utf8) }) {
            let names = known.map { TerminalText.quoted($0) }.joined(separator: ", ")
            let there = known.isEmpty ? "it has none yet" : "it has \(names)"
            throw CommandFailure(
                .noSuchItem,
                "the vault has no access group \(TerminalText.quoted(group)) (\(there)); use --create-group to create it"
            )
        }
    }
}
