import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// The formats that items can be exported to.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
    case json
    case csv
    case kdbx
    case pem
    case html

    /// The values to settle that the format can contain.
    fileprivate var contents: UnexportedConflicts.Contents {
        switch self {
        case .json, .kdbx: .earlierValues
        case .csv, .html: .shownValues
        case .pem: .shownKeys
        }
    }
}

/// `export`: exports items and their secrets, in plaintext or as KDBX.
struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export items and their secrets for other programs.",
        discussion: """
            JSON is for other vaults: importing it with 'vaultfmt import' recreates an equivalent vault, including \
            earlier values if a full slot opened the vault, but not the times when they were set. CSV is for other \
            programs: it begins with the columns of Apple Passwords; most attributes and all earlier values are left \
            out and reported. Values are not altered, so a spreadsheet may treat one that starts with = as a formula. \
            KDBX is for KeePass 2, KeePassXC and compatible programs: it is encrypted with its own passphrase or key \
            file and includes attachments, one-time passwords and history; importing it with 'vaultfmt import' also \
            recreates an equivalent vault. Device-only items, items that show no secret, items of classes unknown to \
            this version, and attributes that a merge left to settle are reported and not exported (exit 3); so are damaged items and values. PEM is \
            for certificates, keys and identities: their labels are not included, and items of other classes are \
            counted and not exported (also exit 3). HTML is a page that opens a vault offline in a browser: with \
            --with-vault, it contains the whole vault, still encrypted, and writing it \
            requires no factor.

            Examples:
              vaultfmt export --output backup.json
              vaultfmt export --format kdbx --output Passwords.kdbx
              vaultfmt export --format pem --class certificate
              vaultfmt export --format html --with-vault --output open.html
              vaultfmt export work.vault --class internet-password --format csv --output passwords.csv
            """)

    @Option(help: "The format: json (the default), csv, kdbx, pem or html.")
    var format: ExportFormat?

    @Option(
        "Write to this new file, readable only by you, instead of standard output (-).",
        name: [.customShort("o"), .long], value: "file", isFile: true)
    var output: String?

    @Flag(help: "Embed the vault's file, still encrypted, in the page (--format html).")
    var withVault = false

    @OptionGroup(title: "Filters") var fields: ItemFields
    @OptionGroup(title: "Filters") var filters: ItemFilters
    @OptionGroup(title: "Filters") var place: PlaceFilters
    @OptionGroup(title: "KDBX") var newFactors: NewFactorOptions
    @OptionGroup(title: "KDBX") var cost: CostOptions
    @OptionGroup var vault: VaultFileOptions

    /// The file to write; nil for standard output.
    private var file: String? { output == "-" ? nil : output }

    func run() throws {
        let format = self.format ?? .json
        try requireMeant()
        let output = file
        if let output { try ExportFile.check(output) }
        guard format != .html else { return try writePage() }
        guard !withVault else {
            throw CommandFailure(.usage, "--with-vault requires --format html, which embeds the vault in a page")
        }
        if let file = vault.name.file, try !UserFiles.exists(file) {
            throw CommandFailure(
                .noSuchFile,
                "there is no vault \(TerminalText.path(file)); --output names the file to write, and options such as --service select the items"
            )
        }
        // Variables for new factors may be set for other commands.
        guard format == .kdbx || !(newFactors.sources.isOptionGiven || cost.isGiven) else {
            throw CommandFailure(.usage, "--new-… and --kdf… require --format kdbx: this format is not encrypted")
        }
        guard output != nil || format == .json || format == .pem || !Terminal.outputIsTerminal else {
            throw CommandFailure(
                .usage,
                "this format is not shown on a terminal because it may contain control characters; use --output, or pipe the output"
            )
        }
        ControllingTerminal.beginSeries()
        let opened = try vault.openVault()
        let target = format == .kdbx ? try kdbxTarget() : nil
        ControllingTerminal.endSeries()
        if target == nil { Terminal.warning("an export is plaintext: anyone who can read it can read the secrets") }
        let leftOut: LeftOut
        var values = 0
        if let output {
            let file = try ExportFile(output)
            leftOut = try write(opened, target, to: file.output, &values) { try file.checkInterruption() }
            try file.finish()
        } else {
            leftOut = try write(opened, target, to: .standard(), &values) {}
        }
        try conclude(leftOut, values: values, format)
    }

    /// The items that the export does not contain, or not completely; a message has named each of them.
    private struct LeftOut {
        /// Items that no export, or none in this format, can contain.
        var unfit = 0
        /// Items that show no secret, although the vault contains one that they can show.
        var unsettled = 0
        /// Items that are damaged, in whole or in part.
        var damaged = 0
        /// Items with other values to settle.
        var conflicts = UnexportedConflicts()
    }

    /// Throws an error if anything is missing.
    private func conclude(_ leftOut: LeftOut, values: Int, _ format: ExportFormat) throws {
        leftOut.conflicts.reportOthers()
        var found = missing(leftOut, values: values, format).map { [$0] } ?? []
        if leftOut.conflicts.count > 0 {
            let items = MergeText.count(leftOut.conflicts.count)
            found.append(
                "values to settle of \(items) are missing (see above); 'vaultfmt conflicts' lists them, and once they are settled, an export contains the chosen ones"
            )
        }
        if leftOut.damaged > 0 {
            found.append(
                "damaged values of \(MergeText.count(leftOut.damaged)) are missing (see above); restore a backup, or export again once they are set again"
            )
        }
        guard !found.isEmpty else { return }
        throw CommandFailure(.incomplete, "exported, but \(found.joined(separator: "; "))")
    }

    /// Describes the items and earlier values that are missing; nil if there are none.
    private func missing(_ leftOut: LeftOut, values: Int, _ format: ExportFormat) -> String? {
        let count = leftOut.unfit + leftOut.unsettled
        guard count + values > 0 else { return nil }
        let items = count == 1 ? "1 item is" : "\(count) items are"
        let what = values == 0 ? items : count == 0 ? "earlier values are" : "items and earlier values are"
        let advice =
            leftOut.unsettled > 0
            ? "export again when the items with a secret to settle or restore show it"
            : values > 0
                ? "no export made on this machine can contain them"
                : format == .pem ? "this format cannot contain them" : "no export can contain them"
        return "\(what) missing (see above); \(advice)"
    }

    /// Writes a page that opens vaults, without opening a vault.
    private func writePage() throws {
        guard !isFiltered, !newFactors.sources.isOptionGiven, !cost.isGiven else {
            throw CommandFailure(
                .usage, "a page contains the whole vault, with its own slots; leave out filters, --new-… and --kdf…")
        }
        guard withVault || vault.name.file == nil else {
            throw CommandFailure(
                .usage,
                "--with-vault embeds the vault in the page; otherwise, the page is for any vault, so omit the vault"
            )
        }
        guard file != nil || !Terminal.outputIsTerminal else {
            throw CommandFailure(.usage, "a page is not written to a terminal; use --output or a pipe")
        }
        let path = withVault ? try vault.path : nil
        let hash: String
        if let output = file {
            let file = try ExportFile(output)
            var page = PageExport(file.output)
            hash = try page.write(path) { try file.checkInterruption() }
            try file.finish()
        } else {
            var page = PageExport(.standard())
            hash = try page.write(path) {}
        }
        let what = path.map { "a page with \(TerminalText.path($0))" } ?? "a page without a vault"
        Terminal.note("wrote \(what), SHA-256 \(hash)")
    }

    /// True if options select items.
    private var isFiltered: Bool { fields.isAnyGiven || filters.isAnyGiven || place.isAnyGiven }

    /// If no format is given, throws an error for a file whose name suggests another format: JSON is not encrypted, but
    /// KDBX is.
    private func requireMeant() throws {
        guard format == nil, let output, let ending = output.split(separator: ".").last,
            let meant = ExportFormat(rawValue: ending.lowercased()), meant != .json
        else { return }
        throw CommandFailure(
            .usage,
            "\(TerminalText.path(output)) is named like a file of another format; use --format \(meant.rawValue), or --format json to write JSON"
        )
    }

    /// The encryption of a KDBX file.
    private final class KDBXTarget {
        let key: KDBXKey
        let cost: KDFCost

        init(_ key: consuming KDBXKey, _ cost: KDFCost) {
            self.key = key
            self.cost = cost
        }
    }

    /// The default cost: 64 MiB, which phones can afford, with more passes to compensate.
    private static let usualCost = KDFCost(memoryKiB: 64 << 10, passes: 10, lanes: 1)

    private func kdbxTarget() throws -> KDBXTarget {
        let given = try newFactors.sources.creating("New passphrase for the KDBX file", mayAsk: !vault.access.noInput)
        PassphraseStrength.remark(on: given)
        let key = try KDBXKey(
            passphrase: given.passphrase?.copy(), keyFile: given.keyFile?.copy() ?? given.rawKey?.copy())
        return KDBXTarget(key, cost.isGiven ? try cost.cost() : Self.usualCost)
    }

    /// Only encrypted data is written to disk.
    private func write(
        _ vault: Vault, _ target: KDBXTarget, to output: Output, _ values: inout Int, _ progress: Progress?,
        pause: () throws -> Void
    ) throws -> LeftOut {
        var kdbx = try KDBXExport(output, of: vault, key: target.key, cost: target.cost, warn: Terminal.warning)
        var leftOut = try forEach(vault, progress, pause) { item in try kdbx.prepare(item) }
        values = kdbx.leftOut.count
        leftOut.damaged += kdbx.leftOut.damagedItems
        let path = try self.vault.path
        try kdbx.finish(name: path.split(separator: "/").last.map(String.init) ?? "vaultfmt") { count in
            try pause()
            progress?.count(count)
        }
        return leftOut
    }

    private func write(
        _ vault: Vault, _ target: KDBXTarget?, to output: Output, _ values: inout Int, pause: () throws -> Void
    ) throws -> LeftOut {
        let progress = file == nil && Terminal.outputIsTerminal ? nil : Progress("exporting", of: "items")
        defer { progress?.finish() }
        var leftOut = LeftOut()
        switch format ?? .json {
        case .json:
            var json = JSONExport(output, of: vault, warn: Terminal.warning)
            try json.begin()
            leftOut = try forEach(vault, progress, pause) { item in try json.write(item) }
            values = json.leftOut.count
            leftOut.damaged += json.leftOut.damagedItems
            try json.end()
        case .kdbx:
            guard let target else { return leftOut }
            return try write(vault, target, to: output, &values, progress, pause: pause)
        // A page is written before a vault is opened.
        case .html: return leftOut
        case .pem:
            var pem = PEMExport(output)
            leftOut = try forEach(vault, progress, pause) { item in try pem.write(item) }
            let others = pem.withoutForm
            if others > 0 {
                let what =
                    others == 1
                    ? "1 item that is not a certificate, key or identity"
                    : "\(others) items that are not certificates, keys or identities"
                Terminal.warning("not exported as PEM: \(what); --class selects the exported items")
            }
            leftOut.unfit += others
        case .csv:
            var csv = CSVExport(output, of: vault, warn: Terminal.warning)
            try csv.begin()
            leftOut = try forEach(vault, progress, pause) { item in try csv.write(item) }
            leftOut.damaged += csv.damaged.damagedItems
            if let omission = csv.omission { Terminal.warning(omission) }
        }
        try output.flush()
        return leftOut
    }

    /// Opens the matching items one at a time, and names those that the export cannot contain.
    private func forEach(
        _ vault: Vault, _ progress: Progress?, _ pause: () throws -> Void,
        _ body: (borrowing OpenedItem) throws -> Void
    ) throws -> LeftOut {
        var (leftOut, seen) = (LeftOut(), 0)
        var query = fields.query
        query.label = filters.label
        query.accessibility = filters.accessible?.value
        let filter = try filters.filter(place)
        try filter.requireKnown(in: vault, group: fields.group)
        try filter.forEach(in: vault, query) { item in
            try pause()
            seen += 1
            progress?.count(seen)
            guard let opened = try open(item, vault, &leftOut) else { return }
            try body(opened)
            try leftOut.conflicts.add(item, in: vault, (format ?? .json).contents)
        }
        guard seen > 0 || !isFiltered else {
            throw CommandFailure(.noSuchItem, "no item matches, so nothing was exported")
        }
        return leftOut
    }

    /// Opens an item that an export can contain. Any other item, and one that is damaged, is named and counted.
    private func open(_ item: Item, _ vault: Vault, _ leftOut: inout LeftOut) throws -> OpenedItem? {
        guard try isContained(item, vault, &leftOut) else { return nil }
        do throws(VaultError) { return try vault.open(item) } catch {
            guard error.isDamage else { throw error }
            leftOut.damaged += 1
            Terminal.warning(error.exportMessage)
            return nil
        }
    }

    /// Returns whether an export can contain an item. If it cannot, the item is named and counted.
    private func isContained(_ item: Item, _ vault: Vault, _ leftOut: inout LeftOut) throws -> Bool {
        let reason: String
        var advice = ""
        let missing = try item.lacksSecret ? vault.missingSecret(of: item) : nil
        let isUnsettled = missing?.isRecoverable ?? false
        if let missing, isUnsettled || !item.accessibility.isThisDeviceOnly {
            // If there are several reasons, report the one that the user can change.
            reason = missing.words
            if isUnsettled { advice = "; \(missing.advice)" }
        } else if item.accessibility.isThisDeviceOnly {
            reason = "it is device-only"
        } else if !item.key.itemClass.isDefined {
            reason = "its class is unknown to this version"
        } else {
            return true
        }
        if isUnsettled { leftOut.unsettled += 1 } else { leftOut.unfit += 1 }
        Terminal.warning(
            "not exported because \(reason): \(ItemText.summary(item.key, label: item.attributes.label))\(advice)")
        return false
    }
}
