internal import Glibc
internal import Synchronization

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

    /// The same for what returns something.
    package static func both<First, Second: Sendable>(
        _ first: () -> First, _ second: @escaping @Sendable () -> Second
    ) -> (First, Second) {
        let other = Handover<Second>()
        var one: First?
        run({ one = first() }, alongside: { other.set(second()) })
        guard let one, let two = other.take() else { preconditionFailure("both have run") }
        return (one, two)
    }

    private final class Handover<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)

        func set(_ new: Value) { value.withLock { $0 = new } }

        func take() -> Value? { value.withLock { $0 } }
    }
}
