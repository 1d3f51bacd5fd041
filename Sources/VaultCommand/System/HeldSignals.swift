import Glibc
import Synchronization

/// While a value of this type exists, signals that would end the process are only recorded, so that plaintext can be
/// removed first. Afterwards, a recorded signal takes its usual effect.
///
/// It uses handlers rather than a mask: a mask applies to one thread, and a signal sent to the process would end it
/// through any other thread.
struct HeldSignals: ~Copyable {
    private let pipe: Pipe
    private var before: [(signal: Int32, action: sigaction)] = []

    /// With `ignoringKeys`, Ctrl-C and Ctrl-\ are ignored because they are meant for another program. With
    /// `notesResizing`, changes of the terminal's size are recorded too.
    init(ignoringKeys: Bool = false, notesResizing: Bool = false) throws {
        pipe = try Pipe()
        _ = fcntl(pipe.writing, F_SETFL, O_NONBLOCK)
        NotedSignal.descriptor = pipe.writing
        NotedSignal.ending.store(0, ordering: .relaxed)
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD] + (notesResizing ? [SIGWINCH] : []) {
            var new = sigaction()
            var old = sigaction()
            if ignoringKeys && (signal == SIGINT || signal == SIGQUIT) {
                // SIG_IGN would be inherited by the other program.
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

    /// Records Ctrl-C and Ctrl-\ from now on: the program they were meant for has ended.
    borrowing func noteKeys() {
        for signal in [SIGINT, SIGQUIT] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { NotedSignal.note($0) }
            action.sa_flags = SA_RESTART
            sigaction(signal, &action, nil)
        }
    }

    /// Waits for a signal, including SIGCHLD.
    borrowing func wait() {
        var signal: UInt8 = 0
        while read(pipe.reading, &signal, 1) != 1 {}
    }

    /// A descriptor that delivers one byte per signal, so that signals can be polled together with other events.
    var descriptor: Int32 { pipe.reading }

    /// Discards the signals received so far, which another program has received too.
    borrowing func settle() { NotedSignal.ending.store(0, ordering: .relaxed) }

    /// Whether the process should end.
    var isInterrupted: Bool { NotedSignal.ending.load(ordering: .relaxed) != 0 }
}

/// The data used by the handler: an atomic and a pipe, both created in advance.
private enum NotedSignal {
    nonisolated(unsafe) static var descriptor: Int32 = -1
    static let ending = Atomic<Int32>(0)

    static func note(_ signal: Int32) {
        let number = errno
        if signal != SIGCHLD && signal != SIGWINCH { ending.store(signal, ordering: .relaxed) }
        var byte = UInt8(truncatingIfNeeded: signal)
        // A full pipe is enough to wake every waiting thread.
        _ = write(descriptor, &byte, 1)
        errno = number
    }
}
