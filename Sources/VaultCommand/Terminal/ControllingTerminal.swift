import CVaultShim
import Glibc
import VaultFmt

/// The terminal a person sits at, opened by itself: prompts never touch standard input, which may be a pipe.
///
/// While a line is being typed, signals that would end or stop the process are noted instead, so that the terminal can be put
/// back first: Ctrl-C then ends with 130; Ctrl-Z stops, and the prompt comes again on return.
struct ControllingTerminal: ~Copyable {
    /// The longest line that the kernel's line editing hands over; what is typed beyond is lost without notice.
    static let longestLine = 4094

    private let descriptor: Int32

    /// Opens the process's terminal, or returns nil where it has none.
    init?() {
        let opened = vault_open("/dev/tty", O_RDWR | O_NOCTTY, 0)
        guard opened >= 0 else { return nil }
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Shows a prompt and reads a line.
    /// - Parameter hidden: Whether what is typed is kept off the screen.
    /// - Returns: The line without its end, or nil at the end of input (Ctrl-D).
    borrowing func readLine(prompt: String, hidden: Bool) throws(CommandFailure) -> Secret? {
        var buffer = Secret(count: Self.longestLine + 2)
        while true {
            let outcome = attempt(prompt: prompt, hidden: hidden, into: &buffer)
            switch outcome {
            case .line(let count):
                guard count <= Self.longestLine else {
                    throw CommandFailure(.usage, "the line is longer than a terminal can hand over; give it from a file")
                }
                return buffer.prefix(count)
            case .end: return nil
            case .failed(let number): throw CommandFailure(system: number, "cannot read from the terminal")
            case .signal(let signal): Self.actOn(signal)
            }
        }
    }

    /// How an attempt to read a line ended.
    enum Outcome {
        case line(Int)
        case end
        case failed(Int32)
        case signal(Int32)
    }

    /// One try at reading a line; the terminal and the signals are as before when it returns.
    private borrowing func attempt(prompt: String, hidden: Bool, into buffer: inout Secret) -> Outcome {
        let signals = CaughtSignals()
        defer { signals.release() }
        var before = termios()
        let isTerminal = tcgetattr(descriptor, &before) == 0
        if hidden && isTerminal {
            var quiet = before
            quiet.c_lflag &= ~tcflag_t(ECHO | ECHONL)
            tcsetattr(descriptor, TCSAFLUSH, &quiet)
        }
        defer {
            if hidden && isTerminal { tcsetattr(descriptor, TCSAFLUSH, &before) }
        }
        show(prompt)
        let outcome = readBytes(into: &buffer, signals)
        if case .line = outcome, !hidden { return outcome }
        show("\n")
        return outcome
    }

    private borrowing func readBytes(into buffer: inout Secret, _ signals: borrowing CaughtSignals) -> Outcome {
        var count = 0
        while true {
            if let failure = signals.waitForInput(descriptor) { return failure }
            let position = min(count, buffer.count - 1)
            let got = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress?.advanced(by: position), 1) }
            if got < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                return .failed(errno)
            }
            if got == 0 { return count == 0 ? .end : .line(count) }
            if buffer.withUnsafeBytes({ $0[position] }) == 0x0A { return .line(count) }
            count += 1
        }
    }

    private borrowing func show(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // A prompt that cannot be shown leaves reading to report what is wrong with the terminal.
            _ = Descriptor.writeAll(descriptor, UnsafeRawBufferPointer(utf8))
        }
    }

    /// Does what the signal would have done, now that the terminal is as it was.
    private static func actOn(_ signal: Int32) {
        if signal == SIGINT { exit(ExitStatus.interrupted.rawValue) }
        raise(signal)
    }
}
