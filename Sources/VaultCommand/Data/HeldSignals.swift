import Glibc

/// While it lives, the signals that would end the process wait, so that plaintext can be taken away first.
struct HeldSignals: ~Copyable {
    /// The signals held, and SIGCHLD, which says that a program has ended.
    static let held: [Int32] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP]

    /// What was blocked before: a program that is started meanwhile must have this mask.
    private(set) var before = sigset_t()

    init() {
        var set = Self.set
        pthread_sigmask(SIG_BLOCK, &set, &before)
    }

    deinit {
        var mask = before
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }

    /// Waits for a signal: one of those held, or SIGCHLD.
    func wait() -> Int32 {
        var set = Self.set
        var signal: Int32 = 0
        while sigwait(&set, &signal) != 0 {}
        return signal
    }

    /// Whether one of the held signals came.
    var isInterrupted: Bool {
        var pending = sigset_t()
        sigpending(&pending)
        return Self.held.contains { sigismember(&pending, $0) == 1 }
    }

    private static var set: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in held + [SIGCHLD] { sigaddset(&set, signal) }
        return set
    }
}
