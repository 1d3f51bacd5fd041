import Glibc
import VaultAgent
import VaultConsole
import VaultLocal

/// A pinentry: GnuPG's program, or a compatible one, that asks a person on a screen.
///
/// It uses a terminal only if the agent passes on its own terminal. Otherwise, it has no controlling terminal, no
/// descriptor of a terminal, and no environment variable that names one.
struct PinentryProgram {
    let path: String
    /// The terminal to ask on; nil for the screen.
    private let terminal: AgentTerminal?

    /// - `name`: A path, or the name of a program in PATH.
    init(named name: String, terminal: AgentTerminal?) throws {
        let found = name.contains("/") ? Places.resolved(name) : Subprocess.find(name)
        guard let found, access(found, X_OK) == 0 else {
            throw CommandFailure(
                .unavailable,
                "there is no program \(TerminalText.path(name)); install a pinentry, or name another with --pinentry")
        }
        (path, self.terminal) = (found, terminal)
    }

    private init(path: String, terminal: AgentTerminal?) { (self.path, self.terminal) = (path, terminal) }

    /// Finds a pinentry in PATH, if there is a screen or a terminal for it to use.
    static func find(_ terminal: AgentTerminal?) -> PinentryProgram? {
        let hasScreen = ["DISPLAY", "WAYLAND_DISPLAY"].contains { Environment.nonEmpty($0) != nil }
        guard terminal != nil || hasScreen else { return nil }
        let names = terminal == nil ? ["pinentry"] : ["pinentry-curses", "pinentry-tty", "pinentry"]
        return names.lazy.compactMap(Subprocess.find).first.map { PinentryProgram(path: $0, terminal: terminal) }
    }

    /// The pinentry, in the form in which the agent starts it.
    var pinentry: Pinentry {
        let (path, terminal) = (path, terminal)
        return Pinentry(options: Self.characters + (terminal?.options ?? [])) { (input, output) throws(AgentError) in
            try terminal?.requireForeground()
            do {
                return try Subprocess.startAsking(path, input: input, output: output) { name in
                    Self.isWithheld(name, hasTerminal: terminal != nil)
                }
            } catch { throw AgentError(.system, CommandFailure(error).message) }
        } ended: {
            terminal?.restore()
        }
    }

    /// The option that sets the character encoding, as gpg-agent does.
    private static var characters: [String] {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { Environment.nonEmpty($0) }.first
        return locale.map { ["lc-ctype=\($0)"] } ?? []
    }

    /// Returns whether an environment variable is withheld from the pinentry: vaultfmt's own variables, those that name
    /// a terminal and, if the pinentry is to use the agent's terminal, those that name a screen.
    private static func isWithheld(_ name: String, hasTerminal: Bool) -> Bool {
        if name.hasPrefix("VAULTFMT_") || name == "GPG_TTY" { return true }
        return hasTerminal && ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"].contains(name)
    }
}

/// The terminal of an agent that stays in the foreground.
struct AgentTerminal {
    private let descriptor: Int32
    private let path: String
    /// The terminal's modes; a pinentry that is killed does not restore them.
    private let modes: termios

    /// Finds the terminal, which must be one of the standard descriptors.
    static func find() throws -> AgentTerminal {
        for descriptor in [STDIN_FILENO, STDERR_FILENO, STDOUT_FILENO] {
            var name = [CChar](repeating: 0, count: Int(PATH_MAX))
            var modes = termios()
            guard ttyname_r(descriptor, &name, name.count) == 0, tcgetattr(descriptor, &modes) == 0 else { continue }
            let path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let terminal = AgentTerminal(descriptor: descriptor, path: path, modes: modes)
            try terminal.requireForeground()
            return terminal
        }
        throw CommandFailure(.noAccess, "--on-terminal needs a terminal, and the agent was started without one")
    }

    /// The options that specify the terminal to a pinentry.
    var options: [String] {
        ["ttyname=\(path)"] + (Environment.nonEmpty("TERM").map { ["ttytype=\($0)"] } ?? [])
    }

    /// Throws if another program has the terminal: the agent was stopped, or continues in the background.
    func requireForeground() throws(AgentError) {
        guard isForeground else {
            throw AgentError(.unavailable, "the agent is not in the foreground of its terminal")
        }
    }

    private var isForeground: Bool { tcgetpgrp(descriptor) == getpgrp() }

    /// Restores the terminal's modes without waiting for pending output, because a terminal whose output is stopped
    /// must not block the agent.
    func restore() {
        guard isForeground else { return }
        var modes = modes
        tcsetattr(descriptor, TCSANOW, &modes)
    }
}
