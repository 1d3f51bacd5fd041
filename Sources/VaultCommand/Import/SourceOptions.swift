import ArgumentParser
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// Options for reading a source that is encrypted, or that contains more than should be imported.
struct SourceOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Read the source's passphrase from a file, without its trailing newline.", valueName: "file"),
        completion: .file())
    var sourcePassphraseFile: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("The key file of a KDBX source.", valueName: "file"),
        completion: .file())
    var sourceKeyFile: String?

    @Option(
        "The maximum total size of a KDBX file's attachments and one entry (default: twice the file size plus 32 MiB).",
        value: "size")
    var maxSourceMemory: MemorySize?

    @Option(
        "The maximum number of rounds for deriving a source's key (default: 512 for OpenSSH, 100 million for KDBX).",
        value: "n")
    var maxSourceRounds: UInt32?

    @Flag(help: "Also import the recycle bin of a KDBX source.")
    var recycleBin = false

    /// Combines these options with the vault's options for prompting and costs.
    func access(_ vault: AccessOptions) -> SourceAccess {
        var limits = SourceLimits()
        limits.derivation = vault.limits
        limits.memory = maxSourceMemory.map { Int($0.kibibytes) << 10 }
        if let maxSourceRounds {
            limits.rounds = UInt64(maxSourceRounds)
            limits.bcryptRounds = maxSourceRounds
        }
        let factors = GivenSourceFactors(
            passphraseFile: sourcePassphraseFile, keyFilePath: sourceKeyFile, mayAsk: !vault.noInput)
        return SourceAccess(factors, limits: limits, includesRecycleBin: recycleBin, remark: Terminal.note)
    }
}

/// The factors of a source: files that options name, or a passphrase entered at a prompt.
private struct GivenSourceFactors: SourceFactors {
    let passphraseFile: String?
    let keyFilePath: String?
    let mayAsk: Bool

    /// If a typed passphrase is wrong, the user can try again twice.
    func withPassphrase<R: ~Copyable>(
        for source: String, _ open: (borrowing Secret?) throws -> R
    ) throws -> R {
        if let passphraseFile {
            return try open(
                FactorInput.withoutLineEnd(
                    try Descriptor.readFile(passphraseFile, what: "the source's passphrase file", limit: 1 << 20)))
        }
        guard keyFilePath == nil else { return try open(nil) }
        let instead = "use --source-passphrase-file or --source-key-file"
        guard mayAsk else {
            throw CommandFailure(.noAccess, "\(source) is encrypted, and --no-input forbids prompting; \(instead)")
        }
        ControllingTerminal.beginSeries()
        defer { ControllingTerminal.endSeries() }
        var tries = 1
        while true {
            let passphrase: Secret? = try Prompt.secret("Passphrase for \(source)", instead: instead)
            do { return try open(passphrase) } catch let error as ExchangeError {
                guard error.code == .noAccess, tries < Self.mostTries else { throw error }
            }
            tries += 1
            Terminal.note("wrong passphrase; try again")
        }
    }

    private static let mostTries = 3

    func keyFile() throws -> Secret? {
        guard let keyFilePath else { return nil }
        return try Descriptor.readFile(keyFilePath, what: "the source's key file", limit: 64 << 20)
    }

    func decryptedOpenSSH(
        _ key: borrowing Secret, _ passphrase: borrowing Secret, limit: Int, _ place: String
    ) throws -> Secret? {
        try SSHKeygen.decrypted(key, passphrase, limit: limit, place)
    }
}

/// Options for the access group of imported items.
struct GroupOptions: ParsableArguments {
    @Option("Store all items in this access group.", value: "name", completion: .custom(VaultCompletion.groups))
    var group: String?

    @Flag(help: "Store items in access groups named after their folders.")
    var groupFromFolder = false

    func validate() throws {
        guard group == nil || !groupFromFolder else {
            throw ValidationError("--group and --group-from-folder cannot be combined; use only one")
        }
    }

    var choice: GroupChoice {
        if groupFromFolder { return .folder }
        return group.map { .named($0) } ?? .own
    }
}
