internal import Glibc
internal import Synchronization

/// Serializes access to a vault: one call of one thread at a time, or one transaction from start to end.
///
/// A thread that acquires the lock twice gets an error instead of waiting forever. Other threads wait for a call
/// without a time limit, but they wait only a limited time for a transaction, because its owner may forget to end it. A
/// child process is refused.
package final class ExclusiveLock: Sendable {
    /// The number of the thread that holds the lock; 0 if it is free.
    private let holder = Atomic<UInt64>(0)
    /// True if the lock is held for a transaction.
    private let isForTransaction = Atomic<Bool>(false)
    private let waiting = Atomic<Int>(0)
    private let process = OwnProcess()
    private let change = ThreadSignal()

    package init() {}

    /// True if the lock was created in this process.
    package var isOfThisProcess: Bool { process.isThis }

    /// Waits without a limit for another thread's call, but at most `seconds` for a transaction, and then throws
    /// `busy`. Throws `invalidArgument` on the thread that already holds the lock, and `otherProcess` in a child.
    package func acquire(waitingForTransaction seconds: Double) throws(VaultError) {
        try process.require()
        let thread = ThisThread.number
        if tryAcquire(thread) { return }
        waiting.add(1, ordering: .sequentiallyConsistent)
        defer { waiting.subtract(1, ordering: .sequentiallyConsistent) }
        var deadline: Double?
        while !tryAcquire(thread) {
            guard holder.load(ordering: .relaxed) != thread else {
                throw VaultError(
                    .invalidArgument, "a transaction is open on this thread; use its own functions within it")
            }
            var left = Double.infinity
            let isLimited = isForTransaction.load(ordering: .sequentiallyConsistent)
            if isLimited {
                let now = Clock.seconds
                let end = deadline ?? now + seconds
                deadline = end
                left = end - now
                guard left > 0 else {
                    throw VaultError(
                        .busy, "another thread has a transaction open on this vault; waited \(Int(seconds)) s")
                }
            }
            ForkGate.outside {
                change.wait(atMost: left) {
                    holder.load(ordering: .sequentiallyConsistent) != 0
                        && isForTransaction.load(ordering: .sequentiallyConsistent) == isLimited
                }
            }
        }
    }

    /// Acquires the lock if it is free, even in a child process. Use this only to read memory.
    package func acquireIfFree() -> Bool { tryAcquire(ThisThread.number) }

    /// Starts a transaction: other threads now wait only for a limited time, and any thread may release the lock.
    package func beginTransaction() {
        isForTransaction.store(true, ordering: .sequentiallyConsistent)
        // Wake the threads that are waiting without a limit: from now on, a limit applies to them.
        if waiting.load(ordering: .sequentiallyConsistent) > 0 { change.signal() }
    }

    /// Ends a transaction: other threads now wait without a time limit.
    package func endTransaction() { isForTransaction.store(false, ordering: .sequentiallyConsistent) }

    package func release() {
        endTransaction()
        holder.store(0, ordering: .sequentiallyConsistent)
        if waiting.load(ordering: .sequentiallyConsistent) > 0 { change.signal() }
    }

    package func withLock<R: ~Copyable>(
        waitingForTransaction seconds: Double, _ body: () throws(VaultError) -> R
    ) throws(VaultError) -> R {
        try acquire(waitingForTransaction: seconds)
        defer { release() }
        return try body()
    }

    private func tryAcquire(_ thread: UInt64) -> Bool {
        holder.compareExchange(expected: 0, desired: thread, ordering: .sequentiallyConsistent).exchanged
    }
}

/// A signal that wakes waiting threads.
private final class ThreadSignal: Sendable {
    // Objects passed to pthread functions must not move. They are freed with this object, and only those functions
    // access them.
    private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private nonisolated(unsafe) let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        // No thread is waiting when the last reference is released; in a child process, the waiting threads do not
        // exist.
        condition.deallocate()
        mutex.deallocate()
    }

    /// If `isNeeded` returns true, sleeps until the next signal or for at most `seconds`.
    func wait(atMost seconds: Double, while isNeeded: () -> Bool) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard isNeeded() else { return }
        guard seconds < 1e9 else {
            pthread_cond_wait(condition, mutex)
            return
        }
        let end = Clock.seconds + seconds
        var time = timespec(tv_sec: Int(end), tv_nsec: Int((end - end.rounded(.down)) * 1e9))
        pthread_cond_timedwait(condition, mutex, &time)
    }

    func signal() {
        pthread_mutex_lock(mutex)
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }
}
