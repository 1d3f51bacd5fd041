import ArgumentParser
import VaultFmt

/// The forms that items can be exported to.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
    case json
    case csv
}

/// `export`: items and their secrets, in plaintext.
struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write items and their secrets in plaintext, as JSON or CSV.",
        discussion: """
            JSON keeps everything: 'vaultfmt import' of it gives an equal vault, with the earlier values of items where a full slot opened it. \
            CSV is for other programs: it begins with the columns of Apple Passwords, leaves attributes and earlier values out, and alters no \
            value, so a spreadsheet may take one that starts with = for a formula. Items of this device only, and of classes that this version \
            does not know, are left out, and named; that is exit 3.

            Examples:
              vaultfmt export --output backup.json
              vaultfmt export work.vault --class internet-password --format csv --output passwords.csv
            """)

    @Option(help: "json or csv.")
    var format: ExportFormat = .json

    @Option(
        "Make this file, readable by you alone, instead of writing to standard output.",
        name: [.customShort("o"), .long], value: "file", isFile: true)
    var output: String?

    @OptionGroup(title: "Filters") var fields: ItemFields
    @OptionGroup(title: "Filters") var filters: ItemFilters
    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        if let output { try ExportFile.check(output) }
        guard output != nil || format != .csv || !Terminal.outputIsTerminal else {
            throw CommandFailure(
                .usage,
                "CSV has control characters as they are, so it is not shown on a terminal; give --output, or send it to a pipe"
            )
        }
        let opened = try vault.openVault()
        Terminal.warning("an export is plaintext: whoever can read it has the secrets")
        let leftOut: Int
        if let output {
            let file = try ExportFile(output)
            leftOut = try write(opened, to: file.output) { try file.checkInterruption() }
            try file.finish()
        } else {
            leftOut = try write(opened, to: .standard()) {}
        }
        guard leftOut == 0 else {
            throw CommandFailure(
                .incomplete,
                "exported, but \(leftOut == 1 ? "1 item is" : "\(leftOut) items are") missing (see above); no export can hold them"
            )
        }
    }

    private func write(_ vault: Vault, to output: Output, pause: () throws -> Void) throws -> Int {
        let progress = self.output == nil && Terminal.outputIsTerminal ? nil : Progress("exporting")
        defer { progress?.finish() }
        let leftOut: Int
        switch format {
        case .json:
            var json = JSONExport(output, of: vault)
            try json.begin()
            leftOut = try forEach(vault, pause) { item in try json.write(item) }
            try json.end()
        case .csv:
            let csv = CSVExport(output)
            try csv.begin()
            leftOut = try forEach(vault, pause) { item in try csv.write(item) }
        }
        try output.flush()
        return leftOut
    }

    /// Opens the items that fit one after the other, and names those that no export can hold; returns how many those
    /// are.
    private func forEach(
        _ vault: Vault, _ pause: () throws -> Void,
        _ body: (borrowing OpenedItem) throws -> Void
    ) throws -> Int {
        var leftOut = 0
        var query = fields.query
        query.label = filters.label
        query.accessibility = filters.accessible?.value
        try ItemSearch.each(in: vault, query, fields) { item in
            try pause()
            let isOfThisDevice = item.accessibility.isThisDeviceOnly
            guard !isOfThisDevice, item.key.itemClass.isDefined else {
                leftOut += 1
                let reason = isOfThisDevice ? "it is of this device only" : "this version does not know its class"
                return Terminal.warning(
                    "left out, for \(reason): \(ItemText.summary(item.key, label: item.attributes.label))")
            }
            try body(try vault.open(item))
        }
        return leftOut
    }
}
