import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `anchor`: prints a vault's state in a form that can be stored elsewhere.
struct AnchorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "anchor",
        abstract: "Print the anchor of a vault's state, or accept that state as the newest.",
        discussion: """
            For each vault at each path, this machine remembers the newest state it has seen and the owners' public \
            key. It refuses a file that is older, has diverged from that state, or belongs to someone else (exit 65); \
            a rotation by the owners themselves is accepted. With --accept, it remembers the state of this file \
            instead. Changes missing from this file are treated as dropped: merging a copy that has them requires \
            --accept-dropped.

            When a second copy of a vault is first opened on this machine, it is compared with the first copy; if it is \
            older or has diverged, accept it once.

            Examples:
              vaultfmt anchor work.vault > work.anchor
              vaultfmt anchor work.vault --accept
            """)

    @OptionGroup var vault: VaultFileOptions

    @Flag(help: "Remember this state and its owners, regardless of what was remembered before.")
    var accept = false

    func run() throws {
        let machine = try ThisMachine.current()
        let opened = try vault.access.open(vault.path, anchors: .ignore)
        let output = Output.standard()
        try output.line(try opened.anchor.description)
        try output.flush()
        guard accept else { return try machine.check(opened) }
        try machine.accept(opened)
        Terminal.note(
            "this machine now remembers generation \(opened.state.generation) of \(TerminalText.path(opened.path))"
        )
        guard try machine.remembered(opened.id, at: opened.path)?.dropped.isEmpty == false else { return }
        Terminal.note(
            "changes missing from this state are now treated as dropped; to merge a copy that has them, use 'vaultfmt merge --accept-dropped'"
        )
    }
}
