import ArgumentParser
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// `repair`: makes a vault with a damaged end writable again.
struct Repair: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Set aside the damaged end of a vault, so that the vault can be changed again.",
        discussion: """
            If the file ends with a change that cannot be opened, the vault cannot be changed: the end may be a \
            genuine change that was damaged, or bytes written by someone else. This command saves those bytes next to \
            the vault, as FILE.damaged-GENERATION, and then removes them from the vault. To recover intact data from \
            them, run 'vaultfmt salvage' on a copy of the vault made before the repair.

            It also repairs a vault that no longer opens because too many bytes were appended to it: it searches the \
            whole file for the newest state, which takes time in proportion to the file's length.

            Examples:
              vaultfmt repair
              vaultfmt repair work.vault
            """)

    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        let opened = try vault.access.openForRepair(vault.path)
        let kept = try Progress.during("repairing") { try opened.repair() }
        guard let kept else {
            return Terminal.note("the end of \(TerminalText.path(opened.path)) is not damaged; nothing was set aside")
        }
        Terminal.note(
            "\(TerminalText.path(opened.path)) is now at generation \(opened.state.generation); the removed bytes are in \(TerminalText.path(kept))"
        )
    }
}
