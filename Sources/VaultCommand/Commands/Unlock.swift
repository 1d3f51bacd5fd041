import ArgumentParser
import VaultFmt

/// `unlock`: asks for the factors once, for a while.
struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Open a vault once, for all commands and helpers of a while.",
        discussion: """
            What opens the vault is kept in the Linux kernel's keyring of this user: in no file and no environment variable, never swapped \
            out, wiped by 'vaultfmt lock', by the timeout, and when the slot that opened the vault is changed or removed. Until then every \
            process of this user can take it from there and open the vault, as these commands do.

            Where a command is given a passphrase or a key file, by an option or the environment, it uses that. Where there is no kernel \
            keyring, as in most containers, this is exit 69, and everything else works as without it.

            Examples:
              vaultfmt unlock
              vaultfmt unlock work.vault --for 8h
            """)

    @OptionGroup var vault: VaultFileOptions

    @Option(
        name: .customLong("for"), parsing: .unconditional,
        help: ArgumentHelp("For how long: 90s, 15m, 8h or 2d, at most 30 days.", valueName: "time"))
    var time = Duration(seconds: 15 * 60)

    func run() throws {
        let path = try vault.path
        // Others that wait to ask find it kept.
        ControllingTerminal.beginSeries()
        let opened = try vault.access.openWithFactors(path, writable: false).vault
        try attempt { () throws(VaultError) in try opened.keepOpen(seconds: time.seconds) }
        ControllingTerminal.endSeries()
        Terminal.note(
            "\(TerminalText.quoted(opened.path)) opens to every process of this user for \(time.text), or until 'vaultfmt lock'")
    }
}

/// `lock`: takes back what `unlock` gave.
struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "End what 'vaultfmt unlock' began.",
        discussion: """
            Commands that have the vault open go on with it until they end.

            Examples:
              vaultfmt lock
              vaultfmt lock --all
            """)

    @OptionGroup var name: VaultFileName

    @Flag(help: "All vaults of this user, wherever their files are.")
    var all = false

    func validate() throws {
        guard (name.file ?? name.vault) == nil || !all else { throw ValidationError("--all locks every vault; leave out the file") }
    }

    func run() throws {
        guard !all else {
            let count = try attempt { () throws(VaultError) in try Vault.endAllKeeping() }
            return Terminal.note(count == 0 ? "no vault was unlocked" : "locked \(count) \(count == 1 ? "vault" : "vaults")")
        }
        let path = try VaultPath.resolve(name.given)
        let wasOpen = try attempt { () throws(VaultError) in try Vault.endKeeping(path) }
        Terminal.note("\(TerminalText.quoted(path)) \(wasOpen ? "is locked" : "was not unlocked")")
    }
}

/// A time span of at most 30 days: a number with a unit.
struct Duration: ExpressibleByArgument {
    let seconds: UInt32

    init(seconds: UInt32) { self.seconds = seconds }

    init?(argument: String) {
        let units: [Character: UInt32] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let last = argument.last, let unit = units[last], let number = UInt32(argument.dropLast()), number > 0 else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow, product <= 30 * 86_400 else { return nil }
        seconds = product
    }

    var defaultValueDescription: String { text }

    /// In the largest unit that divides it.
    var text: String {
        for (unit, size) in [("d", 86_400), ("h", 3600), ("m", 60)] as [(String, UInt32)] where seconds.isMultiple(of: size) {
            return "\(seconds / size)\(unit)"
        }
        return "\(seconds)s"
    }
}
