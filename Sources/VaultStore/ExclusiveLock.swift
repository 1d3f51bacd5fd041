internal import Glibc
internal import Synchronization

/// A lock for whole operations that tells a thread that it holds it already, where an ordinary one would wait for ever.
package final class ExclusiveLock: Sendable {
    private let mutex = Mutex(())
    private let holder = Atomic<UInt>(0)

    package init() {}

    package func withLock<R: ~Copyable>(_ body: () throws(VaultError) -> R) throws(VaultError) -> R {
        let thread = UInt(pthread_self())
        guard holder.load(ordering: .relaxed) != thread else {
            throw VaultError(.invalidArgument, "a transaction is open on this thread: use its own functions within it")
        }
        return try mutex.withLock { (_) throws(VaultError) in
            holder.store(thread, ordering: .relaxed)
            defer { holder.store(0, ordering: .relaxed) }
            return try body()
        }
    }
}
