import CVaultShim
import Glibc
import VaultFmt

/// The terminal that a person is using, opened separately: prompts never use standard input, which may be a pipe.
///
/// Ctrl-C at a prompt exits with code 130; Ctrl-Z stops the process, and the prompt is repeated when it continues.
package enum ControllingTerminal {
    /// The longest line that the kernel's line editing returns; anything typed beyond that is silently lost.
    static let longestLine = 4094
    /// The maximum size of a multi-line text, in bytes.
    static let longestText = 65_536

    /// Only the main thread may show prompts.
    nonisolated(unsafe) private static var turn: TerminalTurn?
    nonisolated(unsafe) private static var seriesDepth = 0
    /// True if any question has been asked.
    package nonisolated(unsafe) private(set) static var hasAsked = false

    /// True if the process has a controlling terminal.
    static var isThere: Bool {
        if turn != nil { return true }
        let opened = vault_open("/dev/tty", O_RDWR | O_NOCTTY, 0)
        guard opened >= 0 else { return false }
        close(opened)
        return true
    }

    /// Keeps the turn, once it has begun, until the matching `endSeries`. More questions may follow, and text typed
    /// between questions must not be treated as an answer.
    package static func beginSeries() { seriesDepth += 1 }

    /// Ends the series after its last question has been answered.
    package static func endSeries() {
        seriesDepth = max(0, seriesDepth - 1)
        if seriesDepth == 0 { end() }
    }

    /// Restores the terminal; no questions may follow.
    package static func end() {
        turn?.end()
        turn = nil
    }

    /// Waits for the turn at the terminal, and keeps it until the next line has been read.
    /// - Returns: Whether another process had its turn first; nil if there is no terminal.
    package static func waitForTurn() throws -> Bool? { try current()?.hadToWait }

    /// Shows a prompt and reads a line.
    /// - `hidden`: Whether to turn off echo while the user types. Returns the line without its line ending, or nil at
    ///   the end of input (Ctrl-D).
    static func readLine(prompt: String, hidden: Bool) throws -> Secret? {
        var buffer = Secret(count: longestLine + 2)
        return try ask(prompt, into: &buffer) { turn, buffer in turn.ask(prompt, isHidden: hidden, into: &buffer) }
    }

    /// Shows a prompt and reads lines until the end of input, without echo.
    ///
    /// Returns the lines with their line endings, or nil if the input is empty.
    static func readText(prompt: String) throws -> Secret? {
        var buffer = Secret(count: longestText + 2)
        return try ask(prompt, into: &buffer) { turn, buffer in turn.askForText(prompt, into: &buffer) }
    }

    /// Repeats the question until it is answered, even after the process has been stopped.
    private static func ask(
        _ prompt: String, into buffer: inout Secret, _ question: (TerminalTurn, inout Secret) -> TerminalTurn.Outcome
    ) throws -> Secret? {
        defer { if seriesDepth == 0 { end() } }
        while true {
            guard let turn = try current() else { throw CommandFailure(.noAccess, "there is no terminal to prompt on") }
            hasAsked = true
            switch question(turn, &buffer) {
            case .line(let count):
                let answer = buffer.prefix(count)
                guard count <= buffer.count - 2, hasWholeLines(answer) else {
                    throw CommandFailure(
                        .usage, "the line is too long for a terminal; read it from a file")
                }
                return answer
            case .end: return nil
            case .failed(let number): throw CommandFailure(system: number, "cannot read from the terminal")
            case .signal(let signal):
                end()
                actOn(signal)
            }
        }
    }

    /// Returns whether every line is short enough that the kernel cannot have dropped its end.
    private static func hasWholeLines(_ text: borrowing Secret) -> Bool {
        text.withUnsafeBytes { bytes in bytes.split(separator: 0x0A).allSatisfy { $0.count <= longestLine } }
    }

    /// Lets the user choose during this turn; after a stop by Ctrl-Z, the choice is shown again.
    static func during(_ choose: (TerminalTurn) -> Choice) throws -> Int? {
        defer { if seriesDepth == 0 { end() } }
        while true {
            guard let turn = try current() else { throw CommandFailure(.noAccess, "there is no terminal to prompt on") }
            hasAsked = true
            switch choose(turn) {
            case .chosen(let place): return place
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

    /// Performs the signal's usual action now that the terminal is restored.
    private static func actOn(_ signal: Int32) {
        if signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU {
            TerminalGuardian.sayLastWords(on: STDOUT_FILENO)
        }
        if signal == SIGINT { exit(ExitStatus.interrupted.rawValue) }
        raise(signal)
    }
}
