import Glibc

/// The signals that must not end or stop the process while the terminal's echo is off.
struct CaughtSignals: ~Copyable {
    private static let caught: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]
    private var before = sigset_t()
    private var actions: [sigaction] = []

    init() {
        CaughtSignal.number = 0
        var blocked = sigset_t()
        sigemptyset(&blocked)
        for signal in Self.caught { sigaddset(&blocked, signal) }
        // They are blocked but for the wait itself, so none can slip in between a check and a read.
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        for signal in Self.caught {
            var old = sigaction()
            var new = sigaction()
            new.__sigaction_handler.sa_handler = { CaughtSignal.number = $0 }
            sigaction(signal, &new, &old)
            actions.append(old)
        }
    }

    /// Waits until there is something to read; returns the signal that came instead.
    borrowing func waitForInput(_ descriptor: Int32) -> ControllingTerminal.Outcome? {
        var open = before
        for signal in Self.caught { sigdelset(&open, signal) }
        while true {
            var set = fd_set()
            Self.insert(descriptor, into: &set)
            let ready = pselect(descriptor + 1, &set, nil, nil, nil, &open)
            if CaughtSignal.number != 0 { return .signal(CaughtSignal.number) }
            if ready > 0 { return nil }
            if ready < 0 && errno != EINTR { return .failed(errno) }
        }
    }

    borrowing func release() {
        for (signal, action) in zip(Self.caught, actions) {
            var action = action
            sigaction(signal, &action, nil)
        }
        var mask = before
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }

    private static func insert(_ descriptor: Int32, into set: inout fd_set) {
        withUnsafeMutableBytes(of: &set) { bytes in
            let position = Int(descriptor)
            guard position / 8 < bytes.count else { return }
            bytes[position / 8] |= 1 << (position % 8)
        }
    }
}

/// What the handler wrote: the one thing that it touches.
private enum CaughtSignal {
    nonisolated(unsafe) static var number: Int32 = 0
}
