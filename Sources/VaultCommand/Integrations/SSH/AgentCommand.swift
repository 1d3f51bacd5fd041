import ArgumentParser
import Glibc
import VaultAgent
import VaultArguments
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSecretService

/// `agent`: the ssh agent.
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Serve SSH keys to ssh and git, and passwords to desktop programs.",
        discussion: """
            Examples:
              eval "$(vaultfmt agent --daemon)"
              vaultfmt agent --on-demand
              vaultfmt agent status
              vaultfmt agent stop
            """,
        subcommands: [AgentServe.self, AgentState.self, AgentStop.self],
        defaultSubcommand: AgentServe.self)
}

/// `agent serve`.
struct AgentServe: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Open a vault, and answer clients of the SSH agent and the Secret Service until a signal ends it.",
        discussion: """
            The agent serves items with the attribute ssh=offer or ssh=confirm and, with --group, the keys and \
            identities in that access group. A key is in memory only while it signs, or while its public key is \
            derived. Keys added with 'ssh-add' are kept in memory until 'ssh-add' removes them. A key with \
            ssh=confirm, or added with 'ssh-add -c', signs only after you have confirmed its use in SSH_ASKPASS, a \
            pinentry or ssh-askpass. RSA keys never sign with SHA-1.

            With --on-demand, the vault is opened when a client needs it, even after a time limit has locked it: with \
            a key file or another given file (but not an age plugin's identity), or with a passphrase, for which a \
            pinentry asks up to three times. After 'vaultfmt lock', only the passphrase or 'vaultfmt unlock' opens it \
            again.

            The sockets are in the folder 'vaultfmt' in XDG_RUNTIME_DIR; systemd can pass the one for ssh. A vault that was opened with \
            the key that 'vaultfmt unlock' keeps, or with an owner's passphrase typed at a prompt, is opened again when 'unlock' is run again. \
            'vaultfmt lock' also locks it in the agent.

            With --collection, the agent is also the Secret Service on the session's D-Bus, where browsers, git and \
            Python's keyring look up passwords: each access group is a collection, and its generic passwords are the \
            items.

            Examples:
              vaultfmt agent --key-file ssh.key --group ssh
              vaultfmt agent --time 8h --idle 30m
              vaultfmt agent --collection desktop --confirm
            """)

    @Option(
        "Also offer the keys and identities of this access group; may be repeated.", value: "group",
        completion: .custom(VaultCompletion.groups))
    var group: [String] = []

    @Option("Lock the vault this long after it was opened: 90s, 15m, 8h or 2d.", value: "time")
    var time: Duration?

    @Option(
        "Lock the vault this long after its last signature, or after a desktop program last used a secret.",
        value: "time")
    var idle: Duration?

    @Flag(help: "Do not open the vault now; serve it only while it is unlocked with 'vaultfmt unlock'.")
    var whenUnlocked = false

    @Flag(help: "Lock the vault when the session is locked or ends, or the machine sleeps; needs systemd-logind.")
    var lockWithSession = false

    @Flag(help: "Continue in the background once the vault is open.")
    var daemon = false

    @Option(
        ArgumentHelp("The descriptor on which the background process reports that it is ready.", visibility: .private),
        value: "n")
    var readyFd: Int32?

    @Flag(
        help: ArgumentHelp(
            "Derive the key from a passphrase that a running agent passes on, and hand it over.", visibility: .private))
    var openTyped = false

    @OptionGroup(title: "On demand") var demand: OnDemandOptions
    @OptionGroup(title: "Asking") var asking: AskingOptions
    @OptionGroup(title: "Secret Service") var secrets: SecretServiceOptions
    @OptionGroup var vault: VaultOptions

    func validate() throws {
        guard !daemon || !asking.onTerminal else {
            throw ValidationError("--on-terminal is for an agent in the foreground; leave out --daemon")
        }
        guard !whenUnlocked || !demand.onDemand else {
            throw ValidationError(
                "--on-demand also uses the key that 'vaultfmt unlock' keeps; leave out --when-unlocked")
        }
        try demand.requireFiles(vault.access.factors)
        guard !whenUnlocked || !vault.access.factors.isAnythingGiven else {
            throw ValidationError(
                "--when-unlocked uses only the key that 'vaultfmt unlock' keeps; leave out the options and variables that give a factor"
            )
        }
    }

    func run() throws {
        if openTyped {
            let path = try vault.path
            return try TypedOpening.answer { try silentAccess.openSilently(path, writable: false, typed: $0) }
        }
        let descriptors = vault.access.factors.descriptors
        if daemon, readyFd == nil {
            guard !AgentPlace.isActivated else {
                throw CommandFailure(.usage, "systemd keeps track of the agent that it starts; leave out --daemon")
            }
            try BackgroundAgent.start(factors: descriptors)
        }
        let isActivated = AgentPlace.isActivated
        // The service manager is looked up in the background process as well, because that removes the variable that
        // names the manager from the environment of child processes.
        let found = ServiceManager()
        let manager = readyFd == nil ? found : nil
        // If the reader of standard output is gone, writing must return an error rather than kill the process before
        // the sockets have been removed.
        signal(SIGPIPE) { _ in }
        let place = try AgentPlace(SocketFolder())
        let watch = try sessionLock()
        let programs = try asking.programs()
        var bus = try secrets.connect(canAsk: programs.canAskForConsent)
        let keys = try served(SpentFactors(descriptors: descriptors), programs)
        let signals = try HeldSignals()
        let attached = try bus.map { try secrets.serve(keys, on: $0) }
        // From now on, only the service holds the connection, and closes it.
        bus = nil
        let server = try AgentServer(keys, at: place, asking: programs, attached: attached, watch: watch)
        try announce(server)
        try tellReady(manager, isActivated: isActivated)
        try server.run(wakenBy: signals.descriptor) { signals.isInterrupted }
        manager?.tellStopping()
        // The agent ends because of the signal, as requested, so the signal needs no further handling.
        signals.settle()
    }

    /// Tells the service manager that the agent is ready. If that fails, the agent exits only if systemd has passed it
    /// a socket. Otherwise, it may have been started from a shell that merely inherited the variable from a service.
    private func tellReady(_ manager: ServiceManager?, isActivated: Bool) throws {
        do throws(AgentError) { try manager?.tellReady() } catch {
            guard !isActivated else { throw error }
            Terminal.warning(error.message)
        }
    }

    /// Returns the object that locks the vault with the session; nil if the option is not given. This method waits for
    /// logind before anyone is asked for a passphrase.
    private func sessionLock() throws -> SessionLock? {
        guard lockWithSession else { return nil }
        let watch = try SessionLock(session: Environment.nonEmpty("XDG_SESSION_ID"))
        if !watch.hasSession {
            Terminal.note(
                "you have no local or graphical session; the vault will be locked before the machine sleeps, and when a session that starts later is locked or ends"
            )
        }
        if !watch.delaysSleep {
            Terminal.warning(
                "systemd-logind does not allow sleep to be delayed, so the machine may sleep before the vault is locked"
            )
        }
        return watch
    }

    /// Opens the vault unless it is opened on demand, and sets up how it is reopened, while the sources of the factors
    /// are still available.
    private func served(_ factors: SpentFactors, _ programs: AskingPrograms) throws -> ServedVault {
        let path = try vault.path
        let onDemand = try demand.opening(path, silentAccess, isWritable: { isWritable(path) }, programs)
        let opened = try openVault(path)
        ControllingTerminal.end()
        if let vault = opened.vault {
            for text in try OfferedKeys.unusable(group, in: vault) { Terminal.warning("not offered: \(text)") }
            try secrets.check(vault)
        }
        let reopening = mayReopen(opened) ? reopening(path) : nil
        factors.forget()
        return ServedVault(
            path: opened.vault?.path ?? path, groups: group, limits: limits, vault: opened.vault,
            isKept: opened.isKept, now: AgentClock.now(), reopening: reopening, onDemand: onDemand,
            listsLocked: demand.listLocked)
    }

    private var limits: ServedVault.Limits {
        ServedVault.Limits(total: time.map { UInt64($0.seconds) * 1000 }, idle: idle.map { UInt64($0.seconds) * 1000 })
    }

    /// Opens the vault; the result contains no vault with `--when-unlocked` or `--on-demand`. The key that `unlock`
    /// keeps may grant more than a given factor, such as an identity in the environment.
    private func openVault(_ path: String) throws -> (vault: Vault?, isKept: Bool) {
        if demand.onDemand { return (nil, false) }
        let (access, isWritable) = (access, isWritable(path))
        if !access.factors.isAnythingGiven, let kept = try access.openUnlocked(path, writable: isWritable) {
            return (kept, true)
        }
        return whenUnlocked ? (nil, false) : (try access.openWithFactors(path, writable: isWritable).vault, false)
    }

    /// Returns whether the key that `unlock` keeps may reopen the vault: the key must not grant more than the factors
    /// that were given or typed.
    private func mayReopen(_ opened: (vault: Vault?, isKept: Bool)) -> Bool {
        guard !vault.access.factors.isAnythingGiven else { return false }
        return opened.isKept || opened.vault.map { $0.access == .owner } ?? true
    }

    private func reopening(_ path: String) -> ServedVault.Reopening {
        let silent = silentAccess
        return { try OnDemandOptions.open { try silent.openUnlocked(path, writable: isWritable(path)) } }
    }

    /// The options for opening the vault without a prompt.
    private var silentAccess: AccessOptions {
        var access = access
        access.noInput = true
        return access
    }

    /// The options for opening the vault. Unless --wait is given, a write waits only briefly, because waiting blocks
    /// other clients.
    private var access: AccessOptions {
        var access = vault.access
        if secrets.isServed { access.wait = access.wait ?? 2 }
        return access
    }

    /// The vault is writable only if desktop programs are served, because nothing else changes it, and only if it is
    /// not on a read-only file system.
    private func isWritable(_ path: String) -> Bool { secrets.isServed && Glibc.access(path, W_OK) == 0 }

    /// Prints the location of the socket in the same way as ssh-agent. A background process then detaches from the
    /// terminal.
    private func announce(_ server: AgentServer) throws {
        var lines: [String] = []
        if let path = server.socketPath {
            let quoted = "'" + path.replacing("'", with: "'\\''") + "'"
            lines.append("SSH_AUTH_SOCK=\(quoted); export SSH_AUTH_SOCK;")
        }
        guard let readyFd else {
            let output = Output.standard()
            for line in lines { try output.line(line) }
            return try output.flush()
        }
        lines.append("SSH_AGENT_PID=\(getpid()); export SSH_AGENT_PID;")
        try BackgroundAgent.leave(readyFd, saying: lines.map { $0 + "\n" }.joined())
    }
}
