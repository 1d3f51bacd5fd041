import ArgumentParser
import Glibc
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

extension SourceFormat: ExpressibleByArgument {}
extension DuplicatePolicy: ExpressibleByArgument {
    /// True if items that the vault already has are changed.
    var changesItems: Bool { self == .replace || self == .updateNewer }
}

/// `import`: imports items from another password manager, one of our own exports, or PEM.
struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import items from other password managers and files.",
        discussion: """
            Detects the format of the source: KDBX (KeePass 2, KeePassXC) with history, attachments and one-time passwords; Bitwarden's \
            JSON; password lists (CSV) from browsers and password managers; files written by 'vaultfmt export'; certificates and unencrypted \
            private keys in PEM; OpenSSH private keys, encrypted or not. Either everything is imported or nothing is; --dry-run \
            exits with the same code as the import would. Docs/import.md describes how entries are converted. If something in the source \
            cannot be kept, it is reported, the rest is imported, and the exit code is 3.

            While a KDBX source is being read, libgcrypt, zlib and expat keep parts of it in their own memory, which \
            is wiped but not locked.

            Examples:
              vaultfmt import --dry-run passwords.csv
              vaultfmt import Passwords.kdbx --on-duplicate update-newer
              vaultfmt import /etc/ssl/certs/ca-certificates.crt --on-duplicate skip
            """)

    @Argument(help: ArgumentHelp("The file to read; - means standard input.", valueName: "source"), completion: .file())
    var source: String

    @Option(
        help: """
            The format of the source: json, csv, enpass (its CSV), pem, kdbx or bitwarden. If omitted, it is detected.
            """)
    var format: SourceFormat?

    @Option(
        help: """
            What to do with an item that already exists in the vault: fail, skip, replace, keep-both, which adds a \
            number to the account, or update-newer, which replaces items that were changed later in the source and \
            leaves the rest unchanged. Items that are replaced, updated, renamed or skipped are listed. Entries with \
            the same name in the source are all added; a folder, title or number in the account distinguishes them.
            """)
    var onDuplicate: DuplicatePolicy = .fail

    @Flag(help: "Show what would change and what would be lost, without changing anything.")
    var dryRun = false

    @Flag(
        help: "Print the counts of entries as JSON; cannot be combined with --dry-run."
    )
    var json = false

    @Flag(
        name: [.short, .long],
        help: "Do not ask for confirmation if a scoped slot could read new secrets.")
    var yes = false

    @OptionGroup(title: "Source") var sourceOptions: SourceOptions
    @OptionGroup(title: "Groups") var groups: GroupOptions
    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard !json || !dryRun else {
            throw ValidationError(
                "--json cannot be combined with --dry-run, which lists what would change; leave one out")
        }
    }

    func run() throws {
        guard source != "-" || vault.access.factors.passphraseFd != STDIN_FILENO else {
            throw CommandFailure(
                .usage, "standard input cannot provide both the passphrase and the source; read one from a file")
        }
        var reader = try SourceReader(source)
        let format = try format ?? SourceFormat(detecting: &reader)
        var opened = try format.open(reader, sourceOptions.access(vault.access))
        var session = ImportSession(policy: onDuplicate, group: groups.choice)
        let report = ImportReport(participle: "imported", isConfirmed: yes, mayAsk: !vault.access.noInput)
        // The libraries and threads for the source have used some of the memory that was free when it was read.
        try SourceMemory.require(SourceMemory.base, for: TerminalText.quoted(source))
        let vault = try vault.openVault(writable: !dryRun)
        let progress =
            dryRun && Terminal.outputIsTerminal ? nil : Progress(dryRun ? "checking" : "importing", of: "items")
        defer { progress?.finish() }
        guard !dryRun else {
            let output = Output.standard()
            try session.rehearse(&opened, into: vault, counted: { progress?.count($0) }) { rehearsed in
                try report.write(rehearsed, to: output)
            }
            try output.flush()
            progress?.finish()
            report.write(session, verb: "would import")
            try report.refuseDuplicates(of: session)
            try report.warnOfExposed(in: session)
            return try report.refuseLosses(in: session, verb: "would be imported")
        }
        let conflicts = try onDuplicate.changesItems ? ConflictsBefore(in: vault) : nil
        try session.run(&opened, into: vault, counted: { progress?.count($0) }, accept: report.accept)
        progress?.finish()
        report.write(session, verb: "imported")
        NarrowingOption.noteRewriting(session.remnants)
        try conflicts?.report(in: vault)
        if format.isPlaintext, source != "-", Terminal.errorIsTerminal {
            Terminal.note("\(TerminalText.quoted(source)) still contains these secrets in plaintext; delete it soon")
        }
        if json { try ImportReport.writeJSON(session) }
        try report.refuseLosses(in: session, verb: "imported")
    }
}
