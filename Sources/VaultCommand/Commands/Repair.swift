import ArgumentParser
import VaultFmt
import VaultLocal

/// `repair`: makes a vault writable again whose end is damaged.
struct Repair: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Put what follows the newest sound state of a vault aside, so that the vault can be changed again.",
        discussion: """
            When the end of the file holds a change that does not open, nothing can be changed: it may be somebody's change that was damaged, or \
            bytes that somebody else wrote. This keeps it in a file beside the vault, FILE.damaged-GENERATION, and then cuts it off. \
            'vaultfmt salvage' of a copy of the vault made before recovers what is whole in it.

            Examples:
              vaultfmt repair
              vaultfmt repair work.vault
            """)

    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        let opened = try vault.openVault(writable: true)
        let kept = try Progress.during("repairing") { try opened.repair() }
        guard let kept else {
            return Terminal.note("the end of \(TerminalText.quoted(opened.path)) is not damaged; nothing was put aside")
        }
        Terminal.note(
            "\(TerminalText.quoted(opened.path)) is at generation \(opened.anchor.generation), and what followed it is in \(TerminalText.quoted(kept))"
        )
    }
}
