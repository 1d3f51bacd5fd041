import ArgumentParser
import Glibc
import VaultFmt

extension SourceFormat: ExpressibleByArgument {}
extension DuplicatePolicy: ExpressibleByArgument {}

/// `import`: items from another password manager, an export of ours, or PEM.
struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Import items from KeePass, other password managers, CSV, JSON or PEM.",
        discussion: """
            Finds out what the source is: KDBX (KeePass 2, KeePassXC) with history, attachments and one-time passwords; Bitwarden's JSON; password lists (CSV) of \
            browsers and password managers; what 'vaultfmt export' wrote; certificates and unencrypted private keys in PEM; OpenSSH's private keys, encrypted ones too. Everything is imported, or nothing; \
            --dry-run ends as the import would. Docs/import.md says what arrives where. If something of the source cannot be kept, it is named, the rest is imported, \
            and the command ends with exit code 3.

            While a KDBX source is read, libgcrypt, zlib and expat hold parts of it in their own memory, which is wiped but not locked.

            Examples:
              vaultfmt import --dry-run passwords.csv
              vaultfmt import Passwords.kdbx --on-duplicate update-newer
              vaultfmt import /etc/ssl/certs/ca-certificates.crt --on-duplicate skip
            """)

    @Argument(help: ArgumentHelp("The file to read; - is standard input.", valueName: "source"), completion: .file())
    var source: String

    @Option(
        help: """
            The form of the source, if not to be found out from its contents: json, csv, enpass (its CSV), pem, kdbx \
            or bitwarden.
            """)
    var format: SourceFormat?

    @Option(
        help: """
            What to do with an item that is there already, in the vault or earlier in the source: fail, skip, replace, keep-both, which \
            adds a number to the account, or update-newer, which replaces what the source changed later and leaves the rest. What is not added as it is is named.
            """)
    var onDuplicate: DuplicatePolicy = .fail

    @Flag(help: "Say what would change and what would be lost, and change nothing.")
    var dryRun = false

    @OptionGroup(title: "Source") var sourceOptions: SourceOptions
    @OptionGroup(title: "Groups") var groups: GroupOptions
    @OptionGroup var vault: VaultOptions

    func run() throws {
        guard source != "-" || vault.access.factors.passphraseFd != STDIN_FILENO else {
            throw CommandFailure(
                .usage, "standard input cannot give both passphrase and source; give one of them from a file")
        }
        var reader = try SourceReader(source)
        let format = try format ?? SourceFormat(detecting: &reader)
        var opened = try format.open(reader, sourceOptions.access(vault.access))
        var session = ImportSession(policy: onDuplicate, group: groups.choice)
        let vault = try vault.openVault(writable: !dryRun)
        let progress = dryRun && Terminal.outputIsTerminal ? nil : Progress(dryRun ? "checking" : "importing")
        defer { progress?.finish() }
        guard !dryRun else {
            try session.rehearse(&opened, into: vault, output: .standard(), progress)
            progress?.finish()
            session.report(verb: "would import")
            try session.refuseDuplicates()
            return try session.refuseLosses(verb: "would be imported")
        }
        try session.run(&opened, into: vault, progress)
        progress?.finish()
        session.report(verb: "imported")
        try session.refuseLosses(verb: "imported")
    }
}
