import ArgumentParser
import VaultFmt
import VaultLocal

/// `log`: the states of a vault.
struct Log: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the states of a vault: when, by which device, and what changed; never a secret.",
        discussion: """
            The newest comes first, as far back as the file was last compacted or rewritten. Items are marked as 'vaultfmt diff' marks them. --json writes an array \
            of objects: anchor, generation, time, devices, merge, and changes as 'vaultfmt diff --json' writes them. Any copy can be shown; it is compared with \
            nothing that this machine remembers.

            Examples:
              vaultfmt log
              vaultfmt log work.vault --limit 5 --json
            """)

    @Option("At most so many.", value: "number")
    var limit: Int?

    @Flag(help: "Write a JSON array of objects.")
    var json = false

    @OptionGroup var vault: VaultFileOptions

    func validate() throws {
        if let limit { guard limit >= 1 else { throw ValidationError("--limit takes 1 or more") } }
    }

    func run() throws {
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
        head += entry.devices.map { "device \($0)" }
        if entry.isMerge { head.append("merge") }
        try output.line(head.joined(separator: "  "))
        guard let changes = entry.changes else {
            return try output.line("    the file no longer holds the state before it")
        }
        for line in ChangesText.lines(changes) { try output.line("    " + TerminalText.singleLine(line)) }
    }
}

extension JSONWriter {
    fileprivate mutating func members(of entry: LogEntry) throws {
        try member("anchor", entry.state.description)
        try member("generation", entry.state.generation)
        try member("time", Timestamp.text(entry.time))
        try array("devices") { writer in for device in entry.devices { try writer.value(device.description) } }
        try member("merge", entry.isMerge)
        guard let changes = entry.changes else { return }
        try object("changes") { writer in try writer.members(of: changes) }
    }
}
