import Glibc
import Synchronization

/// While it lives, the signals that would end the process are noted instead, so that plaintext can be taken away first.
/// When it goes, one that came does what it would have done.
///
/// Handlers, not a mask: a mask holds for one thread, and a signal to the process ends it through any other.
struct HeldSignals: ~Copyable {
    private let pipe: Pipe
    private var before: [(signal: Int32, action: sigaction)] = []

    /// - `ignoringKeys`: Whether Ctrl-C and Ctrl-\ are another program's, and mean nothing here.
    init(ignoringKeys: Bool = false) throws {
        pipe = try Pipe()
        _ = fcntl(pipe.writing, F_SETFL, O_NONBLOCK)
        NotedSignal.descriptor = pipe.writing
        NotedSignal.ending.store(0, ordering: .relaxed)
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD] {
            var new = sigaction()
            var old = sigaction()
            if ignoringKeys && (signal == SIGINT || signal == SIGQUIT) {
                // Not SIG_IGN, which the other program would inherit.
                new.__sigaction_handler.sa_handler = { _ in }
            } else {
                new.__sigaction_handler.sa_handler = { NotedSignal.note($0) }
            }
            new.sa_flags = SA_RESTART
            sigaction(signal, &new, &old)
            before.append((signal, old))
        }
    }

    deinit {
        for (signal, action) in before {
            var action = action
            sigaction(signal, &action, nil)
        }
        NotedSignal.descriptor = -1
        let signal = NotedSignal.ending.load(ordering: .relaxed)
        if signal != 0 { raise(signal) }
    }

    /// Waits for a signal, SIGCHLD among them.
    borrowing func wait() {
        var signal: UInt8 = 0
        while read(pipe.reading, &signal, 1) != 1 {}
    }

    /// Whether somebody wants the process to end.
    var isInterrupted: Bool { NotedSignal.ending.load(ordering: .relaxed) != 0 }
}

/// What the handler touches: an atomic and a pipe, both made before.
private enum NotedSignal {
    nonisolated(unsafe) static var descriptor: Int32 = -1
    static let ending = Atomic<Int32>(0)

    static func note(_ signal: Int32) {
        let number = errno
        if signal != SIGCHLD { ending.store(signal, ordering: .relaxed) }
        var byte = UInt8(truncatingIfNeeded: signal)
        // A full pipe holds enough signals to wake whoever waits.
        _ = write(descriptor, &byte, 1)
        errno = number
    }
}
