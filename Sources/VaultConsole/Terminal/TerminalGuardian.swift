import CVaultShim
import Glibc
import VaultExchange
import VaultFmt

/// A helper process that restores the terminal if this process is killed while echo is off. It also holds the lock of
/// the turn, so that no other process prompts before the terminal is restored. Finally, it writes to this process's
/// standard output any text that must be written even if this process is killed.
package struct TerminalGuardian {
    package static let command = "__restore-terminal"
    private let process: pid_t
    private let pipe: Pipe

    /// The text to write to standard output if the process is killed at a prompt; empty if there is none.
    package nonisolated(unsafe) static var lastWords = ""

    /// Starts the guardian in its own session, so that signals sent to the job do not reach it. Returns nil if it
    /// cannot be started; the turn then continues without a guardian.
    static func start(terminal: Int32, lock: Int32) -> TerminalGuardian? {
        do {
            let pipe = try Pipe()
            let words = lastWords.isEmpty ? [command] : [command, lastWords]
            let process = try Subprocess.startApart(
                "/proc/self/exe", words, input: pipe.reading, output: terminal, error: lock,
                keepsOutput: !lastWords.isEmpty)
            pipe.closeReading()
            return TerminalGuardian(process: process, pipe: pipe)
        } catch { return nil }
    }

    /// Sends the terminal's settings to the guardian before they are changed.
    func tellModes() {
        var modes = vault_terminal_modes()
        vault_turn_modes(&modes)
        _ = withUnsafeBytes(of: &modes) { pipe.write($0) }
    }

    /// Lets the guardian exit without restoring anything.
    func dismiss() {
        _ = withUnsafeBytes(of: Self.allIsWell) { pipe.write($0) }
        pipe.closeWriting()
    }

    /// Waits for the guardian to exit, after `dismiss`.
    func wait() { _ = Subprocess.wait(process) }

    /// The body of the guardian: waits until the other process exits or dismisses the guardian.
    package static func watch() -> Never {
        var modes = vault_terminal_modes()
        let count = withUnsafeMutableBytes(of: &modes) { readAll(into: $0) }
        var word: UInt8 = 0
        let isDismissed = count == 1 || withUnsafeMutableBytes(of: &word) { readAll(into: $0) } == 1
        guard !isDismissed else { exit(0) }
        if count == MemoryLayout.size(ofValue: modes) { vault_terminal_restore(STDOUT_FILENO, STDERR_FILENO, &modes) }
        let arguments = ProcessArguments.all
        lastWords = arguments.count == 3 ? arguments[2] : ""
        sayLastWords(on: Subprocess.keptOutput)
        exit(0)
    }

    /// Writes the bytes. The process exits next, so a write error cannot be reported.
    package static func sayLastWords(on descriptor: Int32) {
        lastWords.withUTF8 { _ = Descriptor.writeAll(descriptor, UnsafeRawBufferPointer($0)) }
    }

    /// The byte that dismisses the guardian, sent alone or after the modes.
    private static let allIsWell: UInt8 = 1
    /// Reads until the buffer is full or the other end is closed; returns the number of bytes read.
    private static func readAll(into bytes: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        while count < bytes.count {
            let got = read(STDIN_FILENO, bytes.baseAddress?.advanced(by: count), bytes.count - count)
            if got < 0 && errno == EINTR { continue }
            guard got > 0 else { return count }
            count += got
        }
        return count
    }
}
