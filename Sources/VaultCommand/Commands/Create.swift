import ArgumentParser
import VaultFmt
import VaultLocal

/// `create`: makes a vault.
struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a new vault.",
        discussion: """
            The passphrase is asked for twice, unless a factor is given. A passphrase and a key file together are both needed to open it. \
            Secrets that are replaced stay in the vault as earlier values, up to --keep for each item: 'vaultfmt history' lists them.

            Examples:
              vaultfmt create
              vaultfmt create work.vault --key-file work.key --kdf sensitive
            """)

    @OptionGroup var vault: VaultFileOptions
    @OptionGroup(title: "Key derivation") var cost: CostOptions

    @Option("A name for its slot, for people.", value: "name")
    var slotName = ""

    @Option("How many earlier values an item keeps, 0 to 50.", value: "number")
    var keep = 10

    func validate() throws {
        try KeptVersions.validate(keep)
        guard vault.access.owner == nil else { throw ValidationError("a new vault has new owners; leave --owner out") }
    }

    func run() throws {
        let path = try vault.path
        guard try !UserFiles.exists(path) else {
            throw CommandFailure(
                .outputExists, "\(TerminalText.quoted(path)) exists already; choose another name or move it away")
        }
        let folder = UserFiles.parent(of: path)
        let machine = try ThisMachine.current()
        if try vault.file == nil && machine.places.isDefault {
            try machine.makeFolder(of: path)
        }
        guard try UserFiles.exists(folder) else {
            throw CommandFailure(
                .noSuchFile, "there is no folder \(TerminalText.quoted(folder)) to make the vault in; make it first")
        }
        let given = try vault.access.factors.sources
            .creating("New passphrase for \(TerminalText.escaped(path))", mayAsk: !vault.access.noInput)
        PassphraseStrength.remark(on: given)
        let factors = try whileOpening { try given.together() }
        let kinds = try whileOpening { try given.combinations() }.first ?? []
        var options = CreateOptions()
        options.cost = try cost.cost()
        options.allowWeak = cost.allowWeak
        options.slotName = slotName
        options.keptVersions = keep
        options.device = machine.deviceFile.loadIfSound()
        options.lockWait = .seconds(vault.access.wait)
        try make(machine, path, factors, options)
        Terminal.note(
            "created \(TerminalText.quoted(path)); \(SlotAdvice.words(kinds)); without that nobody can open it, so keep a copy"
        )
    }

    private func make(
        _ machine: Machine, _ path: String, _ factors: borrowing Factors, _ options: consuming CreateOptions
    ) throws {
        let progress = Progress("creating")
        defer { progress.finish() }
        do throws(VaultError) {
            _ = try machine.create(at: path, factors: factors, options: options)
        } catch {
            throw CommandFailure(error)
        }
    }
}
