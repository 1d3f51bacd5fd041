import ArgumentParser
import VaultFmt
import VaultLocal

/// `anchor`: the state a vault is in, to be remembered elsewhere.
struct AnchorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "anchor",
        abstract: "Write the anchor of a vault's state, or accept the state as the newest.",
        discussion: """
            This machine remembers the newest state of each vault that it saw, and the owners' public key. It refuses a file that is older, was \
            continued from another state, no longer proves that it continues the remembered one, or belongs to other owners (exit 65); a \
            rotation of their own is followed. --accept makes it remember the state of this file instead.

            Examples:
              vaultfmt anchor work.vault > work.anchor
              vaultfmt anchor work.vault --accept
            """)

    @OptionGroup var vault: VaultFileOptions

    @Flag(help: "Remember this state and its owners, whatever was remembered.")
    var accept = false

    func run() throws {
        let machine = try ThisMachine.current()
        let opened = try vault.access.open(vault.path, anchors: .ignore)
        let output = Output.standard()
        try output.line(opened.anchor.description)
        try output.flush()
        guard accept else { return try machine.check(opened) }
        try machine.accept(opened)
        Terminal.note(
            "generation \(opened.anchor.generation) is what this machine remembers of \(TerminalText.quoted(opened.path)) from now on"
        )
    }
}
