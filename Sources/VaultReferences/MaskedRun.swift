import CVaultShim
import Glibc
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// Runs a program and masks secrets in its standard output and standard error.
enum MaskedRun {
    /// The outcome of running a program.
    enum Outcome {
        case ended(Subprocess.Ending)
        /// The program could not be started, with this error number.
        case notStarted(Int32)
    }

    /// Runs the program, and returns after it has ended and no process can still write to its output. The program
    /// inherits standard input.
    static func run(
        _ command: [String], _ environment: consuming SecretEnvironment, hiding values: MaskedValues
    ) throws -> Outcome {
        let signals = try HeldSignals(ignoringKeys: true, passesOn: true, notesResizing: true)
        let relays = try Relays(values)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (source, target) in relays.programEnds { posix_spawn_file_actions_adddup2(&actions, source, target) }
        var process: pid_t = 0
        let failure = environment.spawn(command, &actions, &process)
        guard failure == 0 else { return .notStarted(failure) }
        relays.closeProgramEnds()
        let ending = try follow(process, relays, signals)
        signals.settle()
        return .ended(ending)
    }

    /// Ends this process in the same way as the program ended.
    static func end(as ending: Subprocess.Ending) -> Never {
        switch ending {
        case .code(let code): exit(code)
        case .unknown: exit(ExitStatus.io.rawValue)
        case .signal(let signal):
            Glibc.signal(signal, SIG_DFL)
            raise(signal)
            // Reached if the signal that ended the program does not end this process.
            exit(ending.code)
        }
    }

    /// How long to wait for output after the program has ended before telling the user why this process is still
    /// waiting.
    private static let silence: Int32 = 2000

    /// Passes on output and signals. A process that the program left behind may keep the output open and write to it
    /// later, so this waits until the output is closed, or until a signal or Ctrl-C arrives.
    private static func follow(
        _ process: pid_t, _ relays: Relays, _ signals: borrowing HeldSignals
    ) throws -> Subprocess.Ending {
        var ending: Subprocess.Ending?
        var isTold = false
        while true {
            if ending == nil, let ended = Subprocess.pollFollowingStops(process) {
                ending = ended
                signals.noteKeys()
            }
            if let ending, !relays.isOpen { return ending }
            let event = try relays.wait(signals.descriptor, milliseconds: ending == nil || isTold ? -1 : silence)
            switch (event, ending) {
            case (.output, _), (.signal(SIGCHLD), _): break
            case (.signal(SIGWINCH), _): relays.resize()
            // The signal ends the program, and this process then ends in the same way. Keys such as Ctrl-C reach the
            // program directly.
            case (.signal(let signal), nil): kill(process, signal)
            case (.signal, let ending?):
                try relays.finish()
                return ending
            case (.nothing, nil): break
            case (.nothing, _?):
                Terminal.note(
                    "the program has ended, but a process it started can still write output; press Ctrl-C to stop waiting"
                )
                isTold = true
            }
        }
    }

}

/// The relays from the program's output to this process's output.
private struct Relays {
    /// If standard output and standard error are the same file, they share one channel, so that their order is kept and
    /// a secret split between them is found.
    private let all: [Relay]

    init(_ values: MaskedValues) throws {
        let output = try Relay(to: STDOUT_FILENO, values)
        all = try Self.areSame(STDOUT_FILENO, STDERR_FILENO) ? [output] : [output, Relay(to: STDERR_FILENO, values)]
    }

    /// The descriptors passed to the program, and their numbers in the program.
    var programEnds: [(source: Int32, target: Int32)] {
        zip([all[0], all[all.count - 1]], [STDOUT_FILENO, STDERR_FILENO]).map { ($0.channel.writing, $1) }
    }

    /// True if output may still arrive.
    var isOpen: Bool { all.contains { $0.channel.reading >= 0 } }

    func closeProgramEnds() { for relay in all { relay.channel.closeWriting() } }

    /// Sets the program's terminals to the size of this process's terminals.
    func resize() { for relay in all { relay.channel.copySize(from: relay.target) } }

    /// The event that ended a wait.
    enum Event {
        case output
        case signal(Int32)
        /// The wait timed out.
        case nothing
    }

