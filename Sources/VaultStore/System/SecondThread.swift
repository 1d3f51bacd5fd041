internal import Glibc
internal import Synchronization

/// Work divided between the calling thread and one more, which is started when it is first needed and ends with this.
package final class SecondThread: Sendable {
    private let worker = Mutex<Worker?>(nil)

    package init() {}

    /// Runs both at the same time, and returns when both have ended. One after the other where no thread is to be had,
    /// or where a copy of the caller has this one at work.
    package func run(_ first: () -> Void, alongside second: @escaping @Sendable () -> Void) {
        let wasShared: Bool? = worker.withLockIfAvailable { worker in
            guard let running = Worker.running(&worker) else { return false }
            running.begin(second)
            first()
            running.wait()
            return true
        }
        guard wasShared != true else { return }
        first()
        second()
    }

    /// The same for what returns something.
    package func both<First, Second: Sendable>(_ first: () -> First, _ second: @escaping @Sendable () -> Second) -> (
        First, Second
    ) {
        let other = Handover<Second>()
        var one: First?
        run({ one = first() }, alongside: { other.set(second()) })
        guard let one, let two = other.take() else { preconditionFailure("both have run") }
        return (one, two)
    }
}

/// A value that one thread leaves for another.
private final class Handover<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func set(_ new: Value) { value.withLock { $0 = new } }

    func take() -> Value? { value.withLock { $0.take() } }
}

/// The thread, and what it is told.
private final class Worker: Sendable {
    private let mailbox = Mailbox()
    private let thread: pthread_t
    private let process = getpid()

    /// The one that there is, or a new one: a process that was forked has only the thread that forked it.
    static func running(_ worker: inout Worker?) -> Worker? {
        if worker?.process != getpid() { worker = Worker() }
        return worker
    }

    private init?() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(mailbox)
        let result = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Mailbox>.fromOpaque(context).takeRetainedValue().work() }
                return nil
            }, context.toOpaque())
        guard result == 0 else {
            context.release()
            return nil
        }
        self.thread = thread
    }

    deinit {
        guard process == getpid() else { return }
        mailbox.send(nil)
        pthread_join(thread, nil)
    }

    func begin(_ work: @escaping @Sendable () -> Void) { mailbox.send(work) }

    func wait() { mailbox.isDone.wait() }
}

/// One piece of work at a time; none means the end.
private final class Mailbox: Sendable {
    private let next = Handover<@Sendable () -> Void>()
    private let isFilled = Semaphore()
    let isDone = Semaphore()

    func send(_ work: (@Sendable () -> Void)?) {
        if let work { next.set(work) }
        isFilled.post()
    }

    func work() {
        while true {
            isFilled.wait()
            guard let work = next.take() else { return }
            work()
            isDone.post()
        }
    }
}

private final class Semaphore: @unchecked Sendable {  // Made for use by several threads; its address stays.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func post() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0 {} }
}

/// Work on a thread that ends with it.
package enum BackgroundThread {
    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts the work on a new thread, or does it at once where no thread is to be had.
    package static func run(_ work: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Work(work))
        let result = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context.toOpaque())
        guard result == 0 else { return context.takeRetainedValue().run() }
        pthread_detach(thread)
    }
}
