package import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `log`: lists the states of a vault.
package struct Log: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "log",
        abstract:
            "List a vault's states, showing when each was written and what changed; secrets are never shown.",
        discussion: """
            The newest state comes first. The list goes back to the last time that the file was compacted or rewritten. Items are marked as in 'vaultfmt diff'. \
            --json writes an array with an object for each state; its members are state, generation, time, merge and changes, which has the form of \
            'vaultfmt diff --json'. Any copy can be shown; it is not checked against what this machine remembers.

            Examples:
              vaultfmt log
              vaultfmt log work.vault --limit 5 --json
            """)

    @Option("List at most this many states.", value: "number")
    var limit: Int?

    @Flag(help: "Print a JSON array of objects.")
    var json = false

    @OptionGroup var vault: VaultFileOptions

    package init() {}

    package func validate() throws {
        if let limit { guard limit >= 1 else { throw ValidationError("--limit must be at least 1") } }
    }

    package func run() throws {
        let opened = try vault.access.open(vault.path, anchors: .ignore)
        let entries = try Progress.during("reading") { try opened.log(limit: limit ?? .max) }
        let output = Output.standard()
        if json {
            var writer = JSONWriter(output)
            try writer.array { writer in
                for entry in entries { try writer.object { writer in try writer.members(of: entry) } }
            }
            return try writer.finish()
        }
        for entry in entries { try write(entry, output) }
        try output.flush()
    }

    private func write(_ entry: LogEntry, _ output: Output) throws {
        var head = ["generation \(entry.state.generation)", Timestamp.text(entry.time)]
        if entry.isMerge { head.append("merge") }
        try output.line(head.joined(separator: "  "))
        guard let changes = entry.changes else {
            return try output.line("    the file no longer contains the state before this one")
        }
        for line in ChangesText.lines(changes) { try output.line("    " + TerminalText.singleLine(line)) }
    }
}

extension JSONWriter {
    fileprivate mutating func members(of entry: LogEntry) throws {
        try member("state", entry.state.description)
        try member("generation", entry.state.generation)
        try member("time", Timestamp.text(entry.time))
        try member("merge", entry.isMerge)
        guard let changes = entry.changes else { return }
        try object("changes") { writer in try writer.members(of: changes) }
    }
}
