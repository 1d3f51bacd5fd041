internal import Glibc
internal import Synchronization

/// Who may use a vault now: one call of one thread at a time, or one transaction from its begin to its end.
///
/// Whoever holds it and asks again gets an error instead of waiting for ever. Other threads wait for a call as long as
/// it takes, and for a transaction, which its owner may forget to end, for a limited time. In a child process it is
/// refused.
package final class ExclusiveLock: Sendable {
    /// The number of the thread that holds it; 0 for none.
    private let holder = Atomic<UInt64>(0)
    /// Whether that thread holds it for a transaction.
    private let isForTransaction = Atomic<Bool>(false)
    private let waiting = Atomic<Int>(0)
    private let process = OwnProcess()
    private let change = ThreadSignal()

    package init() {}

    /// Whether this is the process that made it.
    package var isOfThisProcess: Bool { process.isThis }

    /// Waits for a call of another thread, and at most `seconds` for a transaction (`busy`). Throws `invalidArgument`
    /// on the thread that holds it, `otherProcess` in a child.
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
                    .invalidArgument, "a transaction is open on this thread: use its own functions within it")
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
                        .busy, "another thread has a transaction of this vault open; waited \(Int(seconds)) s")
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

    /// Acquires it if nobody holds it, also in a child: for what only reads memory.
    package func acquireIfFree() -> Bool { tryAcquire(ThisThread.number) }

    /// From here on others wait for a limited time only, and any thread may release it.
    package func beginTransaction() {
        isForTransaction.store(true, ordering: .sequentiallyConsistent)
        // Who waits for a call without a limit has one from now on.
        if waiting.load(ordering: .sequentiallyConsistent) > 0 { change.signal() }
    }

    /// From here on others wait as long as it takes.
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

/// Lets threads sleep until something has changed.
private final class ThreadSignal: Sendable {
    // What pthread functions are given must not move; it is freed with this object, and touched by them only.
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
        // Nobody waits when the last user of this goes; in a child, those who waited do not exist.
        condition.deallocate()
        mutex.deallocate()
    }

    /// Sleeps while `condition` holds, until the next signal or for so many seconds.
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
