import ArgumentParser
import Glibc
import VaultAge
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `age-plugin`, and `age-plugin-vaultfmt`: lets age use identities stored in a vault.
struct AgePlugin: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "age-plugin",
        abstract: "Let age, and programs built on it, use the identities in a vault.",
        discussion: """
            Writes an identity file for an item whose secret is an age identity or an OpenSSH Ed25519 key. The file names the vault and the item, \
            and contains no secret. To use it, age starts age-plugin-vaultfmt, which opens the vault with the key that 'vaultfmt unlock' keeps or \
            the factors in the environment; otherwise age asks for the passphrase. Files are encrypted to the ordinary public key.

            Examples:
              vaultfmt set backup --generate-identity
              vaultfmt age-plugin vaultfmt:backup > backup.txt
              age -d -i backup.txt archive.tar.age
            """)

    @Argument(help: "The item: vaultfmt:SERVICE/ACCOUNT.")
    var reference: String?

    @Option(ArgumentHelp("The state machine that age runs.", visibility: .private), value: "state machine")
    var agePlugin: String?

    @OptionGroup var vault: VaultOptions

    func run() throws {
        if let agePlugin { return try serve(agePlugin) }
        guard let reference else {
            throw CommandFailure(.usage, "no item is named; write vaultfmt:SERVICE or vaultfmt:SERVICE/ACCOUNT")
        }
        let place = try StoredIdentity(vault: vault.path, reference: reference)
        let identities = try place.identities(in: vault.openVault())
        let output = Output.standard()
        try output.line("# item: \(TerminalText.singleLine(place.reference))")
        for identity in identities { try output.line("# public key: \(identity.recipient.text)") }
        try output.write(place.identity.text)
        try output.write(byte: 0x0A)
        try output.flush()
    }

    /// Answers age on standard input and output.
    private func serve(_ stateMachine: String) throws {
        guard
            var server = PluginServer(
                name: StoredIdentity.plugin, stateMachine: stateMachine, reading: STDIN_FILENO, writing: STDOUT_FILENO)
        else {
            throw CommandFailure(
                .usage,
                "age requested the state machine \(TerminalText.quoted(stateMachine)), which vaultfmt does not support")
        }
        let vaults = ServedVaults(access: vault.access)
        do throws(AgeError) {
            try server.run { (data, client) throws(AgeError) in try vaults.identities(data, asking: &client) }
        } catch { throw CommandFailure(error) }
    }
}

/// The vaults that a plugin has opened. Each vault is opened only once, however many identities age uses from it.
private final class ServedVaults {
    private let access: AccessOptions
    private var opened: [String: Vault] = [:]

    private static let mostTries = 3

    /// - `access`: How to open vaults. Prompts are disabled, because the terminal belongs to age.
    init(access: AccessOptions) {
        var access = access
        access.noInput = true
        self.access = access
    }

    /// Returns the identities in an item. age shows any error to the user.
    func identities(
        _ data: borrowing Secret, asking client: inout PluginClient
    ) throws(AgeError) -> [any NativeIdentity] {
        do {
            let place = try StoredIdentity(data)
            return try place.identities(in: vault(place.path, &client))
        } catch let error as AgeError {
            throw error
        } catch {
            throw AgeError(.pluginFailed, CommandFailure(error).message)
        }
    }

    private func vault(_ path: String, _ client: inout PluginClient) throws -> Vault {
        if let known = opened[path] { return known }
        let vault = try open(path, &client)
        opened[path] = vault
        return vault
    }

    private func open(_ path: String, _ client: inout PluginClient) throws -> Vault {
        if let kept = try access.openUnlocked(path) { return kept }
        guard try UserFiles.exists(path) else {
            throw CommandFailure(
                .noSuchFile,
                "there is no vault \(TerminalText.path(path)); if it was moved, create the identity file again")
        }
        var given = try access.factors.read(mayAsk: false)
        if let spare = access.factors.spareIdentity(for: path, beside: given) {
            given.external = try access.factors.identity(in: spare, mayAsk: false)
        }
        guard try access.factors.sources.passphraseNeed(path, beside: given) == .yes else {
            return try opened(path, given)
        }
        if given.isEmpty { try access.factors.sources.requirePassphraseSlot(path) }
        var tries = 1
        while true {
            let again = tries > 1 ? "Wrong passphrase; try again. " : ""
            let question = "\(again)Passphrase for \(TerminalText.escaped(path))"
            given.passphrase = try client.askForSecret(question)
            guard given.passphrase != nil else {
                throw CommandFailure(
                    .noAccess, "the vault \(TerminalText.path(path)) is locked; run 'vaultfmt unlock' first")
            }
            do { return try opened(path, given) } catch let error as CommandFailure {
                guard error.code == .noSlotOpens, tries < Self.mostTries else { throw error }
            }
            tries += 1
        }
    }

    private func opened(_ path: String, _ given: borrowing GivenFactors) throws -> Vault {
        do { return try access.open(path, with: given, writable: false) } catch { throw CommandFailure(error) }
    }
}
