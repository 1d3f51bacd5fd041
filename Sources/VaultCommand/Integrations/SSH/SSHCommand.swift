import ArgumentParser
import VaultAgent
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// `ssh`: the SSH keys in a vault.
struct SSHCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh",
        abstract: "List the SSH keys in a vault, print their public keys, and add them to an agent.",
        discussion: """
            Examples:
              vaultfmt ssh list
              vaultfmt ssh public github
            """,
        subcommands: [SSHList.self, SSHPublic.self, SSHAdd.self])

    func run() throws { throw MissingCommand() }
}

/// `ssh list`.
struct SSHList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys that 'vaultfmt agent' offers.",
        discussion: """
            Prints a line for each key: its size, fingerprint, name and type, as 'ssh-add -l' does, and whether it needs confirmation. If a key cannot be \
            offered, or something is wrong with its certificate or its attributes, the key is named on standard error, \
            and the exit code is 3. Each key is derived from the item's secret; with a scoped slot, only the items of \
            its groups are listed.

            Examples:
              vaultfmt ssh list
              vaultfmt ssh list --group ssh --keys
            """)

    @Option(
        "Also list the keys and identities of this access group; may be repeated.", value: "group",
        completion: .custom(VaultCompletion.groups))
    var group: [String] = []

    @Flag(help: "Print the public keys, as in authorized_keys.")
    var keys = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        let opened = try vault.openVault()
        let found = try Progress.during("reading") { try OfferedKeys.read(opened, groups: group) }
        let time = AgentClock.calendarTime()
        let warnings = found.keys.flatMap { $0.warnings(at: time) }
        let output = Output.standard()
        for key in found.keys { try output.line(line(key)) }
        try output.flush()
        for text in found.omitted { Terminal.warning("not offered: \(text)") }
        for text in warnings { Terminal.warning(text) }
        if found.keys.isEmpty, found.omitted.isEmpty {
            Terminal.note("no key is offered; 'vaultfmt update ITEM --attribute ssh=offer' offers one")
        }
        guard found.omitted.isEmpty, warnings.isEmpty else {
            throw CommandFailure(
                .incomplete, "some keys that should be offered are not, or have problems; see the lines above")
        }
    }

    private func line(_ key: OfferedKey) -> String {
        let publicKey = key.publicKey
        guard !keys else { return publicKey.line(comment: key.comment) }
        var line = "\(publicKey.bits) \(publicKey.fingerprint) \(key.comment) (\(publicKey.type.displayName))"
        if key.certificate != nil { line += " with a certificate" }
        return line + (key.needsConfirmation ? " needs confirmation" : "")
    }
}

/// `ssh public`.
struct SSHPublic: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "public",
        abstract: "Print the public key of an item that holds an SSH key.",
        discussion: """
            The key is derived from the item's secret, whether or not the item is offered to clients. The line has the format of authorized_keys.

            Examples:
              vaultfmt ssh public github
              vaultfmt ssh public github >> ~/.ssh/authorized_keys
            """)

    @OptionGroup var chosen: ItemChoice
    @OptionGroup var vault: VaultOptions

    func run() throws {
        try chosen.check()
        let opened = try vault.openVault()
        let item = try chosen.find(in: opened, mayAsk: !vault.access.noInput)
        let key = try ItemSSHKey.read(try opened.open(item).takeSecret(), of: item.key)
        let output = Output.standard()
        try output.line(key.publicKey.line(comment: OfferedKey.comment(item)))
        try output.flush()
    }
}

/// `ssh add`.
struct SSHAdd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add an item's SSH key to the agent at SSH_AUTH_SOCK.",
        discussion: """
            This works with any SSH agent, which then keeps the key even while the vault is locked. The item's \
            certificate, if it has one, is added too. The agent asks before each use of a key with ssh=confirm, as \
            with --confirm; a key with ssh=off is not added (exit 77).

            Examples:
              vaultfmt ssh add github --for 1h
              vaultfmt ssh add github --confirm
            """)

    @OptionGroup var chosen: ItemChoice

    @Option("How long the agent keeps the key: 90s, 15m, 8h or 2d.", name: .customLong("for"), value: "time")
    var time: Duration?

    @Flag(help: "Let the agent ask before each use of the key.")
    var confirm = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        try chosen.check()
        guard let path = Environment.nonEmpty("SSH_AUTH_SOCK") else {
            throw CommandFailure(
                .unavailable, "SSH_AUTH_SOCK is not set; start an agent with 'eval \"$(vaultfmt agent --daemon)\"'")
        }
        let opened = try vault.openVault()
        let item = try chosen.find(in: opened, mayAsk: !vault.access.noInput)
        var limits = AgentClient.Limits()
        limits.lifetime = time?.seconds
        limits.needsConfirmation = try needsConfirmation(item)
        let name = ItemText.summary(item.key, label: item.attributes.label)
        let secret = try opened.open(item).takeSecret()
        let key = try ItemSSHKey.read(secret, of: item.key).publicKey
        var certificate: Certificate?
        do {
            certificate = try OfferedKey.certificate(for: key, of: item, in: opened)
        } catch let error as AgentError {
            Terminal.warning("the certificate of \(name) is not added: \(error.message)")
        }
        try AgentClient(path).add(
            secret, certificate: certificate, comment: OfferedKey.comment(item), limits: limits)
        let asks = limits.needsConfirmation ? "; the agent asks before each use" : ""
        Terminal.note("added \(name)\(certificate == nil ? "" : " and its certificate")\(asks)")
    }

    /// Returns whether the agent should ask before each use, according to the item or the options. An item with ssh=off
    /// is not added.
    private func needsConfirmation(_ item: Item) throws -> Bool {
        guard item.attributes.attribute(SSHAttribute.use) != nil else { return confirm }
        let name = ItemText.summary(item.key, label: item.attributes.label)
        let use: KeyUse
        do throws(AgentError) { use = try KeyUse.of(item, groups: []) } catch {
            throw CommandFailure(.noAccess, "\(name) is not added: \(error.message)")
        }
        guard use != .off else {
            throw CommandFailure(
                .noAccess,
                "\(name) has the attribute ssh=off, so no agent gets its key; "
                    + "'vaultfmt update --id \(item.id) --remove-attribute ssh' removes it")
        }
        return confirm || use == .confirm
    }
}
