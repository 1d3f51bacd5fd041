import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt

/// `slot list`: lists the slots.
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

    @Flag(help: "Print a JSON object with the member 'slots'.")
    var json = false

    func run() throws {
        let opened = try vault.openVault()
        let slots = try opened.slots()
        let output = Output.standard()
        if json {
            var writer = JSONWriter(output)
            try writer.object { writer in try writer.slots(slots) }
            return try writer.finish()
        }
        var table = Table(["SLOT", "NAME", "KIND", "FACTORS", "KEY DERIVATION", "GROUPS", ""], fixed: [0])
        let weakest = SlotStrength.weakest(of: slots)
        for slot in slots {
            let marks = [
                slot.isWeak ? "weak" : nil, slot.id == weakest ? "weakest" : nil, RecipientList.mark(slot),
                slot.openedThis ? "opened this" : nil,
            ].compactMap { $0 }
            let groups =
                slot.isFull
                ? "all"
                : slot.groups?.map { $0.isEmpty ? "(default)" : $0 }.joined(separator: ", ") ?? "unknown"
            try table.add(
                [
                    // 'slot remove' and other commands accept the beginning of an id.
                    table.isForPeople ? String(slot.id.description.prefix(8)) : slot.id.description, slot.name ?? "",
                    slot.kind.name, SlotText.factors(slot),
                    SlotText.cost(slot), groups,
                    marks.joined(separator: ", "),
                ], to: output)
        }
        try table.finish(output)
        try output.flush()
    }
}
