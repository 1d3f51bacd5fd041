import ArgumentParser
import VaultFmt
import VaultLocal

/// Options for reading a source that is encrypted or contains more than should be imported.
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
        "The maximum size of a KDBX source's attachments together, and of an entry; by default, twice the file and 32 MiB.",
        value: "size")
    var maxSourceMemory: MemorySize?

    @Option(
        "The maximum number of rounds to derive a source's key: by default, 512 for OpenSSH and 100 million for KDBX.",
        value: "n")
    var maxSourceRounds: UInt32?

    @Flag(help: "Also import the recycle bin of a KDBX source.")
    var recycleBin = false

    /// Combines these options with the vault's options for prompting and costs.
    func access(_ vault: AccessOptions) -> SourceAccess {
        var access = SourceAccess(
            passphraseFile: sourcePassphraseFile, keyFile: sourceKeyFile, includesRecycleBin: recycleBin,
            limits: vault.limits, mostMemory: maxSourceMemory.map { Int($0.kibibytes) << 10 }, mayAsk: !vault.noInput)
        if let maxSourceRounds {
            access.mostRounds = UInt64(maxSourceRounds)
            access.mostBcryptRounds = maxSourceRounds
        }
        return access
    }
}

/// How a source is opened.
struct SourceAccess {
    var passphraseFile: String?
    var keyFile: String?
    /// Replaces a file or a prompt in tests.
    var passphrase: SharedSecret?
    var includesRecycleBin = false
    /// The limits on the work that the source's header may require.
    var limits = ReaderLimits()
    /// The maximum size of all attachments together; nil if it follows from the size of the source.
    var mostMemory: Int?
    var mostRounds = KDBX.Limit.rounds
    /// The maximum number of bcrypt rounds that an OpenSSH key may require. A hundred rounds take about a second.
    var mostBcryptRounds: UInt32 = 512
    var mayAsk = true

    /// Calls `open` with the passphrase of the source, prompting for it if no factor is given, or with nil if only a key
    /// file is given. A passphrase that was typed and that is wrong, for which `open` throws `noAccess`, can be retried
    /// twice.
    ///
    /// `source`: the name of the source in messages.
    func withPassphrase<R: ~Copyable>(
        for source: String, _ open: (borrowing Secret?) throws -> R
    ) throws -> R {
        if let passphrase { return try open(passphrase.secret.copy()) }
        if let passphraseFile {
            return try open(
                FactorInput.withoutLineEnd(
                    try Descriptor.readFile(passphraseFile, what: "the source's passphrase file", limit: 1 << 20)))
        }
        guard keyFile == nil else { return try open(nil) }
        let instead = "give --source-passphrase-file or --source-key-file"
        guard mayAsk else {
            throw CommandFailure(.noAccess, "\(source) is encrypted, and --no-input forbids prompting; \(instead)")
        }
        ControllingTerminal.beginSeries()
        defer { ControllingTerminal.endSeries() }
        var tries = 1
        while true {
            let passphrase: Secret? = try Prompt.secret("Passphrase for \(source)", instead: instead)
            do { return try open(passphrase) } catch let failure as CommandFailure {
                guard failure.status == .noAccess, tries < Self.mostTries else { throw failure }
            }
            tries += 1
            Terminal.note("wrong passphrase; try again")
        }
    }

    private static let mostTries = 3

    /// Returns the contents of the key file, or nil if none is given.
    func readKeyFile() throws -> Secret? {
        guard let keyFile else { return nil }
        return try Descriptor.readFile(keyFile, what: "the source's key file", limit: 64 << 20)
    }
}

/// Options for the access group of imported items.
struct GroupOptions: ParsableArguments {
    @Option("Put all items into this access group.", value: "name", completion: .custom(VaultCompletion.groups))
    var group: String?

    @Flag(help: "Put items into access groups named after their folders.")
    var groupFromFolder = false

    func validate() throws {
        guard group == nil || !groupFromFolder else {
            throw ValidationError("--group and --group-from-folder cannot be combined; give one")
        }
    }

    var choice: GroupChoice {
        if groupFromFolder { return .folder }
        return group.map { .named($0) } ?? .own
    }
}

/// The access group of an imported item.
enum GroupChoice {
    /// The group given in the source, if any.
    case own
    case named(String)
    /// The path of the item's folder, if it has one.
    case folder

    /// Whether the user named a group, to which items that exist are moved. A group that the source names is not followed
    /// for them: whoever wrote it would choose who can read them.
    var movesItems: Bool { if case .named = self { true } else { false } }

    /// Returns the key of an item in its group.
    func key(_ key: ItemKey, _ attributes: Attributes) throws(VaultError) -> ItemKey {
        switch self {
        case .own: return key
        case .named(let name): return try key.replacing(group: name)
        case .folder:
            guard let folder = attributes.string(AttributeName.folder) else { return key }
            return try key.replacing(group: folder)
        }
    }
}
