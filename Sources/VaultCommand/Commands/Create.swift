import ArgumentParser
import Glibc
import VaultAge
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// `create`: creates a vault.
struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a new vault.",
        discussion: """
            You are asked for a passphrase twice, unless a factor is given. If a passphrase and a key file are given \
            together, both are needed to open the vault. Replaced secrets stay in the vault as earlier values, up to \
            --keep per item; 'vaultfmt history' lists them.

            Examples:
              vaultfmt create
              vaultfmt create work.vault --key-file work.key --kdf sensitive
              vaultfmt create work.vault --recipient age1… --recovery-key-file backup.key
            """)

    @OptionGroup var vault: VaultFileOptions
    @OptionGroup(title: "Recipients") var recipients: RecipientOptions
    @OptionGroup(title: "Key derivation") var cost: CostOptions

    @Option("Also create this key file, which opens the vault if all identities are lost.", isFile: true)
    var recoveryKeyFile: String?

    @Flag(help: "Do not create a recovery key; if all identities are lost, so is the vault.")
    var noRecovery = false

    @Option("A human-readable name for the vault's slot.", value: "name")
    var slotName = ""

    @Option("The number of earlier values to keep per item, 0 to 50.", value: "number")
    var keep = 10

    func validate() throws {
        try KeptVersions.validate(keep)
        guard recipients.isAnyGiven || (recoveryKeyFile == nil && !noRecovery) else {
            throw ValidationError("--recovery-key-file and --no-recovery require --recipient")
        }
        guard recoveryKeyFile == nil || !noRecovery else {
            throw ValidationError("--recovery-key-file and --no-recovery cannot be combined; use only one")
        }
        guard vault.access.factors.identity.isEmpty else {
            throw ValidationError("a vault is created for recipients, not identities; use --recipient instead")
        }
        guard vault.access.owner == nil else {
            throw ValidationError("--owner does not apply to a new vault; leave it out")
        }
    }

    func run() throws {
        let path = try vault.path
        guard try !UserFiles.exists(path) else {
            let state =
                try UserFiles.isDanglingLink(path)
                ? "is a symbolic link to a file that does not exist; create the vault there, or remove the link"
                : "already exists; choose another name or move it away"
            throw CommandFailure(.outputExists, "\(TerminalText.path(path)) \(state)")
        }
        let folder = UserFiles.parent(of: path)
        let machine = try ThisMachine.current()
        if try vault.file == nil && machine.places.isDefault {
            try machine.makeFolder(of: path)
        }
        guard try UserFiles.exists(folder) else {
            throw CommandFailure(
                .noSuchFile, "the folder \(TerminalText.path(folder)) for the vault does not exist; create it first"
            )
        }
        try checkRecovery()
        let mayAsk = !vault.access.noInput
        let factor = try recipients.factor(mayAsk: mayAsk)
        let given = try vault.access.factors.sources
            .creating("New passphrase for \(TerminalText.escaped(path))", mayAsk: mayAsk, recipients: factor)
        PassphraseStrength.remark(on: given)
        let factors = try whileOpening { try given.together() }
        let kinds = try whileOpening { try given.combinations() }.first ?? []
        var options = CreateOptions()
        options.cost = try cost.cost()
        options.allowWeak = cost.allowWeak
        options.slotName = slotName
        options.keptVersions = keep
        options.device = machine.deviceFile.loadIfSound()
        options.lockWait = .seconds(vault.access.lockWait)
        do { try make(machine, path, factors, options) } catch { throw AgeKeys.explained(error, by: factor) }
        Terminal.note(
            "created \(TerminalText.path(path)); \(SlotAdvice.words(kinds)); without that, nobody can open the vault, so keep a copy"
        )
    }

    /// Throws an error if the vault would be lost along with its recipients' keys, unless this was explicitly
    /// requested.
    private func checkRecovery() throws {
        guard recipients.isAnyGiven, !noRecovery else { return }
        guard let recoveryKeyFile else {
            throw CommandFailure(
                .usage,
                "if only recipients can open a vault, it is lost when their identities are lost; use --recovery-key-file FILE, "
                    + "which creates a key file to keep elsewhere, or --no-recovery")
        }
        try NewFile.check(recoveryKeyFile, what: "key file")
    }

    private func make(
        _ machine: Machine, _ path: String, _ factors: borrowing Factors, _ options: consuming CreateOptions
    ) throws {
        let progress = Progress("creating")
        defer { progress.finish() }
        guard let recoveryKeyFile else {
            do { _ = try machine.create(at: path, factors: factors, options: options) } catch {
                throw CommandFailure(error)
            }
            return
        }
        // The key file is created first: a vault or slot whose key file does not exist would only appear to be
        // recoverable.
        let key = KeyFile.generate()
        try NewFile.create(recoveryKeyFile, what: "key file", key)
        var isCreated = false
        do {
            let made = try machine.create(at: path, factors: factors, options: options)
            isCreated = true
            try made.addSlot(try Factors(keyFile: try KeyFile(contents: key)), name: "recovery")
        } catch {
            let failure = CommandFailure(error)
            guard failure.code != .outcomeUnknown || !isCreated else {
                throw CommandFailure(
                    failure.status,
                    "\(TerminalText.path(path)) was created, but it is unknown whether its recovery key opens it: "
                        + "\(failure.message)", code: failure.code)
            }
            // The key file does not open anything, so it must not be kept.
            unlink(recoveryKeyFile)
            guard isCreated else { throw failure }
            throw CommandFailure(
                failure.status,
                "\(TerminalText.path(path)) was created, but without its recovery key: \(failure.message); add one with "
                    + "'vaultfmt slot add --new-key-file'", code: failure.code)
        }
        Terminal.note(
            "created the key file \(TerminalText.path(recoveryKeyFile)), which also opens the vault; keep it elsewhere")
    }
}
