import Glibc
import Synchronization

/// While a value of this type exists, signals that would end the process are only recorded, so that plaintext can be
/// removed first. Afterwards, a recorded signal has its usual effect.
///
/// The type uses handlers rather than a mask: a mask applies to one thread, and a signal sent to the process would end
/// it through any other thread.
package struct HeldSignals: ~Copyable {
    private let pipe: Pipe
    private var before: [(signal: Int32, action: sigaction)] = []

    /// With `ignoringKeys`, Ctrl-C and Ctrl-\ are ignored because they are meant for another program. With `passesOn`,
    /// they are not ignored if a process sent them, and other signals that the program may expect are also recorded.
    /// With `notesResizing`, changes of the terminal's size are recorded.
    ///
    /// A signal that was already ignored when this process was started, as under `nohup`, stays ignored, both here and
    /// in child processes.
    package init(ignoringKeys: Bool = false, passesOn: Bool = false, notesResizing: Bool = false) throws {
        pipe = try Pipe()
        _ = fcntl(pipe.writing, F_SETFL, O_NONBLOCK)
        NotedSignal.descriptor = pipe.writing
        NotedSignal.ending.store(0, ordering: .relaxed)
        let further = (passesOn ? [SIGUSR1, SIGUSR2] : []) + (notesResizing ? [SIGWINCH] : [])
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD] + further {
            let isIgnored = ignoringKeys && (signal == SIGINT || signal == SIGQUIT)
            var new = Self.action(isIgnored ? (passesOn ? .ofKeys : .all) : .none)
            var old = sigaction()
            sigaction(signal, &new, &old)
            guard signal == SIGCHLD || signal == SIGWINCH || !Self.isIgnored(old) else {
                sigaction(signal, &old, nil)
                continue
            }
            before.append((signal, old))
        }
    }

    /// The origins from which signals are ignored.
    private enum Ignored {
        case none, ofKeys, all
    }

    private static func action(_ ignored: Ignored) -> sigaction {
        var action = sigaction()
        action.sa_flags = SA_RESTART
        switch ignored {
        case .none: action.__sigaction_handler.sa_handler = { NotedSignal.note($0) }
        // The other program would inherit SIG_IGN.
        case .all: action.__sigaction_handler.sa_handler = { _ in }
        case .ofKeys:
            action.sa_flags |= SA_SIGINFO
            action.__sigaction_handler.sa_sigaction = { signal, info, _ in
                if let info, info.pointee.si_code == NotedSignal.fromKeys { return }
                NotedSignal.note(signal)
            }
        }
        return action
    }

    /// Returns whether an action is `SIG_IGN`, which is not a function.
    private static func isIgnored(_ action: sigaction) -> Bool {
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
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

    /// Records Ctrl-C and Ctrl-\ from now on, because the program for which they were meant has ended.
    package borrowing func noteKeys() {
        for signal in [SIGINT, SIGQUIT] where before.contains(where: { $0.signal == signal }) {
            var action = Self.action(.none)
            sigaction(signal, &action, nil)
        }
    }

    /// Waits for a signal, including SIGCHLD.
    package borrowing func wait() {
        var signal: UInt8 = 0
        while read(pipe.reading, &signal, 1) != 1 {}
    }

    /// A descriptor that delivers one byte per signal, so that signals can be polled together with other events.
    package var descriptor: Int32 { pipe.reading }

    /// Discards the signals received so far, because another program has also received them.
    package borrowing func settle() { NotedSignal.ending.store(0, ordering: .relaxed) }

    /// True if the process should end.
    package var isInterrupted: Bool { NotedSignal.ending.load(ordering: .relaxed) != 0 }
}

/// The data used by the handler: an atomic and a pipe, both created in advance.
private enum NotedSignal {
    nonisolated(unsafe) static var descriptor: Int32 = -1
    /// The origin code of signals that the kernel sends, such as those from keys (SI_KERNEL).
    static let fromKeys: Int32 = 0x80
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
