import ArgumentParser
import VaultFmt
import VaultLocal

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

    @Argument(help: "The slot's id, the beginning of its id, or its name.")
    var slot: String

    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        let opened = try vault.openVault(writable: true)
        let slots = try opened.slots()
        let found = try Self.find(slot, among: slots)
        let change = try opened.removeSlot(found.id)
        let wasUnlocked = try ThisMachine.current().dropKeptKeyIfGone(opened)
        Terminal.note(
            "removed slot \(SlotText.short(found)); a copied key still opens the vault until 'vaultfmt rekey --rotate', and older copies of the file keep the slot"
        )
        SlotText.report(change)
        if wasUnlocked { Terminal.note("the vault is locked; 'vaultfmt unlock' opens it again") }
    }

    /// The slot with this id, this name, or the only one whose id begins so.
    static func find(_ text: String, among slots: [SlotInfo]) throws -> SlotInfo {
        if let exact = slots.first(where: { $0.id.description == text.lowercased() }) { return exact }
        var matches = slots.filter { $0.name == text && !text.isEmpty }
        if matches.isEmpty && text.count >= 4 {
            matches = slots.filter { $0.id.description.hasPrefix(text.lowercased()) }
        }
        guard let match = matches.first else {
            throw CommandFailure(
                .noSuchItem, "no slot is named \(TerminalText.quoted(text)); 'vaultfmt slot list' shows them")
        }
        guard matches.count == 1 else {
            for match in matches { Terminal.errorLine("  \(SlotText.short(match))") }
            throw CommandFailure(
                .ambiguous, "\(matches.count) slots are named \(TerminalText.quoted(text)); give the id")
        }
        return match
    }
}
