import ArgumentParser
import VaultFmt
import VaultLocal

/// `unlock`: asks for the factors once, for a while.
struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keep a vault unlocked for a limited time.",
        discussion: """
            What opens the vault is kept in the Linux kernel's keyring of this user: in no file and no environment variable, never swapped \
            out, wiped by 'vaultfmt lock' and by the timeout. It is also wiped when a command of this machine changes or removes the slot that \
            opened the vault, or sees that this was done elsewhere. Until then every process of this user can read it and open the vault, as \
            these commands do.

            Where a command is given a passphrase or a key file, by an option or the environment, it uses that. Where there is no kernel \
            keyring, as in most containers, this is exit 69, and everything else works as without it.

            Examples:
              vaultfmt unlock
              vaultfmt unlock work.vault --for 8h
            """)

    @OptionGroup var vault: VaultFileOptions

    @Option("For how long: 90s, 15m, 8h or 2d, at most 30 days.", name: .customLong("for"), value: "time")
    var time = Duration(seconds: 15 * 60)

    func run() throws {
        let path = try vault.path
        // Others that wait to ask find it kept.
        ControllingTerminal.beginSeries()
        let opened = try vault.access.openWithFactors(path, writable: false).vault
        try Machine.keepUnlocked(opened, seconds: time.seconds)
        ControllingTerminal.endSeries()
        Terminal.note(
            "\(TerminalText.quoted(opened.path)) opens to every process of this user for \(time.text), or until 'vaultfmt lock'"
        )
    }
}

/// `lock`: takes back what `unlock` gave.
struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lock a vault that 'vaultfmt unlock' keeps unlocked.",
        discussion: """
            A vault is locked by the file that it was unlocked in, even if that is gone or damaged. Commands that have the vault open go on \
            with it until they end.

            Examples:
              vaultfmt lock
              vaultfmt lock --all
            """)

    @OptionGroup var name: VaultFileName

    @Flag(help: "All vaults of this user, wherever their files are.")
    var all = false

    func validate() throws {
        guard (name.file ?? name.vault) == nil || !all else {
            throw ValidationError("--all locks every vault; leave out the file")
        }
    }

    func run() throws {
        guard !all else {
            guard let count = try Machine.lockAll() else { throw Self.apart }
            return Terminal.note(
                count == 0 ? "no vault was unlocked" : "locked \(count) \(count == 1 ? "vault" : "vaults")")
        }
        let path = try VaultPath.resolve(name.given)
        switch try lock(path) {
        case .wasUnlocked: Terminal.note("\(TerminalText.quoted(path)) is locked")
        case .wasNotUnlocked: Terminal.note("\(TerminalText.quoted(path)) was not unlocked")
        case .unknown: throw Self.apart
        }
    }

    private func lock(_ path: String) throws -> Machine.Locked {
        do throws(VaultError) { return try Machine.lock(path) } catch {
            guard error.code != .noKernelKeyring else { throw CommandFailure(error) }
            throw CommandFailure(
                ExitStatus(error),
                "no vault was unlocked as \(TerminalText.quoted(path)), and the file does not tell which vault it is (\(error.description)); "
                    + "'vaultfmt lock --all' locks every vault")
        }
    }

    private static let apart = CommandFailure(
        .unavailable,
        "nothing is kept unlocked in this user namespace, which has keyrings of its own; what was unlocked outside of it stays: "
            + "run 'vaultfmt lock' there")
}

/// A time span of at most 30 days: a number with a unit.
struct Duration: ExpressibleByArgument {
    let seconds: UInt32

    init(seconds: UInt32) { self.seconds = seconds }

    init?(argument: String) {
        let units: [Character: UInt32] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let last = argument.last, let unit = units[last], let number = UInt32(argument.dropLast()), number > 0
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow, product <= 30 * 86_400 else { return nil }
        seconds = product
    }

    var defaultValueDescription: String { text }

    /// In the largest unit that divides it.
    var text: String {
        for (unit, size) in [("d", 86_400), ("h", 3600), ("m", 60)] as [(String, UInt32)]
        where seconds.isMultiple(of: size) {
            return "\(seconds / size)\(unit)"
        }
        return "\(seconds)s"
    }
}
