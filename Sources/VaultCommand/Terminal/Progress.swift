import Glibc

/// How far a long operation is, on standard error: shown only on a terminal, and only once the work took more than a second.
final class Progress {
    private let title: String
    private let started = Progress.now()
    private var lastShown = 0.0
    private var isShown = false
    private let isTerminal = Terminal.errorIsTerminal

    /// - Parameter title: What is being done, such as "verifying".
    init(_ title: String) { self.title = title }

    /// Says how much is done.
    func update(_ done: UInt64, of total: UInt64) {
        guard isTerminal else { return }
        let now = Self.now()
        guard now - started > 1, now - lastShown > 0.1 else { return }
        lastShown = now
        isShown = true
        let percent = total == 0 ? 100 : Int(Double(min(done, total)) / Double(total) * 100)
        write("\r\u{1B}[Kvaultfmt: \(title) \(percent) %")
    }

    /// Takes the line away.
    func finish() {
        guard isShown else { return }
        isShown = false
        write("\r\u{1B}[K")
    }

    deinit { finish() }

    private func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // Progress is a courtesy; the work goes on without it.
            _ = Descriptor.writeAll(STDERR_FILENO, UnsafeRawBufferPointer(utf8))
        }
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
