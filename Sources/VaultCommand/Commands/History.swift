import ArgumentParser
import VaultFmt
import VaultLocal

/// `history`: lists the earlier values of an item.
struct History: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List an item's earlier values, without secrets.",
        discussion: """
            When a secret or a sealed attribute is replaced, the old value stays in the vault, sealed for its owners; \
            'create --keep' or 'rekey --keep' sets how many are kept. The columns show the number to give to other \
            commands, the times (UTC) when the value was replaced and last changed, the approximate size of its \
            secret, and the item's label at the time.

            Examples:
              vaultfmt history github.com alice
              vaultfmt get github.com alice --earlier 2
            """)

    @OptionGroup var chosen: ItemChoice

    @Flag(help: "Write a JSON array of objects.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        try chosen.check()
        let opened = try vault.openVault()
        let item = try chosen.find(in: opened)
        let values = try EarlierValues.newestFirst(of: item, in: opened)
        try json ? writeJSON(values) : writeTable(values)
        if values.isEmpty { Terminal.note("\(ItemText.summary(item.key)) has no earlier values") }
    }

    private func writeTable(_ values: [EarlierValue]) throws {
        let output = Output.standard()
        var table = Table(["NUMBER", "REPLACED", "MODIFIED", "SIZE", "LABEL"])
        for (index, value) in values.enumerated() {
            let times = [value.replaced, value.modified].map {
                table.isForPeople ? Timestamp.short($0) : Timestamp.text($0)
            }
            let size = table.isForPeople ? MemorySize.text(bytes: UInt64(value.paddedSize)) : String(value.paddedSize)
            try table.add(["\(index + 1)"] + times + [size, value.attributes.label ?? ""], to: output)
        }
        try table.finish(output)
        try output.flush()
    }

    private func writeJSON(_ values: [EarlierValue]) throws {
        var writer = JSONWriter(Output.standard())
        try writer.array { writer in
            for (index, value) in values.enumerated() {
                try writer.object { writer in
                    try writer.member("number", index + 1)
                    try writer.member("revision", value.revision)
                    if let device = value.device { try writer.member("writtenBy", device.description) }
                    try writer.member("replaced", Timestamp.text(value.replaced))
                    try writer.member("modified", Timestamp.text(value.modified))
                    try writer.member("paddedSize", value.paddedSize)
                    try writer.attributes(value.attributes)
                }
            }
        }
        try writer.finish()
    }
}
