import CVaultShim
import Glibc
import VaultFmt

/// A process of this program that watches over it while it asks: it puts the terminal back if this one is killed while
/// echo is off. It holds the lock of the turn as well, so that nobody else asks before the terminal is as it was. And
/// it says on this one's standard output what must be said in every case.
struct TerminalGuardian {
    static let command = "__restore-terminal"
    private let process: pid_t
    private let pipe: Pipe

    /// What is written to standard output if the process is killed at a question, and its end at once; empty for
    /// nothing.
    nonisolated(unsafe) static var lastWords = ""

    /// Starts it, in a session of its own, so that nothing sent to the job ends it. Nil where it cannot be started: the
    /// turn goes on without.
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

    /// Tells it how the terminal was, before that is changed.
    func tellModes() {
        var modes = vault_terminal_modes()
        vault_turn_modes(&modes)
        _ = withUnsafeBytes(of: &modes) { pipe.write($0) }
    }

    /// Lets it end, with nothing to put back.
    func dismiss() {
        _ = withUnsafeBytes(of: Self.allIsWell) { pipe.write($0) }
        pipe.closeWriting()
    }

    /// Waits for its end; after `dismiss`.
    func wait() { _ = Subprocess.wait(process) }

    /// What the process does: it waits for the other's end, or its word that all is well.
    static func watch() -> Never {
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

    /// Writes them; the process ends next, so nobody is there to hear that they could not be written.
    static func sayLastWords(on descriptor: Int32) {
        lastWords.withUTF8 { _ = Descriptor.writeAll(descriptor, UnsafeRawBufferPointer($0)) }
    }

    /// Sent alone, or after the modes.
    private static let allIsWell: UInt8 = 1
    /// Reads until the buffer is full or the other end closed; returns how many bytes came.
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
