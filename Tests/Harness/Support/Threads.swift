internal import Glibc

/// Plain threads with stacks as large as the main one's.
enum Threads {
    private final class Work: Sendable {
        let index: Int
        let body: @Sendable (Int) -> Void

        init(_ index: Int, _ body: @escaping @Sendable (Int) -> Void) {
            self.index = index
            self.body = body
        }
    }

    /// Runs `body` on so many threads, and returns when all have ended.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, 8 << 20)
        var threads: [pthread_t] = []
        for index in 1..<max(count, 1) {
            var thread = pthread_t()
            let work = Unmanaged.passRetained(Work(index, body))
            let result = pthread_create(
                &thread, &attributes,
                { context in
                    if let context {
                        let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                        work.body(work.index)
                    }
                    return nil
                }, work.toOpaque())
            if result == 0 { threads.append(thread) } else { work.release() }
        }
        body(0)
        for thread in threads { pthread_join(thread, nil) }
    }
}
