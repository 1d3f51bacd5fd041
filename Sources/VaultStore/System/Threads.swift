internal import Glibc

/// The library's own threads.
enum Threads {
    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts work on a new thread, or returns nil if no thread can be started. Signals are handled by the program's
    /// own threads.
    static func start(_ work: @escaping @Sendable () -> Void) -> pthread_t? {
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Work(work))
        let result = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context.toOpaque())
        guard result == 0 else {
            context.release()
            return nil
        }
        return thread
    }
}

/// Runs a single piece of work on a separate thread.
package enum BackgroundThread {
    /// Runs the work on a new thread, or immediately on this one if no thread can be started.
    package static func run(_ work: @escaping @Sendable () -> Void) {
        guard let thread = Threads.start(work) else { return work() }
        pthread_detach(thread)
    }
}
