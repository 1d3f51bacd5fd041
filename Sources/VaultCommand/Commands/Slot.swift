import ArgumentParser
import VaultConsole

/// `slot`: manages the slots that open a vault.
struct Slot: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slot",
        abstract: "List, add or remove the slots of a vault: the factors that open it.",
        discussion: """
            Examples:
              vaultfmt slot list
              vaultfmt slot add work.vault --new-key-file backup.key --name backup
            """,
        subcommands: [SlotList.self, SlotAdd.self, SlotRemove.self])

    func run() throws { throw MissingCommand() }
}
