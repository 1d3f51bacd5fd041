internal import CVaultShim
internal import Glibc
internal import Synchronization

/// Divides work between the calling thread and other threads. The other threads are started on the first call and end
/// with this object.
///
/// Dispatch's `concurrentPerform` is not used because its caller can neither do other work first nor choose the number
/// of threads, its threads remain after the call, and it makes a statically linked program larger (measured: 6.59
/// instead of 6.19 MB, stripped).
package final class Workers: Sendable {
    /// The range of thread counts that a caller may request.
    package static let possible = 1...64
    /// The default: one per processor that this process may use, at most 16.
    private static let usual = min(max(Int(vault_processors()), 1), 16)

    private let asked: Int?
    private let crew = Guarded(Crew())

    /// - Parameter threads: The number of threads that work at the same time, including the calling one; nil for one
    ///   per processor.
    package init(_ threads: Int?) { asked = threads }

    /// Throws `invalidArgument` if the number is out of range.
    package static func check(threads: Int?) throws(VaultError) {
        guard let threads, !possible.contains(threads) else { return }
        throw VaultError(.invalidArgument, "the number of threads must be 1 to \(possible.upperBound), not \(threads)")
    }

    /// The number of threads that work at the same time.
    package var count: Int { asked ?? Self.usual }

    /// Runs `body` once for each part, starting at 0, and returns when all parts have ended.
    ///
    /// A lane number is less than `count`, and no two parts have the same lane at the same time, so only one thread at
    /// a time uses a lane's data. The calling thread runs `meanwhile` first, and then any parts that other threads have
    /// not started. If no thread can be started, or this object is already in use, the calling thread runs all parts.
    /// `body` must not hold the last reference to this object.
    package func run(
        _ parts: Int, meanwhile: () -> Void = {}, _ body: @escaping @Sendable (_ part: Int, _ lane: Int) -> Void
    ) {
        let wasDivided: Bool? = crew.withLockIfAvailable { crew in
            // The calling thread can start a single part sooner than a thread that has to be woken up.
            guard parts > 0, count > 1 else { return false }
            let job = Job(parts, body)
            crew.begin(job, helpers: min(parts, count - 1))
            meanwhile()
            job.work(lane: 0)
            job.finish()
            return true
        }
        guard wasDivided != true else { return }
        meanwhile()
        for part in 0..<parts { body(part, 0) }
    }

    /// Runs `body` like `run`, and returns its results in the order of the parts.
    package func map<Output: Sendable>(
        _ parts: Int, meanwhile: () -> Void = {}, _ body: @escaping @Sendable (_ part: Int, _ lane: Int) -> Output
    ) -> [Output] {
        let results = Results<Output>(parts)
        run(parts, meanwhile: meanwhile) { part, lane in results.set(part, body(part, lane)) }
        return results.all
    }

    /// Runs both functions, at the same time if another thread is available.
    package func both<First, Second: Sendable>(_ first: () -> First, _ second: @escaping @Sendable () -> Second) -> (
        First, Second
    ) {
        var one: First?
        let other = map(1, meanwhile: { one = first() }) { _, _ in second() }
        guard let one, let two = other.first else { preconditionFailure("both parts must have run") }
        return (one, two)
    }
}

/// The results of the parts, each stored by the thread that ran the part.
private final class Results<Output: Sendable>: Sendable {
    private let outputs: Guarded<[Output?]>

    init(_ count: Int) { outputs = Guarded([Output?](repeating: nil, count: count)) }

    func set(_ part: Int, _ output: Output) { outputs.withLock { $0[part] = output } }

    var all: [Output] {
        outputs.withLock { outputs in
            outputs.map { output in
                guard let output else { preconditionFailure("all parts must have run") }
                return output
            }
        }
    }
}

/// The parts of one run, which threads claim one at a time.
private final class Job: Sendable {
    typealias Body = @Sendable (_ part: Int, _ lane: Int) -> Void

    private let parts: Int
    /// Nil once all parts have run: otherwise, a late thread would keep objects such as keys alive.
    private let body: Guarded<Body?>
    private let next = Atomic<Int>(0)
    private let left: Atomic<Int>
    private let isDone = Semaphore()

    init(_ parts: Int, _ body: @escaping Body) {
        self.parts = parts
        self.body = Guarded(body)
        left = Atomic(parts)
    }

    func work(lane: Int) {
        while true {
            let part = next.add(1, ordering: .relaxed).oldValue
            guard part < parts else { return }
            body.withLock { $0 }?(part, lane)
            if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { isDone.post() }
        }
    }

    /// Waits for the parts that other threads have started.
    func finish() {
        isDone.wait()
        body.withLock { $0 = nil }
    }
}

/// The other threads of a pool.
private struct Crew {
    private var workers: [Worker] = []
    private var process = OwnProcess()

    /// Starts `helpers` threads, or as many as possible.
    mutating func begin(_ job: Job, helpers: Int) {
        if !process.isThis {
            // In a child process, only the forking thread exists.
            workers = []
            process = OwnProcess()
        }
        while workers.count < helpers, let worker = Worker(lane: workers.count + 1) { workers.append(worker) }
        for worker in workers.prefix(helpers) { worker.mailbox.send(.job(job)) }
    }
}

/// A thread and its mailbox.
private final class Worker: Sendable {
    let mailbox: Mailbox
    private let thread: pthread_t
    private let process = OwnProcess()

    /// Returns nil if no thread can be started.
    init?(lane: Int) {
        mailbox = Mailbox(lane: lane)
        guard let thread = Threads.start({ [mailbox] in ForkGate.helping { mailbox.work() } }) else { return nil }
        self.thread = thread
    }

    deinit {
        guard process.isThis else { return }
        mailbox.send(.end)
        pthread_join(thread, nil)
    }
}

/// A thread's next task. If a job is still stored when the next job arrives, other threads have already completed the
/// stored one.
private final class Mailbox: Sendable {
    enum Message: Sendable {
        case job(Job)
        case end
    }

    private let lane: Int
    private let message = Guarded<Message?>(nil)
    private let isFilled = Semaphore()

    init(lane: Int) { self.lane = lane }

    func send(_ new: Message) {
        message.withLock { $0 = new }
        isFilled.post()
    }

    func work() {
        while true {
            // A fork waits for any use of the runtime, even if other threads have already done the job.
            ForkGate.outside { isFilled.wait() }
            guard work(message.withLock { $0.take() }) else { return }
        }
    }

    /// Returns false if the thread should end.
    private func work(_ message: Message?) -> Bool {
        switch message {
        case .job(let job): job.work(lane: lane)
        case .end: return false
        case nil: break
        }
        return true
    }
}

private final class Semaphore: @unchecked Sendable {  // Made for use by several threads; its address does not change.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func post() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0 {} }
}
