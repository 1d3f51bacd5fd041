import ArgumentParser
import VaultFmt
import VaultLocal

/// The forms that items can be exported to.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
    case json
    case csv
    case kdbx
    case pem
}

/// `export`: items and their secrets, in plaintext or in KeePass's format.
struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write items and their secrets, for KeePass (encrypted) or in plaintext, as JSON, CSV or PEM.",
        discussion: """
            JSON keeps everything: 'vaultfmt import' of it gives an equal vault, with the earlier values of items where a full slot opened it. \
            CSV is for other programs: it begins with the columns of Apple Passwords, leaves attributes and earlier values out, and alters no \
            value, so a spreadsheet may take one that starts with = for a formula. KDBX is for KeePass 2, KeePassXC and their relatives: encrypted with a \
            passphrase or key file of its own, with attachments, one-time passwords and history; 'vaultfmt import' of it gives an equal vault too. Items of this device only, and of classes that this version \
            does not know, are left out, and named; that is exit 3. PEM is for certificates, keys and identities: their labels are not in it, \
            and items of other classes are counted and left out, which is exit 3 too.

            Examples:
              vaultfmt export --output backup.json
              vaultfmt export --format kdbx --output Passwords.kdbx
              vaultfmt export --format pem --class certificate
              vaultfmt export work.vault --class internet-password --format csv --output passwords.csv
            """)

    @Option(help: "json, csv, kdbx or pem.")
    var format: ExportFormat = .json

    @Option(
        "Make this file, readable by you alone, instead of writing to standard output.",
        name: [.customShort("o"), .long], value: "file", isFile: true)
    var output: String?

    @OptionGroup(title: "Filters") var fields: ItemFields
    @OptionGroup(title: "Filters") var filters: ItemFilters
    @OptionGroup(title: "KDBX") var newFactors: NewFactorOptions
    @OptionGroup(title: "KDBX") var cost: CostOptions
    @OptionGroup var vault: VaultFileOptions

    func run() throws {
        if let output { try ExportFile.check(output) }
        guard format == .kdbx || !(newFactors.sources.isAnyGiven || cost.isGiven) else {
            throw CommandFailure(.usage, "--new-… and --kdf… are for --format kdbx: this form is not encrypted")
        }
        guard output != nil || format == .json || format == .pem || !Terminal.outputIsTerminal else {
            throw CommandFailure(
                .usage,
                "this form is not shown on a terminal, for it has control characters as they are; give --output, or send it to a pipe"
            )
        }
        ControllingTerminal.beginSeries()
        let opened = try vault.openVault()
        let target = format == .kdbx ? try kdbxTarget() : nil
        ControllingTerminal.endSeries()
        if target == nil { Terminal.warning("an export is plaintext: whoever can read it has the secrets") }
        let leftOut: Int
        if let output {
            let file = try ExportFile(output)
            leftOut = try write(opened, target, to: file.output) { try file.checkInterruption() }
            try file.finish()
        } else {
            leftOut = try write(opened, target, to: .standard()) {}
        }
        guard leftOut > 0 else { return }
        throw CommandFailure(
            .incomplete,
            "exported, but \(leftOut == 1 ? "1 item is" : "\(leftOut) items are") missing (see above); "
                + (format == .pem ? "this form cannot hold them" : "no export can hold them"))
    }

    /// What a KDBX file is encrypted with.
    private final class KDBXTarget {
        let key: KDBXKey
        let cost: KDFCost

        init(_ key: consuming KDBXKey, _ cost: KDFCost) {
            self.key = key
            self.cost = cost
        }
    }

    /// 64 MiB, which phones can do, and more passes for it.
    private static let usualCost = KDFCost(memoryKiB: 64 << 10, passes: 10, lanes: 1)

    private func kdbxTarget() throws -> KDBXTarget {
        let given = try newFactors.sources.creating("New passphrase for the KDBX file", mayAsk: !vault.access.noInput)
        PassphraseStrength.remark(on: given)
        let key = try KDBXKey(
            passphrase: given.passphrase?.copy(), keyFile: given.keyFile?.copy() ?? given.rawKey?.copy())
        return KDBXTarget(key, cost.isGiven ? try cost.cost() : Self.usualCost)
    }

    /// Nothing of it is on the disk that is not encrypted.
    private func write(
        _ vault: Vault, _ target: KDBXTarget, to output: Output, _ progress: Progress?, pause: () throws -> Void
    ) throws -> Int {
        var kdbx = try KDBXExport(output, of: vault, key: target.key, cost: target.cost)
        let leftOut = try forEach(vault, pause) { item in try kdbx.prepare(item) }
        let path = try self.vault.path
        try kdbx.finish(name: path.split(separator: "/").last.map(String.init) ?? "vaultfmt") { count in
            try pause()
            progress?.count(count)
        }
        return leftOut
    }

    private func write(
        _ vault: Vault, _ target: KDBXTarget?, to output: Output, pause: () throws -> Void
    ) throws -> Int {
        let progress = self.output == nil && Terminal.outputIsTerminal ? nil : Progress("exporting")
        defer { progress?.finish() }
        let leftOut: Int
        switch format {
        case .json:
            var json = JSONExport(output, of: vault)
            try json.begin()
            leftOut = try forEach(vault, pause) { item in try json.write(item) }
            try json.end()
        case .kdbx:
            guard let target else { return 0 }
            return try write(vault, target, to: output, progress, pause: pause)
        case .pem:
            var pem = PEMExport(output)
            let unfit = try forEach(vault, pause) { item in try pem.write(item) }
            let others = pem.withoutForm
            if others > 0 {
                let what = others == 1 ? "1 item that is" : "\(others) items that are"
                Terminal.warning("left out: \(what) no certificate, key or identity; --class chooses what is exported")
            }
            leftOut = unfit + others
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
        try ItemSearch.each(in: vault, query) { item in
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
