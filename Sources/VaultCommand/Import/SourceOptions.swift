import ArgumentParser
import VaultFmt
import VaultLocal

/// How to read a source that is encrypted, or that holds more than what is wanted.
struct SourceOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Read the source's passphrase from a file, without the newline at its end.", valueName: "file"),
        completion: .file())
    var sourcePassphraseFile: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("The key file of a KDBX source.", valueName: "file"),
        completion: .file())
    var sourceKeyFile: String?

    @Flag(help: "Import what is in a KDBX source's recycle bin too.")
    var recycleBin = false

    /// What they say, with what the vault's options say of asking and of costs.
    func access(_ vault: AccessOptions) -> SourceAccess {
        SourceAccess(
            passphraseFile: sourcePassphraseFile, keyFile: sourceKeyFile, includesRecycleBin: recycleBin,
            limits: vault.limits, mayAsk: !vault.noInput)
    }
}

/// How a source is opened.
struct SourceAccess {
    var passphraseFile: String?
    var keyFile: String?
    /// Instead of a file or a question: for tests.
    var passphrase: SharedSecret?
    var includesRecycleBin = false
    /// How much work the source's header may ask for.
    var limits = ReaderLimits()
    var mostRounds = KDBX.Limit.rounds
    /// How many rounds of bcrypt an OpenSSH key may ask for: a hundred take about a second.
    var mostBcryptRounds: UInt32 = 4096
    var mayAsk = true

    /// The passphrase of the source; asked for where nothing is given. Nil where only a key file is given.
    /// - Parameter source: The source, as messages name it.
    func passphrase(for source: String) throws -> Secret? {
        if let passphrase { return passphrase.secret.copy() }
        if let passphraseFile {
            return FactorInput.withoutLineEnd(
                try Descriptor.readFile(passphraseFile, what: "the source's passphrase file", limit: 1 << 20))
        }
        guard keyFile == nil else { return nil }
        let instead = "give --source-passphrase-file or --source-key-file"
        guard mayAsk else {
            throw CommandFailure(.noAccess, "\(source) is encrypted and --no-input forbids asking; \(instead)")
        }
        return try Prompt.secret("Passphrase of \(source)", instead: instead)
    }

    /// The contents of the key file; nil where none is given.
    func readKeyFile() throws -> Secret? {
        guard let keyFile else { return nil }
        return try Descriptor.readFile(keyFile, what: "the source's key file", limit: 64 << 20)
    }
}

/// Into which access group items are put.
struct GroupOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: ArgumentHelp("Put all items into this access group.", valueName: "name"))
    var group: String?

    @Flag(help: "Put items into access groups named after their folders.")
    var groupFromFolder = false

    func validate() throws {
        guard group == nil || !groupFromFolder else {
            throw ValidationError("--group and --group-from-folder exclude each other; give one")
        }
    }

    var choice: GroupChoice {
        if groupFromFolder { return .folder }
        return group.map { .named($0) } ?? .own
    }
}

/// Which access group an item gets.
enum GroupChoice {
    /// The one that the source gives it, if any.
    case own
    case named(String)
    /// The path of its folder, where it is in one.
    case folder

    /// The key of an item in its group.
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
