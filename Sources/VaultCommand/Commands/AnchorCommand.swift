import ArgumentParser
import VaultFmt

/// `anchor`: the state a vault is in, to be remembered elsewhere.
struct AnchorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "anchor",
        abstract: "Write the anchor of a vault's state, or accept the state as the newest.",
        discussion: """
            This machine remembers the newest state of each vault that it saw, and refuses one that is older or forked (exit 65). --accept \
            makes it remember the state of this file instead.

            Examples:
              vaultfmt anchor work.vault > work.anchor
              vaultfmt anchor work.vault --accept
            """)

    @OptionGroup var vault: VaultFileOptions

    @Flag(help: "Remember this state, even if it is older or forked.")
    var accept = false

    func run() throws {
        let opened = try vault.access.open(vault.path, anchors: .ignore)
        let output = Output.standard()
        try output.line(opened.anchor.description)
        try output.flush()
        guard accept else { return try AnchorMemory.check(opened) }
        try AnchorMemory.accept(opened)
        Terminal.note(
            "generation \(opened.anchor.generation) is what this machine remembers of \(TerminalText.quoted(opened.path)) from now on")
    }
}
