import CVaultShim
import Glibc
import VaultFmt

/// The terminal a person sits at, opened by itself: prompts never touch standard input, which may be a pipe.
///
/// Ctrl-C at a question ends with 130; Ctrl-Z stops, and the question comes again on return.
enum ControllingTerminal {
    /// The longest line that the kernel's line editing hands over; what is typed beyond is lost without notice.
    static let longestLine = 4094

    /// Prompts are of the main thread alone.
    nonisolated(unsafe) private static var turn: TerminalTurn?
    nonisolated(unsafe) private static var seriesDepth = 0
    /// Whether anything was asked.
    nonisolated(unsafe) private(set) static var hasAsked = false

    /// Whether the process has a terminal.
    static var isThere: Bool {
        if turn != nil { return true }
        let opened = vault_open("/dev/tty", O_RDWR | O_NOCTTY, 0)
        guard opened >= 0 else { return false }
        close(opened)
        return true
    }

    /// Keeps the turn, once it has begun, until the matching `endSeries`: more questions may follow, and what is typed
    /// between them is nobody's answer.
    static func beginSeries() { seriesDepth += 1 }

    /// The last question was answered.
    static func endSeries() {
        seriesDepth = max(0, seriesDepth - 1)
        if seriesDepth == 0 { end() }
    }

    /// Puts the terminal back; nothing is asked any more.
    static func end() {
        turn?.end()
        turn = nil
    }

    /// Waits for the turn at the terminal, and keeps it until the next line was read.
    /// - Returns: Whether another process had its turn first; nil where there is no terminal.
    static func waitForTurn() throws -> Bool? { try current()?.hadToWait }

    /// Shows a prompt and reads a line.
    /// - `hidden`: Whether what is typed is kept off the screen.
    /// It returns the line without its end, or nil at the end of input (Ctrl-D).
    static func readLine(prompt: String, hidden: Bool) throws -> Secret? {
        var buffer = Secret(count: longestLine + 2)
        defer { if seriesDepth == 0 { end() } }
        while true {
            guard let turn = try current() else { throw CommandFailure(.noAccess, "there is no terminal to prompt on") }
            hasAsked = true
            switch turn.ask(prompt, isHidden: hidden, into: &buffer) {
            case .line(let count):
                guard count <= longestLine else {
                    throw CommandFailure(
                        .usage, "the line is longer than a terminal can hand over; give it from a file")
                }
                return buffer.prefix(count)
            case .end: return nil
            case .failed(let number): throw CommandFailure(system: number, "cannot read from the terminal")
            case .signal(let signal):
                end()
                actOn(signal)
            }
        }
    }

    private static func current() throws -> TerminalTurn? {
        if let turn, !turn.isLost { return turn }
        end()
        turn = try TerminalTurn.begin()
        return turn
    }

    /// Does what the signal would have done, now that the terminal is as it was.
    private static func actOn(_ signal: Int32) {
        if signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU {
            TerminalGuardian.sayLastWords(on: STDOUT_FILENO)
        }
        if signal == SIGINT { exit(ExitStatus.interrupted.rawValue) }
        raise(signal)
    }
}
