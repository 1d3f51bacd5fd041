import Glibc
import Synchronization

/// What a long operation does and how far it is, on standard error: shown only on a terminal, and only once the work
/// took more than a second.
final class Progress: Sendable {
    private struct State {
        var fraction: Double?
        var count: Int?
        var isFinished = false
        var isShown = false
    }

    private let title: String
    private let state = Mutex(State())

    /// - Parameter title: What is being done, such as "verifying".
    init(_ title: String) {
        self.title = title
        guard Terminal.errorIsTerminal else { return }
        Task.detached { [self] in
            // A sleep that is cut short shows the line early, which does no harm.
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
            while show() {
                do { try await Task.sleep(for: .milliseconds(200)) } catch { return }
            }
        }
    }

    /// Shows a title while some work goes on.
    static func during<Result: ~Copyable>(_ title: String, _ work: () throws -> Result) rethrows -> Result {
        let progress = Progress(title)
        defer { progress.finish() }
        return try work()
    }

    /// Says how much is done.
    func update(_ done: UInt64, of total: UInt64) {
        let fraction = total == 0 ? 1 : Double(min(done, total)) / Double(total)
        state.withLock { $0.fraction = fraction }
    }

    /// Says how many are done, where nobody knows how many there are.
    func count(_ done: Int) {
        state.withLock { $0.count = done }
    }

    /// Takes the line away; nothing is shown afterwards.
    func finish() {
        state.withLock { state in
            if state.isShown { write("\r\u{1B}[K") }
            state.isShown = false
            state.isFinished = true
        }
    }

    private func show() -> Bool {
        state.withLock { state in
            guard !state.isFinished else { return false }
            // The line of another process's question is not ours to draw on.
            if TerminalTurn.isAnothers() { return true }
            state.isShown = true
            let percent = state.fraction.map { " \(Int($0 * 100)) %" } ?? ""
            let count = state.count.map { " \($0)" } ?? ""
            write("\r\u{1B}[Kvaultfmt: \(title)\(percent)\(count) …")
            return true
        }
    }

    private func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // Progress is a courtesy; the work goes on without it.
            _ = Descriptor.writeAll(STDERR_FILENO, UnsafeRawBufferPointer(utf8))
        }
    }
}
