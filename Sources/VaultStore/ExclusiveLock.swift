internal import Glibc

/// A lock for whole operations that tells a thread that it holds it already, where an ordinary one would wait for ever.
///
/// Swift's own mutex cannot be held from one call of a program to another, which a transaction with a begin and an end of its own needs.
package final class ExclusiveLock: Sendable {
    // The memory that a pthread mutex lives in must not move; it is freed with this object, and touched by pthread functions only.
    private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init() {
        mutex = .allocate(capacity: 1)
        var attributes = pthread_mutexattr_t()
        pthread_mutexattr_init(&attributes)
        pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ERRORCHECK))
        pthread_mutex_init(mutex, &attributes)
        pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Waits for other threads. Throws `invalidArgument` on the thread that holds it.
    package func acquire() throws(VaultError) {
        guard pthread_mutex_lock(mutex) == 0 else {
            throw VaultError(.invalidArgument, "a transaction is open on this thread: use its own functions within it")
        }
    }

    /// Only on the thread that acquired it.
    package func release() {
        let result = pthread_mutex_unlock(mutex)
        precondition(result == 0, "a lock is released by the thread that holds it")
    }

    package func withLock<R: ~Copyable>(_ body: () throws(VaultError) -> R) throws(VaultError) -> R {
        try acquire()
        defer { release() }
        return try body()
    }
}
