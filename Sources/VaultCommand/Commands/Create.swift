import ArgumentParser
import VaultFmt

/// `create`: makes a vault.
struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a new vault.",
        discussion: """
            The passphrase is asked for twice, unless a factor is given. A passphrase and a key file together are both needed to open it.

            Examples:
              vaultfmt create
              vaultfmt create work.vault --key-file work.key --kdf sensitive
            """)

    @OptionGroup var vault: VaultFileOptions
    @OptionGroup(title: "Key derivation") var cost: CostOptions

    @Option(parsing: .unconditional, help: ArgumentHelp("A name for its slot, for people.", valueName: "name"))
    var slotName = ""

    func run() throws {
        let path = try vault.path
        guard try !StateFolder.exists(path) else {
            throw CommandFailure(.outputExists, "\(TerminalText.quoted(path)) exists already; choose another name or move it away")
        }
        let folder = StateFolder.parent(of: path)
        if try vault.file == nil && Environment.nonEmpty("VAULTFMT_VAULT") == nil { try StateFolder.makeFolder(folder) }
        guard try StateFolder.exists(folder) else {
            throw CommandFailure(.noSuchFile, "there is no folder \(TerminalText.quoted(folder)) to make the vault in; make it first")
        }
        let given = try vault.access.factors.sources
            .creating("New passphrase for \(TerminalText.escaped(path))", mayAsk: !vault.access.noInput)
        PassphraseStrength.remark(on: given)
        let factors = try given.together()
        let kinds = try given.combinations().first ?? []
        var options = CreateOptions()
        options.cost = try cost.cost()
        options.allowWeak = cost.allowWeak
        options.slotName = slotName
        options.device = try DeviceFile.load()
        options.lockWait = vault.access.wait
        let created = try make(path, factors, options)
        AnchorMemory.remember(created)
        Terminal.note(
            "created \(TerminalText.quoted(path)); \(SlotAdvice.words(kinds)); without that nobody can open it, so keep a copy")
    }

    private func make(_ path: String, _ factors: borrowing Factors, _ options: consuming CreateOptions) throws(CommandFailure) -> Vault {
        let progress = Progress("creating")
        defer { progress.finish() }
        do throws(VaultError) {
            return try Vault.create(at: path, factors: factors, options: options)
        } catch {
            throw CommandFailure(error)
        }
    }
}
