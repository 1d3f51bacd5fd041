import ArgumentParser
import VaultFmt

/// `slot`: the ways into a vault.
struct Slot: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, add or remove the slots of a vault: the factors that open it.",
        discussion: """
            Examples:
              vaultfmt slot list
              vaultfmt slot add work.vault --new-key-file backup.key --name backup
            """,
        subcommands: [SlotList.self, SlotAdd.self, SlotRemove.self])
}

/// `slot list`.
struct SlotList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the slots of a vault.",
        discussion: """
            Examples:
              vaultfmt slot list
              vaultfmt slot list work.vault --json
            """,
        aliases: ["ls"])

    @OptionGroup var vault: VaultFileOptions

    @Flag(help: "Write a JSON object with the member slots.")
    var json = false

    func run() throws {
        let opened = try vault.openVault()
        let slots = try attempt { () throws(VaultError) in try opened.slots() }
        let output = Output.standard()
        if json {
            var writer = JSONWriter(output)
            try writer.object { writer throws(CommandFailure) in try writer.slots(slots) }
            return try writer.finish()
        }
        var table = Table(["SLOT", "NAME", "KIND", "FACTORS", "KEY DERIVATION", "GROUPS", ""])
        for slot in slots {
            let marks = [slot.isWeak ? "weak" : nil, slot.openedThis ? "opened this" : nil].compactMap { $0 }
            let groups = slot.isFull ? "all" : (slot.groups ?? []).map { $0.isEmpty ? "(default)" : $0 }.joined(separator: ", ")
            try table.add(
                [
                    slot.id.description, slot.name ?? "", slot.isFull ? "full" : "scoped", slot.factors.description, SlotText.cost(slot),
                    groups,
                    marks.joined(separator: ", "),
                ], to: output)
        }
        try table.finish(output)
        try output.flush()
    }
}

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
        let opened = try vault.openVault(writable: true)
        let factors = try newFactors.sources.creating("New passphrase for the slot", mayAsk: !vault.access.noInput).together()
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

/// `slot remove`.
struct SlotRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a slot; the last full one stays.",
        discussion: """
            SLOT is its id, the beginning of it, or its name. Whoever has an older copy of the file, or copied its key, can still open \
            the vault: only 'vaultfmt rekey --rotate' revokes a copied key.

            Examples:
              vaultfmt slot remove backup
              vaultfmt slot remove 3f09c2 work.vault
            """,
        aliases: ["rm"])

    @Argument(help: "The slot: its id, the beginning of it, or its name.")
    var slot: String

    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        let opened = try vault.openVault(writable: true)
        let slots = try attempt { () throws(VaultError) in try opened.slots() }
        let found = try Self.find(slot, among: slots)
        try attempt { () throws(VaultError) in try opened.removeSlot(found.id) }
        AnchorMemory.remember(opened)
        Terminal.note(
            "removed slot \(SlotText.short(found)); a copied key still opens the vault until 'vaultfmt rekey --rotate', and older copies of the file keep the slot"
        )
    }

    /// The slot with this id, this name, or the only one whose id begins so.
    static func find(_ text: String, among slots: [SlotInfo]) throws(CommandFailure) -> SlotInfo {
        if let exact = slots.first(where: { $0.id.description == text.lowercased() }) { return exact }
        var matches = slots.filter { $0.name == text && !text.isEmpty }
        if matches.isEmpty && text.count >= 4 { matches = slots.filter { $0.id.description.hasPrefix(text.lowercased()) } }
        guard let match = matches.first else {
            throw CommandFailure(.noSuchItem, "no slot is named \(TerminalText.quoted(text)); 'vaultfmt slot list' shows them")
        }
        guard matches.count == 1 else {
            for match in matches { Terminal.errorLine("  \(SlotText.short(match))") }
            throw CommandFailure(.ambiguous, "\(matches.count) slots are named \(TerminalText.quoted(text)); give the id")
        }
        return match
    }
}
