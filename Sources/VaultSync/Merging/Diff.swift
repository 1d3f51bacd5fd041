package import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `diff`: shows the differences between two copies or states of a vault.
package struct Diff: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show the differences between two copies of a vault: names and fields, never secrets.",
        discussion: """
            Prints a line for each item: + if only B has it, - if only A has it, ~ with the fields that differ. With one file, shows the newest \
            change, or with --since all changes since a state that 'vaultfmt log' lists. --json writes an object: items, addedGroups, addedSlots, \
            changedSlots, removedSlots and keptVersions.

            --git writes one copy as text for 'git diff', as its textconv: items, the names of their attributes, and revisions. It never prompts; a \
            locked vault is shown as a single line. 'vaultfmt git setup' configures it.

            The files are not checked against what this machine remembers, because you may want to see an older copy.

            Examples:
              vaultfmt diff backup.vault work.vault
              vaultfmt diff work.vault --since 41
            """)

    @Argument(help: ArgumentHelp("The vault, or the older copy.", valueName: "a"), completion: .file())
    var first: String

    @Argument(help: ArgumentHelp("The newer copy.", valueName: "b"), completion: .file())
    var second: String?

    @Option("Show all changes since the state with this generation.", value: "generation")
    var since: UInt64?

    @Flag(help: "Print a JSON object.")
    var json = false

    @Flag(help: "Print the file as text, for git.")
    var git = false

    @OptionGroup(title: "Access") var access: AccessOptions

    package init() {}

    package func validate() throws {
        guard second == nil || (since == nil && !git) else {
            throw ValidationError("--since and --git accept only one file; leave out the second file")
        }
        guard !git || (since == nil && !json) else {
            throw ValidationError("--git cannot be combined with --since or --json; leave them out")
        }
    }

    package func run() throws {
        if git { return try GitText.write(first, access) }
        let opened = try access.open(first, anchors: .ignore)
        let changes: VaultChanges
        if let second {
            let other = try whileOpening { try Vault.id(at: second) }
            guard other == opened.id else {
                throw CommandFailure(
                    .usage, "\(TerminalText.quoted(second)) is another vault (\(other)); there is nothing to compare")
            }
            let newer = try access.openCopy(second, of: opened) ?? access.open(second, anchors: .ignore)
            changes = try Progress.during("comparing") { try newer.changes(from: opened) }
        } else {
            changes = try Progress.during("comparing") { try newest(opened) }
        }
        try write(changes)
    }

    private func newest(_ vault: Vault) throws -> VaultChanges {
        guard let since else {
            guard let changes = try vault.log(limit: 1).first?.changes else {
                throw CommandFailure(
                    .noSuchItem,
                    "the file has no earlier state: it was compacted or rewritten; compare it with an older copy")
            }
            return changes
        }
        guard let state = try vault.log().first(where: { $0.state.generation == since })?.state else {
            throw CommandFailure(
                .noSuchItem, "the file has no state of generation \(since); 'vaultfmt log' lists its states")
        }
        return try vault.changes(since: state)
    }

    private func write(_ changes: VaultChanges) throws {
        let output = Output.standard()
        if json {
            var writer = JSONWriter(output)
            try writer.object { writer in try writer.members(of: changes) }
            return try writer.finish()
        }
        for line in ChangesText.lines(changes) { try output.line(TerminalText.singleLine(line)) }
        try output.flush()
        if changes.isEmpty { Terminal.note("there are no differences") }
    }
}

/// A vault as text for git, so that a diff between two commits shows which items changed.
enum GitText {
    static func write(_ path: String, _ access: AccessOptions) throws {
        let output = Output.standard()
        var quiet = access
        quiet.noInput = true
        do {
            let vault = try quiet.open(path, anchors: .ignore)
            try output.line("vault \(vault.id) generation \(vault.state.generation)")
            try ItemSearch.each(in: vault, Query()) { item in
                try output.line(TerminalText.singleLine(ItemText.summary(item.key, label: item.attributes.label)))
                let names = item.attributes.all.map { TerminalText.quoted($0.name) }.joined(separator: ", ")
                try output.line("    \(item.accessibility.name), attributes: \(names)")
                try output.line("    modified \(Timestamp.text(item.modified)), revision \(item.revision)")
            }
        } catch let failure as CommandFailure where [.noAccess, .overLimit].contains(failure.status) {
            let found = try Vault.inspect(path)
            try output.line("vault \(found.id), locked: 'vaultfmt unlock' lets git show its contents")
        }
        try output.flush()
    }
}
