import ArgumentParser
import Glibc
import VaultFmt

extension SourceFormat: ExpressibleByArgument {}
extension DuplicatePolicy: ExpressibleByArgument {}

/// `import`: items from an export, a password list, or PEM.
struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Import items from JSON, CSV or PEM.",
        discussion: """
            Reads what 'vaultfmt export' wrote; password lists (CSV) of Chrome, Edge, Firefox, Safari and Apple Passwords, \
            KeePassXC and Bitwarden; certificates and unencrypted private keys in PEM. Everything is imported, or nothing; --dry-run ends as the import would.

            Examples:
              vaultfmt import --dry-run passwords.csv
              vaultfmt import /etc/ssl/certs/ca-certificates.crt --on-duplicate skip
            """)

    @Argument(help: ArgumentHelp("The file to read; - is standard input.", valueName: "source"), completion: .file())
    var source: String

    @Option(help: "The form of the source, if not to be found out from its contents: json, csv or pem.")
    var format: SourceFormat?

    @Option(
        help: """
            What to do with an item that is there already, in the vault or earlier in the source: fail, skip, replace, or keep-both, which \
            adds a number to the account. What is not added as it is is named.
            """)
    var onDuplicate: DuplicatePolicy = .fail

    @Flag(help: "Say what would change and what would be lost, and change nothing.")
    var dryRun = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        guard source != "-" || vault.access.factors.passphraseFd != STDIN_FILENO else {
            throw CommandFailure(
                .usage, "standard input cannot give both passphrase and source; give one of them from a file")
        }
        var reader = try SourceReader(source)
        switch try format ?? SourceFormat(detecting: &reader) {
        case .json:
            var json = JSONImport(reader)
            try run(&json)
        case .csv:
            var csv = try CSVImport(reader)
            try run(&csv)
        case .pem:
            var pem = try PEMImport(reader)
            try run(&pem)
        }
    }

    private func run(_ source: inout some ImportSource & ~Copyable) throws {
        var session = ImportSession(policy: onDuplicate)
        let vault = try vault.openVault(writable: !dryRun)
        let progress = dryRun && Terminal.outputIsTerminal ? nil : Progress(dryRun ? "checking" : "importing")
        defer { progress?.finish() }
        guard !dryRun else {
            try session.rehearse(&source, into: vault, output: .standard())
            progress?.finish()
            session.report(verb: "would import")
            return try session.refuseDuplicates()
        }
        try session.run(&source, into: vault)
        progress?.finish()
        session.report(verb: "imported")
    }
}
