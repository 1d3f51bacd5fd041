import ArgumentParser
import VaultFmt
import VaultLocal

/// `list`: what is in a vault, without secrets.
struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List items: a table on a terminal, tab-separated lines otherwise; never a secret.",
        discussion: """
            PATTERN is looked for in service, account, server and label, without regard to case; options match exactly. With a pattern, \
            finding nothing is exit 1. In JSON, attributes that are sealed or have more than 256 bytes are counted only: \
            'vaultfmt get --json' has them. The columns are class, service or server, account, label, group, and time of change (UTC).

            Examples:
              vaultfmt list github
              vaultfmt list --class certificate --json
            """,
        aliases: ["ls"])

    @Argument(help: "Part of a service, account, server or label.")
    var pattern: String?

    @OptionGroup(title: "Filters") var fields: ItemFields
    @OptionGroup(title: "Filters") var filters: ItemFilters

    @Flag(help: "Write a JSON array of objects.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        var query = fields.query
        query.pattern = pattern
        query.label = filters.label
        query.accessibility = filters.accessible?.value
        let opened = try vault.openVault()
        // On the terminal itself the list is progress enough.
        let progress = Terminal.outputIsTerminal ? nil : Progress("listing")
        defer { progress?.finish() }
        let found = try json ? writeJSON(opened, query) : writeTable(opened, query)
        if found == 0, let pattern {
            throw CommandFailure(
                .noSuchItem, "nothing matches \(TerminalText.quoted(pattern)); 'vaultfmt list' shows what there is")
        }
    }

    private func writeTable(_ opened: Vault, _ query: Query) throws -> Int {
        let output = Output.standard()
        var table = Table(["CLASS", "SERVICE", "ACCOUNT", "LABEL", "GROUP", "MODIFIED"])
        var found = 0
        try ItemSearch.each(in: opened, query) { item in
            found += 1
            let name = ItemText.name(item.key)
            let modified = table.isForPeople ? Timestamp.short(item.modified) : Timestamp.text(item.modified)
            let label = item.attributes.label ?? ""
            try table.add(
                [
                    item.key.itemClass.name, name.first ?? "", name.dropFirst().first ?? "", label, item.key.group,
                    modified,
                ], to: output)
        }
        try table.finish(output)
        try output.flush()
        return found
    }

    private func writeJSON(_ opened: Vault, _ query: Query) throws -> Int {
        var writer = JSONWriter(Output.standard())
        var found = 0
        try writer.array { writer in
            try ItemSearch.each(in: opened, query) { item in
                found += 1
                try writer.object { writer in
                    try writer.members(of: item)
                    if item.unreadAttributes > 0 { try writer.member("unreadAttributes", item.unreadAttributes) }
                    if item.earlierValues > 0 { try writer.member("earlierValues", item.earlierValues) }
                }
            }
        }
        try writer.finish()
        return found
    }
}
