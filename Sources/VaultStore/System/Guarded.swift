internal import Glibc

/// A value protected by a system lock, which only one thread may use at a time.
///
/// The standard library's `Mutex` stores the number of the forking thread. In a child process, a thread that has to
/// wait for the thread holding the `Mutex` therefore traps (Swift 6.3; tested in `HostTests`).
package struct Guarded<Value: ~Copyable>: ~Copyable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    package init(_ value: consuming sending Value) {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Waits until the value is free, and passes it to `body`. A thread that is already using the value deadlocks.
    /// - Throws: Any error that `body` throws.
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }

    /// Passes the value to `body`, or returns nil if another thread is using the value.
    /// - Throws: Any error that `body` throws.
    package borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}

// The lock orders all uses of the value.
extension Guarded: @unchecked Sendable where Value: ~Copyable {}
