internal import Glibc

/// Work divided between this thread and one more.
package enum SecondThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs both at the same time, and returns when both have ended. Where no thread is to be had, one after the other.
    package static func run(_ first: () -> Void, alongside second: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(second))
        let result = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            }, work.toOpaque())
        first()
        if result == 0 {
            pthread_join(thread, nil)
        } else {
            work.takeRetainedValue().body()
        }
    }
}
