import ArgumentParser
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// `slot remove`: removes a slot.
struct SlotRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a slot, after confirmation; the last full slot cannot be removed.",
        discussion: """
            SLOT is the slot's id, the beginning of its id, or its name. Older copies of the file \
            still contain the slot. Removing a scoped slot replaces the keys that it opens, so that a copied key of it \
            opens nothing written here any more. A copied key of a full slot still opens the vault; only 'vaultfmt rekey \
            --rotate' revokes it.

            Examples:
              vaultfmt slot remove backup
              vaultfmt slot remove 3f09c2 work.vault --yes
            """,
        aliases: ["rm"])

    @Argument(
        help: "The slot's id, the beginning of its id, or its name.", completion: .custom(VaultCompletion.slots))
    var slot: String

    @Flag(name: [.short, .long], help: "Do not ask for confirmation.")
    var yes = false

    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        if !yes { ControllingTerminal.beginSeries() }
        let opened = try vault.openVault(writable: true)
        let slots = try opened.slots()
        let found = try Self.find(slot, among: slots)
        guard try mayRemove(found, of: slots) else { throw CommandFailure.declined("nothing was removed") }
        ControllingTerminal.end()
        let change = try opened.removeSlot(found.id)
        let wasUnlocked = try ThisMachine.current().dropKeptKeyIfGone(opened)
        let key =
            found.isFull
            ? "a copied key still opens the vault until 'vaultfmt rekey --rotate' is run, and older copies of the file still contain the slot"
            : "the keys that it opens were replaced, so a copied key opens nothing in the file any more; older copies of the file still contain the slot, so change the secrets that it opened"
        Terminal.note("removed slot \(SlotText.short(found)); \(key)")
        SlotText.report(change)
        if wasUnlocked { Terminal.note("the vault is locked; unlock it with 'vaultfmt unlock'") }
    }

    /// Asks for confirmation if someone would lose access. A slot that cannot be removed needs no confirmation.
    private func mayRemove(_ slot: SlotInfo, of slots: [SlotInfo]) throws -> Bool {
        let isLast = slot.isFull && !slots.contains { $0.isFull && $0.isKnown && $0.id != slot.id }
        if yes || isLast { return true }
        guard !vault.access.noInput, Prompt.isPossible else {
            throw CommandFailure(
                .usage, "removing a slot needs confirmation, but there is no terminal to prompt on; use --yes")
        }
        let own = slot.openedThis ? ", with which the vault was just opened" : ""
        return try Prompt.confirm("Remove the slot \(SlotText.short(slot))\(own)?", instead: "use --yes")
    }

    /// Returns the slot with the given id or name, or the only slot whose id begins with the given text.
    static func find(_ text: String, among slots: [SlotInfo]) throws -> SlotInfo {
        if let exact = slots.first(where: { $0.id.description == text.lowercased() }) { return exact }
        var matches = slots.filter { $0.name == text && !text.isEmpty }
        if matches.isEmpty && text.count >= 4 {
            matches = slots.filter { $0.id.description.hasPrefix(text.lowercased()) }
        }
        guard let match = matches.first else {
            throw CommandFailure(
                .noSuchItem, "no slot is named \(TerminalText.quoted(text)); 'vaultfmt slot list' shows all slots")
        }
        guard matches.count == 1 else {
            for match in matches { Terminal.errorLine("  \(SlotText.short(match))") }
            throw CommandFailure(
                .ambiguous, "\(matches.count) slots are named \(TerminalText.quoted(text)); specify the id")
        }
        return match
    }
}