    /// Waits for output and passes the output on, or waits for a signal.
    /// - `signals`: A descriptor that delivers one byte per signal.
    /// - `milliseconds`: The longest wait; -1 for no limit.
    func wait(_ signals: Int32, milliseconds: Int32) throws -> Event {
        // A closed channel is -1, which `poll` ignores.
        var ready = ([signals] + all.map(\.channel.reading)).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let count = poll(&ready, nfds_t(ready.count), milliseconds)
        guard count != 0 else { return .nothing }
        // Interrupted by a signal handler; the next call reports the signal.
        guard count > 0 else { return .output }
        for (relay, state) in zip(all, ready.dropFirst()) where state.revents != 0 { try relay.pass() }
        guard ready[0].revents != 0 else { return .output }
        var signal: UInt8 = 0
        return read(signals, &signal, 1) == 1 ? .signal(Int32(signal)) : .output
    }

    /// Stops reading, and writes the output that was held back.
    func finish() throws { for relay in all { try relay.finish() } }

    private static func areSame(_ first: Int32, _ second: Int32) -> Bool {
        var (one, other) = (vault_status(), vault_status())
        guard vault_status_of_open(first, &one) == 0, vault_status_of_open(second, &other) == 0 else { return false }
        return one.device == other.device && one.number == other.number
    }
}

/// A relay from the program's output to a descriptor of this process.
private final class Relay {
    let channel: Channel
    let target: Int32
    private var mask: OutputMask
    private var buffer = Secret(count: 65_536)

    init(to target: Int32, _ values: MaskedValues) throws {
        self.target = target
        mask = OutputMask(values)
        channel = try Channel(for: target)
    }

    /// Reads once, and writes the output that may be shown.
    func pass() throws {
        let source = channel.reading
        let count = buffer.withUnsafeMutableBytes { read(source, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        // At the end of a terminal's output, reading fails with EIO.
        guard count > 0 else { return try finish() }
        var shown = SecretBuffer(capacity: count + 64)
        let piece = buffer.prefix(count)
        piece.withUnsafeBytes { mask.feed($0, into: &shown) }
        try write(shown)
    }

    /// Stops reading, and writes the output that was held back.
    func finish() throws {
        channel.closeReading()
        var shown = SecretBuffer(capacity: 64)
        mask.finish(into: &shown)
        try write(shown)
    }

    private func write(_ shown: borrowing SecretBuffer) throws {
        let failure = shown.withUnsafeBytes { Descriptor.writeAll(target, $0) }
        guard failure == 0 else {
            throw CommandFailure(
                .io,
                "cannot write the program's output: \(Descriptor.message(failure)); free some disk space, or write elsewhere"
            )
        }
    }
}

/// The channel that a program writes to: a pipe or, if this process's output is a terminal, a terminal of its own, so
/// that the program's output looks as usual. The program still reads from the real terminal.
private final class Channel {
    private let ends: Pipe
    private let isTerminal: Bool

    var reading: Int32 { ends.reading }
    var writing: Int32 { ends.writing }

    init(for descriptor: Int32) throws {
        isTerminal = isatty(descriptor) == 1
        ends = try isTerminal ? Self.terminal() : Pipe()
        if isTerminal { copySize(from: descriptor) }
    }

    private static func terminal() throws -> Pipe {
        var (reading, writing): (Int32, Int32) = (-1, -1)
        guard openpty(&reading, &writing, nil, nil, nil) == 0 else {
            throw CommandFailure(
                .io, "cannot create a terminal: \(Descriptor.message(errno)); send the output to a pipe")
        }
        var modes = termios()
        if tcgetattr(writing, &modes) == 0 {
            // The real terminal translates newlines; this one passes bytes through unchanged.
            modes.c_oflag &= ~tcflag_t(OPOST)
            tcsetattr(writing, TCSANOW, &modes)
        }
        return Pipe(reading: reading, writing: writing)
    }

    func closeReading() { ends.closeReading() }

    func closeWriting() { ends.closeWriting() }

    /// Copies the number of rows and columns from a terminal.
    func copySize(from descriptor: Int32) {
        var size = winsize()
        guard isTerminal, reading >= 0, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return }
        _ = ioctl(reading, UInt(TIOCSWINSZ), &size)
    }
}
