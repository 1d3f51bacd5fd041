import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// `history`: lists the earlier values of an item.
struct History: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List an item's earlier values, without secrets.",
        discussion: """
            When a secret or a sealed attribute is replaced, the old value stays in the vault, sealed for the vault's \
            owners; 'create --keep' or 'rekey --keep' sets how many are kept for each. The columns show the value's \
            number, for use in other commands (each field is numbered separately); the field; when the value was \
            replaced and when it was set (UTC; empty if unknown, as for imported values); the value's approximate \
            size; and, for a secret, the item's label at that time. A value is identified by its field, revision and \
            replica, which --json writes.

            Examples:
              vaultfmt history github.com alice
              vaultfmt get github.com alice --earlier 2
            """)

    @OptionGroup var chosen: ItemChoice

    @Flag(help: "Print a JSON array of objects.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        try chosen.check()
        let opened = try vault.openVault()
        let item = try chosen.find(in: opened)
        let values = try EarlierValues.numbered(of: item, in: opened)
        try json ? writeJSON(values) : writeTable(values)
        let unlisted = try EarlierValues.unlisted(of: item, in: opened)
        guard unlisted == 0 else { return reportUnlisted(unlisted, of: item, kept: opened.keptVersions) }
        guard values.isEmpty else { return }
        let others = item.needsSettling ? "; a merge has left values to settle: 'vaultfmt conflicts show'" : ""
        Terminal.note("\(ItemText.summary(item.key)) has no earlier values\(others)")
    }

    /// Reports earlier values that the vault has kept, but would not keep now.
    private func reportUnlisted(_ count: Int, of item: Item, kept: Int) {
        let what = count == 1 ? "1 more earlier value is" : "\(count) more earlier values are"
        let go = count == 1 ? "it goes" : "they go"
        Terminal.note(
            "\(what) still in the file, and not shown because the vault keeps \(kept) now; \(go) when the item changes, or with "
                + "'vaultfmt forget --id \(item.id) --all', which forgets all of the item's earlier values")
    }

    private func writeTable(_ values: [(number: Int, value: EarlierValue)]) throws {
        let output = Output.standard()
        var table = Table(["NUMBER", "FIELD", "REPLACED", "SET", "SIZE", "LABEL"])
        for (number, value) in values {
            let times = [value.replaced, value.knownModified ?? 0].map { time in
                time == 0 ? "" : table.isForPeople ? Timestamp.short(time) : Timestamp.text(time)
            }
            let size = table.isForPeople ? MemorySize.text(bytes: UInt64(value.paddedSize)) : String(value.paddedSize)
            let field = value.attribute ?? "secret"
            try table.add(["\(number)", field] + times + [size, value.attributes.label ?? ""], to: output)
        }
        try table.finish(output)
        try output.flush()
        guard table.isForPeople, !values.isEmpty else { return }
        let field = values.allSatisfy { $0.value.attribute != nil } ? " --field FIELD" : ""
        Terminal.note(
            "'vaultfmt get NAME\(field) --earlier NUMBER' shows an earlier value, and 'vaultfmt restore' makes it current"
        )
    }

    private func writeJSON(_ values: [(number: Int, value: EarlierValue)]) throws {
        var writer = JSONWriter(Output.standard())
        try writer.array { writer in
            for (number, value) in values {
                try writer.object { writer in
                    try writer.member("number", number)
                    try writer.members(naming: value)
                    try writer.member("paddedSize", value.paddedSize)
                    if value.attribute == nil { try writer.attributes(value.attributes) }
                }
            }
        }
        try writer.finish()
    }
}

extension JSONWriter {
    /// Writes the members that identify an earlier value (`kind`, `name`, `revision` and `replica`) and its times.
    mutating func members(naming value: EarlierValue) throws {
        try members(of: value.attribute.map { .attribute($0) } ?? .secret)
        try member("revision", value.revision)
        try member(replica: value.replica)
        if value.replaced != 0 { try member("replaced", Timestamp.text(value.replaced)) }
        if let modified = value.knownModified { try member("modified", Timestamp.text(modified)) }
    }
}
