import ArgumentParser
import VaultArguments
import VaultConsole
import VaultFmt
import VaultLocal

/// `unlock`: keeps a vault unlocked for a limited time.
struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Keep a vault unlocked for a limited time.",
        discussion: """
            The key that opens the vault is kept in this user's Linux kernel keyring: it is never written to a file or an \
            environment variable, is never swapped out, and is wiped by 'vaultfmt lock' or when the time expires. It \
            is also wiped when a command on this machine changes or removes the slot that opened the vault, or detects \
            that this was done elsewhere. Until then, any process running as this user can read the key and open the \
            vault, as these commands do.

            A command that is given a passphrase or a key file, by an option or the environment, uses that instead. \
            Without a kernel keyring, as in most containers, 'unlock' fails (exit 69), but all other commands work as \
            usual.

            Examples:
              vaultfmt unlock
              vaultfmt unlock work.vault --for 8h
            """)

    @OptionGroup var vault: VaultFileOptions

    @Option(
        "How long to keep the vault unlocked, such as 90s, 15m, 8h or 2d; at most 30 days.", name: .customLong("for"),
        value: "time")
    var time = Duration(seconds: 15 * 60)

    func run() throws {
        let path = try vault.path
        // Other processes that are waiting to prompt will find the vault unlocked.
        ControllingTerminal.beginSeries()
        let opened = try vault.access.openWithFactors(path, writable: false).vault
        try Machine.keepUnlocked(opened, seconds: time.seconds)
        ControllingTerminal.endSeries()
        Terminal.note(
            "\(TerminalText.path(opened.path)) can be opened by any process running as this user for \(time.text), or until 'vaultfmt lock' is run"
        )
    }
}

/// `lock`: locks a vault that `unlock` keeps unlocked.
struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock a vault that was unlocked with 'vaultfmt unlock'.",
        discussion: """
            A vault is identified by the file from which it was unlocked, even if that file is gone or damaged. \
            Commands that already have the vault open can use it until they exit; a running 'vaultfmt agent' is locked, too.

            Examples:
              vaultfmt lock
              vaultfmt lock --all
            """)

    @OptionGroup var name: VaultFileName

    @Flag(help: "Lock all vaults of this user, wherever their files are.")
    var all = false

    func validate() throws {
        guard (name.file ?? name.vault) == nil || !all else {
            throw ValidationError("--all locks every vault; leave out the file")
        }
    }

    func run() throws {
        let path = all ? nil : try VaultPath.resolve(name.given)
        // The key that 'unlock' keeps is dropped first, whether or not the agent fails, because the agent would open
        // the vault with that key.
        let dropped = Result { try dropKept() }
        let agent = Result { try RunningAgent.lock(path) }
        var wasOpen = false
        switch agent {
        case .success(let isOpen): wasOpen = isOpen
        case .failure(let error):
            if case .failure = dropped { Terminal.warning(CommandFailure(error).message) }
        }
        if wasOpen { Terminal.note("removed the vault's keys from the agent") }
        do { try dropped.get() } catch let failure as CommandFailure {
            // Without a keyring, or if the file no longer exists, only the agent had the keys.
            guard wasOpen, [.unavailable, .noSuchFile].contains(failure.status) else { throw failure }
        }
        _ = try agent.get()
    }

    private func dropKept() throws {
        guard !all else {
            guard let count = try whileOpening({ try Machine.lockAll() }) else { throw Self.apart }
            return Terminal.note(
                count == 0 ? "no vault was unlocked" : "locked \(count) \(count == 1 ? "vault" : "vaults")")
        }
        let path = try VaultPath.resolve(name.given)
        switch try lock(path) {
        case .wasUnlocked: Terminal.note("\(TerminalText.path(path)) is locked")
        case .wasNotUnlocked: Terminal.note("\(TerminalText.path(path)) was not unlocked")
        case .unknown: throw Self.apart
        }
    }

    private func lock(_ path: String) throws -> Machine.Locked {
        do throws(VaultError) { return try Machine.lock(path) } catch {
            guard error.code != .noKernelKeyring else { throw CommandFailure(error) }
            throw CommandFailure(
                ExitStatus(error),
                "no vault was unlocked from \(TerminalText.path(path)), and the file does not identify its vault (\(error.description)); "
                    + "'vaultfmt lock --all' locks every vault")
        }
    }

    private static let apart = CommandFailure(
        .unavailable,
        "no vault is unlocked in this user namespace, which has its own keyrings; vaults unlocked outside it stay unlocked: "
            + "run 'vaultfmt lock' there")
}
